// Random programs over coherent arrays: launches on emulated devices and hosts, accesses of the host, budgets
// and failures.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <strata/algorithms/streaming/streamed.hpp>
#include <strata/views/coherent/whole_copies.hpp>

#include "views/coherent/executor_arrays.hpp"

namespace coherent_testing {

/// One program, over arrays of one type and shape.
template <class Array>
class Program {
 public:
  static constexpr int rank = Array::rank;

  Program(Random& random, const ProgramOptions& options)
      : random_(random), place_(random), options_(options), arrays_(random, options) {
    for (int d = 0; d < options.devices; ++d) queues_.push_back(Queue<Emulated>(Emulated{d}));
  }

  void run() {
    for (int step = 0; step < options_.steps && !::testing::Test::HasFailure(); ++step) one_step();
    if (options_.failures) {
      emulated::clear_faults();
      // No error is left to the next program: queues keep what nobody asked for.
      for (int d = 0; options_.alone && d < options_.devices; ++d) try {
          wait(Emulated{d});
        } catch (const Error&) {
        }
    }
    arrays_.check_all();
    if (options_.budgets)
      for (int d = 0; d < options_.devices; ++d) coherent::set_budget(Emulated{d}, no_budget);
  }

 private:
  using Known = typename ProgramArrays<Array>::Known;
  using Values = typename ProgramArrays<Array>::Values;

  Emulated any_device(Random& random) { return Emulated{static_cast<int>(random(0, options_.devices - 1))}; }
  Emulated any_device() { return any_device(random_); }
  // Where the next launches are: all of them at one place, until this is called again.
  void draw_place() {
    place_ = random_;
    constexpr int draws = 64;  // more than a place takes
    for (int k = 0; k < draws; ++k) random_(0, 1);
  }
  // One launch, or the same a few times, one after the other.
  template <class Run, class Change>
  void attempt_launches(const Run& run, const Change& change) {
    draw_place();
    for (index_t left = random_(0, 2) == 0 ? random_(2, 4) : 1; left > 0; --left)
      arrays_.attempt(run, change);
  }
  auto any_places(Random& random) {
    Across<Emulated, Threads, Serial> places;
    std::vector<int> devices;
    for (int d = 0; d < options_.devices; ++d) devices.push_back(d);
    const index_t wanted = random(1, options_.devices);
    for (index_t k = 0; k < wanted; ++k) {
      const auto chosen = devices.begin() + random(0, static_cast<index_t>(devices.size()) - 1);
      places.places.push_back(on(Emulated{*chosen}));
      devices.erase(chosen);
    }
    if (random(0, 3) == 0) places.places.insert(places.places.begin() + random(0, wanted), on(Threads{}));
    if (random(0, 5) == 0) places.places.push_back(on(Serial{}));
    if (random(0, 9) == 0) places.places.erase(places.places.begin(), places.places.begin() + wanted);
    if (places.places.empty()) places.places.push_back(on(Serial{}));
    if (random(0, 1) == 0) {
      std::vector<double> weights;
      for (std::size_t k = 0; k < places.places.size(); ++k)
        weights.push_back(static_cast<double>(random(0, 4)));
      weights[static_cast<std::size_t>(random(0, static_cast<index_t>(weights.size()) - 1))] = 3;
      places = places.weighted(weights);
    }
    return places;
  }
  template <class Access>
  static constexpr bool can_stream = [] {
    if constexpr (requires(const Access& a) { a.region.edge; })
      return !std::is_same_v<decltype(std::declval<const Access&>().region.edge), edge::Cyclic> ||
             std::is_same_v<typename Array::layout_type, LayoutRight>;
    else return true;
  }();
  template <class K, class... Accesses>
  void launch_anywhere(ResidentRows work, const K& kernel, const Accesses&... accesses) {
    const Range where = range(work.begin, work.end);
    Random random = place_;
    switch (random(0, 4)) {
      case 0:
        return launch(on(any_device(random)).named("any device"), where, kernel, accesses...);
      case 1:
        return launch(
            on(queues_[static_cast<std::size_t>(random(0, options_.devices - 1))]).named("any queue"), where,
            kernel, accesses...);
      case 2:
        // Rows of LayoutLeft do not lie together; rows in tiles have no edges that go around in slices, and
        // edges are checked also where there is no work.
        if (options_.streams && !options_.failures && work.begin < work.end &&
            !std::is_same_v<typename Array::layout_type, LayoutLeft> && (can_stream<Accesses> && ...)) {
          constexpr index_t budget = 1 << 20;
          const auto chunk = random(0, 1) == 0 ? 0 : random(1, 8);
          launch(streamed(any_device(random), budget).named("any slices").chunk(chunk), where, kernel,
                 accesses...);
          return;
        }
        [[fallthrough]];
      default:
        return launch(any_places(random).named("any devices"), where, kernel, accesses...);
    }
  }
  ResidentRows any_rows() {
    if (random_(0, 1) == 0) return {0, arrays_.rows()};
    const index_t begin = random_(0, arrays_.rows());
    return {begin, random_(begin, arrays_.rows())};
  }
  // Neighbours on one side: a few, or up to more than there are.
  index_t any_width() { return random_(0, 3) > 0 ? random_(0, 2) : random_(0, 2 * arrays_.rows() + 2); }

