#!/usr/bin/env bash
# Tests of .ci/phases.sh, by phases that take no time: ci_phases_test.sh SOURCE_FOLDER
# shellcheck disable=SC2317  # called by way of `expect`
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
source_folder=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
unset CI_GROUPS  # of a run that these tests are a part of

expect() {
  local what=$1
  shift
  if ! "$@" >/dev/null; then printf 'FAILED: %s: %s\n' "$what" "$*"; failures=$((failures + 1)); fi
}
line_of() { grep -n -m 1 -e "$1" "$scratch/said" | cut -d : -f 1; }
in_order() { [ "$(line_of "$1")" -lt "$(line_of "$2")" ]; }
# with_phases: the script on stdin after .ci/phases.sh; what it says is in $scratch/said, its status in `status`
with_phases() {
  status=0
  mkdir -p "$scratch/logs"
  { printf 'set -euo pipefail\nlogs=%q\n. %q\n' "$scratch/logs" "$source_folder/.ci/phases.sh"; cat; } >"$scratch/script"
  bash "$scratch/script" >"$scratch/said" 2>&1 || status=$?
}

# One that fails beside others fails the run, and all are shown whole, each after the other.
with_phases <<'SCRIPT'
fails_within() { echo "before the error"; false; echo "after the error"; }
busy() { local k; for ((k = 0; k < 150000; ++k)); do :; done; }
phase first echo "said by first"
passed first
beside second eval 'echo "said early by second"; sleep 1; echo "said late by second"; exit 3'
group=turns phase third busy
phase fourth fails_within
settle
if passed second || passed fourth; then exit 9; fi
status=0
phases_table || status=1
exit "$status"
SCRIPT
expect "fails" [ "$status" -eq 1 ]
expect "whole" in_order "said early by second" "said late by second"
expect "whole" in_order "before the error" "said early by second"
expect "errors end a phase" [ -z "$(line_of "after the error" || true)" ]
expect "first" grep -qP '^first\t-\t\d+\t[\d.]+\tpassed$' "$scratch/logs/phases.tsv"
expect "second" grep -qP '^second\t-\t[1-9]\d*\t0\.\d+\tFAILED$' "$scratch/logs/phases.tsv"
expect "third is busy, and of a group" grep -qP '^third\tturns\t\d+\t(0\.[1-9]|[1-9]\d*\.\d)\tpassed$' "$scratch/logs/phases.tsv"
expect "fourth" grep -qP '^fourth\t-\t\d+\t[\d.]+\tFAILED$' "$scratch/logs/phases.tsv"

with_phases <<'SCRIPT'
phase first true
beside second true
settle
phases_table
SCRIPT
expect "all pass" [ "$status" -eq 0 ]

# In quickstart's own words: a number that nobody found had left one processor of two idle.
with_phases <<SCRIPT
say() { printf '\nquickstart: %s\n' "\$*"; }
said() {
  local jobs=37
$(grep 'say "building' "$source_folder/quickstart")
}
said all the tests >"\$logs/host.log"
[ "\$(jobs_said_in "\$logs/host.log")" = 37 ]
echo nothing >"\$logs/host.log"
[ "\$(jobs_said_in "\$logs/host.log")" = "\$(nproc)" ]
SCRIPT
expect "as many compilers as quickstart" [ "$status" -eq 0 ]

# Who ends the script ends what runs beside.
with_phases <<'SCRIPT'
sleeps() { sleep 300 & echo $! >"$logs/sleeper"; wait; }
beside sleeper sleeps
until [ -s "$logs/sleeper" ]; do sleep 0.05; done
kill -TERM $$
phase never echo "goes on"
SCRIPT
expect "ended" [ "$status" -eq 143 ]
expect "nothing more" [ -z "$(line_of "goes on" || true)" ]
gone() {  # within ten seconds: on a busy machine it takes a while until an ended process is collected
  local k
  for ((k = 0; k < 100; ++k)); do
    if ! kill -0 "$1" 2>/dev/null; then return 0; fi
    sleep 0.1
  done
  return 1
}
expect "nothing is left behind" gone "$(cat "$scratch/logs/sleeper")"

# Three commits in a row take all groups; a shallow clone takes one, always the same of a commit.
repository=$scratch/repository
git init -q "$repository"
cd "$repository"
commit() { git -c user.name=test -c user.email=test@localhost commit -q --allow-empty -m "$1"; }
taken=''
for number in 1 2 3; do
  commit "commit $number"
  with_phases <<<'groups_of_run "tsan toy packages"'
  taken+="$(cat "$scratch/said") "
done
expect "all take turns" [ "$(tr ' ' '\n' <<<"$taken" | sort | xargs)" = "packages toy tsan" ]
taken=''
for number in 1 2 3 4 5 6; do
  commit "another commit $number"
  with_phases <<<'groups_of_run "a b c" "x y"'
  taken+="$(tr ' ' '-' <"$scratch/said") "
done
expect "each with each of another rotation" [ "$(tr ' ' '\n' <<<"$taken" | sort | xargs)" = "a-x a-y b-x b-y c-x c-y" ]
# Of branches that are merged only the merge counts.
taken=''
for number in 1 2 3; do
  git checkout -q -b "branch$number"
  commit "one of branch $number"
  commit "two of branch $number"
  git checkout -q -
  git -c user.name=test -c user.email=test@localhost merge -q --no-ff -m "merge $number" "branch$number"
  with_phases <<<'groups_of_run "tsan toy packages"'
  taken+="$(cat "$scratch/said") "
done
expect "all take turns where branches are merged" [ "$(tr ' ' '\n' <<<"$taken" | sort | xargs)" = "packages toy tsan" ]
git clone -q --depth 1 "file://$repository" "$scratch/shallow"
cd "$scratch/shallow"
expect "is shallow" [ "$(git rev-parse --is-shallow-repository)" = true ]
with_phases <<<'groups_of_run "tsan toy packages"'
expect "one of a shallow clone" grep -qE '^(tsan|toy|packages)$' "$scratch/said"
cd "$scratch"
with_phases <<<'groups_of_run "tsan toy packages"'
expect "one without git" grep -qE '^(tsan|toy|packages)$' "$scratch/said"
with_phases <<<'CI_GROUPS=all groups_of_run "tsan toy packages"'
expect "all" grep -qx 'tsan toy packages' "$scratch/said"
with_phases <<<'CI_GROUPS=toy,tsan groups_of_run "tsan toy packages"'
expect "some" grep -qx 'tsan toy' "$scratch/said"
with_phases <<<'CI_GROUPS=toy groups_of_run "tsan toy" "asan:views"'
expect "of the other rotation the one whose turn it is" grep -qx 'toy asan:views' "$scratch/said"
with_phases <<<'CI_GROUPS=toys groups_of_run "tsan toy packages"'
expect "no such group" [ "$status" -ne 0 ]
expect "no such group" grep -q 'there is no toys' "$scratch/said"

exit "$((failures > 0))"
