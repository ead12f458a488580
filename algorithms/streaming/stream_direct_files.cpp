// Arrays in files that the device reads and writes itself (DirectFile): rows that begin and end with blocks
// of the file. Others, such as the last ones of most arrays, go through the host's memory (FileStage).
#include <algorithm>
#include <exception>
#include <numeric>

#include <strata/algorithms/streaming/stream_run.hpp>
#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

// Slices are not cut in multiples of more bytes, of all arrays, for the sake of whole blocks.
constexpr index_t most_aligned_bytes = index_t{4} << 20;

// Rows that fill whole blocks.
index_t rows_of_blocks(index_t row_bytes) {
  return DirectFile::block / std::gcd(DirectFile::block, row_bytes);
}

}  // namespace

void StreamRun::open_direct_files() {
  if (device_.host_accessible() || host_has_files_) return;
  for (std::size_t a = 0; a < operands_.size(); ++a) {
    Operand& operand = operands_[a];
    if (operand.file == nullptr || is_whole(a) || operand.direct) continue;
    operand.direct = device_.open_direct(operand.file->file().descriptor(), operand.file->path().c_str(),
                                         !operand.file->is_for_reading());
  }
}

// Of several devices one would write beside what the host writes for another: pages of the cache are larger
// than blocks (see FileStorage).
void StreamRun::use_host_for_files() { host_has_files_ = true; }

// Plans slices of whole blocks. False where there is nothing that asks for them, or they are not what the
// user asks for, or do not fit.
bool StreamRun::plan_in_blocks(const std::function<void(const StreamProblem&)>& plan, index_t chunk) {
  open_direct_files();
  StreamProblem in_blocks = problem_;
  bool any = false;
  index_t row_bytes = 0;
  for (std::size_t a = 0; a < operands_.size(); ++a) {
    if (!is_whole(a)) row_bytes += array(a).row_bytes;
    if (!operands_[a].direct) continue;
    any = true;
    in_blocks.align = std::lcm(in_blocks.align, rows_of_blocks(array(a).row_bytes));
  }
  if (!any || chunk % in_blocks.align != 0 || in_blocks.align * row_bytes > most_aligned_bytes) return false;
  try {
    plan(in_blocks);
  } catch (const OutOfMemory&) {
    return false;
  }
  return true;
}

bool StreamRun::is_direct(const StreamCopy& copy) const {
  const Operand& operand = operands_[static_cast<std::size_t>(copy.array)];
  if (!operand.direct || !lie_in_tiles(operand.state->shape, copy.rows)) return false;
  const ArrayShape::Bytes bytes = operand.state->shape.bytes_of_rows(copy.rows);
  return bytes.begin % DirectFile::block == 0 && bytes.end % DirectFile::block == 0 &&
         bytes.end > bytes.begin;
}

// What has failed by now.
void StreamRun::check_direct_files() {
  for (const Operand& operand : operands_)
    if (operand.direct) operand.direct->check();
}

// After the end of all queues: throws what failed in files, which may be why others did; once.
void StreamRun::end_direct_files() {
  std::exception_ptr failure;
  for (const Operand& operand : operands_) {
    if (!operand.direct) continue;
    try {
      operand.direct->check();
    } catch (const FileError&) {
      if (!failure) failure = std::current_exception();
    }
    operand.direct->forget();
  }
  if (failure) std::rethrow_exception(failure);
}

// Before rows of the tile go to files: what the host wrote of tiles before is there. It goes through the page
// cache in part, of which no page may change while the device writes beside it (see FileStorage).
void StreamRun::wait_for_partial_writes(long tile) {
  for (Operand& operand : operands_) {
    if (!operand.direct || operand.partly_by_host < 0) continue;
    while (written_ < tile) begin_writes(written_++);
    for (long t = std::max(0L, tile - operand.stage->depth()); t < tile; ++t)
      operand.stage->wait_for_writes(t);
    operand.partly_by_host = -1;
  }
}

}  // namespace strata::inline STRATA_ABI::detail
