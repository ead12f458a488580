// deep_copy between layouts and strides, against memcpy of as many bytes and a blocked transpose by hand.
#include <algorithm>
#include <cstring>

#include "common/ceiling.hpp"
#include "common/devices.hpp"
#include "common/report.hpp"

namespace {

using namespace perf;
using strata::index_t;

template <class T, class D, class Layout>
using Matrix = strata::MDArrayIn<Layout, T, D, strata::rank<2>>;

template <class T>
T value(index_t i, index_t j) {
  return static_cast<T>((i * 31 + j * 7) % 1021);
}

template <class T, class D>
void measure(const Options& options, Report& report, const char* type, index_t rows, index_t columns) {
  using Right = Matrix<T, D, strata::LayoutRight>;
  using Left = Matrix<T, D, strata::LayoutLeft>;
  using Tiled = Matrix<T, D, strata::LayoutTiled<8>>;
  const auto a = strata::create<Right>("a", rows, columns),
             same = strata::create<Right>("same", rows, columns);
  const auto wide = strata::create<Right>("wide", rows, 2 * columns);
  const auto part = strata::subview(wide, strata::all, strata::range(0, columns));
  const auto left = strata::create<Left>("left", rows, columns);
  const auto tiled = strata::create<Tiled>("tiled", rows, columns);
  const auto host = strata::create_mirror_view(a);
  for (index_t i = 0; i < rows; ++i)
    for (index_t j = 0; j < columns; ++j) host(i, j) = value<T>(i, j);
  strata::deep_copy(a, host);

  const std::size_t bytes = static_cast<std::size_t>(rows * columns) * sizeof(T);
  void* const from = allocate_plain(bytes);
  void* const to = allocate_plain(bytes);
  std::memset(from, 1, bytes);
  std::memset(to, 0, bytes);
  Race race;
  const int plain = race.add([&] { std::memcpy(to, from, bytes); });
  const int by_hand =
      race.add([&] { plain_transpose(static_cast<T*>(to), static_cast<const T*>(from), rows, columns); });
  const int contiguous = race.add([&] { strata::deep_copy(same, a); });
  const int strided = race.add([&] { strata::deep_copy(part, a); });
  const int transposed = race.add([&] { strata::deep_copy(left, a); });
  const int to_tiles = race.add([&] { strata::deep_copy(tiled, a); });
  race.run(options.reps_or(15), 10);
  ::operator delete(from, std::align_val_t(2 << 20));
  ::operator delete(to, std::align_val_t(2 << 20));

  const double moved = 2.0 * static_cast<double>(bytes);
  const double bound = gigabytes_per_second(moved, race[plain]);
  const auto add = [&](const char* name, const char* device, int k, int baseline) {
    report.add({name, device, rows * columns, type, race[k], gigabytes_per_second(moved, race[k]), "GB/s",
                bound, baseline < 0 ? none : race.speedup(k, baseline)});
  };
  add("memcpy", "-", plain, -1);
  add("blocked transpose by hand", "-", by_hand, -1);
  add("right to right, contiguous", D::name, contiguous, plain);
  add("right to half of wider rows", D::name, strided, plain);
  add("right to left", D::name, transposed, by_hand);
  add("right to tiled", D::name, to_tiles, plain);
  const auto equal = [&](const auto& view) {
    const auto copy = strata::create<Matrix<T, strata::Serial, strata::LayoutRight>>("check", rows, columns);
    strata::deep_copy(copy, view);
    for (index_t i = 0; i < rows; ++i)
      for (index_t j = 0; j < columns; ++j)
        if (copy(i, j) != value<T>(i, j)) return false;
    return true;
  };
  report.check(equal(same) && equal(part) && equal(left) && equal(tiled),
               std::string("deep_copy on ") + D::name);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, "deep_copy between layouts and strides.");
  Report report("deep_copy",
                "memcpy by one thread; for right to left a blocked transpose by hand, one thread");
  for_each_type(options, [&](auto zero, const char* type) {
    const index_t columns = 2000, rows = options.n > 0 ? std::max<index_t>(1, options.n / columns) : 4000;
    for_each_device(options, [&](auto device) {
      measure<decltype(zero), decltype(device)>(options, report, type, rows, columns);
    });
  });
  report.note(
      "GB/s count every byte read and every byte written; the ceiling is memcpy in the same race, which may "
      "use");
  report.note(
      "non-temporal stores. Emulated copies on threads of this machine; its speed is not a machine's.");
  return report.finish(options);
}
