// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include <strata/devices/cuda/failure.hpp>
#include <strata/devices/cuda/memory/virtual_memory.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

// Few pieces for large arrays: each costs a call of the driver that takes as long as a kernel or longer.
constexpr std::size_t least_granule = std::size_t{2} << 20, most_granule = std::size_t{64} << 20;
constexpr std::size_t granules_aimed_at = 256;

struct Driver {
  PFN_cuDeviceGetAttribute_v2000 attribute = nullptr;
  PFN_cuMemGetAllocationGranularity_v10020 granularity = nullptr;
  PFN_cuMemAddressReserve_v10020 reserve = nullptr;
  PFN_cuMemAddressFree_v10020 free = nullptr;
  PFN_cuMemCreate_v10020 create = nullptr;
  PFN_cuMemRelease_v10020 release = nullptr;
  PFN_cuMemMap_v10020 map = nullptr;
  PFN_cuMemUnmap_v10020 unmap = nullptr;
  PFN_cuMemSetAccess_v10020 set_access = nullptr;
  bool complete = false;
};

template <class Function>
bool find(Function& function, const char* name, [[maybe_unused]] unsigned version) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 12050
  const cudaError_t code =
      cudaGetDriverEntryPointByVersion(name, &address, version, cudaEnableDefault, &result);
#else
  const cudaError_t code = cudaGetDriverEntryPoint(name, &address, cudaEnableDefault, &result);
#endif
  if (code != cudaSuccess) static_cast<void>(cudaGetLastError());
  function = reinterpret_cast<Function>(address);
  return code == cudaSuccess && result == cudaDriverEntryPointSuccess && function != nullptr;
}

const Driver& driver() {
  static const Driver found = [] {
    Driver d;
    d.complete = find(d.attribute, "cuDeviceGetAttribute", 2000) &&
                 find(d.granularity, "cuMemGetAllocationGranularity", 10020) &&
                 find(d.reserve, "cuMemAddressReserve", 10020) && find(d.free, "cuMemAddressFree", 10020) &&
                 find(d.create, "cuMemCreate", 10020) && find(d.release, "cuMemRelease", 10020) &&
                 find(d.map, "cuMemMap", 10020) && find(d.unmap, "cuMemUnmap", 10020) &&
                 find(d.set_access, "cuMemSetAccess", 10020);
    return d;
  }();
  return found;
}

CUmemAllocationProp memory_of(int device) {
  CUmemAllocationProp memory{};
  memory.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  memory.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  return memory;
}

CUdeviceptr address_of(const void* data) { return reinterpret_cast<CUdeviceptr>(data); }

