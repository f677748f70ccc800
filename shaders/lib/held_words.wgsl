// Consecutive halves that an invocation holds, as eight words: pair i, from 0, is values k + 2 i lanes and the next one
// of those from `base` to before base + end; k is even. All loads precede their first use, without branches between
// them. In place of each word beyond the end, the last one is read.

struct Words {
    ab: vec4<u32>,
    cd: vec4<u32>,
}

fn held_words(base: u32, k: u32, end: u32, lanes: u32) -> Words {
    var words = Words(vec4(0u), vec4(0u));
    if k < end {
        let first = (base + k) / 2u;
        let last = (base + end - 1u) / 2u;
        words = Words(words_at(first, lanes, last), words_at(first + 4u * lanes, lanes, last));
        // Pairs that begin with a high half.
        if base % 2u == 1u {
            let next = Words(words_at(first + 1u, lanes, last), words_at(first + 1u + 4u * lanes, lanes, last));
            words.ab = (words.ab >> vec4(16u)) | (next.ab << vec4(16u));
            words.cd = (words.cd >> vec4(16u)) | (next.cd << vec4(16u));
        }
    }
    return words;
}

fn words_at(first: u32, step: u32, last: u32) -> vec4<u32> {
    let at = min(vec4(first, first + step, first + 2u * step, first + 3u * step), vec4(last));
    return vec4(x[at.x], x[at.y], x[at.z], x[at.w]);
}
