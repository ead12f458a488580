// SPDX-License-Identifier: Apache-2.0
#include <strata/miniapps/fem/files/hdf5_exodus.hpp>
#include <strata/miniapps/fem/mesh_error.hpp>

#if !STRATA_FEM_HAS_HDF5

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
#include <string>
#include <system_error>
#include <vector>

#include <hdf5.h>
#include <netcdf.h>
#include <netcdf_mem.h>

#include <strata/miniapps/fem/files/confined_process.hpp>
#include <strata/miniapps/fem/files/count.hpp>
#include <strata/miniapps/fem/files/netcdf_writer.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

namespace {

struct CallFailed {};

void check(int status) {
  if (status != NC_NOERR) throw CallFailed{};
}

// How the other process answers, besides bytes.
enum class Answer : int { Mesh, Damaged, OtherFile, OtherData, Link, TooLarge };

struct Refused {
  Answer answer;
  std::string name;  // of what is refused
};

// Copies dimensions and variables without time from a file of netCDF's library into one of NetcdfWriter. A
// damaged file may say what it wants: the process that runs this may crash.
class Copy {
 public:
  Copy(int file, Count most_bytes) : file_(file), most_bytes_(most_bytes) {}

  template <class Write>
  void to(const Write& write) {
    copy_dimensions();
    int variables = 0;
    check(nc_inq_nvars(file_, &variables));
    for (int variable = 0; variable < variables; ++variable) copy_variable(variable);
    if (bytes_ > most_bytes_) throw Refused{Answer::TooLarge, ""};
    writer_.write_to("the mesh", write);
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
    Count count = 1;
    for (int axis = 0; axis < rank; ++axis) {
      const auto dimension = static_cast<std::size_t>(dimensions[axis]);
      if (names_.at(dimension).empty()) return;
      names.push_back(names_[dimension]);
      count *= lengths_[dimension];
    }
    const std::size_t values = count.size();
    if (type != NC_STRING && type <= NC_UINT64) bytes_ += count * 8;  // as they are read
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
  Count most_bytes_, bytes_;
  NetcdfWriter writer_;
  std::vector<std::string> names_;  // empty of those that are left out
  std::vector<std::size_t> lengths_;
};

// An object of HDF5's library, closed with `close`.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {
    if (id < 0) throw CallFailed{};
  }
  ~Handle() { close_(id_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

// Throws Refused where the data of a dataset lie elsewhere than in it.
void require_own_data(hid_t dataset, const char* name) {
  const Handle properties(H5Dget_create_plist(dataset), H5Pclose);
  if (H5Pget_external_count(properties) != 0) throw Refused{Answer::OtherFile, name};
  if (H5Pget_layout(properties) == H5D_VIRTUAL) throw Refused{Answer::OtherData, name};
}

// What H5Lvisit() calls for each link of the file. Exceptions do not go through C.
herr_t visit_link(hid_t group, const char* name, const H5L_info_t* link, void* refused) {
  try {
    if (link->type != H5L_TYPE_HARD) throw Refused{Answer::Link, name};
    const Handle object(H5Oopen(group, name, H5P_DEFAULT), H5Oclose);
    if (H5Iget_type(object) == H5I_DATASET) require_own_data(object, name);
    return 0;
  } catch (const Refused& refusal) {
    *static_cast<Refused*>(refused) = refusal;
  } catch (const CallFailed&) {
  }
  return -1;
}

// HDF5 follows names of other files, whose bytes would come out as the mesh, or which never end. None of
// what a mesh needs is stored so: the file is refused before netCDF's library reads it.
void require_no_other_files(const std::string& content) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5PLset_loading_state(0);
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  if (H5Pset_fapl_core(access, std::size_t{1} << 16, false) < 0) throw CallFailed{};
  // The library copies the bytes.
  if (H5Pset_file_image(access, const_cast<char*>(content.data()), content.size()) < 0) throw CallFailed{};
  const Handle file(H5Fopen("mesh", H5F_ACC_RDONLY, access), H5Fclose);
  Refused refused{Answer::Damaged, ""};
  if (H5Lvisit(file, H5_INDEX_NAME, H5_ITER_NATIVE, visit_link, &refused) < 0) throw refused;
}

// Meshes take several times the bytes of a compressed file; a file of some kilobytes that makes a gigabyte
// is made for that.
Count most_bytes(const std::string& content) { return 32 * Count(content.size()) + (1 << 20); }

template <class Write>
Answer copy(const std::string& content, const Write& write) {
  try {
    require_no_other_files(content);
    int file = 0;
    // The library does not write to the memory of a file that it opens for reading.
    check(nc_open_mem("mesh", NC_NOWRITE, content.size(), const_cast<char*>(content.data()), &file));
    Copy(file, most_bytes(content)).to(write);
    return Answer::Mesh;
  } catch (const Refused& refused) {
    write(refused.name);
    return refused.answer;
  } catch (...) {
    return Answer::Damaged;
  }
}

ConfinedLimits limits_for(const std::string& content) {
  const auto size = static_cast<double>(content.size());
  ConfinedLimits limits;
  limits.processor_seconds = 2 + size / 1e6;  // damaged files may keep it busy for ever
  limits.wall_seconds = 4 + size / 1e5;
  limits.memory = (std::size_t{1} << 30) + 64 * content.size();
  limits.output = (2 * most_bytes(content)).size();  // names and the header besides
  return limits;
}

ConfinedResult convert(const MeshText& text) {
  const std::string& content = text.content();
  try {
    return run_confined(limits_for(content),
                        [&](const auto& write) { return static_cast<int>(copy(content, write)); });
  } catch (const std::system_error& error) {
    throw MeshFileError(text.name() + ": cannot read it in a process of its own: " + error.what());
  }
}

}  // namespace

bool has_hdf5_exodus() { return true; }

std::string classic_from_hdf5(const MeshText& text) {
  ConfinedResult result = convert(text);
  const auto answer = static_cast<Answer>(result.status);
  if (answer == Answer::Mesh) return std::move(result.output);
  if (answer == Answer::TooLarge) {
    throw MeshError(text.name() + ": the mesh takes more than " + most_bytes(text.content()).text() +
                    " bytes when it is unpacked, from a file of " + std::to_string(text.content().size()) +
                    "; unpack it yourself if you trust it: nccopy -k cdf5 FILE NEW_FILE");
  }
  const std::string name = in_quotes(result.output);
  const std::string refused =
      answer == Answer::OtherFile ? "the values of " + name + " lie in another file"
      : answer == Answer::OtherData
          ? name + " is a virtual dataset, whose values lie in others or in other files"
      : answer == Answer::Link ? name + " is a link that may lead to another file"
                               : "";
  if (!refused.empty()) {
    throw MeshError(text.name() + ": " + refused +
                    ", which is not read; save the mesh as a file that holds all its data");
  }
  throw MeshError(text.name() + ": netCDF's library " + (result.failure.empty() ? "failed" : result.failure) +
                  " on it; the file is damaged, or no Exodus II mesh: write it again");
}

}  // namespace strata::inline STRATA_ABI::fem::detail

#endif
