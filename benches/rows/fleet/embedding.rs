//! Vectors of sentences, with the encoder of the row `attention/minilm-f16`.

use std::time::Instant;

use vsla::fleet::{Cost, Fleet, Sharded};
use vsla::program::{Plan, Program};
use vsla::{Device, Ragged, Result, Shape, f16};

use super::resident::back_to_back;
use super::{Equals, all, on_each};
use crate::harness::{Bench, Outcome, lengths};
use crate::rows::encoder::of_example::places;
use crate::rows::encoder::{HIDDEN, LAYERS, VOCABULARY, WIDE, Weights};

pub fn rows(bench: &mut Bench, equals: &mut Equals) -> Outcome<()> {
    let names = [
        "fleet/embedding-4k-resident",
        "fleet/embedding-4k",
        "fleet/embedding-64k",
    ];
    if !names.iter().any(|name| bench.wants(name)) {
        return Ok(());
    }
    // As in the encoder's own rows.
    let (layers, most, repeated) = match (bench.size.quick, bench.device.is_gpu()) {
        (true, _) => (2, 8, 2),
        (_, false) => (LAYERS, 64, 2),
        _ => (LAYERS, usize::MAX, 16),
    };
    let mut lengths = lengths::news();
    lengths.truncate(most);
    let mut random = fastrand::Rng::with_seed(85);
    let sentence =
        |&n: &usize| -> Vec<u32> { (0..n).map(|_| random.u32(..VOCABULARY as u32)).collect() };
    let sentences: Vec<Vec<u32>> = lengths.iter().map(sentence).collect();
    let few = Batch::new(&sentences)?;
    // The large batch is taken in ranges of the small one's size: one of all has no room in a tensor.
    let range = 8 * few.tokens.values().len() as u64;
    let fleets = equals.fleets(bench, Some(range))?;
    let programs = Programs::new(all(&fleets), layers)?;
    let device = bench.device.clone();
    let began = Instant::now();
    let expected = programs.vectors(&device, &few)?;
    let first = began.elapsed();
    let about = |count: usize| {
        format!(
            "{count} sentences of news, log-normal lengths; {layers} layers, f16, random weights"
        )
    };

    if bench.wants(names[0]) {
        let (walls, reference) = bench.beside(|bench| {
            let parts = |fleet: &Fleet| programs.resident(fleet, &few);
            back_to_back(bench, &fleets, &expected, parts, Resident::run)
        })?;
        let data = format!(
            "{}, parts on {} devices",
            about(few.tokens.len()),
            all(&fleets).devices().len()
        );
        let row = walls.row(bench, (names[0], data), (first, reference), None);
        bench.push(walls.at_least(row, 0.925));
    }
    for (name, times) in [(names[1], 1), (names[2], repeated)] {
        if !bench.wants(name) {
            continue;
        }
        let all: Vec<_> = (0..times).flat_map(|_| &sentences).collect();
        let many = Batch::new(&all)?;
        let vectors: Vec<_> = (0..many.tokens.len())
            .map(|i| expected.row(i % few.tokens.len()))
            .collect();
        let expected = Ragged::from_rows(vectors)?;
        let (walls, reference) = bench.beside(|bench| {
            on_each(bench, &fleets, &expected, |fleet| {
                programs.mapped(fleet, &many)
            })
        })?;
        let data = format!("{}, from host to host", about(many.tokens.len()));
        let row = walls.row(bench, (name, data), (first, reference), None);
        bench.push(walls.at_least(row, 0.925));
    }
    Ok(())
}

/// Sentences, and the places of their tokens.
struct Batch {
    tokens: Ragged<u32>,
    places: Ragged<u32>,
}

impl Batch {
    fn new(sentences: &[impl AsRef<[u32]>]) -> Result<Batch> {
        let tokens = Ragged::from_rows(sentences)?;
        let places = places(tokens.layout())?;
        Ok(Batch { tokens, places })
    }
}

/// The multiply-adds of a layer for a sentence.
fn cost<'a>() -> Cost<'a> {
    Cost::each(|_, sentence: Shape| {
        let n = sentence.size();
        ((4 * HIDDEN * HIDDEN + 2 * HIDDEN * WIDE) * n + 2 * HIDDEN * n * n) as u64
    })
}

/// The encoder on each device, by the device's place in the list.
struct Programs(Vec<(Option<usize>, Program)>);

impl Programs {
    fn new(fleet: &Fleet, layers: usize) -> Result<Programs> {
        let devices = fleet.devices().iter();
        let programs = devices.map(|device| {
            let encoder = Weights::new(device).encoder::<f16>(layers)?;
            Ok((device.info().ordinal, encoder.program(device)))
        });
        Ok(Programs(programs.collect::<Result<_>>()?))
    }

    fn on(&self, device: &Device) -> &Program {
        on(&self.0, device)
    }

    /// The vectors, computed by one device.
    fn vectors(&self, device: &Device, batch: &Batch) -> Result<Ragged<f32>> {
        let (tokens, places) = (device.upload(&batch.tokens)?, device.upload(&batch.places)?);
        let plan = self.on(device).plan(&[tokens.layout(), places.layout()])?;
        plan.run(&[&tokens, &places])?
            .get::<f32>(0)?
            .download_blocking()
    }

    fn mapped(&self, fleet: &Fleet, batch: &Batch) -> Result<Ragged<f32>> {
        let batches = (&batch.tokens, &batch.places);
        fleet.map(batches, cost(), |device, (tokens, places)| {
            let plan = self.on(device).plan(&[tokens.layout(), places.layout()])?;
            plan.run(&[tokens, places])?.get::<f32>(0)
        })
    }

    fn resident(&self, fleet: &Fleet, batch: &Batch) -> Result<Resident> {
        let tokens = fleet.scatter(&batch.tokens, cost())?;
        let plans = tokens.parts().iter().map(|part| {
            let plan = self.on(part.device()).plan(&[part.layout(); 2])?;
            Ok((part.device().info().ordinal, plan))
        });
        Ok(Resident {
            plans: plans.collect::<Result<_>>()?,
            places: fleet.scatter(&batch.places, cost())?,
            tokens,
        })
    }
}

/// Parts of a batch on their devices, and plans for them.
struct Resident {
    plans: Vec<(Option<usize>, Plan)>,
    tokens: Sharded<u32>,
    places: Sharded<u32>,
}

impl Resident {
    fn run(&self) -> Result<Sharded<f32>> {
        self.tokens.each(|device, tokens| {
            let run = on(&self.plans, device).run(&[tokens, self.places.on(device)?])?;
            run.get::<f32>(0)
        })
    }
}

/// What belongs to a device.
fn on<'a, T>(all: &'a [(Option<usize>, T)], device: &Device) -> &'a T {
    let ordinal = device.info().ordinal;
    let own = all.iter().find(|(other, _)| *other == ordinal);
    &own.expect("one for each device").1
}
