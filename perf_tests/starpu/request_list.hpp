// The requests of the model of StarPU's memories (request_model.cpp).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include <strata/algorithms/tasks/plan/machine.hpp>

namespace perf {

using strata::index_t;
using strata::tasks::ArrayId;
using strata::tasks::DeviceId;
using strata::tasks::TaskAccess;
using strata::tasks::TaskId;

/// Of tasks that were taken, of tasks in the queue, and stores ahead.
enum Urgency { Fetch, Prefetch, Idle };

/// A copy that is to be made.
struct Request {
  ArrayId array;
  DeviceId from, to;
  Urgency urgency;
  bool writes;
  TaskId task;  // none: a store
  double priority;
  std::vector<std::function<void()>> then;
  bool counts = true;    // for the count of the tasks that need the array, when it is done
  bool is_over = false;  // the task has gone without it, or it waits for another one that brings the array
  bool has_pin = false;  // where the array is to be
  bool is_copied = false, is_done = false;
};
using RequestRef = std::shared_ptr<Request>;

/// By priority, of equal ones the first.
class RequestList {
 public:
  void push_back(const RequestRef& r) {
    requests_.insert(requests_.upper_bound(r->priority), {r->priority, r});
  }
  void push_front(const RequestRef& r) {
    requests_.insert(requests_.lower_bound(r->priority), {r->priority, r});
  }
  bool is_empty() const { return requests_.empty(); }
  RequestRef pop() {
    const RequestRef first = requests_.begin()->second;
    requests_.erase(requests_.begin());
    return first;
  }
  bool erase(const RequestRef& r) {
    auto [at, end] = requests_.equal_range(r->priority);
    at = std::find_if(at, end, [&](const auto& other) { return other.second == r; });
    if (at == end) return false;
    requests_.erase(at);
    return true;
  }

 private:
  std::multimap<double, RequestRef, std::greater<>> requests_;
};

}  // namespace perf
