//! Kernels as data: a WGSL source, its storage bindings, and the complete list of variants that it can be built in.

use crate::ragged::DType;

/// How a kernel uses one of its storage bindings.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Access {
    Read,
    Write,
}

/// The names of what a kernel binds and of its parameters, in the shader's order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Interface {
    pub slots: &'static [&'static str],
    pub access: &'static [Access],
    pub params: &'static [Field],
}

/// A field of the shader's `Params`, and its words; or the fields that several shaders begin with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Field {
    Words(&'static str, usize),
    Of(&'static [Field]),
}

/// Numbers that a shader and its planner must agree on, by the name that both know them by.
pub(crate) type Constants = &'static [(&'static str, u32)];

/// A name that `#generate "name"` in a shader refers to, and what writes its WGSL for the flags of a variant.
pub(crate) type Generate = (&'static str, fn(&[&str]) -> String);

/// Constants of this scope, under their own names.
macro_rules! constants {
    ($($name:ident),+ $(,)?) => {
        &[$((stringify!($name), $name as u32)),+]
    };
}
pub(crate) use constants;

/// A way to build a kernel: the element type and the flags with which its source is assembled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Variant {
    pub dtype: DType,
    pub flags: &'static [&'static str],
}

/// Lists a variant for each of these sets of flags and each element type.
macro_rules! for_each_type {
    ($($flags:expr),+ $(,)?) => {
        &[$(
            $crate::plan::Variant { dtype: $crate::ragged::DType::F32, flags: $flags },
            $crate::plan::Variant { dtype: $crate::ragged::DType::I32, flags: $flags },
            $crate::plan::Variant { dtype: $crate::ragged::DType::U32, flags: $flags },
        )+]
    };
}
pub(crate) use for_each_type;

/// A WGSL kernel. Binding 0 is its parameter block (uniform), bindings 1.. are the interface's slots in order.
///
/// Operations define kernels as `static`s. Every kernel is listed in [`crate::ops::KERNELS`], and only kernels on that
/// list are ever compiled.
#[derive(Debug)]
pub(crate) struct Kernel {
    /// The file stem shared by the shader, the operation's module and its tests.
    pub stem: &'static str,
    pub source: &'static str,
    pub interface: Interface,
    /// What the assembler writes before the source.
    pub constants: &'static [Constants],
    pub variants: &'static [Variant],
}

impl Kernel {
    /// The index of the variant for this element type and exactly these flags.
    ///
    /// Operations only request variants that they list, and the shader tests check this by building all of them.
    /// Running a launch with a missing variant reports it by name.
    pub(crate) fn variant(&self, dtype: DType, flags: &[&str]) -> usize {
        let found = self
            .variants
            .iter()
            .position(|v| v.dtype == dtype && v.flags == flags);
        debug_assert!(
            found.is_some(),
            "{} is not listed for {dtype} {flags:?}",
            self.stem
        );
        found.unwrap_or(usize::MAX)
    }

    /// The name in profiles and errors: stem, element type and flags.
    pub(crate) fn name(&self, variant: usize) -> String {
        match self.variants.get(variant) {
            Some(v) => {
                let mut name = format!("{}.{}", self.stem, v.dtype.name());
                for flag in v.flags {
                    name.push('.');
                    name.push_str(&flag.to_lowercase());
                }
                name
            }
            None => format!("{}.?", self.stem),
        }
    }
}

/// The size of a device's cooperative matrices, for `f16` with sums in `f32`: M = N = K.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Matrices {
    Eight,
    Sixteen,
}

impl Matrices {
    pub(crate) fn side(self) -> u32 {
        match self {
            Matrices::Eight => 8,
            Matrices::Sixteen => 16,
        }
    }

    /// The matrix size of a variant with these flags.
    pub(crate) fn of(flags: &[&str]) -> Matrices {
        match flags.contains(&"EIGHT") {
            true => Matrices::Eight,
            false => Matrices::Sixteen,
        }
    }

    /// The number of multiply-adds that take as long as a single one without cooperative matrices.
    pub(crate) fn rate(self) -> u64 {
        match self {
            Matrices::Eight => 1,
            Matrices::Sixteen => 8,
        }
    }
}
