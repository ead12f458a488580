// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/sequence/run_uses.hpp>

namespace strata::inline STRATA_ABI::detail::sequences {

namespace {

void add_boxes(std::vector<Box>& region, const std::vector<Box>& more) {
  region.insert(region.end(), more.begin(), more.end());
  merge(region);
}

// Of one array, after some loops: what they have written, and what they read before it was written.
struct Regions {
  std::vector<Box> written, needed;
};

std::vector<Regions> regions_of(const std::vector<const std::vector<SequenceUse>*>& loops,
                                std::size_t arrays) {
  std::vector<Regions> regions(arrays);
  for (const auto* const loop : loops) {
    // A loop reads what there was before it.
    for (const SequenceUse& use : *loop) {
      Regions& r = regions[static_cast<std::size_t>(use.array)];
      if (reads(use.mode)) add_boxes(r.needed, remainder(remainder(use.region, r.written), r.needed));
    }
    for (const SequenceUse& use : *loop) {
      Regions& r = regions[static_cast<std::size_t>(use.array)];
      if (writes(use.mode)) add_boxes(r.written, remainder(use.region, r.written));
    }
  }
  return regions;
}

}  // namespace

std::vector<SequenceUse> uses_of_run(const std::vector<const std::vector<SequenceUse>*>& loops,
                                     const std::vector<bool>& temporary) {
  std::vector<SequenceUse> uses;
  const std::vector<Regions> regions = regions_of(loops, temporary.size());
  for (std::size_t a = 0; a < regions.size(); ++a) {
    const auto add = [&](AccessMode mode, std::vector<Box>&& region) {
      if (!region.empty())
        uses.push_back({static_cast<int>(a), mode, static_cast<std::vector<Box>&&>(region)});
    };
    const std::vector<Box>& written = regions[a].written;
    const std::vector<Box>& needed = regions[a].needed;
    if (temporary[a]) {
      std::vector<Box> all = written;
      add_boxes(all, remainder(needed, written));
      add(AccessMode::Out, static_cast<std::vector<Box>&&>(all));
      continue;
    }
    std::vector<Box> only_read = remainder(needed, written);
    add(AccessMode::InOut, remainder(needed, only_read));
    add(AccessMode::In, static_cast<std::vector<Box>&&>(only_read));
    add(AccessMode::Out, remainder(written, needed));
  }
  return uses;
}

int temporary_read_first(const std::vector<const std::vector<SequenceUse>*>& loops,
                         const std::vector<bool>& temporary) {
  const std::vector<Regions> regions = regions_of(loops, temporary.size());
  for (std::size_t a = 0; a < regions.size(); ++a)
    if (temporary[a] && !regions[a].needed.empty()) return static_cast<int>(a);
  return -1;
}

}  // namespace strata::inline STRATA_ABI::detail::sequences
