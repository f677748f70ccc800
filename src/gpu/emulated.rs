//! Emulated cooperative matrices, for tests on devices that have none.
//!
//! The kernel's source is rewritten into plain WGSL. The lanes of a subgroup, which is a run of consecutive
//! invocations, share the values of a matrix that sums are added to; each lane also keeps the row of a left factor and
//! the columns of a right factor that its sums need. As in the original, only workgroup memory is exchanged between
//! invocations, so a barrier that is missing there is missing here, too. Emulated kernels are many times slower than
//! others.
//!
//! All of an invocation's matrices are parts of one array, loops have bounds that compilers do not know, and
//! consecutive operations of one kind are a loop over a queue. Otherwise, kernels would take minutes to compile.

use std::fmt::Write as _;

use super::wgsl_text::{bracketed, is_of_word, next_word, without_comments};
use crate::plan::Matrices;

/// Lanes of a subgroup. Kernels for matrices of 8 × 8 support subgroups of fewer than 32.
const fn lanes(matrices: Matrices) -> u32 {
    match matrices {
        Matrices::Eight => 16,
        Matrices::Sixteen => 32,
    }
}

/// Rewrites a kernel, or returns it unchanged if it has no matrices.
pub(super) fn emulated(source: &str, matrices: Matrices) -> Result<String, String> {
    const ENABLE: &str = "enable wgpu_cooperative_matrix;\n";
    if !source.contains(ENABLE) {
        return Ok(source.to_owned());
    }
    let lanes = lanes(matrices);
    let mut emulation = Emulation {
        side: matrices.side(),
        lanes,
        types: Vec::new(),
        quads: Vec::new(),
        pointers: Vec::new(),
        places: Vec::new(),
        room: 0,
        functions: Vec::new(),
    };
    let code = without_comments(&source.replace(ENABLE, ""));
    let code = emulation.without_types(&code)?;
    let (code, longest) = queued(&emulation.rewritten(&code)?)?;
    let code = with_lanes(&code, lanes)?;
    Ok(code + &emulation.functions.concat() + &emulation.last(longest))
}

struct Emulation {
    side: u32,
    lanes: u32,
    /// The types of matrices, and their roles: A, B or C.
    types: Vec<(String, char)>,
    /// The arrays whose values are vectors of four.
    quads: Vec<String>,
    /// The pointers to where matrices are stored, and the arrays that they point into.
    pointers: Vec<(String, String)>,
    /// Where each variable's values are among an invocation's. Variables of the same name have the same place.
    places: Vec<(String, u32)>,
    room: u32,
    functions: Vec<String>,
}

impl Emulation {
    /// Values of a sum that a lane has: a part of one row.
    fn own(&self) -> u32 {
        self.side * self.side / self.lanes
    }

    /// The number of values of a matrix that a lane keeps.
    fn values(&self, role: char) -> u32 {
        match role {
            'A' => self.side,
            'B' => self.side * self.own(),
            _ => self.own(),
        }
    }

    /// Removes `alias MA = coop_mat16x16<f16, A>;` and the like, and takes note of types.
    fn without_types(&mut self, code: &str) -> Result<String, String> {
        let mut kept = String::with_capacity(code.len());
        for line in code.lines() {
            if let Some((name, kind)) = line
                .strip_prefix("alias ")
                .and_then(|rest| rest.split_once(" = coop_mat"))
            {
                let wrong = || format!("not a type of matrices of side {}: {line}", self.side);
                let (side, rest) = kind.split_once('x').ok_or_else(wrong)?;
                let role = rest.split(", ").nth(1).and_then(|role| role.chars().next());
                if side.parse() != Ok(self.side) {
                    return Err(wrong());
                }
                let role = role.ok_or_else(wrong)?;
                self.types.push((name.to_owned(), role));
                continue;
            }
            if let Some((name, kind)) = line
                .strip_prefix("var<workgroup> ")
                .and_then(|rest| rest.split_once(": array<"))
                && kind.starts_with("vec4<")
            {
                self.quads.push(name.to_owned());
            }
            kept += line;
            kept.push('\n');
        }
        Ok(kept)
    }

    fn role(&self, kind: &str) -> Option<char> {
        let found = self.types.iter().find(|(name, _)| name == kind);
        found.map(|(_, role)| *role)
    }

    fn rewritten(&mut self, text: &str) -> Result<String, String> {
        let mut out = String::with_capacity(2 * text.len());
        let mut rest = text;
        while let Some((before, word, after)) = next_word(rest) {
            out += before;
            rest = match word {
                "coopLoad" | "coopLoadT" => self.load(word, after, &mut out)?,
                "coopStore" | "coopStoreT" => self.store(word, after, &mut out)?,
                "coopMultiplyAdd" => product(after, &mut out)?,
                "let" => self.pointer(after, &mut out)?,
                _ => match self.role(word) {
                    Some(role) => self.zeros(role, after, &mut out)?,
                    None => {
                        out += word;
                        after
                    }
                },
            };
        }
        out += rest;
        Ok(out)
    }

