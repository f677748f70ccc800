// Item i of the stage: (begin in x, begin in y, n, bits of the factor). Beyond the last one, an item of no values,
// which reads and writes nothing.
//
// Where items follow each other at equal distances, they are worked out instead of read, which is quicker.
fn item_at(i: u32) -> vec4<u32> {
    if i >= p.items {
        return vec4(0u);
    }
    if p.length > 0u {
        return vec4(p.x_first + i * p.x_step, p.y_first + i * p.y_step, p.length, p.factor);
    }
    return items[p.first_item + i];
}
