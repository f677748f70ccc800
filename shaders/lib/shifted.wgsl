// Four consecutive values, starting `shift` values into the quad `low` and ending in the next quad, `high`.
fn shifted(low: vec4<E>, high: vec4<E>, shift: u32) -> vec4<E> {
    switch shift {
        case 1u: { return vec4(low.yzw, high.x); }
        case 2u: { return vec4(low.zw, high.xy); }
        case 3u: { return vec4(low.w, high.xyz); }
        default: { return low; }
    }
}
