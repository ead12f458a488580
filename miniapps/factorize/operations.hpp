// Operations: what linear:: does over tiled matrices, on devices that are chosen when the program runs, for
// files that need not know of them (run.cpp). It is compiled in a file of its own (operations.cpp), once for
// all devices: tasks have a version for each.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <strata/algorithms/linear/tiled/tiled_matrix.hpp>
#include <strata/algorithms/tasks/task_report.hpp>
#include <strata/miniapps/factorize/request.hpp>
#include <strata/miniapps/factorize/task_watch.hpp>

namespace strata::inline STRATA_ABI::factorize {

/// Where operations run, and where their matrices are.
struct PlaceSummary {
  std::string text;            ///< "2 x Emulated and Threads"
  index_t default_tile = 256;  ///< the order of tiles that suits the devices
  index_t memory = 0;        ///< of the device with the least, for tiles; 0: no device has memory of its own
  bool has_host = false;     ///< hosts are among the devices
  bool uses_vendor = false;  ///< libraries compute tiles, and no kernels of Strata
  std::string library_of_host;  ///< of these, that of hosts
  std::string home;             ///< "memory", "pinned" or "file"
};

/// Operations on tiled matrices of T. Errors: those of linear::.
template <class T>
class Operations {
 public:
  virtual ~Operations() = default;

  virtual const PlaceSummary& place() const = 0;
  /// A matrix that is to be filled, at home where the request says. `name` is its label, or that of its
  /// folder. FileError, UsageError where there is one in the folder that is not to be replaced.
  virtual TiledMatrix<T> matrix(const std::string& name, index_t rows, index_t columns, index_t tile) = 0;
  /// The same of the lower tiles only of a square matrix.
  virtual TiledMatrix<T> lower_matrix(const std::string& name, index_t order, index_t tile) = 0;
  /// Whether matrices are in files: all of one is on the disk, and its files are complete.
  virtual bool save(const TiledMatrix<T>& a) = 0;

  virtual TaskReport cholesky(const TiledMatrix<T>& a) = 0;
  virtual TaskReport lu(const TiledMatrix<T>& a, bool pivots) = 0;
  /// C = A B
  virtual TaskReport gemm(const TiledMatrix<T>& a, const TiledMatrix<T>& b, const TiledMatrix<T>& c) = 0;
  /// C = A A^T, of which C has the lower tiles
  virtual TaskReport syrk(const TiledMatrix<T>& a, const TiledMatrix<T>& c) = 0;
  /// X takes the place of B in the system of the request.
  virtual TaskReport trsm(const TiledMatrix<T>& a, const TiledMatrix<T>& b) = 0;
  /// By the factors that the last cholesky() or lu() left.
  virtual void solve(const TiledMatrix<T>& b) = 0;
  /// x = P^T L U x for the factors that the last lu() left.
  virtual void multiply_by_factors(const TiledMatrix<T>& x) = 0;
};

/// On the device of a name, or as many of its kind as the request says. NoSuchDevice, UsageError for
/// settings that the devices do not allow; Error for libraries that are not there.
template <class T>
std::unique_ptr<Operations<T>> make_operations(const std::string& device, const FactorizeRequest& request,
                                               TaskWatch& watch);

/// The names that --device stands for (miniapp::chosen_devices).
std::vector<std::string> devices_of(const std::string& text);

/// A run is one of `several`, each on a device: those that have tiles in files have a folder each in that of
/// --home.
FactorizeRequest request_on(const std::string& device, const FactorizeRequest& request, bool several);
/// UsageError where the run would replace matrices in files, and is not to.
void require_no_matrices(const FactorizeRequest& request);

}  // namespace strata::inline STRATA_ABI::factorize
