// Sums and maxima over the invocations that share a line, in two rounds: see rounds_of in lib/line_groups.wgsl.
//
// With EXP, the maximum of a line is found in Top: top_of() and of_top() convert values to it and back.

var<workgroup> sh_sums: array<vec2<f32>, SIZE>;
var<workgroup> sh_more: array<vec2<f32>, SIZE>;

// The sum over the invocations that share a line, whose indices are `apart` apart; all of them receive it. Must be
// called in uniform control flow.
fn line_sum(v: vec2<f32>, lid: u32, lane: u32, lanes: u32, apart: u32) -> vec2<f32> {
    let few = rounds_of(lanes);
    let first = lid - lane * apart;
    sh_sums[lid] = v;
    workgroupBarrier();
    if lane < few {
        var s = vec2(0.0);
        for (var k = lane; k < lanes; k += 4u * few) {
            let at = first + k * apart;
            let step = few * apart;
            let a = sh_sums[at];
            let b = select(vec2(0.0), sh_sums[min(at + step, SIZE - 1u)], k + few < lanes);
            let c = select(vec2(0.0), sh_sums[min(at + 2u * step, SIZE - 1u)], k + 2u * few < lanes);
            let d = select(vec2(0.0), sh_sums[min(at + 3u * step, SIZE - 1u)], k + 3u * few < lanes);
            s += (a + b) + (c + d);
        }
        sh_more[lid] = s;
    }
    workgroupBarrier();
    var all = vec2(0.0);
    for (var k = 0u; k < few; k += 4u) {
        let at = first + k * apart;
        all += (sh_more[at] + sh_more[at + apart]) + (sh_more[at + 2u * apart] + sh_more[at + 3u * apart]);
    }
    return all;
}

#if EXP
#if MAPPED
// Decides the shift only, so NaN may be lost here: it returns in the sum of exponentials.
alias Top = f32;

fn top_of(x: f32) -> f32 {
    return x;
}

fn of_top(top: f32) -> f32 {
    return top;
}
#else
// In order. Every NaN is the highest, so that infinity does not hide it.
alias Top = u32;

fn top_of(x: f32) -> u32 {
    let bits = bitcast<i32>(x);
    let top = bitcast<u32>(bits ^ ((bits >> 31u) & 0x7fffffff)) ^ 0x80000000u;
    return select(top, 0xffffffffu, bitcast<u32>(bits) > 0xff800000u);
}

fn of_top(top: u32) -> f32 {
    let bits = bitcast<i32>(top ^ 0x80000000u);
    return bitcast<f32>(bits ^ ((bits >> 31u) & 0x7fffffff));
}
#endif

var<workgroup> sh_tops: array<Top, SIZE>;
var<workgroup> sh_more_tops: array<Top, SIZE>;

// The maximum over these invocations.
fn line_max(own: Top, lid: u32, lane: u32, lanes: u32, apart: u32) -> Top {
    let few = rounds_of(lanes);
    let first = lid - lane * apart;
    sh_tops[lid] = own;
    workgroupBarrier();
    if lane < few {
        var top = own;
        for (var k = lane + few; k < lanes; k += few) {
            top = max(top, sh_tops[first + k * apart]);
        }
        sh_more_tops[lid] = top;
    }
    workgroupBarrier();
    var top = own;
    for (var k = 0u; k < few; k += 4u) {
        let at = first + k * apart;
        let low = max(sh_more_tops[at], sh_more_tops[at + apart]);
        let high = max(sh_more_tops[at + 2u * apart], sh_more_tops[at + 3u * apart]);
        top = max(top, max(low, high));
    }
    return top;
}
#endif
