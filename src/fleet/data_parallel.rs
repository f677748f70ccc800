//! Training: the gradients of parts of a batch, added in a fixed order.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use super::batches::Batches;
use super::cost::{Cost, shares};
use super::devices::Fleet;
use crate::error::Named;
use crate::program::{HostValue, Outputs, Plan, Program, Recording, Value, uploaded};
use crate::ragged::{Layout, Ragged};
use crate::tensor::{Device, Tensor};
use crate::{Error, Result, host};

const NEW: &str = "data_parallel";
const OP: &str = "step";

/// Values that the threads of the host add at a time.
const PIECE: usize = 1 << 16;

type Tensors = Vec<Tensor<f32>>;
type Loss = dyn Fn(&mut Recording, &[Tensor<f32>]) -> Result<Tensor<f32>> + Send + Sync;
type Optimizer =
    dyn Fn(&mut Recording, &[Tensor<f32>], &[Tensor<f32>]) -> Result<Tensors> + Send + Sync;

/// Training on all devices of a [`Fleet`]: every device has the weights, and computes the gradients of a part of each
/// batch.
///
/// A step divides its batch into K *shards*, contiguous ranges of about as many values and of at least one element. K
/// is a power of two that the caller fixes, such as the largest number of devices that will ever be used. The gradient
/// of each shard is computed alone, and these are added in a binary tree: shards 0 and 1, 2 and 3, and so on, then
/// these sums. A device adds those of its own shards, and the host adds the sums of devices. Then each device computes
/// the step of the optimizer. So the weights of devices of one model have **the same bits for any number of devices**,
/// and after every step they are equal on all of them. They do depend on K.
///
/// Both functions are recorded on each device, as in a [`Program`], and again for shards of other layouts.
///
/// * `loss` gets the weights, and the batches of the step from [`Recording::input`]. It returns losses, in a batch of
///   any shapes, whose sum over shards is the loss of the batch: so each element must have its own, as a sum and not as
///   a mean of the shard.
/// * `optimizer` gets the state, which is the weights and then the moments, and the gradients of the mean loss: 1 / n
///   of the sum, for a batch of n elements. It returns the next state. What changes from step to step, such as a rate,
///   it gets from [`Recording::input`].
///
/// Sums of gradients below 2⁻¹²⁶ count as 0, because a GPU may flush such numbers and the host does not.
///
/// ```
/// use vsla::fleet::{DataParallel, Fleet, FleetOptions};
/// use vsla::{Pairing, Ragged, Tensor};
///
/// // One filter for recordings of different lengths.
/// let x = Ragged::from_rows([vec![1.0f32, 2.0], vec![1.0], vec![3.0, 1.0, 1.0]])?;
/// let target = Ragged::from_rows([vec![2.0f32, 5.0, 2.0], vec![2.0, 1.0], vec![6.0, 5.0, 3.0, 1.0]])?;
/// let rate = Ragged::from_rows([[0.1f32]])?;
///
/// let fleet = Fleet::open(FleetOptions::default())?;
/// let mut training = DataParallel::new(
///     &fleet,
///     2,
///     &[&Ragged::from_rows([[0.0f32, 0.0]])?],
///     &[],
///     |r, weights| {
///         let (x, target) = (r.input()?, r.input()?);
///         let miss = weights[0].pair(&x, Pairing::OneToAll)?.conv()?.sub(&target)?;
///         miss.dot(&miss)
///     },
///     |r, state, gradients| {
///         let rate: Tensor<f32> = r.input()?;
///         Ok(vec![state[0].sub(&gradients[0].scale_by(&rate)?)?])
///     },
/// )?;
/// for _ in 0..100 {
///     training.step((&x, &target), &[&rate])?;
/// }
/// let filter = training.state(&fleet.devices()[0])?[0].download_blocking()?;
/// assert!((filter.row(0)[0] - 2.0).abs() < 1e-3 && (filter.row(0)[1] - 1.0).abs() < 1e-3);
/// # Ok::<(), vsla::Error>(())
/// ```
pub struct DataParallel {
    fleet: Fleet,
    shards: usize,
    /// The layouts of a loss and of all gradients.
    sums: Vec<Layout>,
    replicas: Vec<Replica>,
    /// Memory of the host for sums, from earlier steps.
    spare: Mutex<Vec<Vec<f32>>>,
}

/// What a device has.
struct Replica {
    device: Device,
    slopes: Planned,
    add: Planned,
    optimizer: Planned,
    /// The weights, and then the moments.
    state: Tensors,
}

