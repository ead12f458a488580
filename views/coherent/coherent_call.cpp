#include <algorithm>
#include <string>

#include <strata/core/error.hpp>
#include <strata/core/profiling/hooks.hpp>
#include <strata/core/runtime.hpp>
#include <strata/devices/recording.hpp>
#include <strata/views/coherent/coherent_call.hpp>
#include <strata/views/copy.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

bool overlap(const ArrayPart& a, const ArrayPart& b, Box& where) {
  bool found = false;
  a.visit([&](const Box& x) {
    b.visit([&](const Box& y) {
      if (found) return;
      where = intersect(x, y);
      found = !where.empty();
    });
  });
  return found;
}

}  // namespace

CoherentCall::CoherentCall(const char* label, const char* kernel_type, const char* tag_type)
    : label_(label),
      kernel_type_(kernel_type),
      tag_type_(tag_type),
      lock_(Coherence::get().mutex, std::defer_lock) {
  parts_.reserve(4);
  uses_.reserve(8);
}

void CoherentCall::add_part(DeviceInstance& device, QueueState& queue, bool waits) {
  if (device.host_accessible() && device.space().shared)
    throw WrongDevice(
        std::string("launch of ") + name() + " over coherent arrays on " + device.device_name() +
        ": its kernels run on a GPU; launch on Cuda, and give the arrays pinned memory of the host by "
        "main_in(CudaPinned{})");
  Part& part = parts_.emplace_back();
  part.device = &device;
  part.queue = &queue;
  part.is_host = device.host_accessible();
  part.unlocked = part.is_host || waits;
  part.first_use = static_cast<int>(uses_.size());
}

void CoherentCall::add_use(CoherentState& array, AccessMode mode, ArrayPart part) {
  check_file_use(array, writes(mode));
  if (writes(mode)) mark_file_incomplete(array);
  Use& use = uses_.emplace_back();
  use.array = &array;
  use.mode = mode;
  use.part = std::move(part);
  ++parts_.back().uses;
}

const char* CoherentCall::name() const { return kernel_name(label_, kernel_type_, tag_type_); }

void CoherentCall::fail_region(const ShapeMismatch& error) const {
  throw ShapeMismatch(std::string("launch of ") + name() + ": " + error.what());
}

// ---- before

void CoherentCall::prepare() {
  require_running("a launch");
  if (current_recording != nullptr)
    throw Error(
        std::string("the launch of ") + name() +
        " over coherent arrays cannot be recorded: what it copies depends on where values are; record "
        "launches over plain views");
  check_conflicts();
  lock_.lock();
  Coherence& all = Coherence::get();
  all.drop_leftovers();
  for (Part& part : parts_)
    if (!part.is_host) part.memory = all.memory_of(*part.device);
  find_room();
  for (Part& part : parts_) for_uses(part, [&](Use& use) { check_written(part, use); });
  plan_reads();
  recoveries_ = all.recoveries;
  claim();
  for (Part& part : parts_)
    if (part.unlocked) mark_host_uses(part);
  if (!keeps_pins()) return;
  MemorySet memories;
  for (const Part& part : parts_)
    for_uses(part, [&](const Use& use) {
      if (use.pinned) memories = memories.with(part.memory);
      memories = memories | use.kept;
    });
  if (!memories.empty()) all.pinning_calls.push_back({this, std::this_thread::get_id(), memories});
}

void CoherentCall::check_conflicts() const {
  for (std::size_t p = 0; p < parts_.size(); ++p)
    for (int k = 0; k < parts_[p].uses; ++k) {
      const Use& x = uses_[static_cast<std::size_t>(parts_[p].first_use + k)];
      for (std::size_t q = p; q < parts_.size(); ++q)
        for (int l = q == p ? k + 1 : 0; l < parts_[q].uses; ++l) {
          const Use& y = uses_[static_cast<std::size_t>(parts_[q].first_use + l)];
          if (x.array != y.array || (!writes(x.mode) && !writes(y.mode))) continue;
          if (Box where; overlap(x.part, y.part, where)) fail_conflict(parts_[p], x, parts_[q], y);
        }
    }
}

