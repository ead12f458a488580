// SPDX-License-Identifier: Apache-2.0
#include "starpu/starpu_tasks.hpp"

#include <atomic>
#include <cstdint>
#include <stdexcept>

#include <starpu.h>

namespace perf {

namespace {

std::atomic<long> num_calls = 0;
void do_nothing(void**, void*) { ++num_calls; }

class Tasks final : public StarpuTasks {
 public:
  // StarPU runs, until this ends.
  Tasks(bool on_gpu, std::size_t num_numbers)
      : on_gpu_(on_gpu), numbers_(num_numbers, 1), handles_(num_numbers) {
    num_calls = 0;
    starpu_codelet_init(&codelet_);
    if (on_gpu) codelet_.cuda_funcs[0] = do_nothing;
    else codelet_.cpu_funcs[0] = do_nothing;
    codelet_.nbuffers = 3;
    codelet_.modes[0] = codelet_.modes[1] = STARPU_R;
    codelet_.modes[2] = STARPU_RW;
    for (std::size_t k = 0; k < num_numbers; ++k)
      starpu_variable_data_register(&handles_[k], STARPU_MAIN_RAM,
                                    reinterpret_cast<std::uintptr_t>(&numbers_[k]), sizeof numbers_[k]);
  }
  ~Tasks() override {
    for (const starpu_data_handle_t handle : handles_) starpu_data_unregister(handle);
    // Its end destroys the context of the GPU, in which others go on.
    if (on_gpu_) starpu_pause();
    else starpu_shutdown();
  }

  std::string name() const override {
    int major = 0, minor = 0, release = 0;
    starpu_get_version(&major, &minor, &release);
    return "StarPU " + std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
  }
  void run(const std::vector<NumberTask>& tasks) override {
    for (const NumberTask& task : tasks)
      if (starpu_task_insert(&codelet_, STARPU_R, handles_[task.a], STARPU_R, handles_[task.b], STARPU_RW,
                             handles_[task.c], 0) != 0)
        throw std::runtime_error("StarPU has no worker for the task");
    starpu_task_wait_for_all();
  }
  long calls() const override { return num_calls; }

 private:
  bool on_gpu_;
  std::vector<std::uint32_t> numbers_;
  std::vector<starpu_data_handle_t> handles_;
  starpu_codelet codelet_{};
};

}  // namespace

std::unique_ptr<StarpuTasks> make_starpu_tasks(bool on_gpu, std::size_t num_numbers) {
  starpu_conf conf;
  starpu_conf_init(&conf);
  conf.ncpus = on_gpu ? 0 : 1;
  conf.ncuda = on_gpu ? 1 : 0;
  conf.nopencl = 0;
  if (starpu_init(&conf) != 0) return nullptr;
  if ((on_gpu ? starpu_cuda_worker_get_count() : starpu_cpu_worker_get_count()) == 0) {
    starpu_shutdown();
    return nullptr;
  }
  return std::make_unique<Tasks>(on_gpu, num_numbers);
}

}  // namespace perf
