// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include <sys/resource.h>

#include <strata/algorithms/across.hpp>
#include <strata/algorithms/linear/tiled/tiled_cholesky.hpp>
#include <strata/algorithms/linear/tiled/tiled_files.hpp>
#include <strata/algorithms/linear/tiled/tiled_lu.hpp>
#include <strata/algorithms/linear/tiled/tiled_product.hpp>
#include <strata/algorithms/linear/tiled/tiled_trsm.hpp>
#include <strata/core/bytes.hpp>
#include <strata/devices/emulated/control.hpp>
#include <strata/miniapps/common/devices.hpp>
#include <strata/miniapps/common/memory.hpp>
#include <strata/miniapps/common/options.hpp>
#include <strata/miniapps/common/places.hpp>
#include <strata/miniapps/factorize/operations.hpp>

namespace strata::inline STRATA_ABI::factorize {

namespace {

using miniapp::UsageError;

// Devices of all kinds, behind one type.
template <class List>
struct AcrossAll;
template <class... D>
struct AcrossAll<DeviceList<D...>> {
  using type = Across<D...>;
};
using AnyPlace = AcrossAll<KernelDevices>::type;

template <class D>
inline constexpr bool is_host = D::memory_space::host_accessible;

// As many emulated devices as are asked for, where they can be made.
void emulate(index_t devices) {
  constexpr index_t most = 16;
  emulated::Config config = emulated::config();
  if (devices <= config.count || devices > most) return;
  config.count = static_cast<int>(devices);
  emulated::configure(config);
}

// Each tile in a file takes two open ones: as many as the system lets this process have.
void allow_many_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(setrlimit(RLIMIT_NOFILE, &limit));
}

// What a place is made of.
struct PlaceMaker {
  const FactorizeRequest& request;
  AnyPlace place{};
  PlaceSummary summary{};
  miniapp::HomeDevice home{};  // whose memory the tiles are in; none: the host's
  bool has_gpu = false;

