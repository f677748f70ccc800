//! Products on the native tier: few tiles and long sums, which several sets of invocations share.

#[cfg(feature = "gpu")]
use std::collections::BTreeSet;

use libtest_mimic::Trial;
use vsla::{
    Device, Layout, Pairing, Ragged, f16,
    product::{Activation, Tier},
};

use super::half::narrowed;
use super::matrix::among;
use super::{
    TRANSPOSES, check_by, check_random_by, factors, form, matrices, multiply, small_integers,
};
#[cfg(feature = "gpu")]
use crate::device::own_gpu;
#[cfg(feature = "gpu")]
use crate::support::bench::gpu;
use crate::support::bench::{Bench, DeviceTest, repeats, tiers};
use crate::support::compare::assert_identical;
use crate::support::operation::{download, pair_list, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[DeviceTest] = &[
        ("native::integers", integers),
        ("native::wrapping", wrapping),
        ("native::random", random),
        ("native::empty", empty),
        ("native::pairings", pairings),
        ("native::not_a_number_stays", not_a_number_stays),
        ("native::epilogues", epilogues),
        ("native::alone", alone),
        ("native::many_times", many_times),
    ];
    let mut trials: Vec<Trial> = tests
        .iter()
        .map(|&(name, test)| bench.on_native(name, test))
        .collect();
    trials.extend(bench.on_each_device("native::refused", refused));
    #[cfg(feature = "gpu")]
    trials.extend([
        // A separate device, so that the profile does not contain the work of other trials.
        bench.on_native("native::every_kernel", |_| every_kernel(&own_gpu(|_| ()))),
        bench.on_gpu("native::small_devices", gpu, |_| small_devices()),
    ]);
    trials
}

/// Extents around the limits of tiles, steps and blocks of a sum.
fn extents() -> Vec<[usize; 3]> {
    let sides = [1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33];
    let inner = [509, 512, 515, 768, 1023, 1025, 1537, 2047, 2048, 2050, 4096];
    let drawn = (0..12).map(|i| [sides[i % 12], inner[i * 7 % 11], sides[i * 5 % 12]]);
    let others = [
        [3, 33_001, 2],
        [4, 10_000, 4],
        [40, 1000, 72],
        [100, 601, 90],
        [1, 1024, 300],
        [300, 1028, 1],
        [2, 512, 1000],
    ];
    drawn.chain(others).collect()
}

/// One product, computed alone, for each kernel that the baseline does not have.
const EVERY: [[usize; 3]; 4] = [
    [40, 1000, 72],
    [16, 513, 645],
    [150, 515, 280],
    [33, 261, 5125],
];

/// The depth of these sums, which is at most the documented depth.
fn depth(terms: usize) -> f64 {
    let block = (32 * terms.div_ceil(2048)).min(512);
    let blocks = terms.min(block) + terms.div_ceil(block);
    assert!(blocks as f64 <= super::depth(terms));
    blocks as f64
}

/// Calls `work` with each of these, one at a time.
fn each(work: impl Fn(&[[usize; 3]])) {
    EVERY.iter().for_each(|of| work(std::slice::from_ref(of)));
}

/// Products of the extents in `EVERY` use every kernel of the native tier.
#[cfg(feature = "gpu")]
fn every_kernel(device: &Device) {
    fn kernels_used<T: vsla::scalar::Factor>(
        device: &Device,
        of: impl Fn(&Layout) -> Ragged<T>,
    ) -> Option<usize> {
        let mut names = BTreeSet::new();
        for extents in EVERY {
            let (left, right) = factors(&[extents], [false; 2]);
            let (x, y) = (upload(device, &of(&left)), upload(device, &of(&right)));
            let pair = x.pair(&y, Pairing::Elementwise).unwrap();
            let product = pair.product().tier(Tier::Native);
            let (_, profile) = device.profile_blocking(|| product.run().unwrap()).unwrap();
            profile.device_time?;
            names.extend(profile.kernels.into_iter().map(|kernel| kernel.kernel));
        }
        names.retain(|name| name.contains(".native."));
        Some(names.len())
    }
    let counts = [
        kernels_used(device, |layout| Ragged::full(layout, 1.0f32).unwrap()),
        kernels_used(device, |layout| Ragged::full(layout, 1i32).unwrap()),
        kernels_used(device, |layout| Ragged::full(layout, 1u32).unwrap()),
        kernels_used(device, |layout| Ragged::full(layout, f16::ONE).unwrap()),
    ];
    let listed = vsla::device::kernels();
    let native = |name: &str| name.starts_with("matmul.") && name.contains(".native.");
    let all = listed.iter().filter(|(name, _)| native(name)).count();
    // If the device supports timestamps.
    if let [Some(of_f32), others @ ..] = counts {
        assert_eq!(others, [Some(of_f32); 3]);
        assert_eq!(4 * of_f32, all);
    }
}

