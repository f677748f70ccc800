// The bindings of conversions: y, four values at a time (halves with F16, bytes with U8), and the words of x.
#params
#if F16
@group(0) @binding(1) var<storage, read_write> y: array<vec2<u32>>;
#else
#if U8
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
#else
@group(0) @binding(1) var<storage, read_write> y: array<vec4<u32>>;
#endif
#endif
@group(0) @binding(2) var<storage, read> x: array<u32>;

const WG = 256u;
const QUADS = STREAM_TILE / (4u * WG);
