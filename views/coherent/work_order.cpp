#include <algorithm>

#include <strata/views/coherent/work_order.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

// Of each queue the last.
void add(std::vector<Work>& works, Work work) {
  if (work.number == 0) return;
  const auto place = std::lower_bound(works.begin(), works.end(), Work{work.queue, 0});
  if (place == works.end() || place->queue != work.queue) works.insert(place, work);
  else place->number = std::max(place->number, work.number);
}

}  // namespace

void WorkOrder::before_read(const Box& box, std::vector<Work>& after) const {
  map_.visit(box, [&](const Box&, const Uses& uses) { add(after, uses.writer); });
}
void WorkOrder::before_write(const Box& box, std::vector<Work>& after) const {
  map_.visit(box, [&](const Box&, const Uses& uses) {
    add(after, uses.writer);
    for (const Work& reader : uses.readers) add(after, reader);
  });
}

void WorkOrder::read(const Box& box, Work work) {
  map_.update(box, [&](Uses uses) {
    add(uses.readers, work);
    return uses;
  });
}
void WorkOrder::written(const Box& box, Work work) { map_.assign(box, Uses{work, {}}); }

}  // namespace strata::inline STRATA_ABI::detail
