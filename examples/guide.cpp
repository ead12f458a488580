// The programs of docs/guide.md. Each region between //! [name] marks is shown there; main runs and checks
// them all.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <strata/linear.hpp>
#include <strata/sorting.hpp>
#include <strata/strata.hpp>

using namespace strata;

namespace {

void check(bool good) {
  if (good) return;
  std::puts("guide: a result is wrong");
  std::exit(1);
}

// clang-format off
//! [views]
template <class Device>
void views() {
  using Field = MDArray<double, Device, rank<2>>;           // fixed rank, extents at run time
  Field x = create<Field>("x", 1000, 3);                    // zero-filled, in the device's memory
  Field same = x;                                           // another view of the same elements

  typename Field::HostMirror host = create_mirror(x);       // same shape and layout, in host memory
  for (int i = 0; i < 1000; ++i) host(i, 0) = i;
  deep_copy(x, host);                                       // host to device

  auto column = subview(x, everything, 0);                  // rank 1, shares the elements
  auto some = subview(x, range(10, 20), everything);        // rows 10 to 19, counted from 0
  deep_copy(some, -1.0);
  double first = 0;
  deep_copy(first, subview(column, 10));                    // one element back to the host
  check(first == -1 && same == x);
}
//! [views]

//! [functor]
template <class Device>
class RowAverage {                                          // averages X(i, *, *) into Y(i, *)
 public:
  using device_type = Device;                               // where it runs
  using Array = MDArray<double, Device>;

  RowAverage(const Array& x, const Array& y) : x_(x), y_(y) {}

  STRATA_FUNCTION void operator()(int i) const {            // writes only what belongs to i
    const auto n1 = x_.dimension(1), n2 = x_.dimension(2);
    for (int j = 0; j < n1; ++j) {
      double sum = 0;
      for (int k = 0; k < n2; ++k) sum += x_(i, j, k);
      y_(i, j) = sum / static_cast<double>(n2);
    }
  }

 private:
  Array x_, y_;
};
// parallel_for(n, RowAverage<Device>(x, y));
//! [functor]

//! [kernel]
struct Scale {
  double factor;
  STRATA_FUNCTION void operator()(auto i, auto x) const { x(i) *= factor; }
};

template <class Device>
void kernels() {
  auto x = create<MDArray<double, Device, rank<1>>>("x", 100);
  deep_copy(x, 2.0);
  parallel_for("scale", 100, with(Scale{3}, x));                     // kernel(i, x), where x lives
  launch(on(Device{}), 100, Scale{0.5}, inout(x));                   // the same, with declared accesses
  parallel_for(on(Device{}), range(10, 90).dynamic(16),              // some indices, in chunks as threads get free
               [=](auto i) { x(i) += 1; });
  auto m = create<MDArray<int, Device, rank<2>>>("m", 30, 40);
  parallel_for(on(Device{}), mdrange({30, 40}), [=](auto i, auto j) { m(i, j) = i == j; });

  auto hits = create<MDArray<int, Device, rank<1>>>("hits", 10);
  parallel_for(on(Device{}), 100,                                    // every access atomic: indices may share elements;
               [h = atomic(hits)](auto i) { h(i % 10) += 1; });      // also read_only(x) and unmanaged(x)

  double sum = 0;
  int ones = 0;
  parallel_reduce(on(Device{}), 100, [=](auto i, double& s) { s += x(i); }, Sum(sum));
  parallel_reduce(on(Device{}), mdrange({30, 40}), [=](auto i, auto j, int& n) { n += m(i, j); }, Sum(ones));
  int hit = 0;
  deep_copy(hit, subview(hits, 3));
  check(sum == 100 * 3 + 80 && ones == 30 && hit == 10);
}
//! [kernel]

//! [lanes]
struct Lengths {                                            // of points in blocks: eight x, eight y, eight z
  MDArray<float, Threads, rank<1>> points, length;
  void operator()(LaneIndex<8> i) const {
    const index_t at = 24 * i.block + i.lane;
    const float x = points(at), y = points(at + 8), z = points(at + 16);
    length(i) = std::sqrt(x * x + y * y + z * z);
  }
};
// parallel_for(on(Threads{}), n, Lengths{points, length});
//! [lanes]

//! [reduce]
template <class Device>
struct SumOfSquares {
  using device_type = Device;
  using value_type = double;
  MDArray<double, Device, rank<1>> x;

