//! Solvers of puzzles. Each is a function whose documentation says what the puzzle does; to add one, write the function
//! and add a line with the puzzle's id to the list `SOLVERS` of its file.

mod colours;
mod corrected;
mod grids;
mod growth;
mod halves;
mod lines;
mod parts;
mod regions;
mod shapes;
mod symmetry;
mod tiling;

use vsla::image::Image;

/// Makes the output of a pair from its input.
pub type Solver = fn(&Image) -> Image;

/// All solvers, by puzzle.
pub fn all() -> Vec<(&'static str, Solver)> {
    [
        symmetry::SOLVERS,
        tiling::SOLVERS,
        halves::SOLVERS,
        colours::SOLVERS,
        regions::SOLVERS,
        lines::SOLVERS,
        growth::SOLVERS,
        grids::SOLVERS,
        shapes::SOLVERS,
        corrected::SOLVERS,
    ]
    .concat()
}
