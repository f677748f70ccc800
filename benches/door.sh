#!/usr/bin/env bash
# Measures what a newcomer and a developer wait for: commands with an empty target folder, after all packages have been
# downloaded. Prints a row of a Markdown table for each: packages compiled, CPU seconds (user and system), wall seconds,
# and the size of the program. docs/performance.md has the results. Usage: benches/door.sh [ROW]..., by default all but
# `call`:
#   first   the README's first example
#   hello   a user's crate that adds one batch to another, with vsla, ndarray, candle and burn
#   tests   the README's tests, first compiled and then run
#   change  the tests of an operation after one line of it has changed
#   call    the first call of some operations on a GPU without caches of kernels (NVIDIA's driver only)
set -euo pipefail
cd "$(dirname "$0")/.."
here=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CARGO_TERM_COLOR=never

# Runs a command, and prints its row. The third argument is the program that it compiles, if any.
row() {
    local what=$1 folder=$2 program=$3
    shift 3
    local TIMEFORMAT='%U %S %R' times packages size=
    { time "$@" >"$work/output" 2>&1; } 2>"$work/times" || {
        tail -20 "$work/output" >&2
        return 1
    }
    read -r -a times <"$work/times"
    packages=$(grep -c '^ *Compiling ' "$work/output" || true)
    if [ -n "$program" ]; then
        size=$(awk '{ printf "%.1f MB", $1 / 1e6 }' < <(stat -c %s "$folder/$program"))
    fi
    awk -v what="$what" -v packages="$packages" -v size="$size" -v user="${times[0]}" -v kernel="${times[1]}" \
        -v wall="${times[2]}" 'BEGIN {
            printf "| %s | %d | %.0f | %.0f | %s |\n", what, packages, user + kernel, wall, size
        }'
}

first() {
    cargo fetch --locked >/dev/null 2>&1
    row "README's first example" "$work/first" release/gestures env CARGO_TARGET_DIR="$work/first" \
        cargo run --release --offline -p gestures
    rm -rf "$work/first"
}

# A crate with one dependency and this main function.
hello_with() {
    local name=$1 dependency=$2 main=$3 crate=$work/hello-$1
    mkdir -p "$crate/src"
    printf '[package]\nname = "hello"\nversion = "0.0.0"\nedition = "2024"\n\n[dependencies]\n%s\n\n[workspace]\n' \
        "$dependency" >"$crate/Cargo.toml"
    echo "$main" >"$crate/src/main.rs"
    (
        cd "$crate"
        cargo fetch >/dev/null 2>&1
        row "a user's program with $name" target release/hello cargo build --release --offline
    )
    rm -rf "$crate"
}

hello() {
    hello_with vsla "vsla = { path = \"$here\" }" '
        use vsla::{Device, Ragged, Result};
        fn main() -> Result<()> {
            let device = Device::auto();
            let x = device.upload(&Ragged::from_rows([vec![1.0f32, 2.0], vec![3.0]])?)?;
            println!("{}", x.add(&x)?.download_blocking()?);
            Ok(())
        }'
    hello_with ndarray 'ndarray = "0.17"' '
        fn main() {
            let x = ndarray::array![[1.0f32, 2.0], [3.0, 0.0]];
            println!("{}", &x + &x);
        }'
    hello_with candle 'candle-core = "0.11"' '
        use candle_core::{Device, Result, Tensor};
        fn main() -> Result<()> {
            let x = Tensor::new(&[[1.0f32, 2.0], [3.0, 0.0]], &Device::Cpu)?;
            println!("{}", (&x + &x)?);
            Ok(())
        }'
    hello_with burn 'burn = { version = "0.22", default-features = false, features = ["std", "wgpu"] }' '
        use burn::tensor::{Device, Tensor};
        fn main() {
            let device = Device::wgpu(Default::default());
            let x = Tensor::<2>::from_data([[1.0f32, 2.0], [3.0, 0.0]], &device);
            println!("{}", x.clone() + x);
        }'
}

tests() {
    local command=(cargo test --offline --workspace --all-features)
    cargo fetch --locked >/dev/null 2>&1
    export CARGO_TARGET_DIR=$work/tests
    row "README's tests, compiled" "$work" '' "${command[@]}" --no-run
    row "README's tests, run" "$work" '' env LP_NUM_THREADS=0 MESA_SHADER_CACHE_DIR="$work/shaders" "${command[@]}"
    export -n CARGO_TARGET_DIR
}

# In the folder that the last test left, so that only what the line concerns is compiled.
change() {
    local source=src/ops/kron.rs kept=$work/kron.rs
    local command=(cargo test --offline --all-features --test suite -- kron::)
    "${command[@]}" >/dev/null 2>&1
    cp "$source" "$kept"
    sed -i 's/fn plan(&self.*{$/&\n        log::trace!("changed");/' "$source"
    ! cmp -s "$source" "$kept"
    row "one changed line, its tests have run" "$work" '' "${command[@]}" || true
    cp "$kept" "$source"
}

# Each in a process of its own. The time includes planning and the work itself.
call() {
    local name micros
    for name in correlate_max/gestures matmul/4096 bsr/64x64-layer conv/mixed-1k attention/2048-f16 \
        bsr/f16-64x64-8192-sampled fft/65536; do
        __GL_SHADER_DISK_CACHE=0 cargo bench --offline --all-features --bench main -- "$name" --device gpu \
            --json "$work/call.json" >"$work/output" 2>&1 || tail -20 "$work/output" >&2
        micros=$(sed -n 's/.*"first_call_us": \([0-9.]*\).*/\1/p' "$work/call.json" | head -1)
        printf '| first call of %s | | | %.3f | |\n' "$name" "$(awk "BEGIN { print $micros / 1e6 }")"
    done
}

[ $# -gt 0 ] || set -- first hello tests change
echo '| what | packages | CPU s | wall s | program |'
echo '| --- | ---: | ---: | ---: | ---: |'
for name in "$@"; do
    case $name in
    first | hello | tests | change | call) "$name" ;;
    *) echo "no such row: $name (first, hello, tests, change, call)" >&2 && exit 2 ;;
    esac
done
