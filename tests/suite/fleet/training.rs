//! Training on several devices gives the bits of one.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use libtest_mimic::Trial;
use vsla::fleet::{DataParallel, Fleet, FleetOptions};
use vsla::program::Recording;
use vsla::{Device, Error, Layout, Pairing, Ragged, Result, Shape, Tensor};

use super::{devices, is_same, lengths, of};
use crate::support::bench::Bench;
use crate::support::compare::assert_exact;
use crate::support::corpus::rng;
use crate::support::operation::{download, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    #[cfg_attr(
        not(feature = "gpu"),
        expect(unused_mut, reason = "one trial is of GPUs")
    )]
    let mut trials = bench.all_on_each_device(&[
        ("training::same_bits", same_bits),
        ("training::the_undivided_gradient", the_undivided_gradient),
        ("training::subnormal_sums", subnormal_sums),
        ("training::bad_input", bad_input),
        ("training::failures", failures),
        ("training::memory", memory),
    ]);
    #[cfg(feature = "gpu")]
    trials.push(bench.on_gpu("training::lost", crate::support::bench::gpu, |_| lost()));
    trials
}

const CHANNELS: usize = 3;
const HIDDEN: usize = 8;
const CLASSES: usize = 4;

/// A network of two layers for recordings of different lengths: weights and biases.
fn weights() -> Ragged<f32> {
    let shapes = [
        [CHANNELS, HIDDEN],
        [1, HIDDEN],
        [HIDDEN, CLASSES],
        [1, CLASSES],
    ];
    let shapes = shapes.map(|extents| Shape::new(&extents).unwrap());
    let layout = Layout::from_shapes(2, shapes).unwrap();
    let random = Ragged::<f32>::random(&layout, 5).unwrap();
    random.cast(|value| value - 0.5).unwrap()
}

fn like(weights: &Ragged<f32>) -> Ragged<f32> {
    Ragged::full(weights.layout(), 0.0f32).unwrap()
}

/// Recordings and their classes. Each class is a channel in which values are larger.
fn recordings(count: usize, seed: usize) -> (Ragged<f32>, Ragged<u32>) {
    let mut rng = rng(&format!("training {seed}"));
    let classes: Vec<u32> = (0..count).map(|_| rng.u32(..CLASSES as u32)).collect();
    let shapes = (0..count).map(|_| Shape::new(&[rng.usize(1..9), CHANNELS]).unwrap());
    let layout = Layout::from_shapes(2, shapes.collect::<Vec<_>>()).unwrap();
    let x = Ragged::from_fn(&layout, |element, i| {
        let is_own = i % CHANNELS == classes[element] as usize;
        rng.f32() + f32::from(u8::from(is_own))
    });
    let classes = Ragged::from_rows(classes.iter().map(|&class| [class]));
    (x.unwrap(), classes.unwrap())
}

fn losses(r: &mut Recording, weights: &[Tensor<f32>]) -> Result<Tensor<f32>> {
    let (x, classes) = (r.input::<f32>()?, r.input::<u32>()?);
    let part = |i: usize| weights[0].elements(i..i + 1);
    let row = |i: usize| part(i)?.reshape(&lengths([weights[0].layout().length(i)]));
    let [first, bias] = [part(0)?, row(1)?];
    let hidden = x.pair(&first, Pairing::AllToAll)?.product();
    let hidden = hidden.bias(&bias).run()?.tanh()?;
    let features = hidden.mean_axis(0)?.stack(None)?;
    let scores = features.product(&part(2)?).bias(&row(3)?).run()?;
    scores.cross_entropy(&classes.packed()?)
}

/// Adam.
fn step(
    r: &mut Recording,
    state: &[Tensor<f32>],
    gradients: &[Tensor<f32>],
) -> Result<Vec<Tensor<f32>>> {
    let rate: Tensor<f32> = r.input()?;
    let [weights, mean, square] = state else {
        panic!()
    };
    let gradient = &gradients[0];
    let mean = mean.scale(0.9)?.add(&gradient.scale(0.1)?)?;
    let square = square.scale(0.99)?.add(&gradient.square()?.scale(0.01)?)?;
    let step = mean.div(&square.sqrt()?.add_scalar(1e-6)?)?;
    Ok(vec![weights.sub(&step.scale_by(&rate)?)?, mean, square])
}

fn training(fleet: &Fleet, shards: usize) -> DataParallel {
    let weights = weights();
    let zeros = like(&weights);
    DataParallel::new(fleet, shards, &[&weights], &[&zeros, &zeros], losses, step).unwrap()
}

