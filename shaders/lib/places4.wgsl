// The places in a line of four values of an invocation, of which the first is k: every lanes-th value, or two pairs
// (PAIRS) that are 2 * lanes apart.
fn places4(k: u32, lanes: u32) -> vec4<u32> {
#if PAIRS
    return vec4(k, k + 1u, k + 2u * lanes, k + 2u * lanes + 1u);
#else
    return vec4(k, k + lanes, k + 2u * lanes, k + 3u * lanes);
#endif
}
