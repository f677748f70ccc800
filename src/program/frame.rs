//! The arena of a program, shared by all its plans: buffers that only grow.

use super::graph::Values;
use super::names::{PLAN, RUN};
use crate::cpu::{Cpu, CpuBuffer};
use crate::error::Named;

#[cfg(feature = "gpu")]
use crate::gpu::GpuFrame;
use crate::plan::{Arena, Item};
use crate::tensor::{Backend, Device};
use crate::{Error, Result};

/// How many templates are kept in any case. A program has one, unless its kernels, and with them its values, differ
/// from batch to batch.
const TEMPLATES: usize = 8;

/// The most values of all templates beyond that, where a template counts as at least `FEW`. One that was dropped and is
/// needed again has other places, for which there are no bind groups, and slabs may have to grow for them.
const VALUES: usize = 1 << 17;
const FEW: usize = 1 << 8;

/// The buffers of the arena, and where values lie in them.
#[derive(Default)]
pub(super) struct Frame {
    /// Empty while a run uses them.
    cpu: Vec<Option<CpuBuffer>>,
    #[cfg(feature = "gpu")]
    pub gpu: GpuFrame,
    /// The size of each slab in bytes.
    sizes: Vec<u64>,
    /// Most recently used last.
    templates: Vec<Template>,
}

/// Places for values with these lifetimes and at most these sizes.
struct Template {
    items: Vec<Item>,
    apart: Vec<(u32, u32)>,
    arena: Arena,
}

impl Template {
    /// Places for these values, in slabs of at most `largest` bytes. Values that need more than in `before` are
    /// enlarged by 1/`spare` of their size, so that slightly larger batches do not move them again.
    fn new(
        values: &Values,
        before: Option<&Template>,
        largest: u64,
        spare: u64,
    ) -> Result<Template> {
        let mut items = values.items.clone();
        let had = before.map_or(&[][..], |before| &before.items);
        for (item, had) in items.iter_mut().zip(had) {
            item.bytes = match item.bytes > had.bytes {
                true => (item.bytes + item.bytes / spare).min(largest.max(item.bytes)),
                false => had.bytes,
            };
        }
        let arena = Arena::place(&items, &values.apart, largest).map_err(|item| {
            Error::too_large("a value", values.items[item].bytes, largest).named(PLAN)
        })?;
        Ok(Template {
            items,
            apart: values.apart.clone(),
            arena,
        })
    }

    fn is_for(&self, values: &Values) -> bool {
        let same = |(a, b): (&Item, &Item)| a.born == b.born && a.dies == b.dies;
        self.items.len() == values.items.len()
            && self.items.iter().zip(&values.items).all(same)
            && self.apart == values.apart
    }

    fn has_room(&self, values: &Values) -> bool {
        let mut all = self.items.iter().zip(&values.items);
        all.all(|(has, needs)| needs.bytes <= has.bytes)
    }
}

impl Frame {
    /// Places for these values, and whether the slabs grew. If no value needs more than in an earlier plan, its places
    /// are reused; otherwise all values are placed again. If there is no memory for that, nothing changes.
    pub(super) fn fit(&mut self, device: &Device, values: &Values) -> Result<(Arena, bool)> {
        let all = &self.templates;
        let known = all.iter().position(|template| template.is_for(values));
        if let Some(at) = known
            && all[at].has_room(values)
        {
            let template = self.templates.remove(at);
            let arena = template.arena.clone();
            self.templates.push(template);
            return Ok((arena, false));
        }
        let larger = |frame: &Frame, spare: u64| {
            let before = known.map(|at| &frame.templates[at]);
            Template::new(values, before, largest(device), spare)
        };
        let mut next = larger(self, 8)?;
        let grew = match self.grow(device, &next.arena.slabs) {
            Err(Error::OutOfMemory { .. }) if known.is_some() => {
                next = larger(self, u64::MAX)?;
                self.grow(device, &next.arena.slabs)?
            }
            other => other?,
        };
        let arena = next.arena.clone();
        if let Some(at) = known {
            self.templates.remove(at);
        }
        self.templates.push(next);
        let size = |template: &Template| template.items.len().max(FEW);
        let mut sum: usize = self.templates.iter().map(size).sum();
        while self.templates.len() > TEMPLATES && sum > VALUES {
            sum -= size(&self.templates.remove(0));
        }
        Ok((arena, grew))
    }

