// Merges the statistics of the tiles of each long line into its result, or into the constants that its values need:
// [index of the result, first tile, tiles] in `items`, one workgroup each.

#params eps: f32
#if REDUCED
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
#else
@group(0) @binding(1) var<storage, read_write> out: array<vec4<f32>>;
#endif
@group(0) @binding(2) var<storage, read> items: array<u32>;
@group(0) @binding(3) var<storage, read> parts: array<vec4<f32>>;

const WG = 256u;
// Tiles that an invocation merges in one chain: keeps chains short however long the line is.
const CHAIN = 32u;

#include "line_statistics"

var<workgroup> sh_parts: array<Known, WG>;

#main {
    let first = items[3u * group + 1u];
    let tiles = items[3u * group + 2u];
    var all = nothing();
    for (var block = lid; block < tiles; block += CHAIN * WG) {
        var chain = nothing();
        let end = min(block + CHAIN * WG, tiles);
        for (var tile = block; tile < end; tile += WG) {
            chain = merge(chain, loaded(parts[first + tile]));
        }
        all = merge(all, chain);
    }
    sh_parts[lid] = all;
    for (var half = WG / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if lid < half {
            sh_parts[lid] = merge(sh_parts[lid], sh_parts[lid + half]);
        }
    }
    if lid == 0u {
#if REDUCED
        put_reduced(items[3u * group], sh_parts[0]);
#else
        out[items[3u * group]] = prepared(sh_parts[0]);
#endif
    }
}
