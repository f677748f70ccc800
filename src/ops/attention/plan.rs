//! The tiles of attention.
//!
//! Which tiles an element is cut into depends on its own numbers of queries and keys and on the mask, so its results do
//! not depend on its neighbours.

use super::{Attention, OF_BOTH, Shapes, Tile};
use crate::ops::worklist::ByCost;
use crate::ragged::{DType, Layout, Topology};
use crate::{Result, host};

/// Keys of a piece, where keys are cut into pieces; and the number of keys from which on they are.
pub(super) const PIECE: usize = 512;
const CUT: usize = 1024;

/// Words of an element: the first row of q and the number of queries, the same of keys, the first value of the bias.
const WORDS: usize = 5;

/// What workgroups compute.
pub(super) struct Plan {
    /// The elements, then the tiles of all classes (element, first row, piece), then the blocks of the mask.
    pub items: Vec<u32>,
    pub classes: Vec<Class>,
    pub blocks: Option<Blocks>,
    pub merges: Option<Vec<u32>>,
}

/// Tiles of one kind, costliest first.
pub(super) struct Class {
    pub tile: Tile,
    pub begin: usize,
    /// The number of tiles of one key head.
    pub tiles: usize,
    /// Where the lists of key tiles begin, if the mask has blocks: for each tile of rows, the place of its first entry.
    pub lists: usize,
    pub cost: u64,
}

/// The blocks of the mask as bits, a row of words for each row of blocks.
pub(super) struct Blocks {
    pub block: [usize; 2],
    pub begin: usize,
    pub words: usize,
    bits: Vec<u32>,
}

/// A tile before its place is known.
struct Piece {
    element: u32,
    row: u32,
    piece: u32,
    cost: u64,
}

impl Plan {
    pub(super) fn new(of: &Attention, shapes: &Shapes, inputs: &[&Layout]) -> Result<Plan> {
        let op = super::OP;
        let (q, k) = (inputs[0], inputs[1]);
        let heads = shapes.heads;
        let group = heads.group();
        let rows_of = |x: &Layout, element: usize, width: usize| {
            let range = x.offsets().range(element);
            (range.start / width, range.len() / width)
        };
        let mut items = host::room(op, WORDS * q.len())?;
        let tiles = kinds(of.dtype, heads.dv);
        let mut all: [Vec<Piece>; 5] = std::array::from_fn(|_| Vec::new());
        for element in 0..q.len() {
            let (q_row, queries) = rows_of(q, element, heads.heads * heads.d);
            let (k_row, keys) = rows_of(k, element, heads.key_heads * heads.d);
            let bias = match of.bias {
                true => inputs[3].offsets().range(element).start,
                false => 0,
            };
            items.extend([q_row, queries, k_row, keys, bias].map(|word| word as u32));
            let rows = queries * group;
            let kind = kind(rows, keys, &tiles);
            let Some(tile) = &tiles[kind] else { continue };
            let high = tile.rows as usize;
            for row in (0..rows).step_by(high) {
                let last = (row + high).min(rows) - 1;
                let range = of.mask.range((row / group, last / group), queries, keys);
                let cost = |keys: usize| (high * keys.max(1) * (heads.d + heads.dv)) as u64;
                let mut push = |piece: usize, keys: usize| {
                    let piece = Piece {
                        element: element as u32,
                        row: row as u32,
                        piece: piece as u32,
                        cost: cost(keys),
                    };
                    host::push(op, &mut all[kind], piece)
                };
                match tile.pieces {
                    true => (0..keys.div_ceil(PIECE)).try_for_each(|piece| push(piece, PIECE))?,
                    false => push(0, range.len())?,
                }
            }
        }
        let mut classes = Vec::new();
        let mut merges = None;
        for (tile, pieces) in tiles.into_iter().zip(all) {
            let Some(tile) = tile else { continue };
            let begin = items.len();
            host::reserve(op, &mut items, 3 * pieces.len())?;
            // The pieces of a row stay together.
            let order: Vec<u32> = match tile.pieces {
                true => (0..pieces.len() as u32).collect(),
                false => {
                    let mut order = ByCost::new();
                    for (i, piece) in pieces.iter().enumerate() {
                        order.push(op, i as u32, piece.cost)?;
                    }
                    order.iter().collect()
                }
            };
            for &i in &order {
                let piece = &pieces[i as usize];
                items.extend([piece.element, piece.row, piece.piece]);
            }
            if tile.pieces && !pieces.is_empty() {
                merges = Some(merged(&pieces, &items, shapes)?);
            }
            let cost = pieces.iter().map(|piece| piece.cost);
            classes.push(Class {
                tile,
                begin,
                tiles: pieces.len(),
                lists: 0,
                cost: cost
                    .fold(0, u64::saturating_add)
                    .saturating_mul(heads.key_heads as u64),
            });
        }
        let mut plan = Plan {
            items,
            classes,
            blocks: None,
            merges,
        };
        if let Some(topology) = &of.mask.blocks {
            plan.add_blocks(topology, group)?;
        }
        Ok(plan)
    }

