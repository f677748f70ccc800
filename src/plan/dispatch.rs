//! A dispatch: a kernel variant, the buffers that it binds and the words of its parameter block, by name.
//!
//! A shader identifies buffers by binding numbers, and parameters by their position in `Params`. Rust mirrors both in
//! two structures per kernel, declared by [`slots!`] and [`params!`]. A [`Dispatch`] is made of one value of each, so
//! the compiler rejects missing and duplicate fields; a test compares names and order with the parsed module of every
//! variant. Planning turns the structures into lists; nothing compares names when a kernel runs.

use std::sync::Arc;

use super::kernel::{Access, Chosen, Field, Interface, Kernel};
use crate::ragged::{Identity, Layout};

/// A binding of a dispatch.
#[derive(Clone, Debug)]
pub(crate) enum Slot {
    /// The values of input `i`.
    Input(usize),
    /// The values of output `i`.
    Output(usize),
    /// Scratch buffer `i` of the launch.
    Scratch(usize),
    /// The offsets, then the extents, of input `i`'s layout.
    InputMeta(usize),
    /// The offsets, then the extents, of a layout that the plan derived.
    Meta(Layout),
    /// A buffer that the plan made: work lists, pair lists.
    PlanBuffer(Arc<PlanBuffer>),
    /// Data that is the same for every plan.
    Table(&'static Table),
}

impl Slot {
    /// Whether this is metadata or a buffer that the plan made.
    fn is_list(&self) -> bool {
        matches!(
            self,
            Slot::InputMeta(_) | Slot::Meta(_) | Slot::PlanBuffer(_)
        )
    }
}

/// Constant data for kernels, independent of lengths, such as twiddles. Each device makes its copy on first use.
#[derive(Debug)]
pub(crate) struct Table {
    /// Unique among tables.
    pub name: &'static str,
    pub make: fn() -> Vec<u32>,
}

/// A 32-bit parameter of a dispatch.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Param {
    U32(u32),
    /// The offset of input `i`'s values in its buffer, in 32-bit words (even for complex values), in 16-bit halves for
    /// `f16`, or in bytes for `u8`.
    InputBase(usize),
    /// The same offset for a complex input, in values: pairs of words.
    InputPairBase(usize),
    /// Scalar `i` of the call.
    Scalar(usize),
}

/// A number as a parameter.
pub(crate) fn number(n: usize) -> Param {
    Param::U32(n as u32)
}

/// A kernel launch: a kernel variant over `groups` workgroups.
#[derive(Clone, Debug)]
pub(crate) struct Dispatch {
    pub kernel: &'static Kernel,
    pub variant: Chosen,
    pub slots: Vec<Slot>,
    /// The parameters that follow the two common ones (first workgroup, number of workgroups).
    pub params: Vec<Param>,
    pub groups: u32,
    /// Multiply-adds (or values touched) of the whole dispatch. Long dispatches are split into several submissions by
    /// cost.
    pub cost: u64,
}

impl Dispatch {
    pub(crate) fn new<S: Slots, P: Params>(
        (kernel, variant): (&'static Kernel, impl Into<Chosen>),
        slots: S,
        params: P,
        groups: u32,
        cost: u64,
    ) -> Dispatch {
        debug_assert_eq!(
            Interface::of::<S, P>(),
            kernel.interface,
            "{}",
            kernel.shader.stem
        );
        let mut words = Vec::with_capacity(kernel.interface.params.len());
        params.append(&mut words);
        let slots = slots.list();
        // Programs keep lists in the buffer of their parameters, which is a uniform.
        debug_assert!(
            slots
                .iter()
                .zip(S::ACCESS)
                .all(|(slot, access)| !slot.is_list() || *access == Access::Read),
            "{} binds a list read-write",
            kernel.shader.stem
        );
        Dispatch {
            kernel,
            variant: variant.into(),
            slots,
            params: words,
            groups,
            cost,
        }
    }

    /// The name of the kernel's variant.
    pub(crate) fn name(&self) -> String {
        match &self.variant {
            Chosen::Listed(variant) => self.kernel.name(self.kernel.variants.get(*variant)),
            Chosen::Written(variant) => self.kernel.name(&**variant),
        }
    }
}

/// The total cost of dispatches; saturates.
pub(crate) fn cost_of(dispatches: &[Dispatch]) -> u64 {
    dispatches
        .iter()
        .map(|dispatch| dispatch.cost)
        .fold(0, u64::saturating_add)
}

/// Data made by a plan. Devices cache copies of it by its identity.
pub(crate) struct PlanBuffer {
    data: Vec<u32>,
    identity: Identity,
}

impl PlanBuffer {
    pub(crate) fn new(data: Vec<u32>) -> Arc<PlanBuffer> {
        Arc::new(PlanBuffer {
            data,
            identity: Identity::new(),
        })
    }

