//! Results of other extents: turned, cut, scaled, repeated, joined, moved and drawn on.

use super::{Done, Out, View, invalid};
use crate::ops::figures::Figures;

pub(super) fn orient(orientation: u32, a: View<'_>, out: &mut Out<'_>) -> Done<()> {
    let exchanged = orientation & 4 != 0;
    let (rows, columns) = if exchanged {
        (a.columns, a.rows)
    } else {
        (a.rows, a.columns)
    };
    let cells = out.room(rows, columns)?;
    if a.cells.is_empty() {
        return Ok(());
    }
    let lines = a.cells.chunks_exact(a.columns);
    for row in 0..rows {
        let from = if orientation & 2 != 0 {
            rows - 1 - row
        } else {
            row
        };
        match (exchanged, orientation & 1 != 0) {
            (true, false) => cells.extend(lines.clone().map(|line| line[from])),
            (true, true) => cells.extend(lines.clone().rev().map(|line| line[from])),
            (false, false) => cells.extend_from_slice(&a.cells[from * columns..][..columns]),
            (false, true) => cells.extend(a.cells[from * columns..][..columns].iter().rev()),
        }
    }
    Ok(())
}

pub(super) fn crop(a: View<'_>, bounds: View<'_>, strict: bool, out: &mut Out<'_>) -> Done<()> {
    let [top, left, bottom, right] = bounds.numbers()?;
    let (rows, columns) = (a.rows as i32, a.columns as i32);
    let inside = |begin: i32, end: i32, extent: i32| 0 <= begin && begin <= end && end <= extent;
    if strict && !(inside(top, bottom, rows) && inside(left, right, columns)) {
        return invalid();
    }
    let range = |begin: i32, end: i32, extent: i32| {
        let begin = begin.clamp(0, extent);
        begin as usize..end.clamp(begin, extent) as usize
    };
    let (rows, columns) = (range(top, bottom, rows), range(left, right, columns));
    let cells = out.room(rows.len(), columns.len())?;
    for row in rows {
        cells.extend_from_slice(&a.cells[row * a.columns..][columns.clone()]);
    }
    Ok(())
}

fn factors(f: View<'_>) -> Done<[usize; 2]> {
    match f.pair()? {
        [rows, columns] if rows > 0 && columns > 0 => Ok([rows as usize, columns as usize]),
        _ => invalid(),
    }
}

pub(super) fn upscale(a: View<'_>, f: View<'_>, out: &mut Out<'_>) -> Done<()> {
    let [down, right] = factors(f)?;
    let columns = a.columns.saturating_mul(right);
    let cells = out.room(a.rows.saturating_mul(down), columns)?;
    for row in 0..a.rows {
        let begin = cells.len();
        for &cell in &a.cells[row * a.columns..][..a.columns] {
            cells.extend(std::iter::repeat_n(cell, right));
        }
        for _ in 1..down {
            cells.extend_from_within(begin..begin + columns);
        }
    }
    Ok(())
}

pub(super) fn downscale(a: View<'_>, f: View<'_>, out: &mut Out<'_>) -> Done<()> {
    let [down, right] = factors(f)?;
    let cells = out.room(a.rows.div_ceil(down), a.columns.div_ceil(right))?;
    for row in (0..a.rows).step_by(down) {
        cells.extend(
            a.cells[row * a.columns..][..a.columns]
                .iter()
                .step_by(right),
        );
    }
    Ok(())
}

pub(super) fn tile(a: View<'_>, f: View<'_>, out: &mut Out<'_>) -> Done<()> {
    let [down, right] = factors(f)?;
    let columns = a.columns.saturating_mul(right);
    let cells = out.room(a.rows.saturating_mul(down), columns)?;
    if a.cells.is_empty() {
        return Ok(());
    }
    for row in 0..a.rows {
        for _ in 0..right {
            cells.extend_from_slice(&a.cells[row * a.columns..][..a.columns]);
        }
    }
    let once = cells.len();
    for _ in 1..down {
        cells.extend_from_within(..once);
    }
    Ok(())
}

pub(super) fn join(axis: u32, a: View<'_>, b: View<'_>, out: &mut Out<'_>) -> Done<()> {
    if axis == 0 {
        if a.columns != b.columns {
            return invalid();
        }
        let cells = out.room(a.rows + b.rows, a.columns)?;
        cells.extend_from_slice(a.cells);
        cells.extend_from_slice(b.cells);
    } else {
        if a.rows != b.rows {
            return invalid();
        }
        let cells = out.room(a.rows, a.columns + b.columns)?;
        for row in 0..a.rows {
            cells.extend_from_slice(&a.cells[row * a.columns..][..a.columns]);
            cells.extend_from_slice(&b.cells[row * b.columns..][..b.columns]);
        }
    }
    Ok(())
}

/// Of positions from `at` on, those inside an extent, for `count` positions.
fn inside(at: i32, count: usize, extent: usize) -> std::ops::Range<usize> {
    let (at, extent) = (i64::from(at), extent as i64);
    let begin = at.clamp(0, extent);
    begin as usize..(at + count as i64).clamp(begin, extent) as usize
}

