//! The list of all maps.

use super::table::METHODS;
use super::{MapInfo, complex};

/// All table-driven maps, once for each value type, with the error bound that holds on every device.
///
/// A result of `f32` differs from the exact one by at most `ulps` units in the last place, plus `absolute`, plus 2⁻¹²⁶:
/// a GPU may flush operands and results below 2⁻¹²⁶ to zero. A result of `f16` is the `f32` result, rounded. For
/// complex results, each part is within that many units in the last place of the product of the absolute values.
///
/// ```
/// let exp = vsla::scalar::maps().find(|map| map.name == "exp").unwrap();
/// assert_eq!((exp.dtype, exp.ulps, exp.absolute), (vsla::scalar::DType::F32, 2.0, 0.0));
/// ```
pub fn maps() -> impl Iterator<Item = MapInfo> {
    let rows = METHODS.iter().copied().flatten();
    let real = rows.flat_map(|map| {
        let types = map.types().iter();
        types.map(|&dtype| MapInfo::new(map.name, dtype, map.bound))
    });
    real.chain(complex::maps())
}
