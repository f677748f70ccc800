//! Tests that the instrumentation covers every access of every kernel, and that it detects a faulty kernel.

use naga::valid::{Capabilities, ValidationFlags, Validator};
use naga::{Expression, Function, Handle, Statement};
use rayon::prelude::*;

use super::*;
use crate::gpu::tests::{Assembled, parsed, variants};
use crate::gpu::{Gpu, GpuInput, GpuOptions};
use crate::machine::Wait;
use crate::plan::{
    Dispatch, Interface, Kernel, Launch, Output, OutputLayout, Param, Prepared, Shader, Slot, Twin,
    Variant, params, slots,
};
use crate::ragged::{DType, Layout};

/// The array that this expression refers to, if it is in a buffer or in workgroup memory.
fn array_of(module: &Module, function: &Function, e: Handle<Expression>) -> Option<String> {
    let Expression::GlobalVariable(variable) = function.expressions[e] else {
        return None;
    };
    let variable = &module.global_variables[variable];
    let kept = matches!(
        variable.space,
        AddressSpace::Storage { .. } | AddressSpace::WorkGroup
    );
    let is_array = matches!(module.types[variable.ty].inner, TypeInner::Array { .. });
    (kept && is_array).then(|| variable.name.clone().unwrap_or_default())
}

/// The array, if this expression is a component of a vector in it, selected by a dynamic index.
fn component_of(module: &Module, function: &Function, base: Handle<Expression>) -> Option<String> {
    let (Expression::Access { base: of, .. } | Expression::AccessIndex { base: of, .. }) =
        function.expressions[base]
    else {
        return None;
    };
    let name = array_of(module, function, of)?;
    let variables = &module.global_variables;
    let (_, variable) = variables
        .iter()
        .find(|(_, v)| v.name.as_ref() == Some(&name))?;
    let TypeInner::Array { base, .. } = module.types[variable.ty].inner else {
        return None;
    };
    matches!(module.types[base].inner, TypeInner::Vector { .. }).then_some(name)
}

fn functions(module: &Module) -> impl Iterator<Item = &Function> {
    let entries = module.entry_points.iter().map(|entry| &entry.function);
    module.functions.iter().map(|(_, f)| f).chain(entries)
}

/// Counts the array indices in naga's parse of the source.
fn accesses(module: &Module) -> usize {
    let in_one = |function: &Function| {
        let is_access = |e: &Expression| match e {
            Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => {
                array_of(module, function, *base).is_some()
            }
            _ => false,
        };
        function
            .expressions
            .iter()
            .filter(|(_, e)| is_access(e))
            .count()
    };
    functions(module).map(in_one).sum()
}

/// The first array index that does not pass through one of our functions.
fn escaped(module: &Module) -> Option<String> {
    for function in functions(module) {
        if matches!(function.name.as_deref(), Some("note" | "note_compared")) {
            continue;
        }
        let compared = |index: Handle<Expression>, by: &[String]| {
            matches!(&function.expressions[index], Expression::CallResult(f)
                if module.functions[*f].name.as_ref().is_some_and(|name| by.contains(name)))
        };
        for (_, e) in function.expressions.iter() {
            let (base, index) = match *e {
                Expression::Access { base, index } => (base, Some(index)),
                Expression::AccessIndex { base, .. } => (base, None),
                _ => continue,
            };
            let place = array_of(module, function, base);
            let lane = component_of(module, function, base);
            let fine = match (&place, &lane, index) {
                (None, None, _) => true,
                (Some(name), _, Some(i)) => compared(
                    i,
                    &[format!("inside_{name}"), format!("first_inside_{name}")],
                ),
                (Some(_), _, None) => false,
                // `.x` and the like select a component of the vector, whatever its index was.
                (None, Some(_), None) => true,
                (None, Some(name), Some(i)) => compared(i, &[format!("component_of_{name}")]),
            };
            if !fine {
                return Some(format!("{:?} in {:?}", place.or(lane), function.name));
            }
        }
    }
    None
}

/// Counts the exits of an entry point that do not call `tell`.
fn silent_ends(module: &Module, body: &naga::Block) -> usize {
    let tells = |statement: Option<&Statement>| {
        matches!(statement, Some(Statement::Call { function, .. })
            if module.functions[*function].name.as_deref() == Some("tell"))
    };
    let inside = |block: &naga::Block| -> usize {
        let mut silent = 0;
        let mut blocks = vec![block];
        while let Some(block) = blocks.pop() {
            for (at, statement) in block.iter().enumerate() {
                match statement {
                    Statement::Return { .. } => {
                        silent += usize::from(!tells(block[..at].last()));
                    }
                    Statement::Block(inner) => blocks.push(inner),
                    Statement::If { accept, reject, .. } => blocks.extend([accept, reject]),
                    Statement::Loop {
                        body, continuing, ..
                    } => blocks.extend([body, continuing]),
                    Statement::Switch { cases, .. } => {
                        blocks.extend(cases.iter().map(|case| &case.body));
                    }
                    _ => {}
                }
            }
        }
        silent
    };
    // naga ends the body with an implicit return.
    inside(body)
}

