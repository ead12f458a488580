// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <string>
#include <thread>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <strata/core/error.hpp>
#include <strata/core/runtime.hpp>
#include <strata/devices/cuda/failure.hpp>
#include <strata/devices/cuda/graph.hpp>
#include <strata/devices/cuda/launch/launch.hpp>
#include <strata/devices/cuda/queue.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

using LaunchKernel = CUresult (*)(const CUlaunchConfig*, CUfunction, void**, void**);

// The driver's own launch, found through the runtime: programs need not link libcuda, and still start, on
// machines without a GPU.
LaunchKernel driver_launch() {
  static const LaunchKernel launch = [] {
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult found{};
    if (cudaGetDriverEntryPointByVersion("cuLaunchKernelEx", &entry, 12000, cudaEnableDefault, &found) !=
            cudaSuccess ||
        found != cudaDriverEntryPointSuccess)
      throw KernelError("the CUDA driver has no cuLaunchKernelEx; install a driver of CUDA 12 or later");
    return reinterpret_cast<LaunchKernel>(entry);
  }();
  return launch;
}

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

CudaQueue& cuda_queue_for(const LaunchInfo& info, bool waits) {
  require_running("a kernel launch");
  const Capture& views = *info.views;
  int instance = views.instance >= 0          ? views.instance
                 : views.shared_instance >= 0 ? views.shared_instance
                                              : 0;
  if (info.queue != nullptr) instance = info.queue->instance().index();
  else if (info.instance >= 0) instance = info.instance;
  if (views.instance >= 0 && views.instance != instance)
    fail_wrong_space(info, "Cuda", instance, *views.first);
  if (views.wrong != nullptr) fail_wrong_space(info, "Cuda", instance, *views.wrong);
  CudaQueue& queue =
      info.queue != nullptr ? static_cast<CudaQueue&>(*info.queue) : CudaInstance::get(instance).queue();
  if (current_recording != nullptr) [[unlikely]]
    check_recordable((std::string("kernel ") + info.name()).c_str(), queue, waits);
  return queue;
}

int cuda_multiprocessors(const CudaQueue& queue) { return queue.gpu().multiprocessors(); }

const CudaKernel::OnDevice& cuda_kernel_on(CudaQueue& queue, CudaKernel& kernel) {
  CudaKernel::OnDevice& entry = kernel.on[queue.device()];
  if (__atomic_load_n(&entry.handle, __ATOMIC_ACQUIRE) != nullptr) return entry;

  const int device = queue.device();
  const CudaDeviceScope scope(device);
  cudaFuncAttributes attributes{};
  check_cuda(cudaFuncGetAttributes(&attributes, kernel.function),
             "loading a kernel (was the program compiled for this GPU's architecture?)", device);
  CudaKernel::OnDevice found{};
  found.most_threads = attributes.maxThreadsPerBlock;
  // What device code sees as __CUDA_ARCH__, also where the driver compiles it for a newer GPU.
  found.waits_itself = attributes.ptxVersion >= 90;
  found.registers = attributes.numRegs;
  found.local_bytes = static_cast<int>(attributes.localSizeBytes);
  int most = 0;
  for (const int block : {256, 128, 64, 512, 1024}) {
    if (block > found.most_threads) continue;
    int resident = 0;
    check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel.function, block, 0),
               "asking for the occupancy of a kernel", device);
    if (resident * block <= most) continue;
    most = resident * block;
    found.block = block;
    found.resident_blocks = resident * queue.gpu().multiprocessors();
  }
  if (found.block == 0) {
    found.block = found.most_threads;
    check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&most, kernel.function, found.block, 0),
               "asking for the occupancy of a kernel", device);
    found.resident_blocks = std::max(most, 1) * queue.gpu().multiprocessors();
  }
  // Of this GPU: of a cudaKernel_t the driver finds it with each launch, in 0.05 to 0.15 us.
  cudaFunction_t handle = nullptr;
  check_cuda(cudaGetFuncBySymbol(&handle, kernel.function), "loading a kernel", device);
  entry.most_threads = found.most_threads;
  entry.block = found.block;
  entry.waits_itself = found.waits_itself;
  entry.registers = found.registers;
  entry.local_bytes = found.local_bytes;
  entry.resident_blocks = found.resident_blocks;
  __atomic_store_n(&entry.handle, static_cast<void*>(handle), __ATOMIC_RELEASE);
  return entry;
}

