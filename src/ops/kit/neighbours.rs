//! Which cells of an image are neighbours.

/// Which cells are the neighbours of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Neighbours {
    /// The four cells that share an edge with it.
    #[default]
    Four,
    /// The eight cells that share an edge or a corner with it.
    Eight,
}
