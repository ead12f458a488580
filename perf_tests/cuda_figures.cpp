// What the layer costs on a GPU: bandwidth against plain kernels, launches against plain launches, reductions
// against CUB, copies against the link, and Gram-Schmidt as one graph. Wall-clock time, medians; competitors
// take turns.
#include <cstdlib>

#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cuda_runtime.h>
#include <thrust/iterator/counting_iterator.h>

#include "common/devices.hpp"
#include "common/gram_schmidt.hpp"
#include "common/hex_gradient.hpp"
#include "common/report.hpp"

namespace {

using namespace perf;
using strata::Cuda;
using strata::index_t;

void check(cudaError_t code) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(code));
  std::exit(1);
}

// ---- the kernels, by Strata and by hand

struct Triad {
  double s;
  STRATA_FUNCTION void operator()(auto i, auto a, auto b, auto c) const { a(i) = b(i) + s * c(i); }
};
struct Copy {
  STRATA_FUNCTION void operator()(auto i, auto a, auto b) const { a(i) = b(i); }
};
struct Multiply {
  STRATA_FUNCTION void operator()(auto i, auto a, auto b, double& sum) const { sum += a(i) * b(i); }
};
struct SetIndex {
  STRATA_FUNCTION void operator()(auto i, auto a) const { a(i) = static_cast<double>(i); }
};
template <int Bytes>
struct Padded {
  double pad[Bytes / 8 - 4];  // and a view of 32 bytes
  STRATA_FUNCTION void operator()(auto i, auto a) const { a(i) = pad[0]; }
};
__global__ void plain_triad(double* a, const double* b, const double* c, double s, index_t n) {
  const index_t i = blockIdx.x * index_t(blockDim.x) + threadIdx.x;
  if (i < n) a[i] = b[i] + s * c[i];
}
__global__ void plain_copy(double* a, const double* b, index_t n) {
  const index_t i = blockIdx.x * index_t(blockDim.x) + threadIdx.x;
  if (i < n) a[i] = b[i];
}
template <int Bytes>
struct Bundle {
  double pad[Bytes / 8 - 2];
  double* a;
  index_t n;
};
template <int Bytes>
__global__ void plain_padded(const __grid_constant__ Bundle<Bytes> bundle) {
  const index_t i = blockIdx.x * index_t(blockDim.x) + threadIdx.x;
  if (i < bundle.n) bundle.a[i] = bundle.pad[0];
}
struct Product {
  const double *a, *b;
  __host__ __device__ double operator()(index_t i) const { return a[i] * b[i]; }
};

using Array = strata::MDArray<double, Cuda, strata::rank<1>>;
unsigned blocks(index_t n) { return static_cast<unsigned>((n + 255) / 256); }

class Figures {
 public:
  Figures(const Options& options, Report& report)
      : options_(options),
        report_(report),
        queue_(strata::default_queue(Cuda{})),
        stream_(strata::cuda::native_stream(queue_)) {}

  void bandwidth(index_t n) {
    const auto a = strata::create<Array>("a", n), b = strata::create<Array>("b", n),
               c = strata::create<Array>("c", n);
    strata::parallel_for(n, strata::with(SetIndex{}, b));
    Race race;
    const int triad = race.add([&] {
      strata::parallel_for(n, strata::with(Triad{2}, a, b, c));
      wait();
    });
    const int by_hand = race.add([&] {
      plain_triad<<<blocks(n), 256, 0, stream_>>>(a.data(), b.data(), c.data(), 2, n);
      wait();
    });
    const int copy = race.add([&] {
      strata::parallel_for(n, strata::with(Copy{}, a, b));
      wait();
    });
    const int copy_by_hand = race.add([&] {
      plain_copy<<<blocks(n), 256, 0, stream_>>>(a.data(), b.data(), n);
      wait();
    });
    const int deep = race.add([&] { strata::deep_copy(a, b); });
    const int fill = race.add([&] { strata::deep_copy(a, 1.5); });
    const int zero = race.add([&] { strata::deep_copy(a, 0.0); });
    race.run(options_.reps_or(50));
    const double bytes = 8.0 * static_cast<double>(n);
    const double most = gigabytes_per_second(3 * bytes, race[by_hand]);
    add("triad", n, race, triad, 3 * bytes, most, race.speedup(triad, by_hand));
    add("triad, plain kernel", n, race, by_hand, 3 * bytes, most, none);
    add("copy", n, race, copy, 2 * bytes, most, race.speedup(copy, copy_by_hand));
    add("copy, plain kernel", n, race, copy_by_hand, 2 * bytes, most, none);
    add("deep_copy", n, race, deep, 2 * bytes, most, race.speedup(deep, copy_by_hand));
    add("fill with a value", n, race, fill, bytes, most, none);
    add("fill with zero", n, race, zero, bytes, most, none);
    strata::deep_copy(a, b);
    double last = 0;
    strata::deep_copy(last, strata::subview(a, n - 1));
    report_.check(last == static_cast<double>(n - 1), "copies on Cuda");
  }

