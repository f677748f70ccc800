#!/usr/bin/env bash
# Changes one thing in a kernel, runs the trials that should notice on the GPU, and says whether they did.
#
#     tests/mutants.sh [PATTERN]      only mutants whose line, `STEM: LINE`, contains PATTERN
#
# The mutants of a kernel are the lines of tests/mutants/STEM.txt:
#
#     ORIGINAL → REPLACEMENT @ TRIALS
#     FLAGS @ ORIGINAL → REPLACEMENT @ TRIALS
#
# The first occurrence of the original is replaced in every variant, or in those that have these flags and not those of
# the form !FLAG. A line is skipped where the device has not what its trials need, so that they are ignored, and one
# with flags where they run no variant that has them.
#
# One build runs all mutants: with --cfg vsla_mutant the assembler replaces what the environment says
# (src/gpu/assembler/mutant.rs). A mutant that survives is a test that is missing, or changes nothing that matters: then
# it does not belong in the list. Needs a Vulkan driver; a software one will do.
set -euo pipefail
cd "$(dirname "$0")/.."

# A wrapper for this crate alone, so that no dependency is built again.
mkdir -p target/mutants
wrapper=$PWD/target/mutants/rustc
printf '#!/bin/sh\nexec "$@" --cfg vsla_mutant\n' > "$wrapper"
chmod +x "$wrapper"
suite=$(RUSTC_WORKSPACE_WRAPPER=$wrapper cargo test --all-features --test suite --no-run \
    --config 'profile.test.package.vsla.opt-level=0' 2>&1 |
    tee /dev/stderr | sed -n 's/.*Executable.*(\(.*\))$/\1/p')

killed=0 survived=0 skipped=0 missing=0
declare -A unchanged
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Runs the trials until one fails, and says how that ended: failed, passed or ignored.
run_trials() {
    : > "$log"
    VSLA_REQUIRE_GPU=1 VSLA_MUTANT="$2" timeout 300 "$suite" "$1" > "$log" 2>&1 &
    local pid=$!
    while kill -0 "$pid" 2> /dev/null && ! grep -q '\.\.\. FAILED' "$log"; do sleep 0.1; done
    kill "$pid" 2> /dev/null || true
    if ! wait "$pid"; then
        echo failed
    elif grep -q '\.\.\. ok' "$log"; then
        echo passed
    else
        echo ignored
    fi
}

for file in tests/mutants/*.txt; do
    stem=$(basename "$file" .txt)
    while IFS= read -r line; do
        if [[ "$stem: $line" != *"${1:-}"* ]]; then continue; fi
        filter=${line##* @ } mutant=${line% @ *} flags=
        if [[ $mutant == *" @ "* ]]; then flags=${mutant%% @ *} mutant=${mutant#* @ }; fi
        if [[ -z ${unchanged[$filter]:-} ]]; then unchanged[$filter]=$(run_trials "$filter" ""); fi
        # Trials that fail anyway kill nothing.
        if [ "${unchanged[$filter]}" = failed ]; then echo "$filter fails unchanged"; exit 1; fi
        outcome=$(run_trials "$filter" "$stem${flags:+ $flags} @ ${mutant/ → / @ }")
        if ! grep -q FOUND "$log"; then
            outcome="NOT FOUND"; missing=$((missing + 1))
        elif grep -q COMPILED "$log"; then
            case $outcome in
                failed) outcome=killed; killed=$((killed + 1)) ;;
                *) outcome=SURVIVED; survived=$((survived + 1)) ;;
            esac
        elif [[ $outcome == ignored || -n $flags ]]; then
            outcome=skipped; skipped=$((skipped + 1))
        else
            outcome="NOT RUN"; missing=$((missing + 1))
        fi
        printf '%-12s %s\n' "$outcome" "$stem: $line"
    done < "$file"
done
echo "$killed killed, $survived survived, $missing not found or not run, $skipped skipped"
[ $((survived + missing)) -eq 0 ]