namespace {

// What keeps the blocks of a multiprocessor to `percent` of its threads.
unsigned ask_shared_for_occupancy(int device, const CudaKernel& kernel, int threads, int percent) {
  const char* const asking = "asking for the occupancy of a kernel";
  const CudaDeviceScope scope(device);
  int most_threads = 0, most_shared = 0, resident = 0;
  check_cuda(cudaDeviceGetAttribute(&most_threads, cudaDevAttrMaxThreadsPerMultiProcessor, device), asking,
             device);
  check_cuda(cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), asking,
             device);
  check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel.function, threads, 0), asking,
             device);
  const int wanted = std::max((most_threads * percent + 50 * threads) / (100 * threads), 1);
  if (resident <= wanted) return 0;

  // More than fits once more: the least, as shared memory is taken from the cache.
  cudaFuncAttributes attributes{};
  check_cuda(cudaFuncGetAttributes(&attributes, kernel.function), asking, device);
  most_shared -= static_cast<int>(attributes.sharedSizeBytes);
  check_cuda(cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize, most_shared),
             "asking for shared memory", device);
  std::size_t enough = 0;
  check_cuda(cudaOccupancyAvailableDynamicSMemPerBlock(&enough, kernel.function, wanted + 1, threads), asking,
             device);
  constexpr int unit = 128;  // in which multiprocessors hand it out
  int bytes = (static_cast<int>(enough) / unit + 1) * unit;
  for (; bytes < most_shared; bytes += unit) {
    check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel.function, threads,
                                                             static_cast<std::size_t>(bytes)),
               asking, device);
    if (resident <= wanted) break;
  }
  return static_cast<unsigned>(std::min(bytes, most_shared));
}

}  // namespace

unsigned cuda_shared_for_occupancy(CudaQueue& queue, CudaKernel& kernel, const CudaGrid& grid, int percent) {
  const unsigned threads = grid.block[0] * grid.block[1] * grid.block[2];
  const std::uint64_t question = (std::uint64_t{threads} << 8 | static_cast<unsigned>(percent)) << 32;
  std::uint64_t& known = kernel.on[queue.device()].shared_for_occupancy;
  const std::uint64_t answer = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (answer >> 32 == question >> 32) return static_cast<unsigned>(answer);
  const unsigned bytes = ask_shared_for_occupancy(queue.device(), kernel, static_cast<int>(threads), percent);
  __atomic_store_n(&known, question | bytes, __ATOMIC_RELAXED);
  return bytes;
}

void cuda_allow_shared(CudaQueue& queue, CudaKernel& kernel, unsigned bytes) {
  constexpr unsigned always_allowed = 32 << 10;
  if (bytes <= always_allowed) return;
  bool& allowed = kernel.on[queue.device()].large_shared;
  if (__atomic_load_n(&allowed, __ATOMIC_ACQUIRE)) return;
  const CudaDeviceScope scope(queue.device());
  check_cuda(cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(bytes)),
             "asking for shared memory", queue.device());
  __atomic_store_n(&allowed, true, __ATOMIC_RELEASE);
}

CudaLaunch::CudaLaunch(CudaQueue& queue, EventKind kind, const LaunchInfo& info, index_t items)
    : queue_(queue), info_(info), scope_(kind, info, "Cuda", queue.device(), queue.id(), items) {
  queue_.mutex.lock();
  number_ = queue_.note_kernel(info.label, info.kernel_type, info.tag_type);
}

CudaLaunch::~CudaLaunch() {
  for (void* const memory : placed_)
    if (memory != nullptr) queue_.gpu().release(CudaMemoryKind::Device, memory);
  if (stream_used_) queue_.submitted();
  if (locked_) {
    queue_.drop_large_scratch();
    queue_.mutex.unlock();
  }
}