/// The losses of so many steps, and the state after them, which must be the same on all devices.
fn trained(fleet: &Fleet, shards: usize, steps: usize) -> (Vec<u32>, Vec<Ragged<f32>>) {
    let mut training = training(fleet, shards);
    let batches: Vec<_> = (0..5).map(|seed| recordings(9 + seed, seed)).collect();
    let mut losses = Vec::new();
    for i in 0..steps {
        let (x, classes) = &batches[i % batches.len()];
        let rate = Ragged::from_rows([[0.05 / (1.0 + i as f32 / 50.0)]]).unwrap();
        let loss = training.step((x, classes), &[&rate]).unwrap();
        assert!(is_same(loss.device(), &fleet.devices()[0]));
        losses.push(download(&loss).values()[0]);
    }
    let first = losses[0];
    let last = losses[losses.len() - 1];
    assert!(last < 0.7 * first, "{first} became {last}");
    let state = |device: &Device| -> Vec<Ragged<f32>> {
        let state = training.state(device).unwrap();
        state.iter().map(download).collect()
    };
    let own = state(&fleet.devices()[0]);
    for device in &fleet.devices()[1..] {
        for (got, expected) in state(device).iter().zip(&own) {
            assert_exact("a replica", got, expected);
        }
    }
    (losses.iter().map(|loss| loss.to_bits()).collect(), own)
}

/// All fleets give the bits of the first.
pub fn agrees(fleets: &[Fleet]) {
    for shards in [4, 1] {
        let (losses, state) = trained(&fleets[0], shards, 100);
        for fleet in &fleets[1..] {
            let count = fleet.devices().len();
            let (got_losses, got_state) = trained(fleet, shards, 100);
            assert_eq!(got_losses, losses, "{count} devices, {shards} shards");
            for (got, expected) in got_state.iter().zip(&state) {
                assert_exact(format!("{count} devices, {shards} shards"), got, expected);
            }
        }
    }
}

/// Up to four devices, if the device can be opened so often.
fn several(device: &Device) -> Vec<Device> {
    let mut all = devices(device);
    while all.len() > 1 && all.len() < 4 {
        all.extend(devices(device).pop());
    }
    all
}

fn same_bits(device: &Device) {
    let all = several(device);
    let counts = (1..=all.len()).rev();
    let fleets: Vec<Fleet> = counts
        .map(|count| of(all[..count].to_vec(), None))
        .collect();
    agrees(&fleets);
}

/// The state after a step is the gradient of the mean loss.
fn gradient(fleet: &Fleet, shards: usize, count: usize) -> (f32, Ragged<f32>) {
    let take = |_: &mut Recording, _: &[Tensor<f32>], gradients: &[Tensor<f32>]| {
        gradients[0].copy().map(|gradient| vec![gradient])
    };
    let mut training = DataParallel::new(fleet, shards, &[&weights()], &[], losses, take).unwrap();
    let (x, classes) = recordings(count, 7);
    let loss = training.step((&x, &classes), &[]).unwrap();
    let device = &fleet.devices()[0];
    let gradient = download(&training.state(device).unwrap()[0]);
    (download(&loss).values()[0], gradient)
}

fn the_undivided_gradient(device: &Device) {
    for count in [8, 13, 30] {
        // Calls one by one, without shards.
        let (x, classes) = recordings(count, 7);
        let program = vsla::program::Program::new(device, |r| {
            let weights = [r.input()?];
            let losses = losses(r, &weights)?;
            let [gradient] = r.gradients(&losses, [&weights[0]])?;
            r.output(&losses)?;
            r.output(&gradient)
        });
        let weights = weights();
        let layouts = [weights.layout(), x.layout(), classes.layout()];
        let whole = program.plan(&layouts).unwrap();
        let whole = whole.call_blocking(&[&weights, &x, &classes]).unwrap();
        let share = 1.0 / count as f32;
        let loss = share * whole.get::<f32>(0).unwrap().values().iter().sum::<f32>();
        let expected = whole
            .get::<f32>(1)
            .unwrap()
            .cast(|value| share * value)
            .unwrap();
        let largest = expected
            .values()
            .iter()
            .fold(0.0, |a: f32, b| a.max(b.abs()));
        for shards in [1, 2, 8] {
            let (got_loss, got) = gradient(&of(devices(device), None), shards, count);
            let bound = 1e-5;
            assert!((got_loss - loss).abs() <= bound * loss, "{got_loss} {loss}");
            assert_eq!(got.layout(), expected.layout());
            for (got, expected) in got.values().iter().zip(expected.values()) {
                assert!(
                    (got - expected).abs() <= bound * largest,
                    "{got} {expected}"
                );
            }
        }
    }
}

