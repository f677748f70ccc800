//! Instrumented kernels: every index into a buffer or workgroup memory is checked against the length of its array.
//!
//! Out-of-bounds accesses are counted, and the tests require every count to be 0. So that this proves something, each
//! kernel also records that its invocations compared accesses.
//!
//! The kernel's source is rewritten: `x[i]` becomes `x[inside_x(u32(i))]`. The function records the largest
//! out-of-bounds index and returns the nearest valid one. It has no branch, and the count is updated once, when the
//! invocation ends: transforms are straight-line code of thousands of lines, and software drivers would take minutes to
//! compile a branch at every index. The variables and their lengths come from the parsed module, so none is missed. A
//! test parses the rewritten source and verifies that no access is missed either.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use naga::{AddressSpace, ArraySize, Module, TypeInner};

use super::errors::Health;
use super::pool::{GpuBuffer, Pool};
use super::wgsl_text::{bracketed, next_word, without_comments};
use crate::{Error, Result};

/// Words per record: the number of invocations that were out of bounds, their largest index, and the length of the
/// array at that time. A kernel's first record is 1 once an invocation has compared an access.
const RECORD: usize = 3;
/// Capacity in records: one for each kernel, and one for each of its arrays.
const RECORDS: usize = 32_768;

/// The counters of an instrumented device.
pub(crate) struct Watch {
    pub buffer: Arc<GpuBuffer>,
    /// `kernel: array` of each record, and the kernel alone of its first one.
    places: Mutex<Vec<String>>,
    /// The kernels whose accesses were compared.
    ran: Mutex<BTreeSet<String>>,
}

impl Watch {
    pub(crate) fn new(health: &Health, pool: &Arc<Pool>) -> Result<Watch> {
        use wgpu::BufferUsages as Use;
        let raw = health.caught("device", || {
            health.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("vsla accesses outside"),
                size: (RECORDS * RECORD * 4) as u64,
                usage: Use::STORAGE | Use::COPY_SRC | Use::COPY_DST,
                mapped_at_creation: false,
            })
        })?;
        Ok(Watch {
            buffer: pool.lend(raw),
            places: Mutex::default(),
            ran: Mutex::default(),
        })
    }

    /// Rewrites the source of kernel `name` so that it counts in this device's records, bound at `binding`.
    pub(crate) fn instrument(
        &self,
        op: &'static str,
        name: &str,
        source: &str,
        binding: usize,
    ) -> Result<String> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let parsed = naga::front::wgsl::parse_str(source).map_err(|e| e.emit_to_string(source));
        let made = parsed
            .and_then(|module| instrumented(source, &module, binding, places.len()))
            .and_then(|made| match places.len() + made.arrays.len() < RECORDS {
                true => Ok(made),
                false => Err("more arrays than records".to_owned()),
            })
            .map_err(|message| {
                Error::gpu(
                    op,
                    format!("kernel {name} cannot be instrumented: {message}"),
                )
            })?;
        places.push(name.to_owned());
        places.extend(made.arrays.iter().map(|array| format!("{name}: {array}")));
        Ok(made.text)
    }

    /// The kernels whose accesses were compared, according to all records read so far.
    pub(crate) fn kernels(&self) -> Vec<String> {
        let ran = self.ran.lock().unwrap_or_else(PoisonError::into_inner);
        ran.iter().cloned().collect()
    }

    /// Formats the records, one line per array that was accessed out of bounds, and keeps which kernels ran.
    pub(crate) fn lines(&self, records: &[u32]) -> Vec<String> {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let both = || places.iter().zip(records.chunks_exact(RECORD));
        let is_kernel = |place: &str| !place.contains(':');
        let ran = both().filter(|(place, record)| is_kernel(place) && record[0] > 0);
        let mut compared = self.ran.lock().unwrap_or_else(PoisonError::into_inner);
        compared.extend(ran.map(|(place, _)| place.clone()));
        let line = |(place, record): (&String, &[u32])| {
            (record[0] > 0 && !is_kernel(place)).then(|| {
                format!(
                    "{place}: {} invocations outside, up to index {} of {}",
                    record[0], record[1], record[2]
                )
            })
        };
        both().filter_map(line).collect()
    }
}

