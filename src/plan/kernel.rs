//! A kernel as data: one WGSL source, the storage it binds, and the closed list of variants it may be built in.

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

/// Constants of this scope, under their own names.
macro_rules! constants {
    ($($name:ident),+ $(,)?) => {
        &[$((stringify!($name), $name as u32)),+]
    };
}
pub(crate) use constants;

/// One way to build a kernel: the element type and the flags its source is assembled with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Variant {
    pub dtype: DType,
    pub flags: &'static [&'static str],
}

/// Variants with each of these sets of flags for each element type.
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
/// Kernels are `static`s of the operations; every one is listed in [`crate::ops::KERNELS`], and nothing outside that
/// list is ever compiled.
#[derive(Debug)]
pub(crate) struct Kernel {
    /// The stem that the shader, the operation's room and its tests share.
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
    /// Operations only ask for variants that they list themselves, which the shader tests check by building all of
    /// them; a missing one is reported by name when the launch runs.
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

    /// The name shown in profiles and errors: stem, element type and flags.
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

/// The cooperative matrices of a device, of f16 and with sums in f32: square, and as deep as they are wide.
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

    /// Those that a variant with these flags is for.
    pub(crate) fn of(flags: &[&str]) -> Matrices {
        match flags.contains(&"EIGHT") {
            true => Matrices::Eight,
            false => Matrices::Sixteen,
        }
    }

    /// Multiply-adds that take as long as one that is done for itself.
    pub(crate) fn rate(self) -> u64 {
        match self {
            Matrices::Eight => 1,
            Matrices::Sixteen => 8,
        }
    }
}
