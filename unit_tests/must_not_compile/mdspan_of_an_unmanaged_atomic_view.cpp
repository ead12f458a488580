// expect: an mdspan would not access the elements atomically
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

// As much of an mdspan as the conversion asks for.
template <class Index, std::size_t... N>
struct Shape {
  using index_type = Index;
  static constexpr std::size_t rank() { return sizeof...(N); }
  static constexpr std::size_t static_extent(std::size_t) { return SIZE_MAX; }
  constexpr explicit Shape(Index) {}
};
struct Span {
  using extents_type = Shape<int, SIZE_MAX>;
  using element_type = int;
  using layout_type = void;
  using accessor_type = void;
  struct mapping_type {
    using extents_type = Span::extents_type;
    explicit mapping_type(const extents_type&) {}
    long stride(std::size_t) const { return 1; }
  };
  Span(int*, const mapping_type&) {}
  static constexpr std::size_t rank() { return 1; }
  int* data_handle() const;
  mapping_type mapping() const;
};

void convert(const strata::MDArray<int, strata::Serial, strata::rank<1>>& x) {
  const auto span = strata::to_mdspan<Span>(strata::unmanaged(strata::atomic(x)));
  static_cast<void>(span);
}
