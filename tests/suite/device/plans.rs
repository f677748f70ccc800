//! Every plan of a device is made once; the cache is counted, bounded and releasable.

use libtest_mimic::Trial;
use vsla::{
    Device, Indices, Layout, Pairing, Ragged, Shape, Tensor, device::DeviceInfo,
    product::Activation,
};

use super::{drawn, lengths, numbers};
use crate::support::bench::Bench;
use crate::support::compare::assert_identical;
use crate::support::corpus::rng;
use crate::support::operation::{download, pair_list, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: super::Tests<'_> = &[
        (
            "plans::of_a_network_are_made_once",
            of_a_network_are_made_once,
        ),
        ("plans::equal_contents_are_one", equal_contents_are_one),
        ("plans::of_a_reused_list", of_a_reused_list),
        (
            "plans::are_evicted_with_their_layouts",
            are_evicted_with_their_layouts,
        ),
        ("plans::are_released_by_trim", are_released_by_trim),
        (
            "plans::attributes_are_distinguished",
            attributes_are_distinguished,
        ),
    ];
    let trials = tests
        .iter()
        .flat_map(|&(name, test)| bench.on_each_device(name, move |device| test(&own(device))));
    trials.collect()
}

/// A device of the same kind, which nothing else uses.
fn own(device: &Device) -> Device {
    let DeviceInfo { backend, .. } = device.info();
    match &*backend {
        "cpu" => Device::cpu(),
        #[cfg(feature = "gpu")]
        _ => super::own_gpu(|_| ()),
        #[cfg(not(feature = "gpu"))]
        _ => unreachable!("there are only CPU devices"),
    }
}

const LAYERS: usize = 12;
const WIDTH: usize = 8;

/// The weights of a layer, each with its own layout.
struct Layer {
    weights: Tensor<f32>,
    bias: Tensor<f32>,
}

fn network(device: &Device) -> Vec<Layer> {
    let layer = |seed| {
        let shape = Shape::new(&[WIDTH, WIDTH]).unwrap();
        Layer {
            weights: upload(device, &numbers(&Layout::uniform(1, shape).unwrap(), seed)),
            bias: upload(device, &numbers(&lengths([WIDTH]), seed)),
        }
    };
    (0..LAYERS).map(layer).collect()
}

/// The maximum length of a sequence.
fn batch(device: &Device, seed: usize) -> Tensor<f32> {
    let mut rng = rng(&format!("plans {seed}"));
    let shapes = (0..64).map(|_| Shape::new(&[rng.usize(0..20), WIDTH]).unwrap());
    let layout = Layout::from_shapes(2, shapes).unwrap();
    upload(device, &numbers(&layout, seed))
}

/// Several layers, with views, and with a list of pairs and lists of rows that are created anew in each layer.
fn forward(layers: &[Layer], x: &Tensor<f32>) -> Tensor<f32> {
    let mut x = x.clone();
    for layer in layers {
        let product = x.pair(&layer.weights, Pairing::AllToAll).unwrap().product();
        let product = product.bias(&layer.bias).activation(Activation::Relu);
        x = product.residual(&x).run().unwrap().scale(0.25).unwrap();
    }
    let list: Vec<(u32, u32)> = (0..32).map(|i| (i, 63 - i)).collect();
    let halves = (x.elements(0..32).unwrap(), x.elements(32..64).unwrap());
    let pair = x.pair(&x, Pairing::List(&pair_list(&list))).unwrap();
    let sums = pair.add().unwrap().sum().unwrap();
    let first = Indices::new(Ragged::from_rows((0..32).map(|_| [0u32, 2])).unwrap()).unwrap();
    let ends = halves.1.gather(&first).unwrap().transpose(&[1, 0]).unwrap();
    let more = halves
        .0
        .add(&ends)
        .unwrap()
        .tanh()
        .unwrap()
        .norm2()
        .unwrap();
    sums.join(&[&more]).unwrap()
}

/// Twelve layers, each with its own weights, on three batches in turn. After the first round, no plan is made, only
/// values are copied to the device, and only new lists make layouts.
fn of_a_network_are_made_once(device: &Device) {
    let layers = network(device);
    let batches = [0, 1, 2].map(|seed| batch(device, seed));
    let round = || batches.each_ref().map(|x| download(&forward(&layers, x)));
    let first = round();
    let before = device.counters();
    // Layers of equal layouts share plans.
    assert!(before.plans > 20, "{before:?}");
    // The layout of each call's lists, and the layout of the downloaded result.
    let own = 3;
    for _ in 0..3 {
        let counted = device.counters();
        for (got, expected) in round().iter().zip(&first) {
            assert_identical("the network", got, expected);
        }
        let after = device.counters();
        assert_eq!((after.plans, after.uploads), (before.plans, before.uploads));
        assert_eq!(after.layouts - counted.layouts, own);
    }
}

/// Several operations use one list in a loop. After the first round, they make no plan and no layout, and copy nothing
/// to the device.
fn of_a_reused_list(device: &Device) {
    let list = pair_list((0..1000).map(|i| (i * 7 % 40, i % 64)).collect::<Vec<_>>());
    let x = upload(device, &numbers(&drawn("plans list left", 40, 9), 0));
    let y = upload(device, &numbers(&drawn("plans list right", 64, 9), 1));
    let round = || {
        let pair = x.pair(&y, Pairing::List(&list)).unwrap();
        let sums = pair.add().unwrap().sum().unwrap();
        sums.add(&pair.dot().unwrap()).unwrap()
    };
    let first = round();
    for _ in 0..3 {
        let before = device.counters();
        let again = round();
        assert_eq!(device.counters(), before);
        assert_identical("a kept list", &download(&again), &download(&first));
    }
}

