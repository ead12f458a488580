// PlacedWork: the loops of a system of equations (placed_system.hpp) at a place: over parts on several
// devices (across), or over slices that go through one, within a budget of its memory (streamed). Elements,
// what they give and the matrix are coherent arrays (placed_mesh.hpp); the numbers of nodes are on the first
// device, and, over parts, the vectors of the solver are where their rows are.
//
// What runs is one of some sequences of loops (algorithms/sequence/sequence.hpp):
//
// - assembly: elements -> contributions, on the devices only -> rows of the matrix -> given temperatures out;
// - rows: in slices a product with the matrix, and what else the conjugate gradients ask of rows; over parts
//   these are loops of the solver's own sequence;
// - residual, coupling, integrals: what is reported.
//
// Each is declared once, and keeps its plans. In slices each has the budget for itself while it is used. All
// wait.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <memory>

#include <strata/algorithms/linear/conjugate_gradients_across.hpp>
#include <strata/algorithms/streaming/fixed_row.hpp>
#include <strata/algorithms/streaming/streamed_sequence.hpp>
#include <strata/core/error.hpp>
#include <strata/miniapps/thermal/node_numbers.hpp>
#include <strata/miniapps/thermal/placed_system.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// The matrix, as conjugate gradients take one that multiplies by itself: in slices, or in parts.
template <class Work>
class MatrixOf {
 public:
  using value_type = typename Work::Number;
  using device_type = typename Work::Device;
  explicit MatrixOf(Work& work) : work_(&work) {}

  index_t rows() const { return work_->mesh().nodes; }
  index_t columns() const { return rows(); }
  const device_type& device() const requires(Work::is_streamed) { return work_->device(); }
  const auto& place() const requires(!Work::is_streamed) { return work_->where(); }
  void multiply(auto& where, const auto& x, const auto& y) const { work_->multiply(where, x, y); }
  void diagonal(const auto& where, const auto& d) const { work_->operate(where, RowOperation::Diagonal, d); }
  void magnitudes(const auto& where, const auto& s) const {
    work_->operate(where, RowOperation::Magnitudes, s);
  }

 private:
  Work* work_;
};

/// The sequences, and the arrays that only they know. Not copied.
template <class Where, class T>
class PlacedWork final : public PlacedLoops<miniapp::DeviceOf<Where>, T> {
 public:
  using Device = miniapp::DeviceOf<Where>;
  using Number = T;
  using Numbers = CoherentArray<T, rank<1>, LayoutRight>;
  using Steps = Sequence<Where>;
  using Fields = HeatFields<Device, T>;
  using Field = typename Fields::Field;
  static constexpr bool is_streamed = miniapp::goes_through_slices<Where>;
  /// Whether several threads take a row.
  static constexpr bool has_lanes = !is_streamed && !Device::memory_space::host_accessible;

  /// In slices OutOfMemory where the budget is too small, for a limit of `vectors` bytes more.
  PlacedWork(const Where& where, const PlacedMesh& mesh, const Problem& problem, index_t vectors)
      : where_(where),
        mesh_(mesh),
        queue_(miniapp::first_device(where)),
        group_(linear::row_group(mesh.nodes, mesh.entry_count)),
        has_film_(problem.has_inflows),
        numbers_(mesh.nodes, mesh.memory, mesh.home),
        materials_("materials", static_cast<index_t>(problem.materials.size()), index_t{material_columns},
                   mesh.memory, mesh.home),
        values_("matrix", mesh.blocks, mesh.block_room, uninitialized, mesh.memory, mesh.home),
        element_matrix_("element matrices", mesh.elements, 8, 8, uninitialized, element_memory(mesh),
                        mesh.home),
        element_vector_("element vectors", mesh.elements, 8, uninitialized, element_memory(mesh), mesh.home) {
    set_materials(materials_.write().view(), problem.materials);
    miniapp::to_device(materials_, device());
    set_declarations();
    if constexpr (is_streamed) {
      x_ = Numbers("x", mesh.nodes, uninitialized, mesh.memory, mesh.home);
      result_ = Numbers("result", mesh.nodes, uninitialized, mesh.memory, mesh.home);
      const Stage* const stages[] = {&steady_, &balance_, &rows_, &residual_, &coupling_, &integrals_};
      for (const Stage* stage : stages)
        if (!fits(*stage, where_.budget))
          fail_memory_limit(mesh_, device_name(device()), where_.budget + vectors,
                            least_limit(stages, vectors), vectors);
    }
  }
  PlacedWork(const PlacedWork&) = delete;

