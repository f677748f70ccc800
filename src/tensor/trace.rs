//! Recordings: operations on values that do not exist yet.
//!
//! An operand of a recording has a number instead of a buffer. A `Call` with such an operand checks
//! and plans as always, and then appends a node to the [`Trace`] instead of running. Views are nodes, too, so that a
//! gradient can follow them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::operand::Operand;
use super::{Device, Storage, Tensor};
use crate::error::Named;
use crate::ops::Op;
use crate::ops::strided::extent_of;
use crate::plan::{Launch, Plan, PlanKind};
use crate::ragged::{DType, Layout, Pairs, Scalar};
use crate::{Error, Result};

/// The number of a value in its trace.
pub(crate) type ValueId = u32;

/// A value of a recording, in place of a buffer.
#[derive(Clone)]
pub(crate) struct Traced {
    trace: Arc<Trace>,
    value: ValueId,
}

impl Traced {
    /// The error for a plan that needs the value of a recording.
    pub(crate) fn without_values(&self) -> Error {
        match self.trace.lock().open {
            true => Error::recording(
                "a plan cannot run on tensors of a recording; call the function that the plan records",
            ),
            false => escaped(),
        }
    }
}

/// The operations recorded so far.
pub(crate) struct Trace {
    device: Device,
    state: Mutex<State>,
}

struct State {
    /// Whether the recording is in progress. Afterwards, its values are refused as operands.
    open: bool,
    graph: Graph,
    /// The part that gradients recompute, if one is being recorded.
    scope: Option<u32>,
    scopes: u32,
    /// Counts how often parts were recorded again, so that recomputed values are not merged with the original ones.
    repeats: u32,
    /// The values that parts recorded again have computed once more, with the original ones.
    copies: HashMap<ValueId, ValueId>,
    /// What each gradient is a derivative of: it may depend on the same values, although no operation shows it.
    derivatives: HashMap<ValueId, Vec<ValueId>>,
    /// Whether gradients are being recorded.
    backward: bool,
    /// Existing tensors, by the identity of their buffer and layout, their position in the buffer, and their type.
    constants: HashMap<(usize, usize, u64, DType), ValueId>,
}

/// Operations and their values, each before its uses.
#[derive(Clone, Default)]
pub(crate) struct Graph {
    pub nodes: Vec<Node>,
    pub values: Vec<Value>,
    /// The values of the inputs, in order.
    pub inputs: Vec<ValueId>,
    pub outputs: Vec<ValueId>,
    pub caches: Vec<Cached>,
}

/// A cache that is an operand of the program, which a run changes.
#[derive(Clone)]
pub(crate) struct Cached {
    /// The first of three inputs: keys, values and lengths.
    pub input: usize,
    /// Keys, values and lengths after the last append.
    pub latest: [ValueId; 3],
    /// The rows appended to each element.
    pub appended: Vec<u32>,
}

/// An operation with its operands.
#[derive(Clone)]
pub(crate) struct Node {
    pub op: Op,
    pub plan: Arc<Plan>,
    pub operands: Vec<Source>,
    pub pairs: Option<Pairs>,
    pub scalars: Vec<u32>,
    pub results: Vec<ValueId>,
    pub scope: Option<u32>,
    pub generation: u32,
    /// Whether a gradient needs it.
    pub backward: bool,
}

impl Node {
    /// The launch; `None` for a view.
    pub(crate) fn launch(&self) -> Option<&Launch> {
        match &self.plan.kind {
            PlanKind::Launch(launch) => Some(launch),
            PlanKind::View { .. } => None,
        }
    }
}

/// An operand of a node.
#[derive(Clone)]
pub(crate) struct Source {
    /// `None` if the operation only needs the layout.
    pub value: Option<ValueId>,
    pub layout: Layout,
}

/// A value: a part of the memory of its root.
#[derive(Clone)]
pub(crate) struct Value {
    pub dtype: DType,
    pub layout: Layout,
    /// The value whose memory it lies in: itself, unless it is a view.
    pub root: ValueId,
    /// Where it begins in the root's memory, in units of its type.
    pub base: usize,
    /// For an input, in the same units: operations were chosen on the assumption that its memory begins at a multiple
    /// of this.
    pub align: usize,
    pub origin: Origin,
}

/// Where a value comes from.
#[derive(Clone)]
pub(crate) enum Origin {
    Input,
    /// An existing tensor.
    Constant(Storage),
    /// A result of a node, or the view that it makes.
    Node(u32),
}