    /// Grows the buffers to these sizes. If there is no memory for that, they stay as they are. Returns whether they
    /// grew.
    fn grow(&mut self, device: &Device, needed: &[u64]) -> Result<bool> {
        let has = |slab: usize| self.sizes.get(slab).copied().unwrap_or(0);
        let sizes: Vec<u64> = (0..needed.len().max(self.sizes.len()))
            .map(|slab| has(slab).max(needed.get(slab).copied().unwrap_or(0)))
            .collect();
        if sizes == self.sizes {
            return Ok(false);
        }
        let kept = |slab: usize| has(slab) == sizes[slab];
        match device.backend() {
            Backend::Cpu(cpu) => {
                renew(&mut self.cpu, &sizes, kept, |bytes| {
                    cpu.slab(bytes).named(PLAN).map(Some)
                })?;
            }
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => {
                renew(&mut self.gpu.slabs, &sizes, kept, |bytes| {
                    gpu.slab(PLAN, bytes)
                })?;
            }
        }
        self.sizes = sizes;
        Ok(true)
    }

    /// The slabs for a run on the CPU; new ones if another run has taken them. They are not locked during the run,
    /// because a rayon thread that waits for others to finish a kernel may meanwhile start another run, which would
    /// deadlock.
    pub(super) fn take(&mut self, cpu: &Cpu) -> Result<Vec<Option<CpuBuffer>>> {
        let mut slabs = std::mem::take(&mut self.cpu);
        renew(
            &mut slabs,
            &self.sizes,
            |_| true,
            |bytes| cpu.slab(bytes).named(RUN).map(Some),
        )?;
        Ok(slabs)
    }

    /// Takes slabs back, unless the frame's slabs have grown meanwhile, or another run has returned its own.
    pub(super) fn give_back(&mut self, slabs: Vec<Option<CpuBuffer>>) {
        let sizes = slabs.iter().flatten().map(|slab| slab.bytes().len() as u64);
        if self.cpu.is_empty() && sizes.eq(self.sizes.iter().copied()) {
            self.cpu = slabs;
        }
    }
}

/// Replaces the buffers that are not kept, and adds those that are missing. After an error nothing changed.
fn renew<B>(
    buffers: &mut Vec<B>,
    sizes: &[u64],
    kept: impl Fn(usize) -> bool,
    make: impl Fn(u64) -> Result<B>,
) -> Result<()> {
    let made = (0..sizes.len())
        .filter(|slab| *slab >= buffers.len() || !kept(*slab))
        .map(|slab| Ok((slab, make(sizes[slab])?)));
    let made: Vec<(usize, B)> = made.collect::<Result<_>>()?;
    for (slab, buffer) in made {
        match buffers.get_mut(slab) {
            Some(place) => *place = buffer,
            None => buffers.push(buffer),
        }
    }
    Ok(())
}

/// The most bytes of a slab.
fn largest(device: &Device) -> u64 {
    match device.backend() {
        Backend::Cpu(_) => !255,
        #[cfg(feature = "gpu")]
        Backend::Gpu(gpu) => gpu.largest_slab(),
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    fn values(bytes: u64) -> Values {
        let item = Item {
            bytes,
            born: 0,
            dies: 0,
        };
        Values {
            items: vec![item],
            apart: Vec::new(),
            classes: Vec::new(),
        }
    }

    /// Room to spare never makes a value too large.
    #[apply(unit_test)]
    fn values_may_be_as_large_as_a_slab() {
        let largest = 1 << 20;
        let before = Template::new(&values(5000), None, largest, 8).unwrap();
        let larger = |bytes| Template::new(&values(bytes), Some(&before), largest, 8);
        for (bytes, has) in [
            (4000, 5000),
            (8000, 9000),
            (largest - 256, largest),
            (largest, largest),
        ] {
            assert_eq!(larger(bytes).map(|next| next.items[0].bytes), Ok(has));
        }
        let error = larger(largest + 1).map(|_| ()).unwrap_err();
        assert_eq!((error.kind(), error.op()), ("too_large", "plan"));
    }
}