  const Where& where() const { return where_; }
  const PlacedMesh& mesh() const override { return mesh_; }
  const Device& device() const override { return miniapp::first_device(where_); }
  const Queue<Device>& queue() const override { return queue_; }
  const StreamTotals& totals() const override { return totals_; }
  const PlacedNodeArray<T, rank<2>>& values() const override { return values_; }
  void bind(const Fields& fields) override {
    fields_ = fields;
    numbers_.bind(fields);
  }

  void assemble(int kind, const Coefficients<T>& coefficients, bool eliminates) override {
    coefficients_ = coefficients;
    const bool has_matrix = (kind & MatrixTerm) != 0, has_state = (kind & StateTerm) != 0;
    Stage& stage = !has_matrix ? balance_ : has_state ? state_ : steady_;
    if (has_state) show(numbers_.temperature, numbers_.change);
    if (eliminates) show(numbers_.conditions, numbers_.given, numbers_.lift);
    run(stage, 0, eliminates ? 3 : 2);
    numbers_.b.take(on(queue_));
    if (eliminates) numbers_.lift.take(on(queue_));
  }
  void eliminate() override {
    show(numbers_.conditions, numbers_.given, numbers_.lift);
    run(state_.steps ? state_ : steady_, 2, 1);
    numbers_.lift.take(on(queue_));
  }
  void set_solver(const linear::CgOptions& options) override {
    if (solver_) solver_->set_options(options);
    else solver_ = std::make_unique<Solver>(MatrixOf<PlacedWork>(*this), options);
  }
  linear::CgResult solve(const Field& b, const Field& y) override {
    if constexpr (is_streamed) {
      return solver_->solve(on(queue_), b, y);
    } else {
      show(numbers_.b, numbers_.y);
      const linear::CgResult result = solver_->solve(numbers_.b.array(), numbers_.y.array());
      numbers_.y.take(on(queue_));
      return result;
    }
  }
  // What the solver asks of rows: in slices all at once,
  void multiply(const On<Device>&, const Field& x, const Field& y) {
    operation_ = RowOperation::Product;
    launch(on(queue_).named("x of rows"), mesh_.nodes, CopyNumber{}, in(x), out(x_));
    run(rows_, 0, 1);
    launch(on(queue_).named("result of rows"), mesh_.nodes, CopyNumber{}, in(result_), out(y));
  }
  void operate(const On<Device>&, RowOperation operation, const Field& y) {
    operation_ = operation;
    run(rows_, 0, 1);
    launch(on(queue_).named("result of rows"), mesh_.nodes, CopyNumber{}, in(result_), out(y));
  }
  // over parts by launches, or loops of a sequence.
  template <class Any>
  void multiply(Any& where, const Numbers& x, const Numbers& y) const {
    if constexpr (has_lanes) {
      if (group_ == 4) return multiply_by_lanes<4>(where, x, y);
      if (group_ == 8) return multiply_by_lanes<8>(where, x, y);
    }
    add_rows(where, RowOperation::Product, read(x, neighbours_of()), written(y));
  }
  void operate(const Where& where, RowOperation operation, const Numbers& y) const requires(!is_streamed) {
    add_rows(where, operation, written(y));
  }
  ResidualSquares residual() override {
    release();
    residual_.steps.reset();
    show(numbers_.b, numbers_.y);
    rest_ = doubles("residuals");
    magnitude_ = doubles("magnitudes of rows");
    run(residual_, 0, 1);
    ResidualSquares squares{};
    launch_reduce(on(queue_).named("true residual"), mesh_.nodes, SumOfResiduals{}, squares,
                  in(fields_.conditions), in(fields_.b), in(rest_), in(magnitude_));
    release();
    residual_.steps.reset();
    rest_ = magnitude_ = {};
    return squares;
  }
  double greatest_coupling() override {
    numbers_.conditions.show(on(queue_));
    run(coupling_, 0, 1);
    return coupling_values_.at(0);
  }
  HeatIntegrals integrals(const Problem& problem, double rate) override {
    show(numbers_.temperature, numbers_.change);
    integrals_kernel_ = {problem.beta, problem.sink, rate};
    run(integrals_, 0, 1);
    return integral_values_.at(0);
  }
  /// Gives the device's memory back until it is needed.
  void release() {
    if (active_ == nullptr) return;
    wait(device());  // as in run()
    active_->steps->release();
    active_ = nullptr;
  }

