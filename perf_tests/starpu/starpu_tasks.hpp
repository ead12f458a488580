// StarPU as a competitor: tasks that do nothing, as task_costs.hpp has them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace perf {

/// A task reads two of several numbers and updates a third one.
struct NumberTask {
  std::size_t a, b, c;
};

/// One worker of StarPU, a host thread or a GPU, with its scheduler, and numbers that are where it runs.
class StarpuTasks {
 public:
  virtual ~StarpuTasks() = default;
  /// "StarPU 1.3.10".
  virtual std::string name() const = 0;
  /// Submits tasks, and waits for all of them.
  virtual void run(const std::vector<NumberTask>& tasks) = 0;
  /// How many have run so far.
  virtual long calls() const = 0;
};

/// Null where the build has no StarPU, or that has no such worker. One at a time.
std::unique_ptr<StarpuTasks> make_starpu_tasks(bool on_gpu, std::size_t num_numbers);

}  // namespace perf
