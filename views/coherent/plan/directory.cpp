// SPDX-License-Identifier: Apache-2.0
#include <strata/views/coherent/plan/directory.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

// The parts of `box` of whose memories `wanted` is true, in few boxes.
template <class Wanted>
std::vector<Box> parts(const RegionMap<MemorySet>& map, const Box& box, const Wanted& wanted) {
  std::vector<Box> region;
  map.visit(box, [&](const Box& part, MemorySet memories) {
    if (wanted(memories)) region.push_back(part);
  });
  merge(region);
  return region;
}

}  // namespace

bool Directory::holds(MemoryId memory, const Box& box) const {
  return map_.visit(box, [&](const Box&, MemorySet memories) { return memories.contains(memory); });
}
bool Directory::holds_alone(MemoryId memory, const Box& box) const {
  return map_.visit(box, [&](const Box&, MemorySet memories) { return memories == MemorySet{memory}; });
}
bool Directory::lacks(MemoryId memory, const Box& box) const {
  return !map_.visit(
      box, [&](const Box&, MemorySet memories) { return memories.empty() || memories.contains(memory); });
}
bool Directory::is_clean(MemoryId memory) const {
  return map_.visit(domain(), [&](const Box&, MemorySet memories) { return memories != MemorySet{memory}; });
}
std::vector<Box> Directory::missing(MemoryId memory, const Box& box) const {
  return parts(map_, box,
               [&](MemorySet memories) { return !memories.empty() && !memories.contains(memory); });
}
std::vector<Box> Directory::never_written(const Box& box) const {
  return parts(map_, box, [](MemorySet memories) { return memories.empty(); });
}
std::vector<Box> Directory::only_in(MemoryId memory, const Box& box) const {
  return parts(map_, box, [&](MemorySet memories) { return memories == MemorySet{memory}; });
}
bool Directory::same_as(const Directory& other) const {
  return map_.visit(domain(), [&](const Box& box, MemorySet memories) {
    return other.map_.visit(box, [&](const Box&, MemorySet others) { return memories == others; });
  });
}

void Directory::copied(MemoryId memory, const Box& box) {
  // What nobody ever wrote stays so: there was nothing to copy.
  map_.update(box, [&](MemorySet memories) { return memories.empty() ? memories : memories.with(memory); });
}
void Directory::restore(const std::vector<Part>& parts) {
  for (const Part& part : parts) map_.assign(part.box, part.memories);
}
void Directory::dropped(MemoryId memory, const Box& box) {
  map_.update(box, [&](MemorySet memories) { return memories.without(memory); });
}

}  // namespace strata::inline STRATA_ABI::detail
