// Memory modes on every device: arrays that are created, adopted, and made like others.
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <strata/devices/host/space.hpp>
#include <strata/version.hpp>
#include <strata/views/coherent/coherent_state.hpp>
#include <strata/views/coherent/managed_like.hpp>

#include "views/coherent/coherent_devices.hpp"

namespace {

using namespace coherent_devices;

struct Hundreds {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto a) const {
    a(i, j) = static_cast<double>(100 * i + j);
  }
};

template <class D>
class MemoryModesOnDevices : public CoherentDevices<D> {};
TYPED_TEST_SUITE(MemoryModesOnDevices, strata_tests::TestDevices, strata_tests::DeviceName);

// Arrays that host and GPU both reach are in memory of CUDA also where nobody says of which GPU.
TYPED_TEST(MemoryModesOnDevices, MemoryThatIsSharedNeedsNoDeviceByName) {
  const bool is_gpu = std::string_view(TypeParam::name) == "Cuda";
  for (const MemoryMode mode : {MemoryMode::Pinned, MemoryMode::Mapped, MemoryMode::Managed}) {
    const CoherentArray<double, rank<1>> x("x", 1000, prefer(mode));
    const bool is_of_host = std::string_view(x.state()->main.space.kind) == HostSpace::kind;

    EXPECT_FALSE(is_gpu && x.memory_mode() == mode && is_of_host) << to_string(mode);

    launch(on(Serial{}), 1000, Count{3}, out(x));
    EXPECT_EQ(x.read()(999), 1002);
  }
}

// Memory of device M, which the user has and which D's kernels use: in each mode that it can be in.
template <class D, class M>
void expect_adopted(const std::vector<MemoryMode>& modes) {
  const index_t n = 1000;
  using Memory = MDArray<double, M, rank<1>>;
  const auto memory = create<Memory>("memory", n);
  for (const MemoryMode mode : modes) {
    SCOPED_TRACE(std::string(M::name) + ", " + to_string(mode));
    const bool is_explicit = mode == MemoryMode::Explicit || mode == MemoryMode::ExplicitPinned;
    for (index_t i = 0; i < n; ++i) memory(i) = 1;
    {
      const auto x = CoherentArray<double, rank<1>, typename Memory::layout_type>::adopt("x", memory, mode);
      EXPECT_EQ(x.memory_mode(), mode);
      EXPECT_NE(x.explain().find("memory mode " + std::string(to_string(mode))), std::string::npos);
      if (is_explicit) x.prefetch(x.domain(), D{});
      launch(on(D{}), range(0, n / 2), Count{3}, inout(x));
      if (is_explicit) x.flush();
      EXPECT_EQ(double(x(7)), 10);
    }
    EXPECT_EQ(memory(7), 10);
    EXPECT_EQ(memory(n - 1), 1);
  }
}
TYPED_TEST(MemoryModesOnDevices, AdoptedMemoryIsInEveryModeThatItCanBeIn) {
  std::vector<MemoryMode> plain = {MemoryMode::Smart, MemoryMode::Explicit, MemoryMode::Implicit};
  const std::vector<MemoryMode> locked = {MemoryMode::Pinned, MemoryMode::ExplicitPinned, MemoryMode::Mapped};
  bool has_gpu = false;
#if STRATA_HAS_CUDA
  has_gpu = Cuda::count() > 0;
  if constexpr (std::is_same_v<TypeParam, Cuda>) {
    expect_adopted<Cuda, CudaPinned>(locked);
    expect_adopted<Cuda, CudaPinned>(plain);
    expect_adopted<Cuda, CudaManaged>({MemoryMode::Managed});
    expect_adopted<Cuda, CudaManaged>(plain);
  }
#endif
  // Without a GPU all modes are memory of the host.
  if (!has_gpu) {
    plain.insert(plain.end(), locked.begin(), locked.end());
    plain.push_back(MemoryMode::Managed);
  }
  expect_adopted<TypeParam, Serial>(plain);
}

