//! Recorded programs: they give the bits of the calls that they record.
//!
//! | trials | requirement |
//! | --- | --- |
//! | `every::*` | each operation of the library, recorded and replayed on views, gives the bits of the calls |
//! | `basics` | inputs at any base, outputs that are inputs, constants or views, outputs held by the caller |
//! | `refusals` | what a recording and a plan refuse |
//! | `fresh` | batches of lengths never seen before: the arena grows a few times, memory stays flat, right results |
//! | `warm` | runs of plans for such batches make no bind groups over the frame |
//! | `repeated` | the same layouts in rounds: the frame neither grows nor makes bind groups any more |
//! | `first_runs` | what the first run of a plan allocates does not depend on the number of operations |
//! | `flat` | runs allocate no memory, bind groups or pipelines |
//! | `threads` | two threads run one program, and plan while the other runs |
//! | `fused` | maps and functions in one kernel give the bits of the single calls, on random graphs |
//! | `long` | a program of thousands of operations, with values that live long |
//! | `gradients` | first and second gradients of random programs: the same bits with every optimization and without |
//! | `random` | random programs on views of any base, as outputs in any number: the bits of the calls |
//! | others | views, values that escape, panics, pools of threads: see the modules |

mod edges;
mod fused;
mod pool;
pub mod random;
mod slopes;
mod warm;

use std::collections::VecDeque;

use libtest_mimic::Trial;
use vsla::program::{Passes, Program, Recording, Value};
use vsla::{Device, Error, Layout, Ragged, Result, Tensor, scalar::Scalar};

use crate::host::programs::values::{Any, MODE, Mode};
use crate::host::programs::{PROGRAMS, Program as Calls};
use crate::support::allocation;
use crate::support::bench::{self, Bench};
use crate::with_any;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = bench.all_on_each_device(&[
        ("basics", basics),
        ("refusals", refusals),
        ("fresh", fresh),
        ("warm", warm::runs_make_no_bind_groups),
        ("repeated", warm::repeated_layouts_find_everything),
        ("first_runs", warm::first_runs_allocate_little),
        ("flat", flat),
        ("threads", threads),
        ("long", long),
        ("fused", fused::graphs),
        ("random", random::programs),
        ("gradients", slopes::slopes),
    ]);
    trials.extend(bench.all_on_each_device(edges::TESTS));
    trials.extend(pool::tests(bench));
    #[cfg(feature = "gpu")]
    trials.push(bench.on_gpu("exhausted", bench::gpu, exhausted));
    for calls in PROGRAMS {
        trials.extend(
            bench.on_each_device(&format!("every::{}", calls.name), |device| {
                every(device, calls);
            }),
        );
    }
    trials
}

/// The bits of a tensor.
fn bits<T: Scalar>(tensor: &Tensor<T>) -> (Layout, Vec<u8>) {
    let batch = tensor.download_blocking().unwrap();
    let bytes = bytemuck::cast_slice(batch.values()).to_vec();
    (batch.layout().clone(), bytes)
}

