// Matrices turned over their diagonal, as in transpose.wgsl, of which a workgroup holds several at once.
//
// A run is (its first matrix, how many they are), matrices that follow each other and have at most CAPACITY words together; a matrix is (where
// it begins, rows · 2¹⁶ + columns). The run is read as it lies, and written as it lies.

struct Params {
    first_group: u32,
    groups: u32,
    x_base: u32, // in words
}

#if C32
alias Value = vec2<u32>;
const CAPACITY = 1792u;
const WORDS = 2u;
#else
alias Value = u32;
const CAPACITY = 3584u;
const WORDS = 1u;
#endif

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> x: array<Value>;
@group(0) @binding(2) var<storage, read_write> y: array<Value>;
@group(0) @binding(3) var<storage, read> runs: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read> matrices: array<vec2<u32>>;

const WG = 256u;
// Matrices of a run at most.
const SPAN = 128u;

var<workgroup> sh_values: array<Value, CAPACITY>;
// Where each matrix begins in the run, and its extents.
var<workgroup> sh_matrix: array<vec2<u32>, SPAN>;

#include "grid"
#include "rows"

// Values that are whole rows apart lie in different banks.
fn bank(i: u32) -> u32 {
    return i ^ (i / 32u % 32u);
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let group = group_index(wid, groups);
    if group >= p.groups {
        return;
    }
    let run = runs[group];
    let begin = matrices[run.x].x;
    let last = matrices[run.x + run.y - 1u];
    let total = last.x - begin + (last.y >> 16u) * (last.y & 0xFFFFu);
    if lid < run.y {
        let matrix = matrices[run.x + lid];
        sh_matrix[lid] = vec2(matrix.x - begin, matrix.y);
    }
    for (var v = lid; v < total; v += WG) {
        sh_values[bank(v)] = x[p.x_base / WORDS + begin + v];
    }
    workgroupBarrier();
    for (var v = lid; v < total; v += WG) {
        var low = 0u;
        var high = run.y;
        while high - low > 1u {
            let middle = (low + high) / 2u;
            if sh_matrix[middle].x <= v {
                low = middle;
            } else {
                high = middle;
            }
        }
        let matrix = sh_matrix[low];
        let rows = matrix.y >> 16u;
        let i = v - matrix.x;
        let column = row_of(i, rows, 1.0 / f32(rows));
        let row = i - column * rows;
        y[begin + v] = sh_values[bank(matrix.x + row * (matrix.y & 0xFFFFu) + column)];
    }
}