fn integers(device: &Device) {
    for transposed in TRANSPOSES {
        check_by::<f32>(device, &extents(), transposed, Tier::Native);
        each(|one| check_by::<f32>(device, one, transposed, Tier::Native));
    }
}

fn wrapping(device: &Device) {
    for transposed in [[false, true], [true, false]] {
        each(|one| {
            check_by::<i32>(device, one, transposed, Tier::Native);
            check_by::<u32>(device, one, transposed, Tier::Native);
        });
    }
}

fn random(device: &Device) {
    for transposed in TRANSPOSES {
        check_random_by(device, &extents(), transposed, Tier::Native, depth);
    }
    each(|one| check_random_by(device, one, [false; 2], Tier::Native, depth));
}

fn empty(device: &Device) {
    let extents = [
        [3, 0, 2],
        [0, 1000, 2],
        [3, 1000, 0],
        [0, 0, 0],
        [2, 1000, 2],
    ];
    for transposed in TRANSPOSES {
        check_by::<f32>(device, &extents, transposed, Tier::Native);
        check_by::<f32>(device, &[], transposed, Tier::Native);
    }
}

/// Equal to the baseline's results, because the sums are exact.
fn pairings(device: &Device) {
    let a = small_integers::<f32>(&matrices([[3, 700], [40, 700], [0, 700]]), "left");
    let b = small_integers::<f32>(&matrices([[700, 2], [700, 33]]), "right");
    let (x, y) = (upload(device, &a), upload(device, &b));
    let list = [(1, 1), (0, 1), (2, 0), (1, 1), (0, 0)];
    for pairing in [Pairing::AllToAll, Pairing::List(&pair_list(list))] {
        let pair = x.pair(&y, pairing).unwrap();
        let [native, baseline] = [Tier::Native, Tier::Baseline]
            .map(|tier| download(&pair.product().tier(tier).run().unwrap()));
        assert_identical(format!("{pairing:?}"), &native, &baseline);
    }
    // Different inner extents: the sum ends inside a row, and not at a whole quad.
    let short = small_integers::<f32>(&matrices([[601, 5], [602, 33], [603, 8]]), "short");
    let long = small_integers::<f32>(&matrices([[3, 700], [40, 704], [9, 1201]]), "long");
    let (x, y) = (upload(device, &long), upload(device, &short));
    let pair = x.pair(&y, Pairing::Elementwise).unwrap();
    let [native, baseline] = [Tier::Native, Tier::Baseline]
        .map(|tier| download(&pair.product().ambient().tier(tier).run().unwrap()));
    assert_identical("ambient", &native, &baseline);
}

/// A NaN affects only its row of a and its column of b.
fn not_a_number_stays(device: &Device) {
    for [m, k, n] in EVERY {
        let (left, right) = factors(&[[m, k, n]], [false; 2]);
        let (mut a, mut b) = (
            Ragged::full(&left, 1.0f32).unwrap(),
            Ragged::full(&right, 1.0f32).unwrap(),
        );
        a.values_mut()[m * k - 1] = f32::INFINITY;
        b.values_mut()[n - 3] = f32::NAN;
        for base in [0, 3] {
            let [x, y] = [&a, &b].map(|batch| among(device, batch, base, f32::NAN));
            let pair = x.pair(&y, Pairing::Elementwise).unwrap();
            let got = download(&pair.product().tier(Tier::Native).run().unwrap());
            for (at, &value) in got.row(0).iter().enumerate() {
                let right = match (at % n == n - 3, at / n == m - 1) {
                    (true, _) => value.is_nan(),
                    (_, true) => value == f32::INFINITY,
                    _ => value == k as f32,
                };
                assert!(right, "{m} x {k} x {n} at {at}: {value}");
            }
        }
    }
}

/// The epilogue of exact sums gives the same results as in the baseline.
fn epilogues(device: &Device) {
    for of in EVERY {
        let (left, right) = factors(&[of], [false; 2]);
        let bias = Layout::from_lengths([of[2]]).unwrap();
        let [a, b, residual] = [left, right, matrices([[of[0], of[2]]])]
            .map(|layout| upload(device, &small_integers(&layout, "epilogues")));
        let bias = upload(device, &small_integers::<f32>(&bias, "bias"));
        let both = a.pair(&b, Pairing::Elementwise).unwrap();
        for (scale, activation) in [(0.25, Activation::Relu), (0.015, Activation::Gelu)] {
            let [native, baseline] = [Tier::Native, Tier::Baseline].map(|tier| {
                let product = both.product().tier(tier).scale(scale).bias(&bias);
                let product = product.activation(activation).residual(&residual);
                download(&product.run().unwrap())
            });
            assert_identical(format!("{of:?} {activation:?}"), &native, &baseline);
        }
    }
}

