//! Generates the part of `bsr_matmul.wgsl` for tiles whose inner sums are split among sets of invocations: four columns
//! of a block at a time.

use std::fmt::Write;

use crate::ops::split_k::{Side, SplitK};

/// Uses: `E`, `p`, `order`, `Tile`, `mul_add`, `put_quad`, and of each factor `a_quad` and `a_four`. Defines: `WG`,
/// `sh_sums`, `make_tile(t, lid)`.
pub(super) fn text(sets: &SplitK) -> String {
    let mut out = String::new();
    sets.declare(&mut out);
    let _ = writeln!(
        out,
        "fn make_tile(t: Tile, lid: u32) {{
    let a_along = t.a_row == 1u;
    // A vector lies along its inner extent either way.
    let b_along = t.b_column == 1u && t.columns > 1u;
    let b_stride = select(select(t.b_column, t.b_row, b_along), 0u, t.columns == 1u);
    // Blocks are made of whole quads.
    let a_quads = (t.a & 3u) == 0u;
    let b_quads = ((t.b | b_stride) & 3u) == 0u;"
    );
    sets.places(&mut out);
    let sides = sets.sides();
    // Columns beyond the last one read the last one instead; their results are not stored.
    let _ = writeln!(
        out,
        "    let b_last = t.columns - select(1u, min(t.columns, 4u), b_along && b_quads);"
    );
    for side in &sides {
        places(side, &mut out);
    }
    sets.begin(&mut out);
    let _ = writeln!(
        out,
        "    let steps = p.block_wide / 4u;
    let count = (t.end - t.first) * steps;
    // Read ahead, so that no load waits for its place; behind the last block there is a piece.
    var block = order[min(t.first + turn / steps, p.pieces)];
    for (var step = turn; step < count; step += {}u) {{
    let here = block;
    block = order[min(t.first + (step + {}u) / steps, p.pieces)];
    let within = step % steps * 4u;
    let row = here.y * p.block_wide + within;
    let left = p.wide - min(p.wide, row);
    if left == 0u {{
        continue;
    }}
    let a_begin = t.a + here.x * p.block_high * p.block_wide + within * t.a_column;
    let b_begin = t.b + row * t.b_row;",
        sets.sets, sets.sets
    );
    for side in &sides {
        let name = side.name;
        let deep = match name {
            "a" => "t.a_column",
            _ => "t.b_row",
        };
        let _ = writeln!(out, "    if {name}_quads && left >= 4u {{");
        for (g, l) in side.registers() {
            let _ = writeln!(
                out,
                "    {name}{g}_{l} = {name}_quad({name}_begin + {name}{g}_{l}_at);"
            );
        }
        let _ = writeln!(out, "    }} else {{");
        for (g, l) in side.registers() {
            let _ = writeln!(
                out,
                "    {name}{g}_{l} = select(vec4<E>(), {name}_four({name}_begin + select({name}{g}_{l}_at, {name}{g}_0_at + min({l}u, left - 1u) * {deep}, {name}_along)), select(vec4(0u, 1u, 2u, 3u), vec4({l}u), {name}_along) < vec4(left));"
            );
        }
        let _ = writeln!(out, "    }}");
    }
    sets.multiply(&mut out);
    let _ = writeln!(out, "    }}");
    sets.add_up(&mut out);
    sets.put("put_quad(t, row, column, all, true);", &mut out);
    let _ = writeln!(out, "}}");
    out
}

/// Where the invocation's values are, relative to the first of four columns of a block.
fn places(side: &Side, out: &mut String) {
    let name = side.name;
    for (g, place) in side.places.iter().enumerate() {
        let _ = match name {
            "a" => writeln!(out, "    let a{g}_side = min({place}, t.a_rows - 4u);"),
            _ => writeln!(out, "    let b{g}_side = t.column + {place};"),
        };
    }
    for (g, l) in side.registers() {
        let _ = match name {
            "a" => writeln!(
                out,
                "    let a{g}_{l}_at = select((a{g}_side + {l}u) * t.a_row, a{g}_side + {l}u * t.a_column, a_along);"
            ),
            _ => writeln!(
                out,
                "    let b{g}_{l}_at = select(min(b{g}_side + {l}u, t.columns - 1u) * t.b_column, min(b{g}_side, b_last) + {l}u * t.b_row, b_along);"
            ),
        };
    }
}
