// Scores of attention from products of queries and keys.
//
// Uses: the parameters of attention, `items`, `bias_at`, and "exp". A score of LOWEST is that of a masked key.

const LOWEST = -3.0e38;
const LOWEST_BITS = 0xff61b1e6u;

// An element, as the list of items has it, and its first head.
struct Element {
    q_row: u32,
    queries: u32,
    k_row: u32,
    keys: u32,
    bias: u32,
    // The position of query 0 among the keys.
    offset: i32,
}

fn element_at(i: u32) -> Element {
    let at = 5u * i;
    let queries = items[at + 1u];
    let keys = items[at + 3u];
    let offset = select(i32(keys) - i32(queries), 0, p.top_left != 0u);
    return Element(items[at], queries, items[at + 2u], keys, items[at + 4u], offset);
}

fn tanh_of(x: f32) -> f32 {
    let t = exp_below(-2.0 * abs(x));
    return signed_as((1.0 - t) / (1.0 + t), x);
}

// Whether the mask's blocks admit a key for a query.
fn has_block(query: u32, key: u32) -> bool {
    let column = key / p.block_keys;
    let word = items[p.mask + (query / p.block_rows) * p.mask_row + column / 32u];
    return ((word >> (column % 32u)) & 1u) != 0u;
}

// The score of a query and a key from their product, and its derivative. `slope` is that of ALiBi.
fn score(product: f32, query: u32, key: u32, head: u32, slope: f32, e: Element) -> vec2<f32> {
    var s = product * p.scale;
    var derivative = p.scale;
    let cap = bitcast<f32>(p.softcap);
    if cap > 0.0 {
        let t = tanh_of(s * bitcast<f32>(p.softcap_inverse));
        s = cap * t;
        derivative *= fma(-t, t, 1.0);
    }
    let at = i32(query) + e.offset;
    let distance = i32(key) - at;
    // Keys beyond the last one read the last one's entries.
    let near = min(key, e.keys - 1u);
    var seen = key < e.keys && distance >= -i32(p.left) && distance <= i32(p.right);
    if p.bias_heads > 0u {
        let matrix = select(0u, head * e.queries, p.bias_heads > 1u);
        let more = bias_at(p.bias_base + e.bias + (matrix + query) * e.keys + near);
        s += more;
        // −∞ excludes the key, whatever the product is.
        seen = seen && bitcast<u32>(more) != 0xff800000u;
    }
    if p.alibi != 0u {
        s = fma(-slope, f32(abs(distance)), s);
    }
    if p.blocks != 0u {
        seen = seen && has_block(query, near);
    }
    return select(vec2(LOWEST, 0.0), vec2(s, derivative), seen);
}

// The scores of a query and four keys from `key` on, without cap, bias, ALiBi and blocks.
fn plain_scores(products: vec4<f32>, query: u32, key: u32, e: Element) -> vec4<f32> {
    let keys = vec4(key) + vec4(0u, 1u, 2u, 3u);
    let distance = vec4<i32>(keys) - vec4(i32(query) + e.offset);
    let seen = (keys < vec4(e.keys)) & (distance >= vec4(-i32(p.left))) & (distance <= vec4(i32(p.right)));
    return select(vec4(LOWEST), products * p.scale, seen);
}
