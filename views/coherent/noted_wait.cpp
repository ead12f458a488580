// SPDX-License-Identifier: Apache-2.0
#include <mutex>

#include <strata/views/coherent/coherence.hpp>
#include <strata/views/coherent/noted_wait.hpp>

namespace strata::inline STRATA_ABI::detail {

NotedWait::NotedWait(std::thread::id waiting, std::thread::id other, Kind kind, std::string text) {
  Coherence& coherence = Coherence::get();
  const std::lock_guard lock(coherence.mutex);
  number_ = coherence.add_wait(waiting,
                               kind == Kind::Endless ? ThreadWaits::Kind::Elsewhere : ThreadWaits::Kind::Turn,
                               other, std::move(text));
}

bool NotedWait::end() {
  Coherence& coherence = Coherence::get();
  const std::lock_guard lock(coherence.mutex);
  return coherence.forget_wait(number_);
}

}  // namespace strata::inline STRATA_ABI::detail
