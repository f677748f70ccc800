//! Cell by cell: functions, neighbourhoods, scans and reductions.

use super::{Done, Out, View, invalid};
use crate::ops::imaging::code::{Fold, Function};

/// The extent of an axis along which both operands are repeated.
fn common(m: usize, n: usize) -> Done<usize> {
    match (m, n) {
        _ if m == n => Ok(m),
        (1, _) => Ok(n),
        (_, 1) => Ok(m),
        _ => invalid(),
    }
}

pub(super) fn combine(function: u32, a: View<'_>, b: View<'_>, out: &mut Out<'_>) -> Done<()> {
    match Function::ALL[function as usize] {
        Function::Plus => apply(a, b, out, i32::wrapping_add),
        Function::Minus => apply(a, b, out, i32::wrapping_sub),
        Function::Times => apply(a, b, out, i32::wrapping_mul),
        Function::Divide => {
            divisors(a, b, out)?;
            apply(a, b, out, |x, y| {
                let quotient = x.wrapping_div(y);
                let rest = x.wrapping_rem(y);
                quotient - i32::from(rest != 0 && (rest < 0) != (y < 0))
            })
        }
        Function::Remainder => {
            divisors(a, b, out)?;
            apply(a, b, out, |x, y| {
                let rest = x.wrapping_rem(y);
                if rest != 0 && (rest < 0) != (y < 0) {
                    rest + y
                } else {
                    rest
                }
            })
        }
        Function::Minimum => apply(a, b, out, i32::min),
        Function::Maximum => apply(a, b, out, i32::max),
        Function::Equals => apply(a, b, out, |x, y| i32::from(x == y)),
        Function::Differs => apply(a, b, out, |x, y| i32::from(x != y)),
        Function::Less => apply(a, b, out, |x, y| i32::from(x < y)),
        Function::AtMost => apply(a, b, out, |x, y| i32::from(x <= y)),
        Function::Greater => apply(a, b, out, |x, y| i32::from(x > y)),
        Function::AtLeast => apply(a, b, out, |x, y| i32::from(x >= y)),
        Function::And => apply(a, b, out, |x, y| i32::from(x != 0) & i32::from(y != 0)),
        Function::Or => apply(a, b, out, |x, y| i32::from(x | y != 0)),
        Function::Xor => apply(a, b, out, |x, y| i32::from((x != 0) != (y != 0))),
    }
}

/// Refuses a divisor of 0 by which a cell would be divided.
fn divisors(a: View<'_>, b: View<'_>, out: &mut Out<'_>) -> Done<()> {
    let (rows, columns) = (common(a.rows, b.rows)?, common(a.columns, b.columns)?);
    // Too many cells come first, as for other functions.
    out.room(rows, columns)?;
    if rows * columns > 0 && b.cells.contains(&0) {
        return invalid();
    }
    Ok(())
}

fn apply(
    a: View<'_>,
    b: View<'_>,
    out: &mut Out<'_>,
    f: impl Fn(i32, i32) -> i32 + Copy,
) -> Done<()> {
    let (rows, columns) = (common(a.rows, b.rows)?, common(a.columns, b.columns)?);
    let cells = out.room(rows, columns)?;
    match (a.all(rows, columns), b.all(rows, columns)) {
        _ if rows * columns == 0 => {}
        (Some(a), Some(b)) => apply_line(cells, a, b, f),
        _ => (0..rows).for_each(|row| apply_line(cells, a.line(row), b.line(row), f)),
    }
    Ok(())
}

fn apply_line(cells: &mut Vec<i32>, a: Line<'_>, b: Line<'_>, f: impl Fn(i32, i32) -> i32) {
    match (a, b) {
        (Line::Cells(a), Line::Cells(b)) => {
            cells.extend(a.iter().zip(b).map(|(&a, &b)| f(a, b)));
        }
        (Line::Cells(a), Line::One(b)) => cells.extend(a.iter().map(|&a| f(a, b))),
        (Line::One(a), Line::Cells(b)) => cells.extend(b.iter().map(|&b| f(a, b))),
        (Line::One(a), Line::One(b)) => cells.push(f(a, b)),
    }
}

/// The cells of an operand for some cells of the result.
#[derive(Clone, Copy)]
enum Line<'a> {
    Cells(&'a [i32]),
    /// The same for all.
    One(i32),
}

