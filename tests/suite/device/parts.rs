//! Kernels in parts: the same bits as whole ones.

use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use vsla::conv::ConvMethod;
use vsla::product::Activation;
use vsla::testing::Parts;
use vsla::{Device, Layout, Pairing, Ragged, Shape, Tensor};

use super::{lengths, own_gpu};
use crate::host::in_a_process;
use crate::support::bench::{Bench, gpu};
use crate::support::operation::{download, upload};

/// The task of a process that ends while a kernel is compiled.
pub const ENDS: &str = "ends_while_a_kernel_is_compiled";

pub fn tests(bench: &Bench) -> Vec<Trial> {
    vec![
        bench.on_gpu("parts::give_the_same_bits", gpu, |_| give_the_same_bits()),
        bench.on_gpu("parts::the_process_may_end", gpu, |_| in_a_process(ENDS)),
        bench.on_gpu("parts::run_until_the_whole_is_there", gpu, |_| {
            run_until_the_whole_is_there();
        }),
    ]
}

fn give_the_same_bits() {
    let [whole, parts] = [Parts::Never, Parts::Always].map(in_parts);
    for (what, run, kernels) in [
        ("convolutions", convolved as fn(&Device) -> Results, 3),
        ("products", multiplied, 2),
    ] {
        let [(names, expected), (names_of_parts, results)] = [&whole, &parts].map(run);
        let has_parts = |name: &&String| name.ends_with(".parts");
        assert_eq!(names.iter().filter(has_parts).count(), 0, "{names:?}");
        let found = names_of_parts.iter().filter(has_parts).count();
        assert_eq!(found, kernels, "{names_of_parts:?}");
        assert!(results == expected, "{what} differ");
    }
}

/// Whichever is there first: every call gives the same bits, and after some time runs the whole kernel.
fn run_until_the_whole_is_there() {
    let (_, expected) = multiplied(&in_parts(Parts::Never));
    let device = in_parts(Parts::First);
    let begin = Instant::now();
    loop {
        let (names, results) = multiplied(&device);
        assert!(results == expected, "{names:?}");
        if !names.iter().any(|name| name.ends_with(".parts")) {
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(300), "{names:?}");
    }
    // A device may be dropped while its kernels are compiled.
    let (_, results) = multiplied(&in_parts(Parts::First));
    assert!(results == expected);
}

/// Leaves the device as a `static` would, and ends when the first results are there.
///
/// NVIDIA's driver crashed such processes. A software driver survives them, whatever the library does.
pub fn ends_while_a_kernel_is_compiled() {
    let device = in_parts(Parts::First);
    let x = Ragged::<f32>::random(&lengths([300, 200]), 6).unwrap();
    let x = upload(&device, &x);
    let pairs = x.pair(&x, Pairing::Elementwise).unwrap();
    let convolution = pairs.convolution().method(ConvMethod::Fft);
    download(&convolution.correlate_max().unwrap().value);
    std::mem::forget((device, x));
}

fn in_parts(parts: Parts) -> Device {
    match parts {
        Parts::Never => own_gpu(|options| options.parts = Some(Parts::Never)),
        Parts::First => own_gpu(|options| options.parts = Some(Parts::First)),
        Parts::Always => own_gpu(|options| options.parts = Some(Parts::Always)),
    }
}

/// The kernels that ran, and the bits of the results.
type Results = (Vec<String>, Vec<Vec<u32>>);

fn profiled(device: &Device, run: impl FnOnce() -> Vec<Tensor<f32>>) -> Results {
    let (results, profile) = device.profile_blocking(run).unwrap();
    let kernels = profile.kernels.into_iter().map(|kernel| kernel.kernel);
    let bits = |x: &Tensor<f32>| download(x).values().iter().map(|v| v.to_bits()).collect();
    (kernels.collect(), results.iter().map(bits).collect())
}

/// Convolves elements that need transforms of every length: with kernels for up to 1024 values, and for up to 2048.
fn convolved(device: &Device) -> Results {
    let pair = |longest: usize| {
        let every = std::iter::successors(Some(1), |n| Some(2 * n));
        let every: Vec<usize> = every.take_while(|n| *n <= longest).collect();
        let right = lengths(every.iter().map(|n| n.div_ceil(3)));
        [(lengths(every), 1), (right, 2)]
            .map(|(layout, seed)| upload(device, &Ragged::<f32>::random(&layout, seed).unwrap()))
    };
    let (short, long) = (pair(1024), pair(2048));
    profiled(device, || {
        let [short, long] = [&short, &long].map(|[x, y]| {
            let pairs = x.pair(y, Pairing::Elementwise).unwrap();
            pairs.convolution().method(ConvMethod::Fft)
        });
        let most = long.correlate_max().unwrap();
        let lags = most.lag.to::<f32>().unwrap();
        vec![
            short.conv().unwrap(),
            long.conv().unwrap(),
            most.value,
            lags,
        ]
    })
}

/// Multiplies matrices that take large tiles, once from buffers that begin with a whole quad, and once from buffers
/// that do not.
fn multiplied(device: &Device) -> Results {
    let of = |extents: [usize; 2]| {
        let shapes = [[1, 3], extents].map(|extents| Shape::new(&extents).unwrap());
        Layout::from_shapes(2, shapes).unwrap()
    };
    let random = |layout, seed| upload(device, &Ragged::<f32>::random(&layout, seed).unwrap());
    let (x, y) = (random(of([1024, 36]), 3), random(of([36, 1024]), 4));
    let bias = random(lengths([3, 1024]), 5);
    let [x, y] = [x, y].map(|x| x.elements(1..2).unwrap());
    let bias = bias.elements(1..2).unwrap();
    let moved = [&x, &y].map(|x| upload(device, &download(x)));
    profiled(device, || {
        let product = |x: &Tensor<f32>, y| {
            let product = x.product(y).bias(&bias).activation(Activation::Gelu);
            product.run().unwrap()
        };
        vec![product(&moved[0], &moved[1]), product(&x, &y)]
    })
}
