//! Maps a dispatch's workgroups to a two-dimensional grid.

/// The number of workgroups in x and y for `groups` (at least 1): rows of at most `limit`, and at most `limit²` in
/// total.
///
/// Rows are as short as possible, because starting an idle workgroup costs as much as starting one with work.
pub(crate) fn fold(groups: u32, limit: u32) -> (u32, u32) {
    let rows = groups.div_ceil(limit).min(limit);
    (groups.div_ceil(rows).min(limit), rows)
}

#[cfg(feature = "testing")]
mod tests {
    use super::fold;

    #[apply(unit_test)]
    fn rows_of_workgroups_are_nearly_full() {
        for limit in [1, 4, 100, 65_535] {
            for groups in [1, 3, 4, 5, 99, 100, 101, 65_535, 65_536, 131_071, 1 << 20] {
                let (x, y) = fold(groups, limit);
                assert!(x <= limit && y <= limit, "{groups} {limit}: {x} x {y}");
                let most = u64::from(limit) * u64::from(limit);
                let expected = u64::from(groups).min(most);
                let all = u64::from(x) * u64::from(y);
                assert!(
                    all >= expected && all - expected < u64::from(y),
                    "{groups} {limit}: {x} x {y}"
                );
            }
        }
    }
}
