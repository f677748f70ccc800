//! Host costs of an operation: for new layouts, and for known ones.

use std::time::{Duration, Instant};

use vsla::{Layout, Tensor};

use crate::harness::{Bench, Outcome, Spec, Summary, Times};

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    let (new, cached) = (bench.wants("layout/new"), bench.wants("layout/cached"));
    if !bench.device.is_gpu() || !new && !cached {
        return Ok(());
    }
    let elements = bench.size.elements;
    let lengths = |seed| -> Vec<usize> {
        let mut rng = fastrand::Rng::with_seed(seed);
        (0..elements).map(|_| rng.usize(8..=24)).collect()
    };
    let (left, right) = (lengths(3), lengths(4));
    if new {
        row_new(bench, &left, &right)?;
    }
    if cached {
        let a = ones(bench, Layout::from_lengths(left)?)?;
        let b = ones(bench, Layout::from_lengths(right)?)?;
        row_cached(bench, &a, &b)?;
    }
    Ok(())
}

fn ones(bench: &Bench, layout: Layout) -> vsla::Result<Tensor<f32>> {
    bench.device.full(&layout, 1.0)
}

/// A first `add` of two layouts, in parts: creating the layouts from lengths, and planning and recording the call.
fn row_new(bench: &mut Bench, left: &[usize], right: &[usize]) -> Outcome<()> {
    let mut parts: [Vec<Duration>; 4] = Default::default();
    let mut first = None;
    let mut check = Ok(String::new());
    let (_, reference) = bench.beside(|bench| {
        parts = Default::default();
        for _ in 0..bench.size.runs.0 {
            let began = Instant::now();
            let a = Layout::from_lengths(left.iter().copied())?;
            parts[0].push(began.elapsed());
            let began = Instant::now();
            let b = Layout::from_lengths(right.iter().copied())?;
            parts[1].push(began.elapsed());
            let (a, b) = (ones(bench, a)?, ones(bench, b)?);
            bench.sync()?;
            let began = Instant::now();
            let c = a.add(&b)?;
            parts[2].push(began.elapsed());
            bench.sync()?;
            parts[3].push(began.elapsed());
            let total: usize = left.iter().zip(right).map(|(m, n)| *m.max(n)).sum();
            check = match c.layout().total() {
                got if got == total => Ok(format!("{got} values")),
                got => Err(format!("{got} values instead of {total}")),
            };
            first.get_or_insert_with(|| parts.iter().take(3).map(|part| part[0]).sum());
        }
        Ok(())
    })?;
    let hosts = (0..parts[0].len()).map(|run| parts[..3].iter().map(|part| part[run]).sum());
    let times = Times::of_wall(Summary::of(hosts.collect()));
    let host = times.wall.median;
    let [a, b, call, done] = parts.map(|part| Summary::of(part).median);
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let spec = Spec {
        name: "layout/new",
        data: format!(
            "host cost of a first add of {} elements, uniform 8..=24, seeds 3 and 4: two layouts from their lengths, \
             then planning and recording",
            left.len()
        ),
        bytes: 0,
        multiply_adds: 0,
        first: first.unwrap_or_default(),
        check,
    };
    let row = bench
        .row(spec, times, reference)
        .at_most("ms of host time", 45.0, millis(host))
        .note("ms for the left layout", millis(a))
        .note("ms for the right layout", millis(b))
        .note("ms for the call", millis(call))
        .note("ms from the call to the end of its work", millis(done))
        .note("ns an element", 1e6 * millis(host) / left.len() as f64);
    bench.push(row);
    Ok(())
}

/// The call alone, for layouts that were added before.
fn row_cached(bench: &mut Bench, a: &Tensor<f32>, b: &Tensor<f32>) -> Outcome<()> {
    let (c, first) = bench.first(|| a.add(b))?;
    let layout = c.layout().clone();
    drop(c);
    let mut same = true;
    // Timed together, because a single call is too short. The device runs them meanwhile, so the number is limited.
    let calls = if bench.size.quick { 10 } else { 100 };
    let (walls, reference) = bench.beside(|bench| {
        let mut walls = Vec::new();
        for _ in 0..bench.size.runs.0 {
            bench.sync()?;
            let began = Instant::now();
            for _ in 0..calls {
                let c = a.add(b)?;
                // Compares the address of the cached layout, so that the comparison costs nothing.
                same &= std::ptr::eq(c.layout().offsets().as_slice(), layout.offsets().as_slice());
            }
            walls.push(began.elapsed() / calls as u32);
            bench.sync()?;
        }
        Ok(walls)
    })?;
    let spec = Spec {
        name: "layout/cached",
        data: format!("host cost of the next add, mean of {calls}"),
        bytes: 0,
        multiply_adds: 0,
        first,
        check: match same {
            true => Ok("the result's layout is shared".to_owned()),
            false => Err("the result's layout was made again".to_owned()),
        },
    };
    let times = Times::of_wall(Summary::of(walls));
    let micros = times.wall.as_secs_f64() * 1e6;
    let row = bench.row(spec, times, reference);
    bench.push(row.at_most("µs of host time", 20.0, micros));
    Ok(())
}
