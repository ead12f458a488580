// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>

#include <strata/miniapps/factorize/matrix_input.hpp>

namespace strata::inline STRATA_ABI::factorize {

namespace {

// The finalizer of splitmix64 (Steele, Lea, Flood 2014).
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

double diagonal_of_spd(index_t order) { return 1 + std::ceil(2 * std::sqrt(static_cast<double>(order))); }

class GeneratedMatrix final : public MatrixInput {
 public:
  // All elements of spd are divided by `divisor`.
  GeneratedMatrix(bool is_spd, index_t rows, index_t columns, index_t seed, index_t divisor = 1)
      : MatrixInput(rows, columns,
                    (is_spd ? "spd" : "random") + (divisor > 1 ? " / " + std::to_string(divisor) : "") +
                        ", seed " + std::to_string(seed)),
        is_spd_(is_spd),
        key_(mixed(static_cast<std::uint64_t>(seed) + 0x9e3779b97f4a7c15U)),
        factor_(1 / static_cast<double>(divisor)) {}

  void read(index_t row, index_t first, index_t count, double* values) const override {
    const index_t split = is_spd_ ? std::clamp<index_t>(row + 1 - first, 0, count) : count;
    for (index_t k = 0; k < split; ++k) values[k] = entry(row, first + k);
    for (index_t k = split; k < count; ++k) values[k] = entry(first + k, row);
    if (is_spd_ && row >= first && row < first + count) values[row - first] = diagonal_of_spd(order_);
    for (index_t k = 0; factor_ != 1 && k < count; ++k) values[k] *= factor_;
  }
  void require_symmetric() const override {
    if (!is_spd_) throw InputError("--input random is not symmetric: take --input spd");
  }

 private:
  double entry(index_t i, index_t j) const {
    const std::uint64_t place = static_cast<std::uint64_t>(i) << 32 | static_cast<std::uint64_t>(j);
    return static_cast<double>(static_cast<std::int64_t>(mixed(key_ + place * 0x9e3779b97f4a7c15U) >> 40)) /
               (1 << 23) -
           1;
  }

  bool is_spd_;
  std::uint64_t key_;
  double factor_;  // a power of two
};

}  // namespace

std::unique_ptr<MatrixInput> make_generated(bool is_spd, index_t order, index_t seed) {
  return std::make_unique<GeneratedMatrix>(is_spd, order, order, seed);
}
std::unique_ptr<MatrixInput> make_scaled_spd(index_t order, index_t seed) {
  index_t divisor = 1;
  while (static_cast<double>(divisor) < diagonal_of_spd(order)) divisor *= 2;
  return std::make_unique<GeneratedMatrix>(true, order, order, seed, divisor);
}
std::unique_ptr<MatrixInput> make_random(index_t rows, index_t columns, index_t seed) {
  return std::make_unique<GeneratedMatrix>(false, rows, columns, seed);
}

std::unique_ptr<MatrixInput> make_input(const FactorizeRequest& request) {
  if (request.input == "spd" && request.system.unit_diagonal)
    return make_scaled_spd(request.order, request.seed);
  if (request.input == "spd" || request.input == "random")
    return make_generated(request.input == "spd", request.order, request.seed);
  if (request.input == "thermal") return make_thermal(request.mesh);
  if (is_matrix_market(request.input)) return make_matrix_market(request.input);
  return make_raw(request.input, request.is_double);
}

}  // namespace strata::inline STRATA_ABI::factorize
