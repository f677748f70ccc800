//! Sums and the products over them. Integer arithmetic wraps, so every law holds exactly.

use libtest_mimic::Trial;
use vsla::{Device, Layout, Ragged, Result, Shape, Tensor, product::ShapeMatrix};

use crate::support::bench::{Bench, DeviceTest};
use crate::support::compare::assert_exact;
use crate::support::operation::{one, run};
use crate::support::property::{self, shrunk};

type Product = fn(&Tensor<i32>, &Tensor<i32>) -> Result<Tensor<i32>>;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    const TESTS: &[DeviceTest] = &[
        ("sums_are_a_group", sums),
        ("model_a_is_a_ring", model_a),
        ("model_b_is_associative", model_b),
        ("model_b_is_no_product_of_classes", model_b_on_classes),
        ("outer_is_bilinear", outer),
        ("matrices_of_model_a_are_a_ring", matrices),
        ("matrices_of_model_b_do_not_associate", matrices_of_model_b),
        ("least_representatives", least_representatives),
        ("inner_products_agree", inner_products_agree),
    ];
    bench.all_on_each_device(TESTS)
}

/// Three batches of one rank and size.
fn three(
    device: &Device,
    ranks: std::ops::RangeInclusive<usize>,
    law: impl Fn(&Ragged<i32>, &Ragged<i32>, &Ragged<i32>),
) {
    property::on(
        device,
        property::classes(ranks),
        |[a, b, c]: [[Ragged<i32>; 2]; 3]| {
            law(&a[0], &b[0], &c[0]);
        },
    );
}

fn sums(device: &Device) {
    let add = |a: &Ragged<i32>, b: &Ragged<i32>| run(device, a, b, |x, y| x.add(y));
    three(device, 1..=3, |a, b, c| {
        assert_exact("b + a", &add(b, a), &add(a, b));
        assert_exact("(a + b) + c", &add(&add(a, b), c), &add(a, &add(b, c)));
        let zero = run(device, a, a, |x, _| x.sub(x));
        assert_exact("a − a", &zero, &a.cast(|_| 0).unwrap());
        assert_exact("a + 0", &add(a, &zero), a);
        let minus = run(device, a, b, |x, y| x.add(&y.scale(-1)?));
        assert_exact("a + (−1) b", &minus, &run(device, a, b, |x, y| x.sub(y)));
        let product = |a: &Ragged<i32>, b: &Ragged<i32>| run(device, a, b, |x, y| x.hadamard(y));
        assert_exact("b ⊙ a", &product(b, a), &product(a, b));
        let sum = product(&add(a, b), c);
        let sums = add(&product(a, c), &product(b, c));
        // If c is longer than a and b, both are padded with zeros.
        assert!(shrunk(&sum) == shrunk(&sums), "(a + b) ⊙ c");
    });
}

/// The unit of either model, an element of shape (1, …, 1).
fn unit(of: &Ragged<i32>) -> Ragged<i32> {
    let units = one(&vec![1; of.layout().rank()], &[1]);
    let shapes = (0..of.len()).map(|_| units.shape(0));
    Ragged::from_shapes(vec![1; of.len()], of.layout().rank(), shapes).unwrap()
}

fn model_a(device: &Device) {
    let add = |a: &Ragged<i32>, b: &Ragged<i32>| run(device, a, b, |x, y| x.add(y));
    let conv = |a: &Ragged<i32>, b: &Ragged<i32>| run(device, a, b, |x, y| x.conv(y));
    three(device, 1..=3, |a, b, c| {
        assert_exact("b * a", &conv(b, a), &conv(a, b));
        assert_exact("(a * b) * c", &conv(&conv(a, b), c), &conv(a, &conv(b, c)));
        let apart = add(&conv(a, c), &conv(b, c));
        assert!(
            shrunk(&conv(&add(a, b), c)) == shrunk(&apart),
            "(a + b) * c"
        );
        assert!(shrunk(&conv(a, &unit(a))) == shrunk(a), "a * 1");
        // No divisors of zero, among numbers whose products do not wrap.
        let [a, b] = [a, b].map(|batch| batch.cast(|value| value % 100).unwrap());
        let of = conv(&a, &b);
        for i in 0..a.len() {
            let zero = |batch: &Ragged<i32>| batch.row(i).iter().all(|&value| value == 0);
            assert_eq!(zero(&of), zero(&a) || zero(&b), "{a} * {b}");
        }
        let sums = |batch: &Ragged<i32>| run(device, batch, batch, |x, _| x.sum());
        let product = run(device, &sums(&a), &sums(&b), |x, y| x.hadamard(y));
        assert_exact("Σ a * b", &sums(&of), &product);
    });
}

