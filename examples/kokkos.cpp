// What docs/kokkos.md shows of Strata beside Kokkos. Each region between //! [name] marks is there; main runs
// and checks them all.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <strata/sorting.hpp>
#include <strata/strata.hpp>

using namespace strata;

namespace {

using Device = Threads;
using Vector = MDArray<double, Device, rank<1>>;

void check(bool good) {
  if (good) return;
  std::puts("kokkos: a result is wrong");
  std::exit(1);
}

struct Scale {
  double factor;
  STRATA_FUNCTION void operator()(auto i, auto x) const { x(i) *= factor; }
};

// clang-format off
//! [views]
void views(std::vector<double>& memory) {
  using Matrix = MDArray<double, Device, rank<2>>;                   // View<double**>
  using Columns = MDArray<double, Device, 3>;                        // View<double*[3]>
  using Left = MDArrayIn<LayoutLeft, double, Device, rank<2>>;       // View<double**, LayoutLeft>

  auto a = create<Matrix>("a", 100, 3, uninitialized);               // view_alloc("a", WithoutInitializing)
  auto left = create<Left>("left", 100, 3);
  deep_copy(a, 1.0);
  const Columns same = create<Columns>("columns", 100);
  deep_copy(same, a);
  deep_copy(left, same);                                               // any two layouts, strides and memories
  const auto half = create<MDArray<float, Device, 3>>("half", 100);
  deep_copy(half, same);                                             // and types of numbers
  Vector borrowed(memory.data(), memory.size());                     // View<double*, Unmanaged>(pointer, n)
  auto host = create_mirror_view(a);                                 // the same three mirrors
  const auto row = subview(a, 7, everything);                        // subview(a, 7, ALL)
  resize(a, 200, 3);

  using FromMinusOne = MDArrayIn<LayoutOffset<LayoutRight>, double, Device, rank<1>>;    // OffsetView
  const index_t begin[] = {-1};
  auto halo = create<FromMinusOne>("halo", FromMinusOne::mapping_type(RankExtents<1>(12), begin));
  halo(-1) = row(2);
  const MDArray<double, Device> any = a;                             // DynRankView<double>
  check(half(5, 2) == 1 && Matrix(any).extent(1) == 3);
  check(left(99, 2) == 1 && borrowed.size() == 10 && a.extent(0) == 200 && halo(-1) == 1 && host(0, 0) == 1);
}
//! [views]

//! [policies]
struct First {};                                                     // a tag
struct Stages {
  STRATA_FUNCTION void operator()(First, auto i, auto x) const { x(i) += 1; }
};

void policies(const Vector& x) {
  parallel_for(tagged<First>(range(1, 99)), with(Stages{}, x));      // RangePolicy<First>(1, 99)
  parallel_for(on(Device{}), range(0, 100).dynamic(16),              // RangePolicy<Schedule<Dynamic>>(0, 100), ChunkSize(16)
               [=](auto i) { x(i) += 1; });
  parallel_for(on(Device{}), mdrange({0, 0}, {10, 10}, {5, 10}),     // MDRangePolicy<Rank<2>>({0, 0}, {10, 10}, {5, 10})
               [=](auto i, auto j) { x(i * 10 + j) += 1; });
  parallel_for(launch_bounds<256, 4>(100), with(Scale{2}, x));       // RangePolicy<LaunchBounds<256, 4>>(0, 100)
}
//! [policies]

//! [reducers]
void reducers(const Vector& x) {
  double sum = 0, least = 0;
  ValueLocation<double> most;                                        // MaxLoc<double, int>::value_type
  parallel_reduce("figures", 100, with([](auto i, auto v, double& s, double& low, ValueLocation<double>& high) {
                    s += v(i);
                    if (v(i) < low) low = v(i);
                    if (v(i) > high.value) high = {v(i), i};
                  }, x), Sum(sum), Min(least), MaxLoc(most));        // any number of results in one pass

  auto on_device = create_value<Value<double, Device>>();            // View<double>: the launch does not wait
  parallel_reduce(on(Device{}), 100, [=](auto i, double& s) { s += x(i); }, Sum(on_device));
  double read = 0;
  deep_copy(read, on_device);
  check(read == sum && least <= sum && most.location >= 0);
}
//! [reducers]

//! [scratch]
struct RowSums {                                                     // through scratch memory of the team
  STRATA_FUNCTION void operator()(const auto& member, auto a, auto sums) const {
    const index_t i = member.league_rank(), n = a.extent(1);
    const auto row = scratch_view<double>(member, 0, n);             // View<..., scratch_memory_space>(member.team_scratch(0), n)
    parallel_for(team_vector_range(member, n), [&](index_t j) { row(j) = a(i, j); });
    member.barrier();                                                // member.team_barrier()
    double sum = 0;
    parallel_reduce(team_range(member, n), [&](index_t j, double& s) { s += row(j); }, sum);
    single(per_team(member), [&] { sums(i) = sum; });                // single(PerTeam(member), ...)
  }
};

void scratch(const Vector& sums) {
  auto a = create<MDArray<double, Device, rank<2>>>("a", 100, 50);
  deep_copy(a, 2.0);
  parallel_for(teams(100).scratch(0, scratch_bytes<double>(50)),     // TeamPolicy<>(100, AUTO).set_scratch_size(0, PerTeam(...))
               with(RowSums{}, a, sums));
  check(sums(99) == 100);
}
//! [scratch]

//! [contributions]
struct Histogram {
  decltype(scatter_view(Vector())) bins;                             // ScatterView<double*>
  STRATA_FUNCTION void operator()(auto i) const { bins(index_t(i) % 10) += 1; }   // no access() in between
};

void contributions() {
  auto bins = create<Vector>("bins", 10);
  const auto scattered = scatter_view(bins);                         // create_scatter_view(bins)
  parallel_for(on(Device{}), 1000, Histogram{scattered});
  contribute(scattered);                                             // contribute(bins, scattered)
  parallel_for(on(Device{}), 1000, [=](auto i) { atomic_fetch_add(&bins(index_t(i) % 10), 1.0); });
  parallel_for(on(Device{}), 1000, [b = atomic(bins)](auto i) { b(index_t(i) % 10) += 1; });   // MemoryTraits<Atomic>
  check(bins(3) == 300);
}
//! [contributions]

//! [containers]
struct Count {
  HashMap<index_t, int, Device> map;                                 // UnorderedMap<index_t, int, Device>
  STRATA_FUNCTION void operator()(auto i) const {
    const InsertResult at = map.insert(index_t(i) % 7);
    if (!at.full()) atomic_fetch_add(&map.value(at.slot), 1);        // value_at(result.index())
  }
};

void containers(const Vector& x) {
  const auto map = create<HashMap<index_t, int, Device>>("map", 20);
  parallel_for(on(Device{}), 700, Count{map});
  check(map.size() == 7 && map.value(map.find(3)) == 100);

  parallel_for(on(Device{}), 100, [=](auto i) {                      // no pool, no state: seed, index and number of the draw
    x(i) = random(42, index_t(i)).uniform(0.0, 1.0);
  });
  sort(x);                                                           // Kokkos::sort(x)
  check(x(0) <= x(50) && x(50) <= x(99) && x(99) < 1);
}
//! [containers]

//! [instances]
void instances(const Vector& x, const Vector& y) {
  const Queue<Device> first, second;                                 // partition_space(Device(), 1, 1)
  const Region region("two queues");                                 // Profiling::ScopedRegion
  parallel_for("x", on(first), 100, with(Scale{3}, x));              // RangePolicy<>(first, 0, 100)
  parallel_for("y", on(second), 100, with(Scale{3}, y));
  second.wait_for(first.record());                                   // an event: the host does not wait
  deep_copy(second, y, x);                                           // deep_copy(second, y, x)
  second.wait();                                                     // second.fence()
  wait(Device{});                                                    // Device().fence(): all queues of the device
  check(y(5) == x(5));
}
//! [instances]
// clang-format on

void all_of_them() {
  std::vector<double> memory(10, 1.0);
  const auto x = create<Vector>("x", 100), y = create<Vector>("y", 100);
  views(memory);
  policies(x);
  reducers(x);
  scratch(y);
  contributions();
  containers(x);
  instances(x, y);
  std::puts("kokkos: all results are right");
}

}  // namespace

int main(int argc, char** argv) { return main_guard(argc, argv, all_of_them); }
