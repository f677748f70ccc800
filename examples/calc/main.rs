//! A calculator for ragged batches: JSON lines in, JSON lines out.
//!
//! Each line on stdin, `{"op": .., "args": [..], "options": {..}, "device": ..}`, is answered by one line on stdout,
//! `{"ok": ..}` or `{"error": {"kind", "message", "element"}}`, in order and at once. Every line has an answer, even an
//! empty one, so line n of the output belongs to line n of the input. `{"op": "help"}` lists the operations.

use std::io::{self, BufRead, BufWriter, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};

use catalogue::{Answer, Batch, Failure, Request, Result};
use device::Choice;
use devices::Devices;
use fleet::Where;

#[path = "../common/device.rs"]
mod device;
mod devices;
#[path = "../common/fleet.rs"]
mod fleet;
#[cfg(test)]
mod tests;

const EXAMPLES: &str = r#"Each line of stdin is an object:
  op       the operation; {"op": "help"} lists them with their options
  args     its batches. A batch is an array of elements; an element of rank r is an array nested r deep.
           "nan", "inf" and "-inf" are numbers; a number of type c32 (complex) is [re, im]
  options  an object, for instance {"dtype": "i32", "pairing": "all_to_all"}
  device   "auto", "cpu" or "gpu"; overrides the flags
  of       for {"op": "gradient"}: the operation to differentiate, as an object with op, args and options
Each line is answered by one line, {"ok": ..} or {"error": {"kind", "message", "element"}}.

Examples:
  echo '{"op": "add", "args": [[[1, 2, 3], []], [[10], [20, 30]]]}' | calc
    {"ok":[[11.0,2.0,3.0],[20.0,30.0]]}
  echo '{"op": "conv", "args": [[[1, 2]], [[3, 4]]], "options": {"dtype": "i32"}}' | calc
    {"ok":[[3,10,8]]}
  echo '{"op": "sbd", "args": [[[0, 3, 4]], [[6, 8], [0]]], "options": {"pairing": "one_to_all"}}' | calc
    {"ok":{"distance":[[0.0],[1.0]],"lag":[[1],[0]]}}
  echo '{"op": "rfft", "args": [[[1, 2, 3, 4]]]}' | calc
    {"ok":[[[10.0,0.0],[-2.0,2.0],[-2.0,0.0]]]}
  echo '{"op": "gradient", "of": {"op": "conv", "args": [[[1, 2]], [[3, 4, 5]]]}}' | calc
    {"ok":[[[12.0,12.0]],[[3.0,3.0,3.0]]]}
  echo '{"op": "info", "device": "gpu"}' | calc

With --devices, each device computes some of the elements or pairs of a request, and the answer is that of one device. A
request whose elements depend on each other runs on the first device.

From the source tree, run calc as: cargo run --release -p calc --"#;

/// Compute with ragged batches, one JSON line at a time
#[derive(Parser)]
#[command(name = "calc", version, after_help = EXAMPLES)]
struct Args {
    #[command(flatten)]
    on: Where,
    /// Maximum length of a line, in MiB; a longer line is skipped and answered with an error
    #[arg(long, value_name = "MIB", default_value_t = 64)]
    max_line: u32,
    /// Maximum number of numbers and arrays in an answer
    #[arg(long, value_name = "N", default_value_t = 1 << 26)]
    max_values: u64,
    /// Maximum number of multiply-adds in one operation [default: at most a minute of work: 10^11 on the CPU,
    /// 10^13 on a GPU, 10^10 on a software GPU]
    #[arg(long, value_name = "N")]
    max_work: Option<u64>,
}

fn main() -> ExitCode {
    // Errors are answers; RUST_LOG=info shows other messages of the library and wgpu.
    env_logger::init_from_env(env_logger::Env::default().default_filter_or("off"));
    let args = Args::parse();
    let mut calculator = Calculator {
        on: args.on,
        max_values: args.max_values,
        devices: Devices::new(args.max_work),
    };
    let max_line = u64::from(args.max_line) << 20;
    let (input, output) = (io::stdin().lock(), io::stdout().lock());
    match serve(
        &mut calculator,
        input,
        BufWriter::with_capacity(1 << 16, output),
        max_line,
    ) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has closed the pipe: `calc < lines | head -3` is not a failure.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

struct Calculator {
    /// For lines that name no device.
    on: Where,
    max_values: u64,
    devices: Devices,
}

/// Answers every line of `input`, of at most `max_line` bytes.
fn serve(
    calculator: &mut Calculator,
    mut input: impl BufRead,
    mut output: impl Write,
    max_line: u64,
) -> io::Result<()> {
    loop {
        // Not reused from line to line: one long line would keep its memory forever.
        let mut line = Vec::new();
        if input
            .by_ref()
            .take(max_line + 1)
            .read_until(b'\n', &mut line)?
            == 0
        {
            return Ok(());
        }
        let answer = if line.last() != Some(&b'\n') && line.len() as u64 > max_line {
            input.skip_until(b'\n')?;
            let message = format!("the line is longer than {max_line} bytes: raise --max-line");
            Err(Failure::new("bad_json", message))
        } else {
            calculator.answer(&line)
        };
        drop(line);
        match answer {
            Ok(answer) => answer.write(&mut output)?,
            Err(failure) => write!(output, "{}", failure.json())?,
        }
        output.write_all(b"\n")?;
        output.flush()?;
    }
}

/// The device of this name.
fn named(device: &str) -> Result<Choice> {
    Choice::from_str(device, false).map_err(|_| {
        let message = format!("device: expected \"auto\", \"cpu\" or \"gpu\", got {device:?}");
        Failure::request(message)
    })
}

impl Calculator {
    fn answer(&mut self, line: &[u8]) -> Result<Answer<Batch>> {
        // A byte order mark can only start a file; it is not part of any line.
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        let request = Request::parse(line)?;
        let (choice, divides) = match &request.device {
            None => (self.on.device, self.on.devices.is_some()),
            Some(name) => (
                named(name).map_err(|failure| failure.of(&request.op))?,
                false,
            ),
        };
        let (devices, on) = (&mut self.devices, self.on);
        let max_values = self.max_values;
        // No panic is known, but one line must not prevent the answers to others.
        let answered = catch_unwind(AssertUnwindSafe(|| match divides {
            true => catalogue::answer_divided(request, &devices.fleet(on)?, max_values),
            false => catalogue::answer(request, &mut || devices.get(choice), max_values),
        }));
        let answer = answered.unwrap_or_else(|panic| {
            let message = match panic.downcast_ref::<String>() {
                Some(message) => message.clone(),
                None => panic
                    .downcast_ref::<&str>()
                    .map_or_else(String::new, |m| m.to_string()),
            };
            self.devices = Devices::new(self.devices.max_work);
            Err(Failure::new("internal", message))
        });
        if answer.as_ref().is_err_and(Failure::loses_the_device) {
            self.devices.forget(choice);
        }
        answer
    }
}
