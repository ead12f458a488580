// Choosing a GPU by name.
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gtest/gtest.h>

#include <strata/strata.hpp>

namespace {

using namespace strata;

struct Count {
  STRATA_FUNCTION void operator()(index_t i, auto x) const { x(i) = static_cast<int>(i); }
};

struct Add {
  STRATA_FUNCTION void operator()(index_t i, auto x, int& sum) const { sum += x(i); }
};

// A program for any device: its name, if its kernels work.
template <class Device>
std::string run_program(const Device& device) {
  const auto x = create<MDArray<int, Device, rank<1>>>("x", 100, on(device));
  parallel_for(100, with(Count{}, x));
  int sum = 0;
  parallel_reduce(100, with(Add{}, x), Sum(sum));
  return sum == 4950 ? Device::name + (":" + std::to_string(device.index())) : "wrong";
}

struct RunProgram {
  template <class Device>
  std::string operator()(const Device& device) const {
    return run_program(device);
  }
};

TEST(CudaVisitDevice, GpusAreTheDefaultAndChosenByNumber) {
  EXPECT_EQ(visit_device("default", RunProgram()), "Cuda:0");
  EXPECT_EQ(visit_device([](auto device) { return run_program(device); }), "Cuda:0");
  EXPECT_EQ((visit_device<DeviceList<Serial, Cuda>>("serial", RunProgram())), "Serial:0");
  for (int g = 0; g < Cuda::count(); ++g)
    EXPECT_EQ(visit_device("cuda:" + std::to_string(g), RunProgram()), "Cuda:" + std::to_string(g));
}

TEST(CudaVisitDevice, AGpuThatIsNotThereIsAnErrorThatListsThoseThatAre) {
  std::string message;
  try {
    visit_device("Cuda:15", RunProgram());
  } catch (const NoSuchDevice& error) {
    message = error.what();
  }

  EXPECT_NE(message.find("Cuda{15}"), std::string::npos) << message;
  EXPECT_NE(message.find("there are Serial, Threads"), std::string::npos) << message;
  EXPECT_NE(message.find(Cuda::count() == 1 ? ", Cuda," : ", Cuda:0, Cuda:1,"), std::string::npos) << message;
}

}  // namespace
