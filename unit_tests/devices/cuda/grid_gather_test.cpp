// Reductions of many blocks, whose values go through the slots of a queue or a graph: of any size, one after
// the other, over ranges and boxes that begin anywhere; and what finalize functors see of what bodies wrote.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <strata/strata.hpp>

#include "core/random.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

STRATA_FUNCTION std::uint32_t hash_of(index_t i) {
  const std::uint64_t hash = (static_cast<std::uint64_t>(i) + 1) * 0x9e3779b97f4a7c15u;
  return static_cast<std::uint32_t>(hash >> 29);
}

// Sums modulo 2^32; number k adds up multiples of k + 1.
template <int Numbers>
struct Sums {
  std::uint32_t of[Numbers];
};
template <int Numbers>
struct AddHashes {
  using device_type = Cuda;
  using value_type = Sums<Numbers>;
  index_t salt;

  STRATA_FUNCTION void operator()(index_t i, value_type& sums) const {
    const std::uint32_t hash = hash_of(i + salt);
    for (int k = 0; k < Numbers; ++k) sums.of[k] += static_cast<std::uint32_t>(k + 1) * hash;
  }
  STRATA_FUNCTION void operator()(index_t i, index_t j, value_type& sums) const {
    (*this)(1'000'000 * i + j, sums);
  }
  STRATA_FUNCTION static void init(value_type& sums) {
    for (int k = 0; k < Numbers; ++k) sums.of[k] = 0;
  }
  STRATA_FUNCTION static void join(value_type& sums, const value_type& more) {
    for (int k = 0; k < Numbers; ++k) sums.of[k] += more.of[k];
  }
};

// A range, or where there are columns, a box.
struct Work {
  index_t begin, rows, first_column, columns, salt;

