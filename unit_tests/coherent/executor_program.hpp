// Random programs over coherent arrays: launches on emulated devices and hosts, accesses of the host, budgets
// and failures, with a plain array beside each that says what every element must be. A failure may take back
// what was enqueued before it: an element is then as it was some time before, or lost, if the error says so.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "coherent/executor_fixture.hpp"
#include "core/random.hpp"

namespace coherent_testing {

using strata_tests::Random;
using Number = std::uint64_t;

/// The rows of x that row i of y is made of: as a region, and for a kernel.
struct WantedRows {
  enum Kind { Own, Halo, All, Some } kind;
  index_t a, b;  // of Halo: before and after; of Some: from a to b
  index_t n;     // rows of the array
  STRATA_FUNCTION ResidentRows operator()(ResidentRows work) const {
    ResidentRows rows = work;
    if (kind == Halo) rows = {work.begin - a, work.end + b};
    if (kind == All) rows = {0, n};
    if (kind == Some) rows = {a, b};
    return {rows.begin < 0 ? 0 : rows.begin, rows.end > n ? n : rows.end};
  }
};

/// Calls f(index...) for all indices of a view or of extents that begin with `i`.
template <int Rank, class V, class F, class... I>
void each_after(const V& v, const F& f, I... i) {
  if constexpr (static_cast<int>(sizeof...(I)) == Rank) {
    f(i...);
  } else {
    for (index_t j = 0; j < v.extent(static_cast<int>(sizeof...(I))); ++j) each_after<Rank>(v, f, i..., j);
  }
}

/// y(i, ...) = salt + the sum of x(k, ...) over the wanted rows k.
template <int Rank>
struct SumOfRows {
  WantedRows wanted;
  Number salt;
  void operator()(auto index, auto x, auto y) const {
    const index_t i = static_cast<index_t>(index);
    const ResidentRows rows = wanted({i, i + 1});
    each_after<Rank>(
        y,
        [&](index_t row, auto... others) {
          Number sum = salt;
          for (index_t k = rows.begin; k < rows.end; ++k) sum += x(k, others...);
          y(row, others...) = sum;
        },
        i);
  }
};
/// y(i, ...) = salt + row, or salt more than before.
template <int Rank>
struct Overwrite {
  Number salt;
  bool adds;
  void operator()(auto index, auto y) const {
    const index_t i = static_cast<index_t>(index);
    each_after<Rank>(
        y,
        [&](index_t row, auto... others) {
          y(row, others...) = adds ? y(row, others...) + salt : salt + static_cast<Number>(row);
        },
        i);
  }
};

struct ProgramOptions {
  int devices;        // emulated, the first ones
  bool failures;      // some operations are made to fail
  bool budgets;       // some devices may hold little
  bool alone = true;  // the errors are its own
  int steps = 16;
};

/// One program, over arrays of one type and shape.
template <class Array>
class Program {
 public:
  static constexpr int rank = Array::rank;

  Program(Random& random, const ProgramOptions& options) : random_(random), options_(options) {
    const index_t longest = rank == 1 ? 70 : rank == 2 ? 21 : rank == 3 ? 10 : 9;
    index_t extents[rank];
    size_ = 1;
    for (int r = 0; r < rank; ++r) {
      extents[r] = random_(1, r == 0 ? longest : rank == 2 ? 7 : 3);
      size_ *= extents[r];
    }
    domain_ = Box::from_extents(std::span(extents, std::size_t{rank}));
    const char* const labels[] = {"a", "b", "c"};
    const index_t count = random_(1, 3);
    for (index_t k = 0; k < count; ++k)
      make(labels[k], extents, std::make_index_sequence<std::size_t{rank}>());
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
      for (Known& known : arrays_) attempt([&] { known.array.flush(); }, [] {});
    }
    for (Known& known : arrays_) check(known, domain_);
    if (options_.budgets)
      for (int d = 0; d < options_.devices; ++d) coherent::set_budget(Emulated{d}, no_budget);
  }

