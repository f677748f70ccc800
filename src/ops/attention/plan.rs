//! The tiles of attention.
//!
//! How an element is cut into tiles depends only on its own numbers of queries and keys and on the mask, so its results
//! do not depend on the other elements.
//!
//! | kind | elements | rows × keys of a stage |
//! | --- | --- | --- |
//! | `SHORT` | at most 16 keys, results of at most 128 values | 16 × 16, four tiles in a workgroup of 64 invocations |
//! | `attention_few` | at most 16 rows of heads of whole units | 1 or 4 rows × all keys, at most 512 |
//! | `FEW` | at most 16 rows of other heads | 16 × 32 |
//! | these with `PIECES` | more than 512 keys | the same, over pieces of 512 keys |
//! | `MEDIUM` | at most 32 rows, or results of more than 128 values | 32 × 32 |
//! | `TALL` | others | 64 × 32, eight rows an invocation |
//!
//! An invocation computes four scores of each of its rows for a stage, and four results of each for every chunk of as
//! many results as a stage has keys. Registers for chunks that a head does not have would cost occupancy, so their
//! number (`C1` to `C8`) is a number of the variant.
//!
//! - If all keys fit in one stage (`SHORT`), there is no loop over stages, and tiles of several elements share a
//!   workgroup: all of its invocations reach the same barriers.
//! - A few rows over many keys would keep only one workgroup busy. Their keys are cut into pieces, each a tile of its
//!   own with f32 results in scratch memory, and `attention_merge` adds the pieces of a row in order, and the sinks
//!   once.
//! - Stages outside the keys that any row of the tile attends to are never loaded, which halves the work of causal
//!   masks. For a mask of blocks, each tile of rows has a list of the stages with a block.
//! - Every kind that occurs is a dispatch of tiles × key heads.

use std::ops::Range;

use super::few::PIECE;
use super::{Attention, Heads, OF_BOTH, Shapes, Tile, few, matrix, short};
use crate::ops::kit::worklist::ByCost;
use crate::ragged::{DType, Layout, Topology};
use crate::{Result, host};

/// The kernel variant that computes a class of tiles.
#[derive(Clone, Copy, Debug)]
pub(super) enum Build {
    Portable(Tile),
    Few(few::Build),
    Matrix(matrix::Build),
    Short(short::Build),
}

impl Build {
    /// Rows of a tile, and keys that are staged at a time.
    fn sides(self) -> [usize; 2] {
        let sides = match self {
            Build::Portable(tile) => [tile.rows, tile.keys],
            Build::Few(build) => [build.rows, PIECE as u32],
            Build::Matrix(build) => [build.rows, matrix::KEYS],
            Build::Short(build) => [build.most, build.most],
        };
        sides.map(|side| side as usize)
    }

    /// Whether keys are cut into pieces, whose results are merged.
    pub(super) fn pieces(self) -> bool {
        match self {
            Build::Portable(tile) => tile.pieces,
            Build::Few(build) => build.pieces,
            Build::Matrix(_) | Build::Short(_) => false,
        }
    }
}

/// Words of an element: its first row of q and its number of queries, the same for keys, and its first value of the
/// bias.
const WORDS: usize = 5;

/// The work lists of the kernels.
pub(super) struct Plan<T> {
    /// The elements, then the tiles of all classes (element, first row, piece), then the blocks of the mask and the
    /// lists of stages.
    pub items: Vec<u32>,
    pub classes: Vec<Class<T>>,
    pub blocks: Option<Blocks>,
    pub merges: Option<Vec<u32>>,
}

/// Tiles of one kind, costliest first.
pub(super) struct Class<T> {
    pub tile: T,
    /// Rows of a tile, and columns that are staged at a time.
    pub sides: [usize; 2],
    pub begin: usize,
    /// The number of tiles per key head.
    pub tiles: usize,
    /// Where the index of the lists of stages begins, if the mask has blocks: for each tile of rows, the place of its
    /// first stage.
    pub lists: usize,
    pub cost: u64,
}

/// What the rows and columns of tiles are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    /// Queries of all heads that share a key head, and keys.
    Queries,
    /// Keys, and queries of all heads that share a key head.
    Keys,
    /// Queries of one head, and keys; each tile has the columns of one stage only.
    Both,
}

/// The blocks of the mask as a bitmap, with a row of words for each row of blocks.
pub(super) struct Blocks {
    pub block: [usize; 2],
    pub begin: usize,
    pub words: usize,
    bits: Vec<u32>,
}

