// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <utility>

#include <strata/devices/host/launch_costs.hpp>

namespace strata::inline STRATA_ABI::detail {

void LaunchCost::learn(index_t items, double ns) {
  constexpr double least = 1e-3;  // a cost of nothing could not rise
  const double now = std::max(ns / static_cast<double>(items), least);
  if (ns_an_item_ == unknown) ns_an_item_ = now;
  else if (now > ns_an_item_) ns_an_item_ = std::min(now, 4 * ns_an_item_);
  else ns_an_item_ += (now - ns_an_item_) / 4;
}

void LaunchCost::try_several(double ns, double alone_ns) {
  constexpr int most = 255;
  between_ = static_cast<std::uint16_t>(ns > alone_ns ? std::min(2 * between_ + 1, most) : between_ / 2);
  left_ = between_ > 1 ? between_ : 0;
}

bool LaunchCost::avoids_several() {
  if (left_ == 0) return false;
  --left_;
  return true;
}

LaunchCost& LaunchCosts::of(std::uintptr_t kernel, index_t items) {
  const auto size_class = static_cast<std::uintptr_t>(std::bit_width(static_cast<std::uint64_t>(items)) / 2);
  const std::uintptr_t key = kernel * 64 + size_class + 1;  // a class is 32 at most
  const auto hash = static_cast<std::uint64_t>(key) * 0x9e3779b97f4a7c15U;
  static_assert(std::has_single_bit(sets));
  std::array<Entry, ways>& set = table_[hash >> (64 - std::bit_width(sets - 1))];
  for (std::size_t way = 0; way < ways; ++way) {
    if (set[way].key != key) continue;
    if (way == 0) return set[0].cost;
    std::swap(set[way], set[way - 1]);
    return set[way - 1].cost;
  }
  set.back() = {key, {}};
  return set.back().cost;
}

int workers_worth(double cost_ns, double share_ns, int parts) {
  int runners = parts;
  for (int rounds = 2; runners > 1 && cost_ns < share_ns * runners; rounds *= 2)
    runners = workers_of_rounds(parts, rounds);
  return runners;
}

}  // namespace strata::inline STRATA_ABI::detail