/// Runs the calls one by one, then records them, with all optimizations and without any.
fn every(device: &Device, calls: &'static Calls) {
    const N: usize = 60;
    let kept = Mode::Kept {
        operands: Vec::new(),
        results: Vec::new(),
    };
    MODE.set(kept);
    let hash = (calls.run)(device, N);
    let Mode::Kept { operands, results } = MODE.take() else {
        panic!("the mode changed");
    };
    hash.unwrap();
    let layouts: Vec<&Layout> = operands
        .iter()
        .map(|operand| with_any!(operand, tensor => tensor.layout()))
        .collect();
    // Views of larger batches, which begin anywhere.
    let views = |begin: usize| -> Vec<Box<dyn Value>> {
        let view = |operand: &Any| -> Box<dyn Value> {
            with_any!(operand, tensor => {
                let batch = tensor.download_blocking().unwrap();
                Box::new(edges::after(device, &batch, begin))
            })
        };
        operands.iter().map(view).collect()
    };
    let inputs = [0, 1, 8, 3].map(views);
    // At first kernels read inputs and write outputs, and then, without optimizations, the arena: it holds copies of
    // all inputs and everything else throughout, so all but the first value of each slab lie at offsets other than 0.
    for (passes, inside) in [(Passes::default(), false), (Passes::none(), true)] {
        let types = operands.clone();
        let program = Program::with_passes(device, passes, move |r| {
            let mut given = VecDeque::new();
            for operand in &types {
                given.push_back(match operand {
                    Any::F32(_) => Any::F32(taken(r, inside)?),
                    Any::I32(_) => Any::I32(taken(r, inside)?),
                    Any::U32(_) => Any::U32(taken(r, inside)?),
                    Any::C32(_) => Any::C32(taken(r, inside)?),
                    Any::F16(_) => Any::F16(taken(r, inside)?),
                });
            }
            MODE.set(Mode::Given {
                operands: given,
                results: Vec::new(),
            });
            let ran = (calls.run)(r.device(), N);
            let Mode::Given { results, .. } = MODE.take() else {
                panic!("the mode changed");
            };
            ran?;
            for result in &results {
                with_any!(result, tensor => match inside {
                    true => r.output(&tensor.copy()?)?,
                    false => r.output(tensor)?,
                });
            }
            Ok(())
        });
        if results.is_empty() {
            assert!(matches!(
                program.plan(&layouts),
                Err(Error::Recording { .. })
            ));
            continue;
        }
        let plan = program.plan(&layouts).unwrap();
        for (turn, inputs) in inputs.iter().enumerate() {
            let inputs: Vec<&dyn Value> = inputs.iter().map(AsRef::as_ref).collect();
            let outputs = plan.run(&inputs).unwrap();
            assert_eq!(outputs.len(), results.len());
            for (i, expected) in results.iter().enumerate() {
                with_any!(expected, expected => {
                    let got = same_type(expected, outputs.get(i).unwrap());
                    assert!(
                        bits(&got) == bits(expected),
                        "{}: result {i} of run {turn} differs with {passes:?}\n{}",
                        calls.name,
                        plan.report(),
                    );
                });
            }
        }
        let memory = plan.report().memory;
        assert!(
            memory.arena >= memory.largest_live && memory.arena <= memory.sum + 256,
            "{memory:?}"
        );
    }
}

/// The next input, or a copy of it in the arena.
fn taken<T: Scalar>(r: &mut Recording, copied: bool) -> Result<Tensor<T>> {
    let input: Tensor<T> = r.input()?;
    match copied {
        true => input.copy(),
        false => Ok(input),
    }
}

/// Tells the compiler the type of an output.
fn same_type<T: Scalar>(_: &Tensor<T>, got: Tensor<T>) -> Tensor<T> {
    got
}

fn upload(device: &Device, rows: &[&[f32]]) -> Tensor<f32> {
    device.upload(&Ragged::from_rows(rows).unwrap()).unwrap()
}

fn values(tensor: &Tensor<f32>) -> Vec<f32> {
    tensor.download_blocking().unwrap().values().to_vec()
}

