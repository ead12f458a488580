// How the rows of a sparse matrix are summed, and which thread sums which.
//
// One thread a row, in the order of row_sum.hpp.
//
// Hosts cut the rows into one piece for each thread, of equal numbers of entries (plus a charge for each row)
// rather than of rows. A single row is not split. GPUs give a row to a group of 1 to 32 neighbouring threads,
// by the average length of the rows; their sums are joined by shuffles. The choice is linear::row_group(): a
// kernel for teams would take its place there for matrices with a few very long rows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/launch_hints.hpp>
#include <strata/algorithms/linear/row_sum.hpp>
#include <strata/algorithms/linear/scalar.hpp>
#include <strata/algorithms/parallel_for.hpp>
#include <strata/devices/host/tasks.hpp>

namespace strata::inline STRATA_ABI::detail {

// Tuning numbers.

/// The cost of a row besides its entries, in entries.
inline constexpr index_t row_charge = 2;
/// Entries that a thread of a group loads at a time: a row of that length has all its loads in flight
/// together, columns and coefficients first and then the elements of x. With 8, nvcc 13.0 has enough
/// registers in float only: in double each entry's loads then wait for those before.
inline constexpr int entries_in_flight = 7;
/// Threads of a block: larger ones are slower by up to 6 %.
inline constexpr int group_block = 128;

/// A matrix and the vector that it is multiplied with, as kernels hold them.
template <class Matrix, class X>
struct CrsRows {
  using T = typename Matrix::value_type;
  using Ordinal = typename Matrix::graph_type::entries_type::value_type;
  typename Matrix::graph_type::row_map_type row_map;
  typename Matrix::graph_type::entries_type entries;
  typename Matrix::values_type values;
  X x;

  CrsRows(const Matrix& matrix, const X& vector)
      : row_map(matrix.graph().row_map()),
        entries(matrix.graph().entries()),
        values(matrix.values()),
        x(vector) {}

  /// (A x)(i)
  STRATA_FUNCTION T row(index_t i) const { return linear::sum_of_row<T>(*this, begin(i), end(i)); }
  STRATA_FUNCTION T product(index_t k) const { return values(k) * x(static_cast<index_t>(entries(k))); }

  // For SpmvGroupKernel: the entries [begin, end) of row i.
  STRATA_FUNCTION index_t begin(index_t i) const { return row_map(i); }
  STRATA_FUNCTION index_t end(index_t i) const { return row_map(i + 1); }
  STRATA_FUNCTION Ordinal column(index_t, index_t k) const { return entries(k); }
  STRATA_FUNCTION T value(index_t, index_t k) const { return values(k); }
};

/// y(i) = a (A x)(i) + b y(i)
template <class Rows, class A, class B, class Y>
struct SpmvKernel {
  using device_type = typename Y::device_type;
  using rows_type = Rows;
  Rows rows;
  A a;
  B b;
  Y y;

  STRATA_FUNCTION void operator()(index_t i) const { finish(i, rows.row(i)); }

  STRATA_FUNCTION void finish(index_t i, typename Rows::T sum) const {
    if constexpr (!std::is_same_v<A, OneScalar>) sum = a.get() * sum;
    if constexpr (std::is_same_v<B, ZeroScalar>) y(i) = sum;
    else if constexpr (std::is_same_v<B, OneScalar>) y(i) += sum;
    else y(i) = sum + b.get() * y(i);
  }
};

/// The same by groups of `Group` threads, of rows that are stored as in CrsRows or otherwise: item i is
/// thread i % Group of row i / Group. A GPU gives consecutive items to consecutive threads; elsewhere the
/// first item of a row does it all.
template <class Kernel, int Group>
struct SpmvGroupKernel {
  using device_type = typename Kernel::device_type;
  static_assert(Group >= 1 && Group <= 32 && (Group & (Group - 1)) == 0);
  Kernel kernel;

