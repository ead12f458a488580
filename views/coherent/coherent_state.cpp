#include <strata/views/coherent/coherence.hpp>
#include <strata/views/coherent/coherent_state.hpp>

namespace strata::inline STRATA_ABI::detail {

CoherentState::CoherentState(const char* its_label, const ArrayShape& its_shape, const Main& its_main,
                             MemorySet current, coherent::Protocol its_protocol)
    : label(its_label),
      shape(its_shape),
      main(its_main),
      protocol(its_protocol),
      directory(its_shape.domain, current),
      settled_(its_shape.domain, current) {
  Coherence::get().add(*this);
}

CoherentState::~CoherentState() { Coherence::get().remove(*this); }

Instance& CoherentState::instance(MemoryId device) {
  const auto k = static_cast<std::size_t>(device) - 1;
  if (k >= instances_.size()) instances_.resize(k + 1);
  return instances_[k];
}

WorkOrder& CoherentState::order(MemoryId memory) {
  const auto k = static_cast<std::size_t>(memory);
  if (k >= orders_.size()) orders_.resize(k + 1);
  if (!orders_[k]) orders_[k] = std::make_unique<WorkOrder>(shape.domain);
  return *orders_[k];
}

void CoherentState::log_copy(MemoryId memory, const Box& box, Work work) {
  log_.push_back({Change::Kind::Copied, memory, box, work});
}
void CoherentState::log_kernel(MemoryId memory, const Box& box, Work work) {
  log_.push_back({Change::Kind::Written, memory, box, work});
}
void CoherentState::log_move(MemoryId memory, const Box& box, Work work) {
  log_.push_back({Change::Kind::Moved, memory, box, work});
}
void CoherentState::log_drop(MemoryId memory, const Box& box) {
  log_.push_back({Change::Kind::Dropped, memory, box, {}});
}

void CoherentState::apply(const Change& change, Directory& directory) {
  switch (change.kind) {
    case Change::Kind::Copied:
      directory.copied(change.memory, change.box);
      break;
    case Change::Kind::Written:
      static_cast<void>(directory.written(change.memory, change.box));
      break;
    case Change::Kind::Moved:
      break;
    case Change::Kind::Dropped:
      directory.dropped(change.memory, change.box);
      break;
  }
}

void CoherentState::settle(WorkTracker& tracker) {
  while (!log_.empty() && tracker.ended(log_.front().work)) {
    apply(log_.front(), settled_);
    log_.pop_front();
  }
}

void CoherentState::lose(const Change& change, std::vector<Box>& lost) {
  for (const Box& box : settled_.only_in(change.memory, change.box)) lost.push_back(box);
  settled_.dropped(change.memory, change.box);
}

std::vector<Box> CoherentState::rebuild(const WorkTracker::Recovery& recovery, bool& taken_back) {
  using Outcome = WorkTracker::Outcome;
  std::vector<Box> lost;
  taken_back = false;
  for (const Change& change : log_) {
    const Outcome outcome = change.work.number == 0 ? Outcome::Done : recovery.of(change.work);
    const bool is_written = change.kind == Change::Kind::Written,
               is_moved = change.kind == Change::Kind::Moved;
    taken_back = taken_back || (outcome != Outcome::Done && is_written);
    switch (outcome) {
      case Outcome::Done:
        // What was given up was out of date by work that may have failed since: then it was needed.
        if (change.kind == Change::Kind::Dropped) lose(change, lost);
        else apply(change, settled_);
        break;
      case Outcome::Failed:  // it may have written in part, a copy over what is good if other work failed,
                             // too
        lose(change, lost);
        break;
      case Outcome::Dropped:  // it did not begin
        if (is_moved) lose(change, lost);
        break;
      case Outcome::Spoiled:  // it wrote wrong values
        lose(change, lost);
        break;
    }
  }
  log_.clear();
  directory = settled_;
  orders_.clear();
  // What was written anew since is not lost.
  std::vector<Box> still_lost;
  for (const Box& box : lost)
    for (const Box& part : settled_.never_written(box)) still_lost.push_back(part);
  merge(still_lost);
  return still_lost;
}

}  // namespace strata::inline STRATA_ABI::detail
