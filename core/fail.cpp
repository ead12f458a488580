// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <strata/core/error.hpp>
#include <strata/core/fail.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

std::string shape(const index_t* extents, int rank) {
  std::string text = "(";
  for (int r = 0; r < rank; ++r) text += (r ? ", " : "") + std::to_string(extents[r]);
  return text + ")";
}

std::string quoted(const char* label) {
  return label && *label ? "\"" + std::string(label) + "\"" : "an unlabelled array";
}

}  // namespace

void throw_extent(int dimension, index_t value, const char* reason) {
  throw ExtentError("extent " + std::to_string(dimension) + " is " + std::to_string(value) + ": " + reason);
}

void throw_extents_overflow(const index_t* extents, int rank, const char* index_type) {
  throw ExtentError("an array of shape " + shape(extents, rank) + " has more elements than " + index_type +
                    " can count; use smaller extents" +
                    (sizeof(index_type) && index_type[0] == 'i' ? ", or a layout with 64-bit indices" : ""));
}

void throw_work(const char* call, index_t value, const char* allowed) {
  throw KernelError(std::string(call) + "(" + std::to_string(value) + "): " + allowed);
}

void throw_rank(int rank, int wanted, const char* what) {
  throw ExtentError(std::string(what) + ": the rank is " + std::to_string(rank) + ", it must be " +
                    std::to_string(wanted));
}

void throw_layout(const char* reason, index_t value, index_t modulus) {
  throw LayoutError(std::string(reason) + " (" + std::to_string(value) + ", " + std::to_string(modulus) +
                    ")");
}

void throw_stride(const char* layout, index_t stride, index_t wanted) {
  throw LayoutError(std::string("a view converted to ") + layout + ": its elements are " +
                    std::to_string(stride) + " apart where that layout has them " + std::to_string(wanted) +
                    " apart; deep_copy it into an array of that layout");
}

void throw_row_stride(index_t stride) {
  throw LayoutError(
      "rows of LayoutRight whose length the type fixes are less than 2^27 elements apart, and these " +
      std::to_string(stride) +
      "; leave the extents of the view to the run time, or copy the rows next to each other");
}

void throw_part(const char* label, int dimension, index_t first, index_t last, index_t begin, index_t end) {
  const auto range = [](index_t a, index_t b) {
    return "[" + std::to_string(a) + ", " + std::to_string(b) + ")";
  };
  throw LayoutError("subview of " + quoted(label) + ": " + range(first, last) + " of dimension " +
                    std::to_string(dimension) + ", which has the indices " + range(begin, end) +
                    "; ask for a part of them (of a slice, of the rows that it holds)");
}

void fail_shapes(const char* what, const char* left_label, const index_t* left, int left_rank,
                 const char* right_label, const index_t* right, int right_rank) {
  throw ShapeMismatch(std::string(what) + ": " + quoted(left_label) + " has shape " + shape(left, left_rank) +
                      ", " + quoted(right_label) + " has shape " + shape(right, right_rank) +
                      "; they must be equal");
}

}  // namespace strata::inline STRATA_ABI::detail