struct AddToRow {
  STRATA_FUNCTION void operator()(auto i, auto x) const {
    for (index_t j = 0; j < x.extent(1); ++j) x(i, j) += 1;
  }
};
TYPED_TEST(MemoryModesOnDevices, ManagedArraysAreMadeLikeArraysAndViews) {
  const TypeParam device{};
  const auto view = create<MDArray<double, TypeParam, rank<2>>>("view", 37, 11);
  const auto host = create_mirror(view);
  for (index_t i = 0; i < 37; ++i)
    for (index_t j = 0; j < 11; ++j) host(i, j) = static_cast<double>(100 * i + j);
  deep_copy(view, host);
  const auto expect_values = [](const auto& x, double more) {
    const auto seen = x.read();
    index_t wrong = 0;
    for (index_t i = 0; i < 37; ++i)
      for (index_t j = 0; j < 11; ++j) wrong += seen(i, j) != static_cast<double>(100 * i + j) + more;
    EXPECT_EQ(wrong, 0);
  };

  const auto managed = to_managed("managed", view, main_in(device));
  const auto like_array = managed_like("like an array", managed, main_in(device));
  const auto like_view = managed_like("like a view", view, main_in(device));
  launch(on(device), 37, AddToRow{}, inout(managed));
  expect_values(managed, 1);
  for (const auto& like : {like_array, like_view}) {
    EXPECT_EQ(like.memory_mode(), MemoryMode::Managed);
    EXPECT_EQ(like.extent(0), 37);
    EXPECT_EQ(like.extent(1), 11);
    EXPECT_EQ(like.mapping()(13, 2), managed.mapping()(13, 2));
  }
  launch(on(device), mdrange({37, 11}), Hundreds{}, out(like_view));
  launch(on(device), mdrange({37, 11}), Hundreds{}, out(like_array));
  expect_values(like_view, 0);
  expect_values(like_array, 0);
  deep_copy(host, view);  // the view has its own values
  EXPECT_EQ(host(36, 10), 3610);
}

// Launches, host views between them, and parts: on pages of managed memory, too, which are larger than these.
TYPED_TEST(MemoryModesOnDevices, EveryMemoryModeComputesTheSame) {
  const MemoryMode modes[] = {MemoryMode::Smart,  MemoryMode::Pinned,   MemoryMode::Managed,
                              MemoryMode::Mapped, MemoryMode::Implicit, MemoryMode::Explicit};
  for (const MemoryMode mode : modes) {
    SCOPED_TRACE(to_string(mode));
    const index_t n = 700001;
    const auto run = [&](const auto& where, auto bring, auto take) {
      const CoherentArray<double, rank<1>> x("x", n, mode, main_in(TypeParam{})),
          y("y", n, mode, main_in(TypeParam{}));
      {
        const auto view = x.write();
        for (index_t i = 0; i < n; ++i) view(i) = static_cast<double>(i % 1000);
      }
      bring(x), bring(y);
      launch(where, n, Axpy{2}, in(x), inout(y));
      take(y);
      {
        const auto view = y.read_write(Box({5}, {300000}));
        for (index_t i = 5; i < 300000; ++i) view(i) += 1;
      }
      bring(y);
      launch(where, range(5, n - 9), Axpy{1}, in(x), inout(y));
      launch(where, range(5, n - 9), Axpy{1}, in(x), inout(y));
      take(y);
      const auto view = y.read();
      index_t wrong = 0;
      for (index_t i = 0; i < n; ++i) {
        const double value = static_cast<double>(i % 1000);
        wrong += view(i) != (i < 5 || i >= n - 9 ? 2 : 4) * value + (i >= 5 && i < 300000 ? 1 : 0);
      }
      EXPECT_EQ(wrong, 0);
    };
    const auto nothing = [](const auto&) {};
    if (mode == MemoryMode::Explicit)
      run(
          on(TypeParam{}), [](const auto& x) { x.prefetch(x.domain(), TypeParam{}); },
          [](const auto& x) { x.flush(); });
    else everywhere<TypeParam>([&](const auto& where) { run(where, nothing, nothing); });
  }
}

}  // namespace
