// SPDX-License-Identifier: Apache-2.0
#include "common/plain_team.hpp"

namespace perf {

PlainTeam::PlainTeam(int size) {
  for (int w = 1; w < size; ++w) threads_.emplace_back([this, w] { help(w); });
}

PlainTeam::~PlainTeam() {
  work_ = nullptr;
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void PlainTeam::help(int worker) {
  for (unsigned seen = 0;;) {
    for (int looks = 0; round_.load(std::memory_order_acquire) == seen && looks < 2000; ++looks) {
    }
    round_.wait(seen, std::memory_order_acquire);
    ++seen;
    if (work_ == nullptr) return;
    (*work_)(worker);
    busy_.fetch_sub(1, std::memory_order_release);
  }
}

void PlainTeam::run(const std::function<void(int)>& work) {
  work_ = &work;
  busy_.store(size() - 1, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  work(0);
  for (int looks = 0; busy_.load(std::memory_order_acquire) != 0; ++looks)
    if (looks > 2000) std::this_thread::yield();  // the processors may be shared
}

void PlainTeam::split(std::ptrdiff_t n, const std::function<void(std::ptrdiff_t, std::ptrdiff_t)>& work) {
  const auto cut = [&](int worker) { return worker == size() ? n : n / 64 * worker / size() * 64; };
  run([&](int worker) { work(cut(worker), cut(worker + 1)); });
}

}  // namespace perf
