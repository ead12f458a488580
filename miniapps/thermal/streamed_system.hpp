// StreamedSystem: the system of equations of a mesh that the device does not hold. Elements, what they give
// and the matrix are in the host's memory (streamed_mesh.hpp), and go through the device in slices, within a
// budget of its memory; the numbers of nodes stay there. For HeatEquation (heat_equation.hpp), as
// InCoreSystem is.
//
// What goes through is one of some sequences of loops (algorithms/streaming/streamed_sequence.hpp):
//
//   assembly    elements -> contributions, on the device only -> rows of the matrix -> given temperatures out
//   rows        a product with the matrix, and what else the conjugate gradients ask of rows
//   residual, coupling, integrals: what is reported
//
// Each is planned once, keeps its plan, and has the budget for itself while it is used. All wait.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>

#include <strata/algorithms/streaming/fixed_row.hpp>
#include <strata/algorithms/streaming/streamed_sequence.hpp>
#include <strata/core/error.hpp>
#include <strata/miniapps/common/kernel_device.hpp>
#include <strata/miniapps/thermal/heat.hpp>
#include <strata/miniapps/thermal/heat_fields.hpp>
#include <strata/miniapps/thermal/streamed_kernels.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// The sequences, and the arrays that only they know. Not copied.
template <class Device, class T>
class StreamedWork {
 public:
  using Sequence = strata::Sequence<Streamed<On<Device>>>;
  using Field = NodeField<Device, T>;
  using Numbers = typename Field::unmanaged_type;  // of a field, or a vector of the solver
  using Conditions = typename NodeConditions<Device>::unmanaged_type;
  using Materials = typename MaterialTable<Device, T>::unmanaged_type;
  using Input = AssemblyInput<Device, T>;
  using Given = GivenFields<Device, T>;

  /// `limit` bytes of the device, of which `vectors` are taken by numbers of nodes. OutOfMemory where the
  /// rest does not do.
  StreamedWork(const StreamedMesh& mesh, const Problem& problem, const Device& device, index_t limit,
               index_t vectors)
      : mesh_(mesh),
        device_(device),
        queue_(device),
        budget_(limit - vectors),
        group_(linear::row_group(mesh.nodes, mesh.entry_count)),
        values_(make_streamed_array<StreamedNodeArray<T, rank<2>>>("matrix", is_gpu<Device>, mesh.blocks,
                                                                   mesh.block_room)),
        element_matrix_("element matrices", mesh.elements, 8, 8, uninitialized),
        element_vector_("element vectors", mesh.elements, 8, uninitialized) {
    set_declarations();
    const Stage* const stages[] = {&steady_, &balance_, &rows_, &residual_, &coupling_, &integrals_};
    for (const Stage* stage : stages)
      if (!fits(*stage, budget_))
        fail_memory_limit(mesh_, device_name(device_), limit, least_limit(stages, vectors), vectors);
    material_table_ = make_material_table<MaterialTable<Device, T>>(problem.materials, device);
  }
  StreamedWork(const StreamedWork&) = delete;

  const StreamedMesh& mesh() const { return mesh_; }
  const Device& device() const { return device_; }
  const Queue<Device>& queue() const { return queue_; }
  const StreamTotals& totals() const { return totals_; }
  const StreamedNodeArray<T, rank<2>>& values() const { return values_; }

  /// With `given`, also takes those out of the matrix.
  template <int Kind>
  void assemble(const Input& input, const Given* given) {
    input_ = input;
    if (given != nullptr) given_ = *given;
    constexpr bool has_matrix = (Kind & MatrixTerm) != 0;
    Stage& stage = !has_matrix ? balance_ : (Kind & StateTerm) != 0 ? state_ : steady_;
    run(stage, 0, has_matrix && given != nullptr ? 3 : 2);
  }
  void eliminate(const Given& given) {
    given_ = given;
    Stage& stage = state_.sequence ? state_ : steady_;
    run(stage, 2, 1);
  }
  template <class X, class Y>
  void operate(RowOperation operation, const X& x, const Y& y) {
    operation_ = operation;
    x_ = numbers(x);
    y_ = numbers(y);
    run(rows_, 0, 1);
  }
  ResidualSquares residual(const NodeConditions<Device>& conditions, const Field& b, const Field& y) {
    release();
    const auto rest = create<Doubles>("residuals", mesh_.nodes, uninitialized, on(device_)),
               magnitude = create<Doubles>("magnitudes of rows", mesh_.nodes, uninitialized, on(device_));
    rest_ = rest;
    magnitude_ = magnitude;
    x_ = b;
    y_ = y;
    run(residual_, 0, 1);
    ResidualSquares squares{};
    parallel_reduce("true residual", on(queue_), mesh_.nodes, SumOfResiduals{conditions, b, rest, magnitude},
                    squares);
    release();
    return squares;
  }
  double greatest_coupling(const NodeConditions<Device>& conditions) {
    conditions_ = conditions;
    run(coupling_, 0, 1);
    return coupling_values_.at(0);
  }
  HeatIntegrals integrals(const Field& temperature, const Field& change, const Problem& problem,
                          double rate) {
    input_.temperature = temperature;
    input_.change = change;
    beta_ = problem.beta;
    sink_ = problem.sink;
    rate_ = rate;
    run(integrals_, 0, 1);
    return integral_values_.at(0);
  }
  /// Gives the device's memory back until it is needed.
  void release() {
    if (active_ == nullptr) return;
    wait(device_);  // as in run()
    active_->sequence->release();
    active_ = nullptr;
  }

