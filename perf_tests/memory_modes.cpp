// What does it cost how an array lies in memory? The access patterns of Oden and Saidi (2021) over coherent
// arrays in every memory mode, beside the same in plain CUDA; what each moves, which is compared with the
// study's table; and when data should move at all.
//
//   strata_memory_modes --device Cuda [--type float] [--json FILE] [--sizes 4096:1073741824] [--traces DIR]
//   strata_memory_modes --device Emulated --sizes 4096:65536 --reps 3        a quick run: bytes are checked
//
// Times are from the first call that moves or launches something until the host has the results, and
// ("verified") until it has checked them; arrays exist, and are filled, before ("new arrays": not). --traces
// writes a timeline of one run of the full pattern a mode, from which figure 5 is drawn. The status is 1
// where a value is wrong, or bytes are not those of the table.
// SPDX-License-Identifier: Apache-2.0
#include "baselines/memory_modes.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <strata/core/profiling/trace.hpp>
#include <strata/version.hpp>

#include "common/contest.hpp"
#include "common/memory_driver_counts.hpp"
#include "common/memory_mode_options.hpp"
#include "common/memory_modes.hpp"
#include "common/memory_race.hpp"

namespace {

using namespace perf;
using namespace strata;

const char* name_of(Pattern pattern) {
  switch (pattern) {
    case Pattern::Full:
      return "full";
    case Pattern::Partial:
      return "partial";
    case Pattern::Multikernel:
      return "multikernel";
    case Pattern::Reads:
      return "to the device";
    case Pattern::ToHost:
      break;
  }
  return "to the host";
}

struct CopyRow {
  index_t columns;
  STRATA_FUNCTION void operator()(auto i, const auto& x, const auto& y) const {
    for (index_t j = 0; j < columns; ++j) y(i, j) = x(i, j);
  }
};

// What a mode is to be as fast as.
[[maybe_unused]] ByHand counterpart(MemoryMode mode) {
  switch (mode) {
    case MemoryMode::Pinned:
    case MemoryMode::ExplicitPinned:
      return ByHand::Pinned;
    case MemoryMode::Managed:
      return ByHand::ManagedHints;
    case MemoryMode::Mapped:
      return ByHand::Mapped;
    case MemoryMode::Implicit:
      return ByHand::Implicit;
    default:
      return ByHand::Pageable;
  }
}

// The mode whose line has the competitors of a way.
[[maybe_unused]] MemoryMode leader(ByHand way) {
  switch (way) {
    case ByHand::Pinned:
      return MemoryMode::Pinned;
    case ByHand::Managed:
    case ByHand::ManagedHints:
    case ByHand::ManagedInPlace:
    case ByHand::ManagedPieces:
    case ByHand::ManagedFaults:
      return MemoryMode::Managed;
    case ByHand::Mapped:
    case ByHand::MappedPieces:
      return MemoryMode::Mapped;
    case ByHand::Implicit:
      return MemoryMode::Implicit;
    case ByHand::Pageable:
      break;
  }
  return MemoryMode::Smart;
}

std::string size_of(index_t bytes) {
  if (bytes >= 1 << 20) return std::to_string(bytes >> 20) + " MiB";
  return std::to_string(bytes >> 10) + " KiB";
}

template <class D, class T>
class MemoryModes {
  static constexpr bool has_competitors = is_gpu<D>;

 public:
  MemoryModes(const Options& options, const ModeOptions& modes, Report& report, const char* type)
      : options_(options), modes_(modes), report_(report), type_(type), host_(std::min(8, processors())) {}