void CoherentCall::fail_conflict(const Part& a, const Use& x, const Part& b, const Use& y) const {
  const auto verb = [](AccessMode mode) {
    return mode == AccessMode::In ? " reads " : mode == AccessMode::Out ? " writes " : " reads and writes ";
  };
  const auto place = [](const Part& part) {
    return std::string(part.device->device_name()) + "{" + std::to_string(part.device->index()) + "}";
  };
  const std::string array = "\"" + x.array->label + "\"";
  std::string text = std::string("launch of ") + name() + ": ";
  if (&a == &b)
    throw AccessConflict(text + array + " is declared twice: one use" + verb(x.mode) +
                         to_string(x.part.first) + ", the other" + verb(y.mode) + to_string(y.part.first) +
                         "; declare it once, as inout, or give the kernel a second array");
  throw AccessConflict(
      text + place(a) + verb(x.mode) + to_string(x.part.first) + " of " + array + " and " + place(b) +
      verb(y.mode) + to_string(y.part.first) +
      " of it; devices may not write what another one uses: declare smaller regions, or write "
      "to a second array");
}

void CoherentCall::check_written([[maybe_unused]] const Part& part, [[maybe_unused]] const Use& use) const {
#if defined(STRATA_CHECKED) && STRATA_CHECKED
  if (!reads(use.mode) || !by_regions(*use.array)) return;
  use.part.visit([&](const Box& box) {
    const std::vector<Box> missing = use.array->directory.never_written(box);
    if (!missing.empty())
      throw NeverWritten(std::string("launch of ") + name() + " on " + part.device->device_name() + ": \"" +
                         use.array->label + "\" is read at " + to_string(missing.front()) +
                         ", which nobody has written; write it first, or declare it out");
  });
#endif
}

void CoherentCall::plan_reads() {
  Coherence& all = Coherence::get();
  // Usually nothing is missing, and this is all that is done.
  const auto missing = [&](const Part& part, const Use& use) {
    bool lacks = false;
    if (reads(use.mode) && by_regions(*use.array))
      use.part.visit([&](const Box& box) { lacks = lacks || use.array->directory.lacks(part.memory, box); });
    return lacks;
  };
  bool any = false;
  for (const Part& part : parts_) for_uses(part, [&](const Use& use) { any = any || missing(part, use); });
  if (!any) return;
  CopyPlanner planner(all.memories.links());
  std::vector<CoherentState*> arrays;
  for (const Part& part : parts_)
    for_uses(part, [&](const Use& use) {
      if (!missing(part, use)) return;
      const auto known = std::find(arrays.begin(), arrays.end(), use.array);
      const int number = static_cast<int>(known - arrays.begin());
      if (known == arrays.end()) arrays.push_back(use.array);
      use.part.visit([&](const Box& box) {
        planner.read(number, use.array->directory, use.array->shape.element_bytes, part.memory, box);
      });
    });
  all.enqueue(planner.copies(), arrays);
}

void CoherentCall::claim() {
  for (Part& part : parts_)
    for_uses(part, [&](Use& use) {
      if (!writes(use.mode) || !by_regions(*use.array)) return;
      use.claimed = true;
      use.part.visit([&](const Box& box) { use.array->directory.written(part.memory, box, use.before); });
      if (!part.unlocked) return;
      // What others have is needed where the kernel fails: nobody may take its memory meanwhile.
      MemorySet holders;
      for (const Directory::Part& p : use.before) holders = holders | p.memories;
      use.kept = holders.without(host_memory);
      use.kept.visit([&](MemoryId m) { Coherence::get().memories[m].residency.pin(use.array->number); });
    });
}

