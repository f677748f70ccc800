//! Batches divided among all devices of one model that the host has: 1, 2, 4 .. of them in the same run, with the bits
//! of the first one alone.

mod embedding;
mod host;
mod pairs;
mod resident;
mod training;

use std::time::{Duration, Instant};

use vsla::fleet::{Fleet, FleetOptions};
use vsla::{Device, Ragged, Result};

use crate::harness::data::check_equal;
use crate::harness::report::Row;
use crate::harness::{Bench, Check, Outcome, Spec, Summary, Times};

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    let mut equals = Equals(Vec::new());
    host::rows(bench, &mut equals)?;
    resident::rows(bench, &mut equals)?;
    pairs::rows(bench, &mut equals)?;
    embedding::rows(bench, &mut equals)?;
    training::rows(bench, &mut equals)
}

/// The measured device and its equals, opened when a row needs them.
struct Equals(Vec<Device>);

impl Equals {
    fn open(&mut self, bench: &Bench) -> Result<&[Device]> {
        if self.0.is_empty() {
            let own = bench.device.info();
            self.0.push(bench.device.clone());
            for entry in Device::list() {
                let is_equal = (&entry.name, &entry.backend, &entry.driver)
                    == (&own.name, &own.backend, &own.driver);
                if is_equal && entry.ordinal.is_some() && entry.ordinal != own.ordinal {
                    self.0.push(Device::open(&entry)?);
                }
            }
        }
        Ok(&self.0)
    }

    /// Fleets of 1, 2, 4 .. and all devices.
    fn fleets(&mut self, bench: &Bench, range_bytes: Option<u64>) -> Result<Vec<Fleet>> {
        let devices = self.open(bench)?;
        let options = FleetOptions {
            range_bytes,
            ..FleetOptions::default()
        };
        let all = devices.len();
        let doubled = std::iter::successors(Some(1), |count| Some(2 * count));
        let counts = doubled.take_while(|&count| count < all).chain([all]);
        counts
            .map(|count| Fleet::with_options(devices[..count].iter().cloned(), &options))
            .collect()
    }
}

/// All devices.
fn all(fleets: &[Fleet]) -> &Fleet {
    fleets.last().expect("fleets of at least one device")
}

/// How often a call of at least many milliseconds is timed.
fn runs(bench: &Bench) -> usize {
    // The fewest of which a median has an interval.
    if bench.size.quick { 2 } else { 6 }
}

/// The times of each fleet.
struct Walls {
    of: Vec<(usize, Summary)>,
    check: Check,
}

impl Walls {
    /// How many times as fast all devices are as the first one.
    fn factor(&self) -> f64 {
        self.of[0].1.as_secs_f64() / self.all().as_secs_f64()
    }

    fn all(&self) -> Summary {
        self.of.last().expect("fleets of at least one device").1
    }

    /// The row of all devices, with the times of each fleet, and the rates of the bus for these bytes to the devices
    /// and back.
    fn row(
        &self,
        bench: &Bench,
        (name, data): (&'static str, String),
        (first, reference): (Duration, [Duration; 2]),
        traffic: Option<[u64; 2]>,
    ) -> Row {
        let spec = Spec {
            name,
            data,
            bytes: traffic.iter().flatten().sum(),
            multiply_adds: 0,
            first,
            check: self.check.clone(),
        };
        let mut row = bench.row(spec, Times::of_wall(self.all()), reference);
        let one = self.of[0].1.as_secs_f64();
        for (count, wall) in &self.of {
            let seconds = wall.as_secs_f64();
            row = row
                .note(format!("ms on {count}"), 1e3 * seconds)
                .note(format!("× one device on {count}"), one / seconds);
            for (bytes, way) in traffic.into_iter().flatten().zip(["to", "from"]) {
                row = row.note(format!("GB/s {way} {count}"), 1e-9 * bytes as f64 / seconds);
            }
        }
        for (bytes, way) in traffic.into_iter().flatten().zip(["to", "from"]) {
            row = row.note(format!("GB {way} the devices"), 1e-9 * bytes as f64);
        }
        row
    }

    /// Adds a target for the factor of all devices, if there are several: a share of their number.
    fn at_least(&self, row: Row, share: f64) -> Row {
        let count = self.of.last().map_or(1, |(count, _)| *count);
        match count {
            1 => row,
            _ => row.at_least("× one device", share * count as f64, self.factor()),
        }
    }
}

/// Times a call, host to host, on each fleet.
fn on_each(
    bench: &Bench,
    fleets: &[Fleet],
    expected: &Ragged<f32>,
    call: impl Fn(&Fleet) -> Result<Ragged<f32>>,
) -> Outcome<Walls> {
    let mut walls = Walls {
        of: Vec::new(),
        check: Ok(String::new()),
    };
    for fleet in fleets {
        let (wall, check) = timed(runs(bench), expected, || call(fleet))?;
        let count = fleet.devices().len();
        walls.of.push((count, wall));
        let check = check.map_err(|problem| format!("on {count} devices, {problem}"));
        walls.check = walls.check.and(check);
    }
    Ok(walls)
}

/// Times a call, without dropping its results. Each of them, and that of a call before, must have the expected bits.
fn timed(
    runs: usize,
    expected: &Ragged<f32>,
    mut call: impl FnMut() -> Result<Ragged<f32>>,
) -> Outcome<(Summary, Check)> {
    let mut check = same(&call()?, expected);
    let mut walls = Vec::new();
    for _ in 0..runs {
        let began = Instant::now();
        let got = call()?;
        walls.push(began.elapsed());
        check = check.and_then(|_| same(&got, expected));
    }
    Ok((Summary::of(walls), check))
}

/// Whether a batch has the shapes and the bits that one device computes.
fn same(got: &Ragged<f32>, expected: &Ragged<f32>) -> Check {
    match got.layout() == expected.layout() {
        true => check_equal(got.values(), expected.values())
            .map(|what| format!("{what} have the bits of one device")),
        false => Err("the shapes are not those of one device".to_owned()),
    }
}

fn bytes(batch: &Ragged<f32>) -> u64 {
    4 * batch.values().len() as u64
}
