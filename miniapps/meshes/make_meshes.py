#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the meshes of this folder from their Gmsh scripts, with Gmsh 4.8 and strata-mesh-convert.

    ./make_meshes.py [--convert PROGRAM]     PROGRAM: build/bin/strata-mesh-convert of some build

The meshes are committed; this is for those who change a script. unit_tests/miniapps/fem/files/parts_test.cpp says what
they must fulfil.
"""
import argparse
import pathlib
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PARTS = {"connecting_rod": ".msh", "flanged_bracket": ".e", "heat_sink": ".vtk"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--convert", default="strata-mesh-convert", help="the program strata-mesh-convert")
    convert = parser.parse_args().convert
    for part, form in PARTS.items():
        with tempfile.TemporaryDirectory() as folder:
            made = pathlib.Path(folder) / "part.msh"
            subprocess.run(["gmsh", "-3", "-format", "msh41", HERE / f"{part}.geo", "-o", made, "-v", "2"], check=True)
            if form == ".msh":
                (HERE / f"{part}.msh").write_bytes(made.read_bytes())
                made = HERE / f"{part}.msh"
                subprocess.run([convert, made], check=True)
            else:
                subprocess.run([convert, made, HERE / f"{part}{form}"], check=True)


if __name__ == "__main__":
    main()
