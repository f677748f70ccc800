//! Tests that the declarations in Rust and in WGSL agree for every kernel.

use naga::{AddressSpace, Module, StorageAccess, TypeInner};

use super::{Expansion, assemble};
use crate::gpu::pipelines::PARAM_WORDS;
use crate::plan::{Access, Field, Interface, Variant};
use crate::ragged::DType;

/// The names of a shader's parameters after the first two, with their sizes in words.
fn params(module: &Module) -> Vec<(String, usize)> {
    let mut globals = module.global_variables.iter();
    let (_, block) = globals
        .find(|(_, global)| global.space == AddressSpace::Uniform)
        .unwrap();
    let TypeInner::Struct { members, .. } = &module.types[block.ty].inner else {
        panic!("the parameters are no structure");
    };
    let mut layouter = naga::proc::Layouter::default();
    layouter.update(module.to_ctx()).unwrap();
    let mut at = 0;
    let mut names = members.iter().map(|member| {
        // A gap would be a word that is never written.
        assert_eq!(member.offset, at, "{:?}", member.name);
        let size = layouter[member.ty].size;
        at += size;
        (member.name.clone().unwrap(), size as usize / 4)
    });
    for common in ["first_group", "groups"] {
        assert_eq!(names.next(), Some((common.to_owned(), 1)));
    }
    names.collect()
}

/// The names of a shader's bindings from 1 on, and how they are bound.
fn slots(module: &Module) -> Vec<(String, Access)> {
    let mut slots: Vec<_> = module
        .global_variables
        .iter()
        .filter_map(|(_, global)| {
            let AddressSpace::Storage { access } = global.space else {
                return None;
            };
            let access = match access.contains(StorageAccess::STORE) {
                true => Access::Write,
                false => Access::Read,
            };
            let number = global.binding.unwrap().binding;
            Some((number, (global.name.clone().unwrap(), access)))
        })
        .collect();
    slots.sort_by_key(|(number, _)| *number);
    slots.into_iter().map(|(_, slot)| slot).collect()
}

fn flat(fields: &[Field], to: &mut Vec<(String, usize)>) {
    for field in fields {
        match *field {
            Field::Words(name, words) => to.push((name.to_owned(), words)),
            Field::Of(fields) => flat(fields, to),
        }
    }
}

#[test]
fn names_of_slots_and_parameters_are_those_of_the_shader() {
    for kernel in crate::ops::KERNELS {
        let Interface {
            slots: names,
            access,
            params: fields,
        } = kernel.interface;
        let names = names.iter().map(|name| name.to_string());
        let expected: Vec<_> = names.zip(access.iter().copied()).collect();
        let mut words = Vec::new();
        flat(fields, &mut words);
        assert!(words.iter().map(|word| word.1).sum::<usize>() <= PARAM_WORDS);
        for variant in 0..kernel.listed().count() {
            let name = kernel.name(variant);
            let text = assemble(kernel, variant).unwrap();
            let module = naga::front::wgsl::parse_str(&text)
                .unwrap_or_else(|error| panic!("{}", error.emit_to_string_with_path(&text, &name)));
            assert_eq!(params(&module), words, "{name}");
            assert_eq!(slots(&module), expected, "{name}");
        }
    }
}