impl<'a> View<'a> {
    /// For all cells of a result, if this operand is not repeated along one axis only.
    fn all(self, rows: usize, columns: usize) -> Option<Line<'a>> {
        match *self.cells {
            [cell] => Some(Line::One(cell)),
            _ if (self.rows, self.columns) == (rows, columns) => Some(Line::Cells(self.cells)),
            _ => None,
        }
    }

    /// For a row of a result.
    fn line(self, row: usize) -> Line<'a> {
        match (self.rows, self.columns) {
            (1, 1) => Line::One(self.cells[0]),
            (_, 1) => Line::One(self.cells[row]),
            (1, _) => Line::Cells(self.cells),
            (_, columns) => Line::Cells(&self.cells[row * columns..][..columns]),
        }
    }
}

pub(super) fn choose<'a>(c: View<'a>, a: View<'a>, b: View<'a>, out: &mut Out<'_>) -> Done<()> {
    let rows = common(common(c.rows, a.rows)?, b.rows)?;
    let columns = common(common(c.columns, a.columns)?, b.columns)?;
    let cells = out.room(rows, columns)?;
    let all = |view: View<'a>| view.all(rows, columns);
    match (all(c), all(a), all(b)) {
        _ if rows * columns == 0 => {}
        (Some(c), Some(a), Some(b)) => choose_line(cells, (c, a, b), rows * columns),
        _ => (0..rows).for_each(|row| {
            let lines = (c.line(row), a.line(row), b.line(row));
            choose_line(cells, lines, columns);
        }),
    }
    Ok(())
}

