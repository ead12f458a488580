// Arrays that do not fit a device: a map and stencils, in core and out of it, streamed and not, on one device
// and on several; the link's limit; foreign pageable memory; files; a sum of a large host array. The figures
// of Veit et al. are strata_streaming_figures.
//
//   not streamed   all to the device, the kernel, all back
//   streamed       in slices that overlap, with a budget for all of the arrays, or for a part (out of core)
//
// On devices other than a GPU the program is for trying itself out: --device, small sizes.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <strata/algorithms/streaming/fused_steps.hpp>
#include <strata/algorithms/streaming/streamed_iterate.hpp>
#include <strata/algorithms/streaming/streamed_reduce.hpp>
#include <strata/version.hpp>
#include <strata/views/coherent/file_array.hpp>
#include <strata/views/coherent/file_storage.hpp>

#include "baselines/host_pages.hpp"
#include "common/streaming_cases.hpp"

namespace {

using namespace perf;
using namespace strata;

struct Scale {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) = 2 * x(i); }
};
struct Add {
  STRATA_FUNCTION void operator()(auto i, auto x, double& sum) const { sum += x(i); }
};
struct FivePoints {
  static constexpr int reach = 1;
  STRATA_FUNCTION void operator()(index_t i, index_t j, const auto& old, const auto& next) const {
    next(i, j) = 0.5 * old(i, j) + 0.125 * (old(i - 1, j) + old(i + 1, j) + old(i, j - 1) + old(i, j + 1));
  }
};
struct SevenPoints {
  static constexpr int reach = 1;
  STRATA_FUNCTION void operator()(index_t i, index_t j, index_t k, const auto& old, const auto& next) const {
    next(i, j, k) = 0.4 * old(i, j, k) + 0.1 * (old(i - 1, j, k) + old(i + 1, j, k) + old(i, j - 1, k) +
                                                old(i, j + 1, k) + old(i, j, k - 1) + old(i, j, k + 1));
  }
};

struct FillOnes {
  STRATA_FUNCTION void operator()(auto i, const auto& v) const { v(i) = 1; }
};

// A file that goes away with it, after an error too.
struct Removed {
  explicit Removed(std::string p) : path(std::move(p)) {}
  Removed(const Removed&) = delete;
  Removed& operator=(const Removed&) = delete;
  ~Removed() { std::remove(path.c_str()); }
  std::string path;
};

template <class D>
class Streaming : StreamingCases<D> {
  using Cases = StreamingCases<D>;
  using Cases::add, Cases::bytes, Cases::elements, Cases::not_streamed, Cases::measured, Cases::report_,
      Cases::unit_;

 public:
  using Cases::Cases;

  void all() {
    measured([&] { Cases::link(); });
    measured([&] { map(); });
    measured([&] { several(); });
    measured([&] { disk(); });
    measured([&] { stencils(); });
    measured([&] { large_sum(); });
  }

 private:
  void map() {
    const index_t n = elements(4e9, 8);
    const CoherentArray<double, rank<1>> x("x", n, fast_memory<D>), y("y", n, fast_memory<D>);
    fill_streamed(x);
    const double moved = 8.0 * static_cast<double>(n);
    const double limit = 2 * moved / link_seconds<D>(moved, moved) / 1e9;
    StreamReport report;
    for (const double budget : {1e9, 12e9}) {
      const auto where = streamed(D{}, bytes(budget));
      const Statistics time = times(3, [&] { report = launch(where, n, Scale{}, in(x), out(y)); });
      const bool in_core = budget > 1e10;
      add(std::string("map, 1 in, 1 out, ") + (in_core ? "in core" : "out of core"), n, "double", time,
          2 * moved / time.median / 1e9, "GB/s", limit);
      if (!in_core) report_.note("map out of core: " + predicted(report, time.median));
    }
    report_.check(y(5) == 2 * x(5) && y(n - 1) == 2 * x(n - 1), "the map");
    const Statistics whole = times(2, [&] {
      not_streamed(x, y, n,
                   [&](const auto& a, const auto& b) { parallel_for(on(D{}), n, with(Scale{}, a, b)); });
    });
    add("map, 1 in, 1 out, not streamed", n, "double", whole, 2 * moved / whole.median / 1e9, "GB/s", limit);

    // Memory that somebody else allocated, pageable: what it costs to pin it is in the first run.
    const index_t part = elements(1e9, 8);
    const std::unique_ptr<double[]> foreign(new double[static_cast<std::size_t>(2 * part)]);
    std::memset(foreign.get(), 0, static_cast<std::size_t>(2 * part) * sizeof(double));
    using Plain = MDArray<double, Serial, rank<1>>;
    const typename LayoutRight::template mapping<typename Plain::extents_type> mapping{
        typename Plain::extents_type{part}};
    using Lent = View<double, Serial, typename Plain::extents_type, LayoutRight, Unmanaged<DefaultAccess>>;
    const auto a = CoherentArray<double, rank<1>>::adopt("foreign x", Lent(foreign.get(), mapping));
    const auto b = CoherentArray<double, rank<1>>::adopt("foreign y", Lent(foreign.get() + part, mapping));
    double begin = now();
    report = launch(streamed(D{}, bytes(1e9)), part, Scale{}, in(a), out(b));
    const double first = now() - begin;
    const Statistics later =
        times(3, [&] { launch(streamed(D{}, bytes(1e9)), part, Scale{}, in(a), out(b)); });
    const double all = 16.0 * static_cast<double>(part);
    add("map of foreign memory, the first time", part, "double", once(first), all / first / 1e9, "GB/s",
        limit);
    add("map of foreign memory, then", part, "double", later, all / later.median / 1e9, "GB/s", limit);
    report_.note(report.pinned ? "foreign memory is pinned by its first use"
                               : "the system forbids pinning: foreign memory goes through staging buffers");
  }