  // One launch and wait, and a hundred behind each other, against the same launch by hand.
  template <int Bytes>
  void launches() {
    const index_t n = 32;
    const auto a = strata::create<Array>("a", n);
    Padded<Bytes> kernel{};
    Bundle<Bytes> bundle{};
    bundle.a = a.data();
    bundle.n = n;
    const auto by_strata = [&] { strata::parallel_for(strata::on(queue_), n, strata::with(kernel, a)); };
    const auto by_hand = [&] { plain_padded<Bytes><<<1, 32, 0, stream_>>>(bundle); };
    constexpr int many = 1000;
    Race race(20e-6);
    const int one = race.add([&] {
      by_strata();
      wait();
    });
    const int one_by_hand = race.add([&] {
      by_hand();
      wait();
    });
    const int all = race.add([&] {
      for (int k = 0; k < many; ++k) by_strata();
      wait();
    });
    const int all_by_hand = race.add([&] {
      for (int k = 0; k < many; ++k) by_hand();
      wait();
    });
    race.run(options_.reps_or(200), 10);
    const std::string size = std::to_string(Bytes) + " bytes";
    const auto microseconds = [&](const std::string& name, int k, int each, int against) {
      report_.add({name + ", " + size, "Cuda", n, "double", race[k], race[k].median * 1e6 / each, "us", none,
                   against < 0 ? none : race.speedup(k, against)});
    };
    microseconds("launch and wait", one, 1, one_by_hand);
    microseconds("launch and wait, by hand", one_by_hand, 1, -1);
    microseconds("launches back to back", all, many, all_by_hand);
    microseconds("launches back to back, by hand", all_by_hand, many, -1);
  }

  void reductions(index_t n) {
    const auto a = strata::create<Array>("a", n), b = strata::create<Array>("b", n);
    strata::parallel_for(n, strata::with(SetIndex{}, a));
    strata::deep_copy(b, 0.5);
    const auto result = strata::create<strata::Value<double, Cuda>>("result");
    double by_strata = 0, by_cub = 0;
    double* pinned = nullptr;
    check(cudaMallocHost(reinterpret_cast<void**>(&pinned), sizeof(double)));
    std::size_t bytes = 0;
    void* temporary = nullptr;
    const auto cub = [&](double* into) {
      check(cub::DeviceReduce::TransformReduce(temporary, bytes, thrust::counting_iterator<index_t>(0), into,
                                               n, cuda::std::plus<>{}, Product{a.data(), b.data()}, 0.0,
                                               stream_));
    };
    cub(pinned);
    check(cudaMalloc(&temporary, bytes));
    Race race(20e-6);
    const int to_host =
        race.add([&] { strata::parallel_reduce(n, strata::with(Multiply{}, a, b), strata::Sum(by_strata)); });
    const int to_value = race.add([&] {
      strata::parallel_reduce(n, strata::with(Multiply{}, a, b), strata::Sum(result));
      wait();
    });
    const int cub_host = race.add([&] {
      cub(pinned);
      wait();
      by_cub = *pinned;
    });
    const int cub_value = race.add([&] {
      cub(result.data());
      wait();
    });
    race.run(options_.reps_or(n > 1000000 ? 50 : 1000), 10);
    const double moved = 16.0 * static_cast<double>(n);
    const auto one = [&](const char* name, int k, int against) {
      report_.add({name, "Cuda", n, "double", race[k],
                   n > 1000000 ? gigabytes_per_second(moved, race[k]) : race[k].median * 1e6,
                   n > 1000000 ? "GB/s" : "us", none, against < 0 ? none : race.speedup(k, against)});
    };
    one("dot to the host", to_host, cub_host);
    one("dot to the host, CUB through pinned memory", cub_host, -1);
    one("dot into a Value", to_value, cub_value);
    one("dot into a Value, CUB", cub_value, -1);
    report_.check(std::abs(by_strata - by_cub) <= 1e-12 * std::abs(by_cub), "dot on Cuda");
    check(cudaFree(temporary));
    check(cudaFreeHost(pinned));
  }

