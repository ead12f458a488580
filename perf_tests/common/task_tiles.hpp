// Tasks in a memory that is far too small: updates of tiles at random positions, where a device holds a tenth
// of the tiles. Seconds and bytes as measured, beside those of the simulator for the same graph.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <strata/algorithms/coherent_launch.hpp>
#include <strata/algorithms/tasks/simulator/simulator.hpp>
#include <strata/algorithms/tasks/task_costs.hpp>
#include <strata/algorithms/tasks/task_graph.hpp>
#include <strata/views/coherent/whole_copies.hpp>

#include "common/contest.hpp"
#include "common/streaming_cases.hpp"

namespace perf {

using TileWord = std::uint32_t;

struct FillTaskTile {
  TileWord seed;
  STRATA_FUNCTION void operator()(auto i, auto tile) const {
    const strata::index_t k = i;
    tile(i) = (seed + static_cast<TileWord>(k)) * 2654435761u;
  }
};
/// c += f(a, b): whatever their order, such updates give the same.
struct UpdateTile {
  int rounds;  // of multiply-adds
  STRATA_FUNCTION void operator()(auto i, auto a, auto b, auto c) const {
    const TileWord factor = b(i);
    TileWord value = a(i);
    for (int k = 0; k < rounds; ++k) value = value * factor + factor;
    c(i) += value;
  }
};

/// Of the values of a tile, those that are not `runs` times what one run gives; all threads of the host look.
struct CountWrong {
  const TileWord* expected;
  TileWord runs;
  STRATA_FUNCTION void operator()(auto i, auto tile, long& wrong) const {
    const strata::index_t k = i;
    if (tile(i) != runs * expected[k]) ++wrong;
  }
};
struct CopyTile {
  TileWord* copy;
  STRATA_FUNCTION void operator()(auto i, auto tile) const {
    const strata::index_t k = i;
    copy[k] = tile(i);
  }
};

/// The second half of the tiles is updated, each from two tiles of the first half.
struct TileUpdates {
  struct Update {
    std::size_t a, b, c;
  };
  static constexpr std::size_t num_tiles = 40 * 40, num_read = num_tiles / 2, num_updates = 2 * num_tiles;

  TileUpdates() {
    std::mt19937 draw(2);
    for (std::size_t k = 0; k < num_updates; ++k) {
      const std::size_t a = draw() % num_read, b = (a + 1 + draw() % (num_read - 1)) % num_read;
      list.push_back({a, b, num_read + draw() % (num_tiles - num_read)});
    }
  }
  /// As a run of a TaskGraph has it: the work of a task is the bytes that it uses.
  strata::tasks::TaskDag graph(strata::index_t tile_bytes) const {
    using strata::AccessMode;
    strata::tasks::TaskDag graph;
    const auto id = [](std::size_t tile) { return static_cast<strata::tasks::ArrayId>(tile); };
    for (std::size_t k = 0; k < num_tiles; ++k) graph.add_array(std::to_string(k), tile_bytes);
    for (const Update& u : list)
      graph.add_task("update", "update", 1 + 3 * static_cast<double>(tile_bytes),
                     {{id(u.a), AccessMode::In}, {id(u.b), AccessMode::In}, {id(u.c), AccessMode::InOut}});
    return graph;
  }

  std::vector<Update> list;
};

template <class D>
class SmallMemory {
  using Tile = strata::CoherentArray<TileWord, strata::rank<1>>;
  using Copies = strata::detail::WholeCopies;

 public:
  SmallMemory(const Options& options, Report& report)
      : options_(options),
        report_(report),
        edge_(options.n > 0 ? options.n
              : is_gpu<D>   ? 1024
                            : 64),
        items_(edge_ * edge_) {
    for (std::size_t k = 0; k < TileUpdates::num_tiles; ++k) {
      tiles_.emplace_back("tile", items_, fast_memory<D>);
      if (k >= TileUpdates::num_read) continue;
      const auto view = tiles_.back().write();
      strata::parallel_for(strata::on(strata::Threads{}), items_,
                           strata::with(FillTaskTile{static_cast<TileWord>(k)}, view.view()));
    }
    bytes_ = Copies::bytes(*tiles_[0].state());
    graph_ = updates_.graph(bytes_);
  }

  void run() {
    calibrate();
    in_order();
    strata::TaskGraph graph("updates");
    for (const auto& u : updates_.list)
      graph.launch("update", items_, UpdateTile{rounds_}, strata::in(tiles_[u.a]), strata::in(tiles_[u.b]),
                   strata::inout(tiles_[u.c]));
    table_.push_back({"scheduler", "s measured", "simulated", "ratio", "s decisions", "MB to devices",
                      "simulated", "ratio", "MB from devices", "simulated", "ratio"});
    for (const std::string& scheduler : strata::tasks::scheduler_names()) compare(graph, scheduler);
    std::printf("%zu updates of %zu tiles of %s, in the memory of %d, on %s:\n", TileUpdates::num_updates,
                TileUpdates::num_tiles, strata::string_from_bytes(bytes_).c_str(), tiles_on_device, D::name);
    print_table(table_, 1);
  }

