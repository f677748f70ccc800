//! Connected components: their labels, tables of them, and holes.

use super::{Done, Out, View, invalid};
use crate::host;
use crate::ops::kit::Neighbours;
use crate::ops::label::{Label, Rule};
use crate::ops::regions::Region;

/// Labels the cells of an image, on this thread.
fn labels(rule: Rule, a: View<'_>, out: &mut Out<'_>) -> Done<()> {
    out.filled(a.rows, a.columns, 0)?;
    if !a.cells.is_empty() {
        let (x, labels) = (
            bytemuck::cast_slice(a.cells),
            bytemuck::cast_slice_mut(out.cells),
        );
        out.bands.label(rule, x, labels, a.columns, usize::MAX)?;
    }
    Ok(())
}

pub(super) fn label(
    foreground: bool,
    eight: bool,
    a: View<'_>,
    background: View<'_>,
    out: &mut Out<'_>,
) -> Done<()> {
    let background = background.number()? as u32;
    let neighbours = match eight {
        true => Neighbours::Eight,
        false => Neighbours::Four,
    };
    let label = Label {
        neighbours,
        foreground,
    };
    labels(Rule { label, background }, a, out)
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
        return Err(super::Stop::State(super::STATE_OVERFLOW));
    }
    let table = out.filled(n, 8, 0)?;
    let mut regions = host::zeroed::<Region>(n)?;
    let cells = bytemuck::cast_slice(labels.cells);
    Region::add_all(&mut regions, cells, a.columns, 0);
    for (row, region) in table.chunks_exact_mut(8).zip(&regions) {
        let n = u64::from(region.cells);
        if n > 0 {
            row[0] = region.cells as i32;
            row[1..5].copy_from_slice(&region.bounds.map(|bound| bound as i32));
            let means = [region.rows, region.columns].map(|sum| (sum / n) as i32);
            row[5..7].copy_from_slice(&means);
            row[7] = a.cells[region.first as usize];
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
    // The components of background cells.
    let others: Vec<i32> = host::exact(a.cells.iter().map(|&x| i32::from(x != background)))?;
    let label = Label {
        neighbours: Neighbours::Four,
        foreground: true,
    };
    let rule = Rule {
        label,
        background: 1,
    };
    labels(
        rule,
        View {
            cells: &others,
            ..a
        },
        out,
    )?;
    // Those that have a cell of the border. The other cells have the label 0.
    let count = out.cells.iter().copied().max().unwrap_or(0) as usize;
    let mut is_open = host::filled(false, count + 1)?;
    is_open[0] = true;
    for (row, labels) in out.cells.chunks_exact(a.columns.max(1)).enumerate() {
        let step = match row == 0 || row + 1 == a.rows {
            true => 1,
            false => a.columns.saturating_sub(1).max(1),
        };
        let border = labels.iter().step_by(step);
        border.for_each(|&label| is_open[label as usize] = true);
    }
    for (cell, &x) in out.cells.iter_mut().zip(a.cells) {
        *cell = if is_open[*cell as usize] { x } else { value };
    }
    Ok(())
}
