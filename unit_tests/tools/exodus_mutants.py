#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mutations of an Exodus II mesh, classic and in HDF5, under AddressSanitizer with UndefinedBehaviorSanitizer.

    python3 unit_tests/tools/exodus_mutants.py [--build build/asan] [--seed N] [--document]

Configures and builds the tests of mesh files by the preset `asan` where that was not done, reads 100,000 mutations of the
classic file in one process and 10,000 of that in HDF5, each of which netCDF's library unpacks in a process of its own, and prints
how they ended; with --document also in docs/security.md. Fails where the program that reads crashes, takes more than 5 s or more
memory than that page allows for one, or takes a mesh that is not consistent. What crashes netCDF's library in its process is
counted, and refused as damaged.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / 'docs/security.md'
TESTS = 'DamagedHdf5.Slow*:*DamagedMesh.Slow*/two_blocks_e'
CLASSIC = re.compile(r'(\d+) mutations of two_blocks\.e: (\d+) read, (\d+) refused; the slowest ([\d.]+) s')
HDF5 = re.compile(r'(\d+) mutations in HDF5: (\d+) read, (\d+) refused; processes that ended by a signal or an error (\d+), that '
                  r'were stopped (\d+); the slowest ([\d.]+) s; the largest process (\d+) MiB')


def build(folder):
    if not (folder / 'CMakeCache.txt').exists():
        subprocess.run(['cmake', '-S', ROOT, '-B', folder, '--preset', 'asan'], check=True, cwd=ROOT)
    subprocess.run(['cmake', '--build', folder, '--target', 'strata_fem_files_tests'], check=True)


def run(folder, seed):
    """The output of the tests, which is shown as it comes; None where one failed."""
    # A process in which AddressSanitizer finds something is told from one that finds the file damaged.
    environment = {**os.environ, 'ASAN_OPTIONS': os.environ.get('ASAN_OPTIONS', '') + ':exitcode=120'}
    if seed is not None:
        environment['PROPERTY_TEST_SEED'] = str(seed)
    program = next(folder.resolve().rglob('strata_fem_files_tests'))
    lines = []
    with subprocess.Popen([program, '--gtest_filter=' + TESTS], env=environment, cwd=folder, text=True,
                          stdout=subprocess.PIPE) as process:
        for line in process.stdout:
            print(line, end='', flush=True)
            lines.append(line)
    return None if process.returncode != 0 else ''.join(lines)


def summary(output):
    """What the page says, in one paragraph."""
    classic, hdf5 = CLASSIC.search(output), HDF5.search(output)
    if classic is None or hdf5 is None:
        sys.exit('exodus_mutants: the tests have not said how the mutations ended; is there netCDF in this build?')
    mutations, read, refused, slowest = classic.groups()
    text = ('Of %s mutations of a classic Exodus II file under AddressSanitizer %s were read and %s refused, with no crash, in at most '
            '%s s each; ' % (mutations, read, refused, slowest))
    mutations, read, refused, ended, stopped, slowest, largest = hdf5.groups()
    return text + ('of %s in HDF5 %s were read and %s refused, in at most %s s and %s MiB each; in %s of these netCDF\'s library '
                   'crashed or met an error of its own, in its own process, and %s were stopped at a limit '
                   '(`unit_tests/tools/exodus_mutants.py`).'
                   % (mutations, read, refused, slowest, largest, ended, stopped))


def document(text):
    page = PAGE.read_text(encoding='utf-8')
    lines, words = [''], text.split()
    for word in words:
        if len(lines[-1]) + len(word) + 1 > 130:
            lines.append('')
        lines[-1] += (' ' if lines[-1] else '') + word
    changed, count = re.subn(r'^Of \d+ mutations of a classic Exodus II file.*?(?=\n\n)', lambda _: '\n'.join(lines), page,
                             flags=re.MULTILINE | re.DOTALL)
    if count != 1:
        sys.exit('exodus_mutants: %s has no paragraph that begins with "Of N mutations of a classic Exodus II file"' % PAGE)
    PAGE.write_text(changed, encoding='utf-8')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--build', default=ROOT / 'build/asan', type=pathlib.Path)
    parser.add_argument('--seed', default=None, type=int)
    parser.add_argument('--document', action='store_true')
    given = parser.parse_args()
    build(given.build)
    output = run(given.build, given.seed)
    if output is None:
        return 1
    text = summary(output)
    print(text)
    if given.document:
        document(text)
    return 0


if __name__ == '__main__':
    sys.exit(main())
