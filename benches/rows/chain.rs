//! Very many small operations: on one layout, and on new layouts every time.

use std::time::{Duration, Instant};

use vsla::{Layout, Ragged, Result, Tensor, device::Memory};

use crate::harness::data::{check_add, check_equal};
use crate::harness::{Bench, Check, Outcome, Spec, Summary, Times};

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    if bench.wants("chain/scale") {
        chain(bench)?;
    }
    if bench.wants("fresh/add") {
        fresh(bench)?;
    }
    Ok(())
}

const FACTOR: f32 = 0.999;

/// Each result becomes the next operand, and is then dropped.
fn chain(bench: &mut Bench) -> Outcome<()> {
    let many = bench.size.many;
    let start = Ragged::random(&Layout::from_lengths([4096])?, 21)?;
    let x = bench.device.upload(&start)?;
    let run = |many: usize| -> Result<Tensor<f32>> {
        (0..many).try_fold(x.clone(), |x, _| x.scale(FACTOR))
    };
    let mut values = vec![0.0f32; 4096];
    let (result, first) = bench.first(|| run(1))?;
    drop(result);
    run(many)?.download_into_blocking(&mut values)?;
    let expected = start.values().iter();
    let expected: Vec<f32> = expected
        .map(|&x| (0..many).fold(x, |x, _| FACTOR * x))
        .collect();
    let check = check_equal(&values, &expected);

    let mut held = Vec::new();
    let (times, reference) = bench.beside(|bench| {
        held.clear();
        let mut walls = Vec::new();
        for _ in 0..7 {
            let began = Instant::now();
            run(many)?.download_into_blocking(&mut values)?;
            walls.push(began.elapsed() / many as u32);
            held.push(Held::of(bench));
        }
        let few = many.min(1000);
        let (done, profile) = bench.device.profile_blocking(|| run(few).map(drop))?;
        done?;
        Ok(Times {
            device: profile
                .device_time
                .map(|time| Summary::once(time / few as u32)),
            ..Times::of_wall(Summary::of(walls))
        })
    })?;
    let spec = Spec {
        name: "chain/scale",
        data: format!("{many} in a row on 4096 values, seed 21; times are of one"),
        bytes: 0,
        multiply_adds: 0,
        first,
        check: check.and_then(|text| Ok(format!("{text}, {}", held[0].same(&held[4])?))),
    };
    let wall = times.wall.as_secs_f64() * 1e6;
    let row = bench.row(spec, times, reference);
    let row = match bench.device.is_gpu() {
        true => row.at_most("µs each", 6.0, wall),
        false => row,
    };
    bench.push(row);
    Ok(())
}

/// Device resources, which must not grow in a loop.
struct Held {
    memory: Memory,
    pipelines: usize,
    bind_groups: usize,
}

impl Held {
    fn of(bench: &Bench) -> Held {
        let info = bench.device.info();
        Held {
            memory: bench.device.memory(),
            pipelines: info.pipelines,
            bind_groups: info.bind_groups,
        }
    }

    /// Checks that repeating the loop allocated nothing more.
    fn same(&self, after: &Held) -> Check {
        let all = self.memory.live + self.memory.cached;
        let then = after.memory.live + after.memory.cached;
        if after.memory.live != self.memory.live || then > all {
            return Err(format!(
                "memory grew: {:?}, {:?}",
                self.memory, after.memory
            ));
        }
        if (after.pipelines, after.bind_groups) != (self.pipelines, self.bind_groups) {
            return Err(format!(
                "{} pipelines and {} bind groups became {} and {}",
                self.pipelines, self.bind_groups, after.pipelines, after.bind_groups
            ));
        }
        Ok("memory and bind groups flat".to_owned())
    }
}

/// Elements of a batch with new lengths.
const ELEMENTS: usize = 64;
/// Results retained for the check.
const KEPT: usize = 8;

