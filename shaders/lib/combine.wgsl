// What becomes of values that meet: PRODUCT the product; otherwise the sum, or with p.subtract the difference.
fn combine(x: vec4<E>, y: vec4<E>) -> vec4<E> {
#if PRODUCT
    return x * y;
#else
    return select(x + y, x - y, p.subtract != 0u);
#endif
}