/// The same bits in any batch (which decides which invocations share a sum), at any offset, and with either way of
/// loading; halves give the bits of their values in f32.
fn alone(device: &Device) {
    let others = [[4, 10_000, 4], [64, 64, 64]];
    let extents: Vec<_> = EVERY.into_iter().chain(others).collect();
    for transposed in [[false; 2], [true; 2]] {
        let (left, right) = factors(&extents, transposed);
        let a = narrowed(&Ragged::random(&left, 3).unwrap())
            .cast(f16::to_f32)
            .unwrap();
        let b = narrowed(&Ragged::random(&right, 4).unwrap())
            .cast(f16::to_f32)
            .unwrap();
        let whole = multiply(device, &a, &b, transposed, Tier::Native);
        for i in 0..extents.len() {
            for base in [0, 3] {
                let of = |x: &Ragged<f32>| {
                    let layout = Layout::from_shapes(2, [x.shape(i)]).unwrap();
                    Ragged::from_parts(layout, x.row(i).to_vec()).unwrap()
                };
                let (x, y) = (of(&a), of(&b));
                let [u, v] = [&x, &y].map(|x| among(device, &narrowed(x), base, f16::NAN));
                let [x, y] = [&x, &y].map(|x| among(device, x, base, f32::NAN));
                let pair = x.pair(&y, Pairing::Elementwise).unwrap();
                let product = form(pair.product(), transposed).tier(Tier::Native);
                let got = download(&product.run().unwrap());
                assert_eq!(got.row(0), whole.row(i), "element {i}, {base}");
                let pair = u.pair(&v, Pairing::Elementwise).unwrap();
                let product = form(pair.product(), transposed).tier(Tier::Native);
                let got = download(&product.clone().to::<f32>().run().unwrap());
                assert_eq!(got.row(0), whole.row(i), "halves of {i}, {base}");
            }
        }
    }
}

fn many_times(device: &Device) {
    for of in EVERY {
        let (left, right) = factors(&[of], [false; 2]);
        let x = upload(device, &Ragged::random(&left, 23).unwrap());
        let y = upload(device, &Ragged::random(&right, 24).unwrap());
        let pair = x.pair(&y, Pairing::Elementwise).unwrap();
        let product = pair.product().tier(Tier::Native);
        let first = product.run().unwrap();
        for _ in 0..repeats(device) {
            let again = product.run().unwrap();
            let same = again.equivalent_blocking(&first).unwrap();
            assert_eq!(same, [true], "{of:?}");
        }
    }
}

/// A device that lacks what a tier needs returns an error, and the other tiers work.
fn refused(device: &Device) {
    let one = upload(device, &Ragged::full(&matrices([[1, 1]]), 1.0f32).unwrap());
    let pair = one.pair(&one, Pairing::Elementwise).unwrap();
    let native = pair.product().tier(Tier::Native).run();
    assert_eq!(native.is_ok(), device.info().native);
    // The matrix tier multiplies only f16.
    for wrong in [native, pair.product().tier(Tier::Matrix).run()] {
        if let Err(error) = wrong {
            assert_eq!((error.kind(), error.op()), ("unsupported", "matmul"));
        }
    }
    assert!(pair.product().tier(Tier::Matrix).run().is_err());
    for tier in tiers(device).chain([Tier::Auto]) {
        let got = pair.product().tier(tier).run().unwrap();
        assert_eq!(download(&got).values(), [1.0]);
    }
}

/// Without enough invocations or memory, `Auto` is the baseline, however large the GPU is.
#[cfg(feature = "gpu")]
fn small_devices() {
    let (left, right) = factors(&EVERY, [false; 2]);
    let (a, b) = (
        Ragged::random(&left, 5).unwrap(),
        Ragged::random(&right, 6).unwrap(),
    );
    for (invocations, memory) in [(Some(256), None), (None, Some(16_384)), (Some(1023), None)] {
        let device = own_gpu(|options| {
            options.max_invocations = invocations;
            options.max_workgroup_memory = memory;
        });
        assert!(!device.info().native);
        let (x, y) = (upload(&device, &a), upload(&device, &b));
        let pair = x.pair(&y, Pairing::Elementwise).unwrap();
        let error = pair.product().tier(Tier::Native).run().unwrap_err();
        let message = error.to_string();
        let limits = device.info().limits.unwrap();
        let found = format!("{} and {}", limits.invocations, limits.workgroup_memory);
        assert!(
            message.contains("1024 invocations and 32768 bytes"),
            "{message}"
        );
        assert!(message.contains(&found), "{message}");
        let [auto, baseline] = [Tier::Auto, Tier::Baseline]
            .map(|tier| download(&pair.product().tier(tier).run().unwrap()));
        assert_identical("auto", &auto, &baseline);
    }
}
