// Value i of x, in the type used for computation: f32 for f16, of which a word holds two.
#if F16
#include "half_load"

fn value_at(i: u32) -> f32 {
    return half_of(x[i / 2u], i);
}
#else
fn value_at(i: u32) -> E {
    return x[i];
}
#endif
