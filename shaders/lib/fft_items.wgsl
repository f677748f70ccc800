// Item i of the dispatch: (offset in x, offset in y, n, bits of the factor). Beyond the last item, an empty one, which
// reads and writes nothing.
//
// If consecutive items are at equal distances, they are computed instead of read, which is faster.
fn item_at(i: u32) -> vec4<u32> {
    if i >= p.items {
        return vec4(0u);
    }
    if p.length > 0u {
        return vec4(p.x_first + i * p.x_step, p.y_first + i * p.y_step, p.length, p.factor);
    }
    return items[p.first_item + i];
}
