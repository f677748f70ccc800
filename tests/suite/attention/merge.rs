//! Merged results of parts of the keys.

use vsla::{Device, Layout, Ragged, Shape, Tensor, attention, f16};

use super::case::{Case, Value};
use crate::support::operation::upload;

/// Attention over parts of the keys, some of them empty, merged into that over all keys.
pub fn parts(device: &Device) {
    fn of_type<T: Value>(device: &Device) {
        let case = Case {
            sizes: vec![(3, 9), (20, 70), (0, 5), (2, 0), (5, 1)],
            heads: 4,
            key_heads: 2,
            dv: 6,
            ..Case::default()
        };
        let of = case.operands::<T>(9);
        let expected = case.expected(&of);
        for cuts in [vec![1usize], vec![0, 4, 30]] {
            let [q, k, v] = [&of.q, &of.k, &of.v].map(|x| upload(device, x));
            let ends = cuts.iter().map(|&cut| cut as i64).chain([1000]);
            let begins = [0].into_iter().chain(cuts.iter().map(|&cut| cut as i64));
            let parts: Vec<_> = begins
                .zip(ends)
                .map(|(begin, end)| {
                    let ranges = [(Some(begin), Some(end), 1), (None, None, 1)];
                    let part = |x: &Tensor<T>| x.strided_slice(&ranges).unwrap();
                    let (k, v) = (part(&k), part(&v));
                    let attention = q.attention(&k, &v).heads(4).key_heads(2);
                    attention.run_with_lse().unwrap()
                })
                .collect();
            let parts: Vec<_> = parts.iter().map(|(o, lse)| (o, lse)).collect();
            let (o, lse) = attention::merge(&parts).unwrap();
            let (o, lse) = (
                o.download_blocking().unwrap(),
                lse.download_blocking().unwrap(),
            );
            for element in 0..case.sizes.len() {
                for (got, (value, bound)) in o.row(element).iter().zip(&expected.o[element]) {
                    let got = f64::from((*got).into());
                    // Each part and the result are rounded.
                    let bound = 2.0 * bound + T::half_ulp(1.0) + 40.0 * 2f64.powi(-24);
                    assert!((got - value).abs() <= bound, "{got}, expected {value}");
                }
                for (got, (value, bound)) in lse.row(element).iter().zip(&expected.lse[element]) {
                    let got = f64::from(*got);
                    let bound = 2.0 * bound + 40.0 * 2f64.powi(-24);
                    assert!(
                        got == *value || (got - value).abs() <= bound,
                        "{got}, expected {value}"
                    );
                }
            }
        }
    }
    of_type::<f32>(device);
    of_type::<f16>(device);
    let (q, other) = (rows_of(device, 3), rows_of(device, 4));
    let part = q.attention(&q, &q).run_with_lse().unwrap();
    let longer = other.attention(&q, &q).run_with_lse().unwrap();
    let error = attention::merge(&[(&part.0, &part.1), (&longer.0, &longer.1)]).unwrap_err();
    assert_eq!(error.kind(), "shape");
    assert_eq!(attention::merge::<f32>(&[]).unwrap_err().kind(), "argument");
}

fn rows_of(device: &Device, rows: usize) -> Tensor<f32> {
    let layout = Layout::uniform(1, Shape::new(&[rows, 2]).unwrap()).unwrap();
    upload(device, &Ragged::zeros(&layout).unwrap())
}