  void all() {
    for (index_t bytes = modes_.from; bytes <= modes_.to; bytes *= 4) {
      for (const Pattern pattern : {Pattern::Full, Pattern::Partial, Pattern::Multikernel})
        race({pattern, elements(bytes)}, {std::begin(memory_modes), std::end(memory_modes)});
      if (static_cast<double>(bytes) >= smallest_rate) directions(elements(bytes));
      if (bytes <= 1 << 20) new_arrays(elements(bytes));
      report_.save(options_);
    }
    part_of_rows();
    reads_until_moving_pays();
    launches();
    paper();
    if (!modes_.traces.empty()) trace();
    report_.save(options_);
    // Last: a driver that counts is slower.
#if STRATA_HAS_CUDA
    if constexpr (has_competitors) bytes_by_driver();
#endif
    report_.save(options_);
  }

 private:
  static index_t elements(index_t bytes) {
    return std::max<index_t>(1, bytes / static_cast<index_t>(sizeof(T)));
  }
  static double bytes_of(index_t n) { return static_cast<double>(n) * sizeof(T); }
  int rounds(index_t n) const {
    const double bytes = bytes_of(n);
    // Between 1 and 32 MiB times differ by a factor of two from one round to the next.
    return options_.reps_or(bytes <= 1 << 20 ? 101 : bytes <= 1 << 25 ? 201 : bytes <= 1 << 26 ? 41 : 9);
  }
  // Of large arrays a round takes seconds.
  static double seconds_of_race(index_t n) { return bytes_of(n) < 256 << 20 ? 8 : 20; }
  // How often arrays are made anew. It takes some seconds for those of a GiB.
  static int sets(index_t n) { return bytes_of(n) < 256 << 20 ? 4 : bytes_of(n) < 1 << 30 ? 2 : 1; }
  // Of a few pages the driver (580, on an H100) hands over no counts, however long one waits. Between 128 KiB
  // and 1 MiB kernels bring what comes to pinned memory.
  static bool are_counted(index_t bytes, MemoryMode mode) {
    if (mode == MemoryMode::Managed) return bytes >= 64 << 20;
    return counterpart(mode) != ByHand::Pinned || bytes < 128 << 10 || bytes > 1 << 20;
  }
  static constexpr double smallest_rate = 16 << 20;  // bytes from which times are those of the link

  void add(const std::string& name, index_t n, const Statistics& time, double value, const char* unit,
           double ratio) {
    report_.add({name, D::name, n, type_, time, value, unit, none, ratio});
  }
  void add_us(const std::string& name, index_t n, const Statistics& time, double ratio) {
    add(name, n, time, time.median * 1e6, "us", ratio);
  }

  // ---- times

  struct Entry {
    std::string name;  // of the mode, or of the way by hand
    int number;        // in the race
    int baseline;      // -1: none
    MemoryMode mode;
    bool is_by_hand;
    bool comes_late;  // pages that faults move come when the host checks them
  };

  // All modes that are asked for, and their counterparts by hand, in one race. Bytes are checked before it.
  void race(const MemoryWork& work, const std::vector<MemoryMode>& modes) {
    const std::vector<Entry> entries = run_race(work, modes);
    const bool verifies = work.pattern != Pattern::ToHost && work.pattern != Pattern::Reads;
    for (const Entry& entry : entries) {
      const std::string prefix = name_of(work.pattern);
      const auto line = [&](const std::string& what, Until until) {
        const Statistics time = race_.time(entry.number, until);
        const double ratio = ratio_of(entry, entries, until);
        const std::string name = what + ", " + (entry.is_by_hand ? to_string(entry.mode) : entry.name) +
                                 (entry.is_by_hand ? ", by hand: " + entry.name : "");
        if (verifies) add_us(name, work.n, time, ratio);
        else add(name, work.n, time, bytes_of(work.n) / time.median / 1e9, "GB/s", ratio);
      };
      if (!verifies) {
        line(prefix, entry.comes_late ? Until::Verified : Until::Done);
        continue;
      }
      line(prefix, Until::Done);
      line(prefix + ", verified", Until::Verified);
      const bool is_rate =
          work.pattern == Pattern::Full && !entry.is_by_hand && bytes_of(work.n) >= smallest_rate;
      if (is_rate && (entry.mode == MemoryMode::Pinned || entry.mode == MemoryMode::Managed)) {
        const Statistics time = race_.time(entry.number, Until::Done);
        add("there and back, " + entry.name, work.n, time, 2 * bytes_of(work.n) / time.median / 1e9, "GB/s",
            none);
      }
    }
  }