fn basics(device: &Device) {
    let x = upload(device, &[&[1.0, 2.0, 3.0], &[4.0], &[5.0, 6.0]]);
    let constant = upload(device, &[&[100.0], &[200.0]]);
    let captured = constant.clone();
    let program = Program::new(device, move |r| {
        let x: Tensor<f32> = r.input()?;
        let doubled = x.scale(2.0)?;
        r.output(&doubled)?;
        r.output(&x)?;
        r.output(&captured)?;
        r.output(&doubled.elements(1..2)?)?;
        r.output(
            &doubled
                .scale(2.0)?
                .elements(0..1)?
                .add(&captured.elements(1..2)?)?,
        )?;
        r.output(&r.device().full(x.layout(), 7.0f32)?)
    });
    let two = x.elements(1..3).unwrap();
    let plan = program.plan(&[two.layout()]).unwrap();
    assert_eq!(plan.report().constants.len(), 2);
    #[cfg(feature = "serde")]
    {
        let written = serde_json::to_value(plan.report()).unwrap();
        assert_eq!(written["memory"]["arena"], plan.report().memory.arena);
        assert_eq!(
            written["steps"].as_array().unwrap().len(),
            plan.report().steps.len()
        );
    }
    assert!(
        plan.report().to_string().contains("const 0"),
        "{}",
        plan.report()
    );
    let mut held = Vec::new();
    // Views of one buffer at several bases.
    for (range, [a, b, c]) in [(1..3, [4.0, 5.0, 6.0]), (1..3, [4.0, 5.0, 6.0])] {
        let out = plan.run(&[&x.elements(range).unwrap()]).unwrap();
        let of = |i: usize| values(&out.get(i).unwrap());
        assert_eq!(of(0), [2.0 * a, 2.0 * b, 2.0 * c]);
        assert_eq!(of(1), [a, b, c]);
        assert_eq!(of(2), [100.0, 200.0]);
        assert_eq!(of(3), [2.0 * b, 2.0 * c]);
        assert_eq!(of(4), [4.0 * a + 200.0]);
        assert_eq!(of(5), [7.0; 3]);
        held.push(out.get::<f32>(0).unwrap());
    }
    // Results that are held never change.
    let other = upload(device, &[&[-1.0], &[-2.0, -3.0]]);
    for _ in 0..8 {
        held.push(plan.run(&[&other]).unwrap().get(0).unwrap());
    }
    for early in &held[..2] {
        assert_eq!(values(early), [8.0, 10.0, 12.0]);
    }
    for late in &held[2..] {
        assert_eq!(values(late), [-2.0, -4.0, -6.0]);
    }
    // Otherwise their memory is used again.
    drop(held);
    let before = program.counters();
    for _ in 0..20 {
        plan.run(&[&other]).unwrap();
    }
    assert_eq!(program.counters().outputs, before.outputs);
    assert_eq!(program.counters().runs, before.runs + 20);
    let host = Ragged::from_rows([vec![1.0f32], vec![2.0, 3.0]]).unwrap();
    let out = plan.call_blocking(&[&host]).unwrap();
    assert_eq!(out.len(), 6);
    assert_eq!(out.get::<f32>(0).unwrap().values(), [2.0, 4.0, 6.0]);
    assert_eq!(out.get::<f32>(3).unwrap().values(), [4.0, 6.0]);
    // A result of one run is an input of the next.
    let mut state = x.elements(1..3).unwrap();
    for _ in 0..10 {
        state = plan.run(&[&state]).unwrap().get(0).unwrap();
    }
    assert_eq!(values(&state), [4096.0, 5120.0, 6144.0]);
}

fn recording(error: Error) -> String {
    assert!(matches!(error, Error::Recording { .. }), "{error:?}");
    error.to_string()
}