impl DataParallel {
    /// Copies weights and moments to all devices, and records nothing yet.
    ///
    /// Weights are what gradients are taken of. Moments are what else an optimizer keeps, if anything.
    ///
    /// # Errors
    /// [`Argument`](Error::Argument) for a number of shards that is not a power of two, without weights, and for a
    /// fleet of different models, whose roundings would differ; those of [`Fleet::replicate`].
    pub fn new(
        fleet: &Fleet,
        shards: usize,
        weights: &[&Ragged<f32>],
        moments: &[&Ragged<f32>],
        loss: impl Fn(&mut Recording, &[Tensor<f32>]) -> Result<Tensor<f32>> + Send + Sync + 'static,
        optimizer: impl Fn(&mut Recording, &[Tensor<f32>], &[Tensor<f32>]) -> Result<Vec<Tensor<f32>>>
        + Send
        + Sync
        + 'static,
    ) -> Result<DataParallel> {
        let refused = |expected: &str, got: String| Err(Error::argument(expected, got).named(NEW));
        if !shards.is_power_of_two() {
            return refused(
                "a number of shards that is a power of two",
                shards.to_string(),
            );
        }
        if weights.is_empty() {
            return refused("weights", "none".to_owned());
        }
        if let Some(other) = fleet.other_model() {
            let got = format!("{} and {}", fleet.devices()[0].name(), other.name());
            return refused("devices of one model", got);
        }
        let state = weights.iter().chain(moments);
        let state = state.map(|batch| fleet.replicate(batch));
        let state = state.collect::<Result<Vec<_>>>()?;
        let one = Layout::from_lengths([1])?;
        let sums = std::iter::once(&one).chain(weights.iter().map(|batch| batch.layout()));
        let (loss, optimizer): (Arc<Loss>, Arc<Optimizer>) = (Arc::new(loss), Arc::new(optimizer));
        let own = shards.div_ceil(fleet.devices().len());
        let replica = |device: &Device| {
            let on_device = state.iter().map(|batch| batch.on(device).cloned());
            Ok(Replica {
                slopes: Planned::new(slopes(device, weights.len(), &loss), own),
                add: Planned::new(addition(device, 1 + weights.len()), 1),
                optimizer: Planned::new(
                    optimized(device, weights.len(), state.len(), &optimizer),
                    1,
                ),
                state: on_device.collect::<Result<_>>()?,
                device: device.clone(),
            })
        };
        Ok(DataParallel {
            fleet: fleet.clone(),
            shards,
            sums: sums.cloned().collect(),
            replicas: fleet.devices().iter().map(replica).collect::<Result<_>>()?,
            spare: Mutex::default(),
        })
    }

