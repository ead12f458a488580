// A Cholesky factor of a matrix in files, with bounded memory of the host and of the device, against the same
// in memory and against the disk: the time in which the bytes that were read and written would pass it, by
// requests that do nothing else.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <strata/algorithms/linear/tiled/tiled_cholesky.hpp>
#include <strata/algorithms/linear/tiled/tiled_files.hpp>
#include <strata/views/coherent/file_storage.hpp>

#include "common/disk_bytes.hpp"
#include "common/tiled_factor_residual.hpp"
#include "common/tiled_runs.hpp"

namespace perf {

template <class D, class T>
class FilesRuns : TiledRuns<D, T> {
  using Base = TiledRuns<D, T>;
  using Base::all_, Base::evict, Base::fill, Base::linear_, Base::n_, Base::options_, Base::report_,
      Base::tile_, Base::tiled_, Base::type_;
  using typename Base::index_t;
  using typename Base::Matrix;
  using Storage = strata::detail::FileStorage;

 public:
  FilesRuns(const Options& options, const TiledOptions& tiled, Report& report, const char* type)
      : Base(options, tiled, report, type) {}

  void run() {
    const Folder folder(tiled_.folder);
    const Matrix a =
        strata::symmetric_tiled_files<T>(folder.path, n_, tile_, strata::overwrite, strata::uninitialized);
    const index_t bytes = Base::bytes_of(a), least = 4 * this->tile_bytes();
    const index_t budget = tiled_.budget > 0 ? tiled_.budget : std::max(bytes / 4, least);
    this->set_budget(budget);
    linear_.run.on_host = true;
    const double in_memory = seconds_in_memory();
    linear_.run.host_memory = tiled_.host_memory > 0 ? tiled_.host_memory : std::max(bytes / 4, least);
    measure_disk(a);

    fill_files(a);
    forget(a);
    const DiskBytes before = disk_bytes();
    const double begin = now();
    const strata::TaskReport report = strata::linear::cholesky(a, strata::on(D{}), linear_);
    save(a);
    const double seconds = now() - begin;
    DiskBytes moved = disk_bytes() - before;
    if (!moved.is_known) moved = {report.devices[0].bytes_in, report.devices[0].bytes_out, false};

    const double of_disk = seconds_of(moved), limit = std::max(of_disk, in_memory);
    this->add("cholesky, in files", once(seconds), operations(), limit, 0);
    report_.note(this->title() + "in files the factor took " + fixed(seconds, 2) + " s; the disk needs " +
                 fixed(of_disk, 2) + " s for the bytes, and the factor in memory took " +
                 fixed(in_memory, 2) + " s: the ceiling is the longer of them");
    add_moved("cholesky, in files: read", moved.read);
    add_moved("cholesky, in files: written", moved.written);
    const FactorResidual factor(a, strata::on(D{}), linear_);
    const double residual = factor.value();
    report_.check(residual < factor.allowed(tiled_.tf32),
                  this->title() + "cholesky in files: the residual " + std::to_string(residual));
    report_.note(this->title() + "the matrix in files has " + strata::string_from_bytes(bytes) +
                 " in tiles of " + std::to_string(tile_) + "; of files the host may hold " +
                 strata::string_from_bytes(linear_.run.host_memory) +
                 (is_machine<D> ? "" : ", the device " + strata::string_from_bytes(budget)));
    this->set_budget(all_);
  }

 private:
  // Goes away with all that is in it, after an error too.
  struct Folder {
    explicit Folder(std::string parent) {
      if (parent.empty()) {
        const char* const temporary = std::getenv("TMPDIR");
        parent = temporary != nullptr ? temporary : "/tmp";
      }
      path = parent + "/strata_tiled_linear." + std::to_string(getpid());
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() {
      std::error_code error;
      std::filesystem::remove_all(path, error);
    }
    std::string path;
  };

  double operations() const {
    const double n = static_cast<double>(n_);
    return n * n * n / 3;
  }
  double seconds_in_memory() {
    const Matrix a = Matrix::symmetric("a", n_, tile_, strata::uninitialized, fast_memory<D>);
    std::vector<double> seconds;
    for (int rep = 0; rep < 2; ++rep) {  // the first one loads libraries
      fill(a);
      evict(a);
      seconds.push_back(strata::linear::cholesky(a, strata::on(D{}), linear_).seconds);
    }
    this->add("cholesky, in memory", once(seconds.back()), operations(), 0, 0);
    return seconds.back();
  }