fn model_b(device: &Device) {
    let add = |a: &Ragged<i32>, b: &Ragged<i32>| run(device, a, b, |x, y| x.add(y));
    let kron = |a: &Ragged<i32>, b: &Ragged<i32>| run(device, a, b, |x, y| x.kron(y));
    three(device, 1..=3, |a, b, c| {
        assert_exact("(a ⊗ b) ⊗ c", &kron(&kron(a, b), c), &kron(a, &kron(b, c)));
        let apart = add(&kron(a, c), &kron(b, c));
        let together = kron(&add(a, b), c);
        assert!(
            shrunk(&together) == shrunk(&apart),
            "(a + b) ⊗ c of {a}, {b}, {c}"
        );
        for (product, name) in [(kron(a, &unit(a)), "a ⊗ 1"), (kron(&unit(a), a), "1 ⊗ a")] {
            assert!(shrunk(&product) == shrunk(a), "{name}");
        }
    });
}

/// A published claim that does not hold.
fn model_b_on_classes(device: &Device) {
    let row = |values: &[i32]| one(&[values.len()], values);
    let kron = |a: &Ragged<i32>, b: &Ragged<i32>| run(device, a, b, |x, y| x.kron(y));
    let add = |a: &Ragged<i32>, b: &Ragged<i32>| run(device, a, b, |x, y| x.add(y));
    let a = row(&[1, 2]);
    assert_exact("[3]", &kron(&a, &row(&[3])), &row(&[3, 6]));
    assert_exact("[3, 0]", &kron(&a, &row(&[3, 0])), &row(&[3, 0, 6, 0]));
    let (b, c) = (row(&[3]), row(&[0, 1]));
    assert_exact("a ⊗ (b + c)", &kron(&a, &add(&b, &c)), &row(&[3, 1, 6, 2]));
    let apart = add(&kron(&a, &b), &kron(&a, &c));
    assert_exact("a ⊗ b + a ⊗ c", &apart, &row(&[3, 7, 0, 2]));
}

fn outer(device: &Device) {
    let add = |a: &Ragged<i32>, b: &Ragged<i32>| run(device, a, b, |x, y| x.add(y));
    let outer = |a: &Ragged<i32>, b: &Ragged<i32>| run(device, a, b, |x, y| x.outer(y));
    three(device, 1..=2, |a, b, c| {
        let together = outer(&add(a, b), c);
        assert!(
            shrunk(&together) == shrunk(&add(&outer(a, c), &outer(b, c))),
            "on the left"
        );
        let together = outer(c, &add(a, b));
        assert!(
            shrunk(&together) == shrunk(&add(&outer(c, a), &outer(c, b))),
            "on the right"
        );
        let scaled = run(device, a, b, |x, y| x.scale(-7)?.outer(y));
        assert_exact(
            "(s a) b",
            &scaled,
            &run(device, a, b, |x, y| x.outer(&y.scale(-7)?)),
        );
        assert_exact(
            "s (a b)",
            &scaled,
            &outer(a, b).cast(|value| value.wrapping_mul(-7)).unwrap(),
        );
        assert_exact("(a b) c", &outer(&outer(a, b), c), &outer(a, &outer(b, c)));
    });
}

/// The same inner product, computed by four operations; and lengths of products.
fn inner_products_agree(device: &Device) {
    three(device, 1..=2, |a, b, _| {
        let dot = run(device, a, b, |x, y| x.dot(y));
        assert_exact(
            "Σ a ⊙ b",
            &run(device, a, b, |x, y| x.hadamard(y)?.sum()),
            &dot,
        );
        for product in [(|x, y| x.outer(y)) as Product, |x, y| x.kron(y)] {
            let sum = run(device, a, b, |x, y| product(x, y)?.sum());
            assert_exact(
                "Σ a Σ b",
                &sum,
                &run(device, a, b, |x, y| x.sum()?.hadamard(&y.sum()?)),
            );
        }
    });
}

