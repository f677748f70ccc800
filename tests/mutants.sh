#!/usr/bin/env bash
# Mutation tests of the kernels. A mutant is a kernel with one changed expression. For each mutant, this script runs
# trials on the GPU that should fail, and reports whether one of them does.
#
#     tests/mutants.sh [PATTERN]      only mutants whose line, `STEM: LINE`, contains PATTERN
#
# Each line of tests/mutants/STEM.txt is a mutant of the kernel STEM, in one of two forms:
#
#     ORIGINAL → REPLACEMENT @ TRIALS
#     FLAGS @ ORIGINAL → REPLACEMENT @ TRIALS
#
# The first occurrence of ORIGINAL is replaced in every variant of the kernel. With FLAGS, it is replaced only in the
# variants that have all of these flags and none of those written as !FLAG. A mutant is skipped if all of its trials are
# ignored, because the device lacks what they need, or if they run no variant with its flags.
#
# One build runs all mutants: with the feature `testing`, the assembler replaces the text that the environment variable
# VSLA_MUTANT states (src/gpu/assembler/mutant.rs). If a mutant survives, a test is missing. If the change cannot affect
# any result, the mutant does not belong in the list. Unit tests do not count, because some compare the texts of
# kernels. The script needs a Vulkan driver, which may be a software one.
set -euo pipefail
cd "$(dirname "$0")/.."

suite=$(cargo test --all-features --test suite --no-run \
    --config 'profile.test.package.vsla.opt-level=0' 2>&1 |
    tee /dev/stderr | sed -n 's/.*Executable.*(\(.*\))$/\1/p')

killed=0 survived=0 skipped=0 missing=0
declare -A unchanged
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Runs the trials until one fails, and prints the outcome: failed, passed or ignored.
run_trials() {
    : > "$log"
    VSLA_REQUIRE_GPU=1 VSLA_QUARTER=all VSLA_MUTANT="$2" timeout 300 "$suite" "$1" --skip unit:: > "$log" 2>&1 &
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
        # A trial that fails without the mutant proves nothing.
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
