// ShortList: a list that is nearly always short.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// A list, of which the first `Few` elements need no memory of their own.
template <class T, std::size_t Few>
class ShortList {
 public:
  ShortList() = default;
  ShortList(const ShortList&) = default;  // to move one is to copy it
  // A loop of clang's own has a variable __i0.
  ShortList& operator=(const ShortList&) = default;  // NOLINT(readability-identifier-naming)

  void push_back(T item) {
    if (more_.empty() && count_ < Few) {
      few_[count_] = std::move(item);
    } else {
      if (more_.empty()) {
        more_.reserve(Few + 1);  // nothing has been moved where this throws
        for (T& one : few_) more_.push_back(std::move(one));
      }
      more_.push_back(std::move(item));
    }
    ++count_;
  }
  /// A new element at the end.
  T& add() {
    if (more_.empty() && count_ < Few) return few_[count_++];
    push_back(T());
    return begin()[count_ - 1];
  }
  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  T& operator[](std::size_t k) { return begin()[k]; }
  const T& operator[](std::size_t k) const { return begin()[k]; }
  const T& front() const { return *begin(); }
  T* begin() { return more_.empty() ? few_ : more_.data(); }
  T* end() { return begin() + count_; }
  const T* begin() const { return more_.empty() ? few_ : more_.data(); }
  const T* end() const { return begin() + count_; }

 private:
  T few_[Few] = {};
  std::size_t count_ = 0;
  std::vector<T> more_;  // all, where they are more
};

}  // namespace strata::inline STRATA_ABI::detail