  STRATA_FUNCTION void operator()(index_t item) const {
    const index_t i = item / Group;
    const int lane = static_cast<int>(item % Group);
#if defined(__CUDA_ARCH__)
    const typename Kernel::rows_type& rows = kernel.rows;
    using T = decltype(rows.row(i));
    constexpr int count = entries_in_flight;
    const index_t end = rows.end(i);
    T sum = T(0);
    for (index_t k = rows.begin(i) + lane; k < end; k += index_t{Group} * count) {
      // A row is assumed to have fewer than 2^31 entries; with 64-bit counts the loads are serialised.
      const int left = static_cast<int>(end - k);
      typename Kernel::rows_type::Ordinal column[count];
      T value[count], x[count];
#pragma unroll
      for (int j = 0; j < count; ++j)
        if (j * Group < left)
          column[j] = rows.column(i, k + j * Group), value[j] = rows.value(i, k + j * Group);
#pragma unroll
      for (int j = 0; j < count; ++j)
        if (j * Group < left) x[j] = rows.x(static_cast<index_t>(column[j]));
#pragma unroll
      for (int j = 0; j < count; ++j)
        if (j * Group < left) sum += value[j] * x[j];
    }
    const unsigned all = Group == 32 ? ~0u : ((1u << (Group % 32)) - 1) << (threadIdx.x % 32 / Group * Group);
    for (int half = Group / 2; half > 0; half /= 2) sum += __shfl_down_sync(all, sum, half, Group);
    if (lane == 0) kernel.finish(i, sum);
#else
    if (lane == 0) kernel(i);
#endif
  }
};

/// The first row of piece `piece` of `pieces` of about equal cost.
template <class RowMap>
index_t first_row_of(const RowMap& row_map, index_t rows, index_t piece, index_t pieces) {
  if (piece == pieces) return rows;
  const auto cost = [&](index_t i) {
    return static_cast<double>(row_map(i)) + static_cast<double>(row_charge) * static_cast<double>(i);
  };
  const double wanted = cost(rows) * static_cast<double>(piece) / static_cast<double>(pieces);
  index_t low = 0, high = rows;
  while (low < high) {
    const index_t middle = low + (high - low) / 2;
    if (cost(middle) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/// Work of host threads: calls the kernel for every row; each thread has its share of the entries, in pieces
/// of which others may take some.
template <class Kernel>
struct BalancedRows {
  static constexpr bool waits = false;
  Kernel kernel;
  index_t rows;

  void operator()(const Runner& runner) const {
    constexpr index_t pieces_a_worker = 16;  // a power of two: shares do not depend on it
    const Context context{*this, pieces_a_worker * runner.workers, current_check};
    const auto piece = [](const void* raw, index_t begin, index_t end, int) {
      const Context& c = *static_cast<const Context*>(raw);
      const PieceCheck scope(c.check);
      const auto& row_map = c.work.kernel.rows.row_map;
      run_rows(c.work.kernel, first_row_of(row_map, c.work.rows, begin, c.pieces),
               first_row_of(row_map, c.work.rows, end, c.pieces));
    };
    const auto entries = static_cast<index_t>(kernel.rows.row_map(rows));
    runner.run(runner.context, ChunkRange{0, context.pieces, 0, 1, Schedule::Static},
               {piece, &context, 0, entries + row_charge * rows});
  }

 private:
  struct Context {
    const BalancedRows& work;
    index_t pieces;
    CheckRecord* check;
  };
  // A copy whose address does not escape stays in registers.
  static void run_rows(const Kernel kernel, index_t begin, index_t end) {
    STRATA_INDEPENDENT_ITEMS
    for (index_t i = begin; i < end; ++i) kernel(i);
  }
};

template <int Group, class Where, class Kernel>
void launch_row_groups(const char* label, const Where& where, index_t rows, int group, const Kernel& kernel) {
  if constexpr (Group > 32) static_cast<void>(label);
  else if (group == Group)
    launch_for(label, where, block_size(group_block, rows * Group), SpmvGroupKernel<Kernel, Group>{kernel});
  else launch_row_groups<2 * Group>(label, where, rows, group, kernel);
}

/// Calls `kernel` (an SpmvKernel) for every row of a matrix with `entries` entries.
template <class Where, class Kernel>
void launch_rows(const char* label, const Where& where, index_t rows, index_t entries, const Kernel& kernel) {
  using D = typename DeviceFor<Where, Kernel>::type;
  static_assert(check_kernel<Where, Kernel>());
  if constexpr (requires(const LaunchInfo& info, const BalancedRows<Kernel>& work) {
                  D::execution::call(info, work, rows);
                }) {
    Capture views = make_capture<D>();
    CaptureScope scope(views);
    const BalancedRows<Kernel> work{kernel, rows};
    scope.end();
    D::execution::call(make_info<D>(label, where, views, typeid(FunctorOf<Kernel>).name()), work, rows);
  } else {
#if defined(__CUDACC__)
    if (const int group = linear::row_group(rows, entries); group > 1)
      return launch_row_groups<2>(label, where, rows, group, kernel);
#endif
    static_cast<void>(entries);
    launch_for(label, where, rows, kernel);
  }
}

}  // namespace strata::inline STRATA_ABI::detail
