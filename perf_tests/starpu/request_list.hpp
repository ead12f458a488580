// The requests of the model of StarPU's memories (request_model.cpp), and the arrays that they are for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <vector>

#include <strata/algorithms/tasks/plan/task_dag.hpp>

namespace perf {

using strata::tasks::ArrayId;
using strata::tasks::TaskId;

enum Urgency { Fetch, Prefetch, Idle };
enum Way { In, Out };
constexpr std::size_t most_under_way[] = {5, 2, 1};  // by urgency, each way

struct Request {
  ArrayId array;
  Way way;
  Urgency urgency;
  bool writes;
  TaskId task;  // none: a store
  double priority;
  std::vector<std::function<void()>> then;
  bool counts = true;    // for the array's count, when it is done
  bool is_over = false;  // the task has gone without it, or it found the array on its way
  bool has_pin = false;
  bool is_copied = false, is_done = false;
};
using RequestRef = std::shared_ptr<Request>;

struct Array {
  bool on_host = true, on_gpu = false, has_room = false;
  bool counts_as_clean = false;
  int pins = 0, needed = 0;
  RequestRef load;                   // that is carried out, or waits for room
  std::vector<RequestRef> requests;  // that are not done
  std::list<ArrayId>::iterator at;   // in the order of eviction, where there is room
  bool is_being_evicted = false;
};

// Requests by priority, of equal ones the first.
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
