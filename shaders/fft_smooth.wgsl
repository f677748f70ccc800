// Transforms of lengths that are products of 2, 3, 5 and 7, by stages whose radices the task tells.
//
// A workgroup does one task, two entries of the work list: (first item, items, n, radices less one in 4 bits each, the first
// one lowest), and where the twiddles of n begin.

struct Params {
    first_group: u32,
    groups: u32,
    first_item: u32,
    items: u32,
    x_first: u32, // these six are for kernels that take items and not tasks
    x_step: u32,
    y_first: u32,
    y_step: u32,
    length: u32,
    factor: u32,
    x_base: u32,
    load: u32,
    store: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> x: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> items: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> twiddles: array<vec2<f32>>;

const WG = 256u;

// The values of all elements, one part at a time.
var<workgroup> sh_exchange: array<f32, 4096>;

struct Task {
    first: u32,
    count: u32,
    n: u32,
}

#include "grid"
#include "complex"
#include "fft_values"

// a / b of small numbers, from 1 / b: half a unit outweighs what rounding does.
fn quotient(a: u32, part: f32) -> u32 {
    return u32((f32(a) + 0.5) * part);
}

#generate "fft_smooth"

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) count: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let group = group_index(wid, count);
    if group >= p.groups {
        return;
    }
    let task = items[p.first_item + 2u * group];
    let t = Task(task.x, task.y, task.z);
    var radices = task.w;
    var at = items[p.first_item + 2u * group + 1u].x;
    var v: array<vec2<f32>, 16>;

    var r = (radices & 15u) + 1u;
    var m = t.n / r; // butterflies of an element
    var done = 1u;
    load_values(&v, r, lid, t, m);
    loop {
        butterflies(&v, r, lid, t, m, done, at);
        radices >>= 4u;
        if radices == 0u {
            break;
        }
        let next = (radices & 15u) + 1u;
        let after = t.n / next;
        workgroupBarrier();
        write_x(&v, r, lid, t, m, done);
        workgroupBarrier();
        read_x(&v, next, lid, t, after);
        workgroupBarrier();
        write_y(&v, r, lid, t, m, done);
        workgroupBarrier();
        read_y(&v, next, lid, t, after);
        if done > 1u {
            at += (r - 1u) * done;
        }
        done *= r;
        r = next;
        m = after;
    }
    store_values(&v, r, lid, t, m);
}
