// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <strata/devices/cuda/memory/managed_heap.hpp>
#include <strata/devices/cuda/memory/page_advice.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

std::size_t runs_up_to(std::size_t byte) { return (byte + managed_run - 1) / managed_run; }

}  // namespace

PageAdvice::PageAdvice(std::size_t bytes) : bytes_(bytes), runs_(runs_up_to(bytes)) {}

PageAdvice::Runs PageAdvice::within(std::size_t begin, std::size_t end) const {
  // The last run belongs to the block, beyond its last byte too.
  return {runs_up_to(begin), end >= bytes_ ? runs_.size() : end / managed_run};
}
PageAdvice::Runs PageAdvice::touched(std::size_t begin, std::size_t end) {
  return {begin / managed_run, begin < end ? runs_up_to(end) : begin / managed_run};
}

void PageAdvice::set(Runs runs, std::uint8_t mask, std::uint8_t value, AdviceCall::Kind kind, int gpu,
                     std::vector<AdviceCall>& calls) {
  const std::size_t last = std::min(runs.last, runs_.size());
  for (std::size_t k = runs.first; k < last; ++k) {
    if ((runs_[k] & mask) == value) continue;
    const std::size_t first = k;
    for (; k < last && (runs_[k] & mask) != value; ++k)
      runs_[k] = static_cast<std::uint8_t>((runs_[k] & ~mask) | value);
    const std::size_t begin = first * managed_run;
    calls.push_back({kind, begin, k * managed_run - begin, gpu});
  }
}

void PageAdvice::read_by_many(std::size_t begin, std::size_t end, std::vector<AdviceCall>& calls) {
  set(within(begin, end), read_mostly, read_mostly, AdviceCall::Kind::ReadMostly, 0, calls);
}
void PageAdvice::written(std::size_t begin, std::size_t end, std::vector<AdviceCall>& calls) {
  set(touched(begin, end), read_mostly, 0, AdviceCall::Kind::NotReadMostly, 0, calls);
}
void PageAdvice::at_home(std::size_t begin, std::size_t end, int gpu, std::vector<AdviceCall>& calls) {
  set(within(begin, end), home, static_cast<std::uint8_t>(gpu + 1), AdviceCall::Kind::PreferHere, gpu, calls);
}

void PageAdvice::reached_from(std::size_t begin, std::size_t end, int gpu, std::vector<AdviceCall>& calls) {
  reached_.resize(runs_.size());
  const std::uint64_t bit = std::uint64_t{1} << gpu;
  const Runs runs = touched(begin, end);
  const std::size_t last = std::min(runs.last, runs_.size());
  for (std::size_t k = runs.first; k < last; ++k) {
    const std::size_t first = k;
    for (; k < last && (reached_[k] & bit) == 0; ++k) reached_[k] |= bit;
    if (k == first) continue;
    const std::size_t at = first * managed_run;
    calls.push_back({AdviceCall::Kind::ReachFromHere, at, k * managed_run - at, gpu});
  }
}

std::uint64_t PageAdvice::reaching() const {
  std::uint64_t all = 0;
  for (const std::uint64_t gpus : reached_) all |= gpus;
  return all;
}

}  // namespace strata::inline STRATA_ABI::detail