fn check(kernel: &Assembled) -> Instrumented {
    let Assembled { name, text, .. } = kernel;
    let before = kernel.module();
    let made = instrumented(text, before, 9, 5).unwrap_or_else(|e| panic!("{name}: {e}"));
    let after = parsed(name, &made.text);
    Validator::new(ValidationFlags::all(), Capabilities::all())
        .validate(&after)
        .unwrap_or_else(|e| panic!("{}", e.emit_to_string_with_path(&made.text, name)));
    assert_eq!(
        made.accesses,
        accesses(before),
        "{name}: an access was missed"
    );
    assert_eq!(escaped(&after), None, "{name}");
    assert!(escaped(before).is_some(), "{name} reads no array at all");
    let main = &after.entry_points[0].function.body;
    assert!(
        silent_ends(&after, main) == 0,
        "{name} ends without a report"
    );
    made
}

#[apply(unit_test)]
fn no_access_of_any_kernel_escapes() {
    let kernels = variants().par_iter().map(check);
    let counts = kernels.map(|made| [made.accesses, 1 + made.arrays.len()]);
    let [all, records] = counts.reduce(|| [0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
    assert!(all > 10_000, "{all} accesses");
    assert!(records <= RECORDS, "{records} records");
}

slots! {
    struct Slots { y: Write, x: Read }
}

params! {
    struct Params { total }
}

/// Kernels that access out of bounds, each in one way, in one invocation of many.
static BROKEN: Kernel = Kernel {
    shader: Shader {
        stem: "broken",
        path: "broken",
        source: "
struct Params { first_group: u32, groups: u32, total: u32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<storage, read> x: array<vec4<f32>>;
var<workgroup> sh_seen: array<f32, 64>;
@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) lid: u32) {
    sh_seen[lid] = 1.0;
    workgroupBarrier();
    let quads = (p.total + 3u) / 4u;
    if lid >= p.total {
        return;
    }
#if LOADS
    y[lid] = x[lid / 4u + u32(lid + 1u == p.total)].x;
#else
#if STORES
    y[lid + 4u * u32(lid == p.total - 1u)] = x[lid / 4u][lid % 4u];
#else
#if COMPONENTS
    y[lid] = x[lid / 4u][lid % 4u + 4u * u32(lid == 0u)];
#else
#if NEGATIVE
    let q = i32(lid / 4u);
    y[lid] = x[q - i32(lid == 0u)][lid % 4u];
#else
#if SHARED
    y[lid] = x[lid / 4u][lid % 4u] * sh_seen[lid + 64u * u32(lid == 1u)];
#else
    y[lid] = x[lid / 4u][lid % 4u] * sh_seen[lid];
#endif
#endif
#endif
#endif
#endif
}
",
    },
    interface: Interface::of::<Slots, Params>(),
    constants: &[],
    variants: &[
        broken(&[]),
        broken(&["LOADS"]),
        broken(&["STORES"]),
        broken(&["COMPONENTS"]),
        broken(&["NEGATIVE"]),
        broken(&["SHARED"]),
    ],
};

const fn broken(flags: &'static [&'static str]) -> Variant {
    Variant::of(DType::F32, flags)
}

/// Opens a GPU with these options, and uploads thirteen values of 0.5.
///
/// They take four quads, which end before the buffer's size class does.
fn opened(options: &GpuOptions) -> Option<(Gpu, Arc<GpuBuffer>, Layout)> {
    let gpu = match pollster::block_on(crate::gpu::open(options)) {
        Ok(gpu) => gpu,
        Err(_) if std::env::var_os("VSLA_REQUIRE_GPU").is_none() => return None,
        Err(error) => panic!("{error}"),
    };
    let layout = Layout::from_lengths([13]).unwrap();
    let values = [0.5f32; 13];
    let bytes = bytemuck::cast_slice(&values);
    let input = gpu.upload("broken", &layout, DType::F32, bytes).unwrap();
    Some((gpu, input, layout))
}

