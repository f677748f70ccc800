//! Memory of a GPU device: counted, limited, reused and released.

use libtest_mimic::Trial;
use vsla::{Device, Error, Layout, Ragged};

use super::{drawn, lengths, numbers, own_gpu};
use crate::support::bench::{Bench, gpu};
use crate::support::compare::assert_exact;
use crate::support::corpus::rng;
use crate::support::operation::{download, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[(&str, fn())] = &[
        (
            "memory::is_counted_and_given_back",
            is_counted_and_given_back,
        ),
        ("memory::limit", limit),
        ("memory::cache_limit", cache_limit),
        (
            "memory::fresh_batches_leave_it_flat",
            fresh_batches_leave_it_flat,
        ),
        (
            "memory::memory_of_a_running_sum_is_constant",
            memory_of_a_running_sum_is_constant,
        ),
        ("memory::bind_groups_are_bounded", bind_groups_are_bounded),
        (
            "memory::a_known_layout_is_uploaded_once",
            a_known_layout_is_uploaded_once,
        ),
        (
            "memory::poison_fills_what_no_kernel_writes",
            poison_fills_what_no_kernel_writes,
        ),
    ];
    tests
        .iter()
        .map(|&(name, test)| bench.on_gpu(name, gpu, move |_| test()))
        .collect()
}

/// The maximum bytes of tables that transforms leave on the device.
const TABLES: u64 = 64 << 10;

/// Uses everything that allocates, and drops it. Plans stay while an equal layout exists, so each trial has its own
/// layouts.
fn use_it(device: &Device, trial: &str, seed: usize) {
    let (a, b) = (
        numbers(&drawn(&format!("{trial} left"), 300, 900), seed),
        numbers(&drawn(&format!("{trial} right"), 300, 90), seed),
    );
    let (x, y) = (upload(device, &a), upload(device, &b));
    let sum = x.add(&y).unwrap().scale(2.0).unwrap();
    let sbd = x.sbd(&y).unwrap();
    let best = x.conv(&y).unwrap().correlate_max(&sum).unwrap();
    download(&sbd.distance);
    download(&best.lag);
    download(&sum.sum().unwrap());
}

fn is_counted_and_given_back() {
    let device = own_gpu(|_| ());
    let memory = device.memory();
    assert_eq!((memory.live, memory.peak, memory.cached), (0, 0, 0));
    for seed in 0..3 {
        use_it(&device, "counted", seed);
        let memory = device.memory();
        assert!(memory.live <= TABLES, "{memory:?}");
        assert!(
            memory.cached >= memory.peak / 2 && memory.peak > 1 << 20,
            "{memory:?}"
        );
    }
    device.trim();
    assert_eq!((device.memory().live, device.memory().cached), (0, 0));
    use_it(&device, "counted", 3);
    let x = upload(&device, &numbers(&lengths([1_000_000]), 0));
    let live = device.memory().live;
    assert!((4_000_000..4_300_000).contains(&live), "{live}");
    let (view, clone) = (x.elements(0..1).unwrap(), x.clone());
    drop(x);
    assert_eq!(
        device.memory().live,
        live,
        "a view and a clone take no memory, but keep it alive"
    );
    device.trim();
    assert_exact(
        "a view",
        &download(&view),
        &numbers(&lengths([1_000_000]), 0),
    );
    drop((view, clone));
    assert!(device.memory().live <= TABLES);
}

fn limit() {
    let device = own_gpu(|options| options.memory_limit = Some(4 << 20));
    let megabyte = lengths([250_000]);
    let ones = Ragged::full(&megabyte, 1.0f32).unwrap();
    let mut kept = vec![upload(&device, &ones)];
    let error = loop {
        assert!(kept.len() < 4, "no limit");
        match kept[0].scale(2.0) {
            Ok(tensor) => kept.push(tensor),
            Err(error) => break error,
        }
    };
    // Staging buffers take a small part of the fourth megabyte.
    assert_eq!(kept.len(), 3);
    let Error::OutOfMemory {
        op: "scale",
        bytes,
        available: Some(available),
    } = error
    else {
        panic!("{error}");
    };
    assert!(bytes >= 1_000_000 && available < bytes, "{error}");
    for (op, error) in [
        ("upload", device.upload(&ones).unwrap_err()),
        ("full", device.full(&megabyte, 1.0f32).unwrap_err()),
        ("conv", kept[0].conv(&kept[1]).unwrap_err()),
        ("sbd", kept[0].sbd(&kept[1]).unwrap_err()),
    ] {
        assert_eq!(
            (error.kind(), error.op(), error.element()),
            ("out_of_memory", op, None)
        );
    }
    // Existing tensors are unharmed, and freed memory can be used again.
    assert_exact(
        "2",
        &download(&kept[2]),
        &Ragged::full(&megabyte, 2.0).unwrap(),
    );
    kept.truncate(1);
    for _ in 0..20 {
        let again = upload(&device, &ones).add(&kept[0]).unwrap();
        assert_exact(
            "2",
            &download(&again),
            &Ragged::full(&megabyte, 2.0).unwrap(),
        );
    }
    // Also for another size: memory cached for reuse is released for it.
    kept.clear();
    let large = Ragged::full(&lengths([900_000]), 3.0f32).unwrap();
    assert_exact("3", &download(&upload(&device, &large)), &large);
    let memory = device.memory();
    assert!(memory.peak <= 4 << 20, "{memory:?}");
}

fn cache_limit() {
    let device = own_gpu(|options| options.cache_limit = Some(0));
    use_it(&device, "limited", 0);
    let memory = device.memory();
    assert!(memory.live <= TABLES && memory.cached == 0, "{memory:?}");
    let device = own_gpu(|options| options.cache_limit = Some(1 << 20));
    for seed in 0..3 {
        use_it(&device, "limited", seed);
        assert!(device.memory().cached <= 1 << 20, "{:?}", device.memory());
    }
}

