//! Gathering and scattering rows by index.

use vsla::{Layout, Ragged, Shape};

use super::{Arithmetic, Sums};

/// The rows that the lists name, with zeros for rows that do not exist: one result per pair of an element and a list.
pub fn gather<T: Copy + Default>(
    x: &Ragged<T>,
    lists: &Ragged<u32>,
    pairs: &[(usize, usize)],
) -> Ragged<T> {
    let (mut shapes, mut values) = (Vec::new(), Vec::new());
    for &(i, j) in pairs {
        let mut extents: Vec<usize> = x.shape(i).extents().iter().map(|&n| n as usize).collect();
        let n = std::mem::replace(&mut extents[0], lists.row(j).len());
        let width = extents[1..].iter().product();
        for &row in lists.row(j) {
            match row as usize {
                row if row < n => values.extend_from_slice(&x.row(i)[row * width..][..width]),
                _ => values.extend(std::iter::repeat_n(T::default(), width)),
            }
        }
        shapes.push(Shape::new(&extents).unwrap());
    }
    Ragged::from_shapes(values, x.layout().rank(), shapes).unwrap()
}

/// The rows of `y` added up at the listed indices, in elements with these shapes. Each pair is a shape and a list.
pub fn scatter_add<S: Arithmetic>(
    y: &Ragged<S>,
    lists: &Ragged<u32>,
    layout: &Layout,
    pairs: &[(usize, usize)],
) -> Sums<S> {
    let mut sums = Sums {
        values: Ragged::zeros(layout).unwrap(),
        magnitudes: vec![0.0; layout.total()],
        terms: vec![0; layout.total()],
    };
    for (pair, &(i, j)) in pairs.iter().enumerate() {
        let width = layout.shape(i).extents()[1..].iter().product::<u32>() as usize;
        let place = layout.offsets().range(i);
        for (r, &row) in lists.row(j).iter().enumerate() {
            for k in 0..width {
                let at = place.start + row as usize * width + k;
                if at < place.end {
                    let term = y.row(pair)[r * width + k];
                    let sum: &mut S = &mut sums.values.values_mut()[at];
                    *sum = sum.plus(term);
                    sums.magnitudes[at] += term.magnitude();
                    sums.terms[at] += 1;
                }
            }
        }
    }
    sums
}
