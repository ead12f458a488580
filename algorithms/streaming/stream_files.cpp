// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <exception>
#include <numeric>

#include <sys/stat.h>

#include <strata/algorithms/streaming/plan/rows.hpp>
#include <strata/algorithms/streaming/stream_files.hpp>
#include <strata/algorithms/streaming/stream_rates.hpp>
#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

namespace {

constexpr int files_under_way = 4;  // tiles of them, each way
// Slices are not cut in multiples of more bytes, of all arrays, for the sake of whole blocks.
constexpr index_t most_aligned_bytes = index_t{4} << 20;

// Rows that fill whole blocks.
index_t rows_of_blocks(index_t row_bytes) {
  return DirectFile::block / std::gcd(DirectFile::block, row_bytes);
}

}  // namespace

StreamFiles::StreamFiles(const StreamJob& job, StreamTiles& tiles)
    : job_(job), tiles_(tiles), operands_(job.states.size()) {
  for (std::size_t a = 0; a < operands_.size(); ++a) operands_[a].file = file_storage_of(*job.states[a]);
}

// ---- before a plan

void StreamFiles::constrain(StreamProblem& problem, StreamOptions& options) const {
  for (std::size_t a = 0; a < operands_.size(); ++a) {
    if (!has(a) || job_.is_whole(a)) continue;
    problem.align = std::max(problem.align, problem.arrays[a].align);
    options.pieces = 1;  // whole tiles are read and written beside others
    if (job_.is_state(a) && options.scheduler == StreamScheduler::Automatic)
      options.scheduler = StreamScheduler::Carry;
  }
}

void StreamFiles::open_transfers() {
  if (job_.device.host_accessible() || host_has_all_) return;
  for (std::size_t a = 0; a < operands_.size(); ++a) {
    Operand& operand = operands_[a];
    if (!has(a) || job_.is_whole(a) || operand.direct) continue;
    operand.direct = job_.device.open_direct(operand.file->file().descriptor(), operand.file->path().c_str(),
                                             !operand.file->is_for_reading());
  }
}

bool StreamFiles::align_to_blocks(StreamProblem& problem, index_t chunk) {
  open_transfers();
  bool any = false;
  index_t row_bytes = 0;
  for (std::size_t a = 0; a < operands_.size(); ++a) {
    const index_t here = problem.arrays[a].row_bytes;
    if (!job_.is_whole(a)) row_bytes += here;
    if (!operands_[a].direct) continue;
    any = true;
    problem.align = std::lcm(problem.align, rows_of_blocks(here));
  }
  return any && chunk % problem.align == 0 && problem.align * row_bytes <= most_aligned_bytes;
}

// The bytes that the plan reads from the files of each disk, and writes to them.
std::map<std::uint64_t, StreamFiles::Bytes> StreamFiles::bytes_of_disks() const {
  std::map<std::uint64_t, Bytes> disks;
  const StreamPlan& plan = job_.plan;
  for (std::size_t a = 0; a < operands_.size(); ++a) {
    if (!has(a) || job_.is_whole(a)) continue;
    struct stat status {};
    if (fstat(operands_[a].file->file().descriptor(), &status) != 0) continue;
    Bytes& bytes = disks[static_cast<std::uint64_t>(status.st_dev)];
    const auto add = [&](const std::vector<StreamCopy>& copies, index_t times, index_t& sum) {
      for (const StreamCopy& copy : copies)
        if (static_cast<std::size_t>(copy.array) == a)
          sum += times * rows_of(copy.rows) * job_.problem.arrays[a].row_bytes;
    };
    const auto add_pass = [&](const StreamPass& pass, index_t times) {
      for (const StreamTile& tile : pass.tiles) {
        add(tile.uploads, times, bytes.read);
        add(tile.downloads, times, bytes.written);
      }
    };
    if (plan.passes > 1) add_pass(plan.pass, plan.passes - 1);
    if (plan.passes > 0) add_pass(plan.last, 1);
  }
  return disks;
}

