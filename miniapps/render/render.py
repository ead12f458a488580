#!/usr/bin/env python3
"""Makes a picture of a part, coloured by a field.

    ./render.py RESULT.vtu [PICTURE.png] [--field NAME] [--warp FIELD[:FACTOR]] [--view=AZIMUTH,ELEVATION] ...

RESULT is a .vtu file of the mini-apps, a .pvd (its last state), or a mesh in legacy VTK in ASCII (.vtk), which is
coloured by its blocks. Vector fields are shown by their length. --warp moves the nodes by a vector field, FACTOR
times as far as they went; without a factor, so that it can be seen. Draws with PyVista where it is installed, with
matplotlib otherwise; needs NumPy.
"""
import argparse
import pathlib
import re
import sys
import xml.etree.ElementTree as xml

import numpy as np

# Corners of the faces of a hexahedron, normals outwards.
FACES = np.array([[0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7], [0, 3, 2, 1], [4, 5, 6, 7]])


class Part:
    """Nodes (n, 3), hexahedra (m, 8), and fields by name, of nodes or of elements."""

    def __init__(self, nodes, elements, of_nodes, of_elements):
        self.nodes, self.elements, self.of_nodes, self.of_elements = nodes, elements, of_nodes, of_elements

    def surface(self):
        """The faces of one element only: their nodes (f, 4), and their elements (f,)."""
        faces = self.elements[:, FACES].reshape(-1, 4)
        _, first, number = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
        outer = np.sort(first[number == 1])
        return faces[outer], outer // len(FACES)


