//! Progress of the work.

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A progress bar on the terminal; hidden if there is none, or if a program reads the result.
pub fn bar(quiet: bool, what: String, steps: usize) -> ProgressBar {
    if quiet || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let template = "{msg} {wide_bar} {human_pos} of {human_len}, {elapsed}";
    let style = ProgressStyle::with_template(template).expect("the template is well formed");
    let bar = ProgressBar::new(steps as u64)
        .with_style(style)
        .with_message(what);
    bar.enable_steady_tick(Duration::from_millis(100)); // moves during long steps, too
    bar
}