  // So many bytes each way to and from each of several devices at once, by hand.
  static double links_seconds([[maybe_unused]] int count, [[maybe_unused]] double each_way) {
#if STRATA_HAS_CUDA
    if constexpr (is_gpu<D>)
      return links_copy_seconds(count, static_cast<std::size_t>(each_way), static_cast<std::size_t>(each_way),
                                std::size_t{16} << 20, 5);
#endif
    return none;
  }

  // Seconds in which so many devices together take `x` and write `y`, by hand, in pieces like the plan's.
  template <class T>
  static double arrays_seconds([[maybe_unused]] int count,
                               [[maybe_unused]] const CoherentArray<T, rank<1>>& x,
                               [[maybe_unused]] const CoherentArray<T, rank<1>>& y,
                               [[maybe_unused]] index_t chunk) {
#if STRATA_HAS_CUDA
    if constexpr (is_gpu<D>) {
      const auto from = x.read();
      const auto to = y.write();
      return arrays_copy_seconds(count, from.view().data(), to.view().data(),
                                 static_cast<std::size_t>(x.extent(0)) * sizeof(T),
                                 static_cast<std::size_t>(chunk) * sizeof(T), 3);
    }
#endif
    return none;
  }

  // The same launches on one device and on several, against copies by hand of the same arrays.
  void several() {
    const index_t n = elements(8e9, 8);
    const double size = 8.0 * static_cast<double>(n);
    index_t chunk = 0;
    {
      const CoherentArray<double, rank<1>> x("x", n, fast_memory<D>), y("y", n, fast_memory<D>);
      fill_streamed(x);
      double map_one = 0, steps_one = 0;
      for (int count = 1; count <= D::count(); count *= 2) {
        std::vector<D> devices;
        for (int k = 0; k < count; ++k) devices.push_back(D(k));
        const auto where = streamed(across(devices), bytes(1e9));
        const std::string name = ", " + std::to_string(count) + " devices";
        const double part = size / count, links = links_seconds(count, part);
        if (links > 0)
          add("links both ways, by hand" + name, 0, "bytes", once(links), 2 * part * count / links / 1e9,
              "GB/s", none);
        StreamReport report;
        const Statistics map = times(3, [&] { report = launch(where, n, Scale{}, in(x), out(y)); });
        if (count == 1) map_one = map.median;
        chunk = std::max<index_t>(report.chunk, 1 << 17);
        const double hand = arrays_seconds(count, x, y, chunk);
        const bool known = hand > 0;
        if (known)
          add("arrays of the map both ways, by hand" + name, n, "double", once(hand), 2 * size / hand / 1e9,
              "GB/s", none);
        add("map, 1 in, 1 out" + name, n, "double", map, 2 * size / map.median / 1e9, "GB/s",
            known ? 2 * size / hand / 1e9 : none, map_one / map.median);
        constexpr int steps = 192;
        const Statistics run =
            times(2, [&] { report = streamed_iterate(where, steps, ThreePoints{}, state(x, halo(1, 1))); });
        if (count == 1) steps_one = run.median;
        const double updates = static_cast<double>(n - 2) * steps;
        // So many passes take at least as many such copies; and several devices, at least their part of the
        // time of one.
        double least = known ? report.passes * hand : none;
        if (known && count > 1) least = std::max(least, steps_one / count);
        add("3-point stencil" + name, n, "double", run, updates / run.median / 1e9, "G/s",
            known ? updates / least / 1e9 : none, steps_one / run.median);
        report_.note("3-point stencil" + name + ": " + std::to_string(report.passes) + " passes, " +
                     fixed(run.median, 3) + " s, of which " + fixed(report.seconds, 3) +
                     " s from the first copy to the end; " + report.explain());
      }
    }
    pinned_pages(n, chunk);
  }

