#include <algorithm>

#include <strata/views/coherent/work_order.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

void add(std::vector<WorkId>& works, WorkId work) {
  if (work == 0) return;
  const auto place = std::lower_bound(works.begin(), works.end(), work);
  if (place == works.end() || *place != work) works.insert(place, work);
}

}  // namespace

void WorkOrder::before_read(const Box& box, std::vector<WorkId>& after) const {
  map_.visit(box, [&](const Box&, const Uses& uses) { add(after, uses.writer); });
}
void WorkOrder::before_write(const Box& box, std::vector<WorkId>& after) const {
  map_.visit(box, [&](const Box&, const Uses& uses) {
    add(after, uses.writer);
    for (const WorkId reader : uses.readers) add(after, reader);
  });
}

void WorkOrder::read(const Box& box, WorkId work) {
  map_.update(box, [&](Uses uses) {
    add(uses.readers, work);
    return uses;
  });
}
void WorkOrder::written(const Box& box, WorkId work) { map_.assign(box, Uses{work, {}}); }

}  // namespace strata::inline STRATA_ABI::detail
