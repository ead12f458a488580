#include <algorithm>

#include <strata/views/coherent/plan/work_order.hpp>

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

void WorkList::add(Work work) {
  if (work.number == 0) return;
  Work* const first = more_.empty() ? few_ : more_.data();
  Work* const place = std::lower_bound(first, first + count_, Work{work.queue, 0});
  if (place != first + count_ && place->queue == work.queue) {
    place->number = std::max(place->number, work.number);
    return;
  }
  const auto at = place - first;
  if (more_.empty() && count_ < few) {
    std::move_backward(few_ + at, few_ + count_, few_ + count_ + 1);
    few_[at] = work;
  } else {
    if (more_.empty()) more_.assign(few_, few_ + count_);
    more_.insert(more_.begin() + at, work);
  }
  ++count_;
}

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
    uses.readers.add(work);
    return uses;
  });
}
void WorkOrder::written(const Box& box, Work work) { map_.assign(box, Uses{work, {}}); }

}  // namespace strata::inline STRATA_ABI::detail
