#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The documentation as one static site, by Doxygen: the pages of docs/, the READMEs, and the reference of the headers.

    tools/documentation_site.py [--output DIR]     makes DIR/VERSION/index.html (default: build/site), and DIR/index.html, which lists the
                                     versions that are there; fails where a link of a page leads nowhere
    tools/documentation_site.py --links FOLDER     only checks the links of the HTML pages in FOLDER

It has a search field (which needs no server), a tree of pages, and the version at the top. Each version is a folder of its
own: to publish a new one, make it in the folder that has the old ones.
"""
import argparse
import functools
import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

import reference

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "docs/*.md", "examples/**/*.md",
         "miniapps/**/*.md", "perf_tests/**/*.md", "packaging/**/*.md", "core/README.md", "devices/**/README.md",
         "views/**/README.md", "algorithms/**/README.md", "unit_tests/**/*.md")
OPTIONS = """
INPUT                  = .
FILE_PATTERNS          = *.hpp *.md *.dox
USE_MDFILE_AS_MAINPAGE = mainpage.md
PROJECT_NUMBER         = {version}
IMAGE_PATH             = {images}
GENERATE_HTML          = YES
HTML_OUTPUT            = html
HTML_EXTRA_STYLESHEET  = {style}
HTML_COLORSTYLE_HUE    = 210
HTML_COLORSTYLE_SAT    = 40
GENERATE_TREEVIEW      = YES
FULL_SIDEBAR           = NO
DISABLE_INDEX          = NO
SEARCHENGINE           = YES
SERVER_BASED_SEARCH    = NO
TOC_INCLUDE_HEADINGS   = 2
WARN_AS_ERROR          = NO
OUTPUT_DIRECTORY       = {output}
"""


class Links(html.parser.HTMLParser):
    """What a page links to, and the places in it that can be linked to."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.targets, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        names = dict(attrs)
        self.anchors.update(value for name in ("id", "name") if (value := names.get(name)))
        for name in ("href", "src"):
            if names.get(name) and tag in ("a", "img", "link", "script"):
                self.targets.append(names[name])


@functools.lru_cache(maxsize=None)
def links_of(page):
    return Links(page.read_text(encoding="utf-8"))


def broken_links(folder):
    """(page, link) for each link within the site that leads to no file, or to no place in its file."""
    for page in sorted(folder.rglob("*.html")):
        for link in links_of(page).targets:
            url = urllib.parse.urlsplit(link)
            if url.scheme or url.netloc or link.startswith("javascript:"):
                continue
            target = (page.parent / urllib.parse.unquote(url.path)).resolve() if url.path else page
            is_there = target.is_file() if target.suffix else target.exists()
            if not is_there:
                yield page.relative_to(folder), link
            elif url.fragment and target.suffix == ".html":
                if urllib.parse.unquote(url.fragment) not in links_of(target).anchors:
                    yield page.relative_to(folder), link


@functools.lru_cache(maxsize=None)
def pages():
    tracked = {ROOT / name for name in subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                                                      cwd=ROOT, capture_output=True, text=True).stdout.split("\0") if name}
    found = {path for pattern in PAGES for path in ROOT.glob(pattern)}
    return sorted(found & tracked if tracked else found)


def with_links_by_name(page):
    """The text of a page whose links to pages of other folders are by Doxygen's name, as it does not follow `..`."""
    def by_name(match):
        target = (page.parent / match[1]).resolve()
        if target.is_dir():
            target = target / "README.md"
        if target == ROOT / "README.md":
            return "](@ref index)"
        if target not in pages() or target.parent == page.parent:
            return match[0]
        return f"](@ref md_{'_'.join(target.relative_to(ROOT).with_suffix('').parts)})"

    text = re.sub(r"!\[([^\]]*)\]\((?:[\w.-]+/)*docs/pictures/([\w.-]+)\)", r"![\1](\2)", page.read_text(encoding="utf-8"))
    return re.sub(r"\]\(((?!\w+:)[\w./-]+)(#[^)]*)?\)", by_name, text)


def repair(folder):
    """Doxygen 1.9 links to a list of nested classes also where all of them are private, and it has made none."""
    for page in folder.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        if 'href="#nested-classes"' in text and 'name="nested-classes"' not in text:
            page.write_text(re.sub(r'<a href="#nested-classes">[^<]*</a>(\s*&#124;)?', "", text), encoding="utf-8")


def make(output):
    version = (ROOT / "VERSION").read_text().strip()
    with tempfile.TemporaryDirectory() as scratch:
        copies = pathlib.Path(scratch) / "copies"
        reference.write_copies(copies)
        (copies / "reference.dox").write_text(
            (ROOT / "docs/reference.dox").read_text().replace("@mainpage Strata", "@page reference The reference", 1))
        for page in pages():
            # Any README.md would be a main page.
            copy = copies / ("mainpage.md" if page == ROOT / "README.md" else page.relative_to(ROOT))
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(with_links_by_name(page), encoding="utf-8")
        options = OPTIONS.format(version=version, images=ROOT / "docs/pictures", style=ROOT / "docs/site.css", output=scratch)
        run = subprocess.run(["doxygen", "-"], input=(ROOT / "docs/Doxyfile").read_text() + options, cwd=copies,
                             capture_output=True, text=True)
        made = pathlib.Path(scratch) / "html"
        if run.returncode or not (made / "index.html").exists():
            sys.exit(f"tools/documentation_site.py: doxygen failed with {run.returncode}: {run.stderr[-2000:]}")
        repair(made)
        shutil.rmtree(output / version, ignore_errors=True)
        shutil.copytree(made, output / version)
    list_versions(output)
    return output / version


def list_versions(output):
    def order(name):
        return [int(part) if part.isdigit() else -1 for part in name.split(".")]

    versions = sorted((folder.name for folder in output.iterdir() if (folder / "index.html").exists()), key=order, reverse=True)
    items = "\n".join(f'<li><a href="{name}/index.html">{name}</a></li>' for name in versions)
    (output / "index.html").write_text(
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Strata</title></head>\n'
        f"<body><h1>Strata: documentation by version</h1>\n<ul>\n{items}\n</ul></body></html>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build/site")
    parser.add_argument("--links", type=pathlib.Path, metavar="FOLDER", help="only check the links of the pages in FOLDER")
    options = parser.parse_args()
    if options.links is None:
        if shutil.which("doxygen") is None:
            sys.exit("tools/documentation_site.py: doxygen is not installed (apt-get install doxygen)")
        options.output.mkdir(parents=True, exist_ok=True)
        folder = make(options.output.resolve())
    else:
        folder = options.links.resolve()
    broken = list(broken_links(folder))
    for page, link in broken:
        print(f"{page}: {link} leads nowhere")
    count = len(list(folder.rglob("*.html")))
    print(f"site: {count} pages in {folder}, {len(broken)} broken links")
    if broken:
        sys.exit(1)


if __name__ == "__main__":
    main()