void CoherentCall::mark_host_uses(Part& part) {
  static std::uint64_t numbers = 0;  // under the lock
  part.host_use = ++numbers;
  for_uses(part, [&](Use& use) {
    if (!use.part.empty())
      use.array->host_uses.push_back({use.part, writes(use.mode), std::this_thread::get_id(),
                                      part.is_host ? "a kernel on a host" : "a launch with a result",
                                      part.host_use, part.memory});
  });
}

void CoherentCall::end_host_uses(Part& part) {
  for_uses(part, [&](Use& use) {
    std::erase_if(use.array->host_uses, [&](const HostUse& mark) { return mark.number == part.host_use; });
  });
  part.host_use = 0;
  Coherence::get().wake_waiting();
}

// ---- kernels

char* CoherentCall::base(int part, int use) const {
  return uses_[static_cast<std::size_t>(parts_[static_cast<std::size_t>(part)].first_use + use)].base;
}
ResidentRows CoherentCall::rows(int part, int use) const {
  const Use& u = uses_[static_cast<std::size_t>(parts_[static_cast<std::size_t>(part)].first_use + use)];
  ResidentRows rows{0, 0};
  u.part.visit([&](const Box& box) { rows = cover(rows, u.array->shape.rows_of(box)); });
  return rows;
}

void CoherentCall::find_memory(Part& part) {
  for_uses(part, [&](Use& use) {
    CoherentState& array = *use.array;
    if (use.part.empty()) use.base = array.main.base;
    else if (!by_regions(array))
      use.base = Coherence::get().access_exactly(array, part.memory, use.part.first, use.mode);
    else use.base = part.is_host ? array.main.base : array.instance(part.memory).base();
  });
}

void CoherentCall::collect(const Part& part, const Use& use, const ArrayPart& touched,
                           std::vector<Work>& after) {
  WorkOrder& order = use.array->order(part.memory);
  touched.visit([&](const Box& box) {
    if (writes(use.mode)) order.before_write(box, after);
    else order.before_read(box, after);
  });
}

bool CoherentCall::begin_early([[maybe_unused]] int number,
                               [[maybe_unused]] const std::vector<ArrayPart>& parts,
                               [[maybe_unused]] bool timed) {
#if defined(STRATA_CHECKED) && STRATA_CHECKED
  return false;  // what is marked is marked as a whole
#else
  Part& part = parts_[static_cast<std::size_t>(number)];
  if (part.unlocked) return false;
  WorkTracker& tracker = Coherence::get().tracker;
  const int mine = tracker.number_of(*part.queue);
  const auto drop_ended = [&](std::vector<Work>& works) {
    std::erase_if(works, [&](Work work) { return work.queue == mine || tracker.ended(work); });
  };
  find_memory(part);
  std::vector<Work> early, all;
  std::size_t k = 0;
  for_uses(part, [&](Use& use) {
    collect(part, use, parts[k++], early);
    collect(part, use, use.part, all);
  });
  drop_ended(early);
  drop_ended(all);
  if (early == all) return false;
  part.state = Part::State::Begun;
  part.early = true;
  tracker.wait_for(*part.queue, early);
  part.after = std::move(early);
  if (timed) part.timing.begin = part.queue->record_timed();
  return true;
#endif
}

void CoherentCall::begin(int number, bool timed) {
  Part& part = parts_[static_cast<std::size_t>(number)];
  Coherence& all = Coherence::get();
  if (!part.early) find_memory(part);
  for_uses(part, [&](Use& use) {
    collect(part, use, use.part, part.after);
    if (reads(use.mode))
      use.part.visit([&](const Box& box) { use.array->order(part.memory).before_read(box, part.needs); });
  });
  if (!part.is_host) {
    part.state = Part::State::Begun;
    all.tracker.wait_for(*part.queue, part.after);
    mark(part);
    if (timed && !part.early) part.timing.begin = part.queue->record_timed();
    if (part.unlocked) lock_.unlock();
    return;
  }
  std::vector<Ref<EventState>> events;
  for (const Work work : part.after) all.tracker.events_of(work, events);
  all.check_failures();
  lock_.unlock();
  for (const Ref<EventState>& event : events) {
    try {
      event->wait();
    } catch (...) {
      lock_.lock();
      if (all.recoveries != recoveries_) {  // another thread has set it right
        for (const Use& use : uses_) all.tell(*use.array);
        throw;
      }
      all.tracker.set_failed();
      all.recover();
    }
  }
  if (!events.empty()) {
    lock_.lock();
    if (all.recoveries != recoveries_)
      for (const Use& use : uses_) all.tell(*use.array);
    lock_.unlock();
  }
  part.state = Part::State::Begun;
  mark(part);
  if (timed) part.timing.begin = part.queue->record_timed();
}

