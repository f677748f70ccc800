//! Assembles a kernel's WGSL source.
//!
//! The header has the kernel's name, and the constants that it shares with its planner.
//!
//! Flags are the variant's own, plus its element type (`F32`, `I32`, `U32`, `C32`, `F16`, `U8`). The header defines
//! `E`, the element type: for f16 and u8, the word that holds two or four values. The extensions that the flag `MATRIX`
//! requires come first.
//!
//! `#params` writes the parameter block and its binding, with the fields that the kernel's `params!` declares, all of
//! them u32; `#params scale: f32` gives one of them another type. `#main {` begins the entry point of workgroups of WG
//! invocations, `#main COUNT {` of COUNT: `group` is the index of the workgroup, and `lid` of the invocation in it.
//!
//! `#for s COUNT` .. `#endfor` writes lines once for each s below COUNT, and `$(s * STEP + 1)` in a line is a number:
//! names are the variable, the constants, and the numbers and texts of the variant. `#for x at in a row, b column`
//! writes them once for each pair of texts, which `$(x)` and `$(at)` stand for; an inner loop follows a `;`. `#block
//! load x k` .. `#endblock` names lines that `#use load a, k + 1u` writes, with these texts for its parameters. `##`
//! begins a comment that is not written. `#if` compares numbers or texts (`<`, `==`), or tests a flag.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::plan::{Field, Kernel, Listed};
use crate::ragged::DType;

/// The files of `shaders/lib`, by the name used in `#include "name"`.
macro_rules! library {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../../shaders/lib/", $name, ".wgsl")))),+]
    };
}

const LIBRARY: &[(&str, &str)] = library![
    "atan2",
    "attended",
    "best",
    "bytes",
    "cell_kind",
    "combine",
    "compare",
    "complex",
    "complex_quotient",
    "complex_size",
    "converted",
    "coop_stages",
    "coop_strips",
    "coop_tile",
    "element_lines",
    "ends",
    "entries",
    "erf",
    "exp",
    "factors",
    "fft_halves",
    "fft_items",
    "fft_values",
    "fixed_point",
    "gelu",
    "gelu_slope",
    "grid",
    "half_keys",
    "half_load",
    "half_round",
    "half_store",
    "held_words",
    "image",
    "line_groups",
    "line_statistics",
    "line_sums",
    "loads",
    "log",
    "log_sum_exp",
    "log_sum_exp2",
    "merges",
    "modes",
    "nan",
    "order",
    "packed",
    "pairs",
    "parents",
    "philox",
    "places4",
    "power",
    "powi",
    "prefix",
    "product",
    "quotient",
    "reduce",
    "register_tile",
    "remainder",
    "root_of_unity",
    "roots",
    "rounded",
    "rows",
    "scores",
    "search",
    "segments",
    "selected",
    "shifted",
    "sigmoid",
    "slopes",
    "softplus",
    "split_k",
    "tables",
    "taps",
    "trig",
    "units",
    "value_at",
    "wide_product",
    "window_keys",
];

/// The complete WGSL of a variant; the error says which directive is wrong.
pub(crate) fn assemble(kernel: &Kernel, v: &dyn Listed) -> Result<String, String> {
    let dtype_flag = v.dtype().name().to_uppercase();
    let mut flags: Vec<&str> = v.flags().into_owned();
    flags.push(&dtype_flag);
    let enabled = match flags.contains(&"MATRIX") {
        true => "enable f16;\nenable wgpu_cooperative_matrix;\n",
        false => "",
    };
    let mut out = format!(
        "// {}\n{enabled}alias E = {};\n",
        kernel.name(v),
        match v.dtype() {
            DType::C32 => "vec2<f32>",
            DType::F16 | DType::U8 => "u32",
            other => other.name(),
        }
    );
    let mut numbers: Vec<_> = kernel.constants.concat();
    numbers.extend(v.numbers());
    for (name, value) in &numbers {
        let _ = writeln!(out, "const {name} = {value}u;");
    }
    let mut expansion = Expansion {
        flags: &flags,
        variant: v,
        params: kernel.interface.params,
        names: {
            let numbers = numbers.into_iter();
            let numbers = numbers.map(|(name, value)| (name.to_owned(), value.to_string()));
            numbers.chain(v.texts()).collect()
        },
        blocks: Vec::new(),
        indent: 0,
        included: Vec::new(),
        out,
    };
    let lines: Vec<&str> = kernel.shader.source.lines().collect();
    expansion
        .expand(&lines)
        .map_err(|e| format!("{}.wgsl: {e}", kernel.shader.path))?;
    #[cfg(feature = "testing")]
    mutant::mutate(kernel.shader.stem, &flags, &mut expansion.out);
    Ok(expansion.out)
}

