// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <strata/views/coherent/plan/work_order.hpp>

namespace strata::inline STRATA_ABI::detail {

template <bool OnlyLast>
void BasicWorkList<OnlyLast>::add(Work work) {
  if (work.number == 0) return;
  if (count_ == 0) {
    few_[count_++] = work;
    return;
  }
  Work* const first = data();
  // Mostly they come in their order.
  Work& latest = first[count_ - 1];
  if (OnlyLast && latest.queue == work.queue) {
    latest.number = std::max(latest.number, work.number);
    return;
  }
  if (latest == work) return;
  if (latest < work && more_.empty() && count_ < few) {
    few_[count_++] = work;
    return;
  }
  Work* const place = std::lower_bound(first, first + count_, OnlyLast ? Work{work.queue, 0} : work);
  if (place != first + count_ && (OnlyLast ? place->queue == work.queue : *place == work)) {
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

template class BasicWorkList<true>;
template class BasicWorkList<false>;

template <bool OnlyLast>
void WorkOrder::before_read(const Box& box, BasicWorkList<OnlyLast>& after) const {
  map_.visit(box, [&](const Box&, const Uses& uses) { after.add(uses.writer); });
}
template void WorkOrder::before_read(const Box&, BasicWorkList<true>&) const;
template void WorkOrder::before_read(const Box&, BasicWorkList<false>&) const;

void WorkOrder::before_write(const Box& box, WorkList& after) const {
  map_.visit(box, [&](const Box&, const Uses& uses) {
    after.add(uses.writer);
    for (const Work& reader : uses.readers) after.add(reader);
  });
}

void WorkOrder::read(const Box& box, Work work) {
  map_.update(box, [&](const Uses& uses) {
    Uses after = uses;
    after.readers.add(work);
    return after;
  });
}
void WorkOrder::written(const Box& box, Work work) {
  map_.update(box, [&](const Uses&) { return Uses{work, {}}; });
}

}  // namespace strata::inline STRATA_ABI::detail
