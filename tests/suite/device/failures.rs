//! Operations that fail because memory or the device is missing leave nothing behind.

use libtest_mimic::Trial;
use vsla::batch::Permutation;
use vsla::image::Components;
use vsla::program::Program;
use vsla::{Error, Indices, Layout, Pairing, Ragged, Result, Shape, Tensor};

use super::pressure::{MIB, fill, limited};
use super::{EVERY_OP, drawn, lengths, numbers, own_gpu};
use crate::support::bench::{Bench, gpu};
use crate::support::operation::{pair_list, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[(&str, fn())] = &[
        ("failures::at_each_allocation", at_each_allocation),
        ("failures::of_a_lost_device", of_a_lost_device),
    ];
    tests
        .iter()
        .map(|&(name, test)| bench.on_gpu(name, gpu, move |_| test()))
        .collect()
}

type Op = fn(&Tensor<f32>, &Tensor<f32>) -> Result<()>;

/// Operations that [`EVERY_OP`] leaves out, each with a different way to plan or to allocate.
const MORE_OPS: &[(&str, Op)] = &[
    ("conv by transforms", |x, y| {
        x.conv(y)?.download_blocking().map(drop)
    }),
    ("upload", |x, _| {
        x.device()
            .upload(&numbers(&lengths([9_000, 3]), 0))
            .map(drop)
    }),
    ("all to all", |x, y| {
        x.pair(y, Pairing::AllToAll)?
            .correlate_max()?
            .value
            .download_blocking()
            .map(drop)
    }),
    ("a list", |x, y| {
        let list: Vec<(u32, u32)> = (0..500).map(|i| (i * 3 % 40, i * 7 % 40)).collect();
        x.pair(y, Pairing::List(&pair_list(&list)))?
            .dot()?
            .download_blocking()
            .map(drop)
    }),
    ("concat", |x, y| {
        x.concat(y, 0)?.download_blocking().map(drop)
    }),
    ("kron", |x, y| x.kron(y)?.download_blocking().map(drop)),
    ("rfft and back", |x, _| {
        x.rfft()?.irfft(x.layout())?.download_blocking().map(drop)
    }),
    ("reorder", |x, _| {
        let order = Permutation::new((0..40).rev().collect::<Vec<u32>>())?;
        x.reorder(&order)?.download_blocking().map(drop)
    }),
    ("join", |x, y| x.join(&[y])?.download_blocking().map(drop)),
    ("flip", |x, _| x.flip(&[0])?.download_blocking().map(drop)),
    ("min", |x, _| x.min()?.download_blocking().map(drop)),
    ("f16", |x, _| {
        x.to::<vsla::f16>()?
            .to::<f32>()?
            .download_blocking()
            .map(drop)
    }),
    ("matmul", |x, _| {
        let shapes = (0..12).map(|i| Shape::new(&[i + 1, 20]).unwrap());
        let layout = vsla::Layout::from_shapes(2, shapes)?;
        let a = x.device().upload(&numbers(&layout, 0))?;
        a.transpose(&[1, 0])?
            .matmul(&a)?
            .download_blocking()
            .map(drop)
    }),
    ("products of spectra", |x, y| {
        (&x.rfft()? * &y.rfft()?)?
            .abs()?
            .download_blocking()
            .map(drop)
    }),
    ("pairs of floats", |x, y| {
        let pairs = x.complex(y)?.conj()?.view_as_real()?;
        pairs.view_as_complex()?.download_blocking().map(drop)
    }),
    ("div", |x, y| x.div(y)?.download_blocking().map(drop)),
    ("a vector for all", |x, y| {
        x.sub(x.sum()?.each())?
            .pow(y)?
            .download_blocking()
            .map(drop)
    }),
    ("mul_add", |x, y| {
        x.mul_add(y, x)?.download_blocking().map(drop)
    }),
    ("if_else", |x, y| {
        x.less(y)?.if_else(x, y)?.download_blocking().map(drop)
    }),
    ("exp", |x, _| x.exp()?.download_blocking().map(drop)),
    ("to", |x, _| x.to::<i32>()?.download_blocking().map(drop)),
    ("mean", |x, _| x.mean()?.download_blocking().map(drop)),
    ("softmax", |x, _| {
        x.softmax(0)?.download_blocking().map(drop)
    }),
    ("cumsum", |x, _| x.cumsum(0)?.download_blocking().map(drop)),
    ("median", |x, _| x.median()?.download_blocking().map(drop)),
    ("sort", |x, _| x.sort(0)?.download_blocking().map(drop)),
    ("max_pool", |x, _| {
        x.max_pool(&[2])?.download_blocking().map(drop)
    }),
    ("cross_entropy", |x, _| {
        let targets = x.sum()?.to::<u32>()?;
        x.cross_entropy(&targets)?.download_blocking().map(drop)
    }),
    ("one_hot", |x, _| {
        let rows = x.to::<u32>()?.one_hot::<f32>(4)?;
        rows.download_blocking().map(drop)
    }),
    ("embedding", |x, y| {
        let rows = Layout::uniform(1, Shape::new(&[y.layout().length(0), 1])?)?;
        let table = y.elements(0..1)?.reshape(&rows)?;
        let rows = table.embedding(&x.to::<u32>()?)?;
        rows.download_blocking().map(drop)
    }),
    ("label", |x, _| {
        let rows = x.layout().lengths().map(|n| Shape::new(&[1, n]).unwrap());
        let rows = Layout::from_shapes(2, rows)?;
        let images = x.to::<i32>()?.reshape(&rows)?;
        let (labels, _) = images.label(Components::of_foreground())?;
        labels.download_blocking().map(drop)
    }),
    ("histogram", |x, _| {
        let counts = x.histogram(5000, 0.0..=1.0)?;
        counts.download_blocking().map(drop)
    }),
    ("arange", |x, _| {
        let numbers = x.device().arange(x.layout(), 0, 1)?;
        numbers.download_blocking().map(drop)
    }),
    ("normal", |x, _| {
        let random = x.device().normal(x.layout(), 0.0f32, 1.0, 1)?;
        random.download_blocking().map(drop)
    }),
    ("dropout", |x, _| {
        x.dropout(0.5, 1)?.download_blocking().map(drop)
    }),
    ("max_axis", |x, _| {
        x.max_axis(0)?.download_blocking().map(drop)
    }),
    ("layer_norm", |x, _| {
        x.layer_norm(0, 1e-5)?.download_blocking().map(drop)
    }),
    ("gather", |x, _| {
        x.gather(&backwards(x)?)?.download_blocking().map(drop)
    }),
    ("scatter_add", |x, _| {
        let rows = backwards(x)?;
        x.scatter_add(&rows, x.layout())?
            .download_blocking()
            .map(drop)
    }),
    ("scatter_set", |x, _| {
        let rows = backwards(x)?;
        x.scatter_set(&rows, x.layout())?
            .download_blocking()
            .map(drop)
    }),
    ("select", |x, _| {
        x.select(&[7, 3, 3])?.download_blocking().map(drop)
    }),
    ("window", |x, _| {
        x.window(3, 2, 1 << 20)?.download_blocking().map(drop)
    }),
    ("a program", |x, y| {
        let program = Program::new(x.device(), |r| {
            let (x, y): (Tensor<f32>, Tensor<f32>) = (r.input()?, r.input()?);
            r.output(&x.add(&y)?.sbd(&y)?.distance)?;
            r.output(&x.scale(2.0)?.neg()?)
        });
        let plan = program.plan(&[x.layout(), y.layout()])?;
        plan.run(&[x, y])?;
        let out = plan.run(&[x, y])?;
        out.get::<f32>(0)?.download_blocking()?;
        out.get::<f32>(1)?.download_blocking().map(drop)
    }),
    ("eval", |x, y| x.eval(y)?.download_blocking().map(drop)),
    ("profile", |x, _| {
        let (scaled, _) = x.device().profile_blocking(|| x.scale(2.0))?;
        scaled.map(drop)
    }),
];

