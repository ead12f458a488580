# touch_object.sh COMPILER ARGUMENT...: runs it, and makes the file that follows -o if all went well.
"$@" || exit
while [ "$1" != -o ]; do shift; done
: >"$2"