  static Storage& storage(const strata::CoherentArray<T, strata::rank<2>, strata::LayoutRight>& tile) {
    return *strata::detail::file_storage_of(*tile.state());
  }
  static std::vector<Storage*> storages(const Matrix& a) {
    std::vector<Storage*> all;
    Base::visit(a, [&](index_t, index_t, const auto& tile) { all.push_back(&storage(tile)); });
    return all;
  }
  // By the host's threads, tile by tile, as a graph would hold more than it may.
  void fill_files(const Matrix& a) {
    Base::visit(a, [&](index_t i, index_t j, const auto& tile) {
      {
        const auto view = tile.write();
        strata::parallel_for(strata::on(strata::Threads{}), strata::mdrange({tile.extent(0), tile.extent(1)}),
                             strata::with(FillKernel<T, KnownMatrix>{i * tile_, j * tile_}, view.view()));
      }
      storage(tile).write_back();
      storage(tile).give_memory_back();
    });
  }
  // Nothing of it is in memory, on the device or on the host.
  static void forget(const Matrix& a) {
    save(a);
    for (Storage* const file : storages(a)) file->give_memory_back();
  }

  // All files, in requests of a tile, four at once, past the page cache; `first`: from which on, of `step`.
  static double transfer(const std::vector<Storage*>& files, std::size_t first, std::size_t step,
                         bool writes) {
    constexpr std::size_t depth = 4;
    index_t largest = 0;
    for (const Storage* const file : files) largest = std::max(largest, file->data_bytes());
    largest = (largest + 4095) / 4096 * 4096;
    const std::unique_ptr<char[]> memory(new char[depth * static_cast<std::size_t>(largest) + 4096]());
    char* const begin_of_memory =
        memory.get() + (4096 - reinterpret_cast<std::uintptr_t>(memory.get()) % 4096);
    struct Request {
      Storage* file = nullptr;
      strata::detail::files::AsyncFile::Ticket ticket = {};
    } requests[depth];
    const auto wait = [](Request& request) {
      if (request.file != nullptr) request.file->file().wait(request.ticket);
    };
    const double begin = now();
    for (std::size_t k = first, count = 0; k < files.size(); k += step, ++count) {
      Request& request = requests[count % depth];
      wait(request);
      request.file = files[k];
      char* const here = begin_of_memory + count % depth * static_cast<std::size_t>(largest);
      const index_t bytes = request.file->data_bytes(), at = request.file->first_byte();
      request.ticket =
          writes ? request.file->file().write(here, bytes, at) : request.file->file().read(here, bytes, at);
    }
    for (Request& request : requests) wait(request);
    return now() - begin;
  }
  // What the disk does alone: writes, reads, and both at once.
  void measure_disk(const Matrix& a) {
    const std::vector<Storage*> files = storages(a);
    for (Storage* const file : files) file->before_direct_write(file->first_byte(), file->data_bytes());
    const double bytes = static_cast<double>(Base::bytes_of(a));
    static_cast<void>(transfer(files, 0, 1, true));  // blocks that no write has touched are slower
    write_ = bytes / transfer(files, 0, 1, true);
    read_ = bytes / transfer(files, 0, 1, false);
    const double begin = now();
    std::thread reader([&] { static_cast<void>(transfer(files, 1, 2, false)); });
    static_cast<void>(transfer(files, 0, 2, true));
    reader.join();
    both_ = bytes / (now() - begin);
    const auto add_rate = [&](const char* name, double rate) {
      report_.add({std::string("the disk alone: ") + name, D::name, n_, type_, once(bytes / rate), rate / 1e9,
                   "GB/s", none, none});
    };
    add_rate("written", write_);
    add_rate("read", read_);
    add_rate("half written, half read, at once", both_);
  }
  // As much of both as there is at once, what is left alone.
  double seconds_of(const DiskBytes& moved) const {
    const double shared = static_cast<double>(std::min(moved.read, moved.written));
    return 2 * shared / both_ + (static_cast<double>(moved.read) - shared) / read_ +
           (static_cast<double>(moved.written) - shared) / write_;
  }
  void add_moved(const std::string& name, index_t bytes) { this->add_bytes(name, bytes, none); }

  double read_ = 0, write_ = 0, both_ = 0;  // bytes a second
};

}  // namespace perf
