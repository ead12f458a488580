// What do graphs of tasks cost, and does a run do what the simulation of its schedule says?
//
// First tasks that do next to nothing, on arrays that are all on the device: microseconds a task, by
// scheduler, with the part of it that decisions take; beside them launches over the same arrays, and
// parallel_for; and tasks that do nothing, added and run by a graph, by a scope, and where the build has it
// by StarPU, on one thread or GPU. With --long also 10^6 tasks in windows of 10^4, and the memory that the
// run needs.
//
// Then updates of 40 x 40 tiles at random positions, on a device that may hold a tenth of them: seconds and
// bytes as measured, and as simulated. A kernel takes about as long as the copy of a tile at 55 GB/s. --n is
// the edge of a tile, in elements. Not for hosts, whose memory is where arrays are.
// SPDX-License-Identifier: Apache-2.0
#include "common/task_costs.hpp"
#include "common/task_tiles.hpp"

int main(int argc, char** argv) {
  using namespace perf;
  const bool is_long = take_flag(argc, argv, "--long");
  const Options options = parse_options(
      argc, argv,
      "Graphs of tasks: what a task costs, and runs in too little memory (--long: 10^6 tasks, too).");
  Report report("task_graphs",
                "of a task the launch over coherent arrays, of that parallel_for, of tasks added and run "
                "StarPU; in small memory the launches in order");
  for_each_device(options, [&](auto device) {
    using D = decltype(device);
    EmptyTasks<D> costs(options, report);
    if (is_long) costs.run_long();
    costs.run();
    report.save(options);
    if constexpr (!is_machine<D>) SmallMemory<D>(options, report).run();
  });
  report.note(
      "small memory: the ceiling is the value in the simulation, with the kernel's time as measured, the "
      "link's "
      "as the run has it, and one kernel at a time");
  report.note(
      "the times of Emulated are those of processors of this machine: only its bytes are to be compared");
  return report.finish(options);
}
