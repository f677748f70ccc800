//! The reference for copying operations: specifies the source of every value of a result.

use vsla::{Layout, Ragged};

/// A position in an element: an index along each axis, 0 beyond the rank.
pub type Place = [i64; 8];

/// A batch with layout `y`, where position k of element e is read from `x` at `from(e, k)`, an (element, position)
/// pair. The value is zero if that element or position does not exist.
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
