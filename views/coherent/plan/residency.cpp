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
  const auto known =
      std::find_if(residents_.begin(), residents_.end(), [&](const Resident& r) { return r.array == array; });
  if (known != residents_.end()) return *known;
  residents_.push_back({array, 0, 0, 0});
  return residents_.back();
}

index_t Residency::bytes(int array) const {
  for (const Resident& r : residents_)
    if (r.array == array) return r.bytes;
  return 0;
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
  forget_if_nothing(array);
}
void Residency::used(int array) { of(array).last_use = ++uses_; }
void Residency::pin(int array) { ++of(array).pins; }
void Residency::unpin(int array) {
  Resident& resident = of(array);
  if (resident.pins > 0) --resident.pins;
  forget_if_nothing(array);
}
void Residency::forget_if_nothing(int array) {
  std::erase_if(residents_,
                [&](const Resident& r) { return r.array == array && r.bytes == 0 && r.pins == 0; });
}

std::vector<Residency::Resident> Residency::residents() const {
  std::vector<Resident> all = residents_;
  std::erase_if(all, [](const Resident& r) { return r.bytes == 0; });
  std::sort(all.begin(), all.end(), [](const Resident& a, const Resident& b) { return a.bytes > b.bytes; });
  return all;
}

}  // namespace strata::inline STRATA_ABI::detail
