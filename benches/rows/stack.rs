//! A small convolutional network over recordings of different lengths, with its gradients: the memory of training.

use vsla::batch::Side;
use vsla::conv::ConvMode;
use vsla::program::{Passes, Plan, Program, Recording};
use vsla::{Layout, Pairing, Ragged, Result, Tensor};

use crate::harness::data::check_equal;
use crate::harness::lengths;
use crate::harness::{Bench, Outcome, Spec};

const TAPS: usize = 33;

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    match bench.wants("program/conv-stack") {
        true => conv_stack(bench),
        false => Ok(()),
    }
}

/// Convolution, relu, pooling, convolution, relu, mean: a value for each recording.
fn network(x: &Tensor<f32>, [first, second]: [&Tensor<f32>; 2]) -> Result<Tensor<f32>> {
    let conv = |x: &Tensor<f32>, filter: &Tensor<f32>| -> Result<Tensor<f32>> {
        let all = x.pair(filter, Pairing::AllToAll)?.convolution();
        all.mode(ConvMode::Same).side(Side::Left).conv()?.relu()
    };
    conv(&conv(x, first)?.max_pool(&[2])?, second)?.mean()
}

/// The sum of the squares of all values, and its gradients with respect to both filters.
fn step(r: &mut Recording) -> Result<()> {
    let (x, first, second): (Tensor<f32>, Tensor<f32>, Tensor<f32>) =
        (r.input()?, r.input()?, r.input()?);
    let losses = network(&x, [&first, &second])?.square()?;
    r.output(&losses)?;
    for slope in r.gradients(&losses, [&first, &second])? {
        r.output(&slope)?;
    }
    Ok(())
}

fn conv_stack(bench: &mut Bench) -> Outcome<()> {
    let recordings = if bench.size.quick { 100 } else { 10_000 };
    let layout = Layout::from_lengths(lengths::log_uniform(71, recordings))?;
    let taps = Layout::from_lengths([TAPS])?;
    let x = bench.device.upload(&Ragged::random(&layout, 72)?)?;
    let filters = [73, 74].map(|seed| bench.device.upload(&Ragged::random(&taps, seed)?));
    let [first, second] = filters;
    let (first, second) = (first?, second?);
    let layouts = [x.layout(), first.layout(), second.layout()];
    let plan = Program::new(&bench.device, step).plan(&layouts)?;
    let run = |plan: &Plan| plan.run(&[&x, &first, &second]);
    let (results, began) = bench.first(|| run(&plan))?;
    let plain = Program::with_passes(&bench.device, Passes::none(), step).plan(&layouts)?;
    let expected = run(&plain)?;
    let mut check = Ok(String::new());
    for i in 0..3 {
        let got = results.get::<f32>(i)?.download_blocking()?;
        let expected = expected.get::<f32>(i)?.download_blocking()?;
        check = check.and_then(|_| check_equal(got.values(), expected.values()));
    }
    drop((results, expected, plain));
    let memory = plan.report().memory;
    let spec = Spec {
        name: "program/conv-stack",
        data: format!(
            "two convolutions with {TAPS} taps, relu, max_pool, mean and both gradients, {recordings} recordings of \
             log-uniform lengths in 4..4096, seed 71"
        ),
        bytes: 4 * layout.total() as u64,
        multiply_adds: 0,
        first: began,
        check,
    };
    let row = bench.measure(spec, || run(&plan))?;
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let row = row.note("dispatches", plan.report().dispatches as f64);
    let row = row.note("arena MiB", mib(memory.arena));
    let row = row.note("largest live set MiB", mib(memory.largest_live));
    let row = row.reads::<f32>(&layout);
    let row = row.note("all values MiB", mib(memory.sum));
    let row = row.note("padded MiB", mib(memory.padded));
    let ratio = memory.arena as f64 / memory.largest_live as f64;
    bench.push(row.at_most("arena / largest live set", 1.1, ratio));
    Ok(())
}