  std::uint32_t expected() const {
    std::uint32_t sum = 0;
    for (index_t i = begin; i < begin + rows; ++i)
      if (columns == 0) sum += hash_of(i + salt);
      else
        for (index_t j = first_column; j < first_column + columns; ++j)
          sum += hash_of(1'000'000 * i + j + salt);
    return sum;
  }
  std::string text() const {
    const std::string from = std::to_string(rows) + " from " + std::to_string(begin);
    return columns == 0 ? from
                        : from + ", by " + std::to_string(columns) + " from " + std::to_string(first_column);
  }
};
Work any_work(Random& draw, bool may_be_box) {
  const auto any_begin = [&] {
    return draw(0, 2) == 0 ? draw(-2'000'000, 100) : draw(-(index_t{1} << 40), 100);
  };
  const auto any_count = [&](index_t most) { return draw(1, most >> draw(0, 12)); };
  Work work{any_begin(), any_count(3'000'000), 0, 0, draw(0, 1000)};
  if (may_be_box && draw(0, 1) == 0) {
    work.rows = any_count(100'000);
    work.columns = std::max<index_t>(any_count(2'000'000) / work.rows, 1);
    work.first_column = draw(-1000, 1000);
  }
  return work;
}

// One kind of value, of which several results are wanted at a time.
template <int Numbers>
class Results {
 public:
  void launch(const Queue<Cuda>& queue, const Work& work) {
    const AddHashes<Numbers> kernel{work.salt};
    const auto result = create<Value<Sums<Numbers>, Cuda>>("result");
    if (work.columns == 0) {
      parallel_reduce(on(queue), range(work.begin, work.begin + work.rows), kernel, result);
    } else if constexpr (Numbers == 2) {
      const auto box = mdrange({work.begin, work.first_column},
                               {work.begin + work.rows, work.first_column + work.columns});
      parallel_reduce(on(queue), box, kernel, result);
    }
    checks_.push_back([work, result] {
      Sums<Numbers> sums;
      deep_copy(sums, result);
      const std::uint32_t expected = work.expected();
      for (int k = 0; k < Numbers; ++k)
        ASSERT_EQ(sums.of[k], static_cast<std::uint32_t>(k + 1) * expected)
            << "number " << k << " of " << Numbers << "; " << work.text();
    });
  }
  void check() const {
    for (const auto& check : checks_) check();
  }

 private:
  std::vector<std::function<void()>> checks_;
};

TEST(ReductionsOfManyBlocks, JoinValuesOfAnySizeInAnyOrder) {
  Random draw;
  for (int trial = 0; trial < trials(12); ++trial) {
    const Queue<Cuda> queue;
    Results<2> two;
    Results<11> eleven;
    Results<150> many;
    const auto launch_some = [&] {
      for (int k = 0; k < 8; ++k) {
        const index_t kind = draw(0, 2);
        const Work work = any_work(draw, kind == 0);
        if (kind == 0) two.launch(queue, work);
        else if (kind == 1) eleven.launch(queue, work);
        else many.launch(queue, work);
      }
    };
    launch_some();
    const auto graph = record(queue, [&] {
      when_all(queue, launch_some, launch_some);
      launch_some();
    });
    for (index_t replays = draw(1, 3); replays > 0; --replays) graph.launch(queue);
    launch_some();
    queue.wait();

    two.check();
    eleven.check();
    many.check();
    if (HasFatalFailure()) return;
  }
}

// Writes an element, of a view whose type does not tell it, and reads one that another block writes, so that
// the caches of multiprocessors have old ones.
struct WriteAndCount {
  using device_type = Cuda;
  using value_type = std::uint32_t;
  MDArray<std::uint32_t, Cuda, rank<1>> x;
  std::uint32_t round;

  STRATA_FUNCTION void operator()(index_t i, std::uint32_t& count) const {
    const index_t n = x.extent(0);
    if (x((i + n / 2) % n) != ~0u) ++count;
    x(i) = round + static_cast<std::uint32_t>(i);
  }
  STRATA_FUNCTION static void init(std::uint32_t& count) { count = 0; }
  STRATA_FUNCTION static void join(std::uint32_t& count, std::uint32_t more) { count += more; }
};
// Counts elements that are not there.
struct CountMissing {
  MDArray<const std::uint32_t, Cuda, rank<1>> x;
  Value<index_t, Cuda> missing;
  std::uint32_t round;

  STRATA_FUNCTION void operator()(std::uint32_t count) const {
    const index_t n = x.extent(0);
    if (count != static_cast<std::uint32_t>(n)) *missing += n;
    for (index_t i = n - 1; i >= 0; i -= 1 + n / 2000)
      if (x(i) != round + static_cast<std::uint32_t>(i)) ++*missing;
  }
};

TEST(ReductionsOfManyBlocks, LetFinalizeSeeWhatAllBlocksWrote) {
  Random draw;
  const Queue<Cuda> queue;
  const auto missing = create<Value<index_t, Cuda>>("missing");
  deep_copy(queue, missing, index_t{0});
  for (int trial = 0; trial < trials(40); ++trial) {
    const index_t n = draw(1, index_t{1} << draw(1, 21));
    const auto x = create<MDArray<std::uint32_t, Cuda, rank<1>>>("x", n);
    for (std::uint32_t round = 1; round <= 5; ++round)
      parallel_reduce(on(queue), n, WriteAndCount{x, round}, CountMissing{x, missing, round});
    index_t found = 0;
    queue.wait();
    deep_copy(found, missing);
    ASSERT_EQ(found, 0) << n << " elements";
  }
}

// Finds the greatest of the elements that it writes, by joins that read them.
struct FindGreatest {
  using device_type = Cuda;
  using value_type = index_t;
  MDArray<std::uint32_t, Cuda, rank<1>> x;
  index_t salt;

  STRATA_FUNCTION void operator()(index_t i, index_t& greatest) const {
    const index_t n = x.extent(0);
    if (x((i + n / 2) % n) == ~0u) return;
    x(i) = hash_of(i + salt) / 2;
    join(greatest, i);
  }
  STRATA_FUNCTION void init(index_t& greatest) const { greatest = -1; }
  STRATA_FUNCTION void join(index_t& greatest, index_t other) const {
    if (other >= 0 && (greatest < 0 || x(other) > x(greatest))) greatest = other;
  }
};

TEST(ReductionsOfManyBlocks, LetJoinsSeeWhatAllBlocksWrote) {
  Random draw;
  const Queue<Cuda> queue;
  for (int trial = 0; trial < trials(20); ++trial) {
    const index_t n = draw(1, index_t{1} << draw(1, 21));
    const auto x = create<MDArray<std::uint32_t, Cuda, rank<1>>>("x", n);
    std::vector<Value<index_t, Cuda>> found;
    for (index_t salt = 0; salt < 5; ++salt) {
      found.push_back(create<Value<index_t, Cuda>>("found"));
      parallel_reduce(on(queue), n, FindGreatest{x, salt}, found.back());
    }
    queue.wait();
    for (index_t salt = 0; salt < 5; ++salt) {
      index_t at = -1;
      deep_copy(at, found[static_cast<std::size_t>(salt)]);
      std::uint32_t greatest = 0;
      for (index_t i = 0; i < n; ++i) greatest = std::max(greatest, hash_of(i + salt) / 2);
      ASSERT_TRUE(at >= 0 && at < n) << at << " of " << n;
      ASSERT_EQ(hash_of(at + salt) / 2, greatest) << at << " of " << n;
    }
  }
}

}  // namespace
