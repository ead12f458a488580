#!/bin/sh
# build_and_run.sh SOURCE PROGRAM: with the flags of pkg-config alone, for both variants.
set -eu
for variant in strata strata_checked; do
  # shellcheck disable=SC2046  # the flags are words
  "${CXX:-c++}" -std=c++20 "$1" -o "$2.$variant" $(pkg-config --cflags --libs "$variant")
  "$2.$variant"
done
