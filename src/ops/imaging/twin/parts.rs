//! What an image has: values, places, orders, repetitions.

use super::{Done, Out, View, invalid};
use crate::host;
use crate::ops::imaging::code::Fold;
use crate::ops::{occurrences, period};

pub(super) fn histogram(size: usize, a: View<'_>, out: &mut Out<'_>) -> Done<()> {
    let counts = out.filled(1, size, 0)?;
    for &cell in a.cells {
        match usize::try_from(cell)
            .ok()
            .and_then(|cell| counts.get_mut(cell))
        {
            Some(count) => *count += 1,
            None => return invalid(),
        }
    }
    Ok(())
}

pub(super) fn palette(size: usize, a: View<'_>, out: &mut Out<'_>) -> Done<()> {
    let mut values = host::copied(a.cells)?;
    values.sort_unstable();
    values.dedup();
    let is_outside = |value: &i32| usize::try_from(*value).map_or(true, |value| value >= size);
    if values.iter().any(is_outside) {
        return invalid();
    }
    out.room(1, values.len())?.extend_from_slice(&values);
    Ok(())
}

pub(super) fn lookup(a: View<'_>, table: View<'_>, out: &mut Out<'_>) -> Done<()> {
    if table.rows != 1 && table.columns != 1 {
        return invalid();
    }
    let cells = out.room(a.rows, a.columns)?;
    let mut is_outside = false;
    cells.extend(a.cells.iter().map(|&cell| {
        // A negative number is larger than every place.
        let value = table.cells.get(cell as usize);
        is_outside |= value.is_none();
        value.copied().unwrap_or(0)
    }));
    match is_outside {
        true => invalid(),
        false => Ok(()),
    }
}

pub(super) fn place(fold: u32, a: View<'_>, out: &mut Out<'_>) -> Done<()> {
    let Some(&first) = a.cells.first() else {
        return invalid();
    };
    let best = if fold == Fold::Largest as u32 {
        i32::max
    } else {
        i32::min
    };
    let best = a.cells.iter().fold(first, |x, &y| best(x, y));
    let place = a.cells.iter().position(|&cell| cell == best);
    out.number(place.unwrap_or(0) as i32)
}

pub(super) fn bounding_box(a: View<'_>, out: &mut Out<'_>) -> Done<()> {
    let mut bounds = [usize::MAX, usize::MAX, 0, 0];
    for row in 0..a.rows {
        let cells = &a.cells[row * a.columns..][..a.columns];
        let Some(first) = cells.iter().position(|&cell| cell != 0) else {
            continue;
        };
        let last = cells.iter().rposition(|&cell| cell != 0).unwrap_or(first);
        bounds = [
            bounds[0].min(row),
            bounds[1].min(first),
            row + 1,
            bounds[3].max(last + 1),
        ];
    }
    if bounds[2] == 0 {
        return invalid();
    }
    out.room(1, 4)?.extend(bounds.map(|bound| bound as i32));
    Ok(())
}

pub(super) fn sort(
    descending: bool,
    table: View<'_>,
    keys: View<'_>,
    out: &mut Out<'_>,
) -> Done<()> {
    if (keys.rows, keys.columns) != (table.rows, 1) {
        return invalid();
    }
    let mut order: Vec<usize> = host::exact(0..table.rows)?;
    // The complement reverses the order of all integers.
    let key = |row: usize| {
        if descending {
            !keys.cells[row]
        } else {
            keys.cells[row]
        }
    };
    order.sort_unstable_by_key(|&row| (key(row), row));
    let cells = out.room(table.rows, table.columns)?;
    for row in order {
        cells.extend_from_slice(&table.cells[row * table.columns..][..table.columns]);
    }
    Ok(())
}

pub(super) fn matches(a: View<'_>, template: View<'_>, out: &mut Out<'_>) -> Done<()> {
    let (rows, columns) = (template.rows, template.columns);
    if rows == 0 || columns == 0 || rows > a.rows || columns > a.columns {
        return out.room(0, 0).map(|_| ());
    }
    let places = (a.rows - rows + 1, a.columns - columns + 1);
    let cells = out.room(places.0, places.1)?;
    let (a, template) = ((a.cells, a.columns), (template.cells, columns));
    for row in 0..places.0 {
        let corners = row * a.1..row * a.1 + places.1;
        cells.extend(corners.map(|corner| i32::from(occurrences::is_at(corner, a, template))));
    }
    Ok(())
}

pub(super) fn period(axis: u32, a: View<'_>, out: &mut Out<'_>) -> Done<()> {
    let (extent, inner) = match axis {
        0 => (a.rows, a.columns),
        _ => (a.columns, 1),
    };
    match period::period(a.cells, extent, inner)? {
        0 => invalid(),
        period => out.number(period as i32),
    }
}