/// Uploads, adds and drops two batches repeatedly, with new lengths every time.
fn fresh(bench: &mut Bench) -> Outcome<()> {
    let many = bench.size.many;
    let warm_up = many / 5;
    let mut rng = fastrand::Rng::with_seed(31);
    let lengths: Vec<[usize; 2 * ELEMENTS]> = (0..many)
        .map(|_| std::array::from_fn(|_| rng.usize(1..=256)))
        .collect();
    let values = Ragged::random(&Layout::from_lengths([256 * ELEMENTS])?, 32)?
        .into_parts()
        .1;
    let batch = |lengths: &[usize]| {
        let total = lengths.iter().sum();
        Ragged::from_lengths(values[..total].to_vec(), lengths.iter().copied())
    };
    let once = |bench: &Bench, lengths: &[usize; 2 * ELEMENTS]| -> Result<Tensor<f32>> {
        let (left, right) = lengths.split_at(ELEMENTS);
        let a = bench.device.upload(&batch(left)?)?;
        let b = bench.device.upload(&batch(right)?)?;
        a.add(&b)
    };
    let (result, first) = bench.first(|| once(bench, &lengths[0]))?;
    drop(result);

    let at_rest = bench.device.memory().live;
    let mut held = Vec::new();
    let mut check = Ok(format!("{KEPT} batches of {many}"));
    let ((wall, device), reference) = bench.beside(|bench| {
        held.clear();
        let mut results = Vec::new();
        let mut time = Duration::ZERO;
        let mut began = Instant::now();
        for (i, lengths) in lengths.iter().enumerate() {
            let sum = once(bench, lengths)?;
            if i % (many / KEPT) == many / KEPT - 1 {
                results.push((lengths, sum));
            }
            if i % (many / 50) == 0 {
                time += began.elapsed();
                held.push((i, Held::of(bench)));
                began = Instant::now();
            }
        }
        bench.sync()?;
        time += began.elapsed();
        for (lengths, sum) in results {
            let (left, right) = lengths.split_at(ELEMENTS);
            let right = check_add(&batch(left)?, &batch(right)?, &sum.download_blocking()?);
            if let Err(problem) = right {
                check = Err(problem);
            }
        }
        let (done, profile) = bench.device.profile_blocking(|| -> Result<()> {
            let few = &lengths[..many / 20];
            few.iter()
                .try_for_each(|lengths| once(bench, lengths).map(drop))
        })?;
        done?;
        let device = profile.device_time.map(|time| time / (many as u32 / 20));
        Ok((time / many as u32, device))
    })?;
    let left = bench.device.memory().live;
    let check = check.and_then(|text| Ok(format!("{text}, {}", flat(&held, warm_up)?)));
    let check = match left == at_rest {
        true => check,
        false => Err(format!("{at_rest} bytes live before, {left} after")),
    };
    let spec = Spec {
        name: "fresh/add",
        data: format!(
            "{many} batches of {ELEMENTS} elements, uniform 1..=256, seed 31: two uploads and an add; times are of one \
             batch"
        ),
        bytes: 0,
        multiply_adds: 0,
        first,
        check,
    };
    let times = Times {
        device: device.map(Summary::once),
        ..Times::of_wall(Summary::once(wall))
    };
    let mut row = bench.row(spec, times, reference);
    if let Some((_, last)) = held.last() {
        row = row
            .note("pipelines", last.pipelines as f64)
            .note("bind groups", last.bind_groups as f64)
            .note("MiB kept", last.memory.cached as f64 / (1 << 20) as f64);
    }
    let wall = wall.as_secs_f64() * 1e6;
    let row = match bench.device.is_gpu() {
        true => row.at_most("µs each", 100.0, wall),
        false => row,
    };
    bench.push(row);
    Ok(())
}

/// The most bind groups that a device caches.
const BIND_GROUPS: usize = 1024;

/// Checks that nothing grew after the warm-up batches. Sizes vary, so not everything is constant.
fn flat(held: &[(usize, Held)], warm_up: usize) -> Check {
    let settled: Vec<&Held> = held
        .iter()
        .filter(|(i, _)| *i >= warm_up)
        .map(|(_, held)| held)
        .collect();
    let (early, late) = settled.split_at(settled.len() / 2);
    let grew = |what: &str, slack: u64, of: &dyn Fn(&Held) -> u64| {
        let most = |part: &[&Held]| part.iter().map(|held| of(held)).max().unwrap_or(0);
        let (early, late) = (most(early), most(late));
        match late > early + slack {
            true => Err(format!("{what} grew: {early}, {late}")),
            false => Ok(()),
        }
    };
    grew("pipelines", 0, &|held| held.pipelines as u64)?;
    // They are created and evicted with the buffers of every size.
    if let Some(held) = settled.iter().find(|held| held.bind_groups > BIND_GROUPS) {
        return Err(format!("{} bind groups", held.bind_groups));
    }
    grew("bytes of memory", 1 << 20, &|held| {
        held.memory.live + held.memory.cached
    })?;
    Ok("pipelines, bind groups and memory flat".to_owned())
}
