// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <string>

#include <strata/algorithms/streaming/file_stage.hpp>
#include <strata/algorithms/streaming/stream_arrays.hpp>
#include <strata/algorithms/streaming/stream_run.hpp>
#include <strata/core/error.hpp>
#include <strata/devices/threads/device.hpp>
#include <strata/views/copy.hpp>
#include <strata/views/create.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

namespace {

// Of launches: where work items have a row each, there are as many rows.
void check_own_rows(const StreamProblem& problem, const StreamArray& array) {
  if (problem.is_sequence() || array.use != StreamArray::Use::Rows || !array.regular) return;
  const ResidentRows work = problem.work, rows = array.rows_of(work);
  const bool own = rows.begin == work.begin && rows.end == work.end;
  if (own && work.begin < work.end && (work.begin < 0 || work.end > array.rows))
    throw ShapeMismatch(launch_name("streaming", problem) + ": work items [" + std::to_string(work.begin) +
                        ", " + std::to_string(work.end) + ") have a row each of \"" + array.label +
                        "\", which has " + std::to_string(array.rows) +
                        " rows; give a range within it, or declare which rows they touch: in(x, rows(f))");
}

}  // namespace

void complete_problem(StreamProblem& problem, const std::vector<Ref<CoherentState>>& arrays) {
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    StreamArray& here = problem.arrays[a];
    const CoherentState& state = *arrays[a];
    const ArrayShape& shape = state.shape;
    here.label = state.label;
    if (shape.domain.rank() == 0) here.use = StreamArray::Use::Whole;
    for (std::size_t b = 0; b < a; ++b) {
      const StreamArray& other = problem.arrays[b];
      if (arrays[b] == arrays[a] &&
          (here.use == StreamArray::Use::State || other.use == StreamArray::Use::State || writes(here.mode) ||
           writes(other.mode)))
        throw AccessConflict(launch_name("streaming", problem) + ": \"" + here.label +
                             "\" is declared twice, and written; declare it once");
    }
    if (here.use == StreamArray::Use::Whole) {
      here.rows = 1;
      here.row_bytes = shape.bytes();
      continue;
    }
    if (!shape.contiguous_rows)
      throw LayoutError(
          launch_name("streaming", problem) + ": the rows of \"" + here.label +
          "\" are not contiguous in its layout (LayoutLeft); make it with LayoutRight or in tiles");
    here.rows = shape.domain.extent(0);
    check_own_rows(problem, here);
    here.align = shape.layout.tile_log2 >= 0 ? index_t{1} << shape.layout.tile_log2 : 1;
    here.row_bytes = shape.layout.tile_log2 >= 0 ? shape.layout.tile_stride / here.align * shape.element_bytes
                                                 : shape.layout.stride[0] * shape.element_bytes;
    if (shape.domain.rank() == 1 && shape.layout.tile_log2 < 0) here.row_bytes = shape.element_bytes;
  }
  // Around a ring all rows go: what a tile beyond an end computes needs theirs, too.
  const auto ring = std::find_if(problem.arrays.begin(), problem.arrays.end(), [](const StreamArray& a) {
    return a.use == StreamArray::Use::State && a.cyclic;
  });
  if (ring != problem.arrays.end())
    for (StreamArray& here : problem.arrays) {
      if (here.use == StreamArray::Use::Whole || here.cyclic) continue;
      if (here.use == StreamArray::Use::Rows && (!here.regular || here.rows != ring->rows))
        throw ShapeMismatch(launch_name("streaming", problem) + ": \"" + here.label + "\" has " +
                            std::to_string(here.rows) + " rows, or rows(f), beside the cyclic state \"" +
                            ring->label + "\" of " + std::to_string(ring->rows) +
                            " rows; declare it `everything`, or give it as many rows");
      here.cyclic = true;
    }
  for (const StreamArray& here : problem.arrays)
    if (here.cyclic && here.rows % here.align != 0 && problem.work.begin < problem.work.end)
      throw LayoutError(launch_name("streaming", problem) + ": \"" + here.label + "\" has " +
                        std::to_string(here.rows) + " rows in tiles of " + std::to_string(here.align) +
                        " and cyclic edges; make it with LayoutRight, or of whole tiles");
}

StreamArrays::StreamArrays(const StreamProblem& problem, const std::vector<Ref<CoherentState>>& arrays,
                           bool in_place, const std::vector<Ref<CoherentState>>& sources) {
  operands_.resize(arrays.size());
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    operands_[a].state = arrays[a];
    operands_[a].host[0] = operands_[a].host[1] = arrays[a]->main.base;
    if (problem.arrays[a].used) find_memory(problem, problem.arrays[a], operands_[a], in_place);
    if (a >= sources.size() || !sources[a]) continue;
    operands_[a].source = sources[a];
    operands_[a].host[0] = sources[a]->main.base;
  }
  while (!take(problem)) continue;
}

