// Carries out stream plans on plain vectors, stage by stage in a random order that the waits of the plan
// allow: a plan that lacks a wait gives wrong values sooner or later, as would one that copies a row too few.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <strata/algorithms/streaming/plan/stream_windows.hpp>

namespace plan_test {

using strata::index_t;
using strata::ResidentRows;
namespace detail = strata::detail;

// Values are hashes of all that they came from.
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15u + b + 0x7f4a7c15u;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9u;
  return x ^ (x >> 32);
}
inline constexpr std::uint64_t garbage = 0xdeadbeefdeadbeefu;

// The arrays of a run: one value a row.
struct Arrays {
  std::vector<std::vector<std::uint64_t>> values;  // of each array
};

// The kernel of all tests: the new value of row i of every state is made of its number, the rows around it of
// all states, and what rows of other arrays belong to it. `at(array, row)` reads.
template <class At>
std::uint64_t stencil(const detail::streaming::StreamProblem& problem, std::size_t state, index_t i,
                      const At& at) {
  std::uint64_t value = mix(static_cast<std::uint64_t>(i), state);
  for (std::size_t a = 0; a < problem.arrays.size(); ++a) {
    const detail::streaming::StreamArray& array = problem.arrays[a];
    if (array.use == detail::streaming::StreamArray::Use::State) {
      for (index_t r = i - array.left; r <= i + array.right; ++r)
        if (array.cyclic || (r >= 0 && r < array.rows)) value = mix(value, at(a, r));
    } else if (array.mode != strata::AccessMode::Out) {
      const ResidentRows rows = array.rows_of({i, i + 1});
      for (index_t r = rows.begin; r < rows.end; ++r)
        if (array.cyclic || (r >= 0 && r < array.rows)) value = mix(value, at(a, r));
    }
  }
  return value;
}

inline index_t wrapped(index_t r, index_t n) { return ((r % n) + n) % n; }

// A work item of a loop of a sequence: what it reads, in the order of the arrays it uses, makes what it
// writes. `at(array, row)` is a reference.
template <class At>
void do_item(const detail::streaming::StreamProblem& problem, const detail::streaming::StreamLoop& loop,
             index_t i, const At& at) {
  std::uint64_t value = mix(static_cast<std::uint64_t>(i), loop.uses.size());
  for (const detail::streaming::StreamLoop::Use& use : loop.uses) {
    if (!detail::reads(use.mode)) continue;
    const detail::streaming::StreamArray& array = problem.arrays[static_cast<std::size_t>(use.array)];
    ResidentRows rows = use.rows_of ? use.rows_of({i, i + 1}) : ResidentRows{i, i + 1};
    if (array.use == detail::streaming::StreamArray::Use::Whole) rows = {0, array.rows};
    const index_t end = std::min(rows.end, array.rows);
    for (index_t r = std::max<index_t>(rows.begin, 0); r < end; ++r) value = mix(value, at(use.array, r));
  }
  for (const detail::streaming::StreamLoop::Use& use : loop.uses)
    if (detail::writes(use.mode)) at(use.array, i) = mix(value, static_cast<std::uint64_t>(use.array));
}

// What the steps give, with all arrays at hand.
inline void reference(const detail::streaming::StreamProblem& problem, Arrays& arrays) {
  if (!problem.loops.empty()) {
    for (int step = 1; step <= problem.steps; ++step) {
      const detail::streaming::StreamLoop& loop = problem.loop_of(step);
      for (index_t i = loop.work.begin; i < loop.work.end; ++i)
        do_item(problem, loop, i, [&](int a, index_t r) -> std::uint64_t& {
          return arrays.values[static_cast<std::size_t>(a)][static_cast<std::size_t>(r)];
        });
    }
    return;
  }
  for (int step = 0; step < problem.steps; ++step) {
    const Arrays old = arrays;
    for (index_t i = problem.work.begin; i < problem.work.end; ++i)
      for (std::size_t a = 0; a < problem.arrays.size(); ++a)
        if (problem.arrays[a].use == detail::streaming::StreamArray::Use::State)
          arrays.values[a][static_cast<std::size_t>(i)] =
              stencil(problem, a, i, [&](std::size_t b, index_t r) {
                return old.values[b][static_cast<std::size_t>(wrapped(r, problem.arrays[b].rows))];
              });
  }
}

// What the host has while plans are carried out: both sides.
struct Host {
  Host(const detail::streaming::StreamProblem& problem, const Arrays& arrays) {
    sides[0] = sides[1] = arrays.values;
    for (std::size_t a = 0; a < problem.arrays.size(); ++a)
      for (auto& values : sides[1][a])
        if (problem.arrays[a].use == detail::streaming::StreamArray::Use::State) values = garbage;
  }
  std::vector<std::vector<std::uint64_t>> sides[2];
};

