// The kernels of a system that goes through the device in slices (streamed_system.hpp): those of
// assembly_kernels.hpp and boundary_kernels.hpp with elements and nodes at places, and the rows of the matrix
// in blocks. Sums are made in the same order by the same operations, so that the bits are those in core.
//
// Work items of rows are (block, row in it). Fields of nodes are plain views, in the mesh's own order of
// nodes, which node_at(place) gives.
#pragma once

#include <strata/algorithms/linear/spmv_kernels.hpp>
#include <strata/miniapps/thermal/boundary_kernels.hpp>
#include <strata/miniapps/thermal/streamed_mesh.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// A field as elements see it that know the places of nodes.
template <class Field, class NodeAt>
struct PlacedField {
  const Field& field;
  const NodeAt& node_at;
  STRATA_FUNCTION typename Field::value_type operator()(auto place) const { return field(node_at(place)); }
};

/// ElementContributions at places.
template <class T, int Kind, class Materials, class Field>
struct PlacedContributions {
  using device_type = typename Field::device_type;
  ElementContributions<T, Kind, BlockSource> contributions;
  Materials materials;
  Field temperature, change;

  STRATA_FUNCTION void operator()(auto e, auto nodes, auto coordinates, auto blocks, auto node_at,
                                  auto matrix, auto vector) const {
    using NodeAt = decltype(node_at);
    contributions(e, nodes, coordinates, blocks, materials, PlacedField<Field, NodeAt>{temperature, node_at},
                  PlacedField<Field, NodeAt>{change, node_at}, matrix, vector);
  }
  // Without the matrix.
  STRATA_FUNCTION void operator()(auto e, auto nodes, auto coordinates, auto blocks, auto node_at,
                                  auto vector) const {
    static_assert((Kind & MatrixTerm) == 0);
    (*this)(e, nodes, coordinates, blocks, node_at, vector, vector);
  }
};

/// The entries of a block, for fem::find_entry.
template <class Entries>
struct EntriesOfBlock {
  const Entries& entries;
  index_t block;
  STRATA_FUNCTION std::int32_t operator()(index_t k) const { return entries(block, k); }
};

/// GatherRows: what the elements of a node stored is added up, elements in the mesh's order, from 0 on.
template <class Field>
struct GatherPlacedRows {
  using device_type = typename Field::device_type;
  using T = typename Field::value_type;
  static constexpr bool last_index_fastest = true;
  index_t nodes;
  Field b;

  // Named parameters: nvcc 13.0 ends with an internal error at ten of `auto`.
  template <class NodeAt, class Begins, class Offsets, class Corners, class Slots, class ElementNodes,
            class Entries, class Matrix, class Vector, class Values>
  STRATA_FUNCTION void operator()(index_t block, index_t r, const NodeAt& node_at, const Begins& begins,
                                  const Offsets& offsets, const Corners& corners, const Slots& slots,
                                  const ElementNodes& element_nodes, const Entries& entries,
                                  const Matrix& matrix, const Vector& vector, const Values& values) const {
    const index_t place = row_block * block + r;
    if (place >= nodes) return;
    const index_t begin = begins(block, r), end = begins(block, r + 1);
    const EntriesOfBlock<Entries> columns{entries, block};
    for (index_t k = begin; k < end; ++k) values(block, k) = T(0);
    T load = T(0);
    for (index_t k = offsets(place); k < offsets(place + 1); ++k) {
      const index_t e = corners(k) >> 3;
      const int c = corners(k) & 7;
      const fem::SlotWord word = slots(e, c);
      load += vector(e, c);
      for (int j = 0; j < 8; ++j) {
        const index_t slot = fem::slot_of(word, j);
        const index_t entry = slot < fem::far_slot
                                  ? begin + slot
                                  : fem::find_entry(columns, begin, end, node_at(element_nodes(e, j)));
        values(block, entry) += matrix(e, c, j);
      }
    }
    b(node_at(place)) = load;
  }
};

/// GatherVector.
template <class Field>
struct GatherPlacedVector {
  using device_type = typename Field::device_type;
  static constexpr bool last_index_fastest = true;
  index_t nodes;
  Field b;

  STRATA_FUNCTION void operator()(index_t block, index_t r, const auto& node_at, const auto& offsets,
                                  const auto& corners, const auto& vector) const {
    const index_t place = row_block * block + r;
    if (place >= nodes) return;
    typename Field::value_type sum = 0;
    for (index_t k = offsets(place); k < offsets(place + 1); ++k)
      sum += vector(corners(k) / 8, corners(k) % 8);
    b(node_at(place)) = sum;
  }
};