  std::vector<Entry> run_race(const MemoryWork& work, const std::vector<MemoryMode>& modes) {
    race_ = {};
    std::vector<Entry> entries;
    for (const MemoryMode mode : modes) {
      const int number = race_.add([this, mode, work, is_first = true]() mutable {
        const auto end = [this, mode, work](ModeArrays<D, T>* ended) {
          check_values(work, mode, ended->wrong());
          delete ended;
        };
        const std::shared_ptr<ModeArrays<D, T>> arrays(new ModeArrays<D, T>(mode, work, host_), end);
        if (std::exchange(is_first, false)) check_bytes(work, mode, *arrays);
        return MemoryWay{[arrays] { arrays->prepare(); }, [arrays] { return arrays->run(); }};
      });
      entries.push_back({to_string(mode), number, -1, mode, false, false});
    }
    add_competitors(work, modes, entries, false);
    race_.run(sets(work.n), rounds(work.n), seconds_of_race(work.n));
    return entries;
  }

  // Appends the ways by hand, and makes them the baselines of modes that are no worse in what they copy.
  void add_competitors([[maybe_unused]] const MemoryWork& work,
                       [[maybe_unused]] const std::vector<MemoryMode>& modes,
                       [[maybe_unused]] std::vector<Entry>& entries, [[maybe_unused]] bool has_new_arrays) {
#if STRATA_HAS_CUDA
    if constexpr (has_competitors) {
      for (const ByHand way : ways_by_hand) {
        if (std::find(modes.begin(), modes.end(), leader(way)) == modes.end()) continue;
        // Where data is larger, that is the way of mapped memory, which has cases of its own.
        const bool is_in_place = way == ByHand::ManagedInPlace || way == ByHand::ManagedPieces;
        if (is_in_place && bytes_of(work.n) > most_in_place()) continue;
        const int number = race_.add([this, way, work, has_new_arrays] {
          return memory_by_hand<T>(separate_cuda_place(), way, work, host_, has_new_arrays);
        });
        for (Entry& entry : entries)
          if (!entry.is_by_hand && counterpart(entry.mode) == way) entry.baseline = number;
        entries.push_back({perf::name_of(way), number, -1, leader(way), true, way == ByHand::ManagedFaults});
      }
    }
#endif
  }

  // Against what the entry is to be as fast as: for mapped and managed arrays the fastest way by hand, of
  // managed ones at whose end the host has the pages.
  double ratio_of(const Entry& entry, const std::vector<Entry>& entries, Until until) const {
    int baseline = entry.baseline;
    if (baseline >= 0 && (entry.mode == MemoryMode::Managed || entry.mode == MemoryMode::Mapped))
      for (const Entry& other : entries)
        if (other.is_by_hand && other.mode == entry.mode && (until == Until::Verified || !other.comes_late) &&
            race_.time(other.number, until).median < race_.time(baseline, until).median)
          baseline = other.number;
    return baseline < 0 ? none : race_.speedup(entry.number, baseline, until);
  }

  // ---- bytes

  static double most_in_place() { return static_cast<double>(D{}.backend().bytes_reached_at_host()); }

