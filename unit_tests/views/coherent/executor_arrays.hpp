// The arrays of random programs: coherent arrays, beside each a plain array that says what every element must
// be. A failure may take back what was enqueued before it: an element is then as it was some time before, or
// lost, if the error says so.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "views/coherent/executor_kernels.hpp"

namespace coherent_testing {

using strata_tests::Random;

struct ProgramOptions {
  int devices;        // emulated, the first ones
  bool failures;      // some operations are made to fail
  bool budgets;       // some devices may hold little
  bool alone = true;  // the errors are its own
  // In checked builds, with kernels that do not write what they declared. Such an error is told by whoever
  // waits for the device next.
  bool holes = false;
  bool streams = true;   // also by slices, for which no launch waits when there is no room
  bool managed = false;  // all arrays lie in managed memory
  int steps = 16;
};

/// One to three arrays of one type and shape.
template <class Array>
class ProgramArrays {
 public:
  static constexpr int rank = Array::rank;
  using Values = std::vector<Number>;
  struct Known {
    Array array;
    Values now;                // row-major
    std::vector<Values> past;  // since all of it was seen last
  };

  ProgramArrays(Random& random, const ProgramOptions& options) : random_(random), options_(options) {
    const index_t longest = rank == 1 ? 70 : rank == 2 ? 21 : rank == 3 ? 10 : 9;
    index_t extents[rank];
    const index_t none = random_(0, 15) == 0 ? random_(0, rank - 1) : rank;  // a dimension without an index
    for (int r = 0; r < rank; ++r) {
      extents[r] = r == none ? 0 : random_(1, r == 0 ? longest : rank == 2 ? 7 : 3);
      if (r > 0) row_size_ *= extents[r];
    }
    size_ = extents[0] * row_size_;
    domain_ = Box::from_extents(std::span(extents, std::size_t{rank}));
    const char* const labels[] = {"a", "b", "c"};
    const index_t count = random_(1, 3);
    for (index_t k = 0; k < count; ++k)
      make(labels[k], extents, std::make_index_sequence<std::size_t{rank}>());
  }

  const Box& domain() const { return domain_; }
  /// Elements of an array.
  index_t size() const { return size_; }
  index_t rows() const { return domain_.extent(0); }
  std::size_t row_size() const { return static_cast<std::size_t>(row_size_); }
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
    const index_t none = random_(0, 15) == 0 ? random_(0, rank - 1) : rank;  // a dimension without an index
    for (int r = 0; r < rank; ++r) {
      const index_t n = domain_.extent(r), lower = random_(0, std::max(n - 1, index_t{0}));
      box = box.with_bounds(r, lower, r == none ? lower : random_(std::min(lower + 1, n), n));
    }
    return random_(0, 3) == 0 ? domain_ : box;
  }

  // ---- what may fail

