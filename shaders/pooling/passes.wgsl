// A pass towards the windows of pooling: parts of windows that cover 4 m + r values along an axis, made of four parts
// of m = p.covered values, each of which begins where the one before ends, and r = p.singles values. m is 0 in the
// first pass. With p.down, windows grow down the columns, otherwise along the rows. See ops/pooling/passes.rs.
//
// A part is a key (MAX), a sum (MEAN), or the index of a value in the batch (PLACE). The single values are those of x
// if p.from_x is not 0, and otherwise parts: windows along the other axis.
//
// A part begins at each value. Those that reach beyond their element read anything, and no window contains them.

#params
@group(0) @binding(1) var<storage, read> x: array<E>;
@group(0) @binding(2) var<storage, read> base: array<u32>;
@group(0) @binding(3) var<storage, read> parts: array<u32>;
@group(0) @binding(4) var<storage, read_write> c: array<u32>;
@group(0) @binding(5) var<storage, read> c_meta: array<u32>;

const WG = 256u;
// Elements that fit in the tables.
const SPAN = 64u;

struct Entry {
    // The values from a row to the next.
    width: u32,
}

#include "search"

fn entry_of(e: u32) -> Entry {
    if p.rank == 1u {
        return Entry(1u);
    }
    return Entry(c_meta[p.elements + p.rank * (e + 1u)]);
}

#include "tables"

#if MAX
#include "window_keys"
#if PLACE
// A key, and the index of its value.
alias Part = vec2<u32>;

fn joined(a: Part, b: Part) -> Part {
    return select(a, b, b.x > a.x);
}

fn part_of(word: u32) -> Part {
    return Part(key_at(p.x_base + word), word);
}

fn part_at(i: u32) -> Part {
    return part_of(i);
}

fn word_of(part: Part) -> u32 {
    return part.y;
}
#else
alias Part = u32;

fn joined(a: Part, b: Part) -> Part {
    return max(a, b);
}

fn part_of(word: u32) -> Part {
    return word;
}

fn part_at(i: u32) -> Part {
    return key_at(p.x_base + i);
}

fn word_of(part: Part) -> u32 {
    return part;
}
#endif
#else
#include "value_at"

alias Part = f32;

fn joined(a: Part, b: Part) -> Part {
    return a + b;
}

fn part_of(word: u32) -> Part {
    return bitcast<f32>(word);
}

fn part_at(i: u32) -> Part {
    return value_at(p.x_base + i);
}

fn word_of(part: Part) -> u32 {
    return bitcast<u32>(part);
}
#endif

// An index of a value: itself, unless it is beyond the end.
fn inside(i: u32) -> u32 {
    return min(i, p.total - 1u);
}

fn value_of(v: u32, step: u32) -> u32 {
    var made = Part();
    let far = p.covered * step;
    if p.covered != 0u {
        made = part_of(parts[v]);
        for (var k = 1u; k < 4u; k += 1u) {
            made = joined(made, part_of(parts[inside(v + k * far)]));
        }
    }
    let first = v + 4u * far;
    if p.from_x != 0u {
        for (var k = 0u; k < p.singles; k += 1u) {
            made = joined(made, part_at(inside(first + k * step)));
        }
    } else {
        for (var k = 0u; k < p.singles; k += 1u) {
            made = joined(made, part_of(base[inside(first + k * step)]));
        }
    }
    return word_of(made);
}

#main {
    let tile = tile_of(group * p.tile, min((group + 1u) * p.tile, p.total), lid);
    for (var v = tile.start + lid; v < tile.end; v += WG) {
        var step = 1u;
        if p.down != 0u {
            step = entry_in_tile(place_in_tile(v, tile), tile).width;
        }
        c[v] = value_of(v, step);
    }
}
