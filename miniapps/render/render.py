#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
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

try:
    import numpy as np
except ImportError:
    sys.exit(f"render.py: needs NumPy, which {sys.executable} lacks (Debian: python3-numpy, for /usr/bin/python3; "
             "elsewhere: pip install numpy)")

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
    if path.suffix not in (".vtu", ".pvd", ".vtk"):
        sys.exit(f"{path}: only .vtu, .pvd and .vtk files are drawn; the mini-apps write one with --output NAME.vtu")
    try:
        if path.suffix == ".pvd":
            files = re.findall(r'file="([^"]+)"', path.read_text())
            if not files:
                sys.exit(f"{path}: lists no file. Did the run end before its first output?")
            path = path.parent / files[-1]
        part = read_vtk(path) if path.suffix == ".vtk" else read_vtu(path)
        if len(part.elements) == 0 or part.elements.max() >= len(part.nodes):
            raise ValueError(f"{len(part.elements)} hexahedra over {len(part.nodes)} nodes")
        return part
    except OSError as error:
        sys.exit(f"{path}: {error.strerror}. The mini-apps write such a file with --output NAME.vtu")
    except (ValueError, LookupError, AttributeError, TypeError, xml.ParseError) as error:
        sys.exit(f"{path}: is damaged, or no file of the mini-apps ({error}). Write it again with --output NAME.vtu")


def chosen_field(part, name):
    """Name, values (scalars), and whether they belong to nodes."""
    fields = {**part.of_elements, **part.of_nodes}
    if name is None:
        # The first of the run; what says only numbers comes last.
        rest = [key for key in [*part.of_nodes, *part.of_elements] if key not in ("node", "element", "block")]
        name = (rest + [key for key in ("block", "element") if key in fields] + [None])[0]
    if name not in fields:
        sys.exit(f"there is no field {name}: choose with --field one of {', '.join(fields) or '(the file has none)'}")
    values, of_nodes = np.asarray(fields[name], float), name in part.of_nodes
    if values.ndim > 1:
        name, values = f"|{name}|", np.linalg.norm(values, axis=1)
    return name, values, of_nodes


def warped(part, option):
    if option is None:
        return part.nodes, ""
    name, _, factor = option.partition(":")
    move = part.of_nodes.get(name)
    if move is None or move.ndim != 2:
        vectors = [key for key, values in part.of_nodes.items() if values.ndim == 2]
        sys.exit(f"--warp: there is no vector field {name} of nodes; there are: {', '.join(vectors) or 'none'}")
    size, largest = np.ptp(part.nodes, axis=0).max(), np.linalg.norm(move, axis=1).max()
    try:
        factor = float(factor or "nan")
    except ValueError:
        sys.exit(f"--warp {option}: \"{factor}\" is not a number; write --warp {name}:10, or --warp {name}")
    factor = factor if factor == factor else (0.05 * size / largest if largest > 0 else 1.0)
    return part.nodes + factor * move, f", moved {factor:.3g} times as far"


def colour_limits(values, option):
    if option:
        return option
    finite = values[np.isfinite(values)]
    if len(finite) == 0:
        sys.exit("the field has no finite value: draw another with --field")
    low, high = float(finite.min()), float(finite.max())
    return [low, high if high > low else low + 1]


def projected(nodes, part, values, of_nodes, view):
    """The faces that are seen, from back to front: corners on the plane (f, 4, 2), their values, their light."""
    faces, owners = part.surface()
    azimuth, elevation = np.radians(view)
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
    lamp = eye + 0.5 * np.cross(eye, right) - 0.4 * right
    return plane[faces[order]], of_faces[order], np.clip(normals[order] @ (lamp / np.linalg.norm(lamp)), 0, 1)


# In inches of a picture 10 wide: the title above, the scale of colours at the right, what is left blank around.
TITLE, SCALE, BLANK = 0.5, 1.35, 0.15


