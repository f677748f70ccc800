//! Fleets: batches that are divided among devices give the bits of one device, and what goes wrong on one device is
//! reported.

mod errors;
#[cfg(feature = "gpu")]
mod lost;
#[cfg(feature = "gpu")]
mod memory;
mod sharded;
mod training;
#[cfg(feature = "gpu")]
mod two;

#[cfg(feature = "gpu")]
pub use two::{TWO, two};

use libtest_mimic::Trial;
use proptest::collection::vec;
use vsla::fleet::{Cost, Fleet, FleetOptions};
use vsla::{Device, Layout, Pairing, Ragged, Result, Shape, Tensor};

use crate::support::bench::Bench;
use crate::support::compare::{assert_exact, assert_identical};
use crate::support::corpus;
use crate::support::operation::{download, upload};
use crate::support::property;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = bench.all_on_each_device(&[
        ("any_split", any_split),
        ("without_elements", without_elements),
        ("four_batches", four_batches),
        ("replicated", replicated),
        ("planned_once", planned_once),
        ("within_a_pool", within_a_pool),
    ]);
    trials.push(bench.host("cpu::corpus", || {
        corpus_divides(&[fleet(&Device::cpu(), None)])
    }));
    trials.push(bench.host("opened", opened));
    trials.extend(errors::tests(bench));
    trials.extend(sharded::tests(bench));
    trials.extend(training::tests(bench));
    #[cfg(feature = "gpu")]
    {
        trials.extend(lost::tests(bench));
        trials.extend(memory::tests(bench));
        trials.extend(two::tests(bench));
    }
    trials
}

/// A device of the trials, and on a GPU a second one, which is the same GPU opened again.
fn devices(device: &Device) -> Vec<Device> {
    #[cfg(feature = "gpu")]
    if device.is_gpu() {
        let again = crate::support::bench::opened_for_one(|_| ());
        return vec![device.clone(), again];
    }
    vec![device.clone()]
}

/// The fleet of [`devices`], with ranges of at most so many bytes.
fn fleet(device: &Device, range_bytes: Option<u64>) -> Fleet {
    of(devices(device), range_bytes)
}

fn of(devices: Vec<Device>, range_bytes: Option<u64>) -> Fleet {
    let options = FleetOptions {
        range_bytes,
        ..FleetOptions::default()
    };
    Fleet::with_options(devices, &options).unwrap()
}

/// The same devices with another size of ranges.
fn with_ranges(fleet: &Fleet, range_bytes: u64) -> Fleet {
    of(fleet.devices().to_vec(), Some(range_bytes))
}

fn lengths(lengths: impl IntoIterator<Item = usize>) -> Layout {
    Layout::from_lengths(lengths).unwrap()
}

/// Small integers that identify their positions.
fn numbers(layout: &Layout) -> Ragged<f32> {
    Ragged::from_fn(layout, |element, i| {
        ((element * 31 + i * 7) % 13) as f32 - 6.0
    })
    .unwrap()
}

/// A cost that has nothing to do with the work, and differs from element to element.
fn uneven<'a>() -> Cost<'a> {
    Cost::each(|element, _| [1, 40, 0, 7, 300, 2][element % 6])
}

type Function = fn(&Tensor<f32>, &Tensor<f32>) -> Result<Tensor<f32>>;

/// Results with the layout of an operand, with another layout, and with one value for each element.
const OF_SERIES: &[(&str, Function)] = &[
    ("conv", |x, y| x.conv(y)),
    ("add", |x, y| x.add(y)),
    ("softmax", |x, _| x.softmax(0)),
    ("sum", |x, _| x.sum()),
];
const OF_BOXES: &[(&str, Function)] =
    &[("add", |x, y| x.add(y)), ("sum_axis", |x, _| x.sum_axis(0))];

/// Every case of the corpus gives the bits of the first device of a fleet alone, however it is divided.
pub fn corpus_divides(fleets: &[Fleet]) {
    let device = &fleets[0].devices()[0];
    let mut divided = 0;
    for (cases, functions) in [(corpus::small(), OF_SERIES), (corpus::boxes(), OF_BOXES)] {
        for case in cases {
            if case.has_very_many_elements() && device.is_gpu() {
                continue;
            }
            let (x, y) = case.floats();
            let bytes = 4 * (x.values().len() + y.values().len()) as u64;
            for (name, function) in functions {
                let direct = function(&upload(device, &x), &upload(device, &y)).unwrap();
                let expected = download(&direct);
                for fleet in fleets {
                    let ranges = with_ranges(fleet, bytes.div_ceil(7).max(1));
                    let mut check = |what: &str, fleet: &Fleet, cost| {
                        let got = fleet.map((&x, &y), cost, |_, (x, y)| function(x, y));
                        let count = fleet.devices().len();
                        let what = format!("{name}, {}, {what} for {count}", case.name);
                        assert_identical(what, &got.unwrap(), &expected);
                        divided += 1;
                    };
                    check("whole shares", fleet, Cost::values());
                    check("uneven ranges", &ranges, uneven());
                    let [x, y] = [&x, &y].map(|batch| fleet.scatter(batch, uneven()).unwrap());
                    let got = x
                        .each(|device, part| function(part, y.on(device)?))
                        .unwrap();
                    let what = format!("{name}, {}, parts", case.name);
                    assert_identical(what, &got.gather_blocking().unwrap(), &expected);
                }
            }
        }
    }
    assert!(divided > 200, "{divided}");
}

