// ManagedBlocks: the blocks of managed memory that Strata has given to arrays, of all GPUs, with the advice
// that is in force on each. One table for the process: a queue of any GPU may prefetch pages of any block.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

#include <strata/devices/cuda/memory/page_advice.hpp>

namespace strata::inline STRATA_ABI::detail {

struct ManagedBlock {
  char* begin;
  std::size_t bytes;  // that were asked for
  PageAdvice advice;
  bool advised_by_program = false;  // with cuda::advise, of which `advice` knows nothing
};

class ManagedBlocks {
 public:
  static ManagedBlocks& all();

  void add(void* begin, std::size_t bytes);
  /// Forgets the block. `is_kept`: its memory is going to be that of another array, so what was advised on it
  /// is withdrawn.
  void remove(void* begin, bool is_kept) noexcept;

  /// To be held while blocks are used.
  std::mutex mutex;
  /// The block that has the address; null where Strata did not allocate it.
  ManagedBlock* find(const void* address);

 private:
  std::map<char*, ManagedBlock> blocks_;
};

/// Makes the calls, for a block that begins at `begin`. Advice changes speed and nothing else, so a driver
/// that refuses it is not asked again.
void give_advice(const std::vector<AdviceCall>& calls, char* begin, int device);

}  // namespace strata::inline STRATA_ABI::detail
