//! Loops with the widest vectors of the processor, where the compiler's target promises only narrow ones.
//!
//! The bits are those of the narrow loop: products and sums are not fused in either.

/// Replaces each value by its function, which must be inlined.
pub(crate) fn in_place(values: &mut [f32], f: impl Fn(f32) -> f32) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        #[target_feature(enable = "avx2")]
        fn wide(values: &mut [f32], f: impl Fn(f32) -> f32) {
            narrow(values, f);
        }
        // SAFETY: the processor has AVX2.
        #[allow(unsafe_code, reason = "only this processor has the feature")]
        return unsafe { wide(values, f) };
    }
    narrow(values, f);
}

#[inline(always)]
fn narrow(values: &mut [f32], f: impl Fn(f32) -> f32) {
    // Not `for_each`, which need not be inlined.
    for value in values {
        *value = f(*value);
    }
}