// One device that carries out its plan.
class Interpreter {
 public:
  Interpreter(const detail::streaming::StreamProblem& problem, const detail::streaming::StreamPlan& plan,
              Host& host)
      : problem_(problem), plan_(plan), host_(host.sides) {
    buffers_.resize(problem.arrays.size());
    for (std::size_t a = 0; a < problem.arrays.size(); ++a)
      buffers_[a].assign(static_cast<std::size_t>(plan.slots) * 2,
                         std::vector<std::uint64_t>(static_cast<std::size_t>(plan.window_rows[a]), garbage));
    for (int p = 0; p < plan.passes; ++p)
      for (std::size_t k = 0; k < plan.pass_number(p).tiles.size(); ++k)
        tiles_.push_back({p, static_cast<int>(k)});
    windows_ = detail::streaming::StreamWindows(problem, plan);
    for (int p = 0; p < plan.passes; ++p) windows_.add(plan.pass_number(p));
    first_.push_back(0);
    for (int p = 0; p < plan.passes; ++p)
      first_.push_back(first_.back() + static_cast<long>(plan.pass_number(p).tiles.size()));
  }
  index_t updates() const { return updates_; }
  // Passes that are done.
  int passes_done() const {
    int p = 0;
    while (p < plan_.passes && next_[2] >= first_[static_cast<std::size_t>(p) + 1]) ++p;
    return p;
  }
  // The stages of passes up to `pass` that may be next.
  std::vector<int> able(int pass) const {
    const long count = static_cast<long>(tiles_.size());
    std::vector<int> all;
    for (int s = 0; s < 3; ++s)
      if (next_[s] < count && tiles_[static_cast<std::size_t>(next_[s])].pass <= pass &&
          ready(static_cast<detail::streaming::StreamStage>(s), next_[s]))
        all.push_back(s);
    return all;
  }
  void do_next(int stage) {
    carry_out(static_cast<detail::streaming::StreamStage>(stage), next_[stage]);
    ++next_[stage];
  }
  int side(int pass, int side) const {
    int now = side;
    for (int p = 0; p < pass; ++p) now ^= plan_.pass_number(p).in_place ? 0 : 1;
    return now;
  }

 private:
  struct At {
    int pass, tile;
  };
  std::uint64_t& host(const detail::streaming::StreamCopy& copy, int pass, index_t row) {
    const bool state = problem_.arrays[static_cast<std::size_t>(copy.array)].use ==
                       detail::streaming::StreamArray::Use::State;
    return host_[state ? side(pass, copy.side) : 0][static_cast<std::size_t>(copy.array)]
                [static_cast<std::size_t>(row)];
  }
  std::uint64_t& device(long tile, int array, int buffer, index_t row) {
    const At at = tiles_[static_cast<std::size_t>(tile)];
    const ResidentRows window = plan_.pass_number(at.pass)
                                    .tiles[static_cast<std::size_t>(at.tile)]
                                    .windows[static_cast<std::size_t>(array)];
    EXPECT_TRUE(row >= window.begin && row < window.end)
        << "row " << row << " of window [" << window.begin << ", " << window.end << ")";
    static std::uint64_t nowhere;
    if (row < window.begin || row >= window.end) return nowhere = garbage;
    if (plan_.wraps()) {
      auto& rows = buffers_[static_cast<std::size_t>(array)][0];
      const index_t pass_rows =
          detail::streaming::rows_of_pass(problem_.arrays[static_cast<std::size_t>(array)]);
      return rows[static_cast<std::size_t>(at.pass * pass_rows + row) % rows.size()];
    }
    return buffers_[static_cast<std::size_t>(array)][static_cast<std::size_t>(
        windows_.window_of(tile) % plan_.slots * 2 + buffer)][static_cast<std::size_t>(row - window.begin)];
  }
  bool done(detail::streaming::StreamStage stage, long tile) const {
    return next_[static_cast<std::size_t>(stage)] > tile;
  }
  bool ready(detail::streaming::StreamStage stage, long tile) const {
    const At at = tiles_[static_cast<std::size_t>(tile)];
    const detail::streaming::StreamTile& now =
        plan_.pass_number(at.pass).tiles[static_cast<std::size_t>(at.tile)];
    const auto all = [&](const std::vector<detail::streaming::StreamWait>& waits) {
      for (const detail::streaming::StreamWait& wait : waits) {
        const int pass = at.pass - (wait.previous_pass ? 1 : 0);
        if (pass >= 0 && !done(wait.stage, first_[static_cast<std::size_t>(pass)] + wait.tile)) return false;
      }
      return true;
    };
    switch (stage) {
      case detail::streaming::StreamStage::Upload:
        for (const detail::streaming::SlotWait& wait : windows_.waits(tile))
          if (!done(wait.stage, wait.tile)) return false;
        return all(now.before_upload);
      case detail::streaming::StreamStage::Compute:
        return done(detail::streaming::StreamStage::Upload, tile);
      case detail::streaming::StreamStage::Download:
        break;
    }
    return done(detail::streaming::StreamStage::Compute, tile) && all(now.before_download);
  }
  void carry_out(detail::streaming::StreamStage stage, long number) {
    const At at = tiles_[static_cast<std::size_t>(number)];
    const detail::streaming::StreamTile& tile =
        plan_.pass_number(at.pass).tiles[static_cast<std::size_t>(at.tile)];
    if (stage == detail::streaming::StreamStage::Upload)
      for (const detail::streaming::StreamCopy& copy : tile.uploads)
        for (index_t r = copy.rows.begin; r < copy.rows.end; ++r)
          device(number, copy.array, copy.buffer, r + copy.shift) = host(copy, at.pass, r);
    if (stage == detail::streaming::StreamStage::Download)
      for (const detail::streaming::StreamCopy& copy : tile.downloads)
        for (index_t r = copy.rows.begin; r < copy.rows.end; ++r)
          host(copy, at.pass, r) = device(number, copy.array, copy.buffer, r + copy.shift);
    if (stage != detail::streaming::StreamStage::Compute) return;
    for (const detail::streaming::StreamMove& move : tile.moves)
      for (index_t r = move.rows.begin; r < move.rows.end; ++r)
        device(number, move.array, move.buffer, r) =
            device(move.from_previous ? number - 1 : number, move.array, move.from_buffer, r);
    if (!problem_.loops.empty()) {
      for (const detail::streaming::StreamLaunch& launch : tile.launches)
        for (index_t i = launch.work.begin; i < launch.work.end; ++i, ++updates_)
          do_item(problem_, problem_.loop_of(launch.step), i, [&](int a, index_t r) -> std::uint64_t& {
            const auto k = static_cast<std::size_t>(a);
            if (problem_.arrays[k].use == detail::streaming::StreamArray::Use::Whole)
              return host_[0][k][static_cast<std::size_t>(r)];
            return device(number, a, 0, r);
          });
      return;
    }
    for (const detail::streaming::StreamLaunch& launch : tile.launches)
      for (index_t i = launch.work.begin; i < launch.work.end; ++i)
        for (std::size_t a = 0; a < problem_.arrays.size(); ++a) {
          const detail::streaming::StreamArray& array = problem_.arrays[a];
          if (array.use != detail::streaming::StreamArray::Use::State) continue;
          const std::uint64_t value = stencil(problem_, a, i, [&](std::size_t b, index_t r) {
            const bool state = problem_.arrays[b].use == detail::streaming::StreamArray::Use::State;
            if (problem_.arrays[b].use == detail::streaming::StreamArray::Use::Whole)
              return host_[0][b][static_cast<std::size_t>(wrapped(r, problem_.arrays[b].rows))];
            return device(number, static_cast<int>(b), state ? (launch.step - 1) % 2 : 0, r + launch.shift);
          });
          device(number, static_cast<int>(a), launch.step % 2, i + launch.shift) = value;
          ++updates_;
        }
  }