  void launch_sum() {
    Known &x = arrays_.any(), &y = arrays_.any();
    if (&x == &y) return;
    const index_t n = arrays_.rows(), first = random_(0, n);
    const WantedRows::Kind kind = static_cast<WantedRows::Kind>(random_(0, 4));
    if (kind == WantedRows::Beyond) return launch_sum_with_edges(x, y);
    const bool some = kind == WantedRows::Some, far = random_(0, 15) == 0;
    const index_t most = index_t{1} << 47;
    const WantedRows wanted{kind,
                            some  ? first
                            : far ? most
                                  : any_width(),
                            some ? random_(first, n) : any_width(), n};
    const ResidentRows work = any_rows();
    const Number salt = next_++ * 1000;
    if (some && wanted.a < wanted.b && work.begin < work.end && random_(0, 7) == 0) {
      const WantedRows inverted{kind, wanted.b, wanted.a, n};
      EXPECT_THROW(launch_anywhere(work, SumOfRows<rank>{wanted, salt}, in(x.array, strata::rows(inverted)),
                                   out(y.array)),
                   ShapeMismatch);
      return;
    }
    attempt_launches(
        [&] {
          const SumOfRows<rank> kernel{wanted, salt};
          if (kind == WantedRows::Halo)
            launch_anywhere(work, kernel, in(x.array, halo(wanted.a, wanted.b)), out(y.array));
          else launch_anywhere(work, kernel, in(x.array, strata::rows(wanted)), out(y.array));
        },
        [&] {
          arrays_.change(y, [&](Values& values) {
            arrays_.write_rows(values, work, [&](index_t row, std::size_t k) {
              Number sum = salt;
              const ResidentRows from = wanted({row, row + 1});
              for (index_t i = from.begin; i < from.end; ++i)
                sum += x.now[static_cast<std::size_t>(i) * arrays_.row_size() + k];
              return sum;
            });
          });
        });
  }
  // What row i is to such a kernel; -1 where that is of no row.
  static index_t seen_row(edge::Cyclic, index_t i, index_t n) { return (i + n) % n; }
  static index_t seen_row(edge::Duplicate, index_t i, index_t n) { return i < 0 ? 0 : i < n ? i : n - 1; }
  static index_t seen_row(edge::Pad<Number>, index_t i, index_t n) { return i < 0 || i >= n ? -1 : i; }
  // Each kind of edges with some type of arrays, and with lines all.
  void launch_sum_with_edges(Known& x, Known& y) {
    const auto pad = edge::pad(Number{31});
    if constexpr (rank == 1) {
      const index_t which = random_(0, 2);
      if (which == 0) launch_sum_at(edge::cyclic, x, y);
      else if (which == 1) launch_sum_at(edge::duplicate, x, y);
      else launch_sum_at(pad, x, y);
    } else if constexpr (std::is_same_v<typename Array::layout_type, LayoutLeft>) {
      launch_sum_at(edge::duplicate, x, y);
    } else if constexpr (rank == 3) {
      launch_sum_at(pad, x, y);
    } else {
      launch_sum_at(edge::cyclic, x, y);
    }
  }
  template <class Edge>
  void launch_sum_at(const Edge& edge, Known& x, Known& y) {
    constexpr bool is_cyclic = std::is_same_v<Edge, edge::Cyclic>;
    constexpr bool is_pad = std::is_same_v<Edge, edge::Pad<Number>>;
    const index_t n = arrays_.rows();
    const WantedRows wanted{WantedRows::Beyond, any_width(), any_width(), n};
    const ResidentRows work = any_rows();
    const Number salt = next_++ * 1000;
    const auto run = [&] {
      launch_anywhere(work, SumOfRows<rank>{wanted, salt}, in(x.array, halo(wanted.a, wanted.b, edge)),
                      out(y.array));
    };
    draw_place();
    const bool too_far = is_cyclic && std::max(wanted.a, wanted.b) > n;
    if (work.begin < work.end && !is_pad && (too_far || arrays_.domain().empty())) {
      EXPECT_THROW(run(), ShapeMismatch);
      return;
    }
    attempt_launches(run, [&] {
      arrays_.change(y, [&](Values& values) {
        arrays_.write_rows(values, work, [&](index_t row, std::size_t k) {
          Number sum = salt;
          for (index_t i = row - wanted.a; i <= row + wanted.b; ++i) {
            const index_t from = seen_row(edge, i, n);
            sum += from < 0 ? Number{31} : x.now[static_cast<std::size_t>(from) * arrays_.row_size() + k];
          }
          return sum;
        });
      });
    });
  }
#if defined(STRATA_CHECKED) && STRATA_CHECKED
  // A row, or an element of it, that is declared out and not written is found and named, and nothing else is
  // lost.
  void launch_with_a_hole() {
    Known& y = arrays_.any();
    const ResidentRows work = any_rows();
    if (work.begin >= work.end || arrays_.row_size() == 0) return;
    const index_t row = random_(work.begin, work.end - 1);
    const index_t element = random_(-1, static_cast<index_t>(arrays_.row_size()) - 1);
    std::string told;
    const auto goes_well = [&](const auto& action) {
      try {
        action();
        return true;
      } catch (const Error& error) {
        told += std::string(error.what()) + "\n";
        return false;
      }
    };
    draw_place();
    try {
      launch_anywhere(work, Rewrite<rank>{next_++ * 1000, false, row, element}, out(y.array));
    } catch (const OutOfMemory& error) {
      EXPECT_TRUE(options_.budgets) << error.what();
      return;
    } catch (const Error& error) {
      told = std::string(error.what()) + "\n";
    }
    // Each device may have something to say, and what is lost is told as well.
    constexpr int most = 10;
    for (int errors = 0; errors < most; ++errors)
      if (goes_well([&] { y.array.flush(); })) break;
    for (int d = 0; d < options_.devices; ++d) goes_well([&] { wait(Emulated{d}); });
    for (int errors = 0; errors < most; ++errors)
      if (goes_well([&] { arrays_.write_anew(y, next_++); })) break;
    for (const std::string& part :
         {std::string("\"") + y.array.label() + "\"", std::string("declared out and nobody wrote it"),
          "element (" + text_of_index(row, std::max(element, index_t{0}), element < 0)})
      EXPECT_TRUE(has(told, part));
  }
  // Of element `number` of the row, or the beginning that all its elements have.
  std::string text_of_index(index_t row, index_t number, bool any) const {
    std::string text;
    for (int r = rank - 1; r > 0; number /= arrays_.domain().extent(r--))
      text = ", " + std::to_string(number % arrays_.domain().extent(r)) + text;
    return std::to_string(row) + (any ? rank == 1 ? ")" : ", " : text + ")");
  }
  // Whoever kept a view of a host view finds it over.
  template <class V>
  static void use_after_end(V& view, const Box& box) {
    const auto kept = view.view();
    view.end();
    [&]<std::size_t... R>(std::index_sequence<R...>) {
      EXPECT_THROW(static_cast<void>(kept(box.lower(static_cast<int>(R))...)), OutOfBounds);
    }
    (std::make_index_sequence<std::size_t{rank}>());
  }
#endif
  void launch_overwrite(bool adds) {
    Known& y = arrays_.any();
    const ResidentRows work = any_rows();
    const index_t left_out = adds && random_(0, 2) == 0 ? random_(work.begin, work.end) : -1;
    const Rewrite<rank> kernel{next_++ * 1000, adds, left_out};
    attempt_launches(
        [&] {
          if (adds) launch_anywhere(work, kernel, inout(y.array));
          else launch_anywhere(work, kernel, out(y.array));
        },
        [&] { change_as(kernel, y, work); });
  }
  void change_as(const Rewrite<rank>& kernel, Known& y, ResidentRows work) {
    arrays_.change(y, [&](Values& values) {
      arrays_.write_rows(values, work, [&](index_t row, std::size_t k) {
        const Number before = values[static_cast<std::size_t>(row) * arrays_.row_size() + k];
        return row == kernel.left_out ? before
               : kernel.adds          ? before + kernel.salt
                                      : kernel.salt + static_cast<Number>(row);
      });
    });
  }
  // While a kernel on a host writes, a device gives its copy up, as if others needed the room. The kernel may
  // fail after that.
  void launch_beside_an_eviction() {
    Known& y = arrays_.any();
    const ResidentRows work = any_rows();
    if (work.begin == work.end) return;
    const bool fails = options_.failures && random_(0, 1) == 0;
    const Emulated device = any_device();
    const Interruption gives_up{
        random_(work.begin, work.end - 1), [&] {
          using detail::WholeCopies;
          detail::CoherentState& array = *y.array.state();
          if (WholeCopies::presence(array, device.backend()) != WholeCopies::Presence::None)
            WholeCopies::evict(array, device.backend());
          if (fails) throw KernelError("a kernel on a host was to fail");
        }};
    const Rewrite<rank> kernel{next_++ * 1000, random_(0, 1) == 0, -1, -1, &gives_up};
    const auto where = on(Serial{}).named("beside an eviction");
    arrays_.attempt_result(
        [&] {
          if (kernel.adds) launch(where, range(work.begin, work.end), kernel, inout(y.array));
          else launch(where, range(work.begin, work.end), kernel, out(y.array));
        },
        [&] { change_as(kernel, y, work); });
  }
  // Takes errors of copies and kernels away from those who use what they were to write.
  void wait_for_a_device() {
    if (!options_.alone) return;
    const Emulated device = any_device();
    arrays_.attempt_result([&] { wait(device); }, [] {});
    take_errors(device);
  }
  // The call returns with the sum.
  void launch_sum_into_host() {
    Known& y = arrays_.any();
    const ResidentRows work = any_rows();
    const Number salt = next_++ * 1000;
    const bool on_host = random_(0, 3) == 0;
    const Emulated device = any_device();
    for (index_t left = random_(1, 2); left > 0; --left) launch_sum_into_host(y, work, salt, on_host, device);
  }
  void launch_sum_into_host(Known& y, ResidentRows work, Number salt, bool on_host, const Emulated& device) {
    Number sum = 0;
    bool is_there = false;
    arrays_.attempt_result(
        [&] {
          const Range where = range(work.begin, work.end);
          const AddAndSum<rank> kernel{salt};
          if (on_host) launch_reduce(on(Threads{}).named("sum"), where, kernel, Sum(sum), inout(y.array));
          else launch_reduce(on(device).named("sum"), where, kernel, Sum(sum), inout(y.array));
          is_there = true;
        },
        [&] {
          Number expected = 0;
          arrays_.change(y, [&](Values& values) {
            arrays_.write_rows(values, work, [&](index_t row, std::size_t k) {
              const Number value = values[static_cast<std::size_t>(row) * arrays_.row_size() + k] + salt;
              expected += value;
              return value;
            });
          });
          if (is_there) {
            EXPECT_EQ(sum, expected);
          }
        });
  }
  void host_write(bool adds) {
    Known& y = arrays_.any();
    const Box box = arrays_.any_box();
    const Number salt = next_++ * 1000;
    const auto set = [&](Number& value, std::size_t place) { value = adds ? value + salt : salt + place; };
    arrays_.attempt(
        [&] {
          auto view = adds ? y.array.read_write(box) : y.array.write(box);
          arrays_.each(view, box, arrays_.domain(), set);
#if defined(STRATA_CHECKED) && STRATA_CHECKED
          if (!box.empty() && random_(0, 3) == 0) use_after_end(view, box);
#endif
        },
        [&] {
          arrays_.change(y, [&](Values& values) {
            arrays_.each(
                [&](auto... i) -> Number& {
                  std::size_t place = 0;
                  int r = 0;
                  ((place = place * static_cast<std::size_t>(arrays_.domain().extent(r++)) +
                            static_cast<std::size_t>(i)),
                   ...);
                  return values[place];
                },
                box, arrays_.domain(), set);
          });
        });
  }

