//! Runs of plans for lengths never seen before, in a frame that is large enough.

use vsla::program::Program;
use vsla::{Device, Layout, Ragged, Result, Shape, Tensor};

use super::{alone, bits, layers, lengths, network, upload};
use crate::support::{allocation, bench};

/// Once the frame is large enough, plans for new lengths find everything there that runs need on a GPU, whether earlier
/// plans are dropped or held.
pub fn runs_make_no_bind_groups(device: &Device) {
    // Instrumented devices bind exact sizes.
    if bench::all_are_instrumented() {
        return;
    }
    let device = &alone(device);
    let mut rng = fastrand::Rng::with_seed(6);
    let mut batch = |device: &Device| {
        let layout = Layout::from_lengths(lengths(&mut rng, 64)).unwrap();
        device.upload(&Ragged::random(&layout, 1).unwrap()).unwrap()
    };
    // A constant, which all plans bind.
    let shift = upload(device, &[&[0.5f32] as &[f32]; 64]);
    let body = |x: &Tensor<f32>, shift: &Tensor<f32>| {
        let y = layers(&x.add(shift.each())?, 3)?;
        y.cumsum(0)?.sub(x)
    };
    let captured = shift.clone();
    let program = Program::new(device, move |r| {
        let x: Tensor<f32> = r.input()?;
        r.output(&body(&x, &captured)?)
    });
    program
        .reserve(&[&Layout::from_lengths([800; 64]).unwrap()])
        .unwrap();
    let mut run = |batches: usize| -> Vec<_> {
        let run = |_| {
            let x = batch(device);
            let plan = program.plan(&[x.layout()]).unwrap();
            let y: Tensor<f32> = plan.run(&[&x]).unwrap().get(0).unwrap();
            (plan, x, y)
        };
        (0..batches).map(run).collect()
    };
    drop(run(20));
    let before = program.counters();
    let held = run(40);
    let after = program.counters();
    assert_eq!(
        (after.growths, after.frame_bind_groups),
        (before.growths, before.frame_bind_groups)
    );
    assert_eq!(after.frame_bind_groups > 0, device.is_gpu());
    // The others bind an input or the output.
    assert!(after.bind_groups <= after.frame_bind_groups + 60 * 4);
    for (plan, x, y) in &held {
        let expected = bits(&body(x, &shift).unwrap());
        assert!(bits(y) == expected);
        // Other plans ran in between.
        let again: Tensor<f32> = plan.run(&[x]).unwrap().get(0).unwrap();
        assert!(bits(&again) == expected);
    }
}

/// The same layouts again and again: after the first round, the frame has room for all of them, and after the second,
/// it has all bind groups without inputs and outputs, even if the kernels of a program and the lifetimes of its values
/// differ from layout to layout.
pub fn repeated_layouts_find_everything(device: &Device) {
    // Instrumented devices bind exact sizes.
    if bench::all_are_instrumented() {
        return;
    }
    let device = &alone(device);
    type Body = fn(&Tensor<f32>) -> Result<Tensor<f32>>;
    let bodies: [Body; 3] = [
        |x| x.sort(2)?.sub(x.sum()?.each()),
        |x| x.transpose(&[2, 0, 1])?.cumsum(1)?.norm2(),
        // Its kernels differ from layout to layout.
        |x| {
            let y = x.softmax(1)?.layer_norm(2, 1e-5)?;
            y.sub(y.max()?.each())?.sort(0)?.cumsum(1)
        },
    ];
    for (number, body) in bodies.into_iter().enumerate() {
        let program = Program::new(device, move |r| {
            let x: Tensor<f32> = r.input()?;
            let y = body(&x)?;
            let [slope] = r.gradients(&y.square()?.sum()?, [&x])?;
            r.output(&y)?;
            r.output(&slope)
        });
        let mut rng = fastrand::Rng::with_seed(number as u64);
        let mut one = |_| {
            let shapes = (0..rng.usize(1..6)).map(|_| {
                // All orders of magnitude, up to about 2¹⁵ values.
                let mut left = rng.u32(..16);
                let extents = [0; 3].map(|_| {
                    let log = rng.u32(..=left);
                    left -= log;
                    (1 << log) + rng.usize(..=1 << log >> 1)
                });
                Shape::new(&extents).unwrap()
            });
            let layout = Layout::from_shapes(3, shapes.collect::<Vec<_>>()).unwrap();
            device.upload(&Ragged::random(&layout, 1).unwrap()).unwrap()
        };
        let batches: Vec<Tensor<f32>> = (0..50).map(&mut one).collect();
        let rounds = [(); 4].map(|()| {
            for x in &batches {
                program.plan(&[x.layout()]).unwrap().run(&[x]).unwrap();
            }
            let counters = program.counters();
            (counters.growths, counters.frame_bind_groups)
        });
        let [first, second, third, fourth] = rounds;
        let grown = rounds.map(|(growths, _)| growths);
        assert_eq!(grown, [first.0; 4], "{number}: growths, {rounds:?}");
        let made = [third, fourth].map(|(_, groups)| groups);
        assert_eq!(made, [second.1; 2], "{number}: bind groups, {rounds:?}");
    }
}

/// The first run of a plan allocates little, and not for each operation either.
pub fn first_runs_allocate_little(device: &Device) {
    // Instrumented devices bind exact sizes, so bind groups are made for every plan.
    if bench::all_are_instrumented() {
        return;
    }
    let device = &alone(device);
    let mut rng = fastrand::Rng::with_seed(7);
    let counts = [3, 12].map(|count| {
        let program = network(device, count);
        program
            .reserve(&[&Layout::from_lengths([800; 64]).unwrap()])
            .unwrap();
        let mut first = || {
            let layout = Layout::from_lengths(lengths(&mut rng, 64)).unwrap();
            let x = device.upload(&Ragged::random(&layout, 1).unwrap()).unwrap();
            let plan = program.plan(&[&layout]).unwrap();
            device.flush().unwrap();
            let (outputs, made) = allocation::ours_in(|| plan.run(&[&x]).unwrap());
            let got = bits(&outputs.get::<f32>(0).unwrap());
            (made, x, got)
        };
        (0..20).for_each(|_| drop(first()));
        let all: Vec<_> = (0..20).map(|_| first()).collect();
        for (_, x, got) in &all {
            assert!(*got == bits(&layers(x, count).unwrap()));
        }
        // A table of bind groups grows now and then.
        all.iter().map(|(made, ..)| *made).min()
    });
    let [few, many] = counts.map(Option::unwrap);
    // The second program has nine more layers.
    assert!(many < few + 9 && many <= 40, "{counts:?}");
}