struct Expansion<'a> {
    flags: &'a [&'a str],
    variant: &'a dyn Listed,
    params: &'static [Field],
    /// The text of each name: numbers and texts of the variant, then names of the loops and blocks around a line, inner
    /// ones last.
    names: Vec<(String, String)>,
    blocks: Vec<Block<'a>>,
    /// Spaces before each line of the block in use.
    indent: usize,
    included: Vec<String>,
    out: String,
}

/// The lines between `#block` and `#endblock`.
#[derive(Clone)]
struct Block<'a> {
    name: String,
    parameters: Vec<String>,
    lines: Vec<&'a str>,
}

impl<'a> Expansion<'a> {
    fn expand(&mut self, lines: &[&'a str]) -> Result<(), String> {
        // One entry per open #if: whether the current branch is emitted.
        let mut open: Vec<bool> = Vec::new();
        let mut next = 0;
        while let Some(&line) = lines.get(next) {
            next += 1;
            let rest = &lines[next..];
            let skipped = self.line(line, rest, &mut open);
            next += skipped.map_err(|what| format!("line {next}: {what}"))?;
        }
        match open.is_empty() {
            true => Ok(()),
            false => Err("#if without #endif".to_owned()),
        }
    }

    /// Writes a line, or executes a directive. Returns how many of the following lines the directive has consumed.
    fn line(
        &mut self,
        line: &'a str,
        rest: &[&'a str],
        open: &mut Vec<bool>,
    ) -> Result<usize, String> {
        let off = open.contains(&false);
        let code = line.trim_start();
        if !code.starts_with('#') {
            // Directives may leave several empty lines; only one is written.
            let again = line.is_empty() && self.out.ends_with("\n\n");
            if !off && !again {
                let indent = if line.is_empty() { 0 } else { self.indent };
                let _ = writeln!(self.out, "{:indent$}{}", "", self.filled(line)?);
            }
            return Ok(0);
        }
        // A loop substitutes its own texts, once its names are known.
        let directive = if off || code.starts_with("#for ") {
            Cow::Borrowed(code)
        } else {
            self.filled(code)?
        };
        let (word, about) = directive.split_once(' ').unwrap_or((&directive, ""));
        let about = about.trim();
        let spaces = line.len() - code.len();
        match word {
            "#if" => open.push(!off && self.holds(about)?),
            "#else" => {
                let top = open.last_mut().ok_or("#else without #if")?;
                *top = !*top;
            }
            "#endif" => {
                open.pop().ok_or("#endif without #if")?;
            }
            "##" => {}
            _ if off => {}
            "#params" => self.params(about),
            "#main" => self.main(about)?,
            "#include" => self.include(about.trim_matches('"'))?,
            "#generate" => self.generate(about.trim_matches('"'), spaces)?,
            "#for" => {
                let body = body(rest, "#for", "#endfor")?;
                self.repeat(about, body)?;
                return Ok(body.len() + 1);
            }
            "#block" => {
                let body = body(rest, "#block", "#endblock")?;
                let mut words = about.split_whitespace().map(str::to_owned);
                self.blocks.push(Block {
                    name: words.next().ok_or("a block without a name")?,
                    parameters: words.collect(),
                    lines: body.to_vec(),
                });
                return Ok(body.len() + 1);
            }
            "#use" => self.use_block(about, spaces)?,
            other => return Err(format!("unknown directive {other}")),
        }
        Ok(0)
    }

    /// Whether a condition holds: `FLAG`, `!FLAG`, or a comparison of two numbers or texts.
    fn holds(&self, condition: &str) -> Result<bool, String> {
        let sides = |sign| {
            let (left, right) = condition.split_once(sign)?;
            Some((left.trim(), right.trim()))
        };
        if let Some((left, right)) = sides("==") {
            let known = self.value(left).zip(self.value(right));
            return Ok(known.map_or(left == right, |(left, right)| left == right));
        }
        if let Some((left, right)) = sides("<") {
            let known = self.value(left).zip(self.value(right));
            let (left, right) = known.ok_or_else(|| format!("{condition} compares no numbers"))?;
            return Ok(left < right);
        }
        Ok(match condition.strip_prefix('!') {
            Some(flag) => !self.flags.contains(&flag),
            None => self.flags.contains(&condition),
        })
    }

    /// Writes the parameter block, with the fields that Rust declares. All are u32, except for one `name: type`.
    fn params(&mut self, typed: &str) {
        self.out += "struct Params {\n    first_group: u32,\n    groups: u32,\n";
        self.fields(self.params, typed);
        self.out += "}\n\n@group(0) @binding(0) var<uniform> p: Params;\n";
    }

    /// Begins the entry point, whose workgroups have WG invocations unless another size is given.
    fn main(&mut self, about: &str) -> Result<(), String> {
        self.include("grid")?;
        let size = about.strip_suffix('{').ok_or("#main without {")?.trim();
        let size = if size.is_empty() { "WG" } else { size };
        let _ = writeln!(
            self.out,
            "@compute @workgroup_size({size})
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) count: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {{
    let group = group_index(wid, count);
    if group >= p.groups {{
        return;
    }}"
        );
        Ok(())
    }

    fn fields(&mut self, fields: &[Field], typed: &str) {
        for field in fields {
            match *field {
                Field::Of(fields) => self.fields(fields, typed),
                Field::Words(name, _) => {
                    let kind = typed
                        .strip_prefix(name)
                        .and_then(|rest| rest.strip_prefix(": "));
                    let _ = writeln!(self.out, "    {name}: {},", kind.unwrap_or("u32"));
                }
            }
        }
    }

    fn include(&mut self, name: &str) -> Result<(), String> {
        if self.included.iter().any(|included| included == name) {
            return Ok(());
        }
        let file = LIBRARY.iter().find(|(known, _)| *known == name);
        let (_, text) = file.ok_or_else(|| format!("no shaders/lib/{name}.wgsl"))?;
        self.included.push(name.to_owned());
        self.expand(&text.lines().collect::<Vec<_>>())
    }

    fn generate(&mut self, name: &str, spaces: usize) -> Result<(), String> {
        let text = self.variant.generate(name);
        let text = text.ok_or_else(|| format!("nothing generates {name}"))?;
        let mut inner = Expansion {
            names: Vec::new(),
            blocks: Vec::new(),
            included: std::mem::take(&mut self.included),
            out: std::mem::take(&mut self.out),
            ..*self
        };
        let text = indented(&text, spaces);
        inner.expand(&text.lines().collect::<Vec<_>>())?;
        (self.included, self.out) = (inner.included, inner.out);
        Ok(())
    }

    /// `name COUNT` counts; `x y in a b, c d` takes one text for each name at a time; after a `;` follows an inner
    /// loop.
    fn repeat(&mut self, loops: &str, body: &[&'a str]) -> Result<(), String> {
        let (outer, inner) = match loops.split_once(';') {
            Some((outer, inner)) => (outer, Some(inner.trim())),
            None => (loops, None),
        };
        let outer = self.filled(outer)?;
        let (names, all): (_, Vec<String>) = if let Some((names, all)) = outer.split_once(" in ") {
            (names, parts(all).map(str::to_owned).collect())
        } else {
            let (name, count) = outer.split_once(' ').ok_or("#for without a count")?;
            let number = self.value(count);
            let number = number.ok_or_else(|| format!("{count} is no number"))?;
            (name, (0..number).map(|value| value.to_string()).collect())
        };
        let names: Vec<String> = names.split_whitespace().map(str::to_owned).collect();
        for texts in all {
            self.with(&names, texts.splitn(names.len(), ' '), |with| match inner {
                Some(inner) => with.repeat(inner, body),
                None => with.expand(body),
            })?;
        }
        Ok(())
    }

    /// `name a, b` writes the lines of a block, with texts for its parameters.
    fn use_block(&mut self, about: &str, spaces: usize) -> Result<(), String> {
        let (name, texts) = about.split_once(' ').unwrap_or((about, ""));
        let block = self.blocks.iter().find(|block| block.name == name);
        let block = block.ok_or_else(|| format!("no block {name}"))?.clone();
        let texts = parts(texts);
        self.indent += spaces;
        self.with(&block.parameters, texts, |with| with.expand(&block.lines))?;
        self.indent -= spaces;
        Ok(())
    }

    /// Runs a closure while these names stand for these texts.
    fn with<'t>(
        &mut self,
        names: &[String],
        texts: impl Iterator<Item = &'t str>,
        then: impl FnOnce(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        let known = self.names.len();
        let texts = texts.map(str::to_owned);
        self.names.extend(names.iter().cloned().zip(texts));
        if self.names.len() != known + names.len() {
            return Err(format!("one text for each of {names:?}"));
        }
        then(self)?;
        self.names.truncate(known);
        Ok(())
    }

    /// A line with its `$(..)` substituted, inner ones first.
    fn filled<'b>(&self, line: &'b str) -> Result<Cow<'b, str>, String> {
        let mut line = Cow::Borrowed(line);
        while let Some(at) = line.rfind("$(") {
            let end = line[at..].find(')').ok_or("$( without )")? + at;
            let what = line[at + 2..end].trim();
            let text = match self.text(what) {
                Some(text) => text.to_owned(),
                None => {
                    let number = self.value(what);
                    number
                        .ok_or_else(|| format!("{what} is no number"))?
                        .to_string()
                }
            };
            line.to_mut().replace_range(at..=end, &text);
        }
        Ok(line)
    }

    fn text(&self, name: &str) -> Option<&str> {
        let known = self.names.iter().rev().find(|(known, _)| known == name);
        known.map(|(_, text)| text.as_str())
    }

    /// The value of an expression of numbers, and names of numbers, with `+`, `-`, `*`, `/` and `%`.
    fn value(&self, sum: &str) -> Option<u32> {
        // The last of the operators with the lowest precedence is applied last.
        for operators in [&['+', '-'][..], &['*', '/', '%']] {
            if let Some(at) = sum.rfind(operators) {
                let (left, right) = (self.value(&sum[..at])?, self.value(&sum[at + 1..])?);
                return match &sum[at..=at] {
                    "+" => left.checked_add(right),
                    "-" => left.checked_sub(right),
                    "*" => left.checked_mul(right),
                    "/" => left.checked_div(right),
                    _ => left.checked_rem(right),
                };
            }
        }
        let sum = sum.trim();
        self.text(sum).unwrap_or(sum).parse().ok()
    }
}

/// Generated lines, indented by their nesting in brackets and by `more`.
fn indented(text: &str, more: usize) -> String {
    let mut out = String::new();
    let mut depth = 0usize;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let leading = line.chars().take_while(|c| matches!(c, '}' | ')')).count();
        let count = |brackets: [char; 2]| line.matches(brackets).count();
        let _ = writeln!(
            out,
            "{:1$}{line}",
            "",
            more + 4 * depth.saturating_sub(leading)
        );
        depth = (depth + count(['{', '('])).saturating_sub(count(['}', ')']));
    }
    out
}

/// The texts between commas outside of parentheses.
fn parts(texts: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    let parts = texts.split(move |c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty())
}

/// The lines up to the `end` that matches a `begin` on the line before them.
fn body<'l, 'a>(lines: &'l [&'a str], begin: &str, end: &str) -> Result<&'l [&'a str], String> {
    let mut depth = 0;
    let length = lines.iter().position(|line| {
        let word = line.split_whitespace().next();
        depth += i32::from(word == Some(begin)) - i32::from(word == Some(end));
        depth < 0
    });
    let length = length.ok_or_else(|| format!("{begin} without {end}"))?;
    Ok(&lines[..length])
}

#[cfg(feature = "testing")]
pub(crate) mod mutant;

#[cfg(feature = "testing")]
mod tests;
