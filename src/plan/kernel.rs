//! Kernels as data: a WGSL source, its storage bindings, and the complete list of variants that it can be built in.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

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

/// Numbers that a shader and its planner must agree on, by their common name.
pub(crate) type Constants = &'static [(&'static str, u32)];

/// Lists constants of this scope under their own names.
macro_rules! constants {
    ($($name:ident),+ $(,)?) => {
        &[$((stringify!($name), $name as u32)),+]
    };
}
pub(crate) use constants;

/// A variant that a kernel lists: a row of its table, which planners request by value; or a [`Variant`], if no part of
/// its source is generated.
pub(crate) trait Listed: fmt::Debug + Sync {
    fn dtype(&self) -> DType;
    /// The flags with which the source is assembled, in the order in which the variant's name has them.
    fn flags(&self) -> Cow<'static, [&'static str]>;
    /// The numbers of the row: constants of the shader, by which `#for` counts.
    fn numbers(&self) -> Vec<(&'static str, u32)> {
        Vec::new()
    }
    /// Texts of the row, by the names that the source uses for them.
    fn texts(&self) -> Vec<(String, String)> {
        Vec::new()
    }
    /// The text that replaces `#generate "part"`; `None` if the kernel has no such part.
    fn generate(&self, _part: &str) -> Option<String> {
        None
    }
    /// Kernels that, one after the other over the same workgroups, store what this one stores; none if it is compiled
    /// fast enough. Each does what some workgroups have to do, and the others end at once; or there is a single one, a
    /// [`Quick`], that does everything.
    fn parts(&self) -> Vec<Box<dyn Listed + Send>> {
        Vec::new()
    }
}

/// A variant whose longest loops are not unrolled (`QUICK`), which drivers compile in about half the time. It is a part
/// that does everything, with the same bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quick<V>(pub V);

impl<V: Listed> Listed for Quick<V> {
    fn dtype(&self) -> DType {
        self.0.dtype()
    }

    fn flags(&self) -> Cow<'static, [&'static str]> {
        let mut all = self.0.flags().into_owned();
        all.push("QUICK");
        all.into()
    }

    fn numbers(&self) -> Vec<(&'static str, u32)> {
        self.0.numbers()
    }

    fn texts(&self) -> Vec<(String, String)> {
        self.0.texts()
    }

    fn generate(&self, part: &str) -> Option<String> {
        self.0.generate(part)
    }
}

/// The variants of a kernel: an array of what it lists.
pub(crate) trait Listing: fmt::Debug + Sync {
    fn len(&self) -> usize;
    fn get(&self, variant: usize) -> &dyn Listed;
}

impl<V: Listed, const N: usize> Listing for [V; N] {
    fn len(&self) -> usize {
        N
    }
    fn get(&self, variant: usize) -> &dyn Listed {
        &self[variant]
    }
}

/// The flags that are on.
pub(crate) fn named(flags: &[(bool, &'static str)]) -> Cow<'static, [&'static str]> {
    let on = flags.iter().filter(|(on, _)| *on);
    on.map(|(_, flag)| *flag).collect()
}

/// The index of a row in the table of a kernel.
///
/// # Panics
/// If it is not listed: unit tests request every row that planners can request.
pub(crate) fn place_of<V: Listed + PartialEq>(table: &[V], row: &V) -> usize {
    let found = table.iter().position(|listed| listed == row);
    found.unwrap_or_else(|| panic!("{row:?} is not listed"))
}

/// The variant of a kernel that a dispatch runs.
#[derive(Clone, Debug)]
pub(crate) enum Chosen {
    /// The index of one that the kernel lists.
    Listed(usize),
    /// One that it does not list: a function that the application wrote.
    Written(Arc<dyn Listed + Send + Sync>),
}

impl From<usize> for Chosen {
    fn from(place: usize) -> Chosen {
        Chosen::Listed(place)
    }
}

/// A way to build a kernel: the element type and the flags with which its source is assembled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Variant {
    pub dtype: DType,
    pub flags: &'static [&'static str],
}

impl Variant {
    pub(crate) const fn of(dtype: DType, flags: &'static [&'static str]) -> Variant {
        Variant { dtype, flags }
    }
}

impl Listed for Variant {
    fn dtype(&self) -> DType {
        self.dtype
    }
    fn flags(&self) -> Cow<'static, [&'static str]> {
        self.flags.into()
    }
}