    /// Appends the bits of the mask and, for each class, the key tiles of each tile of rows.
    fn add_blocks(&mut self, topology: &Topology, group: usize) -> Result<()> {
        let op = super::OP;
        let blocks = Blocks::new(topology, self.items.len())?;
        host::reserve(op, &mut self.items, blocks.bits.len())?;
        self.items.extend(&blocks.bits);
        let [rows, columns] = topology.shape();
        for class in self.classes.iter_mut().filter(|class| class.tiles > 0) {
            class.lists = self.items.len();
            let (high, wide) = (class.tile.rows as usize, class.tile.keys as usize);
            let count = (rows * group).div_ceil(high);
            host::reserve(op, &mut self.items, count + 1)?;
            self.items.resize(class.lists + count + 1, 0);
            for at in 0..count {
                self.items[class.lists + at] = self.items.len() as u32;
                let first = at * high / group;
                let last = (((at + 1) * high - 1) / group).min(rows - 1);
                for key in 0..columns.div_ceil(wide) {
                    let keys = key * wide..(key * wide + wide).min(columns);
                    if blocks.any(first..last + 1, keys) {
                        host::push(op, &mut self.items, key as u32)?;
                    }
                }
            }
            self.items[class.lists + count] = self.items.len() as u32;
        }
        self.blocks = Some(blocks);
        Ok(())
    }
}

/// For each row whose keys are cut: its place among the rows of the results, its place among the rows of the first
/// piece, the distance to the next piece, and the number of pieces.
fn merged(pieces: &[Piece], items: &[u32], shapes: &Shapes) -> Result<Vec<u32>> {
    let op = super::OP;
    let heads = shapes.heads;
    let group = heads.group();
    let mut rows = Vec::new();
    let mut first = 0;
    for run in pieces.chunk_by(|a, b| (a.element, a.row) == (b.element, b.row)) {
        let element = &items[WORDS * run[0].element as usize..][..WORDS];
        let (q_row, queries) = (element[0] as usize, element[1] as usize);
        for key_head in 0..heads.key_heads {
            for row in 0..queries * group {
                let head = key_head * group + row % group;
                let to = (q_row + row / group) * heads.heads + head;
                let from = (first * heads.key_heads + key_head) * ROWS + row;
                let step = heads.key_heads * ROWS;
                let words = [to, from, step, run.len()].map(|word| word as u32);
                host::extend(op, &mut rows, words)?;
            }
        }
        first += run.len();
    }
    Ok(rows)
}

/// Rows of a tile whose keys are cut.
const ROWS: usize = 16;

/// The tile of each kind for results of `dv` values a row; `None` if they are too many for it.
fn kinds(dtype: DType, dv: usize) -> [Option<Tile>; 5] {
    let all = OF_BOTH[usize::from(dtype == DType::F16)];
    let kinds = [
        ("SHORT", false),
        ("FEW", false),
        ("FEW", true),
        ("MEDIUM", false),
        ("TALL", false),
    ];
    kinds.map(|(name, pieces)| {
        all.into_iter().find(|tile| {
            tile.name == name && tile.pieces == pieces && dv <= (tile.keys * tile.chunks) as usize
        })
    })
}

/// The kind of the tiles of an element.
fn kind(rows: usize, keys: usize, kinds: &[Option<Tile>; 5]) -> usize {
    let of = match (rows, keys) {
        (_, 1..=16) => 0,
        (0..=16, CUT..) => 2,
        (0..=16, _) => 1,
        (0..=32, _) => 3,
        _ => 4,
    };
    match (of, rows) {
        (0 | 4, 0..=16) if kinds[of].is_none() => 1,
        (0 | 4, _) if kinds[of].is_none() => 3,
        _ => of,
    }
}

impl Blocks {
    fn new(topology: &Topology, begin: usize) -> Result<Blocks> {
        let [rows, columns] = topology.grid();
        let words = columns.div_ceil(32);
        let mut bits = host::zeroed::<u32>(super::OP, rows * words)?;
        for (row, column) in topology.blocks() {
            bits[row as usize * words + column as usize / 32] |= 1 << (column % 32);
        }
        Ok(Blocks {
            block: topology.block(),
            begin,
            words,
            bits,
        })
    }

    /// Whether the mask admits any of these keys for any of these queries.
    fn any(&self, queries: std::ops::Range<usize>, keys: std::ops::Range<usize>) -> bool {
        let [high, wide] = self.block;
        let rows = queries.start / high..queries.end.div_ceil(high);
        let columns = keys.start / wide..keys.end.div_ceil(wide);
        let mut places = rows.flat_map(|row| columns.clone().map(move |column| (row, column)));
        places.any(|(row, column)| {
            self.bits[row * self.words + column / 32] >> (column % 32) & 1 != 0
        })
    }
}
