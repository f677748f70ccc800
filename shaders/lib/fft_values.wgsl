// Loads and stores the values of a transform, for an item (offset in x, offset in y, n, bits of the factor).
//
// p.load gives the format of x, p.store that of y. An inverse transform is a forward transform between two exchanges of
// real and imaginary part.

// Value i, or zero from n on. p.x_base is in words.
fn value_in(item: vec4<u32>, i: u32) -> vec2<f32> {
    var z = vec2(0.0);
    if i < item.z {
        switch p.load & (REAL | HALF) {
            case REAL: {
                let at = p.x_base + item.x + i;
                let two = x[at >> 1u];
                z.x = select(two.x, two.y, (at & 1u) != 0u);
            }
            case HALF: {
                let mirrored = 2u * i > item.z;
                z = x[(p.x_base >> 1u) + item.x + select(i, item.z - i, mirrored)];
                z.y = select(z.y, -z.y, mirrored);
                // Assigned, not multiplied by zero: it may be NaN.
                if i == 0u {
                    z.y = 0.0;
                }
            }
            default: {
                z = x[(p.x_base >> 1u) + item.x + i];
            }
        }
    }
    return select(z, z.yx, (p.load & EXCHANGED) != 0u);
}

fn value_out(item: vec4<u32>, i: u32, value: vec2<f32>) {
    let z = select(value, value.yx, (p.store & EXCHANGED) != 0u) * bitcast<f32>(item.w);
    switch p.store & (REAL | HALF) {
        case REAL: {
            if i < item.z {
                let at = item.y + i;
                y[at >> 1u][at & 1u] = z.x;
            }
        }
        case HALF: {
            if 2u * i <= item.z && item.z > 0u {
                y[item.y + i] = z;
            }
        }
        default: {
            if i < item.z {
                y[item.y + i] = z;
            }
        }
    }
}
