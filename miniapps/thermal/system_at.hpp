// SystemAt: the system of equations of a mesh at a place: on one device (on), in parts on several (across),
// or in slices that go through one, within a budget of its memory (streamed).
//
// The loops are declared once, as sequences (algorithms/sequence/sequence.hpp). On one device they are
// recorded as graphs, over parts their plans are kept, in slices each has the budget for itself while it is
// used:
//
// - assembly: elements -> contributions, on the devices only -> rows of the matrix -> given temperatures out;
// - rows, in slices: a product with the matrix, and what else the conjugate gradients ask of rows; over parts
//   these are loops of the solver's own sequence;
// - residual, coupling, integrals: what is reported.
//
// The place chooses the form of elements and rows, which the loops get their kernels and arrays from:
// compressed_rows.hpp on one device, block_rows.hpp elsewhere. In slices and over parts all calls wait.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <memory>

#include <strata/algorithms/coherent_reduce.hpp>
#include <strata/algorithms/streaming/streamed_sequence.hpp>
#include <strata/core/error.hpp>
#include <strata/miniapps/thermal/block_rows.hpp>
#include <strata/miniapps/thermal/boomeramg.hpp>
#include <strata/miniapps/thermal/compressed_rows.hpp>
#include <strata/miniapps/thermal/make_heat.hpp>

namespace strata::inline STRATA_ABI::thermal {

template <class Where>
inline constexpr bool is_on_one = std::is_same_v<Where, On<miniapp::DeviceOf<Where>>>;
/// The form of elements and rows at a place.
template <class Where, class T>
using FormAt =
    std::conditional_t<is_on_one<Where>, CompressedRows<miniapp::DeviceOf<Where>, T>, BlockRows<Where, T>>;

/// launch_reduce at a place, or a loop of a sequence.
void reduce_or_add(const char* label, auto& where, const auto& work, const auto& kernel, auto&& into,
                   const auto&... accesses) {
  if constexpr (Place<std::remove_cvref_t<decltype(where)>>)
    launch_reduce(where.named(label), work, kernel, into, accesses...);
  else where.loop_reduce(label, work, kernel, into, accesses...);
}

/// Not copied.
template <class Where, class T>
class SystemAt final : public FormAt<Where, T> {
  using Form = FormAt<Where, T>;
  static constexpr bool is_in_core = is_on_one<Where>;

 public:
  using Device = miniapp::DeviceOf<Where>;
  using Number = T;
  using typename System<Device, T>::Fields;
  using typename System<Device, T>::NodeList;
  static constexpr bool is_streamed = miniapp::goes_through_slices<Where>;

  /// MeshError, OutOfMemory: in slices where the budget is too small, for a limit of `vectors` bytes more.
  SystemAt(const Where& where, const typename Form::Mesh& mesh, const Problem& problem,
           const SolveSettings& settings, index_t vectors = 0)
      : Form(where, mesh, problem, settings), has_film_(problem.has_inflows), numbers_(numbers_of(mesh)) {
    steady_.declare = [this](Steps& s) { declare_assembly<MatrixTerm>(s); };
    state_.declare = [this](Steps& s) { declare_assembly<MatrixTerm | StateTerm>(s); };
    balance_.declare = [this](Steps& s) { declare_assembly<StateTerm>(s); };
    if constexpr (!is_in_core) {
      residual_.declare = [this](Steps& s) { declare_residual(s); };
      residual_.beside = 2 * ((mesh.nodes * 8 + 511) / 512 * 512);
    }
    if constexpr (is_streamed) {
      rows_.declare = [this](Steps& s) { declare_rows(s); };
      coupling_.declare = [this](Steps& s) { add_coupling(s, coupling_values_); };
      integrals_.declare = [this](Steps& s) { add_integrals(s, each_step(Sum, integral_values_)); };
      x_ = Numbers("x", mesh.nodes, uninitialized, mesh.memory, mesh.home);
      result_ = Numbers("result", mesh.nodes, uninitialized, mesh.memory, mesh.home);
      const Stage* const stages[] = {&steady_, &balance_, &rows_, &residual_, &coupling_, &integrals_};
      for (const Stage* stage : stages)
        if (!fits(*stage, where.budget))
          fail_memory_limit(mesh, device_name(this->queue_.device()), where.budget + vectors,
                            least_limit(stages, vectors), vectors);
    }
    if constexpr (is_in_core) solver_ = std::make_unique<Solver>(this->matrix_, cg_options(settings));
    else solver_ = std::make_unique<Solver>(MatrixOf<SystemAt>(*this), cg_options(settings));
  }
  SystemAt(const SystemAt&) = delete;