/// EliminateGiven.
template <class Conditions, class Field>
struct EliminatePlaced {
  using device_type = typename Field::device_type;
  using T = typename Field::value_type;
  static constexpr bool last_index_fastest = true;
  index_t nodes;
  Conditions conditions;
  Field given, lift;

  STRATA_FUNCTION void operator()(index_t block, index_t r, const auto& node_at, const auto& begins,
                                  const auto& entries, const auto& values) const {
    const index_t place = row_block * block + r;
    if (place >= nodes) return;
    const index_t i = node_at(place);
    const bool is_given = conditions(i) != free_node;
    T sum = T(0);
    for (index_t k = begins(block, r); k < begins(block, r + 1); ++k) {
      const index_t j = entries(block, k);
      if (is_given) {
        values(block, k) = j == i ? T(1) : T(0);
      } else if (conditions(j) != free_node) {
        sum += values(block, k) * given(j);
        values(block, k) = T(0);
      }
    }
    lift(i) = sum;
  }
};

/// What conjugate gradients ask of the rows.
enum class RowOperation : int {
  Product,    ///< y = A x
  Diagonal,   ///< y(i) = a_ii, or 0
  Magnitudes  ///< y(i) = the sum of |a_ij|
};

/// A row of the matrix times a vector, as linear::spmv sums it: one thread does what a group of `group`
/// threads of a GPU does there.
template <class Entries, class Values, class X>
struct PlacedRow {
  using T = typename X::value_type;
  index_t block;
  const Entries& entries;
  const Values& values;
  const X& x;

  STRATA_FUNCTION T product(index_t k) const {
    return values(block, k) * x(static_cast<index_t>(entries(block, k)));
  }
  STRATA_FUNCTION T sum(index_t begin, index_t end, [[maybe_unused]] int group) const {
#if defined(__CUDA_ARCH__)
    if (group == 2) return sum_of_group<2>(begin, end);
    if (group == 4) return sum_of_group<4>(begin, end);
    if (group == 8) return sum_of_group<8>(begin, end);
    if (group == 16) return sum_of_group<16>(begin, end);
    if (group == 32) return sum_of_group<32>(begin, end);
#endif
    if (end - begin >= strata::detail::long_row) return sum_long(begin, end);
    T total = T(0);
    for (index_t k = begin; k < end; ++k) total += product(k);
    return total;
  }

 private:
  template <int Group>
  STRATA_FUNCTION T sum_of_group(index_t begin, index_t end) const {
    T partial[Group];
    unrolled<Group>([&](auto l) { partial[l] = T(0); });
    for (index_t k = begin; k < end; k += Group)
      unrolled<Group>([&](auto l) {
        if (k + l < end) partial[l] += product(k + l);
      });
    join_halves<Group / 2>(partial);
    return partial[0];
  }
  template <int Half, int Group>
  STRATA_FUNCTION static void join_halves(T (&partial)[Group]) {
    unrolled<Half>([&](auto l) { partial[l] += partial[l + Half]; });
    if constexpr (Half > 1) join_halves<Half / 2>(partial);
  }
  [[gnu::noinline]] STRATA_FUNCTION T sum_long(index_t begin, index_t end) const {
    constexpr int partials = strata::detail::row_partials;
    T partial[partials];
    for (int l = 0; l < partials; ++l) partial[l] = T(0);
    index_t k = begin;
    for (; end - k >= partials; k += partials)
      for (int l = 0; l < partials; ++l) partial[l] += product(k + l);
    for (int l = 0; k < end; ++k, ++l) partial[l] += product(k);
    for (int half = partials / 2; half > 0; half /= 2)
      for (int l = 0; l < half; ++l) partial[l] += partial[l + half];
    return partial[0];
  }
};

template <class Field>
struct PlacedRows {
  using device_type = typename Field::device_type;
  using T = typename Field::value_type;
  static constexpr bool last_index_fastest = true;
  index_t nodes;
  RowOperation operation;
  int group;  // as linear::spmv has it
  Field x, y;

  STRATA_FUNCTION void operator()(index_t block, index_t r, const auto& node_at, const auto& begins,
                                  const auto& entries, const auto& values) const {
    const index_t place = row_block * block + r;
    if (place >= nodes) return;
    const index_t i = node_at(place), begin = begins(block, r), end = begins(block, r + 1);
    T result = T(0);
    if (operation == RowOperation::Product) {
      using Row =
          PlacedRow<std::remove_cvref_t<decltype(entries)>, std::remove_cvref_t<decltype(values)>, Field>;
      result = Row{block, entries, values, x}.sum(begin, end, group);
    } else if (operation == RowOperation::Diagonal) {
      for (index_t k = begin; k < end; ++k)
        if (entries(block, k) == i) result = values(block, k);
    } else {
      for (index_t k = begin; k < end; ++k) {
        const T a = values(block, k);
        result += a < 0 ? -a : a;
      }
    }
    y(i) = result;
  }
};