  // What the host's memory gives several GPUs, by where its pages lie: notes only.
  void pinned_pages([[maybe_unused]] index_t n, [[maybe_unused]] index_t chunk) {
#if STRATA_HAS_CUDA
    if constexpr (is_gpu<D>) {
      const int count = D::count();
      if (count < 2) return;
      const std::size_t all = static_cast<std::size_t>(n) * 8, piece = static_cast<std::size_t>(chunk) * 8;
      const double size = static_cast<double>(all);
      std::string nodes;
      for (const int node : numa_nodes_of_gpus(count)) nodes.append(" ").append(std::to_string(node));
      report_.note("host: " + std::to_string(numa_nodes().size()) +
                   " NUMA nodes with memory; nodes of GPUs:" + nodes);
      if (const double seconds = host_copy_seconds(all, 3); seconds > 0)
        report_.note("host: its threads copy an array at " + fixed(2 * size / seconds / 1e9, 1) +
                     " GB/s, read and written");
      const auto measure = [&](PinnedPages pages, int devices) {
        const ArraysCopy copy = arrays_copy(pages, devices, all, piece, 3);
        if (!(copy.both > 0)) return;
        report_.note("host: " + std::to_string(devices) + " GPUs, arrays by " + name_of(pages) + " (" +
                     copy.nodes + "): both ways " + fixed(2 * size / copy.both / 1e9, 1) +
                     " GB/s, to the GPUs " + fixed(size / copy.in / 1e9, 1) + ", from them " +
                     fixed(size / copy.out / 1e9, 1));
      };
      measure(PinnedPages::HostAlloc, 1);
      for (const PinnedPages pages :
           {PinnedPages::HostAlloc, PinnedPages::OneThread, PinnedPages::Interleaved, PinnedPages::NearGpus})
        measure(pages, count);
    }
#endif
  }

