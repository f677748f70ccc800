// Where value i of a box sits in two others that share its origin.
//
// Extents of element e are at meta[n + 1 + e * rank ..] of each batch, n its number of elements, the last axis fastest.
struct Place {
    a: u32,
    b: u32,
    in_a: bool,
    in_b: bool,
}

fn place_in_boxes(i: u32, c_at: u32, a_at: u32, b_at: u32, rank: u32) -> Place {
    var place = Place(0u, 0u, true, true);
    var rest = i;
    var a_stride = 1u;
    var b_stride = 1u;
    for (var axis = rank - 1u; axis > 0u; axis -= 1u) {
        let extent = c_meta[c_at + axis];
        let quotient = rest / extent;
        let along = rest - quotient * extent;
        rest = quotient;
        let a_extent = a_meta[a_at + axis];
        let b_extent = b_meta[b_at + axis];
        place.in_a = place.in_a && along < a_extent;
        place.in_b = place.in_b && along < b_extent;
        place.a += along * a_stride;
        place.b += along * b_stride;
        a_stride *= a_extent;
        b_stride *= b_extent;
    }
    place.in_a = place.in_a && rest < a_meta[a_at];
    place.in_b = place.in_b && rest < b_meta[b_at];
    place.a += rest * a_stride;
    place.b += rest * b_stride;
    return place;
}