  void one_step() {
    if (options_.failures && random_(0, 4) == 0)
      emulated::fail(static_cast<emulated::Fault>(random_(0, 2)), static_cast<int>(random_(1, 4)));
    if (options_.budgets && random_(0, 7) == 0)
      coherent::set_budget(any_device(),
                           random_(0, 3) == 0
                               ? no_budget
                               : std::max(random_(1, 3) * arrays_.size() * 8 - random_(0, 64), index_t{0}));
#if defined(STRATA_CHECKED) && STRATA_CHECKED
    if (options_.holes && random_(0, 15) == 0) return launch_with_a_hole();
#endif
    switch (random_(0, 12)) {
      case 0:
      case 1:
      case 2:
        return launch_sum();
      case 3:
        return launch_overwrite(false);
      case 4:
        return launch_overwrite(true);
      case 5:
        return host_write(false);
      case 6:
        return host_write(true);
      case 7: {
        Known& x = arrays_.any();
        const Box box = arrays_.any_box();
        const Emulated device = any_device();
        return arrays_.attempt([&] { x.array.prefetch(box, device); }, [] {});
      }
      case 8:
        return launch_sum_into_host();
      case 10:
        return launch_beside_an_eviction();
      case 11:
        if (random_(0, 1) == 0) return wait_for_a_device();
        [[fallthrough]];
      case 9:
        if (random_(0, 3) == 0) {
          Known& x = arrays_.any();
          return arrays_.attempt([&] { x.array.flush(); }, [] {});
        }
        [[fallthrough]];
      default:
        if (random_(0, 3) == 0) return arrays_.look(arrays_.any(), arrays_.any_box());
        return arrays_.check(arrays_.any(), arrays_.any_box());
    }
  }

  Random& random_;
  Random place_;  // draws the place of the next launches
  ProgramOptions options_;
  ProgramArrays<Array> arrays_;
  std::vector<Queue<Emulated>> queues_;
  Number next_ = 1;
};

}  // namespace coherent_testing
