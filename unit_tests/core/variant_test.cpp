// Variant, beside std::variant: random programs over a list of each.
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <strata/core/variant.hpp>

#include "core/random.hpp"

namespace {

using strata_tests::Random;

// Of types that own something, so that a copy that is not made, or not destroyed, shows.
struct Owner {
  std::shared_ptr<int> owned;
};
struct Pair {
  std::shared_ptr<int> first, second;
};
using Ours = strata::Variant<char, Owner, Pair>;
using Theirs = std::variant<char, Owner, Pair>;

void expect_same(const Ours& ours, const Theirs& theirs) {
  ASSERT_EQ(ours.holds<char>(), theirs.index() == 0);
  ASSERT_EQ(ours.holds<Owner>(), theirs.index() == 1);
  ASSERT_EQ(ours.holds<Pair>(), theirs.index() == 2);
  if (theirs.index() == 0) {
    ASSERT_EQ(ours.as<char>(), std::get<0>(theirs));
  } else if (theirs.index() == 1) {
    ASSERT_EQ(ours.as<Owner>().owned, std::get<1>(theirs).owned);
  } else {
    ASSERT_EQ(ours.as<Pair>().second, std::get<2>(theirs).second);
  }
}

TEST(Variant, HoldsWhatAVariantOfTheStandardHolds) {
  Random draw;
  const auto number = std::make_shared<int>(0);
  {
    std::vector<Ours> ours;
    std::vector<Theirs> theirs;
    const auto place = [&] { return draw(0, std::ssize(ours) - 1); };
    const auto add = [&](const auto& value) {
      const index_t at = draw(0, std::ssize(ours));
      ours.insert(ours.begin() + at, value);
      theirs.insert(theirs.begin() + at, value);
    };
    for (int step = 0; step < strata_tests::trials(5000); ++step) {
      switch (ours.empty() ? 0 : draw(0, 6)) {
        case 0:
          add(static_cast<char>(draw(0, 100)));
          break;
        case 1:
          add(Owner{number});
          break;
        case 2:
          add(Pair{nullptr, number});
          break;
        case 3:
        case 4: {  // also onto itself
          const index_t from = place(), to = place();
          ours[static_cast<std::size_t>(to)] = ours[static_cast<std::size_t>(from)];
          theirs[static_cast<std::size_t>(to)] = theirs[static_cast<std::size_t>(from)];
          break;
        }
        default: {
          const index_t at = place();
          ours.erase(ours.begin() + at);
          theirs.erase(theirs.begin() + at);
        }
      }
      if (const index_t at = ours.empty() ? -1 : place(); at >= 0)
        expect_same(ours[static_cast<std::size_t>(at)], theirs[static_cast<std::size_t>(at)]);
    }
    long owners = 1;
    for (const Theirs& each : theirs) owners += each.index() > 0;
    EXPECT_EQ(number.use_count(), 2 * owners - 1) << "each owner has one of ours beside it";
    ASSERT_EQ(ours.size(), theirs.size());
    for (std::size_t k = 0; k < ours.size(); ++k) expect_same(ours[k], theirs[k]);
  }
  EXPECT_EQ(number.use_count(), 1);
}

}  // namespace
