// Skeletons over coherent arrays: functions of elements in place of kernels, for programs that are sequences
// of well-known patterns. Each is one launch (in place: two) of coherent_launch.hpp or coherent_reduce.hpp,
// and runs at the same places: on(device), on(queue), across(devices); operands.hpp says what streamed needs.
//
//   map              elements from elements with the same index
//   map_array        elements from arrays that are read anywhere
//   map_overlap      elements from their neighbours, with edges, red-black in place
//   map_reduce       one value from functions of elements
//   reduce           one value from all elements; of rows, of columns
//   inclusive_scan, exclusive_scan
//
// After the skeletons of SkePU (Dastgeer and Kessler, IJPP 44 (2016)), without its precompiler.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/skeletons/map.hpp>
#include <strata/algorithms/skeletons/map_array.hpp>
#include <strata/algorithms/skeletons/map_overlap.hpp>
#include <strata/algorithms/skeletons/map_reduce.hpp>
#include <strata/algorithms/skeletons/reduce.hpp>
#include <strata/algorithms/skeletons/scan.hpp>
