//! Generates the part of `matmul.wgsl` for tiles whose inner sums are split among sets of invocations.

use std::fmt::Write;

use crate::ops::matmul::tiles::DenseTile;
use crate::ops::split_k::{Side, SplitK};

/// Inner products in a block, which is summed separately before it is added to the previous blocks. All native kernels
/// for small products with long sums use this size, which gives each of 64 sets one block, up to the baseline's block
/// size.
pub(super) const NATIVE_BLOCK: &str = "min(32u * ((o.k + 2047u) / 2048u), BLOCK)";

/// Uses: `E`, `p`, `Product`, `BLOCK`, `RAMP`, `mul_add`, `put_quad`, and of each factor `a_quad` and `a_four`.
/// Defines: `WG`, `sh_sums`, `make_tile(o, lid)`.
pub(super) fn text(tile: &DenseTile) -> String {
    let sets = SplitK {
        rows: tile.rows,
        columns: tile.columns,
        part: tile.part,
        sets: tile.sets,
    };
    let mut out = String::new();
    sets.declare(&mut out);
    let _ = writeln!(
        out,
        "fn make_tile(o: Product, lid: u32) {{
    // A vector lies along its inner extent either way.
    let a_along = p.a_transposed != 0u && o.m > 1u;
    let b_along = p.b_transposed == 0u && o.n > 1u;
    let block = {NATIVE_BLOCK};"
    );
    sets.places(&mut out);
    let sides = sets.sides();
    for side in &sides {
        places(side, &mut out);
    }
    let _ = writeln!(
        out,
        "    var begin = 0u;
    loop {{
    let end = min(begin + block * (turn + 1u), o.k);"
    );
    sets.begin(&mut out);
    let _ = writeln!(
        out,
        "    var k = begin + block * turn;
    for (; k + 4u <= end; k += 4u) {{"
    );
    load(&sides, &mut out);
    sets.multiply(&mut out);
    let _ = writeln!(out, "    }}\n    if k < end {{");
    load_last(&sides, &mut out);
    sets.multiply(&mut out);
    let _ = writeln!(
        out,
        "    }}
    begin += block * {}u;",
        tile.sets
    );
    sets.add_up(&mut out);
    let _ = writeln!(
        out,
        "    if begin >= o.k {{\n        break;\n    }}\n    }}"
    );
    sets.put(
        "put_quad(o, o.row0 + row, o.column0 + column, all, true, true);",
        &mut out,
    );
    let _ = writeln!(out, "}}");
    out
}

/// Where the invocation's values are. Rows and columns beyond the operand's last one read the last one instead; their
/// results are not stored.
fn places(side: &Side, out: &mut String) {
    let name = side.name;
    let (origin, extent) = match name {
        "a" => ("o.row0", "o.m"),
        _ => ("o.column0", "o.n"),
    };
    let _ = writeln!(
        out,
        "    let {name}_step = select(1u, o.{name}_stride, {name}_along);
    let {name}_quads = ((o.{name} | select(o.{name}_stride, 0u, {extent} == 1u)) & 3u) == 0u;
    let {name}_last = {extent} - select(1u, min({extent}, 4u), {name}_along && {name}_quads);"
    );
    for (g, place) in side.places.iter().enumerate() {
        let _ = writeln!(out, "    let {name}{g}_side = {origin} + {place};");
    }
    for (g, l) in side.registers() {
        let _ = writeln!(
            out,
            "    let {name}{g}_{l}_at = o.{name} + select(min({name}{g}_side + {l}u, {extent} - 1u) * o.{name}_stride, min({name}{g}_side, {name}_last) + {l}u * o.{name}_stride, {name}_along);"
        );
    }
}

/// Loads the values at these positions, by quads where possible.
fn from(sides: &[Side; 2], out: &mut String, place: impl Fn(&str, usize, u32) -> String) {
    for side in sides {
        let name = side.name;
        for (test, way) in [
            (format!("if {name}_quads {{"), "quad"),
            ("} else {".to_owned(), "four"),
        ] {
            let _ = writeln!(out, "    {test}");
            for (g, l) in side.registers() {
                let at = place(name, g, l);
                let _ = writeln!(out, "    {name}{g}_{l} = {name}_{way}({at});");
            }
        }
        let _ = writeln!(out, "    }}");
    }
}

fn load(sides: &[Side; 2], out: &mut String) {
    from(sides, out, |name, g, l| {
        format!("{name}{g}_{l}_at + k * {name}_step")
    });
}

/// Loads the last products, with zeros beyond the inner extent.
fn load_last(sides: &[Side; 2], out: &mut String) {
    from(sides, out, |name, g, l| {
        format!(
            "select({name}{g}_{l}_at + k, {name}{g}_0_at + min(k + {l}u, o.k - 1u) * o.{name}_stride, {name}_along)"
        )
    });
    for side in sides {
        let name = side.name;
        for (g, l) in side.registers() {
            let _ = writeln!(
                out,
                "    {name}{g}_{l} = select({name}{g}_{l}, vec4<E>(), k + select(RAMP, vec4({l}u), {name}_along) >= vec4(o.k));"
            );
        }
    }
}