 private:
  using Doubles = NodeField<Device, double>;
  using ElementMatrix = StreamedElementArray<T, rank<3>>;
  using ElementVector = StreamedElementArray<T, rank<2>>;

  // A sequence, and how much of the budget others need while it runs.
  struct Stage {
    const char* label;
    int loops;
    index_t beside = 0;
    std::function<void(Sequence&)> declare = {};
    std::unique_ptr<Sequence> sequence = {};
  };

  // ---- what sequences are

  void set_declarations() {
    steady_.declare = [this](Sequence& s) { declare_assembly<MatrixTerm>(s); };
    state_.declare = [this](Sequence& s) { declare_assembly<MatrixTerm | StateTerm>(s); };
    balance_.declare = [this](Sequence& s) { declare_balance(s); };
    rows_.declare = [this](Sequence& s) { declare_rows(s); };
    residual_.declare = [this](Sequence& s) { declare_residual(s); };
    coupling_.declare = [this](Sequence& s) { declare_coupling(s); };
    integrals_.declare = [this](Sequence& s) { declare_integrals(s); };
    const index_t doubles = (mesh_.nodes * 8 + 511) / 512 * 512;
    residual_.beside = 2 * doubles;
  }

  auto row_work() const { return mdrange({mesh_.blocks, row_block}); }
  template <class Operation>
  auto each_row(const Operation& operation) const {
    return EachPlacedRow<Operation>{mesh_.nodes, operation};
  }
  // Of elements.
  auto nodes_of() const {
    return rows([r = mesh_.ranges](ResidentRows elements) { return r.nodes_of(elements); });
  }
  // Of blocks of rows.
  auto places_of() const {
    return rows([r = mesh_.ranges](ResidentRows blocks) { return r.places_of(blocks); });
  }
  auto neighbours_of() const {
    return rows([r = mesh_.ranges](ResidentRows blocks) { return r.neighbours_of(blocks); });
  }
  auto offsets_of() const {
    return rows([r = mesh_.ranges](ResidentRows blocks) { return r.offsets_of(blocks); });
  }
  auto corners_of() const {
    return rows([r = mesh_.ranges](ResidentRows blocks) { return r.corners_of(blocks); });
  }
  auto elements_of() const {
    return rows([r = mesh_.ranges](ResidentRows blocks) { return r.elements_of(blocks); });
  }
  auto begins() const { return fixed_row<row_block + 1>(in(mesh_.row_begins)); }

