// What gdb_test.py looks at: arrays of each layout and a coherent array, at the time that stop_here() is
// called.
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

using namespace strata;

extern "C" [[gnu::noinline]] void stop_here() { asm volatile(""); }
extern "C" [[gnu::noinline]] void stop_in_kernel() { asm volatile(""); }

namespace {

struct AddOne {
  void operator()(index_t i, auto in_kernel) const {
    in_kernel(i) += 1;
    if (i == 3) stop_in_kernel();
  }
};

template <class Array>
Array counted(const char* label, index_t rows, index_t columns) {  // element (i, j) is 10 i + j
  auto x = create<Array>(label, rows, columns);
  for (index_t i = 0; i < rows; ++i)
    for (index_t j = 0; j < columns; ++j) x(i, j) = static_cast<typename Array::value_type>(10 * i + j);
  return x;
}

void look_here() {
  const auto right = counted<MDArrayIn<LayoutRight, double, Threads, rank<2>>>("right", 3, 4);
  const auto left = counted<MDArrayIn<LayoutLeft, int, Serial, rank<2>>>("left", 3, 4);
  const auto tiled = counted<MDArrayIn<LayoutTiled<8>, float, Serial, rank<2>>>("tiled", 20, 3);
  const auto any_rank = counted<MDArray<double, Serial>>("any rank", 3, 4);
  const auto fixed = counted<MDArray<double, Serial, 4>>("fixed", 3, 4);
  const auto narrow = counted<MDArrayIn<Index32<LayoutRight>, long, Serial, rank<2>>>("narrow", 3, 4);
  const auto part = subview(right, range(1, 3), range(2, 4));
  const auto tiled_part = subview(tiled, range(5, 20), range(1, 3));
  const auto column = subview(right, everything, 2);
  const auto offset =
      create_slice<MDArrayIn<LayoutRight, double, Serial, rank<2>>>("slice", right.extents(), {1, 3});
  const auto one = create<Value<double, Serial>>("one");
  *one = 7.5;
  const MDArray<double, Serial, rank<1>> nothing;
  const auto on_device = create<MDArray<double, Emulated, rank<1>>>("on device", 100);
  double memory[3] = {1, 2, 3};
  const MDArray<double, Serial, rank<1>> unmanaged(memory, 3);

  const CoherentArray<double, rank<1>> u("u", 100), no_array;
  launch(on(Emulated{0}), range(0, 50), AddOne{}, inout(u));  // the host's values of these rows are old
  wait(Emulated{0});

  stop_here();

  // Kept until here.
  const void* const all[] = {&right,     &left,       &tiled,  &any_rank, &fixed, &narrow,
                             &part,      &tiled_part, &column, &offset,   &one,   &nothing,
                             &on_device, &unmanaged,  &u,      &no_array, memory};
  asm volatile("" : : "r"(all) : "memory");
}

}  // namespace

int main() { look_here(); }
