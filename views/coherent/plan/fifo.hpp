// Fifo: what comes first goes first, in memory that stays: std::deque allocates and frees a block with every
// few elements, which every launch would pay for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Elements in the order in which they came, side by side. add() may move them, drop_front() does not.
template <class T>
class Fifo {
 public:
  Fifo() = default;
  Fifo(Fifo&& other) noexcept : items_(std::move(other.items_)), first_(std::exchange(other.first_, 0)) {}
  Fifo& operator=(Fifo&& other) noexcept {
    items_ = std::move(other.items_);
    first_ = std::exchange(other.first_, 0);
    return *this;
  }

  bool empty() const { return first_ == items_.size(); }
  std::size_t size() const { return items_.size() - first_; }
  T* begin() { return items_.data() + first_; }
  T* end() { return items_.data() + items_.size(); }
  const T* begin() const { return items_.data() + first_; }
  const T* end() const { return items_.data() + items_.size(); }
  T& front() { return items_[first_]; }
  const T& front() const { return items_[first_]; }
  T& back() { return items_.back(); }
  const T& back() const { return items_.back(); }
  const T& operator[](std::size_t k) const { return items_[first_ + k]; }

  /// A new element at the end.
  T& add() {
    if (items_.capacity() == 0) items_.reserve(few);
    // Where as many have gone as there are, to move these costs less than to have more memory.
    if (items_.size() == items_.capacity() && first_ > 0 && first_ >= size()) {
      items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
    return items_.emplace_back();
  }
  /// Drops the first `count`, and what they hold.
  void drop_front(std::size_t count) {
    if (count == size()) return clear();
    for (const std::size_t end = first_ + count; first_ < end; ++first_) items_[first_] = T();
  }
  void clear() {
    items_.clear();
    first_ = 0;
  }

 private:
  static constexpr std::size_t few = 4;
  std::vector<T> items_;
  std::size_t first_ = 0;
};

}  // namespace strata::inline STRATA_ABI::detail