    /// Trains with a batch, or with several whose elements belong together, as in [`Fleet::map`]. `inputs` are those of
    /// the optimizer. Returns the mean loss of the elements before the step, on the first device.
    ///
    /// A fleet of one device does not wait for it. Otherwise, gradients pass through the host: each device sends one
    /// sum and gets one, of the size of the weights.
    ///
    /// # Errors
    /// Before any work: [`BatchSize`](Error::BatchSize) for batches of different sizes, and
    /// [`Argument`](Error::Argument) for a batch of fewer elements than there are shards. All others are a
    /// [`Part`](Error::Part), which names the device and its elements: those of both functions, which may return one to
    /// cancel the step, of recording, of gradients and of runs; [`DeviceMismatch`](Error::DeviceMismatch) if a function
    /// uses a tensor of a device outside the fleet or of another one in it; and [`Argument`](Error::Argument) if the
    /// optimizer returns other numbers of tensors, or other layouts, than the state has. After an error, the weights
    /// are as they were. A lost device is not replaced.
    ///
    /// # Panics
    /// If a function panics, the panic continues on the thread of the caller once the other devices are done. The
    /// weights are as they were.
    pub fn step<B: Batches>(
        &mut self,
        batches: B,
        inputs: &[&dyn HostValue],
    ) -> Result<Tensor<f32>> {
        let DataParallel {
            fleet,
            replicas,
            sums,
            spare,
            ..
        } = &*self;
        let elements = batches.layout().len();
        batches.check(elements).named(OP)?;
        let shards = divided(batches.layout(), self.shards).named(OP)?;
        let count = replicas.len();
        let of_device =
            |device: usize| self.shards * device / count..self.shards * (device + 1) / count;
        let replicas = || {
            let all = replicas.iter().enumerate();
            all.map(|(device, replica)| {
                let own = of_device(device);
                let at = |shard: usize| shards.get(shard).map_or(elements, |shard| shard.start);
                (at(own.start)..at(own.end), replica)
            })
        };
        let nodes = fleet.on_each(OP, replicas(), |device, _, replica| {
            let mut nodes = Vec::new();
            for shard in of_device(device) {
                let sums = replica.slopes(sums.len() - 1, &batches, shards[shard].clone())?;
                let shards = shard..shard + 1;
                join(&mut nodes, Node { shards, sums }, |a, b| {
                    replica.add(&a, &b)
                })?;
            }
            if count == 1 {
                let root = nodes.pop().map(|node| node.sums);
                return Ok((root, Vec::new()));
            }
            let on_host = nodes.into_iter().map(|node| {
                let values = taken(spare, sums.iter().map(Layout::total).sum())?;
                node.on_host(values)
            });
            Ok((None, on_host.collect::<Result<Vec<_>>>()?))
        })?;
        let (mut root, mut on_host) = (None, Vec::new());
        for (there, nodes) in nodes {
            root = there;
            for node in nodes {
                join(&mut on_host, node, |a, b| {
                    let sum = added(a, &b);
                    kept(spare, b);
                    Ok(sum)
                })?;
            }
        }
        let on_host = on_host.pop().map(|node| node.sums);
        let share = Ragged::from_rows([[1.0 / elements as f32]])?;
        let next = fleet.on_each(OP, replicas(), |_, _, replica| {
            let sums = match (&root, &on_host) {
                (Some(sums), _) => sums.clone(),
                (None, on_host) => {
                    replica.uploaded(sums, on_host.as_deref().unwrap_or_default())?
                }
            };
            replica.optimized(&sums, &share, inputs)
        })?;
        on_host.into_iter().for_each(|values| kept(spare, values));
        let mut loss = None;
        for (replica, (mean, state)) in self.replicas.iter_mut().zip(next) {
            replica.state = state;
            loss.get_or_insert(mean);
        }
        loss.ok_or_else(|| Error::argument("at least one device", "none").named(OP))
    }

    /// The weights and then the moments on a device, in the order in which [`new`](Self::new) got them.
    ///
    /// # Errors
    /// [`DeviceMismatch`](Error::DeviceMismatch) for a device outside the fleet.
    pub fn state(&self, device: &Device) -> Result<&[Tensor<f32>]> {
        let replica = &self.replicas[self.fleet.place(device).named("state")?];
        Ok(&replica.state)
    }
}

impl Replica {
    /// The loss and the gradients of a shard.
    fn slopes<B: Batches>(
        &self,
        weights: usize,
        batches: &B,
        shard: Range<usize>,
    ) -> Result<Tensors> {
        let part = batches.upload(&self.device, shard)?;
        let weights = self.state[..weights].iter().map(input);
        let all: Vec<_> = weights.chain(B::inputs(&part)).collect();
        let outputs = self.slopes.run(&all)?;
        let sums = tensors(&outputs, 0..outputs.len());
        // Other devices, and the host, need not wait for the last shard to be recorded.
        self.device.flush()?;
        sums
    }

    fn add(&self, a: &[Tensor<f32>], b: &[Tensor<f32>]) -> Result<Tensors> {
        let outputs = self
            .add
            .run(&a.iter().chain(b).map(input).collect::<Vec<_>>())?;
        tensors(&outputs, 0..outputs.len())
    }

    fn uploaded(&self, layouts: &[Layout], mut values: &[f32]) -> Result<Tensors> {
        let all = layouts.iter().map(|layout| {
            let (own, rest) = values.split_at(layout.total());
            values = rest;
            self.device.upload_parts(layout, own)
        });
        all.collect()
    }

    /// The mean loss and the next state.
    fn optimized(
        &self,
        sums: &[Tensor<f32>],
        share: &Ragged<f32>,
        inputs: &[&dyn HostValue],
    ) -> Result<(Tensor<f32>, Tensors)> {
        let share = self.device.upload(share)?;
        let own = uploaded(&self.device, inputs)?;
        let all = self.state.iter().chain(sums).chain([&share]).map(input);
        let own = own.iter().map(|(layout, value)| (layout, &**value));
        let outputs = self.optimizer.run(&all.chain(own).collect::<Vec<_>>())?;
        self.device.flush()?;
        Ok((outputs.get(0)?, tensors(&outputs, 1..outputs.len())?))
    }
}

fn input(tensor: &Tensor<f32>) -> (&Layout, &dyn Value) {
    (tensor.layout(), tensor)
}