  const Where& where() const { return this->where_; }
  const StreamTotals& totals() const override { return totals_; }
  NodeList select(const std::string& selector) override {
    release();  // makes room for the list
    return Form::select(selector);
  }
  void bind(const Fields& fields) override {
    fields_ = fields;
    numbers_.bind(fields);
  }

  void assemble(int kind, const Coefficients<T>& coefficients, bool eliminates, SolveTimes& times) override {
    const auto timed = [&](double& seconds, const auto& work) {
      thermal::timed(this->queue_, seconds, work);
    };
    const bool has_state = (kind & StateTerm) != 0;
    Stage& stage = stage_of(has_state ? state_ : steady_, coefficients);
    if constexpr (is_in_core) {
      if (!has_state && this->assembly_ != Assembly::Gather)
        return timed(times.fill, [&] { this->assemble_unstored(coefficients, fields_); });
      timed(times.compute, [&] { run(stage, 0, 1); });
      timed(times.fill, [&] { run(stage, 1, 1); });
      if (eliminates) timed(times.boundary, [&] { eliminate(); });
    } else {
      timed(times.fill, [&] {
        if (has_state) show(numbers_.temperature, numbers_.change);
        if (eliminates) show(numbers_.conditions, numbers_.given, numbers_.lift);
        run(stage, 0, eliminates ? 3 : 2);
        take(numbers_.b);
        if (eliminates) take(numbers_.lift);
      });
    }
  }
  void assemble_vector(const Coefficients<T>& coefficients) override {
    show(numbers_.temperature, numbers_.change);
    run(stage_of(balance_, coefficients), 0, 2);
    take(numbers_.b);
  }
  void eliminate() override {
    show(numbers_.conditions, numbers_.given, numbers_.lift);
    if constexpr (is_in_core) {
      boomeramg_.reset();
      add_elimination(this->where_);
    } else {
      run(state_.steps ? state_ : steady_, 2, 1);
    }
    take(numbers_.lift);
  }

  linear::CgResult solve(const linear::CgOptions& options) override {
    solver_->set_options(options);
    if constexpr (is_in_core) prepare_boomeramg();
    if constexpr (is_in_core || is_streamed) {
      return solver_->solve(on(this->queue_), fields_.b, fields_.y);
    } else {
      show(numbers_.b, numbers_.y);
      const linear::CgResult result = solver_->solve(numbers_.b.array(), numbers_.y.array());
      take(numbers_.y);
      return result;
    }
  }
  // What the solver asks of rows: in slices all at once, over parts by launches, or loops of a sequence.
  void multiply(auto& where, const auto& x, const auto& y) {
    if constexpr (is_streamed) {
      launch(where.named("x of rows"), this->mesh_.nodes, CopyNumber{}, in(x), out(x_));
      operate(where, RowOperation::Product, y);
    } else {
      this->add_product(where, x, y);
    }
  }
  void operate(const auto& where, RowOperation operation, const auto& y) {
    if constexpr (is_streamed) {
      operation_ = operation;
      run(rows_, 0, 1);
      launch(where.named("result of rows"), this->mesh_.nodes, CopyNumber{}, in(result_), out(y));
    } else {
      this->add_rows(where, operation, this->written(y));
    }
  }