double StreamFiles::seconds() const {
  double most = 0;
  for (const auto& [disk, bytes] : bytes_of_disks()) {
    const double rate = known_file_rate(disk, bytes.read > 0, bytes.written > 0);
    if (rate > 0) most = std::max(most, static_cast<double>(bytes.read + bytes.written) / rate);
  }
  return most;
}

void StreamFiles::learn(double seconds) const {
  if (!has_stages_ || seconds <= 0) return;
  for (const auto& [disk, bytes] : bytes_of_disks())
    learn_file_rate(disk, bytes.read > 0, bytes.written > 0,
                    static_cast<double>(bytes.read + bytes.written) / seconds);
}

// ---- stages

void StreamFiles::make_stages() {
  for (std::size_t a = 0; a < operands_.size(); ++a) {
    Operand& operand = operands_[a];
    operand.stage.reset();
    if (!has(a) || job_.is_whole(a)) continue;
    const CoherentState& state = *job_.states[a];
    operand.stage = std::make_unique<FileStage>(*operand.file, state.shape, state.label.c_str(),
                                                most_staged(a), files_under_way, job_.device);
    has_stages_ = true;
  }
}
void StreamFiles::drop_stages() {
  for (Operand& operand : operands_) operand.stage.reset();
}
void StreamFiles::restart() {
  read_ = written_ = 0;
  for (Operand& operand : operands_) operand.partly_by_host = -1;
}

// Bytes of an array that a tile copies one way by way of the host, at most.
index_t StreamFiles::most_staged(std::size_t a) const {
  index_t most = 0;
  const auto look = [&](const std::vector<StreamCopy>& copies) {
    index_t bytes = 0;
    for (const StreamCopy& copy : copies)
      if (static_cast<std::size_t>(copy.array) == a && !is_direct(copy))
        bytes += buffer_bytes(job_.problem.arrays[a], rows_of(copy.rows));
    most = std::max(most, bytes);
  };
  for (const StreamPass* const pass : {&job_.plan.pass, &job_.plan.last})
    for (const StreamTile& tile : pass->tiles) {
      look(tile.uploads);
      look(tile.downloads);
    }
  return most;
}

bool StreamFiles::is_staged(const StreamCopy& copy) const {
  const std::size_t a = static_cast<std::size_t>(copy.array);
  return operands_[a].stage && lie_in_tiles(job_.states[a]->shape, copy.rows) && !is_direct(copy);
}

char* StreamFiles::staged(const StreamCopy& copy, long tile, bool is_upload) {
  Operand& operand = operands_[static_cast<std::size_t>(copy.array)];
  if (operand.direct && !is_upload) operand.partly_by_host = tile;
  if (!is_staged(copy)) return nullptr;
  return is_upload ? operand.stage->base_of_read(tile, copy.rows)
                   : operand.stage->base_to_write(tile, copy.rows);
}

void StreamFiles::wait_for_writes(FileStage& stage, long begin, long end) const {
  for (long tile = std::max(0L, begin); tile < end; ++tile) stage.wait_for_writes(tile);
}

// Begins to read the rows that the tile uploads. False, with nothing done, if it needs rows that were not yet
// written.
bool StreamFiles::begin_reads(long tile) {
  const StreamTile& here = tiles_.tile(tile);
  for (const StreamWait& before : here.before_upload) {
    if (before.stage != StreamStage::Download) continue;
    const long writer = tiles_.number_of(before, tiles_.pass_of(tile));
    if (writer < 0) continue;
    if (writer >= written_) return false;
    for (Operand& operand : operands_)
      if (operand.stage) wait_for_writes(*operand.stage, written_ - operand.stage->depth(), writer + 1);
  }
  for (std::size_t a = 0; a < operands_.size(); ++a) {
    if (!operands_[a].stage) continue;
    FileStage& stage = *operands_[a].stage;
    if (tile >= stage.depth()) {
      const Ref<EventState>& uploaded = tiles_.done(StreamStage::Upload, tile - stage.depth());
      if (uploaded) uploaded->wait();
    }
    stage.begin_tile(tile);
    for (const StreamCopy& copy : here.uploads)
      if (static_cast<std::size_t>(copy.array) == a && is_staged(copy)) stage.read(tile, copy.rows);
  }
  return true;
}

