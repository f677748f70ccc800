//! Attention without keys, and without queries.

use vsla::attention::Cache;
use vsla::{Device, Layout, Ragged, Shape, f16};

use super::case::{Case, Operands, Value};
use super::is_thorough;
use crate::support::operation::upload;

pub fn nothing_to_attend_to(device: &Device) {
    for dv in [16, 200] {
        if dv > 16 && !is_thorough(device) {
            continue;
        }
        let case = Case {
            sizes: vec![(3, 0), (0, 3), (40, 0), (20, 10), (100, 20), (3, 2000)],
            dv,
            window: Some((1, 0)),
            top_left: true,
            ..Case::default()
        };
        let of = case.operands::<f32>(4);
        let (o, lse) = case.run(device, &of).unwrap();
        // Queries from 12 on are beyond all keys of element 3.
        for (element, first) in [(0, 0), (2, 0), (3, 11), (4, 21)] {
            let rows = &o.row(element)[first * dv..];
            assert!(rows.iter().all(|x| x.to_bits() == 0), "element {element}");
            assert!(
                lse.row(element)[first..]
                    .iter()
                    .all(|x| *x == f32::NEG_INFINITY)
            );
        }
    }
    let none = Case {
        sizes: vec![],
        ..Case::default()
    };
    let of = none.operands::<f32>(1);
    assert_eq!(none.run(device, &of).unwrap().0.len(), 0);
    // A bias of −∞ masks.
    let case = Case {
        sizes: vec![(2, 3)],
        bias: Some(false),
        ..Case::default()
    };
    let mut of = case.operands::<f32>(1);
    let least = f32::NEG_INFINITY;
    let bias = vec![least, least, least, least, 0.0, least];
    of.bias = Some(Ragged::from_shapes(bias, 2, [Shape::new(&[2, 3]).unwrap()]).unwrap());
    let (o, lse) = case.run(device, &of).unwrap();
    assert_eq!(o.row(0)[..16], [0.0; 16]);
    assert_eq!(o.row(0)[16..], of.v.row(0)[16..32]);
    assert_eq!(lse.row(0)[0], least);
}

/// An element without rows may have any other extents, such as (0, 0).
pub fn elements_without_rows(device: &Device) {
    // The shapes with zeros in place of all extents of elements without rows.
    let bare = |x: &Ragged<f32>| {
        let shapes = x.layout().shapes().map(|shape| match shape.extents()[0] {
            0 => Shape::new(&vec![0; shape.rank()]).unwrap(),
            _ => shape,
        });
        Ragged::from_shapes(x.values().to_vec(), x.layout().rank(), shapes).unwrap()
    };
    for axis in [false, true] {
        let mut case = Case {
            sizes: vec![(0, 0), (3, 5), (0, 4), (2, 0), (20, 20)],
            heads: 4,
            key_heads: 2,
            dv: 10,
            axis,
            sinks: true,
            ..Case::default()
        };
        let of = case.operands::<f32>(7);
        let without = Operands {
            q: bare(&of.q),
            k: bare(&of.k),
            v: bare(&of.v),
            ..of.clone()
        };
        assert_ne!(without.q.layout(), of.q.layout());
        let (o, lse) = case.run(device, &of).unwrap();
        let (bare_o, bare_lse) = case.run(device, &without).unwrap();
        assert_eq!(bare_o, o);
        assert_eq!(bare_lse, lse);
        // No rows at all.
        case.sizes = vec![(0, 0), (0, 0)];
        let of = case.operands::<f32>(7);
        let without = Operands {
            q: bare(&of.q),
            k: bare(&of.k),
            v: bare(&of.v),
            ..of.clone()
        };
        let (o, _) = case.run(device, &without).unwrap();
        assert_eq!((o.len(), o.values().len()), (2, 0));
    }
    // The width of results follows from values alone.
    let rows = |shape: &[usize]| {
        let layout = Layout::uniform(1, Shape::new(shape).unwrap()).unwrap();
        upload(device, &Ragged::<f32>::zeros(&layout).unwrap())
    };
    let (q, none) = (rows(&[3, 2]), rows(&[0, 0]));
    let error = q.attention(&none, &none).run().unwrap_err();
    let expected = "expected 1 to 256 values in a head of the values, got 0";
    assert!(error.to_string().contains(expected), "{error}");
    assert!(none.attention(&q, &q).run().is_ok());
}

/// The same in a cache, which such an element leaves without room.
pub fn caches_without_rows(device: &Device) {
    of_type::<f32>(device);
    of_type::<f16>(device);
}

fn of_type<T: Value>(device: &Device) {
    for axis in [false, true] {
        let of = |rows: &[usize], bare: bool| {
            let shapes = rows.iter().map(|&n| match (axis, bare && n == 0) {
                (true, true) => Shape::new(&[0, 0, 0]).unwrap(),
                (true, false) => Shape::new(&[n, 1, 2]).unwrap(),
                (false, true) => Shape::new(&[0, 0]).unwrap(),
                (false, false) => Shape::new(&[n, 2]).unwrap(),
            });
            let layout = Layout::from_shapes(if axis { 3 } else { 2 }, shapes).unwrap();
            let value = |e: usize, i: usize| T::rounded((3 * e + i) as f32);
            upload(device, &Ragged::from_fn(&layout, value).unwrap())
        };
        let q = of(&[1, 1, 2], false);
        let attend = |cache: &Cache<T>| {
            let o = q.attention_over(cache).run().unwrap();
            let o = o.download_blocking().unwrap();
            let wide = o.values().iter().map(|&x| -> f32 { x.into() });
            wide.collect::<Vec<_>>()
        };
        let [bare, whole] = [true, false].map(|bare| {
            let rows = of(&[0, 3, 0], bare);
            let mut cache = Cache::with_lengths(rows.clone(), rows, &[0, 1, 0]).unwrap();
            let first = attend(&cache);
            let new = of(&[0, 1, 0], bare);
            cache.append(&new, &new).unwrap();
            assert_eq!(cache.counts(), [0, 2, 0]);
            let one = of(&[0, 0, 1], bare);
            let error = cache.append(&one, &one).unwrap_err();
            assert_eq!((error.kind(), error.element()), ("shape", Some(2)));
            (first, attend(&cache))
        });
        assert_eq!(bare, whole);
        // The only key's value, where there is one.
        assert_eq!(bare.0, [0.0, 0.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.0]);
        let none = of(&[0, 0, 0], true);
        let cache = Cache::<T>::new(device, none.layout(), none.layout()).unwrap();
        assert_eq!(cache.counts(), [0; 3]);
    }
}