fn refusals(device: &Device) {
    let x = upload(device, &[&[1.0, 2.0, 3.0], &[4.0]]);
    let escaped = std::sync::Arc::new(std::sync::Mutex::new(None::<Tensor<f32>>));
    let keep = escaped.clone();
    let program = Program::new(device, move |r| {
        let x: Tensor<f32> = r.input()?;
        recording(x.download_blocking().unwrap_err());
        recording(x.degree_blocking().unwrap_err());
        recording(x.shrink_blocking().unwrap_err());
        recording(x.minimal_shape_blocking().unwrap_err());
        recording(x.equivalent_blocking(&x).unwrap_err());
        assert!(
            x.to_string()
                .ends_with("lengths 1..=3, a value of a recording")
        );
        *keep.lock().unwrap() = Some(x.clone());
        r.output(&x.neg()?)
    });
    let plan = program.plan(&[x.layout()]).unwrap();
    let old = escaped.lock().unwrap().take().unwrap();
    assert!(recording(old.neg().unwrap_err()).contains("after the recording ended"));
    assert!(recording(plan.run(&[&old]).unwrap_err()).contains("after the recording ended"));
    let inner = plan.clone();
    let runs = Program::new(device, move |r| {
        let x: Tensor<f32> = r.input()?;
        r.output(&inner.run(&[&x])?.get::<f32>(0)?)
    });
    assert!(recording(runs.plan(&[x.layout()]).unwrap_err()).contains("call the function"));
    let eager = x.clone();
    let of_a_constant = Program::new(device, move |r| {
        let x: Tensor<f32> = r.input()?;
        let [g] = r.gradients(&x.add(&eager)?, [&eager])?;
        r.output(&g)
    });
    let error = of_a_constant.plan(&[x.layout()]).unwrap_err();
    assert!(recording(error).contains("a constant, not a tensor of this recording; pass it"));
    let foreign = Program::new(device, move |r| {
        let y: Tensor<f32> = r.input()?;
        r.output(&y.add(&old)?)
    });
    assert!(recording(foreign.plan(&[x.layout()]).unwrap_err()).contains("another recording"));

    // Other layouts than those of the plan.
    let error = plan
        .run(&[&upload(device, &[&[1.0, 2.0], &[4.0]])])
        .unwrap_err();
    let expected = "run: input 0: element 0: expected (3), got (2); make a plan for these layouts";
    assert_eq!(error.to_string(), expected);
    let error = plan.run(&[&upload(device, &[&[1.0]])]).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Layout {
                input: 0,
                element: None,
                ..
            }
        ),
        "{error}"
    );
    let error = plan.run(&[&x.to::<i32>().unwrap()]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "run: input 0: expected f32, got i32; make a plan for these layouts"
    );
    assert!(matches!(plan.run(&[]), Err(Error::Argument { .. })));
    assert_eq!(
        values(&plan.run(&[&x]).unwrap().get(0).unwrap()),
        [-1.0, -2.0, -3.0, -4.0]
    );

    // Inputs and outputs.
    recording(program.plan(&[]).unwrap_err());
    recording(program.plan(&[x.layout(), x.layout()]).unwrap_err());
    let silent = Program::new(device, |r| r.input::<f32>().map(|_| ()));
    assert!(recording(silent.plan(&[x.layout()]).unwrap_err()).contains("no outputs"));
    let outputs = plan.run(&[&x]).unwrap();
    assert!(matches!(outputs.get::<f32>(1), Err(Error::Argument { .. })));
    assert!(matches!(outputs.get::<u32>(0), Err(Error::Argument { .. })));

    // A plan inside a recording.
    let (inner, layout) = (program.clone(), x.layout().clone());
    let nested = Program::new(device, move |r| {
        let x: Tensor<f32> = r.input()?;
        inner.plan(&[&layout])?;
        r.output(&x)
    });
    recording(nested.plan(&[x.layout()]).unwrap_err());
    // Afterwards everything works as before, on this thread, too.
    program.plan(&[x.layout()]).unwrap();

    // An error of an operation is the plan's.
    let wrong = Program::new(device, |r| {
        let x: Tensor<f32> = r.input()?;
        r.output(&x.sum_axis(3)?)
    });
    assert_eq!(wrong.plan(&[x.layout()]).unwrap_err().op(), "sum_axis");
    let elsewhere = Program::new(device, |r| {
        let x: Tensor<f32> = r.input()?;
        r.output(&x.scale(3.0)?)
    });
    let plan = elsewhere.plan(&[x.layout()]).unwrap();
    if device.is_gpu() {
        let other = upload(&Device::cpu(), &[&[1.0, 2.0, 3.0], &[4.0]]);
        assert!(matches!(
            plan.run(&[&other]),
            Err(Error::DeviceMismatch { .. })
        ));
    }
}