  template <class T>
  void scans(index_t n, const char* type) {
    using V = strata::MDArray<T, Cuda, strata::rank<1>>;
    const auto x = strata::create<V>("x", n), y = strata::create<V>("y", n);
    strata::deep_copy(x, T(1));
    std::size_t bytes = 0;
    void* temporary = nullptr;
    check(cub::DeviceScan::InclusiveSum(nullptr, bytes, x.data(), y.data(), n, stream_));
    check(cudaMalloc(&temporary, bytes));
    Race race;
    const int scan = race.add([&] {
      strata::inclusive_scan(x, y);
      wait();
    });
    const int cub = race.add([&] {
      check(cub::DeviceScan::InclusiveSum(temporary, bytes, x.data(), y.data(), n, stream_));
      wait();
    });
    race.run(options_.reps_or(20));
    const double moved = 2.0 * sizeof(T) * static_cast<double>(n);
    report_.add({"inclusive_scan", "Cuda", n, type, race[scan], gigabytes_per_second(moved, race[scan]),
                 "GB/s", none, race.speedup(scan, cub)});
    report_.add({"inclusive_scan, CUB (floats: other bits each run)", "Cuda", n, type, race[cub],
                 gigabytes_per_second(moved, race[cub]), "GB/s", none, none});
    strata::inclusive_scan(x, y);
    T last{};
    strata::deep_copy(last, strata::subview(y, n - 1));
    report_.check(last == static_cast<T>(n), "inclusive_scan on Cuda");
    check(cudaFree(temporary));
  }

  void copies(index_t n) {
    const auto a = strata::create<Array>("a", n);
    const auto pageable = strata::create_mirror(a);
    const auto pinned =
        strata::create<strata::MDArray<double, strata::CudaPinned, strata::rank<1>>>("pinned", n);
    const index_t side = index_t{1} << 13;
    const auto left = strata::create<strata::MDArray<double, Cuda, strata::rank<2>>>("left", side, side);
    const auto right = strata::create<strata::MDArrayIn<strata::LayoutRight, double, Cuda, strata::rank<2>>>(
        "right", side, side);
    const auto host_right =
        strata::create<strata::MDArray<double, strata::Serial, strata::rank<2>>>("host", side, side);
    Race race;
    const int down = race.add([&] { strata::deep_copy(pageable, a); });
    const int up = race.add([&] { strata::deep_copy(a, pageable); });
    const int pinned_down = race.add([&] { strata::deep_copy(pinned, a); });
    const int pinned_up = race.add([&] { strata::deep_copy(a, pinned); });
    const int turned = race.add([&] { strata::deep_copy(left, right); });
    const int turned_up = race.add([&] { strata::deep_copy(left, host_right); });
    race.run(options_.reps_or(10), 20);
    const double bytes = 8.0 * static_cast<double>(n), square = 8.0 * static_cast<double>(side * side);
    add("deep_copy to pageable memory", n, race, down, bytes, none, none);
    add("deep_copy from pageable memory", n, race, up, bytes, none, none);
    add("deep_copy to pinned memory", n, race, pinned_down, bytes, none, none);
    add("deep_copy from pinned memory", n, race, pinned_up, bytes, none, none);
    add("deep_copy right to left, on the GPU", side * side, race, turned, 2 * square, none, none);
    add("deep_copy right to left, from the host", side * side, race, turned_up, square, none, none);
  }

  void allocations() {
    Race race(20e-6);
    for (const index_t n : {index_t{128}, index_t{131072}, index_t{1} << 27}) {
      const int k = race.add([n] { const auto x = strata::create<Array>("x", n, strata::uninitialized); });
      allocated_.push_back({k, n});
    }
    race.run(options_.reps_or(200));
    for (const auto& [k, n] : allocated_)
      report_.add({"allocate and free, " + std::to_string(8 * n) + " bytes", "Cuda", n, "double", race[k],
                   race[k].median * 1e6, "us", none, none});
  }

