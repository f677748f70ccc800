// What becomes of values that meet, by p.op: 0 the sum, 1 the difference, PRODUCT the product.
const PRODUCT = 2u;

fn combine(x: vec4<E>, y: vec4<E>) -> vec4<E> {
    return select(select(x + y, x - y, p.op == 1u), x * y, p.op == PRODUCT);
}