/// Layouts, lists of pairs and lists of rows are identified by their contents.
fn equal_contents_are_one(device: &Device) {
    let made = || drawn("plans equal", 40, 9);
    let pairs = || -> Vec<(u32, u32)> { (0..60).map(|i| (i * 7 % 40, i * 3 % 40)).collect() };
    let rows = || Ragged::from_rows((0..40u32).map(|i| vec![i % 5; i as usize % 3])).unwrap();
    let kept = made();
    let use_it = |layout: &Layout| {
        let (x, y) = (
            upload(device, &numbers(layout, 0)),
            upload(device, &numbers(layout, 1)),
        );
        let paired = x.pair(&y, Pairing::List(&pair_list(pairs()))).unwrap();
        let gathered = x.gather(&Indices::new(rows()).unwrap()).unwrap();
        let both = paired.hadamard().unwrap().join(&[&gathered]).unwrap();
        download(&both.resize(&drawn("plans resized", 100, 5)).unwrap())
    };
    let resized = drawn("plans resized", 100, 5);
    let first = use_it(&kept);
    let before = device.counters();
    for _ in 0..3 {
        assert_identical("equal layouts", &use_it(&made()), &first);
    }
    let after = device.counters();
    assert_eq!((after.plans, after.uploads), (before.plans, before.uploads));
    // Different contents have different identities.
    let other = lengths((0..40).map(|i| i % 4));
    assert!(use_it(&other).layout() == &resized && device.counters().plans > after.plans);
}

/// A plan is cached as long as layouts with the contents of all its operands exist.
fn are_evicted_with_their_layouts(device: &Device) {
    let layout = drawn("plans going", 40, 9);
    let x = upload(device, &numbers(&layout, 0));
    let again = |layout: &Layout| {
        let x = upload(device, &numbers(layout, 0));
        x.sum().unwrap();
        device.counters().plans
    };
    x.sum().unwrap();
    let before = device.counters().plans;
    let equal = drawn("plans going", 40, 9);
    assert_eq!(again(&equal), before);
    drop((layout, x));
    // The equal layout still refers to the representative of its contents.
    assert_eq!(again(&equal), before);
    drop(equal);
    assert_eq!(again(&drawn("plans going", 40, 9)), before + 1);
}

fn are_released_by_trim(device: &Device) {
    let x = upload(device, &numbers(&drawn("plans given back", 4000, 9), 0));
    let y = upload(device, &numbers(&drawn("plans given back too", 4000, 9), 0));
    let first = download(&x.add(&y).unwrap());
    let before = device.counters();
    x.add(&y).unwrap();
    assert_eq!(device.counters().plans, before.plans);
    let live = device.memory().live;
    device.trim();
    assert!(device.memory().live < live || !device.is_gpu());
    assert_identical("after a trim", &download(&x.add(&y).unwrap()), &first);
    let after = device.counters();
    assert_eq!(after.plans, before.plans + 1);
    assert!(after.uploads > before.uploads || !device.is_gpu());
}

/// The same layouts with another attribute have another plan.
fn attributes_are_distinguished(device: &Device) {
    let x = batch(device, 3);
    type Way = fn(&Tensor<f32>) -> Tensor<f32>;
    let ways: &[Way] = &[
        |x| x.slice(&[0, 1], &[4, 6]).unwrap(),
        |x| x.slice(&[0, 1], &[4, 7]).unwrap(),
        |x| x.slice(&[1, 1], &[4, 6]).unwrap(),
        |x| x.pad(&[0, 1], &[1, 0]).unwrap(),
        |x| x.pad(&[1, 1], &[0, 0]).unwrap(),
        |x| x.flip(&[0]).unwrap(),
        |x| x.flip(&[1]).unwrap(),
        |x| x.concat(x, 0).unwrap(),
        |x| x.concat(x, 1).unwrap(),
        |x| x.block_diag(x).unwrap(),
        |x| x.add(x).unwrap(),
        |x| x.hadamard(x).unwrap(),
        |x| x.exp().unwrap(),
        |x| x.relu().unwrap(),
        |x| x.sum().unwrap(),
        |x| x.max().unwrap(),
        |x| x.stack_groups(&[64], 1 << 20).unwrap(),
        |x| x.stack_groups(&[60, 4], 1 << 20).unwrap(),
        |x| x.window(2, 1, 1 << 20).unwrap(),
        |x| x.window(2, 2, 1 << 20).unwrap(),
        |x| x.elements(0..5).unwrap(),
        |x| x.elements(1..5).unwrap(),
        |x| {
            x.pair(x, Pairing::Elementwise)
                .unwrap()
                .product()
                .transpose_left()
                .run()
                .unwrap()
        },
        |x| {
            x.pair(x, Pairing::Elementwise)
                .unwrap()
                .product()
                .transpose_right()
                .run()
                .unwrap()
        },
    ];
    let before = device.counters().plans;
    let first: Vec<_> = ways.iter().map(|way| download(&way(&x))).collect();
    let made = device.counters().plans;
    assert!(made - before >= ways.len() as u64);
    for (way, expected) in ways.iter().zip(&first) {
        assert_identical("again", &download(&way(&x)), expected);
    }
    assert_eq!(device.counters().plans, made);
}
