//! The text of kernels, for those that rewrite it.

/// The lines without `//` comments.
pub(super) fn without_comments(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    for line in source.lines() {
        code += line.split("//").next().unwrap_or_default();
        code.push('\n');
    }
    code
}

/// Splits at the first word: the text before it, the word, and the text after it.
pub(super) fn next_word(text: &str) -> Option<(&str, &str, &str)> {
    let (before, word_on) = text.split_at(text.find(is_of_word)?);
    let end = word_on.find(|c| !is_of_word(c)).unwrap_or(word_on.len());
    let (word, after) = word_on.split_at(end);
    Some((before, word, after))
}

pub(super) fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Splits at the matching bracket: the text inside, and the rest.
pub(super) fn bracketed(text: &str) -> Result<(&str, &str), String> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Ok((&text[1..at], &text[at + 1..]));
        }
    }
    Err("a bracket is never closed".to_owned())
}
