// Combines paired values: PRODUCT multiplies; otherwise adds, or subtracts if p.subtract is set.
fn combine(x: vec4<E>, y: vec4<E>) -> vec4<E> {
#if PRODUCT
    return x * y;
#else
    return select(x + y, x - y, p.subtract != 0u);
#endif
}
