#include <limits>

#include <strata/views/coherent/copy_planner.hpp>

namespace strata::inline STRATA_ABI::detail {

void CopyPlanner::read(int array, const Directory& directory, index_t element_bytes, MemoryId memory,
                       const Box& box) {
  // The usual case costs no more than this.
  if (directory.holds(memory, box)) return;
  RegionMap<Holders>& map = holders(array, directory);
  // Parts that come the same way are copied together where they make a box.
  std::map<std::pair<bool, MemoryId>, std::vector<Box>> ways;
  map.visit(box, [&](const Box& part, const Holders& at) {
    if (at.planned.empty() || at.planned.contains(memory)) return;
    const double bytes = static_cast<double>(part.size()) * static_cast<double>(element_bytes);
    const Way way = choose(at, memory, bytes);
    ways[{way.through_host, way.from}].push_back(part);
  });
  for (auto& [way, region] : ways) {
    merge(region);
    for (const Box& part : region) {
      if (way.first) add(array, part, way.second, host_memory);
      add(array, part, way.first ? host_memory : way.second, memory);
    }
  }
}

RegionMap<CopyPlanner::Holders>& CopyPlanner::holders(int array, const Directory& directory) {
  const auto known = holders_.find(array);
  if (known != holders_.end()) return known->second;
  RegionMap<Holders> map(directory.domain(), Holders{});
  directory.map().visit(directory.domain(), [&](const Box& part, MemorySet memories) {
    map.assign(part, Holders{memories, memories});
  });
  return holders_.emplace(array, std::move(map)).first->second;
}

CopyPlanner::Way CopyPlanner::choose(const Holders& holders, MemoryId to, double bytes) const {
  // The host has what went through it for another device, whatever the rules of broadcasts.
  MemorySet sources = broadcast_ == Broadcast::Yes ? holders.planned : holders.before;
  if (holders.planned.contains(host_memory)) sources = sources.with(host_memory);
  Way best{host_memory, false};
  double least = std::numeric_limits<double>::infinity();
  const auto offer = [&](double seconds, Way way) {
    if (seconds < least) {
      least = seconds;
      best = way;
    }
  };
  sources.visit([&](MemoryId from) {
    if (links_->joins(from, to)) offer(links_->seconds(from, to, bytes), {from, false});
  });
  if (least == std::numeric_limits<double>::infinity())
    sources.visit([&](MemoryId from) {
      if (from != host_memory) offer(links_->seconds(from, host_memory, bytes), {from, true});
    });
  return best;
}

void CopyPlanner::add(int array, const Box& box, MemoryId from, MemoryId to) {
  PlannedCopy copy{array, box, from, to, {}};
  for (std::size_t k = 0; k < copies_.size(); ++k)
    if (copies_[k].array == array && copies_[k].to == from && overlap(copies_[k].box, box))
      copy.after.push_back(static_cast<int>(k));
  copies_.push_back(std::move(copy));
  holders_.at(array).update(box, [&](Holders at) {
    at.planned = at.planned.with(to);
    return at;
  });
}

}  // namespace strata::inline STRATA_ABI::detail