  ResidualSquares residual() override {
    ResidualSquares squares{};
    if constexpr (is_in_core) {
      this->with_rows([&](const auto& work, const auto&... rows) {
        launch_reduce(this->where_.named("true residual"), work, this->each_row(TrueResidual{}), Sum(squares),
                      rows..., in(this->matrix_.values()), in(fields_.conditions), in(fields_.b),
                      in(fields_.y));
      });
    } else {
      forget(residual_);  // arrays are others each time
      show(numbers_.b, numbers_.y);
      rest_ = doubles("residuals");
      magnitude_ = doubles("magnitudes of rows");
      run(residual_, 0, 1);
      launch_reduce(on(this->queue_).named("true residual"), this->mesh_.nodes, SumOfResiduals{},
                    Sum(squares), in(fields_.conditions), in(fields_.b), in(rest_), in(magnitude_));
      forget(residual_);
      rest_ = magnitude_ = {};
    }
    return squares;
  }
  double greatest_coupling() override {
    show(numbers_.conditions);
    double greatest = 0;
    if constexpr (is_streamed) {
      run(coupling_, 0, 1);
      greatest = coupling_values_.at(0);
    } else {
      add_coupling(this->where_, greatest);
    }
    return greatest;
  }
  HeatIntegrals integrals(const Problem& problem, double rate) override {
    show(numbers_.temperature, numbers_.change);
    integrals_kernel_ = {problem.beta, problem.sink, rate};
    HeatIntegrals sums{};
    if constexpr (is_streamed) {
      forget(integrals_);  // it has the kernel of the last time
      run(integrals_, 0, 1);
      sums = integral_values_.at(0);
    } else {
      add_integrals(this->where_, Sum(sums));
    }
    return sums;
  }

 private:
  using Numbers = CoherentArray<T, rank<1>, LayoutRight>;
  using Doubles = CoherentArray<double, rank<1>, LayoutRight>;
  using Steps = Sequence<Where>;

  // A sequence, and how much of the budget others need while it runs.
  struct Stage {
    const char* label;
    index_t beside = 0;
    std::function<void(Steps&)> declare = {};
    std::unique_ptr<Steps> steps = {};
    Coefficients<T> coefficients = {};  // that are recorded
  };

  static LoopNumbers<Where, T> numbers_of(const typename Form::Mesh& mesh) {
    if constexpr (is_in_core) return LoopNumbers<Where, T>(mesh.node_count(), MemoryMode::Smart);
    else return LoopNumbers<Where, T>(mesh.nodes, mesh.memory, mesh.home);
  }
  Doubles doubles(const char* label) const {
    return Doubles(label, this->mesh_.nodes, uninitialized, this->mesh_.memory, this->mesh_.home);
  }

  // ---- what sequences are