  void gram_schmidt(index_t n) {
    constexpr int vectors = 16;
    const GramSchmidt<double, Cuda> problem(n, vectors);
    problem.launch();
    report_.check(problem.correct(), "Gram-Schmidt on Cuda");
    const auto graph = strata::record(queue_, [&] { problem.launch(); });
    Race race;
    const int plain = race.add([&] {
      problem.launch();
      wait();
    });
    const int recorded = race.add([&] {
      graph.launch(queue_);
      wait();
    });
    race.run(options_.reps_or(50), 10);
    const double bytes = gram_schmidt_bytes<double, Cuda>(n, vectors);
    const auto one = [&](const std::string& name, int k) {
      report_.add({name, "Cuda", n, "double", race[k],
                   n > 100000 ? gigabytes_per_second(bytes, race[k]) : race[k].median * 1e6,
                   n > 100000 ? "GB/s" : "us", none, none});
    };
    one("Gram-Schmidt, 16 vectors, " + std::to_string(graph.size()) + " launches", plain);
    one("Gram-Schmidt, 16 vectors, one graph", recorded);
    const GramSchmidt<double, Cuda> fresh(n, vectors);
    strata::record(queue_, [&] { fresh.launch(); }).launch(queue_);
    wait();
    report_.check(fresh.correct(), "Gram-Schmidt as a graph");
  }

  template <class T, class Layout>
  void hex(const char* name, const char* type, index_t n) {
    const HexArrays<T, Cuda, Layout> arrays(n);
    Race race;
    const int k = race.add([&] {
      arrays.launch();
      wait();
    });
    race.run(options_.reps_or(50), 5);
    const double bytes = hex_bytes<T> * static_cast<double>(n);
    report_.add({std::string("hexahedral gradient, ") + name, "Cuda", n, type, race[k],
                 gigabytes_per_second(bytes, race[k]), "GB/s", none, none});
    report_.check(arrays.correct(), "the hexahedral gradient on Cuda");
  }

 private:
  void wait() const { strata::wait(Cuda{}); }
  void add(const char* name, index_t n, const Race& race, int k, double bytes, double ceiling, double ratio) {
    report_.add(
        {name, "Cuda", n, "double", race[k], gigabytes_per_second(bytes, race[k]), "GB/s", ceiling, ratio});
  }

  struct Allocated {
    int k;
    index_t n;
  };
  const Options& options_;
  Report& report_;
  const strata::Queue<Cuda> queue_;
  const cudaStream_t stream_;
  std::vector<Allocated> allocated_;
};

}  // namespace

int main(int argc, char** argv) {
  const Options options =
      parse_options(argc, argv, "The layer on a GPU against plain CUDA, CUB and the hardware.");
  if (Cuda::count() == 0) {
    std::puts("there is no GPU");
    return 77;
  }
  Report report("cuda_figures",
                "the plain CUDA kernel, launch or CUB call of the same work in the same race");
  Figures figures(options, report);
  figures.bandwidth(index_t{1} << 27);
  figures.launches<40>();
  figures.launches<3000>();
  figures.reductions(10000);
  figures.reductions(100000000);
  figures.scans<double>(index_t{1} << 27, "double");
  figures.scans<std::int64_t>(index_t{1} << 27, "int64");
  figures.copies(index_t{1} << 27);
  figures.allocations();
  for (const index_t n : {1000, 10000, 100000, 1000000, 10000000}) figures.gram_schmidt(n);
  for (const index_t n : {1000000, 4000000}) {
    figures.hex<double, strata::LayoutLeft>("left", "double", n);
    figures.hex<double, strata::LayoutTiled<8>>("tiled 8", "double", n);
    figures.hex<double, strata::LayoutTiled<16>>("tiled 16", "double", n);
    figures.hex<double, strata::LayoutTiled<32>>("tiled 32", "double", n);
    figures.hex<float, strata::LayoutLeft>("left", "float", n);
    figures.hex<float, strata::LayoutTiled<16>>("tiled 16", "float", n);
  }
  return report.finish(options);
}
