// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include <strata/algorithms/tasks/plan/clean_first_order.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

namespace {
constexpr long step = long{1} << 24;  // between labels: as many halvings before all are given anew
}  // namespace

void CleanFirstOrder::start(const SchedulerView& view) {
  memory_ = &view.memory;
  graph_ = &view.graph;
  const std::size_t devices = static_cast<std::size_t>(view.machine.num_devices());
  orders_.assign(devices, {});
  last_labels_.assign(devices, 0);
  places_.assign(static_cast<std::size_t>(view.graph.num_arrays()) * devices, {});
  entries_.assign(4 * devices, {});
  index_t bytes = 0;
  for (ArrayId array = 0; array < view.graph.num_arrays(); ++array) bytes += view.graph.array(array).bytes;
  is_ordered_.clear();
  for (DeviceId device = 0; device < view.machine.num_devices(); ++device)
    is_ordered_.push_back(bytes > view.memory.capacity(device));
}

void CleanFirstOrder::insert(ArrayId array, DeviceId device, Kind kind) {
  remove(array, device);
  const long label = last_labels_[static_cast<std::size_t>(device)] += step;
  places_[at(array, device)] = {true, kind, label, order(device).insert(order(device).end(), array)};
  if (is_ordered(device)) entries(device, kind).insert({label, array});
}

void CleanFirstOrder::remove(ArrayId array, DeviceId device) {
  Place& place = places_[at(array, device)];
  if (!place.is_there) return;
  if (is_ordered(device)) entries(device, place.kind).erase({place.label, array});
  order(device).erase(place.at);
  place.is_there = false;
}

void CleanFirstOrder::use(ArrayId array, DeviceId device) {
  const Place& place = places_[at(array, device)];
  if (!place.is_there) return;
  order(device).splice(order(device).end(), order(device), place.at);
  relabel(array, device, last_labels_[static_cast<std::size_t>(device)] += step);
}

void CleanFirstOrder::set_kind(ArrayId array, DeviceId device, Kind kind) {
  Place& place = places_[at(array, device)];
  if (!place.is_there || number_of(device, place.kind) == number_of(device, kind)) return;
  if (is_ordered(device))
    entries(device, kind).insert(entries(device, place.kind).extract({place.label, array}));
  place.kind = kind;
}

void CleanFirstOrder::put_before_dirty(ArrayId array, DeviceId device) {
  const Place& place = places_[at(array, device)];
  if (!place.is_there) return;
  std::list<ArrayId>& order = this->order(device);
  const auto next = std::find_if(order.begin(), order.end(),
                                 [&](ArrayId other) { return other != array && memory_->is_dirty(other); });
  order.splice(next, order, place.at);
  if (next == order.end()) {
    relabel(array, device, last_labels_[static_cast<std::size_t>(device)] += step);
    return;
  }
  const auto label_of = [&](std::list<ArrayId>::iterator of) { return places_[at(*of, device)].label; };
  const long after = place.at == order.begin() ? label_of(next) - step : label_of(std::prev(place.at));
  const long label = after + (label_of(next) - after) / 2;
  if (label > after) relabel(array, device, label);
  else relabel_all(device);
}

void CleanFirstOrder::relabel(ArrayId array, DeviceId device, long label) {
  Place& place = places_[at(array, device)];
  if (!is_ordered(device)) {
    place.label = label;
    return;
  }
  Entries& entries = this->entries(device, place.kind);
  auto node = entries.extract({place.label, array});
  place.label = node.value().label = label;
  entries.insert(std::move(node));
}

void CleanFirstOrder::relabel_all(DeviceId device) {
  for (std::size_t kind = 0; kind < 4; ++kind) entries_[4 * static_cast<std::size_t>(device) + kind].clear();
  long& last = last_labels_[static_cast<std::size_t>(device)] = 0;
  for (const ArrayId array : order(device)) {
    Place& place = places_[at(array, device)];
    place.label = last += step;
    if (is_ordered(device)) entries(device, place.kind).insert({place.label, array});
  }
}

void CleanFirstOrder::victims(const RoomRequest& request, std::vector<ArrayId>& chosen) const {
  index_t bytes = 0;
  const auto add = [&](ArrayId array) {
    if (!memory_->is_evictable(array, request.device)) return;
    chosen.push_back(array);
    bytes += graph_->array(array).bytes;
  };
  if (!is_ordered(request.device))
    for (const bool is_dirty : {false, true})
      for (const ArrayId array : arrays(request.device)) {
        if (bytes >= request.bytes) break;
        const Kind kind = places_[at(array, request.device)].kind;
        if (kind.is_dirty == is_dirty && !(kind.is_kept && request.is_prefetch)) add(array);
      }
  for (const bool is_dirty : {false, true}) {
    const Entries& loose = entries(request.device, {is_dirty, false});
    const Entries& kept = entries(request.device, {is_dirty, true});
    auto a = loose.begin(), b = request.is_prefetch ? kept.end() : kept.begin();
    while (bytes < request.bytes && (a != loose.end() || b != kept.end())) {
      const bool is_loose = b == kept.end() || (a != loose.end() && *a < *b);
      add((is_loose ? a++ : b++)->array);
    }
  }
  if (request.is_prefetch && bytes < request.bytes) chosen.clear();
}

}  // namespace strata::inline STRATA_ABI::tasks::detail
