// What the tests of tools, trace, counters and leak report watch, in a process of its own:
// watched_program CASE [options]
// SPDX-License-Identifier: Apache-2.0
#include <clocale>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <strata/strata.hpp>

namespace {

using namespace strata;

struct Set {
  STRATA_FUNCTION void operator()(index_t i, auto x) const { x(i) = static_cast<double>(i); }
};
struct Twice {};
struct TaggedSet {
  STRATA_FUNCTION void operator()(Twice, index_t i, auto x) const { x(i) = 2.0 * static_cast<double>(i); }
};
struct Total {
  STRATA_FUNCTION void operator()(index_t i, auto x, double& sum) const { sum += x(i); }
};
struct Running {
  STRATA_FUNCTION void operator()(index_t i, auto x, double& sum, bool last) const {
    sum += 1;
    if (last) x(i) = sum;
  }
};

template <class D>
using Array = MDArray<double, D, rank<1>>;

// Every kind of event once, on device D.
template <class D>
void every_operation() {
  declare_metadata("size", "10");
  push_region("outer");
  {
    const Region inner("inner");
    Array<D> x = create<Array<D>>("x", 10);
    const auto y = create<Array<Serial>>("y", 10, uninitialized);
    double sum = 0;
    parallel_for("set", 10, with(Set{}, x));
    parallel_for(10, with(Set{}, x));
    parallel_for(tagged<Twice>(10), with(TaggedSet{}, x));
    parallel_reduce("total", 10, with(Total{}, x), Sum(sum));
    parallel_scan("running", 10, with(Running{}, x), Sum(sum));
    deep_copy(y, x);
    deep_copy(x, 1.0);
    const Queue<D> queue;
    parallel_for("in a queue", on(queue), 10, with(Set{}, x));
    queue.wait("wait for the queue");
    wait(D{}, "wait for all");
    const Graph<D> graph = record(queue, [&] {
      parallel_for("recorded", on(queue), 10, with(Set{}, x));
      deep_copy(queue, x, y);
    });
    graph.launch(queue);
    graph.launch(queue);
    queue.wait("graphs");
  }
  mark("here");
  Section section("a section");
  section.start();
  section.stop();
  pop_region();
}

// Threads share queues, and each sees its own regions.
void threads() {
  const auto x = create<Array<Serial>>("x", 1000);
  const auto y = create<Array<Emulated>>("y", 1000);
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t)
    all.emplace_back([=] {
      const auto own = create<Array<Serial>>("own", 1000);
      for (int k = 0; k < 50; ++k) {
        const Region region("of a thread");
        parallel_for("serial", 1000, with(Set{}, own));
        parallel_for("emulated", 1000, with(Set{}, y));
      }
    });
  for (auto& each : all) each.join();
}

// A kernel fails where a tool may have the devices waited for: the error is the program's all the same.
void failing() {
  const auto x = create<Array<Emulated>>("x", 10);
  emulated::fail(emulated::Fault::Kernel, 1);
  parallel_for("fails", 10, with(Set{}, x));
  push_region("behind it");
  pop_region();
  try {
    wait(Emulated{});
    std::puts("no error");
  } catch (const KernelError&) {
    std::puts("the error arrived");
  }
}

// The parent has a kernel in its buffer when the child begins, which then has more to say than fits there.
void forking() {
  const auto x = create<Array<Serial>>("x", 10);
  parallel_for("before", 10, with(Set{}, x));
  const pid_t child = fork();
  if (child == 0) {
    for (int k = 0; k < 2000; ++k) mark("of the child");
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  parallel_for("behind", 10, with(Set{}, x));
}

// Kernels without a label when the thread-local objects of the main thread are gone, the runtime is not.
struct SetByTeam {
  STRATA_FUNCTION void operator()(const auto& member, auto x) const { x(member.league_rank()) = 1; }
};
void set_by_all(const Array<Serial>& x) {
  parallel_for(10, with(Set{}, x));
  parallel_for(teams(10, 2), with(SetByTeam{}, x));
}
struct AtExit {
  Array<Serial> x;
  ~AtExit() { set_by_all(x); }
};
void at_exit() {
  static const AtExit last{create<Array<Serial>>("x", 10)};
  set_by_all(last.x);
}

// A tools library that is named only when a region and a kernel are under way.
struct StartRuntime {
  int count;
  char** arguments;
  void operator()(index_t) const {
    int left = count;
    static const Runtime runtime(left, arguments);
  }
};
void late_tool(int argc, char** argv) {
  push_region("before");
  parallel_for("around", on(Serial{}), 1, StartRuntime{argc, argv});
  pop_region();
  push_region("behind");
  pop_region();
}

// Where numbers have a decimal comma.
int german() {
  if (std::setlocale(LC_ALL, "de_DE") == nullptr) return 3;
  std::puts(string_from_bytes(1536).c_str());
  every_operation<Serial>();
  return 0;
}

int run(const std::string& what, int argc, char** argv) {
  if (what == "serial") every_operation<Serial>();
  else if (what == "emulated") every_operation<Emulated>();
  else if (what == "threads") threads();
  else if (what == "failing") failing();
  else if (what == "mark") mark("fence, please");
  else if (what == "forking") forking();
  else if (what == "at-exit") at_exit();
  else if (what == "late-tool") late_tool(argc, argv);
  else if (what == "german") return german();
  else if (what == "throw") {
    const auto x = create<Array<Serial>>("x", 10);
    push_region("thrown in");
    throw std::runtime_error("nobody catches this");
  } else if (what == "leak") {
    static const auto kept = create<Array<Serial>>("kept", 10);
    static const auto large = create<Array<Serial>>("large", 1000);
    finalize();
  } else if (what == "nothing") {
    std::puts("nothing happens");
  } else {
    std::printf("no case \"%s\"\n", what.c_str());
    return 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bool explicit_runtime = argc > 2 && std::strcmp(argv[2], "with-runtime") == 0;
  if (!explicit_runtime) return run(argc > 1 ? argv[1] : "", argc, argv);
  const std::string what = argv[1];
  const Runtime runtime(argc, argv);
  for (int i = 1; i < argc; ++i) std::printf("argument %s\n", argv[i]);
  return run(what, argc, argv);
}
