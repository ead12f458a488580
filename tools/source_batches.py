#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sources that declare different names, in batches: a batch is compiled as one, with the headers of its sources once.

    tools/source_batches.py MOST FILE...     a batch a line, of MOST files or fewer, with | between

Roughly: what declares a name in a way that is not found here may clash in a batch, and who compiles one has to compile
its sources one by one where it fails.
"""
import pathlib
import re
import sys


SUITE = re.compile(r"(?:TYPED_)?TEST(?:_F|_P|_SUITE|_SUITE_P)?\((\w+)")
USED = re.compile(r"using (?!namespace )(?:\w+::)+(\w+);")
DECLARED = re.compile(r"(?:struct|class|enum class|enum|#\s*define|using) (?:alignas\([^)]*\) )?(\w+)\b(?!::)")
OTHER = re.compile(r"(?!using|namespace|static_assert)[a-zA-Z\[][^({=]*?(?<![\w:])(\w+)\s*(?:\(|\{|=|;|\[[^\[])")


def names_at_top(text):
    """(declared, used): names that a source declares outside of classes and functions, roughly, and what it takes from
    other namespaces, which others may take as well. Namespaces go together."""
    declared, used = set(), set()
    for line in text.splitlines():
        if found := USED.match(line):
            used.add(found[1])
        elif found := SUITE.match(line) or DECLARED.match(line) or OTHER.match(line):
            declared.add(found[1])
    return declared - {"namespace", "main", "if", "for"}, used


def batches_of(sources, most, kind=lambda path, text: None):
    """Lists of sources of one kind that declare different names."""
    batches = []
    for path in sources:
        text = path.read_text()
        (declared, used), its_kind = names_at_top(text), kind(path, text)
        for batch in batches:
            clash = batch["declared"] & (declared | used) or batch["used"] & declared
            if batch["kind"] == its_kind and len(batch["paths"]) < most and not clash:
                break
        else:
            batch = {"kind": its_kind, "paths": [], "declared": set(), "used": set()}
            batches.append(batch)
        batch["paths"].append(path)
        batch["declared"] |= declared
        batch["used"] |= used
    return [batch["paths"] for batch in batches]


if __name__ == "__main__":
    for batch in batches_of([pathlib.Path(name) for name in sys.argv[2:]], int(sys.argv[1])):
        print(*batch, sep="|")
