//! Lines of text, and their tokens.

use std::path::{Path, PathBuf};

use tokenizers::{Tokenizer, TruncationParams};

use crate::published::{Config, Failure, Files};

/// The lines of all files, in order.
pub fn read(files: &[PathBuf]) -> Result<Vec<String>, Failure> {
    let mut all = Vec::new();
    for path in files {
        let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        all.extend(lines(path, &bytes)?);
    }
    Ok(all)
}

fn lines(path: &Path, bytes: &[u8]) -> Result<Vec<String>, Failure> {
    let file = path.display();
    if bytes.is_empty() {
        return Err(format!("{file}: the file is empty").into());
    }
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let lines = bytes.split(|&byte| byte == b'\n').zip(1..);
    let line = |(line, number): (&[u8], usize)| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match std::str::from_utf8(line) {
            Ok(line) => Ok(line.to_owned()),
            Err(_) => Err(format!("{file}: line {number} is not UTF-8").into()),
        }
    };
    lines.map(line).collect()
}

/// Turns lines into tokens, with both markers.
pub struct Tokens(Tokenizer);

impl Tokens {
    pub fn new(files: &Files, config: &Config) -> Result<Tokens, Failure> {
        let wrong = |problem: &dyn std::fmt::Display| files.wrong("tokenizer.json", problem);
        let mut tokenizer = Tokenizer::from_bytes(&files.tokenizer).map_err(|e| wrong(&e))?;
        // The file may ask for padding.
        tokenizer.with_padding(None);
        let truncation = TruncationParams {
            max_length: config.most_tokens,
            ..TruncationParams::default()
        };
        tokenizer
            .with_truncation(Some(truncation))
            .map_err(|e| wrong(&e))?;
        let size = tokenizer.get_vocab_size(true);
        if size > config.vocabulary {
            let rows = config.vocabulary;
            return Err(wrong(&format!("{size} tokens, but the model has {rows}")));
        }
        Ok(Tokens(tokenizer))
    }

    /// The tokens of each line. A line of any length has at least the two markers.
    pub fn of(&self, lines: &[String]) -> Result<Vec<Vec<u32>>, Failure> {
        let texts: Vec<&str> = lines.iter().map(String::as_str).collect();
        let all = self.0.encode_batch_fast(texts, true);
        let all = all.map_err(|error| format!("tokens: {error}"))?;
        Ok(all.iter().map(|line| line.get_ids().to_vec()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_files() {
        let path = Path::new("text");
        let of = |bytes: &[u8]| lines(path, bytes).map_err(|error| error.to_string());
        assert_eq!(
            of(b"one\r\n\ntwo"),
            Ok(vec!["one".into(), String::new(), "two".into()])
        );
        assert_eq!(of(b"\n"), Ok(vec![String::new()]));
        assert_eq!(of(b""), Err("text: the file is empty".into()));
        assert_eq!(of(b"a\n\xff\n"), Err("text: line 2 is not UTF-8".into()));
    }
}
