// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <exception>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>

#include <strata/core/files/file_size_limit.hpp>
#include <strata/core/files/output_lock.hpp>
#include <strata/core/files/partial_file.hpp>
#include <strata/core/profiling/json_text.hpp>
#include <strata/miniapps/fem/files/mesh_text.hpp>
#include <strata/miniapps/fem/files/result_formats.hpp>
#include <strata/miniapps/fem/mesh_error.hpp>

namespace strata::inline STRATA_ABI::fem {

namespace {

std::string extension_of(const std::string& path) {
  return lower_case(std::filesystem::path(path).extension().string());
}

bool is_exodus(const std::string& extension) {
  return extension == ".e" || extension == ".exo" || extension == ".g" || extension == ".ex2";
}

[[noreturn]] void fail_format(const std::string& path) {
  throw MeshFileError("cannot write " + path + ": the format of '" + extension_of(path) +
                      "' is not known; the formats are " + std::string(writable_formats()));
}

void require_usable_name(const std::string& path) {
  const std::string extension = extension_of(path);
  if (strata::detail::profiling::has_control_character(path))
    throw MeshFileError("cannot write " + strata::detail::profiling::json_quoted(path) +
                        ": its name has a control character; choose another name");
  if (extension == ".pvd" &&
      !strata::detail::profiling::is_utf8(std::filesystem::path(path).filename().string()))
    throw MeshFileError(
        "cannot write " + strata::detail::profiling::json_quoted(path) +
        ": its name is not UTF-8, and is to be in the XML of a .pvd file; choose another name");
  if (extension != ".csv" && extension != ".vtu" && extension != ".pvd" && !is_exodus(extension))
    fail_format(path);
}

strata::detail::files::OutputLock lock_of(const std::string& path) {
  try {
    return strata::detail::files::OutputLock(path);
  } catch (const FileError& error) {
    throw MeshFileError(error.what());
  }
}

std::unique_ptr<detail::ResultFormat> make_format(const std::string& path, const HostMesh& mesh,
                                                  std::optional<double> from) {
  const std::string extension = extension_of(path);
  if (extension == ".csv") return detail::make_csv_format(path, mesh);
  if (extension == ".vtu") return detail::make_vtu_format(path, mesh);
  if (extension == ".pvd") return detail::make_pvd_format(path, mesh, from);
  return detail::make_exodus_format(path, mesh, from);
}

}  // namespace

// The thread owns the format; queue_, error_ and ending_ are shared, under the lock.
struct ResultWriter::Implementation {
  struct State {
    double time;
    std::vector<Field> fields;
  };

  Implementation(std::string path, HostMesh given, std::optional<double> from)
      : path_(std::move(path)), mesh_(std::move(given)) {
    require_usable_name(path_);
    lock_ = lock_of(path_);
    format_ = make_format(path_, mesh_, from);
    strata::detail::files::remove_abandoned_partials(path_);
    thread_ = std::thread([this] { run(); });
  }

