//! Kernels in parts: the same bits as whole ones.

use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use vsla::conv::ConvMethod;
use vsla::product::{Activation, Product, Tier};
use vsla::testing::Parts;
use vsla::{Bsr, Device, Layout, Pairing, Ragged, Shape, Tensor, Topology, f16};

use super::{lengths, own_gpu};
use crate::host::in_a_process;
use crate::support::bench::{Bench, gpu, is_software};
use crate::support::operation::{download, upload};

/// The task of a process that ends while a kernel is compiled.
pub const ENDS: &str = "ends_while_a_kernel_is_compiled";

pub fn tests(bench: &Bench) -> Vec<Trial> {
    vec![
        bench.on_gpu("parts::convolutions_give_the_same_bits", gpu, |_| {
            convolutions_give_the_same_bits();
        }),
        bench.on_gpu("parts::products_give_the_same_bits", gpu, |_| {
            products_give_the_same_bits();
        }),
        bench.on_gpu("parts::products_of_f16_give_the_same_bits", gpu, |_| {
            products_of_f16_give_the_same_bits();
        }),
        bench.on_gpu("parts::the_process_may_end", gpu, |_| in_a_process(ENDS)),
        bench.on_gpu("parts::run_until_the_whole_is_there", gpu, |_| {
            run_until_the_whole_is_there();
        }),
    ]
}

fn convolutions_give_the_same_bits() {
    let devices = [Parts::Never, Parts::Always].map(|parts| in_parts(parts, false));
    check("convolutions", convolved, 3, &devices);
}

fn products_give_the_same_bits() {
    let devices = [Parts::Never, Parts::Always].map(|parts| in_parts(parts, false));
    check("products", multiplied, 4, &devices);
}

/// On a software GPU, one of the forms in which factors may be stored.
fn products_of_f16_give_the_same_bits() {
    let devices = [Parts::Never, Parts::Always].map(|parts| in_parts(parts, true));
    let forms = if is_software(&devices[0]) { 1 } else { 4 };
    let run = |device: &Device| multiplied_by_matrices(device, forms);
    check("products of f16", run, 3 * forms, &devices);
}

fn check(what: &str, run: impl Fn(&Device) -> Results, kernels: usize, devices: &[Device; 2]) {
    let [(names, expected), (names_of_parts, results)] = devices.each_ref().map(run);
    let has_parts = |name: &&String| name.ends_with(".parts");
    assert_eq!(names.iter().filter(has_parts).count(), 0, "{names:?}");
    let found = names_of_parts.iter().filter(has_parts).count();
    assert_eq!(found, kernels, "{names_of_parts:?}");
    assert!(results == expected, "{what} differ");
}

/// Whichever is there first: every call gives the same bits, and after some time runs the whole kernel.
fn run_until_the_whole_is_there() {
    let (_, expected) = multiplied(&in_parts(Parts::Never, false));
    let device = in_parts(Parts::First, false);
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
    let (_, results) = multiplied(&in_parts(Parts::First, false));
    assert!(results == expected);
}

/// Leaves the device as a `static` would, and ends when the first results are there.
///
/// NVIDIA's driver crashed such processes. A software driver survives them, whatever the library does.
pub fn ends_while_a_kernel_is_compiled() {
    let device = in_parts(Parts::First, false);
    let x = Ragged::<f32>::random(&lengths([300, 200]), 6).unwrap();
    let x = upload(&device, &x);
    let pairs = x.pair(&x, Pairing::Elementwise).unwrap();
    let convolution = pairs.convolution().method(ConvMethod::Fft);
    download(&convolution.correlate_max().unwrap().value);
    std::mem::forget((device, x));
}

/// A device that runs kernels in this way. A GPU without cooperative matrices may emulate them.
fn in_parts(parts: Parts, with_matrices: bool) -> Device {
    own_gpu(|options| {
        options.parts = Some(parts);
        let has_none = || gpu().is_ok_and(|gpu| gpu.info().matrices.is_none());
        if with_matrices && has_none() {
            options.emulated_matrices = Some(16);
        }
    })
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

/// Multiplies matrices that take large tiles: once from buffers that begin with a whole quad, once from buffers that do
/// not, and where one factor or the result is block-sparse.
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
    let topology = Topology::random([128, 1024], [64, 32], 9, 6).unwrap();
    let values = Ragged::random(&topology.values_layout(1).unwrap(), 7).unwrap();
    let sparse = Bsr::from_sets(&topology, 1, values.into_parts().1).unwrap();
    let sparse = device.upload_bsr(&sparse).unwrap();
    let of_sparse = Topology::random([1024, 1024], [64, 64], 3, 8).unwrap();
    profiled(device, || {
        let product = |x: &Tensor<f32>, y| {
            let product = x.product(y).bias(&bias).activation(Activation::Gelu);
            product.run().unwrap()
        };
        let layer = sparse.product(&moved[0]).run().unwrap();
        let sampled = moved[0].product(&moved[1]).sampled(&of_sparse).unwrap();
        vec![
            product(&moved[0], &moved[1]),
            product(&x, &y),
            layer,
            sampled.values().clone(),
        ]
    })
}

fn form<'a>(product: Product<'a, f16>, [left, right]: [bool; 2]) -> Product<'a, f16, f32> {
    let mut product = product.to::<f32>().tier(Tier::Matrix);
    if left {
        product = product.transpose_left();
    }
    if right {
        product = product.transpose_right();
    }
    product
}

/// Multiplies dense, block-sparse and sampled matrices of f16 in every form.
fn multiplied_by_matrices(device: &Device, forms: usize) -> Results {
    let topology = Topology::random([96, 96], [32, 8], 9, 6).unwrap();
    let values = Ragged::<f32>::random(&lengths([27 * 32 * 8]), 7).unwrap();
    let narrowed = |x: Ragged<f32>| x.cast(f16::from_f32).unwrap();
    let sparse = Bsr::from_sets(&topology, 1, narrowed(values).into_parts().1).unwrap();
    let sparse = device.upload_bsr(&sparse).unwrap();
    let square = Layout::from_shapes(2, [Shape::new(&[96, 96]).unwrap()]).unwrap();
    let [x, y] = [8, 9].map(|seed| narrowed(Ragged::random(&square, seed).unwrap()));
    let [x, y] = [x, y].map(|x| upload(device, &x));
    profiled(device, || {
        let all = [[false, true], [true, false], [false; 2], [true; 2]];
        let all = all[..forms].iter().flat_map(|&transposed| {
            let [left, right] = transposed;
            let dense = form(x.product(&y), transposed);
            let sampled = dense.sampled(&topology).unwrap();
            [
                dense.run().unwrap(),
                sampled.values().clone(),
                form(sparse.product(&x), [left, false]).run().unwrap(),
                form(x.product(&sparse), [false, right]).run().unwrap(),
            ]
        });
        all.collect()
    })
}