/// The number of kinds of tiles.
const KINDS: usize = 7;

/// A tile before the tiles are ordered.
struct Piece {
    element: u32,
    row: u32,
    piece: u32,
    cost: u64,
}

impl Plan<Build> {
    pub(super) fn new(
        attention: &Attention,
        shapes: &Shapes,
        inputs: &[&Layout],
    ) -> Result<Plan<Build>> {
        let heads = shapes.heads;
        let group = heads.group();
        let (mut items, elements) = elements(attention, heads, inputs)?;
        let few = elements.iter().map(|[queries, _]| queries * group);
        let few = few.filter(|&rows| rows <= few::MOST).max();
        let builds = kinds(attention, heads, few.unwrap_or(0));
        let mut all: [Vec<Piece>; KINDS] = std::array::from_fn(|_| Vec::new());
        for (element, [queries, keys]) in elements.into_iter().enumerate() {
            let rows = queries * group;
            let kind = kind(rows, keys, &builds);
            let Some(build) = builds[kind] else { continue };
            let high = build.sides()[0];
            for row in (0..rows).step_by(high) {
                let last = (row + high).min(rows) - 1;
                let range = attention
                    .mask
                    .range((row / group, last / group), queries, keys);
                let cost = |keys: usize| (high * keys.max(1) * (heads.d + heads.dv)) as u64;
                let mut push = |piece: usize, keys: usize| {
                    let piece = Piece {
                        element: element as u32,
                        row: row as u32,
                        piece: piece as u32,
                        cost: cost(keys),
                    };
                    host::push(&mut all[kind], piece)
                };
                match build.pieces() {
                    true => (0..keys.div_ceil(PIECE)).try_for_each(|piece| push(piece, PIECE))?,
                    false => push(0, range.len())?,
                }
            }
        }
        let mut plan = Plan {
            items: Vec::new(),
            classes: Vec::new(),
            blocks: None,
            merges: None,
        };
        for (build, pieces) in builds.into_iter().zip(all) {
            let Some(build) = build else { continue };
            // `merged` requires that the pieces of a row stay together.
            let order = ordered(&pieces, !build.pieces())?;
            let class = Class::new(
                (build, build.sides()),
                (&pieces, &order),
                heads.key_heads,
                &mut items,
            )?;
            if build.pieces() && !pieces.is_empty() {
                plan.merges = Some(merged(&pieces, &items, shapes, build.sides()[0])?);
            }
            plan.classes.push(class);
        }
        plan.items = items;
        if let Some(topology) = &attention.mask.blocks {
            plan.add_blocks(topology, group, Rows::Queries)?;
        }
        Ok(plan)
    }
}

impl<T: Copy> Plan<T> {
    /// The tiles of a gradient: of the first kind for elements that are small, by their rows and columns, and of the
    /// second for others. A kind has its rows of a tile, and the columns that are staged at a time.
    pub(super) fn of_slopes(
        of: &Attention,
        shapes: &Shapes,
        inputs: &[&Layout],
        sides: Rows,
        kinds: [(T, [usize; 2]); 2],
        is_small: impl Fn([usize; 2]) -> bool,
    ) -> Result<Plan<T>> {
        let heads = shapes.heads;
        let group = heads.group();
        let (mut items, elements) = elements(of, heads, inputs)?;
        let mut all: [Vec<Piece>; 2] = Default::default();
        for (element, [queries, keys]) in elements.into_iter().enumerate() {
            let (rows, columns) = match sides {
                Rows::Queries => (queries * group, keys),
                Rows::Keys => (keys, queries * group),
                Rows::Both => (queries, keys),
            };
            let kind = usize::from(!is_small([rows, columns]));
            let high = kinds[kind].1[0];
            for row in (0..rows).step_by(high) {
                let columns = match sides {
                    Rows::Both => columns.div_ceil(high),
                    _ => 1,
                };
                for column in 0..columns {
                    let piece = Piece {
                        element: element as u32,
                        row: row as u32,
                        piece: (column * high) as u32,
                        cost: (high * queries.max(keys) * (heads.d + heads.dv)) as u64,
                    };
                    host::push(&mut all[kind], piece)?;
                }
            }
        }
        let mut classes = Vec::new();
        for (kind, pieces) in kinds.into_iter().zip(all) {
            let order = ordered(&pieces, true)?;
            classes.push(Class::new(
                kind,
                (&pieces, &order),
                heads.key_heads,
                &mut items,
            )?);
        }
        let mut plan = Plan {
            items,
            classes,
            blocks: None,
            merges: None,
        };
        if let Some(topology) = &of.mask.blocks {
            plan.add_blocks(topology, group, sides)?;
        }
        Ok(plan)
    }
}

