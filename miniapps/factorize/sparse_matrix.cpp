// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <tuple>

#include <strata/miniapps/common/report.hpp>
#include <strata/miniapps/factorize/sparse_matrix.hpp>

namespace strata::inline STRATA_ABI::factorize {

namespace {

bool is_before(const SparseEntry& a, const SparseEntry& b) {
  return std::tie(a.row, a.column, a.line) < std::tie(b.row, b.column, b.line);
}

// As files count.
std::string place_text(index_t row, index_t column) {
  return "(" + std::to_string(row + 1) + ", " + std::to_string(column + 1) + ")";
}

}  // namespace

SparseMatrix::SparseMatrix(index_t order, std::string text, std::string name, bool is_symmetric,
                           std::vector<SparseEntry> entries)
    : MatrixInput(order, std::move(text)),
      name_(std::move(name)),
      is_symmetric_(is_symmetric),
      entries_(std::move(entries)) {
  if (is_symmetric)
    for (std::size_t k = 0, given = entries_.size(); k < given; ++k) {
      const SparseEntry entry = entries_[k];
      if (entry.row != entry.column) entries_.push_back({entry.column, entry.row, entry.value, entry.line});
    }
  std::sort(entries_.begin(), entries_.end(), is_before);
  const auto twice = std::adjacent_find(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
    return a.row == b.row && a.column == b.column;
  });
  if (twice != entries_.end())
    throw InputError(name_ + ":" + std::to_string(twice[1].line) + ": the element " +
                     place_text(twice->row, twice->column) + " is there twice, first in line " +
                     std::to_string(twice->line) + ": give each element once");
}

std::vector<SparseEntry>::const_iterator SparseMatrix::find(index_t row, index_t column) const {
  return std::lower_bound(entries_.begin(), entries_.end(), SparseEntry{row, column, 0, -1}, is_before);
}

void SparseMatrix::read(index_t row, index_t first, index_t count, double* values) const {
  std::fill_n(values, count, 0.0);
  for (auto entry = find(row, first);
       entry != entries_.end() && entry->row == row && entry->column < first + count; ++entry)
    values[entry->column - first] = entry->value;
}

void SparseMatrix::require_symmetric() const {
  if (is_symmetric_) return;
  for (const SparseEntry& entry : entries_) {
    const auto other = find(entry.column, entry.row);
    const bool is_there = other != entries_.end() && other->row == entry.column && other->column == entry.row;
    const double value = is_there ? other->value : 0;
    if (value != entry.value)
      throw InputError(name_ + (entry.line > 0 ? ":" + std::to_string(entry.line) : "") +
                       ": the matrix is not symmetric: the element " + place_text(entry.row, entry.column) +
                       " is " + miniapp::number_text(entry.value) + ", " +
                       place_text(entry.column, entry.row) + " is " + miniapp::number_text(value) +
                       ": take lu");
  }
}

}  // namespace strata::inline STRATA_ABI::factorize