// Where the values of an array are in the host's memory.
void StreamArrays::find_memory(const StreamProblem& problem, const StreamArray& here, Operand& operand,
                               bool in_place) {
  const bool is_state = here.use == StreamArray::Use::State, is_whole = here.use == StreamArray::Use::Whole;
  CoherentState& state = *operand.state;
  FileStorage* const file = file_storage_of(state);
  if (file != nullptr && !is_whole) {
    if (is_state && !in_place)
      throw Error(launch_name("streaming", problem) + ": \"" + state.label +
                  "\" lives in a file, whose steps are done in place: by the scheduler carry, without "
                  "cyclic edges");
    return;
  }
  if (!is_state || in_place) return;
  const std::string label = state.label + " (second copy)";
  operand.second = AllocationRef(
      create_storage(*state.main.device, nullptr, label.c_str(), state.shape.layout.span,
                     static_cast<std::size_t>(state.shape.element_bytes), state.shape.layout, false));
  operand.host[1] = static_cast<char*>(operand.second.get()->data);
}

// Uses of all arrays. Nothing is claimed before all are there: where one of them fails, none has changed.
// False where work of others failed meanwhile.
bool StreamArrays::take(const StreamProblem& problem) {
  for (Operand& operand : operands_) {
    operand.use.end();
    operand.use_of_source.end();
  }
  // All threads take arrays in one order: none waits for another that waits for it.
  struct Use {
    std::size_t operand;
    Ref<CoherentState> state;
    bool is_source;
  };
  std::vector<Use> order;
  for (std::size_t a = 0; a < operands_.size(); ++a) {
    if (!problem.arrays[a].used) continue;
    order.push_back({a, operands_[a].state, false});
    if (operands_[a].source) order.push_back({a, operands_[a].source, true});
  }
  std::stable_sort(order.begin(), order.end(), [](const Use& a, const Use& b) {
    return std::less<const CoherentState*>()(&*a.state, &*b.state);
  });
  const std::uint64_t recoveries = recoveries_by_now();
  std::vector<HostClaim> claims;
  const CoherentState* last = nullptr;
  for (const Use& use : order) {
    const std::size_t a = use.operand;
    const StreamArray& here = problem.arrays[a];
    CoherentState& state = *use.state;
    if (use.is_source) {
      operands_[a].use_of_source = HostUseScope(use.state, state.shape.domain, AccessMode::In, false);
      continue;
    }
    const AccessMode mode = here.use == StreamArray::Use::State ? AccessMode::InOut
                            : operands_[a].source               ? AccessMode::Out
                                                                : here.mode;
    check_file_use(state, writes(mode));
    if (writes(mode)) mark_file_incomplete(state);
    if (last == &state) continue;  // read twice
    last = &state;
    Box box = state.shape.domain;
    // Rows that the launch does not touch keep their values. What a sequence has as Out it writes as a whole.
    if (!problem.is_sequence() && mode == AccessMode::Out && here.use != StreamArray::Use::Whole &&
        here.rows_of) {
      const ResidentRows rows = here.rows_of(problem.work);
      if (rows.begin > 0 || rows.end < here.rows)
        box = box.with_bounds(0, std::max<index_t>(rows.begin, 0), std::min(rows.end, here.rows));
    }
    operands_[a].use = HostUseScope(operands_[a].state, box, mode, false);
    if (writes(mode) && !box.empty()) claims.push_back({&state, box});
  }
  if (!claim_together(claims, recoveries)) return false;
  for (std::size_t a = 0; a < operands_.size(); ++a) {
    const StreamArray& here = problem.arrays[a];
    FileStorage* const file = file_storage_of(*operands_[a].state);
    if (file == nullptr || !here.used || here.use == StreamArray::Use::Whole) continue;
    const bool is_written = here.use == StreamArray::Use::State || writes(here.mode);
    file->before_direct_read(file->first_byte(), file->data_bytes());
    if (is_written) file->before_direct_write(file->first_byte(), file->data_bytes());
  }
  return true;
}

void StreamArrays::end(int side) {
  for (Operand& operand : operands_) {
    if (side == 1 && operand.second.get() != nullptr) {
      // By all threads of the host.
      const CoherentState& state = *operand.state;
      DeviceInstance& host = Threads().backend();
      const CopySide from{operand.host[1], host.space(), &state.shape.layout, state.label.c_str(), &host};
      const CopySide to{operand.host[0], host.space(), &state.shape.layout, state.label.c_str(), &host};
      copy_arrays(to, from, static_cast<std::size_t>(state.shape.element_bytes), &host.default_queue());
    }
    operand.use.end();
    operand.use_of_source.end();
  }
}

}  // namespace strata::inline STRATA_ABI::detail::streaming