 private:
  using Doubles = CoherentArray<double, rank<1>, LayoutRight>;

  // What elements give goes from loop to loop; in slices it is never in the host's memory.
  static MemoryMode element_memory(const PlacedMesh& mesh) {
    return is_streamed ? MemoryMode::Smart : mesh.memory;
  }
  Doubles doubles(const char* label) const {
    return Doubles(label, mesh_.nodes, uninitialized, mesh_.memory, mesh_.home);
  }

  // A sequence, and how much of the budget others need while it runs.
  struct Stage {
    const char* label;
    int loops;
    index_t beside = 0;
    std::function<void(Steps&)> declare = {};
    std::unique_ptr<Steps> steps = {};
  };

  // ---- what sequences are

  void set_declarations() {
    steady_.declare = [this](Steps& s) { declare_assembly<MatrixTerm>(s); };
    state_.declare = [this](Steps& s) { declare_assembly<MatrixTerm | StateTerm>(s); };
    balance_.declare = [this](Steps& s) { declare_balance(s); };
    rows_.declare = [this](Steps& s) { declare_rows(s); };
    residual_.declare = [this](Steps& s) { declare_residual(s); };
    coupling_.declare = [this](Steps& s) { declare_coupling(s); };
    integrals_.declare = [this](Steps& s) { declare_integrals(s); };
    const index_t doubles = (mesh_.nodes * 8 + 511) / 512 * 512;
    residual_.beside = 2 * doubles;
  }

  auto row_work() const { return mdrange({mesh_.blocks, row_block}); }
  using RowsBy = Rows<PlacedRows>;
  RowsBy rows_by(ResidentRows (PlacedRanges::*of)(ResidentRows) const) const { return {{&mesh_.ranges, of}}; }
  // Of elements.
  RowsBy nodes_of() const { return rows_by(&PlacedRanges::nodes_of); }
  // Of blocks of rows.
  RowsBy places_of() const { return rows_by(&PlacedRanges::places_of); }
  RowsBy neighbours_of() const { return rows_by(&PlacedRanges::neighbours_of); }
  RowsBy offsets_of() const { return rows_by(&PlacedRanges::offsets_of); }
  RowsBy corners_of() const { return rows_by(&PlacedRanges::corners_of); }
  RowsBy elements_of() const { return rows_by(&PlacedRanges::elements_of); }
  RowsBy blocks_of() const { return rows_by(&PlacedRanges::blocks_of); }
  auto begins() const { return fixed_row<row_block + 1>(in(mesh_.row_begins)); }

  // Numbers of nodes stay on the device that slices go through. They are in the mesh's own order: where that
  // is not the order of places, those of any part may be anywhere.
  RowsBy of_nodes(RowsBy of_places) const {
    if (!mesh_.keeps_order) of_places.f.all = mesh_.nodes;
    return of_places;
  }
  template <class Array>
  auto read(const Array& numbers, const RowsBy& of_places) const {
    return resident(in(numbers, of_nodes(of_places)));
  }
  template <class Array>
  auto written(const Array& numbers) const {
    return resident(out(numbers, of_nodes(places_of())));
  }
  auto materials() const { return fixed_row<material_columns>(in(materials_, everything)); }

