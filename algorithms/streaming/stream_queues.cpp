// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/streaming/stream_queues.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

void StreamQueues::make() {
  if (upload_) return;
  upload_ = job_.device.create_queue();
  download_ = job_.device.create_queue();
}

void StreamQueues::start() {
  const Ref<EventState> start = compute().record();
  upload_->wait_for(start);
  download_->wait_for(start);
}

void StreamQueues::wait() {
  upload_->wait();
  compute().wait();
  download_->wait();
}

void StreamQueues::wait_for_end() {
  for (QueueState* const queue : {&upload(), &compute(), &download()}) {
    try {
      queue->wait();
    } catch (...) {
      continue;  // what failed first is reported
    }
  }
}

}  // namespace strata::inline STRATA_ABI::detail::streaming