/// Copies `from` into `cells`, which have `rows` × `columns`, with its first cell at `at`.
fn put([rows, columns]: [usize; 2], cells: &mut [i32], from: View<'_>, at: [i32; 2]) {
    let columns_inside = inside(at[1], from.columns, columns);
    if columns_inside.is_empty() {
        return;
    }
    let first = (columns_inside.start as i64 - i64::from(at[1])) as usize;
    for row in inside(at[0], from.rows, rows) {
        let source = (row as i64 - i64::from(at[0])) as usize * from.columns + first;
        let to = &mut cells[row * columns..][columns_inside.clone()];
        to.copy_from_slice(&from.cells[source..][..to.len()]);
    }
}

pub(super) fn translate(
    a: View<'_>,
    offset: View<'_>,
    fill: View<'_>,
    out: &mut Out<'_>,
) -> Done<()> {
    let ([down, right], fill) = (offset.numbers()?, fill.number()?);
    let (down_by, right_by) = (down.unsigned_abs() as usize, right.unsigned_abs() as usize);
    if down_by >= a.rows || right_by >= a.columns {
        return out.filled(a.rows, a.columns, fill).map(|_| ());
    }
    // All cells move by the same number of places.
    let places = down as isize * a.columns as isize + right as isize;
    let cells = out.room(a.rows, a.columns)?;
    let outside = std::iter::repeat_n(fill, places.unsigned_abs());
    if places < 0 {
        cells.extend_from_slice(&a.cells[outside.len()..]);
        cells.extend(outside);
    } else {
        cells.extend(outside.clone());
        cells.extend_from_slice(&a.cells[..a.cells.len() - outside.len()]);
    }
    // Those that crossed a side of the image are in a wrong row.
    if right != 0 {
        for row in cells.chunks_exact_mut(a.columns) {
            let side = match right < 0 {
                true => &mut row[a.columns - right_by..],
                false => &mut row[..right_by],
            };
            side.fill(fill);
        }
    }
    Ok(())
}

pub(super) fn paste(a: View<'_>, patch: View<'_>, at: View<'_>, out: &mut Out<'_>) -> Done<()> {
    let at = at.numbers()?;
    out.copy(a)?;
    put([a.rows, a.columns], out.cells, patch, at);
    Ok(())
}

pub(super) fn compact(axis: u32, a: View<'_>, flags: View<'_>, out: &mut Out<'_>) -> Done<()> {
    let kept = flags.cells.iter().filter(|&&flag| flag != 0).count();
    if axis == 0 {
        if (flags.rows, flags.columns) != (a.rows, 1) {
            return invalid();
        }
        let cells = out.room(kept, a.columns)?;
        for (row, _) in flags
            .cells
            .iter()
            .enumerate()
            .filter(|(_, flag)| **flag != 0)
        {
            cells.extend_from_slice(&a.cells[row * a.columns..][..a.columns]);
        }
    } else {
        if (flags.rows, flags.columns) != (1, a.columns) {
            return invalid();
        }
        let cells = out.room(a.rows, kept)?;
        for row in 0..a.rows {
            let row = a.cells[row * a.columns..].iter().zip(flags.cells);
            cells.extend(row.filter(|(_, flag)| **flag != 0).map(|(cell, _)| cell));
        }
    }
    Ok(())
}

pub(super) fn pick(axis: u32, a: View<'_>, k: View<'_>, out: &mut Out<'_>) -> Done<()> {
    let k = i64::from(k.number()?);
    let extent = if axis == 0 { a.rows } else { a.columns };
    let k = if k < 0 { k + extent as i64 } else { k };
    if !(0..extent as i64).contains(&k) {
        return invalid();
    }
    let k = k as usize;
    if axis == 0 {
        let row = &a.cells[k * a.columns..][..a.columns];
        out.room(1, a.columns)?.extend_from_slice(row);
    } else {
        let cells = out.room(a.rows, 1)?;
        cells.extend((0..a.rows).map(|row| a.cells[row * a.columns + k]));
    }
    Ok(())
}

/// Draws a box or a line on the image.
pub(super) fn draw(
    figures: Figures,
    a: View<'_>,
    figure: View<'_>,
    value: View<'_>,
    out: &mut Out<'_>,
) -> Done<()> {
    let (figure, value) = (figure.numbers()?.map(i64::from), value.number()?);
    let [down, right] = [figure[2] - figure[0], figure[3] - figure[1]].map(i64::abs);
    if matches!(figures, Figures::Lines { .. }) && down != 0 && right != 0 && down != right {
        return invalid();
    }
    out.copy(a)?;
    figures.draw((figure, value), a.columns, 0..a.cells.len(), out.cells);
    Ok(())
}

pub(super) fn numbers(axis: u32, a: View<'_>, out: &mut Out<'_>) -> Done<()> {
    let cells = out.room(a.rows, a.columns)?;
    for row in 0..a.rows as i32 {
        match axis {
            0 => cells.extend(std::iter::repeat_n(row, a.columns)),
            _ => cells.extend(0..a.columns as i32),
        }
    }
    Ok(())
}
