//! Version 2 of the file format: a ragged batch, or block-sparse matrices.

use std::io::{Read, Write};

use super::sink::Sink;
use super::source::Source;
use super::{NAMES, OP, Stored, check_type, layout_of, places, wrong};
use crate::error::Named;
use crate::error::{Count, Error, Result};
use crate::ragged::{Bsr, Layout, Ragged, Topology, check_rank, element_count, grid};

pub(super) struct Head {
    /// Whether the contents are block-sparse matrices rather than a ragged batch.
    pub blocks: bool,
    pub code: u8,
    rank: usize,
    elements: usize,
    /// The total number of values of all elements.
    total: u64,
}

impl Head {
    /// Reads the header after the magic bytes and the version.
    pub fn read(source: &mut Source<impl Read>) -> Result<Head> {
        let [contents, code, rank, zeros @ ..] = source.bytes::<8>("the header")?;
        if contents > 1 {
            return Err(wrong(8, "contents of 0 or 1", contents.to_string()));
        }
        let code = check_type(9, code, NAMES.len())?;
        check_rank(rank.into()).named(OP)?;
        if contents == 1 && rank != 3 {
            return Err(wrong(
                10,
                "a rank of 3 for block-sparse matrices",
                rank.to_string(),
            ));
        }
        if zeros != [0; 5] {
            return Err(wrong(11, "five zeros", format!("{zeros:?}")));
        }
        let elements = source.u64("the header")?;
        let elements = usize::try_from(elements).unwrap_or(usize::MAX);
        element_count(elements).named(OP)?;
        Ok(Head {
            blocks: contents == 1,
            code,
            rank: rank.into(),
            elements,
            total: source.u64("the header")?,
        })
    }

    pub fn ragged<T: Stored>(self, mut source: Source<impl Read>) -> Result<Ragged<T>> {
        let layout = self.layout(&mut source)?;
        Ragged::from_parts(layout, self.values(source)?)
    }

    pub fn bsr<T: Stored>(self, mut source: Source<impl Read>) -> Result<Bsr<T>> {
        let layout = self.layout(&mut source)?;
        let what = "the topology";
        let begin = source.at();
        let [m, n, high, wide, blocks] = [(); 5].map(|()| source.u32(what));
        let shape = [m? as usize, n? as usize];
        let block = [high? as usize, wide? as usize];
        let (blocks, [rows, columns]) = (blocks?, grid(shape, block)?);
        let of_rows = source.values::<u32>(rows as u64, 4, what)?;
        let of_columns = source.values::<u32>(columns as u64, 4, what)?;
        let listed: u64 = of_rows.iter().map(|&count| u64::from(count)).sum();
        if listed != u64::from(blocks) {
            let expected = format!("row counts that add up to {blocks}");
            return Err(wrong(begin + 20, expected, listed.to_string()));
        }
        let listed = source.values::<u32>(blocks.into(), 4, what)?;

        let places = places(OP, &of_rows, &listed)?;
        let topology = Topology::new(shape, block, &places)?;
        let counts = topology.order(true).counts();
        if let Some((column, (count, &listed))) = counts
            .zip(&of_columns)
            .enumerate()
            .find(|(_, (count, listed))| count != *listed)
        {
            let at = begin + 20 + 4 * (of_rows.len() + column) as u64;
            let expected = format!("a count of {count} for column {column}");
            return Err(wrong(at, expected, listed.to_string()));
        }
        let set = topology.values_layout(1)?.shape(0);
        if let Some(element) = layout.shapes().position(|shape| shape != set) {
            return Err(Error::shape(element, set, layout.shape(element)).named(OP));
        }
        Bsr::from_sets(&topology, self.elements, self.values(source)?)
    }

    fn layout(&self, source: &mut Source<impl Read>) -> Result<Layout> {
        let (elements, rank) = (self.elements, self.rank);
        let extents = elements as u64 * rank as u64;
        let extents = source.values::<u32>(extents, 4, "the extents")?;
        let layout = layout_of(OP, rank, extents)?;
        let end = layout.total();
        if self.total != end as u64 {
            let expected = format!("{} for these shapes", Count(end, "value"));
            return Err(wrong(24, expected, self.total.to_string()));
        }
        Ok(layout)
    }

    /// Reads the rest of the file.
    fn values<T: Stored>(&self, mut source: Source<impl Read>) -> Result<Vec<T>> {
        let values = source.values(self.total, T::NUMBER, "the values")?;
        source.checked_end()?;
        Ok(values)
    }
}

pub(super) fn write_ragged<T: Stored>(
    batch: &Ragged<T>,
    sink: &mut Sink<impl Write>,
) -> Result<()> {
    write_shapes::<T>(batch.layout(), 0, sink)?;
    sink.values(batch.values(), T::NUMBER)?;
    sink.end()
}

pub(super) fn write_bsr<T: Stored>(bsr: &Bsr<T>, sink: &mut Sink<impl Write>) -> Result<()> {
    write_shapes::<T>(bsr.values().layout(), 1, sink)?;
    let topology = bsr.topology();
    let [[m, n], [high, wide]] = [topology.shape(), topology.block()];
    let sizes = [m, n, high, wide, topology.len()];
    sink.numbers(sizes.into_iter().map(|size| size as u32))?;
    sink.numbers(topology.order(false).counts())?;
    sink.numbers(topology.order(true).counts())?;
    sink.numbers(topology.blocks().map(|(_, column)| column))?;
    sink.values(bsr.values().values(), T::NUMBER)?;
    sink.end()
}

fn write_shapes<T: Stored>(
    layout: &Layout,
    contents: u8,
    sink: &mut Sink<impl Write>,
) -> Result<()> {
    sink.bytes(b"VSLAv02\0")?;
    sink.bytes(&[contents, T::CODE, layout.rank() as u8, 0, 0, 0, 0, 0])?;
    for size in [layout.len(), layout.total()] {
        sink.bytes(&(size as u64).to_le_bytes())?;
    }
    match layout.rank() {
        1 => sink.numbers(layout.lengths().map(|length| length as u32)),
        _ => sink.values(layout.extents(), 4),
    }
}