fn tensors(outputs: &Outputs, which: Range<usize>) -> Result<Tensors> {
    which.map(|i| outputs.get(i)).collect()
}

/// A program, and its plans for the layouts of the last runs.
struct Planned {
    program: Program,
    plans: Mutex<Vec<Plan>>,
    /// How many plans are kept.
    most: usize,
}

impl Planned {
    fn new(program: Program, most: usize) -> Planned {
        let plans = Mutex::default();
        Planned {
            program,
            plans,
            most,
        }
    }

    fn run(&self, inputs: &[(&Layout, &dyn Value)]) -> Result<Outputs> {
        let plans = || self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        let layouts: Vec<&Layout> = inputs.iter().map(|(layout, _)| *layout).collect();
        let known = {
            let mut plans = plans();
            let is_for = |plan: &Plan| plan.inputs().eq(layouts.iter().copied());
            let at = plans.iter().position(is_for);
            at.map(|at| plans.remove(at))
        };
        let plan = match known {
            Some(plan) => plan,
            None => self.program.plan(&layouts)?,
        };
        let values: Vec<&dyn Value> = inputs.iter().map(|(_, value)| *value).collect();
        let outputs = plan.run(&values)?;
        let mut plans = plans();
        if plans.len() == self.most {
            plans.remove(0);
        }
        plans.push(plan);
        Ok(outputs)
    }
}

/// From the weights and the batch to the loss and the gradients.
fn slopes(device: &Device, weights: usize, loss: &Arc<Loss>) -> Program {
    let loss = loss.clone();
    Program::new(device, move |r| {
        let weights = recorded(r, weights)?;
        let losses = loss(r, &weights)?;
        let ones = r.device().full(losses.layout(), 1.0f32)?;
        let weights: Vec<&Tensor<f32>> = weights.iter().collect();
        let slopes = r.gradients_from(&[(&losses, &ones)], &weights)?;
        let sum = losses.sum()?.packed()?.sum()?;
        let mut all = std::iter::once(&sum).chain(&slopes);
        all.try_for_each(|sum| r.output(&flushed(sum)?))
    })
}

/// From two lists of tensors to their sums.
fn addition(device: &Device, tensors: usize) -> Program {
    Program::new(device, move |r| {
        let (a, b) = (recorded(r, tensors)?, recorded(r, tensors)?);
        let mut pairs = a.iter().zip(&b);
        pairs.try_for_each(|(a, b)| r.output(&flushed(&a.add(b)?)?))
    })
}

/// From the state, and sums for a batch, to the mean loss and the next state.
fn optimized(device: &Device, weights: usize, state: usize, optimizer: &Arc<Optimizer>) -> Program {
    let optimizer = optimizer.clone();
    Program::new(device, move |r| {
        let state = recorded(r, state)?;
        let sums = recorded(r, 1 + weights)?;
        let share: Tensor<f32> = r.input()?;
        let means = sums.iter().map(|sum| sum.scale_by(&share));
        let means = means.collect::<Result<Tensors>>()?;
        let next = optimizer(r, &state, &means[1..])?;
        let layouts = |tensors: &[Tensor<f32>]| -> Vec<Layout> {
            tensors
                .iter()
                .map(|tensor| tensor.layout().clone())
                .collect()
        };
        let (expected, got) = (layouts(&state), layouts(&next));
        if got.len() != expected.len() {
            let expected = format!("{} tensors of the next state", expected.len());
            return Err(Error::argument(expected, got.len()).named("optimizer"));
        }
        let differs = |&i: &usize| expected[i] != got[i];
        if let Some(i) = (0..got.len()).find(differs) {
            let expected = format!("the layout of tensor {i} of the state, {}", expected[i]);
            return Err(Error::argument(expected, &got[i]).named("optimizer"));
        }
        r.output(&means[0])?;
        next.iter().try_for_each(|tensor| r.output(tensor))
    })
}

fn recorded(r: &mut Recording, count: usize) -> Result<Tensors> {
    (0..count).map(|_| r.input()).collect()
}

/// With 0 in place of subnormal numbers.
fn flushed(x: &Tensor<f32>) -> Result<Tensor<f32>> {
    x.abs()?.less(f32::MIN_POSITIVE)?.if_else(0.0, x)
}

/// The sums of two lists, in place of the first, by the rule of [`flushed`].
fn added(mut a: Vec<f32>, b: &[f32]) -> Vec<f32> {
    let pieces = a.par_chunks_mut(PIECE).zip(b.par_chunks(PIECE));
    pieces.for_each(|(a, b)| {
        for (a, b) in a.iter_mut().zip(b) {
            let sum = *a + b;
            *a = if sum.abs() < f32::MIN_POSITIVE {
                0.0
            } else {
                sum
            };
        }
    });
    a
}