/// The words of all elements, and the numbers of queries and keys of each.
fn elements(
    of: &Attention,
    heads: Heads,
    inputs: &[&Layout],
) -> Result<(Vec<u32>, Vec<[usize; 2]>)> {
    let (q, k) = (inputs[0], inputs[1]);
    let rows_of = |x: &Layout, element: usize, width: usize| {
        let range = x.offsets().range(element);
        (range.start / width, range.len() / width)
    };
    let mut items = host::room(WORDS * q.len())?;
    let mut sizes = host::room(q.len())?;
    for element in 0..q.len() {
        let (q_row, queries) = rows_of(q, element, heads.heads * heads.d);
        let (k_row, keys) = rows_of(k, element, heads.key_heads * heads.d);
        let bias = match of.bias {
            true => inputs[3].offsets().range(element).start,
            false => 0,
        };
        items.extend([q_row, queries, k_row, keys, bias].map(|word| word as u32));
        sizes.push([queries, keys]);
    }
    Ok((items, sizes))
}

/// The order of tiles: by cost, or unchanged.
fn ordered(pieces: &[Piece], by_cost: bool) -> Result<Vec<u32>> {
    if !by_cost {
        return host::exact(0..pieces.len() as u32);
    }
    let mut order = ByCost::new();
    for (i, piece) in pieces.iter().enumerate() {
        order.push(i as u32, piece.cost)?;
    }
    host::collect(order.iter())
}

impl<T> Class<T> {
    /// Appends the tiles to the items.
    fn new(
        (tile, sides): (T, [usize; 2]),
        (pieces, order): (&[Piece], &[u32]),
        key_heads: usize,
        items: &mut Vec<u32>,
    ) -> Result<Class<T>> {
        let begin = items.len();
        host::reserve(items, 3 * pieces.len())?;
        for &i in order {
            let piece = &pieces[i as usize];
            items.extend([piece.element, piece.row, piece.piece]);
        }
        let cost = pieces.iter().map(|piece| piece.cost);
        let cost = cost.fold(0, u64::saturating_add);
        Ok(Class {
            tile,
            sides,
            begin,
            tiles: pieces.len(),
            lists: 0,
            cost: cost.saturating_mul(key_heads as u64),
        })
    }
}

impl<T> Plan<T> {
    /// Appends the bitmap of the mask and, for each class and each tile of rows, the stages that contain a block.
    fn add_blocks(&mut self, topology: &Topology, group: usize, sides: Rows) -> Result<()> {
        let blocks = Blocks::new(topology, self.items.len())?;
        host::reserve(&mut self.items, blocks.bits.len())?;
        self.items.extend(&blocks.bits);
        let [queries, keys] = topology.shape();
        let (rows, columns) = match sides {
            Rows::Queries => (queries * group, keys),
            Rows::Keys => (keys, queries * group),
            Rows::Both => (0, 0),
        };
        for class in self.classes.iter_mut().filter(|class| class.tiles > 0) {
            class.lists = self.items.len();
            let [high, wide] = class.sides;
            let count = rows.div_ceil(high);
            host::reserve(&mut self.items, count + 1)?;
            self.items.resize(class.lists + count + 1, 0);
            for at in 0..count {
                self.items[class.lists + at] = self.items.len() as u32;
                let rows = at * high..(at * high + high).min(rows);
                for stage in 0..columns.div_ceil(wide) {
                    let columns = stage * wide..(stage * wide + wide).min(columns);
                    let shared = |rows: &Range<usize>| rows.start / group..rows.end.div_ceil(group);
                    let any = match sides {
                        Rows::Keys => blocks.any(shared(&columns), rows.clone()),
                        _ => blocks.any(shared(&rows), columns),
                    };
                    if any {
                        host::push(&mut self.items, stage as u32)?;
                    }
                }
            }
            self.items[class.lists + count] = self.items.len() as u32;
        }
        self.blocks = Some(blocks);
        Ok(())
    }
}