  template <int Kind>
  auto contributions() const {
    return by_step([this](int) {
      return PlacedContributions<T, Kind, Materials, Numbers>{
          {input_.coefficients, {}}, material_table_, input_.temperature, input_.change};
    });
  }
  template <int Kind>
  void declare_assembly(Sequence& s) const {
    s.temporary(element_matrix_);
    s.temporary(element_vector_);
    s.loop("element contributions", mesh_.elements, contributions<Kind>(),
           fixed_row<8>(in(mesh_.element_nodes)), fixed_row<3>(in(mesh_.coordinates, nodes_of())),
           in(mesh_.element_blocks), in(mesh_.node_at, nodes_of()), fixed_row<8, 8>(out(element_matrix_)),
           fixed_row<8>(out(element_vector_)));
    s.loop("gather rows", row_work(), by_step([this](int) {
             return GatherPlacedRows<Numbers>{mesh_.nodes, input_.b};
           }),
           in(mesh_.node_at, neighbours_of()), begins(), in(mesh_.offsets, offsets_of()),
           in(mesh_.corners, corners_of()), fixed_row<8>(in(mesh_.slots, elements_of())),
           fixed_row<8>(in(mesh_.element_nodes, elements_of())), in(mesh_.entries),
           fixed_row<8, 8>(in(element_matrix_, elements_of())),
           fixed_row<8>(in(element_vector_, elements_of())),
           out(values_,
               own));  // a work item writes entries of a node; those after the last node's nobody reads
    s.loop(
        "eliminate given temperatures", row_work(), by_step([this](int) {
          return each_row(EliminateGiven<Conditions, Numbers>{given_.conditions, given_.given, given_.lift});
        }),
        in(mesh_.node_at, places_of()), begins(), in(mesh_.entries), inout(values_));
  }
  void declare_balance(Sequence& s) const {
    s.temporary(element_vector_);
    s.loop("element contributions", mesh_.elements, contributions<StateTerm>(),
           fixed_row<8>(in(mesh_.element_nodes)), fixed_row<3>(in(mesh_.coordinates, nodes_of())),
           in(mesh_.element_blocks), in(mesh_.node_at, nodes_of()), fixed_row<8>(out(element_vector_)));
    s.loop("gather vector", row_work(), by_step([this](int) {
             return GatherPlacedVector<Numbers>{mesh_.nodes, input_.b};
           }),
           in(mesh_.node_at, places_of()), in(mesh_.offsets, offsets_of()), in(mesh_.corners, corners_of()),
           fixed_row<8>(in(element_vector_, elements_of())));
  }
  void declare_rows(Sequence& s) const {
    s.loop("rows", row_work(), by_step([this](int) {
             return each_row(ApplyRow<Numbers>{operation_, group_, x_, y_});
           }),
           in(mesh_.node_at, places_of()), begins(), in(mesh_.entries), in(values_));
  }
  void declare_residual(Sequence& s) const {
    s.loop("residuals", row_work(), by_step([this](int) {
             return each_row(
                 StoreResidual<Numbers, typename Doubles::unmanaged_type>{x_, y_, rest_, magnitude_});
           }),
           in(mesh_.node_at, places_of()), begins(), in(mesh_.entries), in(values_));
  }
  void declare_coupling(Sequence& s) {
    s.loop_reduce("greatest coupling", row_work(), by_step([this](int) {
                    return ReducePlacedRows<GreatestCoupling<Conditions>>{mesh_.nodes, {conditions_}};
                  }),
                  coupling_values_, in(mesh_.node_at, places_of()), begins(), in(mesh_.entries), in(values_));
  }
  // Sums over elements are made in the mesh's own order. Where that is not the order of places nodes of a
  // slice may be anywhere, and coordinates are there as a whole meanwhile.
  void declare_integrals(Sequence& s) {
    const auto kernel = by_step([this](int) {
      return StreamedIntegrals<Materials, Numbers>{
          material_table_, input_.temperature, input_.change, beta_, sink_, rate_};
    });
    const auto add = [&](const auto& coordinates) {
      s.loop_reduce("integrals", mesh_.elements, kernel, integral_values_,
                    fixed_row<8>(in(mesh_.own_element_nodes)), fixed_row<3>(coordinates),
                    in(mesh_.own_element_blocks));
    };
    if (mesh_.keeps_order) add(in(mesh_.own_coordinates, nodes_of()));
    else add(in(mesh_.own_coordinates, everything));
  }

  // ---- how they run

  static constexpr int least_slots = 2;

  // Within the budget, with as many slices as the model wants, or the least.
  Streamed<On<Device>> where(const Stage& stage, index_t budget, bool least) const {
    const auto at = streamed(queue_, budget - stage.beside);
    return least ? at.slots(least_slots) : at;
  }
  bool plans(const Stage& stage, index_t budget, bool least) const {
    if (budget <= stage.beside) return false;
    Sequence dry(stage.label, where(stage, budget, least).dry_run());
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
    if (active_ != &stage) release();
    if (!stage.sequence) {
      stage.sequence =
          std::make_unique<Sequence>(stage.label, where(stage, budget_, !plans(stage, budget_, false)));
      stage.declare(*stage.sequence);
    }
    active_ = &stage;
    // Plans differ, and buffers are exchanged: the old ones are free when nothing is under way that might use
    // them. Beside a pass that costs nothing.
    wait(device_);
    stage.sequence->begin_with(first);
    const StreamReport report = stage.sequence->run_loops(loops);
    totals_.passes += report.passes;
    totals_.bytes_to_device += report.bytes_to_device;
    totals_.bytes_to_host += report.bytes_to_host;
    totals_.seconds += report.seconds;
    totals_.predicted_seconds += report.predicted_seconds;
  }

  template <class V>
  static Numbers numbers(const V& v) {
    return Numbers(v.data(), v.extent(0));
  }

  StreamedMesh mesh_;
  Device device_;
  Queue<Device> queue_;
  index_t budget_;
  int group_;
  StreamedNodeArray<T, rank<2>> values_;  // (block, k): as the entries
  ElementMatrix element_matrix_;
  ElementVector element_vector_;
  MaterialTable<Device, T> material_table_;