/// Memory for so many values.
fn taken(spare: &Mutex<Vec<Vec<f32>>>, values: usize) -> Result<Vec<f32>> {
    let known = spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
    known.map_or_else(|| host::zeroed(values), Ok)
}

fn kept(spare: &Mutex<Vec<Vec<f32>>>, values: Vec<f32>) {
    spare
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(values);
}

/// The sums of shards: of 2ᵐ, from a multiple of 2ᵐ on.
struct Node<T> {
    shards: Range<usize>,
    sums: T,
}

impl Node<Tensors> {
    /// Copies sums to the host, end to end.
    fn on_host(self, mut values: Vec<f32>) -> Result<Node<Vec<f32>>> {
        let mut rest = &mut values[..];
        for tensor in &self.sums {
            let (to, after) = rest.split_at_mut(tensor.layout().total());
            tensor.download_into_blocking(to)?;
            rest = after;
        }
        let shards = self.shards;
        Ok(Node {
            shards,
            sums: values,
        })
    }
}

/// Appends a node, and adds it to the one before it as long as both are halves of a larger one.
fn join<T>(
    nodes: &mut Vec<Node<T>>,
    mut node: Node<T>,
    mut add: impl FnMut(T, T) -> Result<T>,
) -> Result<()> {
    let are_halves = |a: &Range<usize>, b: &Range<usize>| {
        a.end == b.start && a.len() == b.len() && a.start.is_multiple_of(2 * a.len())
    };
    while let Some(before) = nodes.pop_if(|before| are_halves(&before.shards, &node.shards)) {
        node = Node {
            shards: before.shards.start..node.shards.end,
            sums: add(before.sums, node.sums)?,
        };
    }
    nodes.push(node);
    Ok(())
}

/// The elements of each shard: about as many values, and at least one element.
fn divided(layout: &Layout, shards: usize) -> Result<Vec<Range<usize>>> {
    let elements = layout.len();
    if elements < shards {
        let expected = format!("a batch of at least {shards} elements, one for each shard");
        return Err(Error::argument(expected, elements));
    }
    let sums = Cost::values().sums(layout)?;
    let mut begin = 0;
    let shards = shares(&sums, shards).zip((0..shards).rev());
    Ok(shards
        .map(|(share, after)| {
            let end = share.end.clamp(begin + 1, elements - after);
            std::mem::replace(&mut begin, end)..end
        })
        .collect())
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    /// The sum of shards with these numbers, as a term, for so many devices.
    fn term(shards: usize, devices: usize) -> String {
        let pair = |a: String, b: String| Ok(format!("({a}+{b})"));
        let mut on_host = Vec::new();
        for device in 0..devices {
            let mut nodes = Vec::new();
            for shard in shards * device / devices..shards * (device + 1) / devices {
                let sums = shard.to_string();
                let shards = shard..shard + 1;
                join(&mut nodes, Node { shards, sums }, pair).unwrap();
            }
            for node in nodes {
                join(&mut on_host, node, pair).unwrap();
            }
        }
        let [root] = &on_host[..] else { panic!() };
        assert_eq!(root.shards, 0..shards);
        root.sums.clone()
    }

    #[apply(unit_test)]
    fn sums_do_not_depend_on_the_number_of_devices() {
        assert_eq!(term(4, 1), "((0+1)+(2+3))");
        for shards in [1, 2, 4, 8, 32] {
            for devices in 1..=9 {
                assert_eq!(
                    term(shards, devices),
                    term(shards, 1),
                    "{devices} of {shards}"
                );
            }
        }
    }

    #[apply(unit_test)]
    fn every_shard_has_an_element() {
        let ends = |lengths: &[usize], shards| {
            let layout = Layout::from_lengths(lengths.iter().copied()).unwrap();
            let shards = divided(&layout, shards).unwrap();
            shards.iter().map(|shard| shard.end).collect::<Vec<_>>()
        };
        assert_eq!(ends(&[5; 8], 4), [2, 4, 6, 8]);
        assert_eq!(ends(&[900, 1, 1, 1, 1], 4), [1, 2, 3, 5]);
        assert_eq!(ends(&[1, 1, 1, 900], 4), [1, 2, 3, 4]);
        assert_eq!(ends(&[0, 0, 0], 2), [2, 3]);
    }
}