  template <int Kind>
  void declare_assembly(Steps& s) {
    constexpr bool has_matrix = (Kind & MatrixTerm) != 0;
    if constexpr (is_in_core) {
      if (has_matrix && !this->element_matrix_) this->make_element_matrix();
    } else {
      if (has_matrix) s.temporary(this->element_matrix_);
      s.temporary(this->element_vector_);
    }
    const auto contribute = [&](const auto&... results) {
      this->with_elements([&](const auto&... elements) {
        s.loop("element contributions", contributions_work(this->element_count()), contributions<Kind>(),
               elements..., this->read(numbers_.temperature.array(), this->nodes_of()),
               this->read(numbers_.change.array(), this->nodes_of()), results...);
      });
    };
    const auto vector = [&] { return fixed_row<8>(in(this->element_vector_, this->elements_of())); };
    const auto b = [&] { return this->written(numbers_.b.array()); };
    if constexpr (has_matrix) {
      contribute(fixed_row<8, 8>(out(this->element_matrix_)), fixed_row<8>(out(this->element_vector_)));
      this->with_gather([&](const auto& work, const auto& kernel, const auto&... graph) {
        s.loop("gather rows", work, kernel, graph...,
               fixed_row<8, 8>(in(this->element_matrix_, this->elements_of())), vector(),
               out(this->values_, this->own_blocks()), b());
      });
      if constexpr (!is_in_core) add_elimination(s);
    } else {
      contribute(fixed_row<8>(out(this->element_vector_)));
      this->with_gather_vector([&](const auto& work, const auto& kernel, const auto&... graph) {
        s.loop("gather vector", work, kernel, graph..., vector(), b());
      });
    }
  }
  // In core the kernel that is recorded.
  template <int Kind>
  auto contributions() const {
    if constexpr (is_in_core) return Form::template contributions<Kind>(coefficients_);
    else return by_step([this](int) { return Form::template contributions<Kind>(coefficients_); });
  }
  void add_elimination(auto& where) const {
    this->with_rows([&](const auto& work, const auto&... rows) {
      linear::launch_or_add("eliminate given temperatures", where, work, this->elimination(has_film_),
                            rows..., inout(this->values_, this->own_blocks()),
                            this->read(numbers_.conditions.array(), this->neighbours_of()),
                            this->read(numbers_.given.array(), this->neighbours_of()),
                            this->changed(numbers_.lift.array()));
    });
  }
  void declare_rows(Steps& s) const {
    this->with_rows([&](const auto& work, const auto&... rows) {
      s.loop("rows", work, by_step([this](int) {
               return this->each_row(ApplyRow{operation_, this->group_});
             }),
             rows..., in(this->values_), this->read(x_, this->neighbours_of()), this->written(result_));
    });
  }
  void declare_residual(Steps& s) const {
    this->with_rows([&](const auto& work, const auto&... rows) {
      s.loop("residuals", work, this->each_row(StoreResidual{}), rows..., in(this->values_),
             this->read(numbers_.b.array(), this->places_of()),
             this->read(numbers_.y.array(), this->neighbours_of()),
             this->written(rest_ ? rest_ : doubles("residuals")),
             this->written(magnitude_ ? magnitude_ : doubles("magnitudes of rows")));
    });
  }
  void add_coupling(auto& where, auto& into) const {
    this->with_rows([&](const auto& work, const auto&... rows) {
      reduce_or_add("greatest coupling", where, work, this->each_row(GreatestCoupling{}), into, rows...,
                    in(this->values_, this->own_blocks()),
                    this->read(numbers_.conditions.array(), this->places_of()));
    });
  }
  // Sums over elements are made in the mesh's own order.
  void add_integrals(auto& where, auto&& into) const {
    this->with_own_elements([&](const auto&... elements) {
      reduce_or_add("integrals", where, this->element_count(), integrals_kernel_, into, elements...,
                    this->read(numbers_.temperature.array(), this->nodes_of()),
                    this->read(numbers_.change.array(), this->nodes_of()));
    });
  }

  // ---- how they run

  void show(const auto&... numbers) const { (numbers.show(on(this->queue_)), ...); }
  void take(const auto&... numbers) const { (numbers.take(on(this->queue_)), ...); }

  static constexpr int least_slots = 2;

  // Within the budget, with as many slices as the model wants, or the least.
  auto where_of(const Stage& stage, index_t budget, bool least) const requires(is_streamed) {
    const auto at = streamed(this->queue_, budget - stage.beside);
    return least ? at.slots(least_slots) : at;
  }
  bool plans(const Stage& stage, index_t budget, bool least) const {
    if (budget <= stage.beside) return false;
    Steps dry(stage.label, where_of(stage, budget, least).dry_run());
    stage.declare(dry);
    try {
      dry.run(1);
      return true;
    } catch (const OutOfMemory&) {
      return false;
    }
  }
  bool fits(const Stage& stage, index_t budget) const {
    return plans(stage, budget, false) || plans(stage, budget, true);
  }
  // Of all stages, to a hundredth.
  template <std::size_t N>
  index_t least_limit(const Stage* const (&stages)[N], index_t vectors) const {
    index_t least = 0;
    for (const Stage* stage : stages) {
      if (least > 0 && plans(*stage, least, true)) continue;
      index_t low = least, high = std::max<index_t>(2 * least, index_t{1} << 14);
      for (; !plans(*stage, high, true); high *= 2) low = high;
      while (high - low > std::max<index_t>(high / 100, 512)) {
        const index_t middle = low + (high - low) / 2;
        (plans(*stage, middle, true) ? high : low) = middle;
      }
      least = high;
    }
    return vectors + least;
  }