  const detail::streaming::StreamProblem& problem_;
  const detail::streaming::StreamPlan& plan_;
  std::vector<std::vector<std::uint64_t>>* host_;  // of both sides
  std::vector<std::vector<std::vector<std::uint64_t>>> buffers_;
  std::vector<At> tiles_;
  detail::streaming::StreamWindows windows_;
  std::vector<long> first_;
  long next_[3] = {0, 0, 0};
  index_t updates_ = 0;
};

// Carries out the plans of devices that have parts of the rows, all at the same time in a random order; a
// pass begins when the one before is done everywhere. Returns the updates of rows in all.
inline index_t carry_out_together(const std::vector<detail::streaming::StreamProblem>& problems,
                                  const std::vector<detail::streaming::StreamPlan>& plans, Arrays& arrays,
                                  unsigned seed) {
  std::mt19937 random(seed);
  Host host(problems[0], arrays);
  std::vector<Interpreter> devices;
  devices.reserve(plans.size());
  for (std::size_t d = 0; d < plans.size(); ++d) devices.emplace_back(problems[d], plans[d], host);
  const int passes = plans[0].passes;
  const auto passes_done = [&] {
    int done = passes;
    for (const Interpreter& device : devices) done = std::min(done, device.passes_done());
    return done;
  };
  // One device goes on as its own waits allow.
  for (int done = 0; (done = passes_done()) < passes;) {
    std::vector<std::pair<std::size_t, int>> able;
    for (std::size_t d = 0; d < devices.size(); ++d)
      for (const int stage : devices[d].able(devices.size() == 1 ? passes : done))
        able.emplace_back(d, stage);
    if (able.empty()) {
      ADD_FAILURE() << "the plan waits for itself";
      return 0;
    }
    const auto [d, stage] = able[random() % able.size()];
    devices[d].do_next(stage);
  }
  arrays.values = host.sides[devices[0].side(passes, 0)];
  for (std::size_t a = 0; a < arrays.values.size(); ++a)
    if (problems[0].arrays[a].use != detail::streaming::StreamArray::Use::State)
      arrays.values[a] = host.sides[0][a];
  index_t updates = 0;
  for (const Interpreter& device : devices) updates += device.updates();
  return updates;
}

}  // namespace plan_test
