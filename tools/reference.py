#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The reference of the public headers by Doxygen, with docs/Doxyfile.

    tools/reference.py [--output DIR]     prints the public names without a docstring, and fails if there are any;
                                          with --output also writes HTML to DIR/html

Public is what no namespace `detail` holds. A docstring speaks for all declarations that follow it without a blank line
between them, as in

    /// What is in force, and what the settings say.
    Config config();
    Config default_config();

Doxygen knows it for the first only, so it reads copies of the headers in which it is put in front of the others, and
which lack what Doxygen cannot parse, an inline namespace behind `::`. Lines keep their numbers. Operators such as `+=`
and `==` need no docstring: they mean what they mean for numbers."""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("core", "devices", "views", "algorithms")
SCOPE = re.compile(r"(?:inline\s+|export\s+)*(?:namespace|class|struct|union|enum|extern)\b")
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|[{}();]', re.S)

# What Doxygen 1.9 says where a requires-clause follows the parameters, and of specialisations of templates of std.
LIMITS = re.compile(r"doxygen could be confused|Internal inconsistency")
OPERATOR = re.compile(r"Member operator\s*(?!\(\)|\"|new|delete)[^\w\s]{1,3}\(.* is not documented")


def balanced(text: str, start: int, brackets: str) -> int:
    """The position after the bracket that closes the one at `start`."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == brackets[0]) - (text[at] == brackets[1])
        if depth == 0:
            return at + 1
    return len(text)


def docstring(lines: list) -> str:
    return "/** " + " ".join(line.strip()[3:].strip() for line in lines).replace("*/", "* /") + " */ "


def spread(text: str) -> str:
    """Every declaration behind a docstring and no blank line gets the docstring."""
    lines = text.split("\n")
    scopes = ["scope"]      # of the braces that are open: scope or body
    doc, pending = None, []  # the docstring in force, and one that is being read
    head, parens = "", 0    # of the declaration that has begun
    for number, line in enumerate(lines):
        bare = line.strip()
        if scopes[-1] == "scope" and not head and parens == 0:
            if bare.startswith("///") and not bare.startswith("///<"):
                pending.append(line)
                continue
            if pending:
                doc, pending = docstring(pending), []
            elif not bare or bare.startswith(("#", "}")) or re.match(r"(public|private|protected):", bare):
                doc = None
                if not bare or bare.startswith("#"):
                    continue
            elif doc and not bare.startswith("//") and "///<" not in bare:
                lines[number] = doc + line
        for token in TOKEN.finditer(line) if not bare.startswith("#") else ():
            mark = token.group()
            if mark.startswith(("//", "/*", '"', "'")):
                continue
            if mark in "()":
                parens += 1 if mark == "(" else -1
            elif mark == "{":
                before = re.sub(r"\s+", " ", (head + line[:token.start()]).strip())
                before = re.split(r"[;{}]", before)[-1].strip() if scopes[-1] == "scope" else ""
                while before.startswith("template"):
                    before = before[balanced(before, before.index("<"), "<>"):].strip()
                is_scope = scopes[-1] == "scope" and parens == 0 and SCOPE.match(before) is not None
                scopes.append("scope" if is_scope else "body")
                if is_scope:
                    doc, head = None, ""
            elif mark == "}" and len(scopes) > 1:
                scopes.pop()
        # Where the line ends within a declaration, what follows belongs to it.
        code = re.sub(r"//.*", "", line).strip()
        complete = not code or code.startswith("#") or code[-1] in ";}" or code.endswith((":",)) and "?" not in code
        opened = code.endswith("{") and scopes[-1] == "scope"
        head = "" if complete or opened or scopes[-1] == "body" else head + " " + line
    return "\n".join(lines)


def write_copies(folder: pathlib.Path) -> None:
    for path in sorted(path for name in FOLDERS for path in (ROOT / name).rglob("*.hpp")):
        copy = folder / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(spread(path.read_text(encoding="utf-8").replace("::inline STRATA_ABI", "")), encoding="utf-8")
    shutil.copy(ROOT / "docs/reference.dox", folder)


def problems(output: pathlib.Path, html: bool) -> list:
    """Runs Doxygen over copies in `output`; what it complains of, with the paths of the headers themselves."""
    headers = output / "headers"
    shutil.rmtree(headers, ignore_errors=True)
    write_copies(headers)
    # Doxygen wants some output: without HTML the smallest there is.
    options = f"OUTPUT_DIRECTORY={output}\nGENERATE_HTML={'YES' if html else 'NO'}\nGENERATE_MAN={'NO' if html else 'YES'}\n"
    run = subprocess.run(["doxygen", "-"], input=(ROOT / "docs/Doxyfile").read_text() + options, cwd=headers,
                         capture_output=True, text=True)
    said = [line.replace(f"{headers}/", "") for line in run.stderr.splitlines() if line.strip()]
    if run.returncode and not said:
        return [f"doxygen failed with {run.returncode}: {run.stdout[-1000:]}"]
    return [line for line in said if not OPERATOR.search(line) and not LIMITS.search(line)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, help="where to write HTML")
    output = parser.parse_args().output
    if shutil.which("doxygen") is None:
        sys.exit("tools/reference.py: doxygen is not installed (apt-get install doxygen)")
    with tempfile.TemporaryDirectory() as scratch:
        found = problems(output.resolve() if output else pathlib.Path(scratch), html=output is not None)
    for line in found:
        print(line)
    if found:
        sys.exit(f"reference: {len(found)} problems")


if __name__ == "__main__":
    main()
