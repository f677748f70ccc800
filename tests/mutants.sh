#!/usr/bin/env bash
# Mutation tests of the kernels. A mutant is a kernel with one changed expression. For each mutant, this script runs
# trials on the GPU that should fail, and reports whether one of them does.
#
#     tests/mutants.sh [PATTERN]      only mutants whose line, `STEM: LINE`, contains PATTERN
#
# VSLA_JOBS is the number of mutants that run at a time, by default one for each core. VSLA_SUITE is the path of a suite
# that was built before, with the feature `testing`.
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

export VSLA_SUITE=${VSLA_SUITE:-$(cargo test --all-features --test suite --no-run \
    --config 'profile.test.package.vsla.opt-level=0' 2>&1 |
    tee /dev/stderr | sed -n 's/.*Executable.*(\(.*\))$/\1/p')}
jobs=${VSLA_JOBS:-$(nproc)}
work=$(mktemp -d)
export work
trap 'rm -rf "$work"' EXIT

# Runs trials with a mutant until one fails, and prints the outcome: failed, passed, ignored, or late after 10 minutes.
# The second argument is the file for their output.
run_trials() {
    VSLA_REQUIRE_GPU=1 VSLA_QUARTER=all VSLA_MUTANT="$3" timeout 600 "$VSLA_SUITE" "$1" --skip unit:: --test-threads 1 \
        > "$2" 2>&1 &
    local pid=$! status=0
    while kill -0 "$pid" 2> /dev/null && ! grep -q '\.\.\. FAILED' "$2"; do sleep 0.1; done
    kill "$pid" 2> /dev/null || true
    wait "$pid" || status=$?
    if [ "$status" = 124 ]; then
        echo late
    elif [ "$status" != 0 ]; then
        echo failed
    elif grep -q '\.\.\. ok' "$2"; then
        echo passed
    else
        echo ignored
    fi
}

# Prints the outcome of trials without a mutant, which prove nothing if they fail then.
unchanged() {
    local log
    log=$(mktemp -p "$work")
    printf '%-12s %s\n' "$(run_trials "$1" "$log" "")" "$1"
    rm "$log"
}

# Prints the outcome for a mutant, given as `STEM: LINE`.
judge() {
    local stem=${1%%: *} line=${1#*: } flags='' log outcome
    local filter=${line##* @ } mutant=${line% @ *}
    if [[ $mutant == *" @ "* ]]; then flags=${mutant%% @ *} mutant=${mutant#* @ }; fi
    log=$(mktemp -p "$work")
    outcome=$(run_trials "$filter" "$log" "$stem${flags:+ $flags} @ ${mutant/ → / @ }")
    if ! grep -q FOUND "$log"; then
        outcome="NOT FOUND"
    elif grep -q COMPILED "$log"; then
        case $outcome in
            failed) outcome=killed ;;
            late) outcome=LATE ;;
            *) outcome=SURVIVED ;;
        esac
    elif [[ $outcome == ignored || -n $flags ]]; then
        outcome=skipped
    else
        outcome="NOT RUN"
    fi
    rm "$log"
    printf '%-12s %s\n' "$outcome" "$1"
}

# Calls a function for each line of its input, several at a time.
each() {
    tr '\n' '\0' | xargs -0 -P "$jobs" -I '{}' bash -c '"$0" "$1"' "$1" '{}'
}

export -f run_trials unchanged judge
for file in tests/mutants/*.txt; do
    sed "s/^/$(basename "$file" .txt): /" "$file"
done | grep -F -- "${1:-}" > "$work/mutants"
sed 's/.* @ //' "$work/mutants" | sort -u | each unchanged > "$work/unchanged"
if grep -E '^(failed|late) ' "$work/unchanged"; then
    echo 'These trials fail without a mutant.'
    exit 1
fi
each judge < "$work/mutants" | tee "$work/outcomes"
cut -c 1-12 "$work/outcomes" | sort | uniq -c
! grep -qvE '^(killed|skipped) ' "$work/outcomes"