/// A layer that keeps each element's shape: the element minus its mean, times a constant, plus its reverse.
fn layer(x: &Tensor<f32>) -> vsla::Result<Tensor<f32>> {
    let mean = x.mean()?;
    x.sub(mean.each())?.scale(0.5)?.add(&x.flip(&[0])?)
}

fn layers(x: &Tensor<f32>, count: usize) -> vsla::Result<Tensor<f32>> {
    (0..count).try_fold(x.clone(), |x, _| layer(&x))
}

fn network(device: &Device, count: usize) -> Program {
    Program::new(device, move |r| {
        let x: Tensor<f32> = r.input()?;
        r.output(&layers(&x, count)?)
    })
}

/// Log-normal lengths, as of sentences.
fn lengths(rng: &mut fastrand::Rng, count: usize) -> Vec<usize> {
    let normal = |rng: &mut fastrand::Rng| (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
    (0..count)
        .map(|_| (3.0 + 0.6 * normal(rng)).exp() as usize)
        .collect()
}

fn fresh(device: &Device) {
    let device = &alone(device);
    let batches = if bench::is_software(device) {
        100
    } else {
        1000
    };
    let program = network(device, 4);
    let mut rng = fastrand::Rng::with_seed(5);
    let mut settled = None;
    for batch in 0..batches {
        let layout = Layout::from_lengths(lengths(&mut rng, 64)).unwrap();
        let x = device
            .upload(&Ragged::random(&layout, batch).unwrap())
            .unwrap();
        let plan = program.plan(&[x.layout()]).unwrap();
        let y: Tensor<f32> = plan.run(&[&x]).unwrap().get(0).unwrap();
        if batch % 25 == 0 {
            assert!(bits(&y) == bits(&layers(&x, 4).unwrap()), "batch {batch}");
        }
        drop((plan, y, x));
        if batch == batches / 2 {
            settled = Some(device.memory());
        }
    }
    let growths = program.counters().growths;
    assert!(growths <= 15, "{growths} growths");
    let (settled, now) = (settled.unwrap(), device.memory());
    let all = |memory: &vsla::device::Memory| memory.live + memory.cached;
    assert!(
        all(&now) <= all(&settled) + (1 << 20),
        "{settled:?} {now:?}"
    );
}

/// A device of the same kind for this trial alone, because others plan on a shared one and take its memory. It does not
/// fill results with NaN, which takes memory, too.
fn alone(device: &Device) -> Device {
    match device.is_gpu() {
        #[cfg(feature = "gpu")]
        true => bench::opened_for_one(|_| ()),
        _ => Device::cpu(),
    }
}

fn flat(device: &Device) {
    let device = &alone(device);
    let layout = Layout::from_lengths((0..200).map(|i| 1000 + 7 * i)).unwrap();
    let x = device.upload(&Ragged::random(&layout, 1).unwrap()).unwrap();
    let program = network(device, 6);
    let plan = program.plan(&[&layout]).unwrap();
    let run = || plan.run(&[&x]).unwrap().get::<f32>(0).unwrap();
    // Outputs that take turns, as in a loop that feeds them back.
    let mut last = run();
    for _ in 0..4 {
        last = run();
    }
    let hurried = bench::is_hurried(device);
    let runs = if hurried { 3 } else { 10 };
    // Other trials share the memory of the CPU.
    let state = || {
        let live = device.is_gpu().then(|| device.memory().live);
        let made = device.counters();
        (live, device.info().pipelines, made.plans, made.uploads)
    };
    let expected = bits(&layers(&x, 6).unwrap());
    let (before, counters) = (state(), program.counters());
    for _ in 0..runs {
        let (next, largest) = allocation::largest_in(run);
        // wgpu allocates for its encoder; nothing depends on the number of values, which take over a megabyte.
        assert!(largest <= 256 << 10, "{largest} bytes allocated");
        last = next;
    }
    assert_eq!(before, state());
    assert!(bits(&last) == expected);
    drop(last);
    let after = program.counters();
    assert_eq!(
        (after.outputs, after.growths, after.bind_groups),
        (counters.outputs, counters.growths, counters.bind_groups)
    );
    assert_eq!(after.bind_groups > 0, device.is_gpu());
    assert_eq!(after.runs, counters.runs + runs);
    // What a run allocates does not depend on the number of operations.
    let (layout, x) = match hurried {
        true => {
            let few = x.elements(0..1).unwrap();
            (few.layout().clone(), few)
        }
        false => (layout, x),
    };
    let counts = [3, 12].map(|count| {
        let program = network(device, count);
        let plan = program.plan(&[&layout]).unwrap();
        let run = || plan.run(&[&x]).unwrap();
        (0..5).for_each(|_| drop(run()));
        device.flush().unwrap();
        run();
        // At least: other trials may allocate meanwhile.
        (0..9).map(|_| allocation::ours_in(run).1).min()
    });
    assert!(
        counts[0] == counts[1] && counts[1] <= Some(20),
        "{counts:?}"
    );
}

fn threads(device: &Device) {
    let program = network(device, 3);
    let layouts: Vec<Layout> = (1..5)
        .map(|n| Layout::from_lengths((0..40).map(|i| n * i)).unwrap())
        .collect();
    let batches: Vec<Tensor<f32>> = (1..)
        .zip(&layouts)
        .map(|(seed, layout)| {
            device
                .upload(&Ragged::random(layout, seed).unwrap())
                .unwrap()
        })
        .collect();
    let expected: Vec<_> = batches
        .iter()
        .map(|x| bits(&layers(x, 3).unwrap()))
        .collect();
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (program, batches, expected) = (&program, &batches, &expected);
            scope.spawn(move || {
                for turn in 0..12 {
                    let i = (turn * (thread + 1)) % batches.len();
                    let plan = program.plan(&[batches[i].layout()]).unwrap();
                    let got: Tensor<f32> = plan.run(&[&batches[i]]).unwrap().get(0).unwrap();
                    assert!(bits(&got) == expected[i], "thread {thread}, turn {turn}");
                }
            });
        }
    });
}