/// The values of each element, last to first.
fn backwards(x: &Tensor<f32>) -> Result<Indices> {
    let layout = x.layout();
    let last = |element, i| (layout.length(element) - 1 - i) as u32;
    Indices::new(Ragged::from_fn(layout, last)?)
}

/// Operations of every family, with a memory limit that makes each allocation fail in turn.
fn at_each_allocation() {
    let device = limited(8 * MIB);
    let every = EVERY_OP.iter().map(|&(name, op)| {
        let run = move |x: &Tensor<f32>, y: &Tensor<f32>| op(x, y).map(drop);
        (
            name,
            Box::new(run) as Box<dyn Fn(&Tensor<f32>, &Tensor<f32>) -> Result<()>>,
        )
    });
    let more = MORE_OPS
        .iter()
        .map(|&(name, op)| (name, Box::new(op) as Box<_>));
    let mut all = 0;
    for (name, op) in every.chain(more) {
        let (mut room, mut failures) = (0, 0);
        loop {
            // New layouts, of which nothing is cached.
            let (x, y) = (
                upload(&device, &numbers(&drawn("short left", 40, 60), 0)),
                upload(&device, &numbers(&drawn("short right", 40, 60), 1)),
            );
            let ballast = fill(&device, room);
            device.trim();
            let before = device.memory();
            let outcome = op(&x, &y);
            device.trim();
            // Work that was recorded before the failure still runs.
            let done = vsla::device::wgpu::PollType::wait_indefinitely();
            device.wgpu().unwrap().0.poll(done).unwrap();
            let after = device.memory();
            assert_eq!(
                (after.live, after.cached, after.leaving),
                (before.live, 0, 0),
                "{name} with {room}: {outcome:?}, {before:?}"
            );
            drop((ballast, x, y));
            assert_eq!(device.memory().live, 0, "{name} with {room}");
            match outcome {
                Ok(()) => break,
                // Raises the limit so that exactly one more allocation succeeds.
                Err(Error::OutOfMemory {
                    bytes,
                    available: Some(available),
                    ..
                }) => {
                    assert!(bytes > available, "{name}: {bytes} of {available}");
                    room += (bytes - available).next_multiple_of(256);
                    failures += 1;
                }
                Err(error) => panic!("{name} with {room}: {error}"),
            }
        }
        assert!((1..100).contains(&failures), "{name}: {failures} failures");
        all += failures;
    }
    // Allocations of results, metadata, work lists, scratch buffers and tables.
    assert!(all > 60, "{all} failures");
}

fn of_a_lost_device() {
    let device = own_gpu(|_| ());
    let (x, y) = (
        upload(&device, &numbers(&drawn("lost left", 40, 60), 0)),
        upload(&device, &numbers(&drawn("lost right", 40, 60), 1)),
    );
    let live = device.memory().live;
    let sum = x.add(&y).unwrap();
    device.wgpu().unwrap().0.destroy();
    for (_, op) in EVERY_OP {
        assert_eq!(op(&x, &y).unwrap_err().kind(), "device_lost");
    }
    drop(sum);
    device.trim();
    let memory = device.memory();
    assert_eq!(
        (memory.live, memory.cached, memory.leaving),
        (live, 0, 0),
        "{memory:?}"
    );
    drop((x, y));
    assert_eq!(device.memory().live, 0);
}
