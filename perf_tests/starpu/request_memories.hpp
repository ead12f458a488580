// RequestMemories: the memories of GPUs as StarPU keeps them, of the model request_model.cpp, whose head says
// by which rules.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <vector>

#include <strata/algorithms/tasks/plan/machine.hpp>

#include "starpu/request_list.hpp"

namespace perf {

struct MemorySettings {
  int clean = 5;  ///< percent of the copies of each device that are kept clean
  bool expects_sharing =
      true;                 ///< Whether copies are expected to take as long as if all GPUs shared the link.
  bool frees_wait = false;  ///< Whether the thread waits for all copies when it frees what it has stored.
};

/// Devices have the numbers of the machine.
class RequestMemories {
 public:
  /// All but `settings` are referred to. `wait` is called
  /// by the thread of a device that can do nothing before something ends, and returns then.
  RequestMemories(const strata::tasks::TaskDag& graph, const strata::tasks::Machine& machine,
                  const MemorySettings& settings, const double& now, std::function<void()> wait);

  // What tasks do

  /// A task that entered the queue of a device requests an array.
  void prefetch(const TaskAccess& access, TaskId task, double priority, DeviceId device);
  /// A task that the device has taken needs it; it stays until let_go(). `arrived` is called when it is
  /// there.
  void fetch(const TaskAccess& access, TaskId task, double priority, DeviceId device,
             const std::function<void()>& arrived);
  /// The task begins, for which the array was requested.
  void begin_use(ArrayId id, DeviceId device);
  void let_go(ArrayId id, DeviceId device) { --array(id).at(device).pins; }
  /// Who chooses what leaves a device, where that is not what was not used for longest: returns an array,
  /// none: nothing; and what is told of one that could not leave.
  void set_victims(std::function<ArrayId(DeviceId, Urgency)> choose,
                   std::function<void(ArrayId, DeviceId)> failed) {
    choose_victim_ = std::move(choose);
    eviction_failed_ = std::move(failed);
  }
  /// No task writes it any more: it is stored when nothing else is, and leaves before what is dirty.
  void set_finished(ArrayId id, DeviceId device);

  // What the thread of a device does

  /// Ends and begins copies; whether anything changed.
  bool progress(DeviceId device);

  // Questions

  bool is_valid(ArrayId id, DeviceId device) const { return array(id).at(device).is_valid; }
  bool has_room(ArrayId id, DeviceId device) const { return array(id).at(device).has_room; }
  bool is_coming(ArrayId id, DeviceId device) const { return array(id).at(device).load != nullptr; }
  bool is_requested(ArrayId id, DeviceId device) const;
  /// The seconds that StarPU expects of a copy, from where it takes least.
  double expected_seconds(ArrayId id, DeviceId to) const;
  /// Those that a device has room for, from the one that was not used for longest.
  const std::list<ArrayId>& order(DeviceId device) const {
    return devices_[static_cast<std::size_t>(device)].order;
  }
  bool may_leave(ArrayId id, DeviceId device, Urgency urgency) const {
    return may_leave(array(id).at(device), urgency);
  }

  // Time

  /// When the next copy moves on; less than 0: none is under way.
  double next_change() const;
  /// Whether a copy has ended, `seconds` later.
  bool pass(double seconds);

  struct Traffic {
    double to_devices = 0, from_devices = 0, between_devices = 0;  // bytes
  };
  /// With what is stored in the end.
  Traffic traffic() const;

 private:
  static constexpr DeviceId host = strata::tasks::host;

  struct Copy {  // of an array in a memory
    bool is_valid = false, has_room = false, counts_as_clean = false, is_being_evicted = false;
    int pins = 0, needed = 0;
    RequestRef load;                  // that is carried out, or waits for room
    std::list<ArrayId>::iterator at;  // in the order of eviction, where there is room
  };
  struct Array {
    std::vector<Copy> copies;          // the host's first
    std::vector<RequestRef> requests;  // that are not done
    Copy& at(DeviceId device) { return copies[static_cast<std::size_t>(device + 1)]; }
    const Copy& at(DeviceId device) const { return copies[static_cast<std::size_t>(device + 1)]; }
  };
  struct Queue {             // of requests of a device from or to another memory, one way
    RequestList waiting[3];  // by urgency
    std::vector<RequestRef> under_way;
  };
  struct Device {
    std::vector<Queue> in, out;  // by the other memory, the host's first
    std::list<ArrayId> order;    // of eviction
    int num_evicting = 0;        // calls of evict_dirty
  };
  struct Transfer {
    RequestRef request;
    double latency, bytes;  // that are left
  };

  Array& array(ArrayId id) { return arrays_[static_cast<std::size_t>(id)]; }
  const Array& array(ArrayId id) const { return arrays_[static_cast<std::size_t>(id)]; }
  Device& device(DeviceId id) { return devices_[static_cast<std::size_t>(id)]; }
  Queue& queue(const Request& r);
  DeviceId source(const Array& a, DeviceId to) const;
  double expected_seconds(DeviceId from, DeviceId to, double bytes) const;
  bool is_only(const Array& a, DeviceId device) const;
  void set_valid(Array& a, DeviceId device, bool writes);
  void use(Array& a, DeviceId device);
  RequestRef request(ArrayId id, DeviceId from, DeviceId to, Urgency urgency, bool writes, TaskId task,
                     double priority);
  void hasten(const RequestRef& r, Urgency urgency);
  void finish(const RequestRef& r, bool is_carried_out);
  bool carry_out(const RequestRef& r);
  bool may_leave(const Copy& copy, Urgency urgency) const;
  void give_up(Copy& copy, DeviceId device);
  bool find_room(const RequestRef& r);
  bool has_free_room(ArrayId id, DeviceId device) const;
  bool replace_clean(DeviceId device, Urgency urgency);
  bool evict_dirty(DeviceId device, Urgency urgency);
  bool evict_chosen(const RequestRef& r);
  bool evict(ArrayId id, DeviceId device);
  void clean(DeviceId device);
  bool serve(DeviceId device, std::vector<Queue>& queues, std::size_t first, std::size_t end);
  bool handle(Queue& queue, Urgency urgency, bool& has_room);
  std::vector<Transfer*> moving() const;
  double rate(const Transfer& transfer, const std::vector<Transfer*>& moving) const;
  int link_of(const Transfer& transfer) const;

  const strata::tasks::TaskDag& graph_;
  const strata::tasks::Machine& machine_;
  const int clean_;
  const bool expects_sharing_, frees_wait_;
  const double& now_;
  const std::function<void()> wait_;
  std::function<ArrayId(DeviceId, Urgency)> choose_victim_;
  std::function<void(ArrayId, DeviceId)> eviction_failed_;
  std::vector<Array> arrays_;
  std::vector<Device> devices_;
  mutable std::list<Transfer> transfers_;  // in the order in which they were begun
  Traffic traffic_;
};

}  // namespace perf