thread_local! {
    /// The trace that this thread records, to which operations without operands belong. Threads of a rayon pool have
    /// none: while such a thread waits for others, it may run any job of the pool, including one that is no part of the
    /// recording.
    static ACTIVE: RefCell<Option<Arc<Trace>>> = const { RefCell::new(None) };
}

/// Ends the recording when dropped.
pub(crate) struct Active(Arc<Trace>);

impl Drop for Active {
    fn drop(&mut self) {
        ACTIVE.with(|active| active.take());
        // Values that escape keep the trace alive, but neither constants nor layouts.
        drop(self.0.close());
    }
}

/// A recording that is suspended until this is dropped.
pub(crate) struct Paused(Option<Arc<Trace>>);

impl Drop for Paused {
    fn drop(&mut self) {
        if let Some(trace) = self.0.take() {
            ACTIVE.with(|active| active.replace(Some(trace)));
        }
    }
}

impl Trace {
    /// Begins a recording on this thread, of about this many operations.
    pub(crate) fn begin(device: &Device, operations: usize) -> Result<(Arc<Trace>, Active)> {
        let trace = Arc::new(Trace {
            device: device.clone(),
            state: Mutex::new(State {
                open: true,
                graph: Graph {
                    nodes: Vec::with_capacity(operations),
                    values: Vec::with_capacity(operations),
                    ..Graph::default()
                },
                scope: None,
                scopes: 0,
                repeats: 0,
                copies: HashMap::new(),
                derivatives: HashMap::new(),
                backward: false,
                constants: HashMap::new(),
            }),
        });
        ACTIVE.with(|active| {
            let mut active = active.borrow_mut();
            if in_a_pool() {
                return Ok(());
            }
            if active.is_some() {
                return Err(Error::recording("this thread is recording a program already; plan the other program before or after it",
                ).named("plan"));
            }
            *active = Some(trace.clone());
            Ok(())
        })?;
        let active = Active(trace.clone());
        Ok((trace, active))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, if the recording is in progress.
    fn opened(&self) -> Result<MutexGuard<'_, State>> {
        let state = self.lock();
        match state.open {
            true => Ok(state),
            false => Err(escaped()),
        }
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// Gives access to what was recorded so far.
    pub(crate) fn graph<R>(&self, read: impl FnOnce(&Graph) -> R) -> R {
        read(&self.lock().graph)
    }

    /// Ends the recording, and takes everything that was recorded.
    pub(crate) fn close(&self) -> Graph {
        let mut state = self.lock();
        state.open = false;
        state.constants = HashMap::new();
        std::mem::take(&mut state.graph)
    }

    /// Suspends the recording of this thread, if there is one, while kernels run: they may be functions of the
    /// application, which are no part of the recording.
    pub(crate) fn pause() -> Paused {
        // While a thread ends, its thread-local storage is gone.
        Paused(ACTIVE.try_with(|active| active.take()).ok().flatten())
    }

    /// Adds an input.
    pub(crate) fn input<T: Scalar>(self: &Arc<Self>, layout: &Layout) -> Result<Tensor<T>> {
        let mut state = self.lock();
        let value = state.graph.add(T::DTYPE, layout, Origin::Input);
        state.graph.inputs.push(value);
        drop(state);
        self.tensor(value).named("input")
    }

    /// Makes the last three inputs, which are keys, values and lengths, a cache. `appended` are zeros.
    pub(crate) fn keep(&self, appended: Vec<u32>) {
        let graph = &mut self.lock().graph;
        if let [.., keys, values, lengths] = graph.inputs[..] {
            graph.caches.push(Cached {
                input: graph.inputs.len() - 3,
                latest: [keys, values, lengths],
                appended,
            });
        }
    }

    /// Adds an output.
    pub(crate) fn output<T: Scalar>(&self, tensor: &Tensor<T>) -> Result<()> {
        let value = self.value_of(&tensor.operand())?;
        self.opened()?.graph.outputs.push(value);
        Ok(())
    }

    /// The tensor of a value, which must be of this type.
    pub(crate) fn tensor<T: Scalar>(self: &Arc<Self>, value: ValueId) -> Result<Tensor<T>> {
        let (dtype, base, layout) = self.graph(|graph| {
            let value = &graph.values[value as usize];
            (value.dtype, value.base, value.layout.clone())
        });
        if dtype != T::DTYPE {
            return Err(Error::recording(format!(
                "a value is of type {dtype}, not {}",
                T::DTYPE
            )));
        }
        let storage = Storage::Traced(Traced {
            trace: self.clone(),
            value,
        });
        Ok(Tensor::new(&self.device, storage, base, layout))
    }

    /// The value that stands for a tensor: a value of this trace, or a constant for an existing tensor.
    pub(crate) fn value_of(&self, operand: &Operand<'_>) -> Result<ValueId> {
        self.value_in(&mut *self.opened()?, operand)
    }

    fn value_in(&self, state: &mut State, operand: &Operand<'_>) -> Result<ValueId> {
        let address = match operand.storage {
            Storage::Traced(traced) if std::ptr::eq(Arc::as_ptr(&traced.trace), self) => {
                return Ok(traced.value);
            }
            Storage::Traced(_) => return Err(of_another()),
            Storage::Cpu(buffer) => Arc::as_ptr(buffer) as usize,
            #[cfg(feature = "gpu")]
            Storage::Gpu(buffer) => Arc::as_ptr(buffer) as usize,
        };
        self.device.check_same(operand.device)?;
        let key = (address, operand.base, operand.layout.id(), operand.dtype);
        if let Some(&value) = state.constants.get(&key) {
            return Ok(value);
        }
        let origin = Origin::Constant(operand.storage.clone());
        let value = state.graph.add(operand.dtype, operand.layout, origin);
        state.graph.values[value as usize].base = operand.base;
        state.constants.insert(key, value);
        Ok(value)
    }

    /// Whether a call belongs to a recording: because of an operand, or, if it has none, because this thread records.
    pub(super) fn concerns(device: &Device, operands: &[Operand<'_>]) -> bool {
        match operands {
            [] => {
                let this = |active: &RefCell<Option<Arc<Trace>>>| {
                    let active = active.borrow();
                    let trace = active.as_ref();
                    trace.is_some_and(|trace| trace.device.is_same(device))
                };
                ACTIVE.try_with(this).unwrap_or(false)
            }
            operands => operands
                .iter()
                .any(|operand| matches!(operand.storage, Storage::Traced(_))),
        }
    }

    /// The recording of a call that belongs to one.
    pub(super) fn of(operands: &[Operand<'_>]) -> Result<Arc<Trace>> {
        let mut found = ACTIVE
            .with(|active| active.borrow().clone())
            .filter(|_| operands.is_empty());
        for operand in operands {
            if let Storage::Traced(traced) = operand.storage {
                match &found {
                    Some(other) if !Arc::ptr_eq(other, &traced.trace) => {
                        return Err(of_another());
                    }
                    _ => found = Some(traced.trace.clone()),
                }
            }
        }
        found.ok_or_else(escaped)
    }

    /// Appends an operation. `dtypes` are the types of the results.
    pub(super) fn record(
        self: &Arc<Self>,
        op: Op,
        plan: &Arc<Plan>,
        operands: &[Operand<'_>],
        pairs: Option<&Pairs>,
        scalars: &[u32],
        dtypes: &[DType],
    ) -> Result<Vec<(Storage, usize, Layout)>> {
        let name = plan.name();
        // Another thread may end the recording meanwhile.
        let mut state = self.opened().named(name)?;
        let mut sources = Vec::with_capacity(operands.len());
        for operand in operands {
            let value = match operand.shapes_only {
                true => None,
                false => Some(self.value_in(&mut state, operand).named(name)?),
            };
            sources.push(Source {
                value,
                layout: operand.layout.clone(),
            });
        }
        let changed = state.graph.changed_by(&op, name, &sources)?;
        let (scope, backward) = (state.scope, state.backward);
        let node = Node {
            op,
            plan: plan.clone(),
            operands: sources,
            pairs: pairs.cloned(),
            scalars: scalars.to_vec(),
            results: Vec::new(),
            scope,
            generation: 0,
            backward,
        };
        let graph = &mut state.graph;
        let at = graph.append(node, dtypes);
        if let Some(cache) = changed {
            graph.change(cache, at);
        }
        let handle = |value: &ValueId| {
            let recorded = &graph.values[*value as usize];
            let storage = Storage::Traced(Traced {
                trace: self.clone(),
                value: *value,
            });
            (storage, recorded.base, recorded.layout.clone())
        };
        Ok(graph.nodes[at].results.iter().map(handle).collect())
    }

    /// Records what follows as a part that gradients compute again, until the returned guard is dropped.
    pub(crate) fn recompute(&self) -> impl Drop + '_ {
        struct Scope<'a>(&'a Trace, Option<u32>);
        impl Drop for Scope<'_> {
            fn drop(&mut self) {
                self.0.lock().scope = self.1;
            }
        }
        let mut state = self.lock();
        let outer = state.scope;
        // Inner parts belong to the outermost one.
        if outer.is_none() {
            state.scopes += 1;
            state.scope = Some(state.scopes);
        }
        Scope(self, outer)
    }

    /// Marks what follows as parts of gradients, until the returned guard is dropped.
    pub(crate) fn backward(&self) -> impl Drop + '_ {
        struct Backward<'a>(&'a Trace, bool, Option<u32>);
        impl Drop for Backward<'_> {
            fn drop(&mut self) {
                let mut state = self.0.lock();
                (state.backward, state.scope) = (self.1, self.2);
            }
        }
        let mut state = self.lock();
        let before = std::mem::replace(&mut state.backward, true);
        Backward(self, before, state.scope.take())
    }

    /// Records the nodes of a part again. Returns the new value of each result.
    pub(crate) fn repeat(&self, scope: u32) -> HashMap<ValueId, ValueId> {
        let mut state = self.lock();
        state.repeats += 1;
        let generation = state.repeats;
        let mut again = HashMap::new();
        for at in 0..state.graph.nodes.len() {
            if state.graph.nodes[at].scope != Some(scope) {
                continue;
            }
            let mut node = state.graph.nodes[at].clone();
            for source in &mut node.operands {
                if let Some(value) = &mut source.value {
                    *value = again.get(value).copied().unwrap_or(*value);
                }
            }
            node.scope = None;
            node.generation = generation;
            let before = std::mem::take(&mut node.results);
            let dtypes: Vec<DType> = before
                .iter()
                .map(|value| state.graph.values[*value as usize].dtype)
                .collect();
            let at = state.graph.append(node, &dtypes);
            let results = state.graph.nodes[at].results.iter().copied();
            again.extend(before.into_iter().zip(results));
        }
        let copies = again.iter().map(|(&before, &copy)| (copy, before));
        state.copies.extend(copies);
        again
    }

    /// The values that [`repeat`](Self::repeat) computed once more, with the original ones.
    pub(crate) fn copies(&self) -> HashMap<ValueId, ValueId> {
        self.lock().copies.clone()
    }

    /// Notes that a value is a gradient of these ones.
    pub(crate) fn differentiate(&self, values: &[ValueId], gradient: ValueId) {
        let mut state = self.lock();
        state
            .derivatives
            .entry(gradient)
            .or_default()
            .extend(values);
    }

    /// Whether one of these values is computed from `target`, in steps from floats to floats. The steps include those
    /// from what was differentiated to its gradients.
    pub(crate) fn reaches(&self, target: ValueId, values: &[ValueId]) -> bool {
        let state = self.lock();
        let graph = &state.graph;
        let mut seen = vec![false; graph.values.len()];
        let mut next = values.to_vec();
        while let Some(value) = next.pop() {
            let recorded = &graph.values[value as usize];
            if !recorded.dtype.is_smooth() || std::mem::replace(&mut seen[value as usize], true) {
                continue;
            }
            if value == target {
                return true;
            }
            next.extend(state.copies.get(&value));
            next.extend(state.derivatives.get(&value).into_iter().flatten());
            if let Origin::Node(node) = recorded.origin {
                let sources = graph.nodes[node as usize].operands.iter();
                next.extend(sources.filter_map(|source| source.value));
            }
        }
        false
    }
}

