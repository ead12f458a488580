#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The licence of every source file: a line "SPDX-License-Identifier: Apache-2.0" in its first comment.

    tools/spdx.py            lists the files that lack it; exit status 1 if there are any
    tools/spdx.py --write    adds it to those, and changes no other file: running it again changes nothing

The line ends the comment that begins a file, which says what the file is about and stays first; in Python files it
follows the line `#!`, before the docstring. A file that begins with something else gets it as its first line.
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEXT = "SPDX-License-Identifier: Apache-2.0"
SLASHES = (".cpp", ".hpp", ".cu", ".cuh")
HASHES = (".py", ".sh", ".cmake")


def comment_of(path, text):
    """What begins a comment in a source file; nothing for files that are no source."""
    name = path.name.removesuffix(".in")
    if name.endswith(SLASHES):
        return "//"
    if name.endswith(HASHES) or name == "CMakeLists.txt" or re.match(r"#!.*\b(python3|bash|sh)\b", text):
        return "#"
    return None


def is_python(path, text):
    return path.suffix == ".py" or re.match(r"#!.*\bpython3\b", text) is not None


def line_of_licence(lines):
    """The index of a line that is SPDX's, in a comment; none in strings of programs that write it."""
    return next((k for k, line in enumerate(lines) if re.fullmatch(rf"\s*(//|#) {re.escape(TEXT)}\s*", line)), None)


def with_licence(path, text):
    """The text with the line, or the text itself where it has the line or is no source."""
    comment = comment_of(path, text)
    lines = text.splitlines(keepends=True)
    if comment is None or line_of_licence([line.rstrip("\n") for line in lines]) is not None:
        return text
    line = f"{comment} {TEXT}\n"
    if is_python(path, text):
        at = 1 if text.startswith("#!") else 0
    else:
        at = 0
        # `//!` marks what documentation shows, `//>` and the like belong to other programs.
        while at < len(lines) and re.match(rf"{comment}(\s|$)|#!", lines[at]):
            at += 1
    if at and not lines[at - 1].endswith("\n"):
        lines[at - 1] += "\n"
    return "".join(lines[:at] + [line] + lines[at:])


def sources(root=ROOT):
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root,
                            capture_output=True, text=True, check=True)
    for name in sorted(filter(None, listed.stdout.split("\0"))):
        path = root / name
        if path.is_symlink() or not path.is_file():
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        if comment_of(path, text) is not None:
            yield path, text


def main():
    if sys.argv[1:] not in ([], ["--write"]):
        sys.exit(__doc__)
    lacking = [(path, new) for path, text in sources() if (new := with_licence(path, text)) != text]
    for path, new in lacking:
        if sys.argv[1:]:
            path.write_text(new)
        print(path.relative_to(ROOT))
    if sys.argv[1:]:
        print(f"spdx: the line is in {len(lacking)} more files")
    elif lacking:
        sys.exit(f"spdx: {len(lacking)} files lack the line; tools/spdx.py --write adds it")


if __name__ == "__main__":
    main()