def read_vtu(path):
    """What the mini-apps write: raw appended arrays with lengths of 64 bits."""
    content = path.read_bytes()
    marker = b'<AppendedData encoding="raw">'
    head, found, tail = content.partition(marker)
    if not found:
        sys.exit(f"{path}: only .vtu files with raw appended data are read, as the mini-apps write them")
    data = tail[tail.index(b"_") + 1:]
    root = xml.fromstring(head + b"</VTKFile>")
    order = "<" if root.get("byte_order") == "LittleEndian" else ">"
    types = {"Float64": "f8", "Float32": "f4", "Int64": "i8", "Int32": "i4", "UInt8": "u1"}

    def array(node):
        offset = int(node.get("offset"))
        length = int(np.frombuffer(data, order + "u8", 1, offset)[0])
        kind = np.dtype(order + types[node.get("type")])
        values = np.frombuffer(data, kind, length // kind.itemsize, offset + 8)
        components = int(node.get("NumberOfComponents", 1))
        return values.reshape(-1, components) if components > 1 else values

    piece = root.find("UnstructuredGrid/Piece")
    arrays = {section: {node.get("Name"): array(node) for node in piece.find(section)}
              for section in ("PointData", "CellData", "Points", "Cells")}
    return Part(arrays["Points"]["Points"], arrays["Cells"]["connectivity"].reshape(-1, 8), arrays["PointData"],
                arrays["CellData"])


def read_vtk(path):
    words = path.read_text().split()
    if "ASCII" not in words[:40] or "POINTS" not in words:
        sys.exit(f"{path}: only legacy VTK in ASCII is read")
    at = words.index("POINTS")
    count = int(words[at + 1])
    nodes = np.array(words[at + 3:at + 3 + 3 * count], float).reshape(-1, 3)
    at = words.index("CELLS")
    cells, size = int(words[at + 1]), int(words[at + 2])
    numbers = np.array(words[at + 3:at + 3 + size], int)
    elements, place = [], 0
    for _ in range(cells):
        elements.append(numbers[place + 1:place + 1 + numbers[place]])
        place += 1 + numbers[place]
    hexahedra = np.array([len(corners) == 8 for corners in elements])
    of_elements = {}
    for at in (k for k, word in enumerate(words) if word == "SCALARS" and words[k + 1] == "block"):
        begin = words.index("LOOKUP_TABLE", at) + 2
        of_elements["block"] = np.array(words[begin:begin + cells], float)[hexahedra]
    return Part(nodes, np.array([corners for corners in elements if len(corners) == 8]), {}, of_elements)


def read(path):
    if path.suffix == ".pvd":
        files = re.findall(r'file="([^"]+)"', path.read_text())
        if not files:
            sys.exit(f"{path}: lists no file")
        return read_vtu(path.parent / files[-1])
    return read_vtk(path) if path.suffix == ".vtk" else read_vtu(path)


def chosen_field(part, name):
    """Name, values (scalars), and whether they belong to nodes."""
    fields = {**part.of_elements, **part.of_nodes}
    if name is None:
        # The first of the run; what says only numbers comes last.
        rest = [key for key in [*part.of_nodes, *part.of_elements] if key not in ("node", "element", "block")]
        name = (rest + [key for key in ("block", "element") if key in fields] + [None])[0]
    if name not in fields:
        sys.exit(f"there is no field {name}; there are: {', '.join(fields) or 'none'}")
    values = np.asarray(fields[name], float)
    return name, values if values.ndim == 1 else np.linalg.norm(values, axis=1), name in part.of_nodes


def warped(part, option):
    if option is None:
        return part.nodes, ""
    name, _, factor = option.partition(":")
    move = part.of_nodes.get(name)
    if move is None or move.ndim != 2:
        sys.exit(f"--warp: there is no vector field {name} of nodes")
    size, largest = np.ptp(part.nodes, axis=0).max(), np.linalg.norm(move, axis=1).max()
    factor = float(factor) if factor else (0.05 * size / largest if largest > 0 else 1.0)
    return part.nodes + factor * move, f", moved {factor:.3g} times as far"


def colour_limits(values, option):
    if option:
        return [float(number) for number in option.split(",")]
    low, high = float(values.min()), float(values.max())
    return [low, high if high > low else low + 1]


def draw_with_matplotlib(nodes, part, name, values, of_nodes, limits, options, title):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.collections import PolyCollection

    faces, owners = part.surface()
    azimuth, elevation = (np.radians(float(angle)) for angle in options.view.split(","))
    # Towards the eye, to the right, upwards; parallel projection.
    eye = np.array([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
    right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    plane = nodes @ np.column_stack([right, np.cross(eye, right)])
    corners = nodes[faces]
    normals = np.cross(corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1])
    normals /= np.maximum(np.linalg.norm(normals, axis=1), 1e-300)[:, None]
    shown = normals @ eye > 0
    # Painter's order: faces that are further away first.
    order = np.flatnonzero(shown)[np.argsort((corners.mean(axis=1) @ eye)[shown])]
    of_faces = values[faces].mean(axis=1) if of_nodes else values[owners]
    shades = plt.get_cmap(options.colours)(plt.Normalize(*limits)(of_faces[order]))
    lamp = eye + 0.5 * np.cross(eye, right) - 0.4 * right
    light = np.clip(normals[order] @ (lamp / np.linalg.norm(lamp)), 0, 1)
    shades[:, :3] *= (0.45 + 0.55 * light)[:, None]

    figure, axes = plt.subplots(figsize=(options.size / 100, 0.75 * options.size / 100), dpi=100)
    edges = shades * [0.75, 0.75, 0.75, 1] if options.edges else shades
    axes.add_collection(PolyCollection(plane[faces[order]], facecolors=shades, edgecolors=edges, linewidths=0.4))
    axes.set_aspect("equal")
    axes.autoscale_view()
    axes.axis("off")
    axes.set_title(title)
    scale = plt.cm.ScalarMappable(plt.Normalize(*limits), options.colours)
    figure.colorbar(scale, ax=axes, label=name, shrink=0.7)
    figure.savefig(options.picture, bbox_inches="tight")


def draw_with_pyvista(pyvista, nodes, part, name, values, of_nodes, limits, options, title):
    cells = np.column_stack([np.full(len(part.elements), 8), part.elements]).ravel()
    grid = pyvista.UnstructuredGrid(cells, np.full(len(part.elements), 12, np.uint8), nodes)
    (grid.point_data if of_nodes else grid.cell_data)[name] = values
    plotter = pyvista.Plotter(off_screen=True, window_size=(options.size, options.size * 3 // 4))
    plotter.set_background("white")
    plotter.add_mesh(grid, scalars=name, clim=limits, cmap=options.colours, show_edges=options.edges,
                     scalar_bar_args={"color": "black"})
    azimuth, elevation = (np.radians(float(angle)) for angle in options.view.split(","))
    direction = [np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)]
    plotter.view_vector(direction, viewup=(0, 0, 1))
    plotter.add_title(title, font_size=10, color="black")
    plotter.screenshot(str(options.picture))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", type=pathlib.Path)
    parser.add_argument("picture", type=pathlib.Path, nargs="?", help="default: RESULT.png")
    parser.add_argument("--field", help="default: the first of the run")
    parser.add_argument("--warp", help="FIELD or FIELD:FACTOR")
    parser.add_argument("--view", default="-60,30", metavar="AZIMUTH,ELEVATION",
                        help="of the eye, in degrees; write --view=-60,30, which is the default")
    parser.add_argument("--range", metavar="LOW,HIGH", help="of the colours (default: those of the field)")
    parser.add_argument("--colours", default="viridis", help="a colour map of matplotlib (default: viridis)")
    parser.add_argument("--size", type=int, default=1000, help="width in pixels (default: 1000)")
    parser.add_argument("--no-edges", dest="edges", action="store_false", help="without the edges of elements")
    parser.add_argument("--title", help="default: the name of the file")
    parser.add_argument("--with", dest="tool", choices=("pyvista", "matplotlib"), help="what to draw with")
    options = parser.parse_args()
    if options.picture is None:
        options.picture = options.result.with_suffix(".png")

    part = read(options.result)
    name, values, of_nodes = chosen_field(part, options.field)
    nodes, moved = warped(part, options.warp)
    limits = colour_limits(values, options.range)
    title = options.title or options.result.name + moved
    pyvista = None
    if options.tool != "matplotlib":
        try:
            import pyvista
        except ImportError:
            if options.tool == "pyvista":
                sys.exit("PyVista is not installed: pip install pyvista, or leave out --with")
    if pyvista:
        draw_with_pyvista(pyvista, nodes, part, name, values, of_nodes, limits, options, title)
    else:
        draw_with_matplotlib(nodes, part, name, values, of_nodes, limits, options, title)
    print(options.picture)


if __name__ == "__main__":
    main()