impl Graph {
    fn add(&mut self, dtype: DType, layout: &Layout, origin: Origin) -> ValueId {
        let value = self.values.len() as ValueId;
        self.values.push(Value {
            dtype,
            layout: layout.clone(),
            root: value,
            base: 0,
            align: 1,
            origin,
        });
        value
    }

    /// The cache that an operation changes in place. Each append must continue from the previous one, because there is
    /// only one copy of the memory.
    fn changed_by(
        &self,
        op: &Op,
        name: &'static str,
        operands: &[Source],
    ) -> Result<Option<usize>> {
        let (Op::Append(_), [keys, ..]) = (op, operands) else {
            return Ok(None);
        };
        let is_it = |cache: &Cached| Some(cache.latest[0]) == keys.value;
        match self.caches.iter().position(is_it) {
            Some(cache) => Ok(Some(cache)),
            None => Err(Error::recording("a recording appends rows only to a cache of `Recording::cache`, and of its clones only to one; use one handle",
            ).named(name)),
        }
    }

    /// Notes that node `at` has appended to a cache.
    fn change(&mut self, cache: usize, at: usize) {
        let node = &self.nodes[at];
        let cache = &mut self.caches[cache];
        if let ([keys, values, lengths], [.., k, _]) = (&node.results[..], &node.operands[..]) {
            cache.latest = [*keys, *values, *lengths];
            for (element, appended) in cache.appended.iter_mut().enumerate() {
                *appended += extent_of(&k.layout, element, 0) as u32;
            }
        }
    }

