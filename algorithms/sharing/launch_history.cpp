// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <strata/algorithms/sharing/launch_history.hpp>

namespace strata::inline STRATA_ABI::detail::sharing {

double Recent::value() const {
  if (count_ == 0) return 0;
  if (count_ < 3) return *std::min_element(last_, last_ + count_);
  return std::max(std::min(last_[0], last_[1]), std::min(std::max(last_[0], last_[1]), last_[2]));
}

void LaunchRecord::Factor::note(double foretold, double took) {
  if (!(foretold > 0) || !(took > 0)) return;
  constexpr double most = 1e6;
  recent_.add(std::clamp(took / foretold, 1 / most, most));
}

void LaunchRecord::Took::note(index_t items, double seconds) {
  if (items <= 0 || !(seconds > 0)) return;
  if (this->seconds(items) == 0) for_an_item_ = {};
  items_ = items;
  for_an_item_.add(seconds / static_cast<double>(items));
}

double LaunchRecord::Took::seconds(index_t items) const {
  const bool is_near = items_ > 0 && items >= items_ - items_ / 8 && items <= items_ + items_ / 8;
  return is_near ? for_an_item_.value() * static_cast<double>(items) : 0;
}

LaunchHistory& LaunchHistory::get() {
  static LaunchHistory* const history = new LaunchHistory;  // launches may come until the process ends
  return *history;
}

LaunchRecord LaunchHistory::find(std::uint64_t launch, std::size_t devices) {
  {
    const std::lock_guard lock(mutex_);
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry)
      if (entry->launch == launch && entry->record.devices.size() == devices) {
        entries_.splice(entries_.begin(), entries_, entry);
        return entries_.front().record;
      }
  }
  LaunchRecord record;
  record.devices.resize(devices);
  record.alone.resize(devices);
  record.alone_took.resize(devices);
  return record;
}

void LaunchHistory::keep(std::uint64_t launch, LaunchRecord record) {
  const std::lock_guard lock(mutex_);
  const auto known = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.launch == launch; });
  if (known != entries_.end()) {
    known->record = static_cast<LaunchRecord&&>(record);
    return;
  }
  entries_.push_front({launch, static_cast<LaunchRecord&&>(record)});
  if (entries_.size() > most) entries_.pop_back();
}

void LaunchHistory::clear() {
  const std::lock_guard lock(mutex_);
  entries_.clear();
}

}  // namespace strata::inline STRATA_ABI::detail::sharing
