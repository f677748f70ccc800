// The lines that share a workgroup have the same number of invocations each. `items` has four words for each workgroup,
// and from p.entries on, for each element with lines in a class, their first number and the element.
#include "element_lines"

// Invocations of a workgroup.
#if NARROW
const SIZE = NARROW;
#else
const SIZE = WG;
#endif

// Invocations that share a line, 4 to 256 of them, exchange their results in two rounds, which need fewer barriers than
// a binary tree. This is the number of results of the first round: 4, or about the square root.
fn rounds_of(lanes: u32) -> u32 {
    return select(select(4u, 8u, lanes >= 32u), 16u, lanes >= 128u);
}

// The work of a workgroup.
struct Group {
    // The entries of its elements.
    first: u32,
    last: u32,
    // The number of its first line.
    line: u32,
    // The logarithm of the invocations per line.
    log: u32,
    lines: u32,
}

fn group_of(group: u32) -> Group {
    let at = 4u * group;
    let both = items[at + 3u];
    return Group(items[at], items[at + 1u], items[at + 2u], both & 0xffu, both >> 8u);
}

// The element of a line of the workgroup, and the number of the line in it.
fn place_of(g: Group, own: u32) -> vec2<u32> {
    let line = g.line + own;
    var entry = g.first + own;
    // With fewer elements than lines, it is the last one that begins at or before the line.
    if g.last - g.first + 1u != g.lines {
        entry = g.first;
        var last = g.last;
        while entry < last {
            let middle = (entry + last + 1u) / 2u;
            if items[p.entries + 2u * middle] <= line {
                entry = middle;
            } else {
                last = middle - 1u;
            }
        }
    }
    let at = p.entries + 2u * entry;
    return vec2(items[at + 1u], line - items[at]);
}