#[cfg(feature = "gpu")]
fn exhausted(_: &Device) {
    let device = bench::opened_for_one(|options| options.memory_limit = Some(96 << 20));
    let program = network(&device, 3);
    let small = Layout::from_lengths([1000, 2000]).unwrap();
    let x = device.upload(&Ragged::random(&small, 1).unwrap()).unwrap();
    let plan = program.plan(&[&small]).unwrap();
    let expected = bits(&layers(&x, 3).unwrap());
    let large = Layout::from_lengths([8 << 20, 8 << 20]).unwrap();
    let error = program.plan(&[&large]).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    assert!(bits(&plan.run(&[&x]).unwrap().get::<f32>(0).unwrap()) == expected);
    program.plan(&[&small]).unwrap();
}

fn long(device: &Device) {
    let layout = Layout::from_lengths([5, 0, 70]).unwrap();
    let x = device.upload(&Ragged::random(&layout, 3).unwrap()).unwrap();
    let body = |x: &Tensor<f32>| -> vsla::Result<Tensor<f32>> {
        let mut early = Vec::new();
        let mut value = x.clone();
        for i in 0..300 {
            value = value.scale(1.01)?.add(x)?.flip(&[0])?;
            if i % 30 == 0 {
                early.push(value.clone());
            }
        }
        early.iter().try_fold(value, |sum, value| sum.sub(value))
    };
    let program = Program::new(device, move |r| {
        r.input().and_then(|x| r.output(&body(&x)?))
    });
    let plan = program.plan(&[&layout]).unwrap();
    let got: Tensor<f32> = plan.run(&[&x]).unwrap().get(0).unwrap();
    assert!(bits(&got) == bits(&body(&x).unwrap()));
    let memory = plan.report().memory;
    assert!(memory.arena < memory.sum / 20, "{memory:?}");
}
