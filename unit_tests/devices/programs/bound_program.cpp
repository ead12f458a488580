// Where kernels run in a program whose OpenMP library binds the first thread before main(). Prints for each
// device the threads of a launch and the processors that they may use: "Threads 2 2". Without an OpenMP
// library it uses Tbb only.
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdio>
#include <mutex>
#include <set>
#include <thread>

#if defined(_OPENMP)
#include <omp.h>
#endif

#include <strata/devices/host/affinity.hpp>
#include <strata/devices/threads/device.hpp>
#include <strata/version.hpp>
#if STRATA_HAS_TBB
#include <strata/devices/tbb/device.hpp>
#endif

namespace {

using strata::index_t;

struct Seen {
  std::mutex mutex;
  std::set<int> processors;
};

template <class Device>
void look() {
  Seen seen;
  const auto piece = [](const void* context, index_t, index_t, int) {
    auto& all = *static_cast<Seen*>(const_cast<void*>(context));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // so that all threads get some
    const std::lock_guard lock(all.mutex);
    for (const int processor : strata::detail::processors_of_this_thread()) all.processors.insert(processor);
  };
  const strata::detail::Runner runner = Device::runner();
  const index_t items = 16 * Device::concurrency();
  runner.run(runner.context,
             {.begin = 0, .end = items, .chunk = 1, .schedule = strata::detail::Schedule::Dynamic},
             {piece, &seen});
  std::printf("%s %d %d\n", Device::name, Device::concurrency(), static_cast<int>(seen.processors.size()));
}

}  // namespace

int main() {
#if defined(_OPENMP)
  std::printf("OpenMP %d\n", omp_get_num_procs());  // so that its library is loaded
  look<strata::Threads>();
#endif
#if STRATA_HAS_TBB
  look<strata::Tbb>();
#endif
}