    /// Writes the declaration of a matrix, or nothing if it was declared before, and returns its name.
    fn declared(&mut self, role: char, out: &mut String) -> Result<String, String> {
        let to = assigned(out)?;
        let Some((_, name)) = to.split_once(' ') else {
            return Ok(to);
        };
        let name = name.trim().to_owned();
        let found = self.places.iter().find(|(other, _)| *other == name);
        let place = match found {
            Some((_, place)) => *place,
            None => {
                let place = self.room;
                self.room += self.values(role);
                self.places.push((name.clone(), place));
                place
            }
        };
        let _ = writeln!(out, "let {name} = {place}u;");
        Ok(name)
    }

    /// `let m = coopLoad<MA>(&x[i], stride)` becomes `let m = 0u; emulated_coopLoad_MA_x(m, i, stride)`,
    /// where 0 is the place of m.
    fn load<'a>(
        &mut self,
        word: &str,
        after: &'a str,
        out: &mut String,
    ) -> Result<&'a str, String> {
        let wrong = || "a load that is not of the form coopLoad<M>(&x[i], stride)".to_owned();
        let (kind, rest) = after
            .strip_prefix('<')
            .and_then(|rest| rest.split_once(">("))
            .ok_or_else(wrong)?;
        let role = self.role(kind).ok_or_else(wrong)?;
        let rest = rest.trim_start().strip_prefix('&').ok_or_else(wrong)?;
        let (array, rest) = rest.split_at(rest.find('[').ok_or_else(wrong)?);
        let (index, rest) = bracketed(rest)?;
        let function = format!("emulated_{word}_{kind}_{array}");
        let to = self.declared(role, out)?;
        let _ = write!(out, "{function}({to}, {index}");
        self.add_transfer(&function, array, role, word == "coopLoadT", true);
        Ok(rest)
    }

    /// `var m = MC()` becomes `let m = 0u; emulated_zeros(m, 4u, 0u)`. All functions have three parameters,
    /// so that a queue can hold their arguments.
    fn zeros<'a>(
        &mut self,
        role: char,
        after: &'a str,
        out: &mut String,
    ) -> Result<&'a str, String> {
        let rest = after
            .strip_prefix("()")
            .ok_or("a type of matrices without ()")?;
        let to = self.declared(role, out)?;
        let values = self.values(role);
        let _ = write!(out, "emulated_zeros({to}, {values}u, 0u)");
        Ok(rest)
    }

    /// `let to = &x[i]` becomes `let to = u32(i)`.
    fn pointer<'a>(&mut self, after: &'a str, out: &mut String) -> Result<&'a str, String> {
        *out += "let";
        let Some((name, value)) = after.split_once(" = ") else {
            return Ok(after);
        };
        let name = name.trim();
        let (Some(value), true) = (value.strip_prefix('&'), name.chars().all(is_of_word)) else {
            return Ok(after);
        };
        let bracket = value.find('[').ok_or("a pointer that is not to x[i]")?;
        let (array, value) = value.split_at(bracket);
        let (index, rest) = bracketed(value)?;
        self.pointers.retain(|(pointer, _)| pointer != name);
        self.pointers.push((name.to_owned(), array.to_owned()));
        let _ = write!(out, " {name} = u32({index})");
        Ok(rest)
    }

    /// `coopStore(m, to, stride)` becomes `emulated_coopStore_x(m, to, stride)`.
    fn store<'a>(
        &mut self,
        word: &str,
        after: &'a str,
        out: &mut String,
    ) -> Result<&'a str, String> {
        let pointer = after.split(',').nth(1).unwrap_or_default().trim();
        let found = self.pointers.iter().find(|(name, _)| name == pointer);
        let array = found.map(|(_, array)| array.clone());
        let array = array.ok_or("a matrix is stored to what is not a pointer")?;
        let function = format!("emulated_{word}_{array}");
        *out += &function;
        self.add_transfer(&function, &array, 'C', word == "coopStoreT", false);
        Ok(after)
    }

    /// Adds a function that loads a lane's values of a matrix from workgroup memory, or stores them there.
    fn add_transfer(&mut self, name: &str, array: &str, role: char, by_rows: bool, loads: bool) {
        let (own, side) = (self.own(), self.side);
        // The row and the column of value i.
        let [r, c] = match role {
            'A' => ["row".to_owned(), "i".to_owned()],
            'B' => [format!("i / {own}u"), format!("column + i % {own}u")],
            _ => ["row".to_owned(), "column + i".to_owned()],
        };
        let [line, along] = match by_rows {
            true => [r, c],
            false => [c, r],
        };
        let at = format!("at + ({line}) * stride");
        let place = match self.quads.iter().any(|name| name == array) {
            true => format!("{array}[{at} + ({along}) / 4u][({along}) % 4u]"),
            false => format!("{array}[{at} + {along}]"),
        };
        let statement = match loads {
            true => format!("emulated[m + i] = f32({place});"),
            false => format!("{place} = emulated[m + i];"),
        };
        let values = self.values(role);
        let function = format!(
            "fn {name}(m: u32, at: u32, stride: u32) {{\n\
             let row = emulated_lane * {own}u / {side}u;\n\
             let column = emulated_lane * {own}u % {side}u;\n\
             for (var i = 0u; i < {values}u * emulated_one; i += 1u) {{\n{statement}\n}}\n}}\n"
        );
        if !self.functions.contains(&function) {
            self.functions.push(function);
        }
    }

    fn last(&self, longest: usize) -> String {
        let (own, side, room) = (self.own(), self.side, self.room.max(1));
        format!(
            "var<private> emulated: array<f32, {room}>;\n\
             var<private> emulated_lane: u32;\n\
             var<private> emulated_one: u32;\n\
             var<private> emulated_queue: array<vec3<u32>, {longest}>;\n\
             fn emulated_zeros(m: u32, values: u32, unused: u32) {{\n\
             for (var i = 0u; i < values * emulated_one; i += 1u) {{\nemulated[m + i] = 0.0;\n}}\n}}\n\
             fn emulated_product(a: u32, b: u32, c: u32) {{\n\
             for (var i = 0u; i < {own}u * emulated_one; i += 1u) {{\n\
             var sum = emulated[c + i];\n\
             for (var k = 0u; k < {side}u * emulated_one; k += 1u) {{\n\
             sum = fma(emulated[a + k], emulated[b + k * {own}u + i], sum);\n}}\n\
             emulated[c + i] = sum;\n}}\n}}\n"
        )
    }
}