/// What a GPU may flush is 0 everywhere.
fn subnormal_sums(device: &Device) {
    let least = f32::MIN_POSITIVE;
    let x = [
        [1e-40f32, 1.5 * least],
        [1e-40, -least],
        [1e-40, 0.0],
        [1e-40, 0.0],
    ];
    let x = Ragged::from_rows(x).unwrap();
    for device in several(device)
        .iter()
        .map(|device| vec![device.clone()])
        .chain([several(device)])
    {
        let fleet = of(device, None);
        let mut training = DataParallel::new(
            &fleet,
            4,
            &[&Ragged::from_rows([[1.0f32, 1.0]]).unwrap()],
            &[],
            |r, weights| {
                let x: Tensor<f32> = r.input()?;
                weights[0].pair(&x, Pairing::OneToAll)?.hadamard()
            },
            |_, _, gradients| Ok(vec![gradients[0].copy()?]),
        )
        .unwrap();
        training.step(&x, &[]).unwrap();
        let got = download(&training.state(&fleet.devices()[0]).unwrap()[0]);
        assert_eq!(got.values(), [0.0, 0.0]);
    }
}

#[track_caller]
fn refused<R>(outcome: Result<R>, expected: &str) -> Error {
    let Err(error) = outcome else {
        panic!("{expected}: went on")
    };
    let text = error.to_string();
    assert!(text.contains(expected), "{text}\n{expected}");
    error
}

fn bad_input(device: &Device) {
    let fleet = of(devices(device), None);
    let weights = weights();
    let new = |fleet: &Fleet, shards, weights: &[&Ragged<f32>]| {
        DataParallel::new(fleet, shards, weights, &[], losses, step).map(drop)
    };
    for shards in [0, 3, 12] {
        let expected = "data_parallel: expected a number of shards that is a power of two, got";
        refused(new(&fleet, shards, &[&weights]), expected);
    }
    refused(
        new(&fleet, 4, &[]),
        "data_parallel: expected weights, got none",
    );
    if device.is_gpu() {
        let options = FleetOptions {
            mixed: true,
            ..FleetOptions::default()
        };
        let mixed = Fleet::with_options([device.clone(), Device::cpu()], &options).unwrap();
        let expected = "data_parallel: expected devices of one model, got";
        refused(new(&mixed, 4, &[&weights]), expected);
    }
    let rate = Ragged::from_rows([[0.1f32]]).unwrap();
    let (x, classes) = recordings(5, 1);
    let mut eight = training(&fleet, 8);
    let expected = "step: expected a batch of at least 8 elements, one for each shard, got 5";
    refused(eight.step((&x, &classes), &[&rate]), expected);
    let (_, more) = recordings(6, 1);
    let mut four = training(&fleet, 4);
    let sizes = refused(four.step((&x, &more), &[&rate]), "batches of equal size");
    assert_eq!((sizes.op(), sizes.kind()), ("step", "batch_size"));
    // The optimizer takes an input, and the loss two.
    let few = refused(
        four.step((&x, &classes), &[]),
        "the program takes more inputs",
    );
    assert_eq!((few.op(), few.kind()), ("step", "part"));
    refused(four.step(&x, &[&rate]), "the program takes more inputs");
    let many = four.step((&x, &classes, &classes), &[&rate]);
    refused(many, "the program takes 3 inputs, but got 4 layouts");
    let outside = match device.is_gpu() {
        true => Device::cpu(),
        false => return,
    };
    let error = four.state(&outside).map(drop).unwrap_err();
    assert_eq!((error.op(), error.kind()), ("state", "device_mismatch"));
    let held = upload(&outside, &weights);
    let with_another =
        move |r: &mut Recording, weights: &[Tensor<f32>]| losses(r, &[weights[0].add(&held)?]);
    let mut with_another =
        DataParallel::new(&fleet, 4, &[&weights], &[], with_another, step).unwrap();
    let error = with_another
        .step((&x, &classes), &[&rate])
        .map(drop)
        .unwrap_err();
    let Error::Part { error, .. } = error else {
        panic!("{error}")
    };
    assert_eq!(error.kind(), "device_mismatch", "{error}");
}

