// Maps a unit of work to its owner: (first unit of the owner, index of the owner).
//
// `items` holds the first entry of each workgroup, one more than there are workgroups, and from p.entries on the
// entries: (first unit of an owner, index of the owner).
fn entry_of(group: u32, unit: u32) -> vec2<u32> {
    // The last entry whose first unit is at or before this one.
    var entry = items[group];
    var last = items[group + 1u];
    while entry < last {
        let middle = (entry + last + 1u) / 2u;
        if items[p.entries + 2u * middle] <= unit {
            entry = middle;
        } else {
            last = middle - 1u;
        }
    }
    let at = p.entries + 2u * entry;
    return vec2(items[at], items[at + 1u]);
}