#[test]
fn loops_write_their_lines_once_for_each_value() {
    let plain = Variant::of(DType::F32, &["ON"]);
    let expand = |text: &'static str| {
        let mut expansion = Expansion {
            flags: &["ON"],
            variant: &plain,
            params: &[],
            names: [("COUNT", "4"), ("STEP", "16")]
                .map(|(name, text)| (name.to_owned(), text.to_owned()))
                .into(),
            blocks: Vec::new(),
            indent: 0,
            included: Vec::new(),
            out: String::new(),
        };
        let lines: Vec<&str> = text.lines().collect();
        expansion.expand(&lines).map(|()| expansion.out)
    };
    let twice = "#for s COUNT / 2\nv[$(s)] = x[$(STEP + 2 * s * STEP + 1)u];\n#endfor\nend";
    assert_eq!(
        expand(twice).unwrap(),
        "v[0] = x[17u];\nv[1] = x[49u];\nend\n"
    );
    let nested = "#for i 2\n#if !ON\nno\n#else\n#for j i + 1\n$(i)$(j)\n#endfor\n#endif\n#endfor";
    assert_eq!(expand(nested).unwrap(), "00\n10\n11\n");
    let operators = "$(2 + COUNT * STEP / 3 % 5 - 1) $($(COUNT) * 2)";
    assert_eq!(expand(operators).unwrap(), "2 8\n");
    let texts =
        "#for x side at in a f(p,q) q + 1u, b column0 0\n$(x)$(COUNT) = $(side) + $(at);\n#endfor";
    assert_eq!(
        expand(texts).unwrap(),
        "a4 = f(p,q) + q + 1u;\nb4 = column0 + 0;\n"
    );
    let inner = "#for x X in a COUNT, b STEP; s $(X) / 4\n$(x)$(s)\n#endfor";
    assert_eq!(expand(inner).unwrap(), "a0\nb0\nb1\nb2\nb3\n");
    let compared = "#for s COUNT\n#if 1 < s\n#if s * 8 == STEP\n$(s)\n#endif\n#else\n\
         #if $(s) == 0\nx\n#endif\n#endif\n#endfor";
    assert_eq!(expand(compared).unwrap(), "x\n2\n");
    let block = "#block load x k\nlet $(x) = $(k);\n\n    #use both\n#endblock\n\
         #block both\ny\n#endblock\n{\n    #use load a0, (k + 1u)\n}";
    assert_eq!(
        expand(block).unwrap(),
        "{\n    let a0 = (k + 1u);\n\n        y\n}\n"
    );
    for wrong in [
        "#for s COUNT\n$(s)",
        "#for s MANY\n#endfor",
        "#for s 1\n$(t)\n#endfor",
        "$(s)",
        "#for",
        "#endfor",
        "$(1 / 0)",
        "$(1 - 2)",
        "$(COUNT",
        "#for x y in a b, c\n#endfor",
        "#block b\n",
        "#block b x\n#endblock\n#use b",
        "#use b",
        "#if s < COUNT\n#endif",
    ] {
        assert!(expand(wrong).is_err(), "{wrong}");
    }
}

/// The variants in `shaders/expanded`, one of each generator, for readers.
const EXPANDED: [&str; 16] = [
    "ambient.f16.less.mask",
    "attention_matrix.f16.matrix.r64.d64.plain",
    "broadcast.f32.sub",
    "bsr_matmul.f32.h16",
    "bsr_matrix.f32.matrix.h16.s16",
    "conv_cached.f32.n256",
    "conv_fused.f32.large",
    "fft.c32.n32",
    "fft_bluestein.c32.n256",
    "fft_pass.c32.r64.halves",
    "fft_real.c32.n32",
    "fft_smooth.c32",
    "map_table.f32.exp",
    "matmul.f32.native.sets",
    "matmul.f32.t32",
    "matmul_matrix.f32.matrix.t32",
];

/// `VSLA_BLESS=1` writes them anew. A published package does not contain them.
#[test]
fn expansions_are_current() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders/expanded");
    let bless = std::env::var_os("VSLA_BLESS").is_some();
    if !bless && !folder.exists() {
        return;
    }
    let kernels = crate::ops::kernels();
    for name in EXPANDED {
        let (_, text) = kernels.iter().find(|(known, _)| known == name).unwrap();
        let file = folder.join(format!("{name}.wgsl"));
        if bless {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&file, text).unwrap();
        }
        let found = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(found == *text, "{name}: run this test with VSLA_BLESS=1");
    }
    let mut files = std::fs::read_dir(&folder).unwrap();
    assert!(files.all(|file| {
        let name = file.unwrap().file_name();
        EXPANDED
            .iter()
            .any(|known| name == *format!("{known}.wgsl"))
    }));
}