/// After an error of a function, and after a panic, the weights are as they were, and training goes on.
fn failures(device: &Device) {
    let fleet = of(devices(device), None);
    let weights = weights();
    let rate = Ragged::from_rows([[0.1f32]]).unwrap();
    let (x, classes) = recordings(12, 1);
    // What the next step does: 1 and 2 fail in one function, 3 and later in the other. A function that was recorded is
    // not called again for equal layouts, so the second follows the first.
    let next = Arc::new(AtomicUsize::new(0));
    let cancelled = || Error::Argument {
        op: "mine",
        element: None,
        expected: "more time".to_owned(),
        got: "a signal".to_owned(),
    };
    let (of_loss, of_step) = (next.clone(), next.clone());
    let mut training = DataParallel::new(
        &fleet,
        4,
        &[&weights],
        &[&like(&weights), &like(&weights)],
        move |r, weights| match of_loss.load(Ordering::SeqCst) {
            1 => Err(cancelled()),
            2 => resume_unwind(Box::new(41)),
            _ => losses(r, weights),
        },
        move |r, state, gradients| {
            let mut all = step(r, state, gradients)?;
            match of_step.load(Ordering::SeqCst) {
                3 => return Err(cancelled()),
                4 => resume_unwind(Box::new(42)),
                5 => drop(all.pop()),
                6 => all[1] = all[1].elements(0..1)?,
                _ => {}
            }
            Ok(all)
        },
    )
    .unwrap();
    let first = &fleet.devices()[0];
    for (what, text) in [
        (1, "mine: expected more time, got a signal"),
        (2, ""),
        (3, "mine: expected more time, got a signal"),
        (5, "optimizer: expected 3 tensors of the next state, got 2"),
        (
            6,
            "optimizer: expected the layout of tensor 1 of the state, 4 elements of rank 2",
        ),
        (4, ""),
    ] {
        next.store(what, Ordering::SeqCst);
        let mut call = || training.step((&x, &classes), &[&rate]).map(drop);
        match text {
            "" => {
                let payload = catch_unwind(AssertUnwindSafe(call)).unwrap_err();
                assert!(payload.downcast_ref() == Some(&(40 + what as i32 / 2)));
            }
            text => {
                let error = refused(call(), text);
                assert_eq!((error.op(), error.kind()), ("step", "part"));
            }
        }
        assert_exact(
            "the weights",
            &download(&training.state(first).unwrap()[0]),
            &weights,
        );
    }
    next.store(0, Ordering::SeqCst);
    training.step((&x, &classes), &[&rate]).unwrap();
    let mut other = self::training(&fleet, 4);
    other.step((&x, &classes), &[&rate]).unwrap();
    let [got, expected] = [&training, &other].map(|all| download(&all.state(first).unwrap()[0]));
    assert_exact("afterwards", &got, &expected);
}

/// Batches that never repeat leave nothing behind.
fn memory(device: &Device) {
    let own = match device.is_gpu() {
        #[cfg(feature = "gpu")]
        true => super::lost::own_fleet(false),
        _ => of(vec![Device::cpu()], None),
    };
    let mut training = training(&own, 4);
    let rate = Ragged::from_rows([[0.01f32]]).unwrap();
    let held = || -> u64 {
        let memory = own.devices().iter().map(Device::memory);
        memory.map(|memory| memory.live + memory.cached).sum()
    };
    let steps = if crate::support::bench::is_hurried(device) {
        300
    } else {
        1000
    };
    let mut early = 0;
    for i in 0..steps {
        let (x, classes) = recordings(4 + i % 9, i);
        training.step((&x, &classes), &[&rate]).unwrap();
        if i == steps / 3 {
            early = held();
        }
    }
    let late = held();
    assert!(late <= early + (1 << 16), "{early} bytes became {late}");
}

#[cfg(feature = "gpu")]
fn lost() {
    let fleet = super::lost::own_fleet(true);
    let mut training = training(&fleet, 2);
    let rate = Ragged::from_rows([[0.1f32]]).unwrap();
    let (x, classes) = recordings(12, 1);
    training.step((&x, &classes), &[&rate]).unwrap();
    let [first, second] = fleet.devices() else {
        panic!()
    };
    let before = download(&training.state(first).unwrap()[0]);
    second.wgpu().unwrap().0.destroy();
    let error = training
        .step((&x, &classes), &[&rate])
        .map(drop)
        .unwrap_err();
    let Error::Part { device, error, .. } = error else {
        panic!("{error}")
    };
    assert_eq!((device, error.kind()), (1, "device_lost"));
    let after = download(&training.state(first).unwrap()[0]);
    assert_exact("the weights", &after, &before);
    // The other one goes on from there, in a fleet of its own.
    let alone = Fleet::of([first.clone()]).unwrap();
    let mut training = self::training(&alone, 2);
    training.step((&x, &classes), &[&rate]).unwrap();
    let got = download(&training.state(first).unwrap()[0]);
    assert_exact("the same bits", &got, &before);
}