// What ran without the lock has ended. After a failure elsewhere directories were made anew of what had ended
// by then.
void CoherentCall::claim_again(Part& part) {
  for_uses(part, [&](Use& use) {
    if (!use.claimed) return;
    use.part.visit([&](const Box& box) {
      static_cast<void>(use.array->directory.written(part.memory, box));
      use.array->log_kernel(part.memory, box, {});
    });
  });
}

void CoherentCall::end(int number) {
  Part& part = parts_[static_cast<std::size_t>(number)];
  Coherence& all = Coherence::get();
  if (part.is_host) {
    if (part.timing.begin) part.timing.end = part.queue->record_timed();
    lock_.lock();
    claim_again(part);
    end_host_uses(part);
    part.state = Part::State::Ended;
  } else {
    if (part.unlocked) {
      lock_.lock();
      // The kernel has ended well, and so has all that it came after. Where that failed on this queue, and
      // somebody else took the queue's error away, the kernel ran all the same, and the result is worth
      // nothing.
      for (const Work work : part.after)
        if (!all.tracker.ended(work)) all.check_failures();
      if (all.recoveries != recoveries_)  // or another thread has taken it back
        for (const Use& use : uses_) all.tell(*use.array);
      claim_again(part);
      end_host_uses(part);
    }
    const Ref<EventState> event = part.timing.begin ? part.queue->record_timed() : part.queue->record();
    if (part.timing.begin) part.timing.end = event;
    const Work work = all.tracker.add(*part.queue, event, std::move(part.after), std::move(part.needs));
    part.state = Part::State::Ended;
    for_uses(part, [&](Use& use) {
      WorkOrder& order = use.array->order(part.memory);
      use.part.visit([&](const Box& box) {
        if (writes(use.mode)) order.written(box, work);
        else order.read(box, work);
        if (use.claimed && !part.unlocked) use.array->log_kernel(part.memory, box, work);
      });
    });
  }
  if (number + 1 == static_cast<int>(parts_.size())) transfer_back();
}

std::vector<UnwrittenBox> CoherentCall::unwritten(int number) const {
  const Part& part = parts_[static_cast<std::size_t>(number)];
  std::vector<UnwrittenBox> boxes;
  for (int k = 0; k < part.uses; ++k) {
    const Use& use = uses_[static_cast<std::size_t>(part.first_use + k)];
    if (use.mode != AccessMode::Out) continue;
    use.part.visit([&](const Box& box) { boxes.push_back(unwritten_box(*use.array, box, use.base)); });
  }
  return boxes;
}

// What was to be written only is marked, so that what the kernel leaves out is found.
void CoherentCall::mark([[maybe_unused]] Part& part) {
#if defined(STRATA_CHECKED) && STRATA_CHECKED
  for_uses(part, [&](const Use& use) {
    if (use.mode != AccessMode::Out) return;
    const CoherentState& array = *use.array;
    DeviceInstance& device = part.is_host ? *array.main.device : *part.device;
    QueueState& queue = part.is_host ? device.default_queue() : *part.queue;
    use.part.visit([&](const Box& box) {
      mark_unwritten(unwritten_box(array, box, use.base), device,
                     part.is_host ? array.main.space : device.space(), queue);
    });
    if (part.is_host && (!device.host_accessible() || array.main.space.shared)) queue.wait();
  });
#endif
}