CudaCheck CudaLaunch::check() const {
#if defined(STRATA_CHECKED) && STRATA_CHECKED
  return {false, queue_.check_record(), number_};
#else
  return {};
#endif
}

CudaScratch CudaLaunch::scratch(std::size_t bytes, std::size_t slots) const {
  return queue_.scratch(bytes, slots);
}
void CudaLaunch::clear(void* memory, std::size_t bytes) const {
  check(cudaMemsetAsync(memory, 0, bytes, queue_.stream()), "clearing its scratch memory");
  queue_.submitted();
}
CudaHostSlot CudaLaunch::host_slot(std::size_t bytes) const { return queue_.host_slot(bytes); }
CUstream_st* CudaLaunch::stream() const {
  stream_used_ = true;
  return queue_.stream();
}

void CudaLaunch::check(int code, const char* tried) const {
  if (code == cudaSuccess) return;
  const std::string what = std::string("kernel ") + info_.name() + ": " + tried;
  fail_cuda(static_cast<cudaError_t>(code), what, queue_.device());
}

const void* CudaLaunch::place(const void* parameters, std::size_t bytes) {
  if (queue_.recording != nullptr) return queue_.recording->place(parameters, bytes);
  void*& memory = placed_[0] == nullptr ? placed_[0] : placed_[1];
  memory = queue_.gpu().allocate(CudaMemoryKind::Device, bytes);
  if (memory == nullptr)
    throw OutOfMemory(std::string("the kernel ") + info_.name() + " needs " + std::to_string(bytes) +
                      " bytes for its parameters on Cuda{" + std::to_string(queue_.device()) + "}");
  // From pageable memory: CUDA has its own copy when the call returns.
  check(cudaMemcpyAsync(memory, parameters, bytes, cudaMemcpyHostToDevice, queue_.stream()),
        "its parameters");
  queue_.submitted();
  return memory;
}

void CudaLaunch::run(CudaKernel& kernel, const CudaGrid& grid, const void* parameters, bool ahead,
                     const ArrayAddresses* arrays) const {
  const CudaKernel::OnDevice& entry = cuda_kernel_on(queue_, kernel);
  // The driver takes as many as the kernel has.
  void* arguments[1 + ArrayAddresses::most] = {const_cast<void*>(parameters)};
  for (int k = 0; arrays != nullptr && k < ArrayAddresses::most; ++k)
    arguments[1 + k] = const_cast<void**>(&arrays->at[k]);
  CUlaunchAttribute attributes[2];  // unset: most launches have none
  unsigned count = 0;
  if (ahead) {
    attributes[count] = {};
    attributes[count].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attributes[count++].value.programmaticStreamSerializationAllowed = 1;
  }
  if (grid.cluster > 1) {
    attributes[count] = {};
    attributes[count].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attributes[count++].value.clusterDim = {grid.cluster, 1, 1};
  }
  const CUlaunchConfig config{grid.grid[0],  grid.grid[1],      grid.grid[2],    grid.block[0], grid.block[1],
                              grid.block[2], grid.shared_bytes, queue_.stream(), attributes,    count};
  const CUresult result = driver_launch()(&config, static_cast<CUfunction>(entry.handle), arguments, nullptr);
  queue_.kernel_submitted();
  // The codes of driver and runtime are the same numbers.
  if (result != CUDA_SUCCESS) [[unlikely]]
    fail_launch(static_cast<int>(result), grid);
}

