// Random graphs and scopes over arrays of several ranks and layouts, and of scopes over the same arrays.
// SPDX-License-Identifier: Apache-2.0
#include <thread>
#include <variant>

#include "algorithms/tasks/task_fixture.hpp"

namespace {

using namespace strata_tests;

// Of all elements of row i: y += f(x), where an element of x is chosen by the number of that of y.
struct AddRows {
  Word seed;
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const {
    const index_t row = i;
    index_t number = 0;
    elements<1>(
        y,
        [&](auto... index) {
          y(index...) += hash(seed, element<1>(x, number, row));
          ++number;
        },
        row);
  }
  template <int Depth, class V, class F, class... I>
  STRATA_FUNCTION static void elements(const V& view, const F& f, I... index) {
    if constexpr (Depth == V::extents_type::max_rank_value) f(index...);
    else
      for (index_t k = 0; k < view.extent(Depth); ++k) elements<Depth + 1>(view, f, index..., k);
  }
  template <int Depth, class V, class... I>
  STRATA_FUNCTION static Word element(const V& view, index_t number, I... index) {
    if constexpr (Depth == V::extents_type::max_rank_value) return view(index...);
    else return element<Depth + 1>(view, number / 2, index..., number % view.extent(Depth));
  }
};

using AnyArray = std::variant<Words, CoherentArray<Word, rank<2>>, CoherentArray<Word, rank<2>, LayoutRight>,
                              CoherentArray<Word, rank<2>, LayoutLeft>, CoherentArray<Word, rank<3>>>;

AnyArray new_array(Random& draw, index_t rows) {
  const index_t a = draw(1, 5), b = draw(1, 3);
  switch (draw(0, 4)) {
    case 0:
      return Words("rows", rows);
    case 1:
      return CoherentArray<Word, rank<2>>("tiled", rows, a);
    case 2:
      return CoherentArray<Word, rank<2>, LayoutRight>("right", rows, a);
    case 3:
      return CoherentArray<Word, rank<2>, LayoutLeft>("left", rows, a);
    default:
      return CoherentArray<Word, rank<3>>("three", rows, a, b);
  }
}
// Elements of a row that an array has, in the order in which kernels number them.
std::vector<Word> values_of(const AnyArray& array) {
  return std::visit(
      [](const auto& known) {
        std::vector<Word> values;
        const auto use = known.read();
        const auto& view = use.view();
        for (index_t i = 0; i < known.extent(0); ++i)
          AddRows::elements<1>(
              view, [&](auto... index) { values.push_back(view(index...)); }, i);
        return values;
      },
      array);
}
void fill(const AnyArray& array, Word seed) {
  std::visit(
      [&](const auto& known) {
        const auto use = known.write();
        const auto& view = use.view();
        for (index_t i = 0; i < known.extent(0); ++i)
          AddRows::elements<1>(
              view, [&](auto... index) { view(index...) = hash(seed, Word(i)); }, i);
      },
      array);
}

void run_random_program(Random& draw) {
  const index_t rows = draw(1, 60);
  std::vector<AnyArray> arrays, expected;
  for (index_t a = draw(2, 6); a > 0; --a) {
    arrays.push_back(new_array(draw, rows));
    fill(arrays.back(), Word(a));
    expected.push_back(std::visit(
        [&](const auto& known) -> AnyArray {
          using A = std::remove_cvref_t<decltype(known)>;
          if constexpr (A::rank == 1) return A("expected", rows);
          else if constexpr (A::rank == 2) return A("expected", rows, known.extent(1));
          else return A("expected", rows, known.extent(1), known.extent(2));
        },
        arrays.back()));
    fill(expected.back(), Word(a));
  }
  struct Step {
    std::size_t x, y;
    index_t begin, end;
    Word seed;
  };
  std::vector<Step> steps;
  const index_t last = static_cast<index_t>(arrays.size()) - 1;
  for (index_t k = draw(1, 25); k > 0; --k) {
    const index_t y = draw(0, last), x = (y + draw(1, last)) % (last + 1);
    Step step{static_cast<std::size_t>(x), static_cast<std::size_t>(y), 0, rows, Word(draw(0, 1 << 30))};
    if (draw(0, 1) == 0) {
      step.begin = draw(0, rows - 1);
      step.end = draw(step.begin, rows);
    }
    steps.push_back(step);
  }
  // f(x, y) for the arrays of a step.
  const auto of_step = [](const std::vector<AnyArray>& all, const Step& step, const auto& f) {
    std::visit([&](const auto& x) { std::visit([&](const auto& y) { f(x, y); }, all[step.y]); }, all[step.x]);
  };
  const auto add_steps = [&](auto& tasks) {
    for (const Step& step : steps)
      of_step(arrays, step, [&](const auto& x, const auto& y) {
        tasks.launch("add", range(step.begin, step.end), AddRows{step.seed}, in(x), inout(y));
      });
  };
  for (const Step& step : steps)
    of_step(expected, step, [&](const auto& x, const auto& y) {
      launch(on(Serial{}), range(step.begin, step.end), AddRows{step.seed}, in(x), inout(y));
    });

  const index_t budget = draw(0, 1) == 0 ? index_t{1} << 40 : 2 * 15 * 8 * (rows + 8) * draw(1, 3);
  for (int k = 0; k < Emulated::count(); ++k) coherent::set_budget(Emulated{k}, budget);
  const TaskRunOptions options = random_options(draw, static_cast<int>(steps.size()));
  at_some_place<Emulated>(draw, [&](const auto& place) {
    if (draw(0, 1) == 0) {
      TaskScope scope("random", place, options);
      add_steps(scope);
      return scope.wait();
    }
    TaskGraph graph("random");
    add_steps(graph);
    return graph.run(place, options);
  });
  lift_budgets();
  for (std::size_t a = 0; a < arrays.size(); ++a) ASSERT_EQ(values_of(arrays[a]), values_of(expected[a]));
}

void run_random_programs(int count) {
  Random draw;
  for (int trial = 0; trial < count && !::testing::Test::HasFatalFailure(); ++trial) run_random_program(draw);
}
TEST(TaskLayouts, GiveWhatLaunchesInOrderGive) { run_random_programs(trials(100)); }
TEST(TaskLayouts, GiveWhatLaunchesInOrderGiveSlow) { run_random_programs(20000); }

// Two threads, each with a scope or a graph, over the same arrays in orders of their own. All add to one of
// them what does not depend on the others: the sums are those of any order.
void run_shared_programs(int count) {
  Random draw;
  constexpr std::size_t num_arrays = 5;
  for (int trial = 0; trial < count && !::testing::Test::HasFatalFailure(); ++trial) {
    std::vector<Words> arrays;
    for (std::size_t a = 0; a < num_arrays; ++a) arrays.emplace_back("shared", 50);
    const Words constant("constant", 50);  // 0
    std::vector<Word> expected(num_arrays);
    struct Add {
      std::size_t y, z;  // z is only read, and its values are not used
      Word seed;
      index_t update;
    };
    std::vector<std::vector<Add>> programs(2);
    for (std::vector<Add>& program : programs)
      for (index_t k = draw(1, 30); k > 0; --k) {
        const index_t y = draw(0, num_arrays - 1), z = (y + draw(1, num_arrays - 1)) % index_t{num_arrays};
        program.push_back(
            {static_cast<std::size_t>(y), static_cast<std::size_t>(z), Word(draw(0, 1 << 30)), draw(0, 2)});
        expected[static_cast<std::size_t>(y)] += hash(program.back().seed, 0);
      }
    const auto add_to = [&](auto& tasks, const std::vector<Add>& program) {
      for (const Add& add : program) {
        const Words &y = arrays[add.y], &z = arrays[add.z];
        const auto call = [](const auto& queue, const auto& x, const auto&, const auto& out, Word seed) {
          parallel_for(on(queue), x.extent(0), with(AddHash{seed}, x, out));
        };
        const auto f = [call, seed = add.seed](const auto& queue, const auto& x, const auto& unused,
                                               const auto& out) { call(queue, x, unused, out, seed); };
        switch (add.update) {
          case 0:
            tasks.call("add", f, in(constant), in(z), inout(y));
            break;
          case 1:
            tasks.call("add", f, in(constant), in(z), commute(y));
            break;
          default:
            tasks.call("add", f, in(constant), in(z), reduce(y));
        }
      }
    };
    std::vector<TaskRunOptions> options;
    std::vector<bool> is_scope, is_host;
    for (int k = 0; k < 2; ++k) {
      options.push_back(random_options(draw, 30));
      is_scope.push_back(draw(0, 2) > 0);
      is_host.push_back(draw(0, 1) == 0);
    }
    const auto run = [&](std::size_t k) {
      const auto run_at = [&](const auto& place) {
        if (is_scope[k]) {
          TaskScope scope("shared", place, options[k]);
          add_to(scope, programs[k]);
          EXPECT_NO_THROW(scope.wait());
        } else {
          TaskGraph graph("shared");
          add_to(graph, programs[k]);
          EXPECT_NO_THROW(graph.run(place, options[k]));
        }
      };
      if (is_host[k]) run_at(on(Threads{}));
      else run_at(across(Emulated{0}, Emulated{1}));
    };
    std::thread other([&] { run(1); });
    run(0);
    other.join();
    for (std::size_t a = 0; a < num_arrays; ++a) ASSERT_EQ(Word(arrays[a](49)), expected[a]);
  }
}
TEST(TaskScopesOverTheSameArrays, GiveTheSumsOfBoth) { run_shared_programs(trials(100)); }
TEST(TaskScopesOverTheSameArrays, GiveTheSumsOfBothSlow) { run_shared_programs(20000); }

}  // namespace