// The tile's rows are with the host, or are waited for; they go to the files.
void StreamFiles::begin_writes(long tile) {
  if (const Ref<EventState>& done = tiles_.done(StreamStage::Download, tile)) done->wait();
  for (Operand& operand : operands_)
    if (operand.stage) operand.stage->write(tile);
}
void StreamFiles::begin_writes_until(long tile) {
  while (written_ < tile) begin_writes(written_++);
}

void StreamFiles::before_upload(long tile) {
  if (!has_stages_) return;
  while (read_ <= tile) {
    if (begin_reads(read_)) ++read_;
    else begin_writes(written_++);
  }
  for (Operand& operand : operands_)
    if (operand.stage) operand.stage->wait_for_reads(tile);
  // The next tiles are read while this one is copied and computed.
  const long ahead = tile + files_under_way - 1;
  while (read_ <= ahead && read_ < tiles_.count() && begin_reads(read_)) ++read_;
}

void StreamFiles::before_download(long tile) {
  if (has_stages_) {
    // The last tile but one has come back, or soon will have; and of those before it one makes room.
    begin_writes_until(tile - 1);
    for (Operand& operand : operands_)
      if (operand.stage && tile >= operand.stage->depth())
        operand.stage->wait_for_writes(tile - operand.stage->depth());
  }
  wait_for_partial_writes(tile);
}

// Waits for the host's writes of earlier tiles: they go through the page cache in part, and no page of it may
// change while the device writes next to it (see FileStorage).
void StreamFiles::wait_for_partial_writes(long tile) {
  for (Operand& operand : operands_) {
    if (!operand.direct || operand.partly_by_host < 0) continue;
    begin_writes_until(tile);
    wait_for_writes(*operand.stage, tile - operand.stage->depth(), tile);
    operand.partly_by_host = -1;
  }
}

void StreamFiles::finish() {
  if (!has_stages_) return;
  const long tiles = tiles_.count();
  while (written_ < tiles) {
    for (Operand& operand : operands_)
      if (operand.stage && written_ >= operand.stage->depth())
        operand.stage->wait_for_writes(written_ - operand.stage->depth());
    begin_writes(written_++);
  }
  for (Operand& operand : operands_)
    if (operand.stage) wait_for_writes(*operand.stage, tiles - operand.stage->depth(), tiles);
}

// ---- by the device itself

bool StreamFiles::is_direct(const StreamCopy& copy) const {
  const std::size_t a = static_cast<std::size_t>(copy.array);
  const ArrayShape& shape = job_.states[a]->shape;
  if (!operands_[a].direct || !lie_in_tiles(shape, copy.rows)) return false;
  const ArrayShape::Bytes bytes = shape.bytes_of_rows(copy.rows);
  return bytes.begin % DirectFile::block == 0 && bytes.end % DirectFile::block == 0 &&
         bytes.end > bytes.begin;
}

void StreamFiles::transfer(const StreamCopy& copy, char* base, QueueState& queue, bool is_upload) {
  const std::size_t a = static_cast<std::size_t>(copy.array);
  const Operand& operand = operands_[a];
  const ArrayShape::Bytes all = job_.states[a]->shape.bytes_of_rows(copy.rows);
  const std::size_t count = static_cast<std::size_t>(all.end - all.begin);
  const index_t offset = operand.file->first_byte() + all.begin;
  if (is_upload) operand.direct->read(queue, base + all.begin, count, offset);
  else operand.direct->write(queue, base + all.begin, count, offset);
}

void StreamFiles::check() {
  for (const Operand& operand : operands_)
    if (operand.direct) operand.direct->check();
}

void StreamFiles::end_transfers() {
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

}  // namespace strata::inline STRATA_ABI::detail::streaming