    /// Adds a node and its results. Returns the node's number.
    pub(crate) fn append(&mut self, mut node: Node, dtypes: &[DType]) -> usize {
        let at = self.nodes.len();
        let Node { plan, operands, .. } = &node;
        let input = |i: usize| &operands[i].layout;
        let origin = || Origin::Node(at as u32);
        let mut results = Vec::new();
        match &plan.kind {
            PlanKind::Launch(launch) => {
                results.reserve_exact(launch.outputs.len());
                for output in &launch.outputs {
                    let result = self.add(output.dtype, output.layout.get(input), origin());
                    results.push(result);
                    if let Some(over) = output.over.and_then(|i| operands[i].value) {
                        let recorded = &self.values[over as usize];
                        let (root, base) = (recorded.root, recorded.base);
                        let value = &mut self.values[result as usize];
                        (value.root, value.base) = (root, base);
                    }
                }
            }
            PlanKind::View { layout, skipped } => {
                let dtype = dtypes.first().copied().unwrap_or(DType::F32);
                let result = self.add(dtype, layout.get(input), origin());
                results.push(result);
                if let Some(operand) = operands.first().and_then(|source| source.value) {
                    let recorded = &self.values[operand as usize];
                    let (root, unit) =
                        (recorded.root, recorded.dtype.size() / recorded.dtype.unit());
                    let base = recorded.base + skipped * unit;
                    let value = &mut self.values[result as usize];
                    (value.root, value.base) = (root, base);
                }
            }
        }
        node.results = results;
        self.nodes.push(node);
        at
    }
}