/// For each row whose keys are cut: the index of the row in the result, the index of its first piece among the rows of
/// all pieces, the distance to the next piece, and the number of pieces.
fn merged(pieces: &[Piece], items: &[u32], shapes: &Shapes, high: usize) -> Result<Vec<u32>> {
    let heads = shapes.heads;
    let group = heads.group();
    let mut rows = Vec::new();
    let mut first = 0;
    for run in pieces.chunk_by(|a, b| (a.element, a.row) == (b.element, b.row)) {
        let element = &items[WORDS * run[0].element as usize..][..WORDS];
        let (q_row, queries) = (element[0] as usize, element[1] as usize);
        for key_head in 0..heads.key_heads {
            let top = run[0].row as usize;
            for row in top..(top + high).min(queries * group) {
                let head = key_head * group + row % group;
                let to = (q_row + row / group) * heads.heads + head;
                let from = (first * heads.key_heads + key_head) * high + row - top;
                let step = heads.key_heads * high;
                let words = [to, from, step, run.len()].map(|word| word as u32);
                host::extend(&mut rows, words)?;
            }
        }
        first += run.len();
    }
    Ok(rows)
}

/// The build of each kind; `None` if other kinds replace it, or if heads have too many values for it. `rows` is the
/// largest number of rows of an element with few.
fn kinds(attention: &Attention, heads: Heads, rows: usize) -> [Option<Build>; KINDS] {
    let all = OF_BOTH[usize::from(attention.dtype == DType::F16)];
    let kinds = [
        ("SHORT", false),
        ("FEW", false),
        ("FEW", true),
        ("MEDIUM", false),
        ("TALL", false),
        // Only on matrices.
        ("", false),
        ("", false),
    ];
    let mut builds = kinds.map(|(name, pieces)| {
        let tile = all.into_iter().find(|tile| {
            let most = (tile.keys * tile.chunks) as usize;
            tile.name == name && tile.pieces == pieces && heads.dv <= most
        });
        tile.map(Build::Portable)
    });
    if let Some(of_few) = few::Build::of(attention.dtype, heads, rows) {
        let [whole, pieces] = of_few.map(|build| Some(Build::Few(build)));
        (builds[1], builds[2]) = (whole, pieces);
    }
    if let Some(matrices) = attention.matrices
        && !attention.cached
        && let Some([low, tall]) = matrix::Build::of(matrices, heads, attention.is_plain())
    {
        let medium = Some(Build::Matrix(low));
        let tall = (tall != low).then_some(Build::Matrix(tall));
        let of_short = short::Build::of(matrices, heads).map(|build| build.map(Build::Short));
        let [shortest, short] =
            of_short.map(|build| build.filter(|_| attention.is_plain() && !attention.sinks));
        builds = [None, builds[1], builds[2], medium, tall, shortest, short];
    }
    builds
}

/// The kind of the tiles of an element.
fn kind(rows: usize, keys: usize, builds: &[Option<Build>; KINDS]) -> usize {
    let kind = match (rows, keys) {
        (_, 1..=16) => 0,
        (0..=few::MOST, _) if keys > PIECE => 2,
        (0..=few::MOST, _) => 1,
        (0..=32, _) => 3,
        _ => 4,
    };
    let is_few = kind == 1 && rows <= 4 && matches!(builds[1], Some(Build::Few(_)));
    if let (Some(Build::Matrix(low)), 1.., 0 | 1 | 3 | 4) = (builds[3], keys, kind)
        && !is_few
    {
        let is_short = |build: &Option<Build>| match build {
            Some(Build::Short(build)) => rows.max(keys) <= build.most as usize,
            _ => false,
        };
        if let Some(short) = builds[5..].iter().position(is_short) {
            return 5 + short;
        }
        return 3 + usize::from(rows > low.rows as usize && builds[4].is_some());
    }
    match (kind, rows) {
        (0 | 4, 0..=16) if builds[kind].is_none() => 1,
        (0 | 4, _) if builds[kind].is_none() => 3,
        _ => kind,
    }
}

impl Blocks {
    fn new(topology: &Topology, begin: usize) -> Result<Blocks> {
        let [rows, columns] = topology.grid();
        let words = columns.div_ceil(32);
        let mut bits = host::zeroed::<u32>(rows * words)?;
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
    fn any(&self, queries: Range<usize>, keys: Range<usize>) -> bool {
        let [high, wide] = self.block;
        let rows = queries.start / high..queries.end.div_ceil(high);
        let columns = keys.start / wide..keys.end.div_ceil(wide);
        let mut places = rows.flat_map(|row| columns.clone().map(move |column| (row, column)));
        places.any(|(row, column)| {
            self.bits[row * self.words + column / 32] >> (column % 32) & 1 != 0
        })
    }
}
