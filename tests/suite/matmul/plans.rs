//! Plans of matrix products: their cost, the memory they hold, and when they are refused.

use libtest_mimic::Trial;
use vsla::{Device, Error, Layout, Pairing, Ragged, Tensor};

use super::{factors, matrices};
use crate::device::own_gpu;
use crate::support::bench::{Bench, folding_gpu, gpu};
use crate::support::corpus::rng;
use crate::support::operation::{download, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = vec![bench.on_gpu("folded", folding_gpu, super::random)];
    let tests: [(&str, fn()); 4] = [
        ("memory_of_layers_is_constant", memory_of_layers_is_constant),
        (
            "known_layouts_are_planned_once",
            known_layouts_are_planned_once,
        ),
        (
            "memory_for_new_extents_is_constant",
            memory_for_new_extents_is_constant,
        ),
        ("too_large", too_large),
    ];
    for (name, test) in tests {
        trials.push(bench.on_gpu(name, gpu, move |_| test()));
    }
    trials
}

fn ones(device: &Device, layout: &Layout) -> Tensor<f32> {
    upload(device, &Ragged::full(layout, 1.0).unwrap())
}

/// Every layer is an operand of the next; data cached with its layout must not accumulate on the first layout.
fn memory_of_layers_is_constant() {
    let device = own_gpu(|_| ());
    let x = ones(&device, &matrices((0..300).map(|i| [i % 7, 6])));
    let wide = ones(&device, &matrices([[6, 9]]));
    let narrow = ones(&device, &matrices([[9, 6]]));
    let square = ones(&device, &matrices([[6, 6]]));
    let layers = |count: usize| {
        let mut y = x.clone();
        for _ in 0..count {
            let hidden = y.pair(&wide, Pairing::AllToAll).unwrap().matmul().unwrap();
            let back = hidden.pair(&narrow, Pairing::AllToAll).unwrap();
            y = back.product().scale(0.0).residual(&y).run().unwrap();
            let pair = y.pair(&square, Pairing::AllToAll).unwrap();
            y = pair.product().scale(0.1).run().unwrap();
        }
        y
    };
    drop(layers(3));
    let live = device.memory().live;
    let last = layers(60);
    assert_eq!(last.layout(), x.layout());
    drop(last);
    assert_eq!(device.memory().live, live);
}

fn known_layouts_are_planned_once() {
    let device = own_gpu(|options| options.cache_limit = Some(0));
    let (left, right) = factors(&vec![[3, 5, 4]; 500], [false; 2]);
    let (x, w) = (ones(&device, &left), ones(&device, &right));
    let bias = upload(&device, &Ragged::from_rows([[1.0f32; 4]]).unwrap());
    let residual = ones(&device, &matrices([[3, 4]; 500]));
    let pair = x.pair(&w, Pairing::Elementwise).unwrap();
    let all = |factor: f32| {
        drop(pair.matmul().unwrap());
        drop(pair.matmul_ambient().unwrap());
        drop(pair.product().scale(factor).run().unwrap());
        drop(pair.product().bias(&bias).run().unwrap());
        let product = pair.product().bias(&bias).residual(&residual);
        drop(product.scale(factor).run().unwrap());
    };
    all(1.0);
    let planned = device.memory().live;
    // A list of each plan stays with the left layout.
    for factor in [2.0, 3.0, 4.0] {
        all(factor);
        assert_eq!(device.memory().live, planned);
    }
}

fn memory_for_new_extents_is_constant() {
    let device = own_gpu(|_| ());
    let mut rng = rng("fresh extents");
    let mut batch = || {
        let extents: Vec<[usize; 3]> = (0..20)
            .map(|_| [0, 0, 0].map(|_| rng.usize(0..20)))
            .collect();
        let (left, right) = factors(&extents, [false; 2]);
        let (x, y) = (ones(&device, &left), ones(&device, &right));
        let got = download(&x.matmul(&y).unwrap());
        let [m, k, n] = extents[7];
        assert_eq!(got.row(7), vec![k as f32; m * n]);
    };
    (0..100).for_each(|_| batch());
    let (info, memory) = (device.info(), device.memory());
    (0..500).for_each(|_| batch());
    let (last_info, last) = (device.info(), device.memory());
    assert_eq!(last_info.pipelines, info.pipelines);
    assert_eq!((memory.live, last.live), (0, 0));
    assert!(
        last.cached <= memory.cached + memory.cached / 2,
        "{memory:?}, {last:?}"
    );
}

/// Results and lists that do not fit a binding are refused before any work.
fn too_large() {
    let device = own_gpu(|options| options.max_binding_bytes = Some(4096));
    let (left, right) = factors(&[[2, 0, 3], [40, 1, 30], [1, 1, 1]], [false; 2]);
    let error = ones(&device, &left)
        .matmul(&ones(&device, &right))
        .unwrap_err();
    let Error::TooLarge {
        op, element, bytes, ..
    } = error
    else {
        panic!("{error}");
    };
    assert_eq!((op, element, bytes), ("matmul", Some(1), 4 * 1207));
    let (left, right) = factors(&[[1, 1, 1]; 100], [false; 2]);
    let error = ones(&device, &left)
        .matmul(&ones(&device, &right))
        .unwrap_err();
    assert_eq!((error.kind(), error.element()), ("too_large", None));
    let (left, right) = factors(&[[1, 1, 1]; 50], [false; 2]);
    let fits = ones(&device, &left).matmul(&ones(&device, &right)).unwrap();
    assert_eq!(download(&fits).values(), [1.0; 50]);
}