  // On one device coefficients are recorded with the loops.
  Stage& stage_of(Stage& stage, const Coefficients<T>& coefficients) {
    if (is_in_core && !(stage.coefficients == coefficients)) stage.steps.reset();
    coefficients_ = stage.coefficients = coefficients;
    return stage;
  }
  void run(Stage& stage, int first, int loops) {
    if (is_streamed && active_ != &stage) release();
    if (!stage.steps) {
      std::unique_ptr<Steps> made;
      if constexpr (is_streamed) {
        const index_t budget = this->where_.budget;
        made = std::make_unique<Steps>(stage.label, where_of(stage, budget, !plans(stage, budget, false)));
      } else {
        made = std::make_unique<Steps>(stage.label, this->where_);
      }
      stage.declare(*made);  // OutOfMemory, after which there is no half of a sequence
      stage.steps = std::move(made);
    }
    stage.steps->begin_with(first);
    if constexpr (is_streamed) {
      active_ = &stage;
      // Plans differ, and buffers are exchanged: the old ones are free when nothing is under way that might
      // use them. Beside a pass that costs nothing.
      wait(this->queue_.device());
      const StreamReport report = stage.steps->run_loops(loops);
      totals_.passes += report.passes;
      totals_.bytes_to_device += report.bytes_to_device;
      totals_.bytes_to_host += report.bytes_to_host;
      totals_.seconds += report.seconds;
      totals_.predicted_seconds += report.predicted_seconds;
    } else {
      stage.steps->run_loops(loops);
    }
  }
  // Gives the device's memory back until it is needed.
  void release() {
    if (active_ == nullptr) return;
    wait(this->queue_.device());  // as in run()
    active_->steps->release();
    active_ = nullptr;
  }

  void forget(Stage& stage) {
    release();
    stage.steps.reset();
  }

  // Once for each matrix.
  void prepare_boomeramg() {
    if constexpr (Device::memory_space::host_accessible) {  // it is refused elsewhere
      if (!this->use_boomeramg_ || boomeramg_) return;
      const auto& graph = this->matrix_.graph();
      this->queue_.wait();
      boomeramg_ = std::make_unique<BoomerAmg>(graph.rows(), graph.row_map().data(), graph.entries().data(),
                                               this->matrix_.values().data());
      solver_->set_preconditioner([amg = boomeramg_.get()](const auto& where, const auto& r, const auto& z) {
        where.queue->wait();
        amg->apply(r.data(), z.data());
      });
    }
  }

  bool has_film_;
  Fields fields_;
  LoopNumbers<Where, T> numbers_;
  Stage steady_{"assembly"}, state_{"assembly of a state"}, balance_{"balance"}, rows_{"rows"},
      residual_{"residual"}, coupling_{"coupling"}, integrals_{"integrals"};
  // What kernels of the next run have, and their results.
  Coefficients<T> coefficients_;
  RowOperation operation_ = RowOperation::Product;
  Integrals integrals_kernel_{};
  std::vector<double> coupling_values_;
  std::vector<HeatIntegrals> integral_values_;
  Numbers x_, result_;        // of rows, in slices
  Doubles rest_, magnitude_;  // while the residual is computed

  Stage* active_ = nullptr;  // in slices: has memory of the device
  StreamTotals totals_;
  using Solver = linear::ConjugateGradients<
      std::conditional_t<is_in_core, linear::CrsMatrix<T, Device>, MatrixOf<SystemAt>>>;
  std::unique_ptr<Solver> solver_;
  std::unique_ptr<BoomerAmg> boomeramg_;  // of the matrix as it is
};

template <class T, class Where, class Mesh>
std::unique_ptr<System<miniapp::DeviceOf<Where>, T>> make_system(const Where& where, const Mesh& mesh,
                                                                 const Problem& problem,
                                                                 const SolveSettings& settings,
                                                                 index_t vectors) {
  return std::make_unique<SystemAt<Where, T>>(where, mesh, problem, settings, vectors);
}

}  // namespace strata::inline STRATA_ABI::thermal
