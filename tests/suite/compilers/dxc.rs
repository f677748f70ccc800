//! Microsoft's compiler for Direct3D 12, DXC: every kernel, as naga translates it to HLSL, becomes DXIL.

use std::ffi::c_void;
use std::process::Command;
use std::ptr::{null, null_mut};

use libloading::{Library, Symbol};
use naga::back::hlsl;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use rayon::prelude::*;
use vsla::device::kernels;

use super::is_portable;
use crate::host::TASK;

/// The path of the library, of the version that `.ci/run` downloads: tables of functions differ between versions.
pub const LIBRARY: &str = "VSLA_DXC";
/// The task of the process that compiles.
pub const COMPILE: &str = "dxc";

/// Compiles in a process of its own, which a crash of the compiler ends.
pub fn every_kernel(library: &str) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(TASK, COMPILE).env(LIBRARY, library);
    let output = command.output().unwrap();
    let [said, complained] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success(), "{said}{complained}");
    let compiled: usize = said.trim().parse().unwrap();
    let kernels = kernels();
    let expected = kernels.iter().filter(|(_, source)| is_portable(source));
    assert_eq!(compiled, expected.count());
}

/// Prints how many kernels compiled, and what is wrong with the others.
pub fn compile() {
    let compiler = Compiler::load(&std::env::var(LIBRARY).unwrap());
    let kernels = kernels();
    let portable: Vec<_> = kernels
        .iter()
        .filter(|(_, source)| is_portable(source))
        .collect();
    let wrong: Vec<String> = portable
        .par_iter()
        .filter_map(|(name, source)| {
            let why = match compiler.compile(&translated(name, source)) {
                Ok(code) if code.starts_with(b"DXBC") => return None,
                Ok(code) => format!("{} bytes that are no program", code.len()),
                Err(why) => why,
            };
            Some(format!("{name}: {why}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("{}", portable.len());
}

/// HLSL, without runtime checks.
fn translated(name: &str, source: &str) -> String {
    let module = naga::front::wgsl::parse_str(source)
        .unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(source)));
    let capabilities = Capabilities::SHADER_FLOAT16_IN_FLOAT32 | Capabilities::SHADER_FLOAT16;
    let info = Validator::new(ValidationFlags::all(), capabilities)
        .validate(&module)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let options = hlsl::Options {
        shader_model: hlsl::ShaderModel::V6_0,
        fake_missing_bindings: true,
        zero_initialize_workgroup_memory: false,
        force_loop_bounding: false,
        restrict_indexing: false,
        ..Default::default()
    };
    let entry = hlsl::PipelineOptions {
        entry_point: Some((naga::ShaderStage::Compute, "main".to_owned())),
    };
    let mut text = String::new();
    hlsl::Writer::new(&mut text, &options, &entry)
        .write(&module, &info, None)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    text
}

/// The library, which makes objects of Microsoft's component object model (COM).
struct Compiler(Library);

#[repr(C)]
struct Guid(u32, u16, u16, [u8; 8]);

static CLASS: Guid = Guid(
    0x73e2_2d93,
    0xe6ce,
    0x47f3,
    [0xb5, 0xbf, 0xf0, 0x66, 0x4f, 0x39, 0xc1, 0xb0],
);
/// `IDxcCompiler3`.
static COMPILER: Guid = Guid(
    0x228b_4687,
    0x5a6a,
    0x4730,
    [0x90, 0x0c, 0x97, 0x02, 0xb2, 0x20, 0x3f, 0x54],
);
/// `IDxcResult`.
static RESULT: Guid = Guid(
    0x5834_6cda,
    0xdde7,
    0x4497,
    [0x94, 0x61, 0x6f, 0x87, 0xaf, 0x5e, 0x06, 0x59],
);

#[repr(C)]
struct Source {
    text: *const u8,
    bytes: usize,
    encoding: u32,
}

const UTF8: u32 = 65_001;

type Create = unsafe extern "C" fn(*const Guid, *const Guid, *mut *mut c_void) -> i32;
/// `IDxcCompiler3::Compile`: the source, arguments, how many, no includes, the type of the result, and the result.
type Compile = unsafe extern "C" fn(
    *mut c_void,
    *const Source,
    *const *const u32,
    u32,
    *mut c_void,
    *const Guid,
    *mut *mut c_void,
) -> i32;

/// An object with a table of functions. Its first five are those of `IUnknown`: a query, two counters, and on Linux two
/// destructors.
struct Object(*mut c_void);

const RELEASE: usize = 2;
const FIRST: usize = 5;

#[allow(unsafe_code, reason = "the library's functions are called directly")]
impl Object {
    /// # Safety
    /// Function `at` of the object must be of this type.
    unsafe fn function<F: Copy>(&self, at: usize) -> F {
        // SAFETY: an object begins with a pointer to its table.
        unsafe { *(*self.0.cast::<*const F>()).add(at) }
    }

    /// The bytes of an `IDxcBlob`.
    fn bytes(&self) -> Vec<u8> {
        // SAFETY: a blob has a pointer to its bytes, and their number.
        unsafe {
            let begin: unsafe extern "C" fn(*mut c_void) -> *const u8 = self.function(FIRST);
            let size: unsafe extern "C" fn(*mut c_void) -> usize = self.function(FIRST + 1);
            match size(self.0) {
                0 => Vec::new(),
                size => std::slice::from_raw_parts(begin(self.0), size).to_vec(),
            }
        }
    }

    /// What a function of an `IDxcResult` returns: a blob.
    fn blob(&self, at: usize) -> Vec<u8> {
        // SAFETY: these functions return a status and a new reference to a blob, if there is one.
        unsafe {
            let get: unsafe extern "C" fn(*mut c_void, *mut *mut c_void) -> i32 = self.function(at);
            let mut blob = null_mut();
            match (get(self.0, &raw mut blob), blob.is_null()) {
                (0, false) => Object(blob).bytes(),
                _ => Vec::new(),
            }
        }
    }
}

#[allow(unsafe_code, reason = "the library's functions are called directly")]
impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: the object is not used again.
        unsafe {
            let release: unsafe extern "C" fn(*mut c_void) -> u32 = self.function(RELEASE);
            release(self.0);
        }
    }
}