 private:
  using Values = std::vector<Number>;
  struct Known {
    Array array;
    Values now;                // row-major
    std::vector<Values> past;  // since all of it was seen last
  };

  template <std::size_t... R>
  void make(const char* label, const index_t* extents, std::index_sequence<R...>) {
    Known known;
    if (random_(0, 1) == 0) {
      known.array = Array(label, extents[R]...);
      known.now.assign(static_cast<std::size_t>(size_), 0);
      arrays_.push_back(std::move(known));
      return;
    }
    known.array = Array(label, extents[R]..., uninitialized);
    known.now.resize(static_cast<std::size_t>(size_));
    const Overwrite<rank> first{7, false};
    insist([&] {
      try {
        launch(on(any_device()), extents[0], first, out(known.array));
        if (!options_.alone) known.array.flush();  // nothing of it fails later
      } catch (const OutOfMemory&) {               // other threads have it
        launch(on(Serial{}), extents[0], first, out(known.array));
      }
    });
    write_rows(known.now, {0, extents[0]},
               [&](index_t row, std::size_t) { return Number{7} + static_cast<Number>(row); });
    known.past.push_back(known.now);  // a failure now would be of another program
    arrays_.push_back(std::move(known));
  }

  // ---- the plain arrays

  index_t rows() const { return domain_.extent(0); }
  std::size_t row_size() const { return static_cast<std::size_t>(size_ / rows()); }
  template <class F>
  void write_rows(Values& values, ResidentRows rows, const F& f) const {
    for (index_t row = rows.begin; row < rows.end; ++row)
      for (std::size_t k = 0; k < row_size(); ++k)
        values[static_cast<std::size_t>(row) * row_size() + k] = f(row, k);
  }
  // Calls f(element of the view, its place) for a box.
  template <class V, class F>
  static void each(const V& view, const Box& box, const Box& domain, const F& f) {
    if (box.empty()) return;
    index_t at[rank];
    for (int r = 0; r < rank; ++r) at[r] = box.lower(r);
    for (;;) {
      std::size_t place = 0;
      for (int r = 0; r < rank; ++r)
        place = place * static_cast<std::size_t>(domain.extent(r)) + static_cast<std::size_t>(at[r]);
      [&]<std::size_t... R>(std::index_sequence<R...>) { f(view(at[R]...), place); }
      (std::make_index_sequence<std::size_t{rank}>());
      int r = rank - 1;
      while (r >= 0 && ++at[r] == box.upper(r)) {
        at[r] = box.lower(r);
        --r;
      }
      if (r < 0) return;
    }
  }
  Known& any() {
    return arrays_[static_cast<std::size_t>(random_(0, static_cast<index_t>(arrays_.size()) - 1))];
  }
  Box any_box() {
    Box box = domain_;
    for (int r = 0; r < rank; ++r) {
      const index_t lower = random_(0, domain_.extent(r) - 1);
      box = box.with_bounds(r, lower, random_(lower + 1, domain_.extent(r)));
    }
    return random_(0, 3) == 0 ? domain_ : box;
  }
  Emulated any_device() { return Emulated{static_cast<int>(random_(0, options_.devices - 1))}; }

  // ---- what may fail

