#!/usr/bin/env bash
# Fuzzes a target:
#
#     fuzz/run.sh TARGET [SECONDS]    for 600 seconds by default, beginning with the inputs that the suite replays
#     fuzz/run.sh TARGET keep         minimizes the corpus
#
# Works with any compiler that builds this crate. The flags are those of cargo-fuzz without the address sanitizer, which
# needs a nightly compiler. Inputs that crash are written to fuzz/artifacts/TARGET. `keep` copies the smallest set of
# inputs with the same coverage to fuzz/corpus/TARGET.least; add a few dozen of them to the suite's files.
set -euo pipefail
cd "$(dirname "$0")"
target=$1 seconds=${2:-600}
case $target in
read) seeds=(../tests/suite/io/found ../tests/suite/io/files) ;;
serde) seeds=(../tests/suite/io/documents) ;;
safetensors) seeds=(../tests/suite/io/safetensors/found) ;;
differential) seeds=(../tests/suite/programs/found) ;;
*) echo "no target $target" >&2 && exit 2 ;;
esac
host=$(rustc -vV | sed -n 's/^host: //p')
coverage=(level=4 inline-8bit-counters pc-table trace-compares)
flags="--cfg fuzzing -Cpasses=sancov-module -Ccodegen-units=1"
for one in "${coverage[@]}"; do flags+=" -Cllvm-args=-sanitizer-coverage-$one"; done
RUSTFLAGS=$flags cargo build --release --target "$host" --bin "$target" ${FEATURES:+--features "$FEATURES"}
mkdir -p "corpus/$target" "artifacts/$target" "${seeds[@]}"
fuzzer=target/$host/release/$target
if [ "$seconds" = keep ]; then
    mkdir -p "corpus/$target.least"
    exec "$fuzzer" -set_cover_merge=1 "corpus/$target.least" "corpus/$target" "${seeds[@]}"
fi
exec "$fuzzer" -max_total_time="$seconds" -max_len=1200 -rss_limit_mb=2048 -timeout=30 \
    -artifact_prefix="artifacts/$target/" "corpus/$target" "${seeds[@]}"