  template <class D>
  void add_device(const D& device) {
    place.places.push_back(on(device));
    if constexpr (is_host<D>) {
      summary.has_host = true;
    } else {
      if (request.memory_limit > 0) coherent::set_budget(device, request.memory_limit);
      const index_t memory = coherent::budget(device);
      summary.memory = summary.memory == 0 ? memory : std::min(summary.memory, memory);
    }
  }
  template <class D>
  void add_kind(const D& first) {
    if constexpr (is_host<D>) {
      const std::string name = miniapp::device_text(first);
      if (request.devices > 1)
        throw UsageError("--devices " + std::to_string(request.devices) + ": " + name +
                         " is one device, whose threads share the work");
      if (request.with_host) throw UsageError("--with-host is for other devices: " + name + " is the host");
      if (request.memory_limit > 0)
        throw UsageError("--memory-limit: " + name +
                         " has no memory of its own: leave it out, or bound what "
                         "the host holds of tiles in files, by --home file:FOLDER and --host-memory");
      if (request.home == "pinned")
        throw UsageError("--home pinned: " + name +
                         " copies nothing: pinned memory is for devices with a memory of their own");
      add_device(first);
    } else {
      home = miniapp::any_main_for(first).device;
      // One of a kind is the one that was named, several are the first ones.
      if (request.devices == 1) add_device(first);
      else
        for (const D& device : miniapp::first_devices(first, static_cast<int>(request.devices)))
          add_device(device);
    }
    summary.text = request.devices == 1
                       ? miniapp::device_text(first)
                       : std::to_string(request.devices) + " x " + std::string(device_name(first));
    has_gpu = std::string(device_name(first)) == "Cuda";
    if (has_gpu) summary.default_tile = 1920;
    else if (request.tf32) throw UsageError("--tf32: GPUs round to TF32, and " + summary.text + " is none");
  }
  void add_host() {
    add_device(AnyHost(Threads{}));
    summary.text += " and Threads";
  }
  void choose_kernels() {
    if (request.kernels == "strata") return;
    if (request.kernels == "vendor" && !summary.has_host && !has_gpu)
      throw UsageError("--kernels vendor: there are no libraries for " + summary.text);
    // A GPU is not to do without its libraries because the host lacks one.
    if (summary.has_host && (request.kernels == "vendor" || has_gpu)) strata::detail::require_host_blas();
    summary.uses_vendor = summary.has_host ? linear::has_host_blas() : has_gpu;
    if (summary.uses_vendor && summary.has_host) summary.library_of_host = linear::host_blas_name();
  }
  void choose_home() {
    summary.home = !request.home.empty() ? request.home : has_gpu ? "pinned" : "memory";
    if (summary.home == "file") allow_many_files();
  }
};

template <class T>
class OperationsOn final : public Operations<T> {
 public:
  OperationsOn(PlaceMaker maker, const FactorizeRequest& request, TaskWatch& watch)
      : place_(std::move(maker.place)),
        summary_(std::move(maker.summary)),
        home_(maker.home),
        folder_(request.folder),
        system_{.side = request.system.from_right ? linear::Side::Right : linear::Side::Left,
                .triangle = request.system.upper ? linear::Triangle::Upper : linear::Triangle::Lower,
                .transpose = request.system.transpose,
                .unit_diagonal = request.system.unit_diagonal} {
    const std::string whole = std::filesystem::path(folder_).parent_path().string();
    if (request.is_in_folder_of_device) made_folders_.push_back(whole);
    made_folders_.push_back(folder_);
    options_.backend = summary_.uses_vendor ? linear::Backend::Vendor : linear::Backend::Strata;
    options_.tf32 = request.tf32;
    options_.run.make_scheduler = watch.maker();
    options_.run.queues = static_cast<int>(request.queues);
    options_.run.window = static_cast<int>(request.window);
    options_.run.host_memory = request.host_memory;
    options_.run.on_host = true;
  }

  const PlaceSummary& place() const override { return summary_; }
  TiledMatrix<T> matrix(const std::string& name, index_t rows, index_t columns, index_t tile) override {
    if (summary_.home == "file")
      return tiled_files<T>(folder_for(name), rows, columns, tile, overwrite, uninitialized);
    return TiledMatrix<T>(name, rows, columns, tile, uninitialized, mode(),
                          MainIn<miniapp::HomeDevice>{home_});
  }
  TiledMatrix<T> lower_matrix(const std::string& name, index_t order, index_t tile) override {
    if (summary_.home == "file")
      return symmetric_tiled_files<T>(folder_for(name), order, tile, overwrite, uninitialized);
    return TiledMatrix<T>::symmetric(name, order, tile, uninitialized, mode(),
                                     MainIn<miniapp::HomeDevice>{home_});
  }
  bool save(const TiledMatrix<T>& a) override {
    if (summary_.home != "file") return false;
    strata::save(a);
    return true;
  }

