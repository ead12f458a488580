// SPDX-License-Identifier: Apache-2.0
#include <strata/devices/host/patience.hpp>
#include <strata/devices/host/turns.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {
std::uint32_t bit_of(std::uint32_t ticket) { return 1U << (ticket % 32); }
}  // namespace

void Turns::take(int spin_us, bool crowded) {
  const std::uint32_t ticket = next_ticket_.fetch_add(1, std::memory_order_relaxed);
  if (serving_.load(std::memory_order_acquire) == ticket) return;
  for (Patience patience(spin_us, crowded); patience.wait();)
    if (serving_.load(std::memory_order_acquire) == ticket) return;

  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  for (std::uint32_t served; (served = serving_.load(std::memory_order_seq_cst)) != ticket;)
    sleep_while(serving_, served, bit_of(ticket));
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

void Turns::end() {
  const std::uint32_t next = serving_.load(std::memory_order_relaxed) + 1;
  serving_.store(next, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) != 0) wake(serving_, bit_of(next));
}

}  // namespace strata::inline STRATA_ABI::detail