    pub(crate) fn data(&self) -> &[u32] {
        &self.data
    }

    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }
}

impl std::fmt::Debug for PlanBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PlanBuffer({})", self.data.len())
    }
}

/// What one kernel binds, after the parameter block.
pub(crate) trait Slots {
    const NAMES: &'static [&'static str];
    const ACCESS: &'static [Access];
    fn list(self) -> Vec<Slot>;
}

/// The parameters of one kernel, after the two that all have.
pub(crate) trait Params: Words {
    const NAMES: &'static [Field];
}

impl Interface {
    pub(crate) const fn of<S: Slots, P: Params>() -> Interface {
        Interface {
            slots: S::NAMES,
            access: S::ACCESS,
            params: P::NAMES,
        }
    }
}

/// A part of a dispatch's parameters: one word, an array, or the parameters that several kernels begin with.
pub(crate) trait Words {
    fn append(self, to: &mut Vec<Param>);
}

impl Words for Param {
    fn append(self, to: &mut Vec<Param>) {
        to.push(self);
    }
}

impl<const N: usize> Words for [Param; N] {
    fn append(self, to: &mut Vec<Param>) {
        to.extend(self);
    }
}

/// A structure with a [`Slot`] for each binding from 1 on, `name: Read` or `name: Write`.
macro_rules! slots {
    ($(#[$about:meta])* $vis:vis struct $name:ident { $($slot:ident: $access:ident),+ $(,)? }) => {
        $(#[$about])*
        $vis struct $name {
            $(pub $slot: $crate::plan::Slot),+
        }

        impl $crate::plan::Slots for $name {
            const NAMES: &'static [&'static str] = &[$(stringify!($slot)),+];
            const ACCESS: &'static [$crate::plan::Access] = &[$($crate::plan::Access::$access),+];

            fn list(self) -> Vec<$crate::plan::Slot> {
                vec![$(self.$slot),+]
            }
        }
    };
}
pub(crate) use slots;

/// A structure with a [`Param`] for each field of the shader's `Params` after the first two. `name: [n]` is an array of
/// n words, and `name: Others` stands for all fields of another such structure.
macro_rules! params {
    ($(#[$about:meta])* $vis:vis struct $name:ident { $($param:ident $(: $kind:tt)?),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy)]
        $vis struct $name {
            $(pub $param: $crate::plan::params!(@type $($kind)?)),+
        }

        impl $crate::plan::Params for $name {
            const NAMES: &'static [$crate::plan::Field] = &[$($crate::plan::params!(@field $param $($kind)?)),+];
        }

        impl $crate::plan::Words for $name {
            fn append(self, to: &mut Vec<$crate::plan::Param>) {
                $($crate::plan::Words::append(self.$param, to);)+
            }
        }
    };
    (@type) => { $crate::plan::Param };
    (@type [$n:expr]) => { [$crate::plan::Param; $n] };
    (@type $other:ident) => { $other };
    (@field $name:ident) => { $crate::plan::Field::Words(stringify!($name), 1) };
    (@field $name:ident [$n:expr]) => { $crate::plan::Field::Words(stringify!($name), $n) };
    (@field $name:ident $other:ident) => { $crate::plan::Field::Of(<$other as $crate::plan::Params>::NAMES) };
}
pub(crate) use params;
