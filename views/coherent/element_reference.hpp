// ElementReference: one element of a coherent array on the host, which distinguishes reading from writing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/access_mode.hpp>

namespace strata::inline STRATA_ABI {

/// The result of x(i, j) of a coherent array. Each read and each write is a host access of one element, with
/// all its waiting: meant for setup, checks and debugging; in loops use host views.
template <class Array>
class ElementReference {
 public:
  /// Of the elements.
  using value_type = typename Array::value_type;

  /// The element of `array` at `index`, Rank indices.
  ElementReference(const Array& array, const index_t* index) : array_(&array) {
    for (int r = 0; r < Array::rank; ++r) index_[r] = index[r];
  }

  /// Reads it.
  operator value_type() const { return array_->template element<AccessMode::In>(index_, nullptr); }
  /// Writes it.
  const ElementReference& operator=(const value_type& value) const {
    array_->template element<AccessMode::Out>(index_, &value);
    return *this;
  }
  const ElementReference& operator=(const ElementReference& other) const {
    return *this = static_cast<value_type>(other);
  }
  /// The same element.
  ElementReference(const ElementReference&) = default;
  const ElementReference& operator+=(const value_type& value) const {
    return *this = static_cast<value_type>(*this) + value;
  }
  const ElementReference& operator-=(const value_type& value) const {
    return *this = static_cast<value_type>(*this) - value;
  }
  const ElementReference& operator*=(const value_type& value) const {
    return *this = static_cast<value_type>(*this) * value;
  }
  const ElementReference& operator/=(const value_type& value) const {
    return *this = static_cast<value_type>(*this) / value;
  }

 private:
  const Array* array_;
  index_t index_[Array::rank > 0 ? Array::rank : 1] = {};
};

}  // namespace strata::inline STRATA_ABI