  /// Calls action(), and apply() where it had, or may have had, an effect.
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
      look_again(Told{error});
      return;
    }
    apply();
  }
  /// The same, of a launch with a result. Where that fails, the array is told lost by its next use, and work
  /// before it that failed by whoever meets it.
  template <class Action, class Apply>
  void attempt_result(const Action& action, const Apply& apply) {
    try {
      action();
    } catch (const OutOfMemory& error) {
      EXPECT_TRUE(options_.budgets || options_.failures) << error.what();
      return;
    } catch (const Error& error) {
      EXPECT_TRUE(options_.failures) << error.what();
      apply();
      Told told{error};
      told.more_may_come = true;
      emulated::clear_faults();
      for (bool again = true; again;) {
        again = false;
        for (Known& known : arrays_) try {
            known.array.flush();
          } catch (const NeverWritten&) {  // checked builds: lost, as was told
          } catch (const Error& more) {
            told.add(more);
            again = true;
          }
      }
      look_again(told);
      return;
    }
    apply();
  }
  /// f changes the values that `known` must have.
  void change(Known& known, const std::function<void(Values&)>& f) {
    if (options_.failures) known.past.push_back(known.now);
    f(known.now);
  }

  /// What the host reads is right.
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
  /// What is said of it covers the box, whatever it has.
  void look(Known& known, const Box& box) {
    index_t elements = 0;
    for (const Residence& part : known.array.where(box)) elements += part.box.size();
    EXPECT_EQ(elements, box.empty() ? 0 : box.size()) << known.array.label() << " at " << to_string(box);
    EXPECT_TRUE(has(known.array.explain(), known.array.label()));
  }
  /// Sets all of it, of which a part is lost.
  void write_anew(Known& known, Number value) {
    const auto view = known.array.write();
    each(view, domain_, domain_, [&](Number& element, std::size_t) { element = value; });
    known.now.assign(known.now.size(), value);
  }
  /// All of all arrays is right.
  void check_all() {
    if (options_.failures)
      for (Known& known : arrays_) attempt([&] { known.array.flush(); }, [] {});
    for (Known& known : arrays_) check(known, domain_);
  }

 private:
  // What errors said.
  struct Told {
    std::string text;
    bool is_lost = false;
    bool more_may_come = false;  // of work that nobody has waited for
    explicit Told(const Error& error) { add(error); }
    void add(const Error& error) {
      text += (text.empty() ? "" : "; ") + std::string(error.what());
      is_lost = is_lost || dynamic_cast<const DataLost*>(&error) != nullptr;
    }
  };

  template <std::size_t... R>
  void make(const char* label, const index_t* extents, std::index_sequence<R...>) {
    Known known;
    const MemoryMode mode = options_.managed ? MemoryMode::Managed : any_mode();
    const Emulated main = any_device();
    // Memory that a device and the host share may not be had: then the array is smart.
    const bool lacks_memory = options_.failures && options_.alone && random_(0, 3) == 0;
    if (lacks_memory) emulated::fail(emulated::Fault::Allocation, 1);
    const bool is_filled = random_(0, 1) == 0;
    known.array = is_filled ? Array(label, extents[R]..., prefer(mode), main_in(main))
                            : Array(label, extents[R]..., uninitialized, prefer(mode), main_in(main));
    if (lacks_memory) emulated::clear_faults();
    const bool is_shared =
        mode == MemoryMode::Pinned || mode == MemoryMode::Managed || mode == MemoryMode::Mapped;
    const MemoryMode got = known.array.memory_mode();
    if (lacks_memory && is_shared) {
      EXPECT_EQ(got, MemoryMode::Smart);
    } else {
      // Of other threads, or where there is little room, it need not be there either.
      EXPECT_TRUE(got == mode || (is_shared && got == MemoryMode::Smart)) << to_string(got);
    }
    if (is_filled) {
      known.now.assign(static_cast<std::size_t>(size_), 0);
      arrays_.push_back(std::move(known));
      return;
    }
    known.now.resize(static_cast<std::size_t>(size_));
    const Rewrite<rank> first{7, false};
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
  void look_again(Told told) {
    emulated::clear_faults();
    bool any_lost = false;
    for (bool again = true; again;) {
      again = false;
      try {
        for (Known& known : arrays_) insist([&] { look_again(known, told, any_lost); });
      } catch (const Error& more) {
        if (!told.more_may_come) throw;
        told.add(more);
        again = true;
      }
    }
    if (options_.alone) {
      EXPECT_EQ(any_lost, told.is_lost) << told.text;
    }
  }
  // What is lost is written anew.
  void look_again(Known& known, const Told& told, bool& any_lost) {
    std::vector<Box> lost;
    for (const Residence& part : known.array.where(domain_))
      if (part.memories.empty()) lost.push_back(part.box);
    if (!lost.empty() && options_.alone) {
      EXPECT_TRUE(has(told.text, std::string("\"") + known.array.label() + "\"")) << known.array.explain();
    }
    any_lost = any_lost || !lost.empty();
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
          << ", after: " << told.text;
    });
    known.now = seen;
    known.past = {seen};
  }

  // Of those that copy, or need not, without being asked.
  MemoryMode any_mode() {
    const MemoryMode modes[] = {MemoryMode::Smart,   MemoryMode::Smart,  MemoryMode::Pinned,
                                MemoryMode::Managed, MemoryMode::Mapped, MemoryMode::Implicit};
    return modes[random_(0, 5)];
  }
  Emulated any_device() { return Emulated{static_cast<int>(random_(0, options_.devices - 1))}; }

  Random& random_;
  ProgramOptions options_;
  Box domain_;
  index_t size_ = 0, row_size_ = 1;
  std::vector<Known> arrays_;
};

}  // namespace coherent_testing
