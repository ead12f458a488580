// Fifo: what comes first goes first, in memory that stays: std::deque allocates and frees a block with every
// few elements, which was a tenth of what the host spends in a launch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Elements in the order in which they came, side by side. push_back() moves them, pop_front() does not.
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

  void push_back(T&& item) {
    // Where as many have gone as there are, to move these costs less than to have more memory.
    if (items_.size() == items_.capacity() && first_ > 0 && first_ >= size()) {
      items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
    items_.push_back(std::move(item));
  }
  void pop_front() {
    items_[first_] = T();  // what it holds is free now
    if (++first_ == items_.size()) clear();
  }
  void clear() {
    items_.clear();
    first_ = 0;
  }

 private:
  std::vector<T> items_;
  std::size_t first_ = 0;
};

}  // namespace strata::inline STRATA_ABI::detail
