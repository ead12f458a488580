#!/usr/bin/env python3
"""Mutations of an Exodus II mesh in HDF5, each in a process of its own, under AddressSanitizer.

    python3 unit_tests/tools/hdf5_mutants.py [--build build/asan] [--seed N]

Configures and builds the tests of mesh files by the preset `asan` where that was not done, reads 10,000 mutations, and prints
how the processes ended. Fails where the program that waits for them crashes, takes more than 5 s for one, or takes a mesh that is
not consistent; what crashes netCDF's library in its process is counted, and refused as damaged.
"""
import argparse
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--build', default=str(ROOT / 'build/asan'), type=pathlib.Path)
    parser.add_argument('--seed', default=None, type=int)
    given = parser.parse_args()
    if not (given.build / 'CMakeCache.txt').exists():
        subprocess.run(['cmake', '-S', ROOT, '-B', given.build, '--preset', 'asan'], check=True, cwd=ROOT)
    subprocess.run(['cmake', '--build', given.build, '--target', 'strata_fem_files_tests'], check=True)
    # A process in which AddressSanitizer finds something is told from one that finds the file damaged.
    environment = {**os.environ, 'ASAN_OPTIONS': os.environ.get('ASAN_OPTIONS', '') + ':exitcode=120'}
    if given.seed is not None:
        environment['PROPERTY_TEST_SEED'] = str(given.seed)
    program = next(given.build.rglob('strata_fem_files_tests'))
    return subprocess.run([program, '--gtest_filter=DamagedHdf5.Slow*'], check=False, env=environment).returncode


if __name__ == '__main__':
    sys.exit(main())