// Short kernels behind a kernel gain from being launched ahead, as their blocks come when the last ones of
// the kernel before are under way: on an H200 0.3 to 0.4 us of 3 to 120 us for light ones of one wave to
// fifteen, 1 us and more for those of long blocks, of which a multiprocessor holds few warps (trials in plain
// CUDA). A first one would lose 0.35 us, and one behind anything else gains nothing; of very many waves it is
// nothing. Blocks that all fit at a time should be spread evenly over multiprocessors: ahead they come where
// room is. Heavy kernels, of more than 128 registers a thread, lose more by that than they gain: 333 blocks
// of 32 threads took 8.4 us so, and 6.6 else; lighter ones of as many blocks gained 0.3 us. Of a reduction
// that writes what nearly fills the second cache, the next one's first blocks would drop from it what the
// last blocks of this one read: on an H200 updates of 52 MB took 1.28 times as long so, of 26 MB 0.97 times.
bool CudaLaunch::goes_ahead(CudaKernel& kernel, const CudaGrid& grid, std::size_t updated_bytes) const {
  const CudaKernel::OnDevice& entry = cuda_kernel_on(queue_, kernel);
  if (!entry.waits_itself || queue_.known_idle()) return false;
  if (queue_.recording == nullptr && !queue_.ends_with_kernel()) return false;
  if (updated_bytes > queue_.gpu().cache_bytes() / 4 * 3) return false;
  const std::uint64_t blocks = std::uint64_t{grid.grid[0]} * grid.grid[1] * grid.grid[2];
  const std::uint64_t threads = blocks * grid.block[0] * grid.block[1] * grid.block[2];
  const std::uint64_t resident_threads =
      static_cast<std::uint64_t>(entry.resident_blocks) * static_cast<std::uint64_t>(entry.block);
  constexpr std::uint64_t most_waves = 64, heavy = 512;  // fewer threads of a multiprocessor
  if (threads <= resident_threads)
    return resident_threads >= heavy * static_cast<std::uint64_t>(queue_.gpu().multiprocessors());
  return threads <= most_waves * resident_threads;
}

void CudaLaunch::fail_launch(int code, const CudaGrid& grid) const {
  const auto shape = [](const unsigned(&n)[3]) {
    return std::to_string(n[0]) + " x " + std::to_string(n[1]) + " x " + std::to_string(n[2]);
  };
  fail_cuda(static_cast<cudaError_t>(code),
            std::string("launching kernel ") + info_.name() + " with " + shape(grid.grid) + " blocks of " +
                shape(grid.block) + " threads and " + std::to_string(grid.shared_bytes) +
                " bytes of shared memory",
            queue_.device());
}

void CudaLaunch::fetch(void* host, const void* device, std::size_t bytes) const {
  check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, queue_.stream()), "reading its result");
  queue_.submitted();
  check(cudaStreamSynchronize(queue_.stream()), "waiting for its result");
  queue_.throw_bad_access(true);
}

void CudaLaunch::wait_for_value(const CudaHostSlot& slot, void* value, std::size_t bytes, bool writes) {
  // Others may launch meanwhile. Arrays of the host's memory it may read at once.
  Ref<EventState> end;
  if (writes && info_.views->shared_instance >= 0) end = queue_.record();
  submitted_ = queue_.submissions();
  queue_.mutex.unlock();
  locked_ = false;
  const auto give_back = [&] {
    const std::lock_guard lock(queue_.mutex);
    queue_.give_back(slot);
  };
  const std::size_t words = host_slot_words(bytes);
  const auto handed_over = [&] {
    for (std::size_t w = 0; w < words; ++w)
      if (slot.words[w] >> 32 != slot.ticket) return false;
    return true;
  };
  for (int spins = 0; !handed_over(); ++spins) {
    pause_briefly();
    if (spins % 4096 != 4095) continue;
    const cudaError_t state = cudaStreamQuery(queue_.stream());
    if (state == cudaErrorNotReady) {
      std::this_thread::yield();
      continue;
    }
    if (state == cudaSuccess && handed_over()) break;
    give_back();
    queue_.wait();  // throws what went wrong
    throw KernelError(std::string("kernel ") + info_.name() + " on Cuda{" + std::to_string(queue_.device()) +
                      "} ended without a result");
  }
  for (std::size_t w = 0; w < words; ++w) {
    const auto part = static_cast<std::uint32_t>(slot.words[w]);
    std::memcpy(static_cast<char*>(value) + 4 * w, &part, std::min<std::size_t>(4, bytes - 4 * w));
  }
  give_back();
  queue_.retired(submitted_);
  if (end) end->wait();
  queue_.throw_bad_access_found(true);
}

}  // namespace strata::inline STRATA_ABI::detail
