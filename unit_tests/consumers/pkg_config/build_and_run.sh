#!/bin/sh
# build_and_run.sh SOURCE PROGRAM: with the flags of pkg-config alone, for both variants.
# SPDX-License-Identifier: Apache-2.0
set -eu
source=$1 program=$2
for variant in strata strata_checked; do
  eval "set -- $(pkg-config --cflags --libs "$variant")"  # eval: pkg-config quotes spaces for a shell
  "${CXX:-c++}" -std=c++20 "$source" -o "$program.$variant" "$@"
  "$program.$variant"
done
