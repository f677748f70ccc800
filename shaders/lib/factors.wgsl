// The factors a and b, by value and by quad; indices count values. With HALVES the factors hold words of two f16.
#if HALVES
#include "half_load"

fn a_value(i: u32) -> E {
    return half_of(a[i / 2u], i);
}

fn b_value(i: u32) -> E {
    return half_of(b[i / 2u], i);
}

// Loads a quad; i is a multiple of four.
fn a_quad(i: u32) -> vec4<E> {
    return vec4(unpack2x16float(a[i / 2u]), unpack2x16float(a[i / 2u + 1u]));
}

fn b_quad(i: u32) -> vec4<E> {
    return vec4(unpack2x16float(b[i / 2u]), unpack2x16float(b[i / 2u + 1u]));
}

// Four values from any index on. Nothing is read beyond the last word.
fn a_four(i: u32) -> vec4<E> {
    let last = 2u * arrayLength(&a) - 1u;
    return vec4(a_value(i), a_value(min(i + 1u, last)), a_value(min(i + 2u, last)), a_value(min(i + 3u, last)));
}

fn b_four(i: u32) -> vec4<E> {
    let last = 2u * arrayLength(&b) - 1u;
    return vec4(b_value(i), b_value(min(i + 1u, last)), b_value(min(i + 2u, last)), b_value(min(i + 3u, last)));
}
#else
#include "selected"

fn a_quad(i: u32) -> vec4<E> {
    return a[i / 4u];
}

fn b_quad(i: u32) -> vec4<E> {
    return b[i / 4u];
}

// Four values from any index on. Nothing is read beyond the last quad.
fn a_four(i: u32) -> vec4<E> {
    let q = i / 4u;
    return selected(a[q], a[min(q + 1u, arrayLength(&a) - 1u)], i);
}

fn b_four(i: u32) -> vec4<E> {
    let q = i / 4u;
    return selected(b[q], b[min(q + 1u, arrayLength(&b) - 1u)], i);
}
#endif

// The XOR swizzle of quad indices at this depth.
fn swizzle(deep: u32) -> u32 {
    return ((deep >> 2u) & 3u) << 1u;
}
