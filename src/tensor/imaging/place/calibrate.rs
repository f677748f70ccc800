//! Measures how long programs take on each machine, and chooses a machine by these times.

use std::time::Instant;

use super::super::{Image, ImageProgram, LabelBy, Machine};
use super::{
    Calibration, Choice, Costs, GpuCosts, LatestRuns, Place, TRIES, WORTH_A_TRY, Work, fastest,
    squares,
};
use crate::ops::imaging::compile::{Class, Compiled};
use crate::ops::imaging::samples::Samples;
use crate::ops::kit::Neighbours;
use crate::ragged::Ragged;
use crate::tensor::Device;
use crate::{Error, Result};

/// A program of so many instructions of a class after each other.
fn chain(class: Class, instructions: i32) -> Result<ImageProgram> {
    let next = |x: &Image, i: i32| match class {
        Class::Cells => x.plus(i),
        Class::Neighbours => x.dilate(if i % 2 == 0 {
            Neighbours::Four
        } else {
            Neighbours::Eight
        }),
        Class::Components => x.plus(i).label(LabelBy::Values, Neighbours::Four, -1),
    };
    ImageProgram::new(|r| {
        let mut x = r.input();
        for i in 0..instructions {
            x = next(&x, i + 1);
        }
        r.output(&x.sum());
    })
}

impl Calibration {
    pub(super) fn measured(device: &Device) -> Result<Calibration> {
        if cfg!(target_family = "wasm") {
            return Err(Error::unsupported(
                "measuring costs in a browser; name a place instead of Auto",
            )
            .named("calibrate"));
        }
        const CHAIN: i32 = 32;
        /// Seconds.
        const ENOUGH: f64 = 2e-3;
        let (tiny, large) = (squares(1, 1)?, squares(1, 32)?);
        let one = |program: &ImageProgram, images: &Ragged<i32>, place: &Place| {
            fastest(|| program.run_blocking(place, &[images]).map(|_| ()))
        };
        let mut costs = Costs::default();
        let short = chain(Class::Cells, 1)?;
        costs.call = one(&short, &tiny, &Place::OneCore)?;
        for class in Class::ALL {
            let program = chain(class, CHAIN)?;
            let at = class as usize;
            let per_step = |time: f64| (time / f64::from(CHAIN)).max(1e-10);
            let base = one(&program, &tiny, &Place::OneCore)? - costs.call;
            costs.instruction[at] = per_step(base);
            let more = one(&program, &large, &Place::OneCore)? - costs.call - base;
            costs.cell[at] = per_step(more) / 1023.0;
        }
        let cells = chain(Class::Cells, CHAIN)?;
        let many = squares(256, 24)?;
        let serial = one(&cells, &many, &Place::OneCore)?;
        costs.parallel = one(&short, &squares(64, 1)?, &Place::AllCores)?;
        let parallel = one(&cells, &many, &Place::AllCores)?;
        costs.speedup = (serial / (parallel - costs.parallel).max(1e-9)).max(1.0);

        if device.is_gpu() {
            let place = Place::from(device);
            let submission = one(&short, &tiny, &place)?;
            let all = one(&cells, &tiny, &place)?;
            let levels = (cells.levels() - short.levels()).max(1) as f64;
            let level = ((all - submission) / levels).max(0.0);
            // So many samples that the time exceeds the latency, without taking long on a slow device.
            let filling =
                |program: &ImageProgram, side: usize, most: usize| -> Result<(f64, usize)> {
                    let mut samples = 16;
                    loop {
                        let images = squares(samples, side)?;
                        let start = Instant::now();
                        program.run_blocking(&place, &[&images])?;
                        if samples >= most
                            || start.elapsed().as_secs_f64() > ENOUGH.max(4.0 * submission)
                        {
                            return Ok((one(program, &images, &place)?, samples));
                        }
                        samples *= 4;
                    }
                };
            let (time, samples) = filling(&short, 64, 256)?;
            let byte = ((time - submission) / (samples * 4 * 64 * 64) as f64).max(0.0);
            let mut gpu = GpuCosts {
                submission,
                level,
                byte,
                ..GpuCosts::default()
            };
            for class in Class::ALL {
                let program = chain(class, CHAIN)?;
                // Two sizes of images: two equations in two unknowns.
                let per_step = |side: usize| -> Result<f64> {
                    let (time, samples) = filling(&program, side, 4096)?;
                    let levels = program.levels() as f64;
                    let rest =
                        submission + levels * level + byte * (samples * 4 * side * side) as f64;
                    Ok(((time - rest) / (samples as f64 * f64::from(CHAIN))).max(1e-12))
                };
                let (small, large) = (per_step(2)?, per_step(16)?);
                gpu.instruction[class as usize] = small;
                gpu.cell[class as usize] = ((large - small) / 252.0).max(0.0);
            }
            costs.gpu = Some(gpu);
        }
        Ok(Calibration {
            device: device.is_gpu().then(|| device.clone()),
            costs,
        })
    }