/// Runs a variant of the broken kernel like any other kernel: assembled, instrumented, compiled and bound.
fn run(gpu: &Gpu, variant: usize, input: &Arc<GpuBuffer>, layout: &Layout) -> Arc<GpuBuffer> {
    let launch = Launch {
        op: "broken",
        outputs: vec![Output::new(DType::F32, OutputLayout::Input(0))],
        scratch: Vec::new(),
        dispatches: vec![Dispatch::new(
            (&BROKEN, variant),
            Slots {
                y: Slot::Output(0),
                x: Slot::Input(0),
            },
            Params {
                total: Param::U32(layout.total() as u32),
            },
            1,
            1,
        )],
        work: 1,
        pairs: None,
        twin: Twin::new(|_| ()),
    };
    let input = GpuInput {
        buffer: input,
        base: 0,
        layout,
    };
    gpu.run(&launch, &Prepared::default(), &[input], &[])
        .unwrap()
        .remove(0)
        .0
}

#[apply(unit_test)]
fn kernels_that_reach_outside_are_caught() {
    let options = GpuOptions {
        instrumented: true,
        ..GpuOptions::default()
    };
    let Some((gpu, input, layout)) = opened(&options) else {
        return;
    };
    let counted = |variant: usize| {
        run(&gpu, variant, &input, &layout);
        gpu.accesses_outside().unwrap()
    };
    assert_eq!(gpu.instrumented_kernels(), [""; 0]);
    assert_eq!(counted(0), [""; 0], "a kernel that keeps inside");
    assert_eq!(gpu.instrumented_kernels(), ["broken.f32"]);
    for (variant, expected) in [
        (
            1,
            "broken.f32.loads: x: 1 invocations outside, up to index 4 of 4",
        ),
        (
            2,
            "broken.f32.stores: y: 1 invocations outside, up to index 16 of 16",
        ),
        (
            3,
            "broken.f32.components: a component of x: 1 invocations outside, up to index 4 of 4",
        ),
        (
            4,
            "broken.f32.negative: x: 1 invocations outside, up to index 4294967295 of 4",
        ),
        (
            5,
            "broken.f32.shared: sh_seen: 1 invocations outside, up to index 65 of 64",
        ),
    ] {
        assert_eq!(counted(variant), [expected]);
        assert_eq!(counted(0), [""; 0], "each access is reported once");
    }
    // The same buffers, reused with another size, end at that size.
    let before = input.id;
    drop(input);
    let layout = Layout::from_lengths([17]).unwrap();
    let bytes = bytemuck::cast_slice(&[0.5f32; 17]);
    let input = gpu.upload("broken", &layout, DType::F32, bytes).unwrap();
    assert_eq!(input.id, before, "a different buffer was used");
    run(&gpu, 1, &input, &layout);
    assert_eq!(
        gpu.accesses_outside().unwrap(),
        ["broken.f32.loads: x: 1 invocations outside, up to index 5 of 5"]
    );
}

/// Outside workgroup memory, a checked shader reads the last value. Outside a buffer, it reads the last value or 0, and
/// writes the last value or nothing.
#[apply(unit_test)]
fn checked_shaders_stay_inside() {
    let options = GpuOptions {
        checked: true,
        // Bindings end where the data ends.
        poison: true,
        ..GpuOptions::default()
    };
    let Some((gpu, input, layout)) = opened(&options) else {
        return;
    };
    // In the memory of a larger tensor, whose values lie beyond the end.
    let more = Layout::from_lengths([64]).unwrap();
    let before = bytemuck::cast_slice(&[7.0f32; 64]);
    drop(input);
    let larger = gpu.upload("broken", &more, DType::F32, before).unwrap();
    let id = larger.id;
    drop(larger);
    let bytes = bytemuck::cast_slice(&[0.5f32; 13]);
    let input = gpu.upload("broken", &layout, DType::F32, bytes).unwrap();
    assert_eq!(input.id, id, "another buffer was taken");
    let values = |variant| {
        let result = run(&gpu, variant, &input, &layout);
        let mut values = [0.0f32; 13];
        let to = bytemuck::cast_slice_mut(&mut values);
        pollster::block_on(gpu.read_into("broken", &result, 0, to, Wait::Here)).unwrap();
        values
    };
    assert_eq!(values(0), [0.5; 13], "a kernel that keeps inside");
    assert_eq!(values(5), [0.5; 13]);
    let loaded = values(1);
    assert_eq!(loaded[..12], [0.5; 12]);
    assert!([0.0, 0.5].contains(&loaded[12]), "{loaded:?}");
    assert_eq!(values(2)[..12], [0.5; 12]);
}