/// Words of all records.
pub(crate) const RECORD_WORDS: usize = RECORDS * RECORD;

struct Instrumented {
    text: String,
    /// The subject of each record but the kernel's own, in order: an array, or the components of its vectors.
    arrays: Vec<String>,
    /// Number of rewritten array indices, not counting component indices.
    accesses: usize,
}

/// A variable whose indices are checked.
struct Array {
    name: String,
    /// Its length in values, as an expression.
    length: String,
    /// Components per value; 0 if the values are not vectors.
    components: u32,
    used: bool,
    /// Whether cooperative matrices are loaded from it or stored to it.
    of_matrices: bool,
}

/// Rewrites a source, which `module` is the parse of.
fn instrumented(
    source: &str,
    module: &Module,
    binding: usize,
    first: usize,
) -> Result<Instrumented, String> {
    let arrays = module.global_variables.iter().filter_map(|(_, variable)| {
        let TypeInner::Array { base, size, .. } = module.types[variable.ty].inner else {
            return None;
        };
        let name = variable.name.clone()?;
        let length = match (variable.space, size) {
            (AddressSpace::Storage { .. }, ArraySize::Dynamic) => format!("arrayLength(&{name})"),
            (AddressSpace::WorkGroup, ArraySize::Constant(length)) => format!("{length}u"),
            _ => return None,
        };
        let components = match module.types[base].inner {
            TypeInner::Vector { size, .. } => size as u32,
            _ => 0,
        };
        Some(Array {
            name,
            length,
            components,
            used: false,
            of_matrices: false,
        })
    });
    let mut rewriter = Rewriter {
        arrays: arrays.collect(),
        accesses: 0,
    };
    let code = without_comments(source);
    let mut text = telling_at_the_end(&rewriter.rewritten(&code)?)?;
    let mut made = Vec::new();
    let mut told = String::new();
    let mut keeps = |text: &mut String, of: &str, length: &str, what: String| {
        let record = first + 1 + made.len();
        made.push(what);
        let _ = writeln!(
            text,
            "var<private> furthest_{of}: u32;\n\
             fn {of}(i: u32) -> u32 {{\n\
                 compared = 1u;\n\
                 let last = {length} - 1u;\n\
                 furthest_{of} = max(furthest_{of}, select(0u, i, i > last));\n\
                 return min(i, last);\n\
             }}"
        );
        let _ = writeln!(told, "note({record}u, furthest_{of}, {length});");
    };
    for array in rewriter.arrays.iter().filter(|array| array.used) {
        let Array { name, length, .. } = array;
        keeps(&mut text, &format!("inside_{name}"), length, name.clone());
        if array.components > 0 {
            let (of, components) = (format!("component_of_{name}"), array.components);
            let what = format!("a component of {name}");
            keeps(&mut text, &of, &format!("{components}u"), what);
        }
        if array.of_matrices {
            // An index that wraps around is out of bounds, too.
            let _ = writeln!(
                text,
                "fn first_inside_{name}(i: u32, more: u32) -> u32 {{\n\
                     let end = inside_{name}(select(i + more, 0xffffffffu, i + more < i));\n\
                     return end - min(end, more);\n\
                 }}"
            );
        }
    }
    let own = RECORD * first;
    let _ = writeln!(
        text,
        "@group(0) @binding({binding}) var<storage, read_write> outside: array<atomic<u32>>;\n\
         var<private> compared: u32;\n\
         fn note_compared() {{\n\
             if compared > atomicLoad(&outside[{own}u]) {{\n\
                 atomicStore(&outside[{own}u], 1u);\n\
             }}\n\
         }}\n\
         fn note(record: u32, furthest: u32, length: u32) {{\n\
             if furthest > 0u {{\n\
                 atomicAdd(&outside[{RECORD}u * record], 1u);\n\
                 atomicMax(&outside[{RECORD}u * record + 1u], furthest);\n\
                 atomicMax(&outside[{RECORD}u * record + 2u], length);\n\
             }}\n\
         }}\n\
         fn tell() {{\nnote_compared();\n{told}}}"
    );
    Ok(Instrumented {
        text,
        arrays: made,
        accesses: rewriter.accesses,
    })
}