/// Lists variants, each by its element type and its flags.
macro_rules! variants {
    ($($dtype:ident $($flag:literal)*),+ $(,)?) => {
        &[$($crate::plan::Variant::of($crate::ragged::DType::$dtype, &[$($flag),*])),+]
    };
}
pub(crate) use variants;

/// Lists a variant for each of these sets of flags and each element type.
macro_rules! for_each_type {
    ($($flags:expr),+ $(,)?) => {
        &[$(
            $crate::plan::Variant::of($crate::ragged::DType::F32, $flags),
            $crate::plan::Variant::of($crate::ragged::DType::I32, $flags),
            $crate::plan::Variant::of($crate::ragged::DType::U32, $flags),
        )+]
    };
}
pub(crate) use for_each_type;

/// The file of a kernel, and the kernel's name without its variant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shader {
    pub stem: &'static str,
    /// The file in `shaders`, without its extension.
    pub path: &'static str,
    pub source: &'static str,
}

/// The shader with this path in `shaders`. Unless the kernel's stem is given, it follows from the path: `room/file`
/// makes `room_file`, and `room/mod` makes `room`.
macro_rules! shader {
    ($path:literal) => {
        $crate::plan::shader!($path, {
            const STEM: [u8; $crate::plan::stem_length($path)] = $crate::plan::stem_of($path);
            match str::from_utf8(&STEM) {
                Ok(stem) => stem,
                Err(_) => unreachable!(),
            }
        })
    };
    ($path:literal, $stem:expr) => {
        $crate::plan::Shader {
            stem: $stem,
            path: $path,
            source: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/shaders/",
                $path,
                ".wgsl"
            )),
        }
    };
}
pub(crate) use shader;

/// The length of the stem of the kernel with this path.
pub(crate) const fn stem_length(path: &str) -> usize {
    match path.as_bytes() {
        [room @ .., b'/', b'm', b'o', b'd'] => room.len(),
        path => path.len(),
    }
}

/// The stem of the kernel with this path.
pub(crate) const fn stem_of<const N: usize>(path: &str) -> [u8; N] {
    let mut stem = [b'_'; N];
    let mut i = 0;
    while i < N {
        if path.as_bytes()[i] != b'/' {
            stem[i] = path.as_bytes()[i];
        }
        i += 1;
    }
    stem
}

/// A WGSL kernel. Binding 0 is its parameter block (uniform), bindings 1.. are the interface's slots in order.
///
/// Operations define kernels as `static`s. Every kernel is in [`crate::ops::all_kernels`], and no other kernel is ever
/// compiled.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub shader: Shader,
    pub interface: Interface,
    /// What the assembler writes before the source.
    pub constants: &'static [Constants],
    pub variants: &'static dyn Listing,
}

impl Kernel {
    /// The variants in the order of their indices.
    pub(crate) fn listed(&self) -> impl Iterator<Item = &'static dyn Listed> + use<> {
        let variants = self.variants;
        (0..variants.len()).map(|variant| variants.get(variant))
    }

    /// Calls `f` with each variant, and then with each of its parts.
    pub(crate) fn for_each(&self, mut f: impl FnMut(&dyn Listed)) {
        for variant in self.listed() {
            f(variant);
            variant.parts().iter().for_each(|part| f(&**part));
        }
    }

    /// The kernel with the index of the [`Variant`] for this element type and exactly these flags.
    ///
    /// # Panics
    /// If it is not listed: unit tests plan everything that planners can request.
    pub(crate) fn variant(&'static self, dtype: DType, flags: &[&str]) -> (&'static Kernel, usize) {
        let is_asked = |v: &dyn Listed| v.dtype() == dtype && *v.flags() == *flags;
        let found = self.listed().position(is_asked);
        let stem = self.shader.stem;
        let place = found.unwrap_or_else(|| panic!("{stem} is not listed for {dtype} {flags:?}"));
        (self, place)
    }

    /// The name of a variant in profiles and errors: stem, element type and flags.
    pub(crate) fn name(&self, variant: &dyn Listed) -> String {
        let mut name = format!("{}.{}", self.shader.stem, variant.dtype().name());
        for flag in variant.flags().iter() {
            name.push('.');
            name.push_str(&flag.to_lowercase());
        }
        name
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

    /// The number of multiply-adds that take as long as one without cooperative matrices.
    pub(crate) fn rate(self) -> u64 {
        match self {
            Matrices::Eight => 1,
            Matrices::Sixteen => 8,
        }
    }
}
