# check_sources.sh COMPILER ARGUMENT...: runs it, and makes the file that follows -o if all went well. Of a batch
# (strata_check_batches) that fails the sources are checked one by one: what only clashes with others is right.
# SPDX-License-Identifier: Apache-2.0
object='' dependencies='' batch='' before=''
for word in "$@"; do
  case $before in -o) object=$word ;; -MF) dependencies=$word ;; esac
  case $word in */batches/*.cu | */batches/*.cpp) batch=$word ;; esac
  before=$word
done
if [ -z "$batch" ]; then
  "$@" || exit
  : >"$object"
  exit
fi

if "$@" 2>"$object.said"; then
  cat "$object.said" >&2
  rm -f "$object.said"
  : >"$object"
  exit
fi
rm -f "$object.said"
single=$object.single.${batch##*.}
words=$#
while [ "$words" -gt 0 ]; do
  word=$1 words=$((words - 1))
  shift
  if [ "$word" = "$batch" ]; then word=$single; fi
  set -- "$@" "$word"
done
: >"$object.dependencies"
while read -r line; do
  case $line in '#include '*) ;; *) continue ;; esac
  printf '%s\n' "$line" >"$single"
  "$@" </dev/null || exit
  # The single file is gone afterwards, and what depends on it would be checked again by every build.
  sed "s|[^ ]*$(basename "$single")|$batch|g" "$dependencies" >>"$object.dependencies"
done <"$batch"
mv "$object.dependencies" "$dependencies"
rm -f "$single"
echo "$batch: its sources clash, or need each other's options; they were checked one by one" >&2
: >"$object"