 private:
  static constexpr int tiles_on_device = TileUpdates::num_tiles / 10;

  // A kernel is to take as long as the copy of a tile at 55 GB/s.
  void calibrate() {
    strata::coherent::set_budget(D{}, 4 * bytes_);
    const auto seconds_of = [&](int rounds) {
      constexpr int calls = 10;
      Race race;
      const int kernel = race.add([&] {
        for (int c = 0; c < calls; ++c)
          strata::launch(strata::on(D{}), items_, UpdateTile{rounds}, strata::in(tiles_[0]),
                         strata::in(tiles_[1]), strata::inout(scratch_tile()));
        strata::wait(D{});
      });
      race.run(7);
      return race[kernel].median / calls;
    };
    constexpr int few = 8, many = 264;
    const double target = static_cast<double>(bytes_) / 55e9;
    const double short_time = seconds_of(few), a_round = (seconds_of(many) - short_time) / (many - few);
    rounds_ = std::max(1, static_cast<int>(std::lround(few + (target - short_time) / a_round)));
    kernel_seconds_ = seconds_of(rounds_);
    scratch_ = Tile();
    link_ = Copies::link(nullptr, &D{}.backend());
    report_.note(std::string(D::name) + ": the kernel of an update has " + std::to_string(rounds_) +
                 " rounds and takes " + duration(kernel_seconds_) + " (" + duration(target) +
                 " were asked for); the copy of a tile takes " + duration(copy_seconds()) + " as measured, " +
                 duration(link_.seconds + static_cast<double>(bytes_) / link_.bytes_per_second) +
                 " in the simulation");
  }
  const Tile& scratch_tile() {
    if (!scratch_) scratch_ = Tile("scratch", items_);
    return scratch_;
  }
  // Of one of many that follow each other.
  double copy_seconds() {
    constexpr std::size_t count = 32;
    strata::coherent::set_budget(D{}, static_cast<strata::index_t>(count) * bytes_);
    std::vector<double> seconds;
    for (int rep = 0; rep < 5; ++rep) {
      clear_device();
      Copies copies;
      for (std::size_t k = 0; k < count; ++k) copies.reserve(tiles_[k].state(), D{}.backend());
      const double begin = now();
      strata::detail::Ref<strata::detail::EventState> last;
      for (std::size_t k = 0; k < count; ++k) last = copies.load(tiles_[k].state(), D{}.backend(), nullptr);
      last->wait();
      seconds.push_back((now() - begin) / count);
    }
    return statistics(seconds).median;
  }

  // The same updates without a graph, in the order of the program: what they give is what tasks have to give.
  void in_order() {
    strata::coherent::set_budget(D{}, tiles_on_device * bytes_);
    clear_device();
    const strata::TransferCounters before = strata::coherent::counters();
    const double begin = now();
    for (const auto& u : updates_.list)
      strata::launch(strata::on(D{}), items_, UpdateTile{rounds_}, strata::in(tiles_[u.a]),
                     strata::in(tiles_[u.b]), strata::inout(tiles_[u.c]));
    for (std::size_t k = TileUpdates::num_read; k < TileUpdates::num_tiles; ++k) tiles_[k].flush();
    in_order_seconds_ = now() - begin;
    const strata::TransferCounters after = strata::coherent::counters();
    const std::size_t items = static_cast<std::size_t>(items_);
    reference_.reset(new TileWord[(TileUpdates::num_tiles - TileUpdates::num_read) * items]);
    for (std::size_t k = TileUpdates::num_read; k < TileUpdates::num_tiles; ++k) {
      const auto view = tiles_[k].read();
      TileWord* const copy = reference_.get() + (k - TileUpdates::num_read) * items;
      strata::parallel_for(strata::on(strata::Threads{}), items_, strata::with(CopyTile{copy}, view.view()));
    }
    runs_ = 1;
    const auto bytes = [](const auto& now, const auto& then) {
      return static_cast<double>(now.bytes - then.bytes);
    };
    add("launches in order", statistics({in_order_seconds_}), none);
    add_bytes("launches in order: to devices", bytes(after.host_to_device, before.host_to_device), none);
    add_bytes("launches in order: from devices", bytes(after.device_to_host, before.device_to_host), none);
  }

