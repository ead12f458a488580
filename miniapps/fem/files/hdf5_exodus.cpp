#include <strata/miniapps/fem/files/hdf5_exodus.hpp>
#include <strata/miniapps/fem/mesh_error.hpp>

#if !STRATA_FEM_HAS_NETCDF

namespace strata::inline STRATA_ABI::fem::detail {

bool has_hdf5_exodus() { return false; }

std::string classic_from_hdf5(const MeshText& text) {
  throw MeshFileError(
      text.name() +
      ": an Exodus II file in HDF5, and this build has no library for it; install libnetcdf-dev and "
      "configure again, or convert the file: nccopy -k cdf5 FILE NEW_FILE");
}

}  // namespace strata::inline STRATA_ABI::fem::detail

#else

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include <fcntl.h>
#include <netcdf.h>
#include <netcdf_mem.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <strata/miniapps/fem/files/netcdf_writer.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

namespace {

struct CallFailed {};

void check(int status) {
  if (status != NC_NOERR) throw CallFailed{};
}

// Copies dimensions and variables without time from a file of netCDF's library into one of NetcdfWriter. A
// damaged file may say what it wants: the process that runs this may crash.
class Copy {
 public:
  explicit Copy(int file) : file_(file) {}

  void to(const std::string& path) {
    copy_dimensions();
    int variables = 0;
    check(nc_inq_nvars(file_, &variables));
    for (int variable = 0; variable < variables; ++variable) copy_variable(variable);
    writer_.begin(path);
    writer_.finish();
  }

 private:
  void copy_dimensions() {
    int dimensions = 0, unlimited = 0;
    check(nc_inq_ndims(file_, &dimensions));
    check(nc_inq_unlimdims(file_, &unlimited, nullptr));
    std::vector<int> of_time(static_cast<std::size_t>(unlimited));
    check(nc_inq_unlimdims(file_, &unlimited, of_time.data()));
    for (int dimension = 0; dimension < dimensions; ++dimension) {
      char name[NC_MAX_NAME + 1] = {};
      std::size_t length = 0;
      check(nc_inq_dim(file_, dimension, name, &length));
      const bool is_time = std::find(of_time.begin(), of_time.end(), dimension) != of_time.end();
      names_.emplace_back(is_time || length == 0 ? "" : name);
      if (!names_.back().empty()) writer_.add_dimension(name, static_cast<std::int64_t>(length));
      lengths_.push_back(length);
    }
  }

  void copy_variable(int variable) {
    char name[NC_MAX_NAME + 1] = {};
    nc_type type = 0;
    int rank = 0;
    int dimensions[NC_MAX_VAR_DIMS] = {};
    check(nc_inq_var(file_, variable, name, &type, &rank, dimensions, nullptr));
    std::vector<std::string> names;
    std::size_t values = 1;
    for (int axis = 0; axis < rank; ++axis) {
      const auto dimension = static_cast<std::size_t>(dimensions[axis]);
      if (names_.at(dimension).empty()) return;
      names.push_back(names_[dimension]);
      values *= lengths_[dimension];
    }
    if (type == NC_CHAR) {
      writer_.add(name, NetcdfWriter::Type::Characters, names, [this, variable, values] {
        std::string text(values, '\0');
        check(nc_get_var_text(file_, variable, text.data()));
        return text;
      });
    } else if (type == NC_FLOAT || type == NC_DOUBLE) {
      writer_.add(name, NetcdfWriter::Type::Number, names, [this, variable, values] {
        std::vector<double> numbers(values);
        check(nc_get_var_double(file_, variable, numbers.data()));
        return NetcdfBytes::numbers(numbers.data(), values, 0, 1);
      });
    } else if (type != NC_STRING && type <= NC_UINT64) {
      writer_.add(
          name, NetcdfWriter::Type::Integer, names,
          [this, variable, values] { return integers(variable, values); }, element_type(variable));
    }
  }

  std::string integers(int variable, std::size_t values) const {
    std::vector<long long> read(values);
    check(nc_get_var_longlong(file_, variable, read.data()));
    std::vector<std::int64_t> integers(read.begin(), read.end());
    for (const std::int64_t value : integers) {
      if (value != static_cast<std::int32_t>(value)) throw CallFailed{};
    }
    return NetcdfBytes::integers(integers);
  }

  NetcdfWriter::Texts element_type(int variable) const {
    std::size_t length = 0;
    if (nc_inq_attlen(file_, variable, "elem_type", &length) != NC_NOERR) return {};
    std::string text(length, '\0');
    check(nc_get_att_text(file_, variable, "elem_type", text.data()));
    return {{"elem_type", text}};
  }

  int file_;
  NetcdfWriter writer_;
  std::vector<std::string> names_;  // empty of those that are left out
  std::vector<std::size_t> lengths_;
};

// Bytes of data that this process has mapped, as RLIMIT_DATA counts them; 0 where that is not known.
rlim_t mapped_data() {
  std::ifstream file("/proc/self/statm");
  rlim_t pages = 0;
  for (int column = 0; column < 6; ++column) file >> pages;  // the sixth is data
  return file ? pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) : 0;
}

constexpr int cannot_write = 2;  // the exit status of a process that has no room for its copy

// What the other process does. It ends here, without destructors of what it has inherited.
[[noreturn]] void run_copy(const MeshText& text, const std::string& path) {
  const int nowhere = open("/dev/null", O_WRONLY);
  if (nowhere >= 0) {
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
  }
  const auto limit = [](int what, rlim_t value) {
    const rlimit limits{value, value};
    setrlimit(static_cast<__rlimit_resource>(what), &limits);
  };
  const rlim_t size = text.content().size();
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, 2 + size / 1000000);  // damaged files may keep it busy for ever
  if (const rlim_t mapped = mapped_data(); mapped > 0)
    limit(RLIMIT_DATA, mapped + (rlim_t{1} << 30) + 64 * size);
  int status = 1;
  try {
    int file = 0;
    // The library does not write to the memory of a file that it opens for reading.
    check(nc_open_mem("mesh", NC_NOWRITE, text.content().size(), const_cast<char*>(text.content().data()),
                      &file));
    Copy(file).to(path);
    status = 0;
  } catch (const MeshFileError&) {  // of the copy
    status = cannot_write;
  } catch (...) {
    status = 1;
  }
  _exit(status);
}

// Removed with what is in it.
class Folder {
 public:
  Folder() : path_((std::filesystem::temp_directory_path() / "strata_exodus_XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) {
      throw MeshFileError("cannot make a folder for temporary files: " + path_ + ": " + std::strerror(errno));
    }
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

bool has_hdf5_exodus() { return true; }

std::string classic_from_hdf5(const MeshText& text) {
  const Folder folder;
  const std::string path = folder.path() + "/mesh.e";
  const pid_t child = fork();
  if (child < 0)
    throw MeshFileError(text.name() + ": cannot start a process to read it: " + std::strerror(errno));
  if (child == 0) run_copy(text, path);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(status) && WEXITSTATUS(status) == cannot_write)
    throw MeshFileError(text.name() + ": cannot write the copy of it that is read, to " + folder.path() +
                        ": its disk is full, or files may not be that large (ulimit -f); make room, or set "
                        "TMPDIR to another folder");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw MeshError(text.name() + ": netCDF's library " +
                    (WIFSIGNALED(status) ? "ended by signal " + std::to_string(WTERMSIG(status)) : "failed") +
                    " on it; the file is damaged, or no Exodus II mesh: write it again");
  }
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace strata::inline STRATA_ABI::fem::detail

#endif