  template <int Kind>
  auto contributions() const {
    return by_step([this](int) { return PlacedContributions<T, Kind>{{coefficients_, {}}}; });
  }
  template <int Kind>
  void declare_assembly(Steps& s) const {
    s.temporary(element_matrix_);
    s.temporary(element_vector_);
    s.loop("element contributions", contributions_work(mesh_.elements), contributions<Kind>(),
           fixed_row<8>(in(mesh_.element_nodes)), fixed_row<3>(in(mesh_.coordinates, nodes_of())),
           in(mesh_.element_blocks), in(mesh_.node_at, nodes_of()), materials(),
           read(numbers_.temperature.array(), nodes_of()), read(numbers_.change.array(), nodes_of()),
           fixed_row<8, 8>(out(element_matrix_)), fixed_row<8>(out(element_vector_)));
    s.loop(
        "gather rows", row_work(), GatherPlacedRows{mesh_.nodes}, in(mesh_.node_at, neighbours_of()),
        begins(), in(mesh_.offsets, offsets_of()), in(mesh_.corners, corners_of()),
        fixed_row<8>(in(mesh_.slots, elements_of())), fixed_row<8>(in(mesh_.element_nodes, elements_of())),
        in(mesh_.entries), fixed_row<8, 8>(in(element_matrix_, elements_of())),
        fixed_row<8>(in(element_vector_, elements_of())),
        out(values_, own),  // a work item writes entries of a node; those after the last node's nobody reads
        written(numbers_.b.array()));
    s.loop("eliminate given temperatures", row_work(),
           EachPlacedRow<EliminateGiven>{{has_film_}, mesh_.nodes}, in(mesh_.node_at, places_of()), begins(),
           in(mesh_.entries), inout(values_), read(numbers_.conditions.array(), neighbours_of()),
           read(numbers_.given.array(), neighbours_of()),
           resident(inout(numbers_.lift.array(), of_nodes(places_of()))));
  }
  void declare_balance(Steps& s) const {
    s.temporary(element_vector_);
    s.loop("element contributions", contributions_work(mesh_.elements), contributions<StateTerm>(),
           fixed_row<8>(in(mesh_.element_nodes)), fixed_row<3>(in(mesh_.coordinates, nodes_of())),
           in(mesh_.element_blocks), in(mesh_.node_at, nodes_of()), materials(),
           read(numbers_.temperature.array(), nodes_of()), read(numbers_.change.array(), nodes_of()),
           fixed_row<8>(out(element_vector_)));
    s.loop("gather vector", row_work(), GatherPlacedVector{mesh_.nodes}, in(mesh_.node_at, places_of()),
           in(mesh_.offsets, offsets_of()), in(mesh_.corners, corners_of()),
           fixed_row<8>(in(element_vector_, elements_of())), written(numbers_.b.array()));
  }
  void declare_rows(Steps& s) const {
    s.loop("rows", row_work(), by_step([this](int) {
             return EachPlacedRow<ApplyRow>{{operation_, group_}, mesh_.nodes};
           }),
           in(mesh_.node_at, places_of()), begins(), in(mesh_.entries), in(values_),
           read(x_, neighbours_of()), written(result_));
  }
  void declare_residual(Steps& s) const {
    s.loop("residuals", row_work(), EachPlacedRow<StoreResidual>{{}, mesh_.nodes},
           in(mesh_.node_at, places_of()), begins(), in(mesh_.entries), in(values_),
           read(numbers_.b.array(), places_of()), read(numbers_.y.array(), neighbours_of()),
           written(rest_ ? rest_ : doubles("residuals")),
           written(magnitude_ ? magnitude_ : doubles("magnitudes of rows")));
  }
  void declare_coupling(Steps& s) {
    s.loop_reduce("greatest coupling", row_work(), EachPlacedRow<GreatestCoupling>{{}, mesh_.nodes},
                  coupling_values_, in(mesh_.node_at, places_of()), begins(), in(mesh_.entries), in(values_),
                  read(numbers_.conditions.array(), places_of()));
  }
  // Sums over elements are made in the mesh's own order. Where that is not the order of places nodes of a
  // slice may be anywhere, and coordinates are there as a whole meanwhile.
  void declare_integrals(Steps& s) {
    const auto add = [&](const auto& coordinates) {
      s.loop_reduce("integrals", mesh_.elements, by_step([this](int) { return integrals_kernel_; }),
                    integral_values_, fixed_row<8>(in(mesh_.own_element_nodes)), fixed_row<3>(coordinates),
                    in(mesh_.own_element_blocks), materials(), read(numbers_.temperature.array(), nodes_of()),
                    read(numbers_.change.array(), nodes_of()));
    };
    if (mesh_.keeps_order) add(in(mesh_.own_coordinates, nodes_of()));
    else add(in(mesh_.own_coordinates, everything));
  }

