// The kind of a value: 0 for the background. Neighbours of one kind other than 0 are joined.
fn kind_of(value: u32) -> u32 {
    let kind = value ^ p.background;
    return select(kind, min(kind, 1u), p.foreground != 0u);
}
