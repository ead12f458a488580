// DLPack tensors in the memories of GPUs: each says what it is, and only views of it and of the host take it.
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>

#include "views/dlpack_tensors.hpp"

namespace {

using namespace strata;
using namespace strata_tests;

template <class D>
using ArrayOf = MDArray<double, D, rank<1>>;
using HostArray = View<double, Serial, RankExtents<1>, LayoutLeft>;

template <class D>
detail::DLPackDevice device_of(const D& device) {
  return contents(to_dlpack(create<ArrayOf<D>>("x", 3, on(device)))).tensor.device;
}

struct Double {
  STRATA_FUNCTION void operator()(index_t i, auto x) const { x(i) *= 2; }
};

TEST(DLPackMemories, AreToldApartAndOnlyThatOfAGpuHasANumber) {
  const int last = Cuda::count() - 1;

  EXPECT_EQ(device_of(Cuda(last)).type, detail::DLPackDeviceType::Cuda);
  EXPECT_EQ(device_of(Cuda(last)).id, last);
  EXPECT_EQ(device_of(CudaPinned(last)).type, detail::DLPackDeviceType::CudaPinned);
  EXPECT_EQ(device_of(CudaPinned(last)).id, 0);
  EXPECT_EQ(device_of(CudaManaged(last)).type, detail::DLPackDeviceType::CudaManaged);
  EXPECT_EQ(device_of(CudaManaged(last)).id, 0);
}

TEST(DLPackMemories, ATensorOfAnyGpuComesBackToIt) {
  for (int k = 0; k < Cuda::count(); ++k) {
    const auto x = create<ArrayOf<Cuda>>("x", 3, on(Cuda(k)));
    deep_copy(x, 2.0);

    const auto y = from_dlpack<ArrayOf<Cuda>>(to_dlpack(x));
    parallel_for(3, with(Double{}, y));

    double value = 0;
    deep_copy(value, subview(x, 1));
    EXPECT_EQ(value, 4) << "Cuda{" << k << "}";
  }
}

TEST(DLPackMemories, HostViewsShowPinnedAndManagedArrays) {
  const auto pinned = create<ArrayOf<CudaPinned>>("pinned", 3);
  const auto managed = create<ArrayOf<CudaManaged>>("managed", 3);

  const auto p = from_dlpack<HostArray>(to_dlpack(pinned));
  const auto m = from_dlpack<HostArray>(to_dlpack(managed));
  p(1) = 5;
  m(1) = 6;

  EXPECT_EQ(pinned(1), 5);
  EXPECT_EQ(managed(1), 6);
}

TEST(DLPackMemories, KernelsUseImportedPinnedAndManagedArrays) {
  const auto pinned = from_dlpack<ArrayOf<CudaPinned>>(to_dlpack(create<ArrayOf<CudaPinned>>("pinned", 3)));
  const auto managed =
      from_dlpack<ArrayOf<CudaManaged>>(to_dlpack(create<ArrayOf<CudaManaged>>("managed", 3)));
  pinned(1) = 5;
  managed(1) = 6;

  parallel_for(3, with(Double{}, pinned));
  parallel_for(3, with(Double{}, managed));
  wait(Cuda());

  EXPECT_EQ(pinned(1), 10);
  EXPECT_EQ(managed(1), 12);
}

TEST(DLPackMemories, ViewsOfAnotherMemoryRefuseThem) {
  auto pinned = to_dlpack(create<ArrayOf<CudaPinned>>("pinned", 3));
  auto on_gpu = to_dlpack(create<ArrayOf<Cuda>>("on_gpu", 3));

  const std::string text =
      message_of<strata::Error>([&] { (void)from_dlpack<HostArray>(std::move(on_gpu)); });

  EXPECT_NE(text.find("it lies on Cuda{0}, the view's device has memory of kind Host"), std::string::npos)
      << text;
  EXPECT_THROW((void)from_dlpack<HostArray>(std::move(on_gpu)), WrongDevice);
  EXPECT_THROW((void)from_dlpack<ArrayOf<CudaPinned>>(std::move(on_gpu)), WrongDevice);
  EXPECT_THROW((void)from_dlpack<ArrayOf<Cuda>>(std::move(pinned)), WrongDevice);
  EXPECT_THROW((void)from_dlpack<ArrayOf<CudaManaged>>(std::move(pinned)), WrongDevice);
}

TEST(DLPackMemories, AGpuThatDoesNotExistIsRefused) {
  double data[3] = {};
  int deleted = 0;
  Foreign foreign(data, float64, &deleted);
  foreign.managed.tensor.rank = 1;
  foreign.strides[0] = 1;
  foreign.managed.tensor.device = {detail::DLPackDeviceType::Cuda, Cuda::count()};

  EXPECT_THROW((void)from_dlpack<ArrayOf<Cuda>>(foreign.tensor()), NoSuchDevice);

  EXPECT_EQ(deleted, 1);
}

}  // namespace
