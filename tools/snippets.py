#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Code in the documentation is cut from compiled examples: `<!-- snippet: FILE NAME -->` in a .md file is followed by
the region `//! [NAME]` of examples/FILE.cpp. Without arguments, checks, also that a page names each header of Strata
that its examples include; with --write, puts the code in."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MARK = re.compile(r"<!-- snippet: ([\w/]+) (\w+) -->\n(?:\n?```cpp\n.*?\n```\n)?", re.S)


def region(file: str, name: str) -> str:
    text = (ROOT / "examples" / f"{file}.cpp").read_text()
    parts = text.split(f"//! [{name}]\n")
    if len(parts) != 3:
        sys.exit(f"snippets: examples/{file}.cpp has no region [{name}]")
    return parts[1].rstrip("\n")


def headers_without_name(text: str) -> list[str]:
    files = {ROOT / "examples" / f"{match[1]}.cpp" for match in MARK.finditer(text)}
    named = {header for file in files for header in re.findall(r"^#include (<strata/\S+>)", file.read_text(), re.M)}
    return sorted(header for header in named if header not in text)


def main() -> None:
    write = "--write" in sys.argv[1:]
    stale = []
    unnamed = []
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = page.read_text()
        new = MARK.sub(lambda m: f"<!-- snippet: {m[1]} {m[2]} -->\n\n```cpp\n{region(m[1], m[2])}\n```\n", text)
        if new != text:
            stale.append(page.relative_to(ROOT).as_posix())
            if write:
                page.write_text(new)
        unnamed += [f"{page.name}: {header}" for header in headers_without_name(new)]
    if unnamed:
        sys.exit(f"snippets: pages do not name headers that their code needs: {', '.join(unnamed)}")
    if stale and not write:
        sys.exit(f"snippets: {', '.join(stale)} differ from examples/; run tools/snippets.py --write")


main()