/// Consecutive calls of one function.
struct Run {
    function: String,
    calls: usize,
    /// The depth of the block where the first one is.
    depth: usize,
}

impl Run {
    fn flush(run: &mut Option<Run>, out: &mut String, longest: &mut usize) {
        let Some(Run {
            function, calls, ..
        }) = run.take()
        else {
            return;
        };
        *longest = calls.max(*longest);
        let _ = writeln!(
            out,
            "for (var i = 0u; i < {calls}u * emulated_one; i += 1u) {{ \
             let call = emulated_queue[i]; {function}(call.x, call.y, call.z); }}"
        );
    }
}

/// Turns consecutive calls of one function into a loop over a queue of their arguments. Declarations between them stay
/// where they are: they read no memory that matrices are stored to without a barrier. Also returns the length of the
/// longest queue.
fn queued(text: &str) -> Result<(String, usize), String> {
    let mut out = String::with_capacity(2 * text.len());
    let (mut depth, mut parentheses, mut begin, mut longest) = (0usize, 0usize, 0, 1);
    let mut run: Option<Run> = None;
    for (at, c) in text.char_indices() {
        match c {
            '(' => parentheses += 1,
            ')' => parentheses = parentheses.saturating_sub(1),
            _ => {}
        }
        // The header of a loop has semicolons in parentheses.
        if parentheses > 0 || !matches!(c, ';' | '{' | '}') {
            continue;
        }
        let piece = &text[begin..=at];
        begin = at + 1;
        let statement = piece.trim();
        let call = statement
            .strip_prefix("emulated_")
            .and_then(|rest| rest.strip_suffix(");"))
            .and_then(|rest| rest.split_once('('));
        if let Some((function, operands)) = call {
            let function = format!("emulated_{function}");
            if run.as_ref().is_some_and(|run| run.function != function) {
                Run::flush(&mut run, &mut out, &mut longest);
            }
            let run = run.get_or_insert(Run {
                function,
                calls: 0,
                depth,
            });
            let place = run.calls;
            let _ = writeln!(out, "\nemulated_queue[{place}] = vec3<u32>({operands});");
            run.calls += 1;
            continue;
        }
        let leaves = c == '}' && run.as_ref().is_some_and(|run| run.depth == depth);
        let stays = statement == "{" || statement == "}" || statement.starts_with("let ");
        if leaves || !stays {
            Run::flush(&mut run, &mut out, &mut longest);
        }
        match c {
            '{' => depth += 1,
            '}' => depth = depth.checked_sub(1).ok_or("a block that never began")?,
            _ => {}
        }
        out += piece;
    }
    out += &text[begin..];
    Ok((out, longest))
}

