#!/usr/bin/env bash
# Test of cmake/check_sources.sh: check_sources_test.sh SOURCE_FOLDER COMPILER. Of a batch that clashes nothing that was made
# on the way is left, nor named among what it depends on: every build would check it again.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
source=$1 compiler=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir batches
echo 'int same() { return 1; }' | tee a.cpp >b.cpp
printf '#include "%s"\n' "$PWD/a.cpp" "$PWD/b.cpp" >batches/both.cpp

sh "$source/cmake/check_sources.sh" "$compiler" -fsyntax-only -MD -MT both.o -MF both.o.d -o both.o -c "$PWD/batches/both.cpp"

said=$(ls)
[ "$said" = $'a.cpp\nb.cpp\nbatches\nboth.o\nboth.o.d' ] || { echo "left over: $said"; exit 1; }
sed 's/^[^:]*://; s/\\$//' both.o.d | tr ' ' '\n' | grep . | while read -r file; do
  [ -e "$file" ] || { echo "depends on $file, which is not there"; exit 1; }
done
for part in a.cpp b.cpp batches/both.cpp; do grep -q "$part" both.o.d || { echo "does not depend on $part"; exit 1; }; done

echo 'int same() { return wrong; }' >b.cpp
if sh "$source/cmake/check_sources.sh" "$compiler" -fsyntax-only -MD -MT both.o -MF both.o.d -o both.o -c "$PWD/batches/both.cpp" 2>/dev/null; then
  echo "an error passed"
  exit 1
fi