fn any_split(device: &Device) {
    let devices = devices(device);
    let inputs = (property::batch(), vec(0..50u64, 12), 1..200u64);
    property::on(device, inputs, |(batch, costs, range_bytes)| {
        let fleet = of(devices.clone(), Some(range_bytes));
        let cost = Cost::each(|element, shape| {
            assert_eq!(shape, batch.shape(element));
            costs[element]
        });
        let got = fleet.map(&batch, cost, |_, part| part.cumsum(0)?.scale(3));
        let whole = upload(device, &batch).cumsum(0).unwrap().scale(3).unwrap();
        assert_exact("3 cumsum", &got.unwrap(), &download(&whole));
    });
}

/// The function runs once, and determines the shape of the result.
fn without_elements(device: &Device) {
    let none = Ragged::from_shapes(Vec::<f32>::new(), 3, []).unwrap();
    let got = fleet(device, None)
        .map(&none, Cost::values(), |_, part| part.sum_axis(0))
        .unwrap();
    assert_eq!((got.len(), got.layout().rank()), (0, 2));
}

fn four_batches(device: &Device) {
    let layout = lengths([5, 0, 3, 1, 900]);
    let (x, n) = (numbers(&layout), lengths([1; 5]));
    let n = Ragged::from_fn(&n, |element, _| element as i32).unwrap();
    let fleet = fleet(device, Some(40));
    let got = fleet.map((&x, &n, &x, &n), Cost::values(), |device, (x, n, y, m)| {
        assert!(is_same(x.device(), device));
        assert_eq!([n.len(), y.len(), m.len()], [x.len(); 3]);
        let n = n.add(m)?.to::<f32>()?;
        x.add(y)?.add(n.each())
    });
    let expected = Ragged::from_fn(&layout, |element, i| {
        2.0 * x[element][i] + 2.0 * element as f32
    });
    assert_exact("sums", &got.unwrap(), &expected.unwrap());
    let three = fleet.map((&x, &n, &n), Cost::values(), |_, (x, _, n)| {
        x.add(n.to::<f32>()?.each())
    });
    assert_eq!(three.unwrap()[4][1], x[4][1] + 4.0);
}

/// Whether two handles are of one device.
fn is_same(a: &Device, b: &Device) -> bool {
    #[cfg(feature = "gpu")]
    if let (Some((a, _)), Some((b, _))) = (a.wgpu(), b.wgpu()) {
        // Devices of different instances may be equal.
        return std::ptr::eq(a, b);
    }
    a.is_gpu() == b.is_gpu()
}

fn replicated(device: &Device) {
    let x = numbers(&lengths([5, 0, 3, 1, 90]));
    let fleet = fleet(device, Some(40));
    let two = Ragged::from_rows([[2.0f32]]).unwrap();
    let two = fleet.replicate(&two).unwrap();
    let got = fleet.map(&x, Cost::values(), |device, part| {
        let two = two.on(device)?;
        assert!(is_same(two.device(), device));
        part.hadamard(two.each())
    });
    let expected = x.cast(|value| 2.0 * value).unwrap();
    assert_exact("2 x", &got.unwrap(), &expected);
}

/// A batch that is divided again is not planned again, and neither is an equal one.
fn planned_once(device: &Device) {
    let own = match device.is_gpu() {
        #[cfg(feature = "gpu")]
        true => lost::own_fleet(false),
        _ => fleet(&Device::cpu(), Some(160)),
    };
    let layout = || lengths((0..60).map(|i| i % 7 * 5));
    let rights = own.replicate(&numbers(&lengths([3]))).unwrap();
    let plans = || {
        own.devices()
            .iter()
            .map(|on| on.counters().plans)
            .sum::<u64>()
    };
    let products = |x: &Ragged<f32>| {
        let got = own.map(x, Cost::values(), |on, part| {
            part.pair(rights.on(on)?, Pairing::AllToOne)?
                .conv()?
                .softmax(0)
        });
        (got.unwrap(), plans())
    };
    let x = numbers(&layout());
    let (first, planned) = products(&x);
    let (second, again) = products(&numbers(&layout()));
    assert_exact("again", &second, &first);
    assert_eq!(again, planned);
}

/// Calls from all threads of a pool that the devices' work needs: nothing waits for a thread that waits.
fn within_a_pool(device: &Device) {
    use rayon::prelude::*;
    let x = numbers(&lengths([300_000; 6]));
    let expected = x.cast(|value| 2.0 * value).unwrap();
    let options = FleetOptions {
        mixed: true,
        range_bytes: Some(1 << 12),
        ..FleetOptions::default()
    };
    let with_cpu = match device.is_gpu() {
        true => [devices(device), vec![Device::cpu()]].concat(),
        false => devices(device),
    };
    let fleet = Fleet::with_options(with_cpu, &options).unwrap();
    (0..4 * rayon::current_num_threads())
        .into_par_iter()
        .for_each(|_| {
            let got = fleet.map(&x, Cost::values(), |_, part| part.scale(2.0));
            assert_exact("2 x", &got.unwrap(), &expected);
        });
}

fn opened() {
    let fleet = Fleet::open(FleetOptions::default()).unwrap();
    let devices = fleet.devices();
    let auto = Device::auto().info();
    assert_eq!(devices[0].info().name, auto.name);
    let x = numbers(&lengths([4, 0, 2]));
    let got = fleet.map(&x, Cost::values(), |_, part| part.scale(2.0));
    assert_exact("2 x", &got.unwrap(), &x.cast(|x| 2.0 * x).unwrap());
    let one = FleetOptions {
        devices: Some(1),
        ..FleetOptions::default()
    };
    assert_eq!(Fleet::open(one).unwrap().devices().len(), 1);
}

/// A batch of matrices.
fn matrices(shapes: &[[usize; 2]]) -> Ragged<f32> {
    let shapes = shapes.iter().map(|extents| Shape::new(extents).unwrap());
    numbers(&Layout::from_shapes(2, shapes).unwrap())
}