/// What TrueResidual adds up: of each node b - A y and the sum of |a_ij y_j|, in double.
template <class Field, class Doubles>
struct PlacedResiduals {
  using device_type = typename Field::device_type;
  static constexpr bool last_index_fastest = true;
  index_t nodes;
  Field b, y;
  Doubles rest, magnitude;

  STRATA_FUNCTION void operator()(index_t block, index_t r, const auto& node_at, const auto& begins,
                                  const auto& entries, const auto& values) const {
    const index_t place = row_block * block + r;
    if (place >= nodes) return;
    const index_t i = node_at(place);
    double left = static_cast<double>(b(i)), sum = 0;
    for (index_t k = begins(block, r); k < begins(block, r + 1); ++k) {
      const double term = static_cast<double>(values(block, k)) *
                          static_cast<double>(y(static_cast<index_t>(entries(block, k))));
      left -= term;
      sum += term < 0 ? -term : term;
    }
    rest(i) = left;
    magnitude(i) = sum;
  }
};
/// And the sums over free nodes.
template <class Conditions, class Field, class Doubles>
struct SumOfResiduals {
  using device_type = typename Field::device_type;
  using value_type = ResidualSquares;
  Conditions conditions;
  Field b;
  Doubles rest, magnitude;

  STRATA_FUNCTION void operator()(index_t i, value_type& squares) const {
    if (conditions(i) != free_node) return;
    const auto own = static_cast<double>(b(i));
    join(squares, {rest(i) * rest(i), own * own, magnitude(i) * magnitude(i)});
  }
  STRATA_FUNCTION static void init(value_type& squares) { squares = {0, 0, 0}; }
  STRATA_FUNCTION static void join(value_type& squares, const value_type& other) {
    squares.residual += other.residual;
    squares.right_hand_side += other.right_hand_side;
    squares.magnitude += other.magnitude;
  }
};
template <class Conditions, class Field, class Doubles>
SumOfResiduals(Conditions, Field, Doubles, Doubles) -> SumOfResiduals<Conditions, Field, Doubles>;

/// GreatestCoupling.
template <class Conditions>
struct PlacedCoupling {
  using device_type = typename Conditions::device_type;
  using value_type = double;
  static constexpr bool any_order = true, last_index_fastest = true;
  index_t nodes;
  Conditions conditions;

  STRATA_FUNCTION void operator()(index_t block, index_t r, const auto& node_at, const auto& begins,
                                  const auto& entries, const auto& values, double& greatest) const {
    const index_t place = row_block * block + r;
    if (place >= nodes) return;
    const index_t i = node_at(place);
    if (conditions(i) != free_node) return;
    double diagonal = 0, most = 0;
    for (index_t k = begins(block, r); k < begins(block, r + 1); ++k) {
      const auto value = static_cast<double>(values(block, k));
      if (entries(block, k) == i) diagonal = value;
      else if (value > most) most = value;
    }
    join(greatest, most / diagonal);
  }
  STRATA_FUNCTION static void init(double& greatest) { greatest = 0; }
  STRATA_FUNCTION static void join(double& greatest, const double& other) {
    if (!(other <= greatest)) greatest = other;  // lets NaN through
  }
};

/// Integrals, of elements in the mesh's own order.
template <class Materials, class Field>
struct StreamedIntegrals {
  using device_type = typename Field::device_type;
  using value_type = HeatIntegrals;
  Materials materials;
  Field temperature, change;
  double beta, sink, rate;

  STRATA_FUNCTION void operator()(index_t e, const auto& nodes, const auto& coordinates, const auto& blocks,
                                  value_type& sum) const {
    using Arrays =
        ElementArrays<std::remove_cvref_t<decltype(nodes)>, std::remove_cvref_t<decltype(coordinates)>,
                      std::remove_cvref_t<decltype(blocks)>, Materials, Field>;
    Integrals<Arrays>{{nodes, coordinates, blocks, materials, temperature, change}, beta, sink, rate}(e, sum);
  }
  STRATA_FUNCTION static void init(value_type& sum) { Integrals<HasDevice>::init(sum); }
  STRATA_FUNCTION static void join(value_type& sum, const value_type& other) {
    Integrals<HasDevice>::join(sum, other);
  }

 private:
  struct HasDevice {
    using device_type = typename Field::device_type;
  };
};

}  // namespace strata::inline STRATA_ABI::thermal
