//! The rows, one file for each group.

mod ambient;
mod attention;
mod attention_gradients;
mod bsr;
mod by_hand;
mod bytes;
mod causal;
mod chain;
mod complex;
mod complex_matmul;
mod components;
mod conv;
mod conv_boxes;
mod copies;
mod correlate_max;
mod cpu;
mod cpu_lines;
mod created;
mod encoder;
mod eval;
mod fft;
mod fleet;
mod frames;
mod functions;
mod histogram;
mod image_programs;
mod images;
mod indexing;
mod interop;
mod kron;
mod layout;
mod lines;
mod maps;
mod matmul;
mod peaks;
#[cfg(feature = "gpu")]
mod peaks_gpu;
mod plan;
mod pooling;
mod program;
mod shape_matrix;
mod stack;
mod written;

use crate::harness::{Bench, Outcome};

/// Runs every requested row, the device's peak rates first.
pub fn all(bench: &mut Bench) -> Outcome<()> {
    operations(bench)?;
    interop::rows(bench)
}

/// All but those that compare others.
fn operations(bench: &mut Bench) -> Outcome<()> {
    peaks::rows(bench)?;
    ambient::rows(bench)?;
    attention::rows(bench)?;
    attention_gradients::rows(bench)?;
    encoder::rows(bench)?;
    copies::rows(bench)?;
    correlate_max::rows(bench)?;
    conv::rows(bench)?;
    conv_boxes::rows(bench)?;
    eval::rows(bench)?;
    causal::rows(bench)?;
    chain::rows(bench)?;
    complex::rows(bench)?;
    complex_matmul::rows(bench)?;
    created::rows(bench)?;
    fft::rows(bench)?;
    frames::rows(bench)?;
    functions::rows(bench)?;
    histogram::rows(bench)?;
    images::rows(bench)?;
    bytes::rows(bench)?;
    image_programs::rows(bench)?;
    components::rows(bench)?;
    kron::rows(bench)?;
    indexing::rows(bench)?;
    layout::rows(bench)?;
    lines::rows(bench)?;
    maps::rows(bench)?;
    written::rows(bench)?;
    matmul::rows(bench)?;
    plan::rows(bench)?;
    pooling::rows(bench)?;
    program::rows(bench)?;
    stack::rows(bench)?;
    shape_matrix::rows(bench)?;
    cpu::rows(bench)?;
    cpu_lines::rows(bench)?;
    by_hand::rows(bench)?;
    bsr::rows(bench)?;
    fleet::rows(bench)
}