  template <class Action, class Apply>
  void attempt(const Action& action, const Apply& apply) {
    try {
      action();
    } catch (const OutOfMemory& error) {
      EXPECT_TRUE(options_.budgets || options_.failures) << error.what();
      return;  // nothing has begun
    } catch (const Error& error) {
      EXPECT_TRUE(options_.failures) << error.what();
      EXPECT_EQ(dynamic_cast<const AccessConflict*>(&error), nullptr) << error.what();
      apply();  // in part, perhaps
      look_again(error);
      return;
    }
    apply();
  }
  // Until it goes well: errors may be those of other threads.
  template <class Action>
  void insist(const Action& action) {
    for (int attempts = options_.alone ? 1 : 100; attempts > 0; --attempts) try {
        return action();
      } catch (const Error&) {
        if (attempts == 1) throw;
      }
  }
  // After work failed: what there is now is right if it was so before.
  void look_again(const Error& error) {
    emulated::clear_faults();
    bool any_lost = false;
    for (Known& known : arrays_) insist([&] { any_lost = look_again(known, error) || any_lost; });
    if (options_.alone) {
      EXPECT_EQ(any_lost, dynamic_cast<const DataLost*>(&error) != nullptr) << error.what();
    }
  }
  // Whether anything is lost; it is written anew.
  bool look_again(Known& known, const Error& error) {
    std::vector<Box> lost;
    for (const Residence& part : known.array.where(domain_))
      if (part.memories.empty()) lost.push_back(part.box);
    if (!lost.empty() && options_.alone) {
      EXPECT_TRUE(has(error.what(), std::string("\"") + known.array.label() + "\"")) << known.array.explain();
    }
    known.past.push_back(known.now);
    Values seen = known.now;
    std::vector<bool> is_lost(seen.size());
    for (const Box& box : lost) {
      const auto view = known.array.write(box);
      each(view, box, domain_, [&](Number& value, std::size_t place) {
        seen[place] = value = 1;
        is_lost[place] = true;
      });
      known.past.push_back(seen);
    }
    const auto view = known.array.read();
    each(view, domain_, domain_, [&](const Number& value, std::size_t place) {
      seen[place] = value;
      if (is_lost[place]) return;
      EXPECT_TRUE(std::any_of(known.past.begin(), known.past.end(),
                              [&](const Values& v) { return v[place] == value; }))
          << "element " << place << " of \"" << known.array.label() << "\" was never " << value
          << ", after: " << error.what();
    });
    known.now = seen;
    known.past = {seen};
    return !lost.empty();
  }
  void change(Known& known, const std::function<void(Values&)>& f) {
    if (options_.failures) known.past.push_back(known.now);
    f(known.now);
  }

  void check(Known& known, const Box& box) {
    attempt(
        [&] {
          const auto view = known.array.read(box);
          index_t wrong = 0;
          each(view, box, domain_,
               [&](const Number& value, std::size_t place) { wrong += value != known.now[place]; });
          // Work that failed is reported by what waits for it, and this did not.
          EXPECT_EQ(wrong, 0) << "old values of \"" << known.array.label() << "\" in " << to_string(box)
                              << ": " << known.array.explain();
        },
        [] {});
  }

  // ---- steps

  auto any_places() {
    Across<Emulated, Threads, Serial> places;
    std::vector<int> devices;
    for (int d = 0; d < options_.devices; ++d) devices.push_back(d);
    const index_t wanted = random_(1, options_.devices);
    for (index_t k = 0; k < wanted; ++k) {
      const auto chosen = devices.begin() + random_(0, static_cast<index_t>(devices.size()) - 1);
      places.places.push_back(on(Emulated{*chosen}));
      devices.erase(chosen);
    }
    if (random_(0, 3) == 0) places.places.insert(places.places.begin() + random_(0, wanted), on(Threads{}));
    if (random_(0, 5) == 0) places.places.push_back(on(Serial{}));
    if (random_(0, 9) == 0) places.places.erase(places.places.begin(), places.places.begin() + wanted);
    if (places.places.empty()) places.places.push_back(on(Serial{}));
    if (random_(0, 1) == 0) {
      std::vector<double> weights;
      for (std::size_t k = 0; k < places.places.size(); ++k)
        weights.push_back(static_cast<double>(random_(0, 4)));
      weights[static_cast<std::size_t>(random_(0, static_cast<index_t>(weights.size()) - 1))] = 3;
      places = places.weighted(weights);
    }
    return places;
  }
  template <class K, class... Accesses>
  void launch_anywhere(ResidentRows work, const K& kernel, const Accesses&... accesses) {
    const Range where = range(work.begin, work.end);
    switch (random_(0, 3)) {
      case 0:
        return launch("any device", on(any_device()), where, kernel, accesses...);
      case 1:
        return launch("any queue", on(queues_[static_cast<std::size_t>(random_(0, options_.devices - 1))]),
                      where, kernel, accesses...);
      default:
        return launch("any devices", any_places(), where, kernel, accesses...);
    }
  }
  ResidentRows any_rows() {
    if (random_(0, 1) == 0) return {0, rows()};
    const index_t begin = random_(0, rows() - 1);
    return {begin, random_(begin, rows())};
  }