/// Two thousand batches with new lengths.
fn fresh_batches_leave_it_flat() {
    let device = own_gpu(|_| ());
    let mut rng = rng("fresh batches");
    let mut batch = || {
        let layouts =
            [0, 1].map(|_| lengths((0..20).map(|_| rng.usize(0..60)).collect::<Vec<_>>()));
        let [a, b] = layouts.map(|layout| numbers(&layout, 0));
        let (x, y) = (upload(&device, &a), upload(&device, &b));
        let sum = x.add(&y).unwrap();
        let best = x.correlate_max(&y).unwrap();
        let got = download(&sum);
        assert_eq!(download(&best.lag).len(), 20);
        let at = rng.usize(0..20);
        let expected = a.row(at).first().unwrap_or(&0.0) + b.row(at).first().unwrap_or(&0.0);
        assert_eq!(*got.row(at).first().unwrap_or(&0.0), expected);
    };
    (0..300).for_each(|_| batch());
    let (info, memory) = (device.info(), device.memory());
    (0..1700).for_each(|_| batch());
    let (last_info, last) = (device.info(), device.memory());
    assert_eq!(last_info.pipelines, info.pipelines);
    assert!(last_info.bind_groups <= 1024, "{last_info:?}");
    // Tables of all lengths stay.
    assert!(
        memory.live <= TABLES && last.live == memory.live,
        "{memory:?}, {last:?}"
    );
    assert!(
        last.cached <= memory.cached + memory.cached / 2,
        "{memory:?}, {last:?}"
    );
    assert!(last.peak < 1 << 20, "{last:?}");
}

/// Live buffers need separate bind groups, of which only a limited number is cached.
/// Every sum is an operand of the next; data cached with its layout must not accumulate on the first layout.
fn memory_of_a_running_sum_is_constant() {
    let device = own_gpu(|_| ());
    let (first, step) = (
        upload(&device, &numbers(&drawn("running", 2000, 9), 0)),
        upload(&device, &numbers(&drawn("step", 2000, 9), 1)),
    );
    let running = |steps: usize| {
        let mut sum = first.add(&step).unwrap();
        for _ in 1..steps {
            sum = sum.add(&step).unwrap();
            sum.sum().unwrap().sum().unwrap();
        }
        sum
    };
    drop(running(5));
    let live = device.memory().live;
    drop(running(200));
    assert_eq!(device.memory().live, live);
}

fn bind_groups_are_bounded() {
    let device = own_gpu(|_| ());
    let batch = numbers(&lengths([10]), 1);
    let tensors: Vec<_> = (0..3000).map(|_| upload(&device, &batch)).collect();
    let copies: Vec<_> = tensors
        .iter()
        .map(|tensor| tensor.copy().unwrap())
        .collect();
    let groups = device.info().bind_groups;
    assert!((1..=1024).contains(&groups), "{groups}");
    for copy in copies.iter().step_by(100) {
        assert_exact("a copy", &download(copy), &batch);
    }
    drop((tensors, copies));
    device.trim();
    assert_eq!(
        device.info().bind_groups,
        0,
        "they would keep the released memory"
    );
}

fn a_known_layout_is_uploaded_once() {
    let device = own_gpu(|options| options.cache_limit = Some(0));
    let [left, right]: [Layout; 2] = [
        drawn("known left", 5_000, 9),
        drawn("known right", 5_000, 9),
    ];
    let (x, y) = (
        upload(&device, &numbers(&left, 0)),
        upload(&device, &numbers(&right, 1)),
    );
    let before = device.memory().live;
    drop(x.add(&y).unwrap());
    let planned = device.memory().live;
    // Three buffers of offsets stay with the layouts.
    let least = 3 * 5_001 * 4;
    assert!(
        planned >= before + least && planned < before + least + least / 4,
        "{before} {planned}"
    );
    for _ in 0..5 {
        drop(x.add(&y).unwrap());
        assert_eq!(device.memory().live, planned);
    }
    // Another tensor of the same layouts needs no more memory.
    let z = upload(&device, &numbers(&left, 2));
    let with_z = device.memory().live;
    drop(z.add(&y).unwrap());
    assert_eq!(device.memory().live, with_z);
    drop((x, y, z, left, right));
    assert_eq!(device.memory().live, 0);
}

/// Tests the measurement that the other trials rely on.
fn poison_fills_what_no_kernel_writes() {
    let device = own_gpu(|options| options.poison = true);
    let x = upload(&device, &Ragged::full(&lengths([3]), 1.0f32).unwrap())
        .scale(2.0)
        .unwrap();
    let (buffer, offset) = x.export().unwrap();
    assert_eq!(offset, 0);
    let words = buffer.size() as usize / 4;
    assert!(words > 8, "no slack to test");
    let whole = device.import::<f32>(buffer, 0, &lengths([words])).unwrap();
    let values = download(&whole);
    let values = values.values();
    assert_eq!(values[..3], [2.0; 3]);
    // A kernel may write the rest of the last quad.
    assert!(values[4..].iter().all(|value| value.is_nan()), "{values:?}");
    // After uploaded data, the last quad has its previous contents.
    let x = upload(&device, &Ragged::full(&lengths([3]), 1.0f32).unwrap());
    let (buffer, _) = x.export().unwrap();
    let whole = device.import::<f32>(buffer, 0, &lengths([words])).unwrap();
    let values = download(&whole);
    let values = values.values();
    assert_eq!(values[..3], [1.0; 3]);
    assert!(values[3..].iter().all(|value| value.is_nan()), "{values:?}");
}