def draw_with_matplotlib(nodes, part, name, values, of_nodes, limits, options, title):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.collections import PolyCollection

    corners, of_faces, light = projected(nodes, part, values, of_nodes, options.view)
    shades = plt.get_cmap(options.colours)(plt.Normalize(*limits)(of_faces))
    # Dark ends of a colour map stay apart from shadows: a little white in all, and no face in the dark.
    shades[:, :3] = (0.12 + 0.88 * shades[:, :3]) * (0.68 + 0.32 * light)[:, None]

    low, high = corners.min(axis=(0, 1)), corners.max(axis=(0, 1))
    width = 10 - SCALE - 2 * BLANK
    height = width * min(max((high[1] - low[1]) / max(high[0] - low[0], 1e-300), 0.25), 0.85)
    total = height + TITLE + 2 * BLANK
    # As many pixels an inch as make the width; everything scales with it.
    figure = plt.figure(figsize=(10, total), dpi=options.size / 10)
    axes = figure.add_axes((BLANK / 10, BLANK / total, width / 10, height / total))
    # Without edges lines of a face's own colour hide the seams between faces.
    edges, strength = (shades * [0.8, 0.8, 0.8, 1], 0.35) if options.edges else (shades, 0.9)
    axes.add_collection(PolyCollection(corners, facecolors=shades, edgecolors=edges, linewidths=strength))
    axes.set_aspect("equal")
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    axes.axis("off")
    figure.text(BLANK / 10, 1 - 0.5 * TITLE / total, title, fontsize=15, va="center")
    bar = figure.add_axes(((10 - SCALE + 0.15) / 10, (BLANK + 0.1 * height) / total, 0.22 / 10, 0.8 * height / total))
    figure.colorbar(plt.cm.ScalarMappable(plt.Normalize(*limits), options.colours), cax=bar)
    bar.set_title(options.label or name, fontsize=12, pad=8, loc="center")
    bar.tick_params(labelsize=11)
    png = {"pil_kwargs": {"optimize": True}} if options.picture.suffix == ".png" else {}
    figure.savefig(options.picture, facecolor="white", **png)


def draw_with_pyvista(pyvista, nodes, part, name, values, of_nodes, limits, options, title):
    cells = np.column_stack([np.full(len(part.elements), 8), part.elements]).ravel()
    grid = pyvista.UnstructuredGrid(cells, np.full(len(part.elements), 12, np.uint8), nodes)
    name = options.label or name
    (grid.point_data if of_nodes else grid.cell_data)[name] = values
    plotter = pyvista.Plotter(off_screen=True, window_size=(options.size, options.size * 3 // 4))
    plotter.set_background("white")
    plotter.add_mesh(grid, scalars=name, clim=limits, cmap=options.colours, show_edges=options.edges,
                     scalar_bar_args={"color": "black"})
    azimuth, elevation = np.radians(options.view)
    direction = [np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)]
    plotter.view_vector(direction, viewup=(0, 0, 1))
    plotter.add_title(title, font_size=10, color="black")
    plotter.screenshot(str(options.picture))


def two_numbers(text):
    numbers = [float(number) for number in text.split(",")]
    if len(numbers) != 2:
        raise ValueError
    return numbers


two_numbers.__name__ = "pair of numbers"  # as argparse calls it: invalid pair of numbers value: '1'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", type=pathlib.Path)
    parser.add_argument("picture", type=pathlib.Path, nargs="?", help="default: RESULT.png")
    parser.add_argument("--field", help="default: the first of the run")
    parser.add_argument("--warp", help="FIELD or FIELD:FACTOR")
    parser.add_argument("--view", type=two_numbers, default=[-60, 30], metavar="AZIMUTH,ELEVATION",
                        help="of the eye, in degrees; write --view=-60,30, which is the default")
    parser.add_argument("--range", type=two_numbers, metavar="LOW,HIGH", help="of the colours (default: those of the field)")
    parser.add_argument("--colours", default="viridis", help="a colour map of matplotlib (default: viridis)")
    parser.add_argument("--size", type=int, default=1000, help="width in pixels (default: 1000)")
    parser.add_argument("--no-edges", dest="edges", action="store_false", help="without the edges of elements")
    parser.add_argument("--title", help="default: the name of the file; how many times as far nodes are moved follows it")
    parser.add_argument("--label", help="of the colours, such as 'speed, mm/s' (default: the name of the field)")
    parser.add_argument("--with", dest="tool", choices=("pyvista", "matplotlib"), help="what to draw with")
    options = parser.parse_args()
    if not 100 <= options.size <= 10000:
        parser.error(f"--size {options.size}: a picture is 100 to 10000 pixels wide")
    if options.picture is None:
        options.picture = options.result.with_suffix(".png")

    part = read(options.result)
    name, values, of_nodes = chosen_field(part, options.field)
    nodes, moved = warped(part, options.warp)
    limits = colour_limits(values, options.range)
    title = (options.title or options.result.name) + moved
    pyvista = None
    if options.tool != "matplotlib":
        try:
            import pyvista
        except ImportError:
            if options.tool == "pyvista":
                sys.exit("PyVista is not installed: pip install pyvista, or leave out --with")
    try:
        if pyvista:
            draw_with_pyvista(pyvista, nodes, part, name, values, of_nodes, limits, options, title)
        else:
            draw_with_matplotlib(nodes, part, name, values, of_nodes, limits, options, title)
    except ImportError:
        sys.exit("drawing needs matplotlib (Debian: python3-matplotlib) or PyVista (pip install pyvista)")
    except OSError as error:
        sys.exit(f"{options.picture}: {error.strerror or error}. Name another picture after the result")
    except ValueError as error:  # a format of pictures, or colours, that there are not
        sys.exit(f"{options.picture}: {error}")
    print(options.picture)


if __name__ == "__main__":
    main()
