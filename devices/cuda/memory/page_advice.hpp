// PageAdvice: what the driver has been advised on the pages of one managed block, run by run of 2 MiB, so
// that advice is given when it changes and not with every launch: a call takes microseconds, and more where
// copies of pages have to be dropped. A plan only: it gives the calls that are to be made.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// A call of cudaMemAdvise for bytes of a block: whole runs, also the last one, which is the block's alone.
/// After advice on parts of runs, arrays that had the memory later moved slower (1 MiB: by a third to a
/// half); that the driver cuts its ranges where advice ends is the likely reason, and was not shown.
struct AdviceCall {
  enum class Kind : unsigned char { ReadMostly, NotReadMostly, PreferHere, ReachFromHere };
  Kind kind;
  std::size_t begin, bytes;  ///< from the first byte of the block
  int gpu;                   ///< of PreferHere and ReachFromHere
};

class PageAdvice {
 public:
  explicit PageAdvice(std::size_t bytes);

  /// Several read bytes [begin, end) and nobody is going to write: each may have a copy. Of runs that hold
  /// other bytes, too, nothing is said.
  void read_by_many(std::size_t begin, std::size_t end, std::vector<AdviceCall>& calls);
  /// Somebody is going to write bytes [begin, end): copies that others have would be dropped page by page.
  void written(std::size_t begin, std::size_t end, std::vector<AdviceCall>& calls);
  /// `gpu` writes bytes [begin, end), which others use too: they are to stay there, and others to reach them
  /// there where they can. Of runs that hold other bytes, too, nothing is said.
  void at_home(std::size_t begin, std::size_t end, int gpu, std::vector<AdviceCall>& calls);

  /// `gpu` uses bytes [begin, end) where they are: it is to have them in its page tables, wherever they
  /// move.
  void reached_from(std::size_t begin, std::size_t end, int gpu, std::vector<AdviceCall>& calls);
  /// The GPUs of which that is so, as bits.
  std::uint64_t reaching() const;

 private:
  // Runs [first, last): those that lie within the bytes, or that have one of them.
  struct Runs {
    std::size_t first, last;
  };
  Runs within(std::size_t begin, std::size_t end) const;
  static Runs touched(std::size_t begin, std::size_t end);
  // Sets the bits of `mask` to `value`, with a call for each row of runs where that changes them.
  void set(Runs runs, std::uint8_t mask, std::uint8_t value, AdviceCall::Kind kind, int gpu,
           std::vector<AdviceCall>& calls);

  static constexpr std::uint8_t read_mostly = 0x80, home = 0x7f;  // home: 0 nowhere, else GPU + 1
  std::size_t bytes_;
  std::vector<std::uint8_t> runs_;
  std::vector<std::uint64_t> reached_;  // by run: the GPUs, as bits; empty as long as there is none
};

}  // namespace strata::inline STRATA_ABI::detail