// Protocol::None: after the call all is the host's again.
void CoherentCall::transfer_back() {
  Coherence& all = Coherence::get();
  for (const Part& part : parts_)
    for_uses(part, [&](const Use& use) {
      CoherentState& array = *use.array;
      if (array.protocol != coherent::Protocol::None || part.is_host) return;
      if (!array.instance(part.memory).has_memory()) return;
      const Box& domain = array.shape.domain;
      all.write_back(array, part.memory);
      all.wait_for_work(array, host_memory, domain);
      array.directory.dropped(part.memory, domain);  // the memory stays for the next call
      array.log_drop(part.memory, domain);
    });
}

// ---- after

void CoherentCall::take_back(Part& part) {
  Coherence& all = Coherence::get();
  const bool made_anew = all.recoveries != recoveries_;  // without the claims, that is
  const bool begun = part.state == Part::State::Begun;
  if (begun && !part.is_host) {
    follow(part);
    // What threw here may have been the error of work before: whoever uses an array next hears what became of
    // that, not somebody later.
    all.tracker.forget_idle();
  }
  for_uses(part, [&](Use& use) {
    if (!use.claimed || (made_anew && !begun)) return;
    Directory& directory = use.array->directory;
    std::vector<Directory::Part> before = use.before;
    if (made_anew) {
      before.clear();
      use.part.visit([&](const Box& box) {
        directory.map().visit(box, [&](const Box& b, MemorySet memories) {
          before.push_back({b, memories});
        });
      });
    }
    // What a kernel may have begun to write is not what it was: others that have it have it alone.
    std::string lost;
    if (begun)
      for (Directory::Part& p : before) {
        const MemorySet others = p.memories.without(part.memory);
        if (others.empty() && !p.memories.empty()) lost += (lost.empty() ? "" : ", ") + to_string(p.box);
        p.memories = others;
      }
    directory.restore(before);
    // Claims are not logged before their kernels are: where none has begun, nothing is to be taken back.
    if (begun) {
      use.part.visit([&](const Box& box) { use.array->log_drop(part.memory, box); });
      use.array->settle(all.tracker);  // what is told here is not told again with failures to come
    }
    if (!lost.empty())
      use.array->failure = {std::make_exception_ptr(DataLost(
                                std::string("the launch of ") + name() +
                                " failed while it may have written " + lost + " of \"" + use.array->label +
                                "\", whose values were nowhere else. Write them anew before they are read")),
                            {}};
  });
}

// What may have been enqueued of a part that was not finished comes before all that is enqueued later.
void CoherentCall::follow(Part& part) {
  try {
    const Work work = Coherence::get().tracker.add(*part.queue, std::move(part.after));
    for_uses(part, [&](Use& use) {
      use.part.visit([&](const Box& box) { use.array->order(part.memory).written(box, work); });
    });
  } catch (...) {
    Coherence::get().tracker.set_failed();
  }
}

CoherentCall::~CoherentCall() {
  Coherence& all = Coherence::get();
  if (!lock_.owns_lock()) {
    const bool prepared =
        std::any_of(uses_.begin(), uses_.end(), [](const Use& use) { return use.pinned || use.claimed; }) ||
        std::any_of(parts_.begin(), parts_.end(), [](const Part& part) { return part.host_use != 0; });
    if (!prepared) return;
    lock_.lock();
  }
  for (Part& part : parts_) {
    if (part.state != Part::State::Ended) take_back(part);
    if (part.host_use != 0) end_host_uses(part);
    for_uses(part, [&](Use& use) {
      if (use.pinned) all.memories[part.memory].residency.unpin(use.array->number);
      use.kept.visit([&](MemoryId m) { all.memories[m].residency.unpin(use.array->number); });
      constexpr std::size_t many = 32;
      if (use.array->log_size() > many) use.array->settle(all.tracker);
    });
  }
  if (std::erase_if(all.pinning_calls, [&](const auto& pinning) { return pinning.call == this; }) > 0)
    all.wake_waiting();
}

}  // namespace strata::inline STRATA_ABI::detail