impl<T: Scalar> Tensor<T> {
    /// The number of the tensor in a trace; an error if it is not a value of this trace.
    pub(crate) fn traced(&self, trace: &Arc<Trace>) -> Result<ValueId> {
        match &self.storage {
            Storage::Traced(traced) if Arc::ptr_eq(&traced.trace, trace) => Ok(traced.value),
            Storage::Traced(_) => Err(of_another()),
            _ => Err(Error::recording(
                "the tensor is a constant, not a tensor of this recording; pass it as an input",
            )),
        }
    }

    /// Whether the values begin at a multiple of this many units of their storage. An input of a recording may begin
    /// anywhere, so asking records the assumption: runs copy inputs that do not satisfy it.
    pub(super) fn begins_at(&self, multiple: usize) -> bool {
        let begins = self.base.is_multiple_of(multiple);
        if begins && let Storage::Traced(traced) = &self.storage {
            let mut state = traced.trace.lock();
            let values = &mut state.graph.values;
            let root = values.get(traced.value as usize).map(|value| value.root);
            if let Some(root) = root.and_then(|root| values.get_mut(root as usize)) {
                root.align = root.align.max(multiple);
            }
        }
        begins
    }

    /// Fails for a value of a recording, which has no values to read.
    pub(super) fn check_readable(&self) -> Result<()> {
        match &self.storage {
            Storage::Traced(_) => Err(Error::recording(
                "a tensor of a recording has no values; make it an output of the program, and read the result of a run",
            )),
            _ => Ok(()),
        }
    }
}

/// Whether this thread may run other jobs of a pool. On the web, the only thread may itself be a pool.
fn in_a_pool() -> bool {
    !cfg!(target_family = "wasm") && rayon::current_thread_index().is_some()
}

fn of_another() -> Error {
    Error::recording("a tensor belongs to another recording; pass it as an input")
}

fn escaped() -> Error {
    Error::recording(
        "a tensor of a recording was used after the recording ended; make it an output of the program",
    )
}
