// The same as `shifted` with i modulo 4, by selections: branches would prevent the loads of a stage from being in
// flight together.
fn selected(low: vec4<E>, high: vec4<E>, i: u32) -> vec4<E> {
    let two = (i & 2u) != 0u;
    let even = select(low, vec4(low.zw, high.xy), two);
    return select(even, vec4(even.yzw, select(high.x, high.z, two)), (i & 1u) != 0u);
}
