//! Draws a solved puzzle: each input, the expected output, and what the program made.

use std::error::Error;

use plotters::prelude::*;
use vsla::image::{ImageProgram, Place};

use crate::ink::{FAINT, INK, font, for_dark_pages};
use crate::puzzles::{Grid, Puzzle, batch};
use crate::solvers::Solver;

/// The colours in which these puzzles are usually shown.
const COLOURS: [RGBColor; 10] = [
    RGBColor(0, 0, 0),
    RGBColor(0, 116, 217),
    RGBColor(255, 65, 54),
    RGBColor(46, 204, 64),
    RGBColor(255, 220, 0),
    RGBColor(170, 170, 170),
    RGBColor(240, 18, 190),
    RGBColor(255, 133, 27),
    RGBColor(127, 219, 255),
    RGBColor(135, 12, 37),
];
const SIDE: i32 = 220;
const MARGIN: i32 = 20;
/// Space for the titles.
const TOP: i32 = 74;

pub fn svg(puzzle: &Puzzle, solver: Solver) -> Result<String, Box<dyn Error>> {
    let program = ImageProgram::new(|r| {
        let x = r.input();
        r.output(&solver(&x));
    })?;
    let inputs = batch(puzzle.pairs.iter().map(|pair| &pair.input))?;
    let results = program.run_blocking(&Place::OneCore, &[&inputs])?;
    let rows = puzzle.pairs.len() as i32;
    let size = (3 * SIDE + 4 * MARGIN, TOP + rows * (SIDE + MARGIN));
    let mut svg = String::new();
    {
        let root =
            SVGBackend::with_string(&mut svg, (size.0 as u32, size.1 as u32)).into_drawing_area();
        root.fill(&WHITE)?;
        let title = format!("Puzzle {}", puzzle.id);
        root.draw(&Text::new(title, (MARGIN, 16), font(18, INK)))?;
        for (i, title) in ["input", "expected", "made by the program"]
            .iter()
            .enumerate()
        {
            let x = MARGIN + i as i32 * (SIDE + MARGIN);
            root.draw(&Text::new(*title, (x, 48), font(16, INK)))?;
        }
        for (i, pair) in puzzle.pairs.iter().enumerate() {
            let shape = results.images(0).shape(i);
            let made = Grid {
                rows: shape.extents()[0] as usize,
                columns: shape.extents()[1] as usize,
                cells: results.images(0).row(i).to_vec(),
            };
            for (j, grid) in [&pair.input, &pair.output, &made].into_iter().enumerate() {
                let at = (
                    MARGIN + j as i32 * (SIDE + MARGIN),
                    TOP + i as i32 * (SIDE + MARGIN),
                );
                draw(&root, grid, at)?;
            }
        }
        root.present()?;
    }
    Ok(for_dark_pages(&svg))
}

fn draw(
    root: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    grid: &Grid,
    (x, y): (i32, i32),
) -> Result<(), Box<dyn Error>> {
    let step = SIDE / grid.rows.max(grid.columns).max(1) as i32;
    for (i, &cell) in grid.cells.iter().enumerate() {
        let at = (
            x + (i % grid.columns) as i32 * step,
            y + (i / grid.columns) as i32 * step,
        );
        let corners = [at, (at.0 + step, at.1 + step)];
        let colour = COLOURS.get(cell as usize).copied().unwrap_or(WHITE);
        root.draw(&Rectangle::new(corners, colour.filled()))?;
        root.draw(&Rectangle::new(corners, FAINT.stroke_width(1)))?;
    }
    Ok(())
}
