// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include <strata/algorithms/parallel_for.hpp>
#include <strata/devices/threads/device.hpp>
#include <strata/miniapps/common/report.hpp>
#include <strata/miniapps/factorize/elements.hpp>

namespace strata::inline STRATA_ABI::factorize {

namespace {

constexpr index_t block = 256;   // of rows or columns that one work item adds up
constexpr index_t chunk = 2048;  // of elements that are read at once

// Calls f(k) for all k below `count`, on all threads.
template <class F>
void in_parallel(const char* label, index_t count, const F& f) {
  parallel_for(label, on(Threads{}), count, [&f](index_t k) { f(k); });
}

index_t blocks_of(index_t count) { return (count + block - 1) / block; }

// As an element of T.
template <class T>
double rounded(double value) {
  return static_cast<double>(static_cast<T>(value));
}

}  // namespace

Vectors random_vectors(index_t rows, index_t columns, index_t seed) {
  const auto input = make_generated(false, rows, seed);
  Vectors v(rows, columns);
  for (index_t i = 0; i < rows; ++i) input->read(i, 0, columns, &v(i, 0));
  return v;
}

double norm_of(const Vectors& v, index_t column) {
  double sum = 0;
  for (index_t i = 0; i < v.rows; ++i) sum += v(i, column) * v(i, column);
  return std::sqrt(sum);
}

Vectors difference(const Vectors& a, const Vectors& b) {
  Vectors d = a;
  for (std::size_t k = 0; k < d.values.size(); ++k) d.values[k] -= b.values[k];
  return d;
}

template <class T>
void fill(const TiledMatrix<T>& a, const MatrixInput& input, const std::function<void(index_t)>& done) {
  constexpr index_t none = std::numeric_limits<index_t>::max();
  std::atomic<index_t> bad = none;  // the first element that is no number
  index_t count = 0;
  for (index_t i = 0; i < a.tile_rows(); ++i)
    for (index_t j = 0; j < (a.is_symmetric() ? i + 1 : a.tile_columns()); ++j) {
      const auto& tile = a.tile(i, j);
      const auto view = tile.write();
      const index_t row = i * a.tile_order(), column = j * a.tile_order(), columns = tile.extent(1);
      in_parallel("fill", tile.extent(0), [&](index_t r) {
        double values[chunk];
        for (index_t first = 0; first < columns; first += chunk) {
          const index_t length = std::min(chunk, columns - first);
          input.read(row + r, column + first, length, values);
          for (index_t k = 0; k < length; ++k) {
            const index_t c = first + k;
            const bool counts = !a.is_symmetric() || j < i || c <= r;
            const T value = counts ? static_cast<T>(values[k]) : T(0);
            view(r, c) = value;
            if (std::isfinite(value)) continue;
            const index_t place = (row + r) * input.columns() + column + c;
            for (index_t known = bad; place < known && !bad.compare_exchange_weak(known, place);) {
            }
          }
        }
      });
      if (bad != none) {
        const index_t r = bad / input.columns(), c = bad % input.columns();
        double value = 0;
        input.read(r, c, 1, &value);
        throw InputError(input.text() + ": the element in row " + std::to_string(r) + " and column " +
                         std::to_string(c) + " (from 0 on) is " + miniapp::number_text(value) +
                         (std::isfinite(value) ? ", too large for float: take --type double"
                                               : ": finite numbers are needed"));
      }
      done(++count);
    }
}

namespace {

// Of each row the columns that count.
struct Columns {
  index_t begin, end;
};

// y += the elements of all rows times v; `squares`: sums over rows, in which elements off the diagonal count
// twice where they have mirror images.
template <class T, class Range>
void add_rows(const MatrixInput& input, bool is_mirrored, const Range& range, const Vectors& v, Vectors& y,
              std::vector<double>* squares) {
  in_parallel("multiply rows", input.order(), [&](index_t i) {
    double values[chunk], square = 0;
    const Columns columns = range(i);
    for (index_t first = columns.begin; first < columns.end; first += chunk) {
      const index_t length = std::min(chunk, columns.end - first);
      input.read(i, first, length, values);
      for (index_t k = 0; k < length; ++k) {
        const double value = rounded<T>(values[k]);
        const double weight = is_mirrored && first + k != i ? 2 : 1;
        square += weight * value * value;
        for (index_t c = 0; c < v.columns; ++c) y(i, c) += value * v(first + k, c);
      }
    }
    if (squares != nullptr) (*squares)[static_cast<std::size_t>(i)] = square;
  });
}

// y += the transpose of the elements of all rows times v.
template <class T, class Range>
void add_columns(const MatrixInput& input, const Range& range, const Vectors& v, Vectors& y) {
  in_parallel("multiply columns", blocks_of(input.columns()), [&](index_t b) {
    double values[block];
    for (index_t i = 0; i < input.order(); ++i) {
      const Columns columns = range(i);
      const index_t first = std::max(b * block, columns.begin);
      const index_t length = std::min((b + 1) * block, columns.end) - first;
      if (length <= 0) continue;
      input.read(i, first, length, values);
      for (index_t k = 0; k < length; ++k)
        for (index_t c = 0; c < v.columns; ++c) y(first + k, c) += rounded<T>(values[k]) * v(i, c);
    }
  });
}

}  // namespace

template <class T>
Vectors multiply(const MatrixInput& input, InputPart part, bool transpose, const Vectors& v, double* norm) {
  const index_t n = input.order(), columns = input.columns();
  const bool is_unit = part == InputPart::UnitLower || part == InputPart::UnitUpper;
  const auto range = [&](index_t i) -> Columns {
    switch (part) {
      case InputPart::All:
        break;
      case InputPart::Symmetric:
      case InputPart::Lower:
        return {0, i + 1};
      case InputPart::Upper:
        return {i, columns};
      case InputPart::UnitLower:
        return {0, i};
      case InputPart::UnitUpper:
        return {i + 1, columns};
    }
    return {0, columns};
  };
  Vectors y(transpose ? columns : n, v.columns);
  if (is_unit) y = v;
  std::vector<double> squares(static_cast<std::size_t>(norm != nullptr ? n : 0));
  std::vector<double>* const sums = norm != nullptr ? &squares : nullptr;
  if (part == InputPart::Symmetric) {
    add_rows<T>(input, true, range, v, y, sums);
    add_columns<T>(
        input,
        [](index_t i) {
          return Columns{0, i};
        },
        v, y);
  } else if (transpose) {
    add_columns<T>(input, range, v, y);
    if (sums != nullptr) add_rows<T>(input, false, range, Vectors(columns, 0), y, sums);
  } else {
    add_rows<T>(input, false, range, v, y, sums);
  }
  if (norm != nullptr) {
    double sum = is_unit ? static_cast<double>(n) : 0;
    for (const double square : squares) sum += square;
    *norm = std::sqrt(sum);
  }
  return y;
}

template <class T>
Vectors multiply(const TiledMatrix<T>& a, TilePart part, const Vectors& v) {
  const bool is_lower = part != TilePart::All && part != TilePart::AllTransposed;
  const bool is_transposed = part == TilePart::AllTransposed || part == TilePart::LowerTransposed;
  const bool goes_down = !is_transposed;
  const bool goes_up = is_transposed || part == TilePart::Symmetric;
  Vectors y(is_transposed ? a.columns() : a.rows(), v.columns);
  for (index_t i = 0; i < a.tile_rows(); ++i)
    for (index_t j = 0; j < (is_lower ? i + 1 : a.tile_columns()); ++j) {
      const auto& tile = a.tile(i, j);
      const auto view = tile.read();
      const index_t row = i * a.tile_order(), column = j * a.tile_order();
      const index_t rows = tile.extent(0), columns = tile.extent(1);
      const bool is_diagonal = is_lower && i == j;
      if (goes_down)
        in_parallel("multiply tile", rows, [&](index_t r) {
          const index_t end = is_diagonal ? r + 1 : columns;
          for (index_t k = 0; k < end; ++k)
            for (index_t c = 0; c < v.columns; ++c)
              y(row + r, c) += static_cast<double>(view(r, k)) * v(column + k, c);
        });
      // The diagonal itself counts once.
      const index_t above = part == TilePart::Symmetric ? 1 : 0;
      if (goes_up)
        in_parallel("multiply transposed tile", blocks_of(columns), [&](index_t b) {
          for (index_t r = 0; r < rows; ++r) {
            const index_t last = is_diagonal ? std::min(columns, r + 1 - above) : columns;
            const index_t end = std::min(last, (b + 1) * block);
            for (index_t k = b * block; k < end; ++k)
              for (index_t c = 0; c < v.columns; ++c)
                y(column + k, c) += static_cast<double>(view(r, k)) * v(row + r, c);
          }
        });
    }
  return y;
}

template <class T>
void set(const TiledMatrix<T>& to, const Vectors& from) {
  to.fill([&](index_t i, index_t c) { return from(i, c); });
}

template <class T>
Vectors values_of(const TiledMatrix<T>& from) {
  Vectors values(from.rows(), from.columns());
  from.read([&](index_t i, index_t c, T value) { values(i, c) = static_cast<double>(value); });
  return values;
}

#define STRATA_FACTORIZE_ELEMENTS(T)                                                                  \
  template void fill(const TiledMatrix<T>&, const MatrixInput&, const std::function<void(index_t)>&); \
  template Vectors multiply<T>(const MatrixInput&, InputPart, bool, const Vectors&, double*);         \
  template Vectors multiply(const TiledMatrix<T>&, TilePart, const Vectors&);                         \
  template void set(const TiledMatrix<T>&, const Vectors&);                                           \
  template Vectors values_of(const TiledMatrix<T>&);
STRATA_FACTORIZE_ELEMENTS(float)
STRATA_FACTORIZE_ELEMENTS(double)
#undef STRATA_FACTORIZE_ELEMENTS

}  // namespace strata::inline STRATA_ABI::factorize
