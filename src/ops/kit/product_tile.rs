//! The numbers that `shaders/lib/register_tile.wgsl` and `shaders/lib/split_k.wgsl` need to write a tile of a dense or
//! of a block-sparse product.

/// The numbers of a tile, given the part of it that one invocation computes, the depth of a stage, and the number of
/// sets of invocations that share its sums.
pub(crate) fn numbers(
    [rows, columns]: [u32; 2],
    part: [u32; 2],
    depth: u32,
    sets: u32,
) -> Vec<(&'static str, u32)> {
    let [high, wide] = [rows / part[0], columns / part[1]];
    // Quads of a side that the invocations load for a stage.
    let quads = |values: u32| values * depth / 4;
    // Quads from one row of the stage to the next; the swizzle must stay within a row.
    let pitch = |values: u32| values.div_ceil(32) * 8;
    vec![
        ("ROWS", rows),
        ("COLUMNS", columns),
        ("DEPTH", depth),
        ("SETS", sets),
        // Invocations of a set, and of all.
        ("SET", high * wide),
        ("WG", high * wide * sets),
        // Invocations beside each other in a tile, and those below each other in a subgroup.
        ("ACROSS", wide),
        ("NEAR", high.min(4)),
        // Quads of rows, and of columns, of an invocation, and the distances between them.
        ("A_PART", part[0] / 4),
        ("B_PART", part[1] / 4),
        ("A_APART", 4 * high),
        ("B_APART", 4 * wide),
        ("A_QUADS", quads(rows)),
        ("B_QUADS", quads(columns)),
        // Quads that one invocation loads.
        ("A_SLOTS", quads(rows).div_ceil(high * wide)),
        ("B_SLOTS", quads(columns).div_ceil(high * wide)),
        ("A_PITCH", pitch(rows)),
        ("B_PITCH", pitch(columns)),
    ]
}
