# Phases of .ci/run: each is measured by itself, its output is in $logs/NAME.log, and one may run beside others.
# Sourced, with `logs` set to a folder that exists. A phase is a command or a function; it runs in a shell of its own.
# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
: "${logs:?}"

group=-          # what phases belong to, written beside their figures: a group of the rotation, or - for every run
names=()         # in the order of their ends
beside_name='' beside_pid='' beside_group=''

# What a phase's shell does at its end, whatever ends it: "group wall processor status" in $logs/NAME.figures. `times` says in
# minutes and seconds what the shell itself used, and all that it waited for.
write_figures() {
  local name=$1 of_group=$2 start=$3 status=$4 LC_ALL=C
  times >"$logs/$name.times"
  awk -v group="$of_group" -v wall="$((SECONDS - start))" -v status="$status" '
    {for (i = 1; i <= 2; ++i) {split($i, t, /[ms]/); sum += 60 * t[1] + t[2]}}
    END {printf "%s %d %.1f %d\n", group, wall, sum, status}' "$logs/$name.times" >"$logs/$name.figures"
  rm -f "$logs/$name.times"
}

# measured NAME GROUP COMMAND...: not to be called as a condition: bash would go on after errors within the command.
measured() {
  (
    set -euo pipefail
    # shellcheck disable=SC2064  # expanded now
    trap "write_figures '$1' '$2' $SECONDS \$?" EXIT
    "${@:3}"
  )
}

# phase NAME COMMAND...: shown on the terminal while it runs; in the way of what runs beside it as little as may be.
phase() {
  local name=$1
  shift
  printf '\n=== %s\n' "$name"
  rm -f "$logs/$name.figures"
  set +e
  (
    if [ -n "$beside_pid" ]; then renice -n 5 -p "$BASHPID" >/dev/null 2>&1; fi
    measured "$name" "$group" "$@"
  ) 2>&1 | tee "$logs/$name.log"
  set -e
  names+=("$name")
}

# beside NAME COMMAND...: runs while the next phases do, one at a time; it is shown when it has ended.
beside() {
  settle
  beside_name=$1 beside_group=$group
  shift
  printf '\n=== %s begins beside what follows\n' "$beside_name"
  rm -f "$logs/$beside_name.figures"
  set -m  # a process group of its own, to be ended as a whole
  measured "$beside_name" "$beside_group" "$@" >"$logs/$beside_name.log" 2>&1 </dev/null &
  beside_pid=$!
  set +m
}

# Waits for what runs beside, and shows it.
settle() {
  if [ -z "$beside_pid" ]; then return 0; fi
  wait "$beside_pid" || true
  beside_pid=''
  printf '\n=== %s\n' "$beside_name"
  cat "$logs/$beside_name.log"
  names+=("$beside_name")
}

end_beside() {
  if [ -z "$beside_pid" ]; then return 0; fi
  kill -TERM -- "-$beside_pid" 2>/dev/null || true
  wait "$beside_pid" 2>/dev/null || true
  beside_pid=''
}
trap end_beside EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

passed() { [ -f "$logs/$1.figures" ] && [ "$(awk '{print $4}' "$logs/$1.figures")" = 0 ]; }

# phases_table: a line a phase, and $logs/phases.tsv for tools/ci_weight; false if one failed.
phases_table() {
  local name of_group wall processor status all_passed=0
  printf '\n=== phases\n'
  : >"$logs/phases.tsv"
  for name in "${names[@]}"; do
    of_group=- wall=0 processor=0 status=1
    if [ -f "$logs/$name.figures" ]; then read -r of_group wall processor status <"$logs/$name.figures"; fi
    if [ "$status" -eq 0 ]; then status=passed; else status=FAILED all_passed=1; fi
    printf '%-16s %5d s %8.1f processor s  %s\n' "$name" "$wall" "$processor" "$status"
    printf '%s\t%s\t%s\t%s\t%s\n' "$name" "$of_group" "$wall" "$processor" "$status" >>"$logs/phases.tsv"
  done
  printf '%-16s %5d s\n' together "$SECONDS"
  return "$all_passed"
}

# groups_of_run ROTATION...: what this run takes of rotations, each a list of groups: those that CI_GROUPS names (all, or
# some with commas), else one by the number of commits, so that as many commits in a row as a rotation has groups take
# all of it. A shallow clone does not know the number: there the name of the commit decides.
groups_of_run() {
  local rotation group named number=0 all=() taken=()
  local asked=" ${CI_GROUPS:-} "
  asked=${asked//,/ }
  if [ "${CI_GROUPS:-}" = all ]; then echo "$*"; return; fi
  for group in $asked; do
    case " $* " in *" $group "*) ;; *) echo "CI_GROUPS: there is no $group, but all, $*" >&2; return 1 ;; esac
  done
  if [ "$(git rev-parse --is-shallow-repository 2>/dev/null)" = false ]; then
    number=$(git rev-list --count --first-parent HEAD 2>/dev/null) || number=0  # a merge counts once
  elif number=$(git rev-parse --short=7 HEAD 2>/dev/null); then
    number=$((16#${number:0:7}))
  fi
  for rotation in "$@"; do
    named=''
    read -ra all <<<"$rotation"
    for group in "${all[@]}"; do case $asked in *" $group "*) named+=" $group" ;; esac; done
    read -ra all <<<"${named:-${all[number % ${#all[@]}]}}"
    taken+=("${all[@]}")
  done
  echo "${taken[*]}"
}

# jobs_said_in LOG: how many compilers quickstart ran side by side, by what it said; a processor each where it did not say.
jobs_said_in() {
  sed -n 's/^quickstart: building .* with \([0-9][0-9]*\) jobs$/\1/p' "$1" | grep -m 1 . || nproc
}