/// Makes the entry point call `tell` at every exit.
fn telling_at_the_end(text: &str) -> Result<String, String> {
    let missing = || "there is no fn main".to_owned();
    let (before, main) = text.split_once("fn main(").ok_or_else(missing)?;
    let begin = main.find(") {").ok_or_else(missing)? + 2;
    let (mut depth, mut end) = (0, None);
    for (at, c) in main[begin..].char_indices() {
        depth += match c {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        if depth == 0 {
            end = Some(begin + at);
            break;
        }
    }
    let end = end.ok_or("main never ends")?;
    let body = main[begin..end].replace("return;", "{ tell(); return; }");
    let (head, after) = (&main[..begin], &main[end..]);
    // No statement may follow a return.
    let last = match body.trim_end().ends_with("{ tell(); return; }") {
        true => "",
        false => "tell();\n",
    };
    Ok(format!("{before}fn main({head}{body}{last}{after}"))
}

struct Rewriter {
    arrays: Vec<Array>,
    accesses: usize,
}

impl Rewriter {
    fn rewritten(&mut self, text: &str) -> Result<String, String> {
        let mut out = String::with_capacity(2 * text.len());
        let mut rest = text;
        while let Some((before, word, after)) = next_word(rest) {
            out += before;
            rest = after;
            let member = out.trim_end().ends_with('.');
            let found = self.arrays.iter().position(|array| array.name == word);
            let (Some(array), true) = (found, rest.starts_with('[') && !member) else {
                out += word;
                continue;
            };
            self.accesses += 1;
            self.arrays[array].used = true;
            let (index, after) = bracketed(rest)?;
            let index = self.rewritten(index)?;
            // The number of values that a matrix spans after its first follows from its side and its row stride.
            let more = match out.trim_end().ends_with('&') {
                true => matrix_behind(&out, after, self.arrays[array].components.max(1))?,
                false => None,
            };
            self.arrays[array].of_matrices |= more.is_some();
            out += &match more {
                Some(more) => format!("{word}[first_inside_{word}(u32({index}), {more})]"),
                None => format!("{word}[inside_{word}(u32({index}))]"),
            };
            rest = after;
            if rest.starts_with('[') && self.arrays[array].components > 0 {
                let (index, after) = bracketed(rest)?;
                let index = self.rewritten(index)?;
                out += &format!("[component_of_{word}(u32({index}))]");
                rest = after;
            }
        }
        out += rest;
        Ok(out)
    }
}

/// How many values after the first a cooperative matrix accesses, as an expression.
///
/// The pointer to the first value is between these two texts. `None` if there is no matrix.
fn matrix_behind(before: &str, after: &str, per: u32) -> Result<Option<String>, String> {
    let statement = before
        .rfind([';', '{', '}'])
        .map_or(before, |at| &before[at..]);
    let last_of = |stride: &str| Some(format!("(SIDE - 1u) * ({stride}) + SIDE / {per}u - 1u"));
    if statement.contains("coopLoad") {
        let stride = after.trim_start().strip_prefix(',');
        let stride = stride.and_then(|stride| stride.split(')').next());
        return Ok(last_of(
            stride.ok_or("a matrix is loaded without a stride")?,
        ));
    }
    if statement.contains("let ") && statement.ends_with(" = &") {
        let until = after.split("coopStore").next();
        let stride = until.and_then(|until| until.split("let stride = ").nth(1));
        let stride = stride.and_then(|stride| stride.split(';').next());
        return Ok(last_of(
            stride.ok_or("a pointer to which no matrix is stored")?,
        ));
    }
    Ok(None)
}

#[cfg(feature = "testing")]
mod tests;