std::size_t round_up(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

CUresult open(const std::vector<int>& devices, const void* data, std::size_t bytes) {
  std::vector<CUmemAccessDesc> access;
  for (const int device : devices)
    access.push_back({{CU_MEM_LOCATION_TYPE_DEVICE, device}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
  return driver().set_access(address_of(data), bytes, access.data(), access.size());
}

// The unit of mappings of the driver; 0: the GPU, or its driver, cannot do it.
std::size_t unit_of(int device) {
  const Driver& cuda = driver();
  int supported = 0;
  if (!cuda.complete ||
      cuda.attribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device) !=
          CUDA_SUCCESS ||
      supported == 0)
    return 0;
  const CUmemAllocationProp memory = memory_of(device);
  std::size_t unit = 0;
  if (cuda.granularity(&unit, &memory, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) != CUDA_SUCCESS) return 0;
  return unit;
}

}  // namespace

std::unique_ptr<CudaReservation> CudaReservation::make(int device, std::size_t bytes) {
  const CudaDeviceScope scope(device);  // starts CUDA on it
  const Driver& cuda = driver();
  const std::size_t unit = unit_of(device);
  if (unit == 0) return nullptr;
  const std::size_t rounded = round_up(std::max<std::size_t>(bytes, 1), unit);
  if (rounded < bytes) return nullptr;
  CUdeviceptr address = 0;
  if (cuda.reserve(&address, rounded, unit, 0, 0) != CUDA_SUCCESS) return nullptr;
  const std::size_t granule =
      round_up(std::clamp(rounded / granules_aimed_at, least_granule, most_granule), unit);
  try {
    return std::unique_ptr<CudaReservation>(
        new CudaReservation(device, reinterpret_cast<void*>(address), rounded, granule));
  } catch (...) {
    cuda.free(address, rounded);
    throw;
  }
}

CudaReservation::CudaReservation(int device, void* data, std::size_t bytes, std::size_t granule)
    : device_(device),
      data_(static_cast<char*>(data)),
      bytes_(bytes),
      granule_(granule),
      has_memory_((bytes + granule - 1) / granule, false),
      open_to_{device} {}

CudaReservation::~CudaReservation() {
  while (!pieces_.empty()) drop_piece();
  driver().free(address_of(data_), bytes_);
}

// Of granules [first, last).
std::size_t CudaReservation::bytes_between(std::size_t first, std::size_t last) const {
  return std::min(last * granule_, bytes_) - first * granule_;
}

// Calls visit(first, last) for each run of granules of [begin, end) without memory, until one returns false.
template <class Visit>
bool CudaReservation::each_missing_run(std::size_t begin, std::size_t end, const Visit& visit) const {
  if (begin >= end) return true;
  const std::size_t past_last = (end - 1) / granule_ + 1;
  for (std::size_t first = begin / granule_; first < past_last;) {
    std::size_t last = first;
    while (last < past_last && !has_memory_[last]) ++last;
    if (last > first && !visit(first, last)) return false;
    first = last + 1;  // one that has memory, or the end
  }
  return true;
}

std::size_t CudaReservation::missing(std::size_t begin, std::size_t end) const {
  std::size_t bytes = 0;
  each_missing_run(begin, end, [&](std::size_t first, std::size_t last) {
    bytes += bytes_between(first, last);
    return true;
  });
  return bytes;
}

bool CudaReservation::commit(std::size_t begin, std::size_t end) {
  const CudaDeviceScope scope(device_);
  const std::size_t before = pieces_.size();
  if (each_missing_run(begin, end,
                       [&](std::size_t first, std::size_t last) { return add_piece(first, last); })) {
    for (std::size_t k = before; k < pieces_.size(); ++k) {
      const std::size_t first = pieces_[k].begin / granule_;
      const std::size_t count = (pieces_[k].bytes + granule_ - 1) / granule_;
      std::fill_n(has_memory_.begin() + static_cast<std::ptrdiff_t>(first), count, true);
      committed_ += pieces_[k].bytes;
    }
    return true;
  }
  while (pieces_.size() > before) drop_piece();
  return false;
}

std::size_t CudaReservation::repeat_granule(int device) {
  const CudaDeviceScope scope(device);
  const std::size_t unit = unit_of(device);
  return unit == 0 ? 0 : round_up(least_granule, unit);
}

bool CudaReservation::commit_repeating(std::size_t period) {
  if (!pieces_.empty()) return false;
  const CudaDeviceScope scope(device_);
  const CUmemAllocationProp memory = memory_of(device_);
  pieces_.reserve((bytes_ + period - 1) / period);  // so that nothing is lost below
  CUmemGenericAllocationHandle handle = 0;
  if (driver().create(&handle, period, &memory, 0) != CUDA_SUCCESS) return false;
  bool mapped = true;
  for (std::size_t begin = 0; begin < bytes_ && mapped; begin += period)
    mapped = map_piece(handle, begin, std::min(period, bytes_ - begin));
  driver().release(handle);  // the mappings keep the memory
  if (!mapped) {
    while (!pieces_.empty()) drop_piece();
    return false;
  }
  has_memory_.assign(has_memory_.size(), true);
  committed_ = period;
  return true;
}

bool CudaReservation::add_piece(std::size_t first, std::size_t last) {
  const std::size_t begin = first * granule_, bytes = bytes_between(first, last);
  const CUmemAllocationProp memory = memory_of(device_);
  pieces_.reserve(pieces_.size() + 1);  // so that nothing is lost below
  CUmemGenericAllocationHandle handle = 0;
  if (driver().create(&handle, bytes, &memory, 0) != CUDA_SUCCESS) return false;
  const bool mapped = map_piece(handle, begin, bytes);
  driver().release(handle);
  return mapped;
}

// There is room for a piece. False also where it is mapped, and cannot be reached: the caller drops the
// pieces that it added.
bool CudaReservation::map_piece(unsigned long long handle, std::size_t begin, std::size_t bytes) {
  if (driver().map(address_of(data_ + begin), bytes, 0, handle, 0) != CUDA_SUCCESS) return false;
  pieces_.push_back({begin, bytes});
  return open(open_to_, data_ + begin, bytes) == CUDA_SUCCESS;
}

void CudaReservation::drop_piece() {
  driver().unmap(address_of(data_ + pieces_.back().begin), pieces_.back().bytes);
  pieces_.pop_back();
}

void CudaReservation::open_to(int other) {
  if (std::find(open_to_.begin(), open_to_.end(), other) != open_to_.end()) return;
  const CudaDeviceScope scope(device_);
  for (const Piece& piece : pieces_)
    check_cuda(static_cast<cudaError_t>(open({other}, data_ + piece.begin, piece.bytes)),
               "opening reserved memory to another GPU", device_);
  open_to_.push_back(other);
}

}  // namespace strata::inline STRATA_ABI::detail