#[allow(unsafe_code, reason = "the library's functions are called directly")]
impl Compiler {
    fn load(path: &str) -> Compiler {
        // SAFETY: the library's initializers have no requirements.
        Compiler(unsafe { Library::new(path) }.unwrap())
    }

    /// The program, or what the compiler complains about.
    fn compile(&self, text: &str) -> Result<Vec<u8>, String> {
        // `wchar_t` has 32 bits on Linux.
        let arguments = [
            "-E",
            "main",
            "-T",
            "cs_6_0",
            "-HV",
            "2018",
            "-Vd",
            "-no-warnings",
        ];
        let arguments = arguments.map(|argument| {
            let end = std::iter::once(0);
            argument
                .chars()
                .map(u32::from)
                .chain(end)
                .collect::<Vec<u32>>()
        });
        let pointers = arguments.each_ref().map(|argument| argument.as_ptr());
        let source = Source {
            text: text.as_ptr(),
            bytes: text.len(),
            encoding: UTF8,
        };
        // SAFETY: the library's functions have these types, and what they are given lives until they return.
        unsafe {
            let create: Symbol<'_, Create> = self.0.get(b"DxcCreateInstance").unwrap();
            let mut compiler = null_mut();
            let status = create(&raw const CLASS, &raw const COMPILER, &raw mut compiler);
            assert_eq!(status, 0, "no compiler of this version");
            let compiler = Object(compiler);
            let compile: Compile = compiler.function(FIRST);
            let mut result = null_mut();
            let status = compile(
                compiler.0,
                &raw const source,
                pointers.as_ptr(),
                pointers.len() as u32,
                null::<c_void>().cast_mut(),
                &raw const RESULT,
                &raw mut result,
            );
            assert_eq!(status, 0, "no result");
            let result = Object(result);
            let succeeded: unsafe extern "C" fn(*mut c_void, *mut i32) -> i32 =
                result.function(FIRST);
            let mut status = -1;
            succeeded(result.0, &raw mut status);
            match status {
                0 => Ok(result.blob(FIRST + 1)),
                _ => Err(String::from_utf8_lossy(&result.blob(FIRST + 2)).into_owned()),
            }
        }
    }
}
