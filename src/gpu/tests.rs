//! Every kernel for the unit tests, which share one assembly and one parse of each.

use std::sync::{LazyLock, OnceLock};

use naga::Module;
use rayon::prelude::*;

use super::assemble;
use crate::plan::Kernel;

/// A variant of a kernel.
pub(super) struct Assembled {
    pub kernel: &'static Kernel,
    pub name: String,
    pub text: String,
    module: OnceLock<Module>,
}

impl Assembled {
    pub fn module(&self) -> &Module {
        self.module.get_or_init(|| parsed(&self.name, &self.text))
    }
}

/// All variants, in the order of the kernel list.
pub(super) fn variants() -> &'static [Assembled] {
    static ALL: LazyLock<Vec<Assembled>> = LazyLock::new(|| {
        let of_kernel = |kernel: &'static Kernel| -> Vec<Assembled> {
            let variants = 0..kernel.listed().count();
            let one = |variant| Assembled {
                kernel,
                name: kernel.name(variant),
                text: assemble(kernel, variant).unwrap(),
                module: OnceLock::new(),
            };
            variants.map(one).collect()
        };
        let kernels: Vec<_> = crate::ops::all_kernels().collect();
        kernels.into_par_iter().flat_map_iter(of_kernel).collect()
    });
    &ALL
}

pub(super) fn parsed(name: &str, source: &str) -> Module {
    naga::front::wgsl::parse_str(source)
        .unwrap_or_else(|error| panic!("{}", error.emit_to_string_with_path(source, name)))
}