  STRATA_FUNCTION void operator()(auto i, double& sum) const { sum += x(i) * x(i); }
  STRATA_FUNCTION static void init(double& sum) { sum = 0; }
  STRATA_FUNCTION static void join(double& sum, const double& other) { sum += other; }
};

template <class Device>
struct StoreNorm {                                          // runs once, on the device
  Value<double, Device> norm;
  STRATA_FUNCTION void operator()(const double& sum) const { *norm = std::sqrt(sum); }
};

template <class Device>
void reductions() {
  auto x = create<MDArray<double, Device, rank<1>>>("x", 400);
  deep_copy(x, 0.5);
  const SumOfSquares<Device> squares{x};
  const double returned = parallel_reduce(400, squares);    // waits for the value
  auto norm = create<Value<double, Device>>("norm");
  parallel_reduce(400, squares, finalize(StoreNorm<Device>{norm}));   // does not wait: the value stays on the device

  double largest = 0;
  ValueLocation<double> least;
  parallel_reduce(400, with([](auto i, auto v, double& most, ValueLocation<double>& low) {
                    if (v(i) > most) most = v(i);
                    if (v(i) < low.value) low = {v(i), i};
                  }, x), Max(largest), MinLoc(least));      // two results in one pass
  double n = 0;
  deep_copy(n, norm);
  check(returned == 100 && n == 10 && largest == 0.5 && least.location == 0);
}
//! [reduce]

//! [scan]
template <class Device>
void scans() {
  auto count = create<MDArray<int, Device, rank<1>>>("count", 50), offset = create<MDArray<int, Device, rank<1>>>("offset", 50);
  deep_copy(count, 3);
  exclusive_scan(count, offset);                            // 0, 3, 6, ...
  int total = 0;
  parallel_scan(50, with([](auto i, auto c, auto o, int& sum, bool final) {
                  if (final) o(i) = sum;                    // before adding: exclusive
                  sum += c(i);
                }, count, offset), Sum(total));
  check(total == 150);
}
//! [scan]

//! [queues]
template <class Device>
void queues() {
  auto x = create<MDArray<double, Device, rank<1>>>("x", 1000), y = create<MDArray<double, Device, rank<1>>>("y", 1000);
  Queue<Device> first, second;                              // work on different queues may overlap
  parallel_for(on(first), 1000, with(Scale{2}, x));
  parallel_for(on(second), 1000, with(Scale{2}, y));
  second.wait_for(first.record());                          // what follows on `second` waits; the host does not
  deep_copy(second, y, x);
  second.wait();                                            // errors of queued work are thrown here
}
//! [queues]

//! [places]
template <class Device>
void places() {
  auto x = create<MDArray<double, Device, rank<1>>>("x", 1000), sums = create<MDArray<double, Device, rank<1>>>("sums", 1000);
  deep_copy(x, 0.5);
  const Queue<Device> queue;
  const auto where = on(queue).named("scale");              // a place: a queue, and a label for its launches
  launch(where, 1000, Scale{2}, inout(x));
  double sum = 0;
  launch_reduce(where.named("sum"), 1000, [](auto i, auto v, double& s) { s += v(i); }, Sum(sum), in(x));
  inclusive_scan(on(queue).named("sums"), x, sums);
  parallel_for("scale", on(queue), 1000, with(Scale{3}, x));   // parallel_for also takes a label in front
  queue.wait();
  check(sum == 1000);
}
//! [places]

//! [graphs]
template <class Device>
void graphs() {
  auto x = create<MDArray<double, Device, rank<1>>>("x", 1000);
  deep_copy(x, 1.0);
  Queue<Device> queue;
  Graph<Device> doubled_twice = record(queue, [&] {         // recorded, not run
    parallel_for(on(queue), 1000, with(Scale{2}, x));
    parallel_for(on(queue), 1000, with(Scale{2}, x));
  });
  for (int k = 0; k < 3; ++k) doubled_twice.launch(queue);  // keeps x alive, owns copies of the kernels
  queue.wait();
  double value = 0;
  deep_copy(value, subview(x, 999));
  check(value == 64);
}
//! [graphs]

//! [teams]
struct MatrixVector {                                       // y(i) = A(i, *) . x, a team for each row
  STRATA_FUNCTION void operator()(const auto& member, auto a, auto x, auto y) const {
    const index_t i = member.league_rank();
    double sum = 0;
    parallel_reduce(team_vector_range(member, a.extent(1)),
                    [&](index_t j, double& s) { s += a(i, j) * x(j); }, sum);
    single(per_team(member), [&] { y(i) = sum; });
  }
};

template <class Device>
void team_work() {
  auto a = create<MDArray<double, Device, rank<2>>>("a", 50, 200);
  auto x = create<MDArray<double, Device, rank<1>>>("x", 200), y = create<MDArray<double, Device, rank<1>>>("y", 50);
  deep_copy(a, 0.5);
  deep_copy(x, 2.0);
  parallel_for(teams(50), with(MatrixVector{}, a, x, y));             // the device chooses the size of a team
  parallel_for(teams(50, 4).vector(2), with(MatrixVector{}, a, x, y)); // 4 members of 2 lanes
  double value = 0;
  deep_copy(value, subview(y, 49));
  check(value == 200);
}
//! [teams]

//! [assembly]
template <class Device>
struct Assemble {                                           // element i adds to its nodes i and i + 1
  using device_type = Device;
  decltype(scatter_view(MDArray<double, Device, rank<1>>())) force;