/// Entries up to trailing zeros: sums are as long as the longest term.
fn least(matrix: &ShapeMatrix<i32>) -> Ragged<i32> {
    shrunk(&matrix.entries().download_blocking().unwrap())
}

fn matrices(device: &Device) {
    // As many 1 × 2, 2 × 2 and 2 × 1 matrices as the entries suffice for.
    three(device, 1..=1, |a, b, c| {
        let count = a.len() / 4;
        let matrix = |batch: &Ragged<i32>, [rows, columns]: [usize; 2]| {
            let grid = Layout::uniform(count, Shape::new(&[rows, columns]).unwrap()).unwrap();
            let entries = device
                .upload(batch)
                .unwrap()
                .elements(0..grid.total())
                .unwrap();
            ShapeMatrix::new(&entries, &grid).unwrap()
        };
        let (x, y, z) = (matrix(a, [1, 2]), matrix(b, [2, 2]), matrix(c, [2, 2]));
        let product = |x: &ShapeMatrix<i32>, y: &ShapeMatrix<i32>| x.conv_matmul(y).unwrap();
        let (xy, yz) = (product(&x, &y), product(&y, &z));
        assert!(
            least(&product(&xy, &z)) == least(&product(&x, &yz)),
            "(X Y) Z"
        );
        let apart = xy.add(&product(&x, &z)).unwrap();
        assert!(
            least(&product(&x, &y.add(&z).unwrap())) == least(&apart),
            "X (Y + Z)"
        );
        let unit = ShapeMatrix::identity(device, vec![2; count]).unwrap();
        assert!(least(&product(&x, &unit)) == least(&x), "X 1");
        assert!(least(&product(&unit, &y)) == least(&y), "1 Y");
    });
}

/// An example that shows it.
fn matrices_of_model_b(device: &Device) {
    let matrix = |rows: Vec<Vec<Vec<i32>>>| ShapeMatrix::from_nested(device, &[rows]).unwrap();
    let a = matrix(vec![vec![vec![1, 2]]]);
    let b = matrix(vec![vec![vec![1], vec![1, 1]]]);
    let c = matrix(vec![vec![vec![1]], vec![vec![1]]]);
    let product = |x: &ShapeMatrix<i32>, y: &ShapeMatrix<i32>| x.kron_matmul(y).unwrap();
    let of = |matrix: &ShapeMatrix<i32>| matrix.entries().download_blocking().unwrap();
    assert_exact(
        "(A B) C",
        &of(&product(&product(&a, &b), &c)),
        &one(&[4], &[2, 3, 2, 2]),
    );
    assert_exact(
        "A (B C)",
        &of(&product(&a, &product(&b, &c))),
        &one(&[4], &[2, 1, 4, 2]),
    );
}

/// Every equivalence class has one minimal element, whose size in products of polynomials is known.
fn least_representatives(device: &Device) {
    property::on(
        device,
        property::classes(1..=3),
        |[a]: [[Ragged<i32>; 2]; 1]| {
            let least = shrunk(&a[0]);
            for a in &a {
                assert_exact(
                    "shrink",
                    &run(device, a, a, |x, _| x.shrink_blocking()),
                    &least,
                );
                let shape = device.upload(a).unwrap().minimal_shape_blocking().unwrap();
                assert_eq!(&shape, least.layout());
            }
        },
    );
    three(device, 1..=1, |a, b, _| {
        let [a, b] = [a, b].map(|batch| batch.cast(|value| value % 100).unwrap());
        let degree = |batch: &Ragged<i32>| device.upload(batch).unwrap().degree_blocking().unwrap();
        let products = degree(&run(device, &a, &b, |x, y| x.conv(y)));
        for ((product, a), b) in products.into_iter().zip(degree(&a)).zip(degree(&b)) {
            assert_eq!(product, a.and_then(|a| Some(a + b?)));
        }
    });
}
