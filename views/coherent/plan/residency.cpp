// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <tuple>

#include <strata/views/coherent/plan/residency.hpp>

namespace strata::inline STRATA_ABI::detail {

bool Residency::choose(index_t more, std::vector<Candidate>& candidates, std::vector<int>& victims) const {
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::tuple(!a.is_clean, a.last_use) < std::tuple(!b.is_clean, b.last_use);
  });
  index_t left = bytes_;
  std::vector<int> chosen;
  for (auto next = candidates.begin(); left > budget_ - more && next != candidates.end(); ++next) {
    left -= next->bytes;
    chosen.push_back(next->array);
  }
  if (left > budget_ - more) return false;
  victims.insert(victims.end(), chosen.begin(), chosen.end());
  return true;
}

Residency::Resident& Residency::of(int array) {
  for (int next = static_cast<int>(arrays_.size()); next <= array; ++next) arrays_.push_back({next, 0, 0, 0});
  return arrays_[static_cast<std::size_t>(array)];
}

index_t Residency::bytes(int array) const {
  const auto place = static_cast<std::size_t>(array);
  return place < arrays_.size() ? arrays_[place].bytes : 0;
}

void Residency::grown(int array, index_t more) {
  of(array).bytes += more;
  bytes_ += more;
  used(array);
}
void Residency::dropped(int array) {
  Resident& resident = of(array);
  bytes_ -= resident.bytes;
  resident.bytes = 0;
}
void Residency::used(int array) { of(array).last_use = ++uses_; }
void Residency::pin(int array) { ++of(array).pins; }
void Residency::unpin(int array) {
  Resident& resident = of(array);
  if (resident.pins > 0) --resident.pins;
}

std::vector<Residency::Resident> Residency::residents() const {
  std::vector<Resident> all = arrays_;
  std::erase_if(all, [](const Resident& r) { return r.bytes == 0; });
  std::sort(all.begin(), all.end(), [](const Resident& a, const Resident& b) { return a.bytes > b.bytes; });
  return all;
}

}  // namespace strata::inline STRATA_ABI::detail