/// Removes the beginning of the last statement, up to its `=`, and returns what is assigned to.
fn assigned(out: &mut String) -> Result<String, String> {
    let begin = out.rfind([';', '{', '}']).map_or(0, |at| at + 1);
    let (to, rest) = out[begin..]
        .split_once('=')
        .ok_or("a matrix that is not assigned")?;
    if !rest.trim().is_empty() {
        return Err("a matrix inside an expression".to_owned());
    }
    let to = to.trim().to_owned();
    out.truncate(begin);
    out.push('\n');
    Ok(to)
}

/// `c = coopMultiplyAdd(a, b, c)` becomes `emulated_product(a, b, c)`.
fn product<'a>(after: &'a str, out: &mut String) -> Result<&'a str, String> {
    let last = after
        .split_once(')')
        .and_then(|(operands, _)| operands.rsplit(',').next());
    if last.map(str::trim) != Some(&assigned(out)?) {
        return Err("a product that is not of the form c = coopMultiplyAdd(a, b, c)".to_owned());
    }
    *out += "emulated_product";
    Ok(after)
}

/// Gives `main` the lanes of emulated subgroups instead of the device's own.
fn with_lanes(text: &str, lanes: u32) -> Result<String, String> {
    let missing = || "there is no fn main".to_owned();
    let (before, main) = text.split_once("fn main(").ok_or_else(missing)?;
    let (head, body) = main.split_once(") {").ok_or_else(missing)?;
    let (mut lid, mut groups) = (None, None);
    let mut kept = String::new();
    let mut values = Vec::new();
    for line in head.lines() {
        let parameter = line.trim().strip_prefix("@builtin(");
        let parameter = parameter.and_then(|rest| rest.split_once(") "));
        let named = parameter.and_then(|(kind, rest)| Some((kind, rest.split_once(':')?.0)));
        match named {
            Some(("subgroup_id", name)) => values.push((name, format!("/ {lanes}u"))),
            Some(("subgroup_invocation_id", name)) => values.push((name, format!("% {lanes}u"))),
            Some(("subgroup_size", name)) => values.push((name, format!("* 0u + {lanes}u"))),
            _ => {
                match named {
                    Some(("local_invocation_index", name)) => lid = Some(name),
                    Some(("num_workgroups", name)) => groups = Some(name),
                    _ => {}
                }
                kept += line;
                kept.push('\n');
            }
        }
    }
    let lid = lid.ok_or("main has no local_invocation_index")?;
    let groups = groups.ok_or("main has no num_workgroups")?;
    let mut first = format!(
        "emulated_lane = {lid} % {lanes}u;\n\
         emulated_one = min({groups}.x, 1u);\n"
    );
    for (name, value) in values {
        let _ = writeln!(first, "let {name} = {lid} {value};");
    }
    Ok(format!("{before}fn main({kept}) {{\n{first}{body}"))
}

#[cfg(feature = "testing")]
mod tests {
    use rayon::prelude::*;

    use super::emulated;
    use crate::gpu::tests::{Assembled, parsed, variants};
    use crate::plan::Matrices;

    /// Every kernel on matrices becomes valid WGSL without them, and no other kernel changes.
    #[apply(unit_test)]
    fn every_kernel_is_rewritten() {
        let is_rewritten = |Assembled { name, text, .. }: &&Assembled| {
            let side = match text.contains("const SIDE = 8u;") {
                true => Matrices::Eight,
                false => Matrices::Sixteen,
            };
            let made = emulated(text, side).unwrap();
            if !text.contains("coop_mat") {
                assert_eq!(made, *text);
                return false;
            }
            let kept = ["coop_mat", "coopLoad<", "coopMultiplyAdd"].map(|text| made.contains(text));
            assert_eq!(kept, [false; 3], "{name}");
            parsed(name, &made);
            true
        };
        assert!(variants().par_iter().filter(is_rewritten).count() > 100);
    }

    /// What cannot be emulated is an error.
    #[apply(unit_test)]
    fn other_forms_are_refused() {
        let head = "enable wgpu_cooperative_matrix;\nalias MC = coop_mat16x16<f32, C>;\n";
        let main = "fn main(\n@builtin(local_invocation_index) lid: u32,\n\
                    @builtin(num_workgroups) n: vec3<u32>,\n) {\n";
        for body in [
            "f(MC());",
            "let x = coopMultiplyAdd(a, b, c);",
            "coopStore(x, to, stride);",
            "let x = coopLoad<MD>(&y[0], 1u);",
        ] {
            let source = format!("{head}{main}{body}\n}}\n");
            assert!(emulated(&source, Matrices::Sixteen).is_err(), "{body}");
        }
        let source = format!("{head}{main}}}\n");
        assert!(emulated(&source, Matrices::Sixteen).is_ok());
        assert!(emulated(&source, Matrices::Eight).is_err());
    }
}