  // What kernels of the next run have.
  Input input_;
  Given given_;
  Conditions conditions_;
  RowOperation operation_ = RowOperation::Product;
  Numbers x_, y_;
  typename Doubles::unmanaged_type rest_, magnitude_;
  double beta_ = 0, sink_ = 0, rate_ = 0;
  std::vector<double> coupling_values_;
  std::vector<HeatIntegrals> integral_values_;

  Stage steady_{"assembly", 3}, state_{"assembly of a state", 3}, balance_{"balance", 2}, rows_{"rows", 1},
      residual_{"residual", 1}, coupling_{"coupling", 1}, integrals_{"integrals", 1};
  Stage* active_ = nullptr;  // has memory of the device
  StreamTotals totals_;
};

/// The matrix, as conjugate gradients take one that multiplies by itself.
template <class Device, class Number>
class StreamedMatrix {
 public:
  using value_type = Number;
  using device_type = Device;
  explicit StreamedMatrix(std::shared_ptr<StreamedWork<Device, Number>> work) : work_(std::move(work)) {}

  index_t rows() const { return work_->mesh().nodes; }
  index_t columns() const { return rows(); }
  const Device& device() const { return work_->device(); }
  template <AnyView X, AnyView Y>
  void multiply(const On<Device>&, const X& x, const Y& y) const {
    work_->operate(RowOperation::Product, x, y);
  }
  template <AnyView D>
  void diagonal(const On<Device>&, const D& d) const {
    work_->operate(RowOperation::Diagonal, d, d);
  }
  template <AnyView S>
  void magnitudes(const On<Device>&, const S& s) const {
    work_->operate(RowOperation::Magnitudes, s, s);
  }

 private:
  std::shared_ptr<StreamedWork<Device, Number>> work_;
};

/// As InCoreSystem. Copies are handles of the same system.
template <class DeviceType, class Number>
class StreamedSystem {
 public:
  using Device = DeviceType;
  using T = Number;
  using Matrix = StreamedMatrix<Device, T>;
  using Field = NodeField<Device, T>;
  using Input = AssemblyInput<Device, T>;
  using Given = GivenFields<Device, T>;
  static constexpr bool is_in_core = false;
  /// An iteration that is not needed is a pass over the matrix.
  static constexpr int check_every = 1;

  /// As StreamedWork.
  StreamedSystem(const StreamedMesh& mesh, const Problem& problem, const Device& device, index_t limit,
                 index_t vectors)
      : work_(std::make_shared<StreamedWork<Device, T>>(mesh, problem, device, limit, vectors)) {}

  const Device& device() const { return work_->device(); }
  const Queue<Device>& queue() const { return work_->queue(); }
  index_t node_count() const { return work_->mesh().nodes; }
  const std::vector<std::string>& block_names() const { return work_->mesh().mesh.block_names; }
  Matrix matrix() const { return Matrix(work_); }
  /// The matrix, without a right-hand side.
  HeatSystem matrix_on_host() const {
    HeatSystem system;
    std::vector<index_t> value_at;
    rows_in_order(work_->mesh(), system.row_map, system.entries, value_at);
    const auto values = work_->values().read();
    for (const index_t k : value_at) system.values.push_back(static_cast<double>(values.view().data()[k]));
    return system;
  }
  fem::HostMesh host_mesh() const { return fem::host_mesh_of(work_->mesh().mesh); }
  /// The nodes of a selector, as HeatEquation::give_by_host takes them.
  std::vector<std::int32_t> select(const std::string& selector) const {
    return fem::select_nodes_on_host(work_->mesh().mesh, selector);
  }
  StreamTotals totals() const { return work_->totals(); }

  template <int Kind>
  void assemble(const Input& input) {
    work_->template assemble<Kind>(input, nullptr);
  }
  template <int Kind>
  void assemble_eliminated(const Input& input, const Given& given, SolveTimes& times) {
    timed(queue(), times.fill, [&] { work_->template assemble<Kind>(input, &given); });
  }
  void assemble_steady(const Input& input, SolveTimes& times) {
    timed(queue(), times.fill, [&] { assemble<MatrixTerm>(input); });
  }
  void eliminate(const Given& given) { work_->eliminate(given); }
  ResidualSquares residual(const NodeConditions<Device>& conditions, const Field& b, const Field& y) const {
    return work_->residual(conditions, b, y);
  }
  double greatest_coupling(const NodeConditions<Device>& conditions) const {
    return work_->greatest_coupling(conditions);
  }
  HeatIntegrals integrals(const Field& temperature, const Field& change, const Problem& problem,
                          double rate) const {
    return work_->integrals(temperature, change, problem, rate);
  }

 private:
  std::shared_ptr<StreamedWork<Device, T>> work_;
};

}  // namespace strata::inline STRATA_ABI::thermal