  static std::string described(const MemoryWork& work, MemoryMode mode) {
    return std::string(name_of(work.pattern)) + ", " + to_string(mode) + ", " +
           size_of(work.n * static_cast<index_t>(sizeof(T)));
  }
  void check_values(const MemoryWork& work, MemoryMode mode, std::ptrdiff_t wrong) {
    report_.check(wrong == 0, described(work, mode) + ": " + std::to_string(wrong) + " values");
  }
  void check_bytes(const MemoryWork& work, MemoryMode mode, ModeArrays<D, T>& arrays) {
    arrays.prepare();  // the second run: values that nobody has written are not copied
    static_cast<void>(arrays.run());
    arrays.prepare();
    const Moved before = moved_by(arrays.counters());
    static_cast<void>(arrays.run());
    const Moved after = moved_by(arrays.counters());
    const Moved moved{after.in - before.in, after.out - before.out};
    const bool stays = mode == MemoryMode::Managed && bytes_of(work.n) <= most_in_place();
    const Copies copies = is_machine<D> || stays ? Copies{0, 0} : expected_copies(work, mode);
    const auto array = static_cast<std::uint64_t>(work.n) * sizeof(T);
    const Moved expected{static_cast<std::uint64_t>(copies.in) * array,
                         static_cast<std::uint64_t>(copies.out) * array};
    report_.check(moved == expected,
                  described(work, mode) + ": " + in_words(moved) + ", the table has " + in_words(expected));
    if (4 * work.n * index_t{sizeof(T)} <= modes_.to)
      return;  // in arrays, they are the same for all large ones
    const std::string name = std::string(name_of(work.pattern)) + ", arrays copied, " + to_string(mode);
    const double one = static_cast<double>(array);
    add(name + ", in", work.n, {}, static_cast<double>(moved.in) / one, "arrays", none);
    add(name + ", out", work.n, {}, static_cast<double>(moved.out) / one, "arrays", none);
  }

#if STRATA_HAS_CUDA
  void bytes_by_driver() {
    CopyCounter counter;
    if (!counter.is_there() || !counter.count_pages()) {
      report_.note("bytes by the driver are not known: " + counter.reason());
      return;
    }
    index_t last = 0;
    for (const index_t bytes : {modes_.from, index_t{4} << 20, index_t{64} << 20, modes_.to}) {
      if (bytes <= last || bytes > modes_.to) continue;
      last = bytes;
      for (const Pattern pattern : {Pattern::Full, Pattern::Partial, Pattern::Multikernel})
        for (const MemoryMode mode : memory_modes)
          if (are_counted(bytes, mode)) count_by_both(counter, {pattern, elements(bytes)}, mode);
    }
  }
  void count_by_both(CopyCounter& counter, const MemoryWork& work, MemoryMode mode) {
    ModeArrays<D, T> arrays(mode, work, host_);
    const CountedRun run = count_by_driver(counter, arrays);
    report_.check(counter.is_there(), "counts by the driver: " + counter.reason());
    report_.check(agree(run, mode, work.pattern == Pattern::Partial ? 3 : 1),
                  described(work, mode) + ": " + perf::in_words(run));
    visit_figures(run, mode, [&](const char* what, std::uint64_t value, const char* unit) {
      add(std::string(name_of(work.pattern)) + ", " + what + ", " + to_string(mode), work.n, {},
          static_cast<double>(value), unit, none);
    });
  }
#endif

  void paper() {
    const Copies study[] = {{1, 1}, {3, 1}, {1, 2}};
    for (const Pattern pattern : {Pattern::Full, Pattern::Partial, Pattern::Multikernel}) {
      const Copies copies = copies_of_the_paper(pattern), expected = study[static_cast<int>(pattern)];
      const std::string name = std::string(name_of(pattern)) + ", arrays copied, smart arrays of the paper";
      report_.check(copies.in == expected.in && copies.out == expected.out, name);
      add(name + ", in", 0, {}, copies.in, "arrays", none);
      add(name + ", out", 0, {}, copies.out, "arrays", none);
    }
  }

