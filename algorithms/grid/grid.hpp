// across(...).grid(p0, p1): several devices, of which each has a box of a launch's work: rows of cut i and
// columns of cut j. A stencil then copies, of an n x n array on p x p devices, halos of 4 n / p elements a
// device, where cuts of rows alone take 2 n.
//
//   const auto where = across(devices).grid(2, 2);          // of four devices; grid(p0, p1, p2) of p0 p1 p2
//   launch(where, mdrange({1, 1}, {n - 1, n - 1}), FivePoints{}, in(u, halo({1, 1}, {1, 1})), inout(v));
//   launch_reduce(where, mdrange({n, n}), Square{}, Sum(total), in(v, own_element));
//   across(devices).grid(2, 3).weighted({{1, 1}, {2, 1, 1}})    // sizes of rows, of columns
//
// Part (i, j) is device i * p1 + j of the list. Work is an mdrange of at least as many dimensions as the
// grid. Devices that have nothing to do, as there are fewer rows or columns than parts, are left out,
// but for the first, which joins the values of a reduction.
//
// What the work items of a device touch of an array, by the region of its access
// (views/coherent/access_region.hpp):
//
//   none, of out and inout     the elements of its indices: its box, and all of further dimensions
//   none, of in                the rows of its left-most indices, all columns, as everywhere
//   own_element                the elements of its indices
//   halo({l0, l1}, {r0, r1})   its box with the neighbours, its corners, too; all of dimensions not named
//   own, halo(l, r), rows(f)   those rows, all columns
//   columns                    the columns of its left-most indices, all rows
//   everything, fixed(box)     these
//
// So `in` reads in a grid what it reads on one device; in a grid `inout` reads only the work item's own
// elements, and a kernel that reads others of the array that it writes needs a second array. Declared boxes
// copy least. What is written must be boxes: AccessConflict where devices would write the same. A work item
// writes the elements of its own indices only; checked builds find others (column_view.hpp). Devices allocate
// whole rows of arrays: those of their boxes.
//
// A sum has the same bits as on one device: rows are the leaves of its tree (core/reduction_tree.hpp), and
// are cut between blocks of 512 items, so parts of a reduction are not those of a launch where rows are
// short. On a GPU a warp makes the value of a block, as in other reductions (block_values.hpp). Values of
// blocks, one for each row at least, are joined on the first device: where rows are short these are nearly as
// many as the items.
//
// Neither scans, sequences nor streamed launches take a grid, and its parts are neither adaptive nor dynamic.
// Errors are those of launches across devices (coherent_launch.hpp).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/grid/grid_launch.hpp>
#include <strata/algorithms/grid/grid_reduce.hpp>