  // Files: a map from one to another and a sum, against reads and writes of the same files that do nothing
  // else. With STRATA_CUDA_DIRECT_FILES=1 also by the GPU itself.
  void disk() {
    const char* const folder = std::getenv("TMPDIR");
    const std::string path = std::string(folder != nullptr ? folder : "/tmp") + "/strata_streaming_test";
    const bool by_gpu_too = settings().cuda_direct_files;
    set_setting(&Settings::cuda_direct_files, false);
    const index_t n = elements(1e9, 8);
    const Removed first(path + "_x"), second(path + "_y");
    const auto x = file_array<double, rank<1>>(first.path, n, overwrite);
    const auto y = file_array<double, rank<1>>(second.path, n, overwrite);
    fill_streamed(x);
    save(x);
    save(y);
    const double size = 8.0 * static_cast<double>(n);
    const double read = file_seconds(x, false), write = file_seconds(y, true);
    add("file read, nothing else", n, "double", once(read), size / read / 1e9, "GB/s", none);
    add("file written, nothing else", n, "double", once(write), size / write / 1e9, "GB/s", none);
    double sum = 0;
    const auto where = streamed(D{}, bytes(0.5e9));
    StreamReport report;
    const Statistics reading = times(2, [&] { report = launch_reduce(where, n, Add{}, Sum(sum), in(x)); });
    report_.note("sum of a file: " + predicted(report, report.seconds));
    add("sum of a file", n, "double", reading, size / reading.median / 1e9, "GB/s", size / read / 1e9);
    // Reads and writes at once share the disk.
    double together = now();
    {
      std::thread reader([&] { static_cast<void>(file_seconds(x, false)); });
      static_cast<void>(file_seconds(y, true));
      reader.join();
      together = now() - together;
    }
    const Statistics both = times(2, [&] { report = launch(where, n, Scale{}, in(x), out(y)); });
    report_.note("map from file to file: " + predicted(report, report.seconds));
    add("file read and file written at once, nothing else", n, "double", once(together),
        size / together / 1e9, "GB/s", none);
    add("map from file to file", n, "double", both, size / both.median / 1e9, "GB/s", size / together / 1e9);
    report_.check(y(7) == 2 * x(7), "the map of files");
    if (!by_gpu_too) return;
    set_setting(&Settings::cuda_direct_files, true);
    const Statistics sums = times(2, [&] { report = launch_reduce(where, n, Add{}, Sum(sum), in(x)); });
    if (report.bytes_direct == 0) return;  // a warning has said why
    add("sum of a file, by cuFile", n, "double", sums, size / sums.median / 1e9, "GB/s", size / read / 1e9);
    const Statistics maps = times(2, [&] { launch(where, n, Scale{}, in(x), out(y)); });
    add("map from file to file, by cuFile", n, "double", maps, size / maps.median / 1e9, "GB/s",
        size / together / 1e9);
    report_.check(y(7) == 2 * x(7), "the map of files by cuFile");
  }
  // All of the file in requests of 64 MiB, four at once, past the page cache.
  static double file_seconds(const CoherentArray<double, rank<1>>& array, bool writes) {
    detail::FileStorage& storage = *detail::file_storage_of(*array.state());
    constexpr index_t chunk = index_t{64} << 20;
    constexpr int depth = 4;
    const std::unique_ptr<char[]> memory(new char[static_cast<std::size_t>(depth * chunk + 4096)]());
    char* const first = memory.get() + (4096 - reinterpret_cast<std::uintptr_t>(memory.get()) % 4096);
    storage.before_direct_read(storage.first_byte(), storage.data_bytes());
    if (writes) storage.before_direct_write(storage.first_byte(), storage.data_bytes());
    detail::files::AsyncFile::Ticket tickets[depth];
    const double begin = now();
    for (index_t at = 0, k = 0; at < storage.data_bytes(); at += chunk, ++k) {
      detail::files::AsyncFile::Ticket& ticket = tickets[k % depth];
      storage.file().wait(ticket);
      const index_t bytes = std::min(chunk, storage.data_bytes() - at);
      char* const here = first + k % depth * chunk;
      ticket = writes ? storage.file().write(here, bytes, storage.first_byte() + at)
                      : storage.file().read(here, bytes, storage.first_byte() + at);
    }
    for (const detail::files::AsyncFile::Ticket& ticket : tickets) storage.file().wait(ticket);
    return now() - begin;
  }

  // Updates a second of steps in core, and out of it with arrays of four times the budget.
  template <class Array, class Make, class R, class K>
  void compare_steps(const std::string& name, const Make& make, const R& work, double updates,
                     const K& kernel, double array_bytes) {
    const int steps = is_gpu<D> ? 192 : 6;
    double in_core = 0;
    {
      Array u = make("u"), v = make("v");
      const auto run = [&](int count) {
        for (int s = 0; s < count; ++s) {
          launch(on(D{}), work, kernel, in(u, halo(1, 1)), inout(v));
          std::swap(u, v);
        }
        wait(D{});
      };
      run(2);
      const double begin = now();
      run(steps);
      in_core = updates * steps / (now() - begin);
      add(name + ", in core", u.size(), "double", once(updates * steps / in_core), in_core / 1e9, "G/s",
          none);
    }
    const Array u = make("u");
    const auto where = streamed(D{}, static_cast<index_t>(array_bytes / 4));
    const auto measure = [&](const std::string& how, const auto& declared) {
      StreamReport report = streamed_iterate(where, work, steps, kernel, declared);  // learns its speed
      double best = 1e30;
      for (int rep = 0; rep < 2; ++rep) {
        report = streamed_iterate(where, work, steps, kernel, declared);
        best = std::min(best, report.seconds);
      }
      const double rate = updates * steps / best;
      add(name + how + ", array 4x the budget, " + name_of(report.scheduler), u.size(), "double", once(best),
          rate / 1e9, "G/s", in_core / 1e9, rate / in_core);
      report_.note(name + how + ": " + report.explain());
      report_.note(name + how + ": " + predicted(report, best));
    };
    measure("", state(u, halo(1, 1)));
    measure(", writes all", state(u, halo(1, 1)).writes_all());
    if constexpr (requires { K::reach; })
      compare_fused<Array>(name, make, work, updates, kernel, array_bytes, in_core);
  }