  void launch_sum() {
    Known &x = any(), &y = any();
    if (&x == &y) return;
    const index_t n = rows(), first = random_(0, n - 1);
    const WantedRows::Kind kind = static_cast<WantedRows::Kind>(random_(0, 3));
    const bool some = kind == WantedRows::Some;
    const WantedRows wanted{kind, some ? first : random_(0, 2), some ? random_(first, n) : random_(0, 2), n};
    const ResidentRows work = any_rows();
    const Number salt = next_++ * 1000;
    attempt(
        [&] {
          const SumOfRows<rank> kernel{wanted, salt};
          if (kind == WantedRows::Halo)
            launch_anywhere(work, kernel, in(x.array, halo(wanted.a, wanted.b)), out(y.array));
          else launch_anywhere(work, kernel, in(x.array, strata::rows(wanted)), out(y.array));
        },
        [&] {
          change(y, [&](Values& values) {
            write_rows(values, work, [&](index_t row, std::size_t k) {
              Number sum = salt;
              const ResidentRows from = wanted({row, row + 1});
              for (index_t i = from.begin; i < from.end; ++i)
                sum += x.now[static_cast<std::size_t>(i) * row_size() + k];
              return sum;
            });
          });
        });
  }
  void launch_overwrite(bool adds) {
    Known& y = any();
    const ResidentRows work = any_rows();
    const Number salt = next_++ * 1000;
    attempt(
        [&] {
          if (adds) launch_anywhere(work, Overwrite<rank>{salt, true}, inout(y.array));
          else launch_anywhere(work, Overwrite<rank>{salt, false}, out(y.array));
        },
        [&] {
          change(y, [&](Values& values) {
            write_rows(values, work, [&](index_t row, std::size_t k) {
              return adds ? values[static_cast<std::size_t>(row) * row_size() + k] + salt
                          : salt + static_cast<Number>(row);
            });
          });
        });
  }
  void host_write(bool adds) {
    Known& y = any();
    const Box box = any_box();
    const Number salt = next_++ * 1000;
    const auto set = [&](Number& value, std::size_t place) { value = adds ? value + salt : salt + place; };
    attempt(
        [&] {
          const auto view = adds ? y.array.read_write(box) : y.array.write(box);
          each(view, box, domain_, set);
        },
        [&] {
          change(y, [&](Values& values) {
            each(
                [&](auto... i) -> Number& {
                  std::size_t place = 0;
                  int r = 0;
                  ((place =
                        place * static_cast<std::size_t>(domain_.extent(r++)) + static_cast<std::size_t>(i)),
                   ...);
                  return values[place];
                },
                box, domain_, set);
          });
        });
  }

  void one_step() {
    if (options_.failures && random_(0, 4) == 0)
      emulated::fail(static_cast<emulated::Fault>(random_(0, 2)), static_cast<int>(random_(1, 4)));
    if (options_.budgets && random_(0, 7) == 0)
      coherent::set_budget(any_device(),
                           random_(0, 3) == 0 ? no_budget : random_(1, 3) * size_ * 8 - random_(0, 64));
    switch (random_(0, 9)) {
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
        Known& x = any();
        const Box box = any_box();
        const Emulated device = any_device();
        return attempt([&] { x.array.prefetch(box, device); }, [] {});
      }
      case 8:
        if (random_(0, 3) == 0) {
          Known& x = any();
          return attempt([&] { x.array.flush(); }, [] {});
        }
        [[fallthrough]];
      default:
        return check(any(), any_box());
    }
  }

  Random& random_;
  ProgramOptions options_;
  Box domain_;
  index_t size_ = 0;
  std::vector<Known> arrays_;
  std::vector<Queue<Emulated>> queues_;
  Number next_ = 1;
};

}  // namespace coherent_testing
