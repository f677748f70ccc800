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

/// Unites the components of two cells, of which `first` is the first cell of its component. Returns the first cell of
/// both.
fn unite(parents: &mut [i32], first: usize, other: usize) -> usize {
    let other = first_of(parents, other);
    parents[first.max(other)] = first.min(other) as i32;
    first.min(other)
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
    if a.cells.is_empty() {
        return;
    }
    let mut above: &[i32] = &[];
    for (row, here) in a.cells.chunks_exact(a.columns).enumerate() {
        // The first cell of the component of the cell to the left, and whether that cell is like the one above it.
        let (mut first, mut was_up) = (0, false);
        for (column, &cell) in here.iter().enumerate() {
            if is_background(cell) {
                continue;
            }
            let alike = |line: &[i32], column: usize| {
                let other = line.get(column);
                other.is_some_and(|&other| !is_background(other) && are_alike(cell, other))
            };
            let at = row * a.columns + column;
            let left = column.wrapping_sub(1);
            let is_left = alike(here, left);
            if !is_left {
                first = at;
            }
            let is_up = alike(above, column);
            // If the cell to the left is like the one above it, too, all four are already united.
            if is_up && !(is_left && was_up) {
                first = unite(parents, first, at - a.columns);
            }
            if eight && !is_up {
                if !is_left && alike(above, left) {
                    first = unite(parents, first, at - a.columns - 1);
                }
                if alike(above, column + 1) {
                    first = unite(parents, first, at - a.columns + 1);
                }
            }
            parents[at] = first as i32;
            was_up = is_up;
        }
        above = here;
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
        let mut end = row * a.columns;
        for run in labels.cells[end..][..a.columns].chunk_by(|x, y| x == y) {
            let begin = end;
            end += run.len();
            if run[0] <= 0 {
                continue;
            }
            let region = run[0] as usize - 1;
            let [area, top, left, bottom, right, _, _, value] = &mut table[8 * region..][..8]
            else {
                continue;
            };
            let (first, last) = (begin - row * a.columns, end - row * a.columns);
            if *area == 0 {
                (*top, *left, *value) = (row as i32, first as i32, a.cells[begin]);
            }
            *area += run.len() as i32;
            *left = (*left).min(first as i32);
            *bottom = row as i32 + 1;
            *right = (*right).max(last as i32);
            sums[region][0] += (row * run.len()) as u64;
            sums[region][1] += ((first + last - 1) * run.len() / 2) as u64;
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
    // A parent comes before its cell, so that its own parent is the first cell of the component.
    for at in 0..cells.len() {
        cells[at] = cells[cells[at] as usize];
    }
    // Marks the first cells of components that have a cell of the border: no cell has a negative parent otherwise.
    for row in 0..a.rows {
        let step = match row == 0 || row + 1 == a.rows {
            true => 1,
            false => a.columns.saturating_sub(1).max(1),
        };
        for column in (0..a.columns).step_by(step) {
            let at = row * a.columns + column;
            if let (true, Ok(first)) = (a.cells[at] == background, usize::try_from(cells[at])) {
                cells[first] = OPEN;
            }
        }
    }
    // The last cells first, because the first cell of a component is still needed then.
    for at in (0..cells.len()).rev() {
        let is_open = cells[at] == OPEN || cells[cells[at] as usize] == OPEN;
        cells[at] = match a.cells[at] {
            cell if cell == background && !is_open => value,
            cell => cell,
        };
    }
    Ok(())
}

/// The parent of the first cell of a component that reaches the border.
const OPEN: i32 = -1;
