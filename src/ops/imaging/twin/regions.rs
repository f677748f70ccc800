//! Connected components: their labels, tables of them, and holes.

use super::{Done, Out, View, invalid};
use crate::host;
use crate::ops::imaging::OP;

/// The first cell of the component that a cell belongs to. Shortens the path to it.
fn first_of(parents: &mut [i32], mut cell: usize) -> usize {
    while parents[cell] as usize != cell {
        let next = parents[cell] as usize;
        parents[cell] = parents[next];
        cell = next;
    }
    cell
}

fn unite(parents: &mut [i32], a: usize, b: usize) {
    let (a, b) = (first_of(parents, a), first_of(parents, b));
    parents[a.max(b)] = a.min(b) as i32;
}

/// Unites neighbours that are alike: the first cell of each component becomes the parent of all. Cells of the
/// background, of which `is_background` says so, stay alone.
fn components(
    a: View<'_>,
    parents: &mut [i32],
    eight: bool,
    is_background: impl Fn(i32) -> bool,
    are_alike: impl Fn(i32, i32) -> bool,
) {
    for row in 0..a.rows {
        for column in 0..a.columns {
            let at = row * a.columns + column;
            let cell = a.cells[at];
            if is_background(cell) {
                continue;
            }
            let alike =
                |other: usize| !is_background(a.cells[other]) && are_alike(cell, a.cells[other]);
            let up = at.wrapping_sub(a.columns);
            let left = column > 0 && alike(at - 1);
            if left {
                parents[at] = first_of(parents, at - 1) as i32;
            }
            if row == 0 {
                continue;
            }
            if alike(up) {
                unite(parents, at, up);
            }
            if eight {
                if column > 0 && alike(up - 1) {
                    unite(parents, at, up - 1);
                }
                if column + 1 < a.columns && alike(up + 1) {
                    unite(parents, at, up + 1);
                }
            }
        }
    }
}

pub(super) fn label(
    foreground: bool,
    eight: bool,
    a: View<'_>,
    background: View<'_>,
    out: &mut Out<'_>,
) -> Done<()> {
    let background = background.number()?;
    let cells = out.room(a.rows, a.columns)?;
    cells.extend(0..a.cells.len() as i32);
    let is_background = |cell| cell == background;
    components(a, cells, eight, is_background, |x, y| foreground || x == y);
    // A parent comes before its cell, so that its label is known.
    let mut labels = 0;
    for at in 0..cells.len() {
        cells[at] = match cells[at] as usize {
            _ if a.cells[at] == background => 0,
            parent if parent == at => {
                labels += 1;
                labels
            }
            parent => cells[parent],
        };
    }
    Ok(())
}

pub(super) fn regions(limit: usize, labels: View<'_>, a: View<'_>, out: &mut Out<'_>) -> Done<()> {
    if (labels.rows, labels.columns) != (a.rows, a.columns) {
        return invalid();
    }
    let n = labels.cells.iter().copied().max().unwrap_or(0).max(0) as usize;
    if n > a.cells.len() {
        return invalid();
    }
    if n > limit {
        return Err(super::Stop::State(super::OVERFLOW));
    }
    let table = out.filled(n, 8, 0)?;
    let mut sums = host::zeroed::<[u64; 2]>(OP, n)?;
    for row in 0..a.rows {
        for column in 0..a.columns {
            let at = row * a.columns + column;
            if labels.cells[at] <= 0 {
                continue;
            }
            let region = labels.cells[at] as usize - 1;
            let [area, top, left, bottom, right, _, _, value] = &mut table[8 * region..][..8]
            else {
                continue;
            };
            if *area == 0 {
                (*top, *left, *value) = (row as i32, column as i32, a.cells[at]);
            }
            *area += 1;
            *left = (*left).min(column as i32);
            *bottom = row as i32 + 1;
            *right = (*right).max(column as i32 + 1);
            sums[region][0] += row as u64;
            sums[region][1] += column as u64;
        }
    }
    for (region, sums) in table.chunks_exact_mut(8).zip(sums) {
        if region[0] > 0 {
            region[5] = (sums[0] / region[0] as u64) as i32;
            region[6] = (sums[1] / region[0] as u64) as i32;
        }
    }
    Ok(())
}

pub(super) fn fill_holes(
    a: View<'_>,
    background: View<'_>,
    value: View<'_>,
    out: &mut Out<'_>,
) -> Done<()> {
    let (background, value) = (background.number()?, value.number()?);
    let cells = out.room(a.rows, a.columns)?;
    cells.extend(0..a.cells.len() as i32);
    components(a, cells, false, |cell| cell != background, |_, _| true);
    // Marks the first cells of components that have a cell of the border: no cell has a negative parent otherwise.
    let mut open = host::filled(OP, false, a.cells.len())?;
    for at in 0..cells.len() {
        let (row, column) = (at / a.columns, at % a.columns);
        let is_border = row == 0 || column == 0 || row + 1 == a.rows || column + 1 == a.columns;
        if is_border && a.cells[at] == background {
            open[first_of(cells, at)] = true;
        }
    }
    for at in 0..cells.len() {
        open[at] |= open[first_of(cells, at)];
    }
    for (at, cell) in cells.iter_mut().enumerate() {
        *cell = match a.cells[at] {
            cell if cell == background && !open[at] => value,
            cell => cell,
        };
    }
    Ok(())
}