  void compare(strata::TaskGraph& graph, const std::string& scheduler) {
    strata::TaskRunOptions run;
    run.scheduler = scheduler;
    run.on_host = true;
    std::vector<strata::TaskReport> reports;
    std::vector<double> seconds;
    for (int rep = 0; rep < options_.reps_or(3); ++rep) {
      clear_device();
      strata::TaskCosts costs;  // schedulers estimate with what the simulation has
      costs.add(D::name, "update", 3 * bytes_, kernel_seconds_);
      run.costs = &costs;
      reports.push_back(graph.run(strata::on(D{}), run));
      seconds.push_back(reports.back().seconds);
      ++runs_;
      const auto& ran = reports.back();
      report_.check(ran.bytes_to_devices == ran.devices[0].bytes_in &&
                        ran.bytes_from_devices == ran.devices[0].bytes_out,
                    scheduler + ": what is copied is what was to be copied");
    }
    std::sort(reports.begin(), reports.end(),
              [](const auto& a, const auto& b) { return a.bytes_to_devices < b.bytes_to_devices; });
    const strata::TaskReport& ran = reports[reports.size() / 2];
    const strata::tasks::Simulation simulated = simulate(scheduler);
    const Statistics time = statistics(seconds);
    add(scheduler, time, simulated.seconds);
    add_bytes(scheduler + ": to devices", static_cast<double>(ran.bytes_to_devices),
              static_cast<double>(simulated.traffic.to_devices));
    add_bytes(scheduler + ": from devices", static_cast<double>(ran.bytes_from_devices),
              static_cast<double>(simulated.traffic.from_devices));
    std::vector<std::string> row = {scheduler};
    const auto pair = [&](double measured, double of_simulation, int digits) {
      row.insert(row.end(),
                 {fixed(measured, digits), fixed(of_simulation, digits), fixed(measured / of_simulation, 3)});
    };
    pair(time.median, simulated.seconds, 4);
    row.push_back(fixed(ran.decision_seconds, 4));
    pair(static_cast<double>(ran.bytes_to_devices) / 1e6,
         static_cast<double>(simulated.traffic.to_devices) / 1e6, 1);
    pair(static_cast<double>(ran.bytes_from_devices) / 1e6,
         static_cast<double>(simulated.traffic.from_devices) / 1e6, 1);
    table_.push_back(std::move(row));
    report_.check(is_right(), scheduler + ": values of the tiles on " + D::name);
    report_.save(options_);
  }
  strata::tasks::Simulation simulate(const std::string& scheduler) const {
    const double rate = graph_.task(0).work / kernel_seconds_;
    const strata::tasks::Machine machine(D::name, {{D::name, tiles_on_device * bytes_, {{"*", rate}}, 1}},
                                         {{"link", link_.bytes_per_second, link_.seconds, true}},
                                         {{strata::tasks::host, 0, 0}});
    return strata::tasks::simulate(graph_, machine, *strata::tasks::make_scheduler(scheduler));
  }

  void clear_device() const {
    for (const Tile& tile : tiles_) Copies::evict(*tile.state(), D{}.backend());
  }
  bool is_right() const {
    const std::size_t items = static_cast<std::size_t>(items_);
    for (std::size_t k = TileUpdates::num_read; k < TileUpdates::num_tiles; ++k) {
      const auto view = tiles_[k].read();
      const TileWord* const expected = reference_.get() + (k - TileUpdates::num_read) * items;
      long wrong = 0;
      strata::parallel_reduce(strata::on(strata::Threads{}), items_,
                              strata::with(CountWrong{expected, runs_}, view.view()), strata::Sum(wrong));
      if (wrong > 0) return false;
    }
    return true;
  }
  void add(const std::string& name, const Statistics& time, double simulated) {
    report_.add({"small memory, " + name, D::name, edge_, "uint32", time, time.median, "s", simulated,
                 in_order_seconds_ / time.median});
  }
  void add_bytes(const std::string& name, double bytes, double simulated) {
    report_.add(
        {"small memory, " + name, D::name, edge_, "uint32", {}, bytes / 1e6, "MB", simulated / 1e6, none});
  }

  const Options& options_;
  Report& report_;
  const strata::index_t edge_, items_;
  const TileUpdates updates_;
  strata::tasks::TaskDag graph_;
  std::vector<Tile> tiles_;
  Tile scratch_;
  strata::index_t bytes_ = 0;
  int rounds_ = 1;
  double kernel_seconds_ = 0, in_order_seconds_ = 0;
  strata::detail::CopyCost link_{};
  std::unique_ptr<TileWord[]> reference_;  // of the tiles that are updated, after one run
  TileWord runs_ = 0;
  std::vector<std::vector<std::string>> table_;
};

}  // namespace perf
