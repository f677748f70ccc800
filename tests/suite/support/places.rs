//! The reference of copies: where each value of a result comes from, said value by value.

use vsla::{Layout, Ragged};

/// A place in an element: an index along each axis, 0 behind the rank.
pub type Place = [i64; 8];

/// The batch of layout `y` whose value at place k of element e is that of `x` at `from(e, k)`, an element and a place
/// in it: zero where there is no such element, or no such place in it.
pub fn read<T: Copy + Default>(
    x: &Ragged<T>,
    y: &Layout,
    from: impl Fn(usize, Place) -> (usize, Place),
) -> Ragged<T> {
    let rank = x.layout().rank();
    let mut values = Vec::with_capacity(y.total());
    for e in 0..y.len() {
        let shape = y.shape(e);
        let mut place = Place::default();
        for _ in 0..shape.size() {
            let (element, at) = from(e, place);
            values.push(value(x, element, &at[..rank]));
            for axis in (0..y.rank()).rev() {
                place[axis] += 1;
                if place[axis] < i64::from(shape.extents()[axis]) {
                    break;
                }
                place[axis] = 0;
            }
        }
    }
    Ragged::from_parts(y.clone(), values).unwrap()
}

fn value<T: Copy + Default>(x: &Ragged<T>, element: usize, at: &[i64]) -> T {
    if element >= x.len() {
        return T::default();
    }
    let shape = x.layout().shape(element);
    let mut index = 0;
    for (&k, &extent) in at.iter().zip(shape.extents()) {
        if k < 0 || k >= i64::from(extent) {
            return T::default();
        }
        index = index * extent as usize + k as usize;
    }
    x.row(element)[index]
}