  ~Implementation() { stop(); }

  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return ending_ || !queue_.empty(); });
      if (queue_.empty()) return;
      const State& state = queue_.front();
      lock.unlock();
      std::exception_ptr error;
      try {
        format_->write(state.time, state.fields);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      queue_.pop_front();
      // What follows a failure would have a gap: it is dropped, and every later call throws.
      if (error) {
        error_ = error;
        queue_.clear();
      }
      changed_.notify_all();
    }
  }

  void check(const std::vector<Field>& fields) {
    std::vector<std::pair<std::string, int>> names;
    for (const Field& field : fields) {
      if (strata::detail::profiling::has_control_character(field.name) ||
          !strata::detail::profiling::is_utf8(field.name))
        throw MeshError("cannot write " + path_ + ": the name of the field " +
                        strata::detail::profiling::json_quoted(field.name) +
                        " has a control character or is not UTF-8; choose another name");
      names.emplace_back(field.name, field.of_elements ? -field.components : field.components);
      const std::size_t size = field.of_elements ? mesh_.elements.size() : mesh_.coordinates.size();
      if (field.components < 1 || field.values.size() != size * static_cast<std::size_t>(field.components)) {
        throw MeshError("cannot write " + path_ + ": the field " + field.name + " has " +
                        std::to_string(field.values.size()) + " values; " + std::to_string(size) + " " +
                        (field.of_elements ? "elements" : "nodes") + " with " +
                        std::to_string(field.components) + " components need " +
                        std::to_string(size * static_cast<std::size_t>(field.components)));
      }
    }
    if (names_.empty()) names_ = names;
    if (names_ != names)
      throw MeshError("cannot write " + path_ + ": the fields are not those of the first state");
  }

  // Under the lock.
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

  void write(State state) {
    check(state.fields);
    std::unique_lock lock(mutex_);
    constexpr std::size_t waiting = 2;  // beside the one that is written
    changed_.wait(lock, [&] { return error_ || queue_.size() <= waiting; });
    rethrow();
    queue_.push_back(std::move(state));
    changed_.notify_all();
  }

  // Before the first state the thread leaves the format alone.
  void require_series(const std::vector<Field>& fields) {
    const std::lock_guard lock(mutex_);
    if (queue_.empty() && !error_) format_->require_series(fields);
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return queue_.empty(); });
    rethrow();
  }

  // With an empty queue the thread leaves the format alone.
  std::vector<std::string> files() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return queue_.empty(); });
    return format_->files();
  }

  void finish() {
    stop();
    rethrow();  // there is no other thread now
    format_->finish();
  }

 private:
  std::string path_;
  HostMesh mesh_;
  strata::detail::files::OutputLock lock_;  // before the format: until its files are closed
  std::unique_ptr<detail::ResultFormat> format_;
  std::vector<std::pair<std::string, int>> names_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<State> queue_;  // the first is being written
  std::exception_ptr error_;
  bool ending_ = false;
  std::thread thread_;  // the last member: it uses all others
};

ResultWriter::ResultWriter(std::string path, HostMesh mesh, std::optional<double> from)
    : implementation_(std::make_unique<Implementation>(std::move(path), std::move(mesh), from)) {}

ResultWriter::~ResultWriter() = default;

void ResultWriter::write(double time, std::vector<Field> fields) {
  if (!implementation_) throw MeshError("the results are finished; make another writer");
  implementation_->write({time, std::move(fields)});
}

void ResultWriter::require_series(const std::vector<Field>& fields) {
  if (implementation_) implementation_->require_series(fields);
}

void ResultWriter::wait() {
  if (implementation_) implementation_->wait();
}

std::vector<std::string> ResultWriter::finish() {
  if (!implementation_) throw MeshError("the results are finished already");
  const std::unique_ptr<Implementation> implementation = std::move(implementation_);
  try {
    implementation->finish();
  } catch (...) {
    finished_ = implementation->files();
    throw;
  }
  return finished_ = implementation->files();
}

std::vector<std::string> ResultWriter::files() {
  return implementation_ ? implementation_->files() : finished_;
}

std::vector<std::string> write_result(const std::string& path, const HostMesh& mesh, double time,
                                      std::vector<Field> fields) {
  ResultWriter writer(path, mesh);
  writer.write(time, std::move(fields));
  return writer.finish();
}

void write_mesh(const std::string& path, const HostMesh& mesh) {
  const strata::detail::files::OutputLock lock = lock_of(path);
  strata::detail::files::remove_abandoned_partials(path);
  const std::string extension = extension_of(path);
  if (extension == ".vtk") {
    detail::write_legacy_vtk(path, mesh);
  } else if (is_exodus(extension)) {
    detail::make_exodus_format(path, mesh)->finish();
  } else {
    throw MeshFileError("cannot write the mesh " + path + ": the format of '" + extension +
                        "' is not known; use .e (Exodus II) or .vtk (legacy VTK)");
  }
}

void require_writable(const std::string& path) {
  require_usable_name(path);
  if (std::filesystem::is_directory(path)) throw MeshFileError("cannot write " + path + ": it is a folder");
  if (!strata::detail::files::can_create_beside(path))
    throw MeshFileError("cannot write " + path +
                        ": creating it failed: " + strata::detail::files::file_error_text(errno) +
                        "; check the folder, its permissions and the space on its disk");
  static_cast<void>(lock_of(path));
}

std::string_view writable_formats() { return ".vtu, .pvd (with .vtu files), .e (Exodus II) and .csv"; }

}  // namespace strata::inline STRATA_ABI::fem