  STRATA_FUNCTION void operator()(auto i) const {
    force(index_t(i)) += 1;
    force(index_t(i) + 1) += 1;
  }
};

template <class Device>
void assembly() {
  auto force = create<MDArray<double, Device, rank<1>>>("force", 101);
  auto scattered = scatter_view(force);                     // a copy for each worker, or atomics, by device
  parallel_for(100, Assemble<Device>{scattered});
  contribute(scattered);                                    // joins the copies
  double inner = 0;
  deep_copy(inner, subview(force, 50));
  check(inner == 2);
}
//! [assembly]

//! [sorting]
struct IsSmall {
  STRATA_FUNCTION bool operator()(const double& x) const { return x < 0.25; }
};

template <class Device>
void sorting() {
  auto x = create<MDArray<double, Device, rank<1>>>("x", 10000), small = create<MDArray<double, Device, rank<1>>>("small", 10000);
  fill_random(x, 42, Uniform<double>{});                    // the same numbers on every device
  const index_t kept = copy_if(x, small, IsSmall{});        // in order
  sort(x);                                                  // also sort_by_key, and any order by a functor
  double first = 0, last = 0;
  deep_copy(first, subview(x, kept - 1));
  deep_copy(last, subview(x, kept));
  check(first < 0.25 && last >= 0.25);
}
//! [sorting]

//! [linear]
template <class Device>
void solve() {
  const index_t n = 100;                                    // -u'' = 1 on a line
  std::vector<std::int32_t> row, column;
  std::vector<double> entry;
  const auto add = [&](index_t i, index_t j, double a) {
    if (j < 0 || j >= n) return;
    row.push_back(static_cast<std::int32_t>(i));
    column.push_back(static_cast<std::int32_t>(j));
    entry.push_back(a);
  };
  for (index_t i = 0; i < n; ++i) add(i, i - 1, -1), add(i, i, 2), add(i, i + 1, -1);
  const auto a = linear::create_crs_from_coo<linear::CrsMatrix<double, Device>>("A", n, n, row, column, entry);
  auto b = create<MDArray<double, Device, rank<1>>>("b", n), x = create<MDArray<double, Device, rank<1>>>("x", n);
  deep_copy(b, 1.0);
  linear::CgOptions options;
  options.relative_tolerance = 1e-10;
  const linear::CgResult result = linear::solve_cg(a, b, x, options);
  check(bool(result));                                      // else linear::to_string(result.status) says why
  double middle = 0;
  deep_copy(middle, subview(x, n / 2));
  check(std::abs(middle - 51 * 50 / 2.0) < 1e-6);
}
//! [linear]

//! [slices]
template <class Device>
void slices() {
  using Array = MDArrayIn<LayoutTiled<8>, double, Device, rank<2>>;
  const auto whole = create<Array>("whole", 1000, 4);
  const ResidentRows rows{200, 300};
  const auto slice = create_slice<Array>("slice", whole.extents(), rows);   // holds 100 rows, answers to global indices
  deep_copy_rows(slice, whole, rows);
  parallel_for(on(Device{}), range(rows.begin, rows.end), [=](auto i) { slice(i, 1) = 7; });
  deep_copy_rows(whole, slice, rows);
  double value = 0;
  deep_copy(value, subview(whole, 250, 1));
  check(value == 7);
}
//! [slices]

//! [hosts]
double sum_on(const AnyHost& host) {                        // compiled once for Serial, Threads and Tbb
  const auto x = create<MDArray<double, AnyHost, rank<1>>>("x", 1000, on(host));
  double sum = 0;
  parallel_for(on(host), 1000, [=](index_t i) { x(i) = 1; });
  parallel_reduce(on(host), 1000, [=](index_t i, double& s) { s += x(i); }, Sum(sum));
  return sum;
}
void hosts() {
  check(sum_on(Serial{}) == 1000 && sum_on(Threads{}) == 1000);
  const AnyHost chosen;                                     // the setting host_device: --strata-host-device=serial
  check(sum_on(chosen) == 1000);
}
//! [hosts]

//! [errors]
void errors() {
  try {
    auto huge = create<MDArray<double, Emulated, rank<1>>>("huge", index_t{1} << 40);
  } catch (const OutOfMemory& error) {
    std::puts(error.what());                                // says what was asked, where, and what lives there
  }
}
//! [errors]
// clang-format on

void points_in_blocks() {
  const auto points = create<MDArray<float, Threads, rank<1>>>("points", 3 * 24);
  const auto length = create<MDArray<float, Threads, rank<1>>>("length", 24);
  for (index_t i = 0; i < 24; ++i) points(i / 8 * 24 + i % 8) = static_cast<float>(3 * i);
  for (index_t i = 0; i < 24; ++i) points(i / 8 * 24 + i % 8 + 16) = static_cast<float>(4 * i);
  parallel_for(on(Threads{}), 21, Lengths{points, length});
  for (index_t i = 0; i < 24; ++i) check(length(i) == (i < 21 ? static_cast<float>(5 * i) : 0));
}

template <class Device>
void all_of_it() {
  views<Device>();
  kernels<Device>();
  reductions<Device>();
  scans<Device>();
  queues<Device>();
  places<Device>();
  graphs<Device>();
  team_work<Device>();
  assembly<Device>();
  sorting<Device>();
  solve<Device>();
  slices<Device>();
  using Array = MDArray<double, Device>;
  const auto x = create<Array>("x", 10, 2, 4), y = create<Array>("y", 10, 2);
  deep_copy(x, 5.0);
  parallel_for(10, RowAverage<Device>(x, y));
  const auto host = create_mirror_and_copy(y);
  check(host(9, 1) == 5);
}

void all_of_them() {
  for (const AnyHost& host : {AnyHost(Serial{}), AnyHost(Threads{})}) {
    AnyHost::set_default(host);
    all_of_it<AnyHost>();
  }
  all_of_it<Emulated>();
  points_in_blocks();
  hosts();
  errors();
  std::puts("guide: all results are right");
}

}  // namespace

int main(int argc, char** argv) { return main_guard(argc, argv, all_of_them); }
