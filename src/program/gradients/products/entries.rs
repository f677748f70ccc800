//! Products of matrices of vectors. Each term of a result gives cotangents to its two entries.

use super::kron::{from_left, from_right};
use crate::error::Named;
use crate::error::Side;
use crate::ops::choice::ConvMode;
use crate::ops::shape_matmul::{Model, ShapeMatmul};
use crate::program::gradients::parts::{layout, sums};
use crate::program::gradients::rule::{Applied, Cotangent, Cotangents, GRADIENTS, Rule};
use crate::ragged::{Layout, PairList, Pairing, Pairs};
use crate::{Result, host};

/// For each term, the numbers of its result and of both entries.
struct Terms {
    all: Vec<[u32; 3]>,
}

impl Terms {
    fn of(a: &Layout, b: &Layout) -> Result<Terms> {
        let mut all = Vec::new();
        let mut result = 0;
        for ((left, right), (of_a, of_b)) in a
            .shapes()
            .zip(b.shapes())
            .zip(a.offsets().as_slice().iter().zip(b.offsets().as_slice()))
        {
            let ([rows, inner], columns) =
                ([left.extents()[0], left.extents()[1]], right.extents()[1]);
            for i in 0..rows {
                for k in 0..columns {
                    let term = |j: u32| [result, of_a + i * inner + j, of_b + j * columns + k];
                    host::extend(&mut all, (0..inner).map(term)).named(GRADIENTS)?;
                    result += 1;
                }
            }
        }
        Ok(Terms { all })
    }

    fn len(&self) -> usize {
        self.all.len()
    }

    /// The pairs of results and entries of an operand.
    fn pairs(&self, side: usize) -> Result<PairList> {
        PairList::new(self.all.iter().map(|term| (term[0], term[1 + side])))
    }
}

impl Rule for ShapeMatmul {
    fn of_result(&self, applied: &Applied<'_>, g: &Cotangent) -> Result<Cotangents> {
        let g = &applied.floats(g)?;
        let terms = Terms::of(applied.layout(2), applied.layout(3))?;
        let operands = [applied.operand::<f32>(0)?, applied.operand::<f32>(1)?];
        let made = |side: usize| {
            let entries = operands[side].layout();
            let member = |term: usize| terms.all[term][1 + side] as usize;
            let shapes = layout(terms.len(), 1, |term, _| entries.length(member(term)))?;
            let other = &operands[1 - side];
            let each = match self.model {
                Model::Convolution => {
                    let pairs = terms.pairs(1 - side)?;
                    let pair = g.pair(other, Pairing::List(&pairs))?;
                    let valid = pair.convolution().mode(ConvMode::Valid);
                    // A result may be shorter than an entry whose other factor is empty.
                    valid.side(Side::Left).correlate()?
                }
                Model::Kronecker => {
                    let [a, b] = [operands[0].layout(), operands[1].layout()];
                    let extents = |term: usize| {
                        let [_, i, j] = terms.all[term].map(|i| i as usize);
                        [a.length(i), b.length(j)]
                    };
                    let flat = layout(terms.len(), 1, |term, _| extents(term).iter().product())?;
                    let table = layout(terms.len(), 2, |term, axis| extents(term)[axis])?;
                    let results =
                        host::exact(terms.all.iter().map(|term| term[0])).named(GRADIENTS)?;
                    let table = g.select(&results)?.resize(&flat)?.view_as(&table)?;
                    let list = PairList::new(terms.all.iter().map(|term| (term[1], term[2])))?;
                    let pairs = Pairs::new(a, b, Pairing::List(&list))?;
                    match side {
                        0 => from_right(&table, other, &pairs)?.view_as(&shapes)?,
                        _ => from_left(other, &table, &pairs)?.view_as(&shapes)?,
                    }
                }
            };
            sums(&each.resize(&shapes)?, member, entries)
        };
        let mut all = vec![
            applied.wanted(0, || made(0))?,
            applied.wanted(1, || made(1))?,
        ];
        // The grids have no values.
        all.resize(applied.operands(), None);
        Ok(all)
    }
}
