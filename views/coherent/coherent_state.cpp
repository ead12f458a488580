#include <strata/views/coherent/coherence.hpp>
#include <strata/views/coherent/coherent_state.hpp>
#include <strata/views/coherent/work_tracker.hpp>

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
  log_.push_back({Change::Kind::Copied, memory, box, work, {}});
}
void CoherentState::log_kernel(MemoryId memory, const Box& box, Work work) {
  log_.push_back({Change::Kind::Written, memory, box, work, {}});
}
void CoherentState::log_move(MemoryId memory, const Box& box, Work work) {
  log_.push_back({Change::Kind::Moved, memory, box, work, {}});
}
void CoherentState::log_drop(MemoryId memory, const Box& box) {
  log_.push_back({Change::Kind::Dropped, memory, box, {}, {}});
}
void CoherentState::log_restored(const std::vector<Directory::Part>& parts) {
  for (const Directory::Part& part : parts)
    log_.push_back({Change::Kind::Set, host_memory, part.box, {}, part.memories});
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
    case Change::Kind::Set:
      directory.restore({{change.box, change.memories}});
      break;
  }
}

void CoherentState::settle(WorkTracker& tracker) {
  while (!log_.empty() && tracker.ended(log_.front().work)) {
    apply(log_.front(), settled_);
    log_.pop_front();
  }
}

}  // namespace strata::inline STRATA_ABI::detail