  // The same with several steps in a launch: in core (the whole array on the device at once; the kernels
  // alone are timed by a second run of so many more steps), and out of it. Both against one step a launch in
  // core.
  template <class Array, class Make, class R, class K>
  void compare_fused(const std::string& name, const Make& make, const R& work, double updates,
                     const K& kernel, double array_bytes, double in_core) {
    for (const int each : {2, 4, 8, 16, 32, 64}) {
      if (!detail::fused_uses(Array::rank, K::reach, sizeof(double), each)) continue;
      const std::string steps_each = ", " + std::to_string(each) + " steps a launch";
      const int steps = is_gpu<D> ? 192 : 2 * each;
      double few = 1e30, more = 1e30;
      {
        const Array u = make("u");
        const auto where = streamed(D{}, static_cast<index_t>(8 * array_bytes))
                               .steps_per_launch(each)
                               .scheduler(StreamScheduler::Overlap)
                               .slots(2)
                               .chunk(u.extent(0));
        const auto seconds = [&](int count) {
          return streamed_iterate(where.steps_per_pass(count), work, count, kernel, state(u, halo(1, 1)))
              .seconds;
        };
        for (int rep = 0; rep < 2; ++rep) {
          few = std::min(few, seconds(steps));
          more = std::min(more, seconds(4 * steps));
        }
        const double rate = updates * 3 * steps / (more - few);
        add(name + steps_each + ", in core", u.size(), "double", once((more - few) / 3), rate / 1e9, "G/s",
            in_core / 1e9, rate / in_core);
      }
      const Array u = make("u");
      const auto where = streamed(D{}, static_cast<index_t>(array_bytes / 4)).steps_per_launch(each);
      StreamReport report;
      double best = 1e30;
      for (int rep = 0; rep < 3; ++rep) {
        report = streamed_iterate(where, work, steps, kernel, state(u, halo(1, 1)));
        if (rep > 0) best = std::min(best, report.seconds);  // the first one learns its speed
      }
      const double rate = updates * steps / best;
      add(name + steps_each + ", array 4x the budget, " + name_of(report.scheduler), u.size(), "double",
          once(best), rate / 1e9, "G/s", in_core / 1e9, rate / in_core);
      report_.note(name + steps_each + ": " + report.explain());
      report_.note(name + steps_each + ": " + predicted(report, best));
    }
  }

  void stencils() {
    const double size = 8e9 * unit_;
    const index_t n = elements(8e9, 8);
    using Line = CoherentArray<double, rank<1>>;
    compare_steps<Line>(
        "3-point stencil", [&](const char* label) { return Line(label, n, fast_memory<D>); }, range(1, n - 1),
        static_cast<double>(n - 2), ThreePoints{}, size);
    const index_t edge = static_cast<index_t>(std::sqrt(static_cast<double>(n)));
    using Plane = CoherentArray<double, rank<2>, LayoutRight>;
    compare_steps<Plane>(
        "5-point stencil", [&](const char* label) { return Plane(label, edge, edge, fast_memory<D>); },
        mdrange({1, 1}, {edge - 1, edge - 1}), static_cast<double>(edge - 2) * static_cast<double>(edge - 2),
        FivePoints{}, size);
    const index_t side = is_gpu<D> ? 512 : 16, length = n / side / side;
    using Cube = CoherentArray<double, rank<3>, LayoutRight>;
    compare_steps<Cube>(
        "7-point stencil", [&](const char* label) { return Cube(label, length, side, side, fast_memory<D>); },
        mdrange({1, 1, 1}, {length - 1, side - 1, side - 1}),
        static_cast<double>(length - 2) * static_cast<double>(side - 2) * static_cast<double>(side - 2),
        SevenPoints{}, size);
  }

  void large_sum() {
    const index_t n = elements(64e9, 8);
    const CoherentArray<double, rank<1>> x("x", n, uninitialized, fast_memory<D>);
    {
      const auto view = x.write();
      parallel_for(on(Threads{}), n, with(FillOnes{}, view.view()));
    }
    double sum = 0;
    const double moved = 8.0 * static_cast<double>(n);
    const double limit = moved / link_seconds<D>(moved / 8, 0) / 8 / 1e9;
    StreamReport report;
    const Statistics time =
        times(2, [&] { report = launch_reduce(streamed(D{}, bytes(2e9)), n, Add{}, Sum(sum), in(x)); });
    report_.check(sum == static_cast<double>(n), "the sum");
    add("sum of a host array", n, "double", time, moved / time.median / 1e9, "GB/s", limit);
    report_.note("sum: " + predicted(report, time.median));
  }
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, "Arrays larger than a device, in slices.");
  Report report("streaming", "the same in core");
  for_each_streaming_device(options,
                            [&](auto device) { Streaming<decltype(device)>(options, report).all(); });
  return report.finish(options);
}
