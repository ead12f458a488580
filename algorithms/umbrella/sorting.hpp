// Sorting, selecting and searching in views: sort, sort_by_key, copy_if, partition, find_if,
// transform_reduce.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/element_algorithms.hpp>
#include <strata/algorithms/find.hpp>
#include <strata/algorithms/select.hpp>
#include <strata/algorithms/sort.hpp>
#include <strata/algorithms/transform_reduce.hpp>
#include <strata/strata.hpp>
