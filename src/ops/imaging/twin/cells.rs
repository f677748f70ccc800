//! Cell by cell: functions, neighbourhoods, scans and reductions.

use super::{Done, Out, View, invalid};
use crate::ops::imaging::code::Function;

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
    const FUNCTIONS: [Function; 16] = [
        Function::Plus,
        Function::Minus,
        Function::Times,
        Function::Divide,
        Function::Remainder,
        Function::Minimum,
        Function::Maximum,
        Function::Equals,
        Function::Differs,
        Function::Less,
        Function::AtMost,
        Function::Greater,
        Function::AtLeast,
        Function::And,
        Function::Or,
        Function::Xor,
    ];
    match FUNCTIONS[function as usize] {
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
        Function::And => apply(a, b, out, |x, y| i32::from(x != 0 && y != 0)),
        Function::Or => apply(a, b, out, |x, y| i32::from(x != 0 || y != 0)),
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

fn apply(a: View<'_>, b: View<'_>, out: &mut Out<'_>, f: impl Fn(i32, i32) -> i32) -> Done<()> {
    let (rows, columns) = (common(a.rows, b.rows)?, common(a.columns, b.columns)?);
    let cells = out.room(rows, columns)?;
    match (a.cells, b.cells) {
        _ if rows * columns == 0 => {}
        (a, &[b]) => cells.extend(a.iter().map(|&a| f(a, b))),
        (&[a], b) => cells.extend(b.iter().map(|&b| f(a, b))),
        (x, y) if (a.rows, a.columns) == (b.rows, b.columns) => {
            cells.extend(x.iter().zip(y).map(|(&a, &b)| f(a, b)));
        }
        _ => {
            let (x, y) = (Repeated::of(a), Repeated::of(b));
            for row in 0..rows {
                cells.extend((0..columns).map(|column| f(x.at(row, column), y.at(row, column))));
            }
        }
    }
    Ok(())
}

/// An operand whose axes of extent 1 are repeated.
struct Repeated<'a> {
    cells: &'a [i32],
    strides: [usize; 2],
}

impl<'a> Repeated<'a> {
    fn of(view: View<'a>) -> Repeated<'a> {
        let along_rows = if view.rows == 1 { 0 } else { view.columns };
        Repeated {
            cells: view.cells,
            strides: [along_rows, usize::from(view.columns != 1)],
        }
    }

    fn at(&self, row: usize, column: usize) -> i32 {
        self.cells[row * self.strides[0] + column * self.strides[1]]
    }
}

pub(super) fn choose(c: View<'_>, a: View<'_>, b: View<'_>, out: &mut Out<'_>) -> Done<()> {
    let rows = common(common(c.rows, a.rows)?, b.rows)?;
    let columns = common(common(c.columns, a.columns)?, b.columns)?;
    let cells = out.room(rows, columns)?;
    if rows * columns == 0 {
        return Ok(());
    }
    let choice = |c, a, b| if c != 0 { a } else { b };
    let whole = |view: View<'_>| (view.rows, view.columns) == (rows, columns);
    match (whole(c), a.cells, b.cells) {
        (true, &[a], &[b]) => cells.extend(c.cells.iter().map(|&c| choice(c, a, b))),
        (true, &[a], other) if whole(b) => {
            cells.extend(c.cells.iter().zip(other).map(|(&c, &b)| choice(c, a, b)));
        }
        (true, other, &[b]) if whole(a) => {
            cells.extend(c.cells.iter().zip(other).map(|(&c, &a)| choice(c, a, b)));
        }
        (true, x, y) if whole(a) && whole(b) => {
            let both = x.iter().zip(y);
            cells.extend(
                c.cells
                    .iter()
                    .zip(both)
                    .map(|(&c, (&a, &b))| choice(c, a, b)),
            );
        }
        _ => {
            let [c, a, b] = [c, a, b].map(Repeated::of);
            for row in 0..rows {
                let cell = |column| choice(c.at(row, column), a.at(row, column), b.at(row, column));
                cells.extend((0..columns).map(cell));
            }
        }
    }
    Ok(())
}

pub(super) fn extreme(largest: bool, eight: bool, a: View<'_>, out: &mut Out<'_>) -> Done<()> {
    match largest {
        true => extreme_by(eight, a, out, |x, y| x.max(y)),
        false => extreme_by(eight, a, out, |x, y| x.min(y)),
    }
}

fn extreme_by(
    eight: bool,
    a: View<'_>,
    out: &mut Out<'_>,
    best: impl Fn(i32, i32) -> i32 + Copy,
) -> Done<()> {
    let cells = out.room(a.rows, a.columns)?;
    let columns = a.columns;
    let row_of = |row: usize| &a.cells[row * columns..][..columns];
    // Combines each cell with its neighbours in its own row.
    let widen = |from: &[i32], to: &mut [i32]| {
        for (to, &left) in to[1..].iter_mut().zip(from) {
            *to = best(*to, left);
        }
        for (to, &right) in to.iter_mut().zip(&from[1..]) {
            *to = best(*to, right);
        }
    };
    if columns == 0 {
        return Ok(());
    }
    for row in 0..a.rows {
        let begin = cells.len();
        cells.extend_from_slice(row_of(row));
        let to = &mut cells[begin..];
        widen(row_of(row), to);
        for near in [row.wrapping_sub(1), row + 1] {
            if near >= a.rows {
                continue;
            }
            let near = row_of(near);
            for (to, &near) in to.iter_mut().zip(near) {
                *to = best(*to, near);
            }
            if eight {
                widen(near, to);
            }
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

pub(super) fn scan(function: u32, direction: u32, a: View<'_>, out: &mut Out<'_>) -> Done<()> {
    let step = STEPS[direction as usize];
    match function {
        0 => scan_by(step, a, out, i32::wrapping_add),
        1 => scan_by(step, a, out, i32::max),
        2 => scan_by(step, a, out, i32::min),
        _ => scan_by(
            step,
            a,
            out,
            |last, cell| if cell != 0 { cell } else { last },
        ),
    }
}

fn scan_by(
    [down, right]: [isize; 2],
    a: View<'_>,
    out: &mut Out<'_>,
    f: impl Fn(i32, i32) -> i32,
) -> Done<()> {
    let cells = out.room(a.rows, a.columns)?;
    cells.extend_from_slice(a.cells);
    // In an order in which the cell before each is finished.
    for i in 0..a.rows {
        let row = if down < 0 { a.rows - 1 - i } else { i };
        let Some(before) = row
            .checked_add_signed(-down)
            .filter(|&before| before < a.rows)
        else {
            continue;
        };
        for j in 0..a.columns {
            let column = if right < 0 { a.columns - 1 - j } else { j };
            let last = column
                .checked_add_signed(-right)
                .filter(|&last| last < a.columns);
            if let Some(last) = last {
                let at = row * a.columns + column;
                cells[at] = f(cells[before * a.columns + last], cells[at]);
            }
        }
    }
    Ok(())
}

pub(super) fn reduce(function: u32, axes: u32, a: View<'_>, out: &mut Out<'_>) -> Done<()> {
    match function {
        0 => reduce_by(axes, a, out, Some(0), i32::wrapping_add),
        1 => reduce_by(axes, a, out, None, i32::min),
        _ => reduce_by(axes, a, out, None, i32::max),
    }
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