fn choose_line(cells: &mut Vec<i32>, lines: (Line<'_>, Line<'_>, Line<'_>), length: usize) {
    // The compiler makes no vectors of a conditional expression.
    let choice = |c: i32, a: i32, b: i32| b ^ ((a ^ b) & -i32::from(c != 0));
    match lines {
        (Line::Cells(c), Line::Cells(a), Line::Cells(b)) => {
            let both = a.iter().zip(b);
            cells.extend(c.iter().zip(both).map(|(&c, (&a, &b))| choice(c, a, b)));
        }
        (Line::Cells(c), Line::Cells(a), Line::One(b)) => {
            cells.extend(c.iter().zip(a).map(|(&c, &a)| choice(c, a, b)));
        }
        (Line::Cells(c), Line::One(a), Line::Cells(b)) => {
            cells.extend(c.iter().zip(b).map(|(&c, &b)| choice(c, a, b)));
        }
        (Line::Cells(c), Line::One(a), Line::One(b)) => {
            cells.extend(c.iter().map(|&c| choice(c, a, b)));
        }
        (Line::One(c), a, b) => match if c != 0 { a } else { b } {
            Line::Cells(chosen) => cells.extend_from_slice(chosen),
            Line::One(chosen) => cells.extend(std::iter::repeat_n(chosen, length)),
        },
    }
}

/// The function that a fold applies to the result so far and to the next cell, as a value of its own type.
macro_rules! folded {
    ($fold:expr, |$f:ident| $run:expr) => {
        match Fold::ALL[$fold as usize] {
            Fold::Sum => {
                let $f = i32::wrapping_add;
                $run
            }
            Fold::Smallest => {
                let $f = i32::min;
                $run
            }
            Fold::Largest => {
                let $f = i32::max;
                $run
            }
            Fold::Last => {
                let $f = |last, cell| if cell != 0 { cell } else { last };
                $run
            }
        }
    };
}

pub(super) fn extreme(fold: u32, eight: bool, a: View<'_>, out: &mut Out<'_>) -> Done<()> {
    folded!(fold, |f| extreme_by(eight, a, out, f))
}

fn extreme_by(
    eight: bool,
    a: View<'_>,
    out: &mut Out<'_>,
    best: impl Fn(i32, i32) -> i32 + Copy,
) -> Done<()> {
    let cells = out.room(a.rows, a.columns)?;
    let columns = a.columns;
    if columns == 0 {
        return Ok(());
    }
    cells.extend_from_slice(a.cells);
    let take = |to: &mut [i32], from: &[i32]| {
        for (to, &from) in to.iter_mut().zip(from) {
            *to = best(*to, from);
        }
    };
    if a.rows > 1 {
        // All cells of the rows above and below at once.
        take(&mut cells[columns..], a.cells);
        take(cells, &a.cells[columns..]);
    }
    let rows = cells.chunks_exact_mut(columns);
    for (to, from) in rows.zip(a.cells.chunks_exact(columns)) {
        if eight {
            let mut left = to[0];
            for column in 1..to.len() {
                let middle = to[column - 1];
                to[column - 1] = best(best(left, middle), to[column]);
                left = middle;
            }
            to[columns - 1] = best(left, to[columns - 1]);
        } else {
            take(&mut to[1..], from);
            take(to, &from[1..]);
        }
    }
    Ok(())
}

/// The first row and column of a direction's steps, and the steps: 1 forward, −1 backward, 0 none.
const STEPS: [[isize; 2]; 8] = [
    [0, 1],
    [1, 0],
    [0, -1],
    [-1, 0],
    [1, 1],
    [1, -1],
    [-1, -1],
    [-1, 1],
];

pub(super) fn scan(fold: u32, direction: u32, a: View<'_>, out: &mut Out<'_>) -> Done<()> {
    folded!(fold, |f| scan_by(STEPS[direction as usize], a, out, f))
}

fn scan_by(
    [down, right]: [isize; 2],
    a: View<'_>,
    out: &mut Out<'_>,
    f: impl Fn(i32, i32) -> i32,
) -> Done<()> {
    let cells = out.room(a.rows, a.columns)?;
    cells.extend_from_slice(a.cells);
    if a.cells.is_empty() {
        return Ok(());
    }
    if down == 0 {
        for row in cells.chunks_exact_mut(a.columns) {
            let mut last = None;
            let step = |cell: &mut i32| {
                *cell = last.map_or(*cell, |last| f(last, *cell));
                last = Some(*cell);
            };
            match right < 0 {
                true => row.iter_mut().rev().for_each(step),
                false => row.iter_mut().for_each(step),
            }
        }
        return Ok(());
    }
    // The columns that have a cell before them, and where it is in its row.
    let begin = usize::from(right > 0);
    let count = a.columns - usize::from(right != 0);
    let from = begin.saturating_add_signed(-right);
    for i in 1..a.rows {
        let (before, here) = if down > 0 {
            let (done, rest) = cells.split_at_mut(i * a.columns);
            (&done[(i - 1) * a.columns..], rest)
        } else {
            let (rest, done) = cells.split_at_mut((a.rows - i) * a.columns);
            (&*done, &mut rest[(a.rows - i - 1) * a.columns..])
        };
        let here = &mut here[begin..][..count];
        for (cell, &last) in here.iter_mut().zip(&before[from..][..count]) {
            *cell = f(last, *cell);
        }
    }
    Ok(())
}

pub(super) fn reduce(fold: u32, axes: u32, a: View<'_>, out: &mut Out<'_>) -> Done<()> {
    let nothing = (fold == Fold::Sum as u32).then_some(0);
    folded!(fold, |f| reduce_by(axes, a, out, nothing, f))
}

fn reduce_by(
    axes: u32,
    a: View<'_>,
    out: &mut Out<'_>,
    nothing: Option<i32>,
    f: impl Fn(i32, i32) -> i32 + Copy,
) -> Done<()> {
    let all = |cells: &[i32]| match (cells.iter().copied().reduce(f), nothing) {
        (Some(cell), _) | (None, Some(cell)) => Ok(cell),
        _ => invalid(),
    };
    match axes {
        // A cell for each column.
        0 => {
            if a.rows == 0 {
                return match (nothing, a.columns) {
                    (None, 1..) => invalid(),
                    (cell, _) => out.filled(1, a.columns, cell.unwrap_or(0)).map(|_| ()),
                };
            }
            let cells = out.room(1, a.columns)?;
            cells.extend_from_slice(&a.cells[..a.columns]);
            for row in 1..a.rows {
                for (cell, &other) in cells.iter_mut().zip(&a.cells[row * a.columns..]) {
                    *cell = f(*cell, other);
                }
            }
        }
        1 => {
            if nothing.is_none() && a.columns == 0 && a.rows > 0 {
                return invalid();
            }
            let cells = out.room(a.rows, 1)?;
            for row in 0..a.rows {
                let row = &a.cells[row * a.columns..][..a.columns];
                cells.push(all(row)?);
            }
        }
        _ => {
            let cell = all(a.cells)?;
            out.number(cell)?;
        }
    }
    Ok(())
}
