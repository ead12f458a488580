// Arrays in files that the device reads and writes itself (DirectFile): rows that begin and end with blocks
// of the file. Others, such as the last ones of most arrays, go through the host's memory (FileStage).
#include <algorithm>
#include <numeric>

#include <strata/algorithms/streaming/stream_run.hpp>
#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

// Slices are not made larger than that for the sake of whole blocks.
constexpr index_t most_aligned_bytes = index_t{1} << 20;

// Rows that fill whole blocks.
index_t rows_of_blocks(index_t row_bytes) {
  return DirectFile::block / std::gcd(DirectFile::block, row_bytes);
}

}  // namespace

void StreamRun::open_direct_files() {
  if (device_.host_accessible()) return;
  for (std::size_t a = 0; a < operands_.size(); ++a) {
    Operand& operand = operands_[a];
    if (operand.file == nullptr || is_whole(a)) continue;
    if (rows_of_blocks(array(a).row_bytes) * array(a).row_bytes > most_aligned_bytes) continue;
    operand.direct = device_.open_direct(operand.file->file().descriptor(), operand.file->path().c_str(),
                                         !operand.file->is_for_reading());
  }
}

// Of several devices one would write beside what the host writes for another: pages of the cache are larger
// than blocks (see FileStorage).
void StreamRun::use_host_for_files() {
  for (Operand& operand : operands_) operand.direct = {};
}

// Plans slices of whole blocks. False where there is nothing that asks for them, or they are not what the
// user asks for, or do not fit.
bool StreamRun::plan_in_blocks(const std::function<void(const StreamProblem&)>& plan, index_t chunk) {
  StreamProblem in_blocks = problem_;
  bool any = false;
  for (std::size_t a = 0; a < operands_.size(); ++a) {
    if (!operands_[a].direct) continue;
    any = true;
    in_blocks.align = std::lcm(in_blocks.align, rows_of_blocks(array(a).row_bytes));
  }
  if (!any || chunk % in_blocks.align != 0) return false;
  try {
    plan(in_blocks);
  } catch (const OutOfMemory&) {
    return false;
  }
  return true;
}

bool StreamRun::is_direct(const StreamCopy& copy) const {
  const Operand& operand = operands_[static_cast<std::size_t>(copy.array)];
  if (!operand.direct || !operand.stage || !operand.stage->takes(copy.rows)) return false;
  const ArrayShape::Bytes bytes = operand.state->shape.bytes_of_rows(copy.rows);
  return bytes.begin % DirectFile::block == 0 && bytes.end % DirectFile::block == 0 &&
         bytes.end > bytes.begin;
}

// What has failed by now.
void StreamRun::check_direct_files() {
  for (const Operand& operand : operands_)
    if (operand.direct) operand.direct->check();
}

}  // namespace strata::inline STRATA_ABI::detail
