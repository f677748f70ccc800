//! What this crate's own tests need; only with the feature `testing`, and without any promise of stability.
//!
//! The suite (`tests/suite`) runs the unit tests, which are beside what they test, so that the library is compiled once
//! for all tests. A unit test is a function with the attribute `#[apply(unit_test)]`.

#[cfg(feature = "gpu")]
pub use crate::gpu::Parts;
pub use crate::host::fail_host_allocation;

/// A test that needs private names.
pub struct UnitTest {
    /// Its path.
    pub name: &'static str,
    /// Panics if it fails.
    pub run: fn(),
}

inventory::collect!(UnitTest);

/// All unit tests, in no particular order.
pub fn unit_tests() -> impl Iterator<Item = &'static UnitTest> {
    inventory::iter::<UnitTest>()
}

/// Registers a function as a unit test.
macro_rules! unit_test {
    ($(#[$attribute:meta])* fn $name:ident() $body:block) => {
        $(#[$attribute])*
        fn $name() $body

        inventory::submit! {
            $crate::testing::UnitTest {
                name: concat!(module_path!(), "::", stringify!($name)),
                run: $name,
            }
        }
    };
}
