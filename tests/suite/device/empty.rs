//! Empty input, which is not an error: batches without elements, and elements without values.

use libtest_mimic::Trial;
use vsla::{Device, Layout, Pairing, Ragged, Shape};

use super::{EVERY_OP, Tests, agrees_with_the_cpu, lengths, numbers};
use crate::support::bench::Bench;
use crate::support::operation::{download, pair_list, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: Tests<'_> = &[
        ("empty::no_elements", no_elements),
        ("empty::no_values", no_values),
        ("empty::download_nothing", download_nothing),
        ("empty::no_pairs", no_pairs),
        ("empty::no_elements_of_rank_8", no_elements_of_rank_8),
    ];
    tests
        .iter()
        .flat_map(|&(name, test)| bench.on_each_device(name, test))
        .collect()
}

fn no_elements(device: &Device) {
    let nothing = numbers(&lengths([]), 0);
    let x = upload(device, &nothing);
    assert!(x.is_empty());
    for (name, op) in EVERY_OP {
        for result in op(&x, &x).unwrap_or_else(|error| panic!("{name}: {error}")) {
            assert!(
                result.is_empty() && result.values().is_empty(),
                "{name}: {result}"
            );
        }
    }
    agrees_with_the_cpu(device, &nothing, &nothing);
}

fn no_values(device: &Device) {
    let nothing = numbers(&lengths([0; 5]), 0);
    let something = numbers(&lengths([0, 3, 0, 1, 500]), 0);
    agrees_with_the_cpu(device, &nothing, &nothing);
    agrees_with_the_cpu(device, &nothing, &something);
    agrees_with_the_cpu(device, &something, &nothing);
}

/// Reading a batch without values returns it without waiting.
fn download_nothing(device: &Device) {
    let x = upload(device, &numbers(&lengths([0; 5]), 0));
    assert_eq!(download(&x).len(), 5);
    x.download_into_blocking(&mut []).unwrap();
    pollster::block_on(x.download_into(&mut [])).unwrap();
}

fn no_pairs(device: &Device) {
    let (x, nothing) = (
        upload(device, &numbers(&lengths([2, 3]), 0)),
        upload(device, &numbers(&lengths([]), 0)),
    );
    let one = upload(device, &numbers(&lengths([4]), 0));
    let pairings = [
        x.pair(&nothing, Pairing::AllToAll),
        nothing.pair(&x, Pairing::AllToAll),
        one.pair(&nothing, Pairing::OneToAll),
        nothing.pair(&one, Pairing::AllToOne),
        x.pair(&x, Pairing::List(&pair_list([]))),
        nothing.pair(&nothing, Pairing::List(&pair_list([]))),
    ];
    for pair in pairings {
        let pair = pair.unwrap();
        assert_eq!(pair.len(), 0);
        assert!(download(&pair.add().unwrap()).is_empty());
        assert!(download(&pair.conv().unwrap()).is_empty());
        assert!(download(&pair.correlate_max().unwrap().lag).is_empty());
        assert!(download(&pair.sbd().unwrap().distance).is_empty());
        assert!(download(&pair.dot().unwrap()).is_empty());
    }
}

fn no_elements_of_rank_8(device: &Device) {
    let none = Ragged::full(&Layout::from_shapes(8, []).unwrap(), 1.0f32).unwrap();
    let empty = Shape::new(&[2, 0, 3, 1, 1, 1, 1, 1]).unwrap();
    let hollow = Ragged::full(&Layout::uniform(3, empty).unwrap(), 1.0f32).unwrap();
    for batch in [none, hollow] {
        let x = upload(device, &batch);
        for result in [x.add(&x), x.scale(2.0), x.copy()] {
            assert_eq!(download(&result.unwrap()), batch);
        }
        assert_eq!(download(&x.sum().unwrap()).values(), vec![0.0; batch.len()]);
    }
}
