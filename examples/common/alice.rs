//! The bundled text: a part of Alice's Adventures in Wonderland.

/// The first lines begin with # and say what it is.
const TEXT: &str = include_str!("../data/alice.txt");

/// The lines of the text, a sentence each.
pub fn lines() -> Vec<String> {
    let lines = TEXT.lines().filter(|line| !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}
