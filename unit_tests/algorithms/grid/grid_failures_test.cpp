// Grids of emulated devices: what they refuse, and what is left after failures.
// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <string>
#include <vector>

#include <strata/algorithms/grid/grid.hpp>

#include "algorithms/grid/grid_kernels.hpp"

namespace {

using namespace grid_testing;

class GridFailures : public CoherentTest {};

TEST_F(GridFailures, WritesThatAreNotBoxesAreRefused) {
  const Plane<std::int64_t> a("a", 8, 8);
  const CoherentArray<std::int64_t, rank<1>> line("line", 8);
  const auto where = across(emulated_devices(4)).grid(2, 2).named("rows");
  const auto refusal = [&](const auto& access) {
    return message_of<AccessConflict>([&] { launch(where, mdrange({8, 8}), Nothing{}, access); });
  };
  const auto is_refused = [&](const auto& access) {
    const std::string text = refusal(access);
    for (const char* word : {"launch of rows: the 2 parts of the grid along index 1", "\"a\"", "own_element"})
      EXPECT_TRUE(has(text, word));
  };
  is_refused(out(a, own));
  is_refused(inout(a, halo(0, 0)));
  is_refused(out(a, rows([](ResidentRows work) { return work; })));
  is_refused(out(a, columns));
  EXPECT_TRUE(has(refusal(out(line)), "\"line\", which has 1 index; write to an array that has this index"));
  EXPECT_TRUE(has(refusal(inout(a, halo({1, 1}, {1, 1}))), "declare smaller regions"));
  // One part along the second index writes whole rows, one row of parts all columns.
  const auto rows_only = across(emulated_devices(4)).grid(4, 1);
  EXPECT_NO_THROW(launch(rows_only, mdrange({8, 8}), Nothing{}, inout(a, own)));
  EXPECT_NO_THROW(launch(rows_only, mdrange({8, 8}), Nothing{}, inout(line)));
  EXPECT_NO_THROW(launch(where, mdrange({8, 1}), Nothing{}, inout(line)));
}
TEST_F(GridFailures, RegionsThatAreNoneOfTheArrayNameTheLaunch) {
  const Plane<std::int64_t> a("a", 8, 4);
  const CoherentArray<std::int64_t, rank<1>> line("line", 8);
  const auto refusal = [&](const auto& where, const auto& access) {
    return message_of<ShapeMismatch>([&] { launch(where, mdrange({8, 4}), Nothing{}, access); });
  };
  const auto both = [&](const auto& access, const char* word) {
    EXPECT_TRUE(has(refusal(across(emulated_devices(4)).grid(2, 2).named("bad"), access), word));
    EXPECT_TRUE(has(refusal(across(emulated_devices(4)).named("bad"), access), word));
    EXPECT_TRUE(has(refusal(on(Serial{}).named("bad"), access), "launch of bad"));
  };
  both(in(a, halo({1, 5}, {1, 1}, edge::cyclic)), "at most 4 neighbours in dimension 1");
  both(in(a, halo({9, 1}, {1, 1}, edge::cyclic)), "at most 8 neighbours");
  both(in(a, halo({1, 1, 1}, {1, 1, 1})), "a halo of 3 dimensions");
  both(in(line, halo({1, 1}, {1, 1})), "a halo of 2 dimensions");
  const auto left_out = message_of<ShapeMismatch>([&] {
    launch(across(emulated_devices(4)).grid(2, 2), mdrange({8, 3}), Nothing{}, out(a));
  });
  EXPECT_TRUE(has(left_out, "column 3 of \"a\" is left out"));
}
TEST_F(GridFailures, PlacesSayWhatTheyLack) {
  Balance balance;
  EXPECT_THROW(across(emulated_devices(3)).grid(2, 2), Error);
  EXPECT_THROW(across(emulated_devices(4)).grid(0, 4), Error);
  EXPECT_THROW(across(emulated_devices(4)).weighted({1, 1, 1, 1}).grid(2, 2), Error);
  EXPECT_THROW(across(emulated_devices(4)).adaptive(balance).grid(2, 2), Error);
  EXPECT_THROW(across(emulated_devices(4)).grid(2, 2).weighted({{1, 1}}), Error);
  EXPECT_EQ(across(Emulated{0}, Serial{}).named("mine").grid(1, 2).devices.label, std::string("mine"));
}

// A kernel or a copy fails: values are as before or as after, or DataLost names their box.
TEST_F(GridFailures, LoseNothingButWhatIsNamed) {
  const index_t n = 12, m = 14;
  const auto where = across(emulated_devices(4)).grid(2, 2);
  for (const emulated::Fault fault :
       {emulated::Fault::Allocation, emulated::Fault::Copy, emulated::Fault::Kernel}) {
    int failures = 0, losses = 0;
    for (int k = 1; k < 40; ++k) {
      SCOPED_TRACE(k);
      {
        const Plane<std::int64_t> a("a", n, m), b("b", n, m);
        std::string error;
        const auto attempt = [&](const auto& action) {
          try {
            action();
          } catch (const Error& thrown) {
            error += thrown.what();
          }
        };
        emulated::fail(fault, k);
        attempt([&] {
          launch(where, mdrange({n, m}), NumberOfPlace{}, out(a));
          launch(where, mdrange({n, m}), FivePoints{n, m}, in(a, halo({1, 1}, {1, 1})), out(b));
          launch(where, mdrange({n, m}), AddOne{}, inout(a));
          for (int d = 0; d < 4; ++d) wait(Emulated{d});
        });
        emulated::clear_faults();
        take_errors();
        for (int again = 0; again < 2; ++again)  // each array reports once what failed
          for (const auto& x : {a, b}) attempt([&] { x.flush(); });
        failures += !error.empty();
        index_t lost = 0;
        for (const auto& x : {a, b})
          for (const Residence& part : x.where(x.domain())) {
            if (!part.memories.empty()) continue;
            lost += part.box.size();
            EXPECT_TRUE(has(error, to_string(part.box) + " of \"" + x.label() + "\""));
          }
        losses += lost > 0;
        EXPECT_TRUE(lost == 0 || !error.empty());
        if (lost > 0) continue;
        const auto x = a.read(), y = b.read();
        const auto at = [](index_t i, index_t j) {
          return i < 0 || j < 0 || i >= n || j >= m ? 0 : 1000 * i + j;
        };
        for (index_t i = 0; i < n; ++i)
          for (index_t j = 0; j < m; ++j) {
            const index_t sum = at(i, j) + at(i - 1, j) + at(i + 1, j) + at(i, j - 1) + at(i, j + 1);
            EXPECT_TRUE(x(i, j) == at(i, j) + 1 || (!error.empty() && (x(i, j) == at(i, j) || x(i, j) == 0)));
            EXPECT_TRUE(y(i, j) == sum || (!error.empty() && y(i, j) == 0)) << i << ", " << j;
          }
      }
      if (k > 2 * failures + 4) break;  // there are no more of these
    }
    EXPECT_GT(failures, 3) << static_cast<int>(fault);
    EXPECT_EQ(losses > 0, fault == emulated::Fault::Kernel);
  }
}

#if defined(STRATA_CHECKED) && STRATA_CHECKED
struct InPairs {  // of which one is beyond the part's box
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto a) const { a(i, 2 * j) = a(i, 2 * j + 1) = 1; }
};
struct ReadLeft {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto a, auto b) const {
    b(i, j) = j > 0 ? a(i, j - 1) : 0;
  }
};
struct ReadFar {  // beyond the array
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto a, auto b) const {
    b(i, j) = j >= 4 ? a(i, j + 4) : 0;
  }
};
struct ReadLayer {
  STRATA_FUNCTION void operator()(index_t i, index_t j, index_t k, auto a, auto b) const {
    b(i, j, k) = k > 0 ? a(i, j, k - 1) : 0;
  }
};
TEST_F(GridFailures, AccessesBeyondTheBoxOfAPartNameTheDimension) {
  const CoherentArray<std::int64_t, rank<3>, LayoutRight> a("a", 4, 4, 8), b("b", 4, 4, 8);

  const std::string text = message_of<OutOfBounds>([&] {
    launch(across(emulated_devices(2)).grid(1, 1, 2), mdrange({4, 4, 8}), ReadLayer{}, in(a, own_element),
           out(b));
    wait(Emulated{1});
  });

  EXPECT_TRUE(
      has(text, ", 3) of \"a\" on Emulated{1} lies in the array, but outside of [4, 8) in dimension 2"));
  take_errors();
}
TEST_F(GridFailures, AccessesBeyondTheBoxOfAPartAreOutOfBounds) {
  const auto where = across(emulated_devices(4)).grid(2, 2).named("pairs");
  // Launches over arrays of its own, and says what the first device to be asked has found.
  const auto found = [&]<class Layout>(Layout, const auto& launch_over) {
    const CoherentArray<std::int64_t, rank<2>, Layout> a("a", 8, 8), b("b", 8, 8);
    std::string text;
    try {
      launch_over(a, b);
      for (int d = 0; d < 4; ++d) wait(Emulated{d});
    } catch (const OutOfBounds& error) {
      text = error.what();
    }
    take_errors();
    return text;
  };
  const auto pairs = [&](const auto& a, const auto&) { launch(where, mdrange({8, 4}), InPairs{}, inout(a)); };
  const auto read = [&](const auto& region) {
    return [&where, &region](const auto& a, const auto& b) {
      launch(where, mdrange({8, 8}), ReadLeft{}, in(a, region), out(b));
    };
  };
  const std::string wrote =
      "lies in the array, but outside of [0, 2) in dimension 1, which the launch declares";
  for (const std::string& text : {found(LayoutRight(), pairs), found(LayoutLeft(), pairs)}) {
    EXPECT_TRUE(has(text, "of \"a\" on Emulated{0} " + wrote));
    EXPECT_TRUE(has(text,
                    "launch over the elements that are written, read neighbours from a second array, or "
                    "give the grid one part along index 1"));
  }
  for (const std::string& text :
       {found(LayoutRight(), read(own_element)), found(LayoutTiled<8>(), read(own_element))}) {
    EXPECT_TRUE(has(text, "3) of \"a\" on Emulated{"));
    EXPECT_TRUE(has(text, "lies in the array, but outside of [4, 8) in dimension 1"));
    EXPECT_TRUE(has(text, "a halo of as many neighbours in dimension 1, such as halo({1, 1}, {1, 1})"));
  }
  const std::string far = found(LayoutRight(), [&](const auto& a, const auto& b) {
    launch(where, mdrange({8, 8}), ReadFar{}, in(a, own_element), out(b));
  });
  EXPECT_TRUE(has(far, "of \"a\"") && has(far, "lies outside [0, 8) x [0, 8)"));
  EXPECT_EQ(found(LayoutRight(), read(halo({0, 1}, {0, 0}))), "");
  EXPECT_EQ(found(LayoutRight(), read(own)), "");
}
#endif

struct Breaks {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto a) const {
    if (i == 5 && j == 6) throw std::runtime_error("broken");
    a(i, j) = 7;
  }
};
TEST_F(GridFailures, AKernelThatThrowsOnAHostLosesItsBoxAtMost) {
  const Plane<std::int64_t> a("a", 8, 8);
  const auto where = across(Emulated{0}, Emulated{1}, Emulated{0}, AnyHost(Serial{})).grid(2, 2);
  launch(where, mdrange({8, 8}), AddOne{}, inout(a));

  EXPECT_THROW(launch(where, mdrange({8, 8}), Breaks{}, inout(a)), std::runtime_error);

  const std::string lost = message_of<DataLost>([&] { static_cast<void>(a.read()); });
  EXPECT_TRUE(has(lost, "[4, 8) x [4, 8) of \"a\""));
  EXPECT_EQ(a(3, 7), 7);
  EXPECT_EQ(a(7, 3), 7);
}

}  // namespace