  TaskReport cholesky(const TiledMatrix<T>& a) override {
    cholesky_ = a;
    return linear::cholesky(a, place_, options_);
  }
  TaskReport lu(const TiledMatrix<T>& a, bool pivots) override {
    linear::LuOptions options;
    static_cast<linear::TiledOptions&>(options) = options_;
    options.pivoting = pivots ? linear::Pivoting::Partial : linear::Pivoting::None;
    try {
      lu_ = linear::lu(a, place_, options);
    } catch (const linear::SingularMatrix& error) {
      // The library's advice is for who writes programs.
      std::string text = error.what();
      const std::string advice = "take Pivoting::Partial";
      if (const std::size_t at = text.find(advice); at != std::string::npos)
        text.replace(at, advice.size(), "take the operation lu, which has pivots");
      throw Error(text);
    }
    return lu_->report;
  }
  TaskReport gemm(const TiledMatrix<T>& a, const TiledMatrix<T>& b, const TiledMatrix<T>& c) override {
    return linear::gemm(1, a, b, 0, c, place_, options_);
  }
  TaskReport syrk(const TiledMatrix<T>& a, const TiledMatrix<T>& c) override {
    return linear::syrk(1, a, 0, c, place_, options_);
  }
  TaskReport trsm(const TiledMatrix<T>& a, const TiledMatrix<T>& b) override {
    return linear::trsm(system_, 1, a, b, place_, options_);
  }
  void solve(const TiledMatrix<T>& b) override {
    if (lu_) linear::solve(*lu_, b, place_, options_);
    else linear::solve(cholesky_.value(), b, place_, options_);
  }
  void multiply_by_factors(const TiledMatrix<T>& x) override {
    linear::TiledOptions exact = options_;  // this is a check, and adds no error of its own
    exact.tf32 = false;
    linear::product(lu_.value(), x, place_, exact);
  }

 private:
  MemoryMode mode() const { return summary_.home == "pinned" ? MemoryMode::Pinned : MemoryMode::Smart; }
  // Of a matrix; those that it is in are there.
  std::string folder_for(const std::string& name) const {
    std::error_code error;  // what fails, fails when the matrix is made
    for (const std::string& made : made_folders_) std::filesystem::create_directory(made, error);
    return folder_ + "/" + name;
  }

  AnyPlace place_;
  PlaceSummary summary_;
  const miniapp::HomeDevice home_;
  std::string folder_;
  std::vector<std::string> made_folders_;  // where they are not there, in this order
  linear::TriangularSystem system_;
  linear::TiledOptions options_;
  std::optional<TiledMatrix<T>> cholesky_;  // what has factors
  std::optional<linear::LuFactors<T>> lu_;
};

}  // namespace

template <class T>
std::unique_ptr<Operations<T>> make_operations(const std::string& device, const FactorizeRequest& request,
                                               TaskWatch& watch) {
  emulate(request.devices);
  PlaceMaker maker{request};
  miniapp::visit(device, [&](const auto& first) {
    maker.add_kind(static_cast<const miniapp::KernelDevice<std::remove_cvref_t<decltype(first)>>&>(first));
  });
  if (request.with_host) maker.add_host();
  maker.choose_kernels();
  maker.choose_home();
  return std::make_unique<OperationsOn<T>>(std::move(maker), request, watch);
}
template std::unique_ptr<Operations<float>> make_operations(const std::string&, const FactorizeRequest&,
                                                            TaskWatch&);
template std::unique_ptr<Operations<double>> make_operations(const std::string&, const FactorizeRequest&,
                                                             TaskWatch&);

std::vector<std::string> devices_of(const std::string& text) { return miniapp::chosen_devices(text); }

FactorizeRequest request_on(const std::string& device, const FactorizeRequest& request, bool several) {
  FactorizeRequest result = request;
  if (!several || request.home != "file") return result;
  std::string name = device;
  std::replace(name.begin(), name.end(), ':', '-');  // as in names of other files
  result.folder += "/" + name;
  result.is_in_folder_of_device = true;
  return result;
}

void require_no_matrices(const FactorizeRequest& request) {
  if (request.home != "file" || request.overwrites) return;
  // Those that a run of this operation makes: it leaves others alone.
  std::vector<const char*> names{"a"};
  if (request.operation == Operation::Gemm || request.operation == Operation::Trsm) names.push_back("b");
  if (request.operation == Operation::Gemm || request.operation == Operation::Syrk) names.push_back("c");
  for (const char* const name : names)
    if (const std::string folder = request.folder + "/" + name; strata::detail::has_tiled_files(folder))
      throw UsageError("--home file:" + request.folder + ": there is a matrix in " + folder +
                       " already: name another folder, or replace it by --overwrite");
}

}  // namespace strata::inline STRATA_ABI::factorize
