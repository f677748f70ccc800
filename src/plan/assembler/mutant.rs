//! Replaces texts of one kernel, as an environment variable says, so that one build of the tests runs every mutant of
//! `tests/mutants`.

/// `VSLA_MUTANT` is `stem and flags @ original @ replacement`, where originals and replacements may follow; a flag that
/// a variant must not have begins with `!`.
pub(super) fn mutate(stem: &str, flags: &[&str], source: &mut String) {
    let mutant = std::env::var("VSLA_MUTANT").unwrap_or_default();
    let parts: Vec<&str> = mutant.split(" @ ").collect();
    let [variants, changes @ ..] = parts.as_slice() else {
        return;
    };
    let (changes, _) = changes.as_chunks::<2>();
    let mut words = variants.split(' ');
    let has = |flag: &str| flags.contains(&flag.trim_start_matches('!')) != flag.starts_with('!');
    let is_there = |[from, _]: &[&str; 2]| source.contains(from);
    if words.next() == Some(stem)
        && words.all(has)
        && !changes.is_empty()
        && changes.iter().all(is_there)
    {
        eprintln!("FOUND");
        for [from, to] in changes {
            *source = source.replacen(from, to, 1);
        }
        *source += MARK;
    }
}

const MARK: &str = "// mutated";

/// Reports that a mutated kernel runs.
pub(crate) fn report(source: &str) {
    if source.ends_with(MARK) {
        eprintln!("COMPILED");
    }
}