  static bool is_within(std::uint64_t value, std::uint64_t least, std::uint64_t most) {
    return std::clamp(value, least, most) == value;
  }
  // Rows [n/4, n/2) of a matrix are declared: they move, and no other.
  void part_of_rows() {
    const index_t columns = 4096,
                  rows = std::clamp<index_t>(modes_.to / 4 / columns / index_t{sizeof(T)}, 8, 1024);
    const index_t first = rows / 4, last = rows / 2;
    const auto declared = static_cast<std::uint64_t>((last - first) * columns) * sizeof(T);
    for (const MemoryMode mode : memory_modes) {
      if (mode == MemoryMode::Implicit) continue;  // copies whole arrays
      using Matrix = CoherentArray<T, rank<2>, LayoutRight>;
      const Matrix x("x", rows, columns, mode, main_in(D{})), y("y", rows, columns, mode, main_in(D{}));
      const Box box({first, 0}, {last, columns});
      if (is_explicit(mode)) x.prefetch(box, D{});
      launch(on(D{}), range(first, last), CopyRow{columns}, in(x), out(y));
      if (is_explicit(mode)) y.flush();
      static_cast<void>(y.read(box));
      const Moved moved = moved_by(x.counters() + y.counters());
      const bool moves = !is_machine<D> && mode != MemoryMode::Mapped;
      const std::uint64_t least = moves ? declared : 0;
      const std::uint64_t most = least + (moves && mode == MemoryMode::Managed ? std::uint64_t{2} << 20 : 0);
      report_.check(is_within(moved.in, least, most) && is_within(moved.out, least, most),
                    std::string("a part of the rows, ") + to_string(mode) + ": " + in_words(moved) + " of " +
                        std::to_string(least) + " declared");
      if (moves)
        add(std::string("a part of the rows, over what is declared, ") + to_string(mode), rows * columns, {},
            static_cast<double>(std::max(moved.in, moved.out) - declared), "bytes", none);
    }
  }

  // ---- one way at a time

  void directions(index_t n) {
    race({Pattern::Reads, n}, {MemoryMode::Smart, MemoryMode::Pinned, MemoryMode::Managed});
    race({Pattern::ToHost, n}, {MemoryMode::Smart, MemoryMode::Pinned, MemoryMode::Managed});
  }

  // Memory that never moves, against a copy that pays once it is read often.
  void reads_until_moving_pays() {
    const index_t n = elements(std::min(modes_.to, index_t{256} << 20));
    int pays = 0;
    for (const int reads : {1, 2, 5, 10, 20}) {
      const MemoryWork work{Pattern::Reads, n, reads};
      const auto entries = run_race(work, {MemoryMode::Pinned, MemoryMode::Mapped});
      for (const Entry& entry : entries)
        add_us("read " + std::to_string(reads) + " times, " + std::string(to_string(entry.mode)) +
                   (entry.is_by_hand ? ", by hand: " + entry.name : ""),
               n, race_.time(entry.number, Until::Done), ratio_of(entry, entries, Until::Done));
      if (pays == 0 && race_.speedup(entries[0].number, entries[1].number, Until::Done) > 1) pays = reads;
    }
    if (has_competitors)
      report_.note(pays == 0 ? "mapped memory is faster even for data that is read 20 times"
                             : "moving pays (pinned against mapped) for data that is read " +
                                   std::to_string(pays) + " times or more");
  }

  // ---- small things

  // Arrays that are created, filled, used once and dropped.
  void new_arrays(index_t n) {
    const MemoryWork work{Pattern::Full, n};
    race_ = {};
    std::vector<Entry> entries;
    const std::vector<MemoryMode> modes = {MemoryMode::Smart, MemoryMode::Pinned, MemoryMode::Managed,
                                           MemoryMode::Mapped};
    std::ptrdiff_t wrong = 0;
    for (const MemoryMode mode : modes) {
      const auto run = [this, mode, work, &wrong] {
        const double begin = now();
        {
          ModeArrays<D, T> arrays(mode, work, host_);
          arrays.prepare();
          static_cast<void>(arrays.run());
          wrong += arrays.wrong();
        }
        const double end = now() - begin;
        return PatternTimes{end, end};
      };
      const int number = race_.add([run] { return MemoryWay{{}, run}; });
      entries.push_back({to_string(mode), number, -1, mode, false, false});
    }
    add_competitors(work, modes, entries, true);
    race_.run(1, rounds(n), seconds_of_race(n));
    report_.check(wrong == 0, "full, new arrays");
    for (const Entry& entry : entries)
      add_us(std::string("full, new arrays, ") + to_string(entry.mode) +
                 (entry.is_by_hand ? ", by hand: " + entry.name : ""),
             n, race_.time(entry.number, Until::Verified), ratio_of(entry, entries, Until::Verified));
  }