  template <class Any, class... NodeNumbers>
  void add_rows(Any& where, RowOperation operation, const NodeNumbers&... numbers) const {
    linear::launch_or_add(
        "rows", where, row_work(), EachPlacedRow<ApplyRow>{{operation, group_}, mesh_.nodes},
        in(mesh_.node_at, places_of()), begins(), in(mesh_.entries), in(values_), numbers...);
  }
  template <int Lanes, class Any>
  void multiply_by_lanes(Any& where, const Numbers& x, const Numbers& y) const {
    const auto by = [](RowsBy rows) {
      rows.f.of_block = row_block * Lanes;
      return rows;
    };
    linear::launch_or_add("rows", where, block_size(128, mesh_.nodes * Lanes), MultiplyByLanes<Lanes>{},
                          fixed_row<row_block + 1>(in(mesh_.row_begins, by(blocks_of()))),
                          in(mesh_.entries, by(blocks_of())), in(values_, by(blocks_of())),
                          in(x, by(neighbours_of())), out(y, by(places_of())));
  }

  // ---- how they run

  template <class... N>
  void show(const N&... numbers) const {
    (numbers.show(on(queue_)), ...);
  }

  static constexpr int least_slots = 2;

  // Within the budget, with as many slices as the model wants, or the least.
  auto where_of(const Stage& stage, index_t budget, bool least) const requires(is_streamed) {
    const auto at = streamed(queue_, budget - stage.beside);
    return least ? at.slots(least_slots) : at;
  }
  bool plans(const Stage& stage, index_t budget, bool least) const {
    if (budget <= stage.beside) return false;
    Steps dry(stage.label, where_of(stage, budget, least).dry_run());
    stage.declare(dry);
    try {
      dry.run_loops(stage.loops);
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

  void run(Stage& stage, int first, int loops) {
    if constexpr (is_streamed) {
      if (active_ != &stage) release();
      if (!stage.steps) make(stage, where_of(stage, where_.budget, !plans(stage, where_.budget, false)));
      active_ = &stage;
      // Plans differ, and buffers are exchanged: the old ones are free when nothing is under way that might
      // use them. Beside a pass that costs nothing.
      wait(device());
      stage.steps->begin_with(first);
      const StreamReport report = stage.steps->run_loops(loops);
      totals_.passes += report.passes;
      totals_.bytes_to_device += report.bytes_to_device;
      totals_.bytes_to_host += report.bytes_to_host;
      totals_.seconds += report.seconds;
      totals_.predicted_seconds += report.predicted_seconds;
    } else {
      if (!stage.steps) make(stage, where_);
      stage.steps->begin_with(first);
      stage.steps->run_loops(loops);
    }
  }
  void make(Stage& stage, const Where& at) const {
    auto steps = std::make_unique<Steps>(stage.label, at);
    stage.declare(*steps);
    stage.steps = std::move(steps);
  }

  Where where_;
  PlacedMesh mesh_;
  Queue<Device> queue_;
  int group_;
  bool has_film_;
  Fields fields_;
  LoopNumbers<Where, T> numbers_;
  Numbers x_, result_;        // of rows, in slices
  Doubles rest_, magnitude_;  // while the residual is computed
  PlacedNodeArray<T, rank<2>> materials_;
  PlacedNodeArray<T, rank<2>> values_;  // (block, k): as the entries
  PlacedElementArray<T, rank<3>> element_matrix_;
  PlacedElementArray<T, rank<2>> element_vector_;

  // What kernels of the next run have, and their results.
  Coefficients<T> coefficients_;
  RowOperation operation_ = RowOperation::Product;
  Integrals integrals_kernel_{};
  std::vector<double> coupling_values_;
  std::vector<HeatIntegrals> integral_values_;

  Stage steady_{"assembly", 3}, state_{"assembly of a state", 3}, balance_{"balance", 2}, rows_{"rows", 1},
      residual_{"residual", 1}, coupling_{"coupling", 1}, integrals_{"integrals", 1};
  Stage* active_ = nullptr;  // has memory of the device
  StreamTotals totals_;
  using Solver = linear::ConjugateGradients<MatrixOf<PlacedWork>>;
  std::unique_ptr<Solver> solver_;
};

}  // namespace strata::inline STRATA_ABI::thermal
