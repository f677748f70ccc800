// c = a * kernel for the items of a work list, with cached spectra of the kernels; or, with p.spectra, these spectra.
//
// An item is a stretch of one convolution: (offset in a, values of a to use, offset of the spectrum, parts of the
// kernel), then (offset in c, results to skip, results to write, first value of the window). Items come in runs of
// `rounds` that share a spectrum, which stays in registers. With p.spectra an item is a part of a kernel, and its
// spectrum is written to c, where the offset in c counts complex values.
//
// PARTS: the kernel is longer than a transform. Each part is multiplied with its own window of a, one transform's
// length of results before that of the previous part, and the products are summed as spectra.

struct Params {
    first_group: u32,
    groups: u32,
    a_base: u32,
    items: u32,
    rounds: u32,
    spectra: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> spectra: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read_write> c: array<f32>;
@group(0) @binding(4) var<storage, read> items: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read> twiddles: array<vec2<f32>>;

struct Item {
    a_at: u32,
    values: u32,
    spectrum: u32,
    parts: u32,
    c_at: u32,
    skip: u32,
    write: u32,
    start: u32, // of the window; PARTS only
}

#include "grid"
#include "complex"

// Item i, or an empty item beyond the last.
fn item_of(i: u32) -> Item {
    if i >= p.items {
        return Item(0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u);
    }
    let x = items[2u * i];
    let y = items[2u * i + 1u];
    return Item(p.a_base + x.x, x.y, x.z, x.w, y.x, y.y, y.z, y.w);
}

// Stores result `at`, if that many are to be written.
fn store(item: Item, at: u32, value: f32) {
    if at < item.write {
        c[item.c_at + at] = value;
    }
}

#generate "conv_cached"

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
    convolve(group, lid);
}
