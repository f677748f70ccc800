//! The passes that transform a recorded graph before its memory is laid out.

use std::hash::{BuildHasher, Hash, Hasher};

use hashbrown::HashTable;

use super::fuse::fuse;
use crate::Result;
use crate::ragged::hasher;
use crate::tensor::{Device, Graph, Node, Origin, ValueId};

/// The optimizations of a [`Program`](super::Program). All are on by default, except that [`Program::new`] does not
/// fuse on a software GPU.
///
/// [`Program::new`]: super::Program::new
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passes {
    /// Drops operations that no output needs.
    pub drop_unused: bool,
    /// Runs equal operations on equal operands once.
    pub merge_equal: bool,
    /// Runs maps and functions of two operands, value by value over one layout, in one kernel, which reads and writes
    /// memory once. The kernel interprets a list of functions: a software GPU, which computes all of them for every
    /// entry of the list, is slower with it.
    pub fuse: bool,
    /// Lets values that are never needed at the same time share memory.
    pub reuse_memory: bool,
}

impl Default for Passes {
    fn default() -> Passes {
        Passes {
            drop_unused: true,
            merge_equal: true,
            fuse: true,
            reuse_memory: true,
        }
    }
}

impl Passes {
    /// Turns all of them off.
    pub fn none() -> Passes {
        Passes {
            drop_unused: false,
            merge_equal: false,
            fuse: false,
            reuse_memory: false,
        }
    }

    /// The nodes to run, in order.
    pub(super) fn apply(self, device: &Device, graph: &mut Graph) -> Result<Vec<u32>> {
        if self.merge_equal {
            merge_equal(graph);
        }
        let all = 0..graph.nodes.len() as u32;
        let kept: Vec<u32> = match self.drop_unused {
            true => {
                let used = used(graph);
                all.filter(|node| used[*node as usize]).collect()
            }
            false => all.collect(),
        };
        match self.fuse {
            true => fuse(device, graph, &kept),
            false => Ok(kept),
        }
    }
}

/// Whether an output needs a node.
fn used(graph: &Graph) -> Vec<bool> {
    let mut used = vec![false; graph.nodes.len()];
    let mut open: Vec<ValueId> = graph.outputs.clone();
    while let Some(value) = open.pop() {
        if let Origin::Node(node) = graph.values[value as usize].origin
            && !std::mem::replace(&mut used[node as usize], true)
        {
            open.extend(
                graph.nodes[node as usize]
                    .operands
                    .iter()
                    .filter_map(|source| source.value),
            );
        }
    }
    used
}

/// Replaces the results of a node by those of an equal one before it.
fn merge_equal(graph: &mut Graph) {
    let Graph {
        nodes,
        values,
        outputs,
        ..
    } = graph;
    // The first one of each set of equal nodes, with its hash.
    let mut first: HashTable<(u64, u32)> = HashTable::with_capacity(nodes.len());
    let mut same: Vec<ValueId> = (0..values.len() as ValueId).collect();
    for at in 0..nodes.len() {
        for source in &mut nodes[at].operands {
            if let Some(value) = &mut source.value {
                *value = same[*value as usize];
            }
        }
        let node = &nodes[at];
        let key = {
            let mut hasher = hasher().build_hasher();
            hash(node, &mut hasher);
            hasher.finish()
        };
        let is_it =
            |(hash, other): &(u64, u32)| *hash == key && equal(&nodes[*other as usize], node);
        match first.find(key, is_it) {
            Some((_, other)) => {
                let others = &nodes[*other as usize].results;
                for (value, other) in node.results.iter().zip(others) {
                    same[*value as usize] = *other;
                }
            }
            None => {
                first.insert_unique(key, (key, at as u32), |(hash, _)| *hash);
            }
        }
    }
    for output in outputs {
        *output = same[*output as usize];
    }
    // Views of a result that was replaced.
    for value in values {
        value.root = same[value.root as usize];
    }
}

fn hash(node: &Node, hasher: &mut impl Hasher) {
    node.op.hash(hasher);
    node.scalars.hash(hasher);
    node.pairs.hash(hasher);
    node.generation.hash(hasher);
    for source in &node.operands {
        source.value.hash(hasher);
        source.layout.id().hash(hasher);
    }
}

fn equal(a: &Node, b: &Node) -> bool {
    let operand = |node: &Node, i: usize| (node.operands[i].value, node.operands[i].layout.id());
    a.generation == b.generation
        && a.operands.len() == b.operands.len()
        && (0..a.operands.len()).all(|i| operand(a, i) == operand(b, i))
        && a.scalars == b.scalars
        && a.pairs == b.pairs
        && a.op == b.op
}