  // What the host pays for a launch of data that is in place.
  void launches() {
    constexpr int count = 200;
    const index_t n = 512;
    std::vector<double> by_hand;
#if STRATA_HAS_CUDA
    if constexpr (has_competitors)
      for (int rep = 0; rep < options_.reps_or(21); ++rep)
        by_hand.push_back(launch_us_by_hand<T>(separate_cuda_place(), n, count) * 1e-6);
#endif
    for (const MemoryMode mode : memory_modes) {
      const CoherentArray<T, rank<1>> a("a", n, mode, main_in(D{}));
      if (is_explicit(mode)) a.prefetch(a.domain(), D{});
      std::vector<double> seconds;
      for (int rep = -1; rep < options_.reps_or(21); ++rep) {
        const double begin = now();
        for (int k = 0; k < count; ++k) launch(on(D{}), n, SecondKernel{}, inout(a));
        wait(D{});
        if (rep >= 0) seconds.push_back((now() - begin) / count);
      }
      const Statistics time = statistics(seconds);
      const std::string name = std::string("launch in place, ") + to_string(mode);
      add_us(
          name, n, time,
          by_hand.empty() || mode == MemoryMode::Implicit ? none : statistics(by_hand).median / time.median);
      if (!by_hand.empty() && mode == MemoryMode::Smart)
        add_us(name + ", by hand: kernels", n, statistics(by_hand), none);
    }
  }

  // ---- figure 5

  void trace() {
    std::filesystem::create_directories(modes_.traces);
    const MemoryWork work{Pattern::Full, elements(std::min(modes_.to, index_t{1} << 20))};
    for (const MemoryMode mode : memory_modes) {
      ModeArrays<D, T> arrays(mode, work, host_);
      arrays.prepare();
      static_cast<void>(arrays.run());
      arrays.prepare();
      wait(D{});
      start_trace(modes_.traces + "/memory_modes_" + to_string(mode) + ".json");
      {
        const Region whole("from the first call to the results");
        static_cast<void>(arrays.run());
      }
      stop_trace();
    }
  }

  const Options& options_;
  const ModeOptions& modes_;
  Report& report_;
  const char* const type_;
  HostSide host_;
  MemoryRace race_;
};

}  // namespace

int main(int argc, char** argv) {
  const ModeOptions modes = take_mode_options(argc, argv);
  const Options options =
      parse_options(argc, argv,
                    "What it costs how an array lies in memory. Also --sizes FROM:TO (bytes of "
                    "an array), --traces DIR.");
  Report report("memory_modes", "the same in plain CUDA, with the memory of the mode");
  for_each_device(options, [&](auto device) {
    using D = decltype(device);
    if constexpr (is_gpu<D> || std::is_same_v<D, Emulated> || std::is_same_v<D, Threads>) {
      // On hosts all modes are the same memory: only asked for by name.
      if (is_machine<D> && options.device != D::name) return;
      if (options.type != "float") MemoryModes<D, double>(options, modes, report, "double").all();
      else MemoryModes<D, float>(options, modes, report, "float").all();
    }
  });
  report.note(
      "the times of Emulated are those of processors of this machine: only its bytes are to be compared");
  return report.finish(options);
}