    /// The predicted seconds of a program on each machine, by the sizes of its samples.
    fn predict(&self, compiled: &Compiled, work: Work) -> Vec<(Machine, f64)> {
        let costs = &self.costs;
        let samples = work.samples as f64;
        // The time of all instructions, given those of an instruction and of a cell, by class.
        let computed = |instruction: &[f64], cell: &[f64]| -> f64 {
            let one = |class: &Class| {
                let (at, count) = (*class as usize, compiled.classes[*class as usize]);
                let cells = count.per_unit * work.cells as f64 + count.fixed * samples;
                instruction[at] * count.steps * samples + cell[at] * cells
            };
            Class::ALL.iter().map(one).sum()
        };
        let serial = computed(&costs.instruction, &costs.cell);
        let mut all = vec![
            (Machine::OneCore, costs.call + serial),
            (Machine::AllCores, costs.parallel + serial / costs.speedup),
        ];
        if let Some(gpu) = costs.gpu {
            let time = gpu.submission
                + gpu.level * compiled.dispatches() as f64
                + gpu.byte * 4.0 * (work.cells + work.results) as f64
                + computed(&gpu.instruction, &gpu.cell);
            all.push((Machine::Gpu, time));
        }
        all
    }
}

impl ImageProgram {
    pub(in crate::tensor::imaging) fn choose<'a>(
        &self,
        place: &'a Place,
        samples: &Samples<'_>,
    ) -> Choice<'a> {
        let on = |machine, device| Choice {
            machine,
            device,
            size: None,
            predicted: None,
        };
        let calibration = match place {
            Place::OneCore => return on(Machine::OneCore, None),
            Place::AllCores => return on(Machine::AllCores, None),
            Place::Device(device) if device.is_gpu() => return on(Machine::Gpu, Some(device)),
            Place::Device(_) => return on(Machine::AllCores, None),
            Place::Auto(calibration) => calibration,
        };
        let cells = samples.units();
        let results = self.compiled.results;
        let work = Work {
            samples: samples.len,
            cells,
            results: u64::from(results.per_unit) * cells
                + u64::from(results.fixed) * samples.len as u64,
        };
        // Batches are of one size if their numbers of cells differ by less than a fifth or so.
        let size = (4.0 * (cells.max(1) as f64).log2()) as u32;
        let learned = self.lock_learned();
        let predicted =
            calibration
                .predict(&self.compiled, work)
                .into_iter()
                .map(|(machine, time)| {
                    let device = calibration.device.as_ref();
                    let device = device.filter(|_| machine == Machine::Gpu).map(Device::id);
                    let known = learned.0.get(&(machine, device, size));
                    let time = known.map_or(time, LatestRuns::time);
                    (
                        machine,
                        time,
                        known.is_some_and(|known| known.runs >= TRIES),
                    )
                });
        let predicted: Vec<_> = predicted.collect();
        let by_time = |a: &&(Machine, f64, bool), b: &&(Machine, f64, bool)| a.1.total_cmp(&b.1);
        let best = predicted.iter().min_by(by_time);
        let limit = best.map_or(0.0, |best| WORTH_A_TRY * best.1);
        let untried = predicted
            .iter()
            .filter(|(_, time, known)| !known && *time <= limit);
        let chosen = untried.min_by(by_time).or(best);
        let Some(&(machine, time, _)) = chosen else {
            return on(Machine::OneCore, None);
        };
        Choice {
            machine,
            device: calibration
                .device
                .as_ref()
                .filter(|_| machine == Machine::Gpu),
            size: Some(size),
            predicted: Some(time),
        }
    }
}
