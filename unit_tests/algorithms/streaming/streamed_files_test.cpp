// Streamed launches over arrays that live in files: disk, host, device, and back.
// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <stdlib.h>
#include <unistd.h>

#include <strata/algorithms/streaming/streamed_iterate_reduce.hpp>
#include <strata/core/error.hpp>
#include <strata/views/coherent/file_array.hpp>
#include <strata/views/coherent/file_storage.hpp>

#include "sequence_fixture.hpp"
#include "stream_kernels.hpp"

namespace {

using namespace stream_test;

template <class D>
class StreamedFiles : public ::testing::Test {
 protected:
  StreamedFiles() {
    directory_ = (std::filesystem::temp_directory_path() / "strata_streamed_files_XXXXXX").string();
    if (mkdtemp(directory_.data()) == nullptr) throw std::runtime_error("no temporary directory");
  }
  ~StreamedFiles() override { std::filesystem::remove_all(directory_); }
  std::string path(const char* name) const { return directory_ + "/" + name; }

 private:
  std::string directory_;
};
TYPED_TEST_SUITE(StreamedFiles, strata_tests::TestDevices, strata_tests::DeviceName);

TYPED_TEST(StreamedFiles, MapFromOneFileToAnother) {
  const index_t n = 300001;
  {
    const auto x = file_array<double, rank<1>>(this->path("x"), n);
    const auto y = file_array<double, rank<1>>(this->path("y"), n);
    fill(x);
    const StreamReport report =
        launch(streamed(TypeParam{}, 1 << 19).chunk(10000), n, Axpy{2}, in(x), inout(y));
    EXPECT_EQ(report.slices, 31);
    launch(streamed(TypeParam{}, 1 << 18), n, Axpy{1}, in(x), inout(y));
    save(y);
  }
  const auto y = open_file_array<double, rank<1>>(this->path("y"));
  const auto got = values(y);
  for (index_t i = 0; i < n; ++i)
    ASSERT_EQ(got[static_cast<std::size_t>(i)], 2 * start_value(i) + start_value(i)) << i;
}
TYPED_TEST(StreamedFiles, LoopsOneAfterTheOther) {
  const sequence_test::Mesh mesh(9000, 12000, 30, 5);
  sequence_test::Arrays arrays(mesh);
  sequence_test::move_to_files(arrays, this->path("x"), this->path("state"));
  Sequence steps("steps", streamed(TypeParam{}, 1 << 19).steps_per_pass(2));
  steps.temporary(arrays.force);
  sequence_test::add_loops(steps, mesh, arrays);

  const StreamReport report = steps.run(5);

  EXPECT_EQ(report.passes, 3);
  EXPECT_GT(report.slices, 6);
  sequence_test::InCore expected(mesh);
  for (int step = 0; step < 5; ++step) expected.elements(step), expected.nodes();
  sequence_test::expect_same(arrays, expected, "in files");
}
TYPED_TEST(StreamedFiles, HowFastTheDiskWasIsKnownTheNextTime) {
  const index_t n = 100000;
  const auto x = file_array<double, rank<1>>(this->path("x"), n),
             y = file_array<double, rank<1>>(this->path("y"), n);
  fill(x);
  const auto where = streamed(TypeParam{}, 1 << 18);
  const StreamReport report = launch(where, n, Axpy{2}, in(x), inout(y));
  const StreamReport planned = launch(where.dry_run(), n, Axpy{2}, in(x), inout(y));
  EXPECT_GE(planned.predicted_seconds, 0.5 * report.seconds);
  EXPECT_NE(planned.explain().find("predicted"), std::string::npos);
}
TYPED_TEST(StreamedFiles, TilesHalosAndPartsOfTheRows) {
  const auto x = file_array<float, rank<2>>(this->path("x"), 1003, 5);
  const CoherentArray<float, rank<2>> y("y", 1003, 5);
  const auto z = file_array<float, rank<2>>(this->path("z"), 1003, 5);
  fill(x);
  fill(y);
  fill(z);
  const auto before = values(z);
  launch(streamed(TypeParam{}, 1 << 16).chunk(100), range(3, 999), Triad{}, in(x), in(y), out(z));
  const auto a = values(x), b = values(y), got = values(z);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool inside = i / 5 >= 3 && i / 5 < 999;
    ASSERT_EQ(got[i], inside ? static_cast<float>(static_cast<double>(a[i]) + 0.5 * static_cast<double>(b[i]))
                             : before[i])
        << i;
  }
}
TYPED_TEST(StreamedFiles, StepsInPlaceOverManyPasses) {
  const index_t n = 60000;
  CoherentArray<double, rank<1>> a("a", n), b("b", n);
  const auto u = file_array<double, rank<1>>(this->path("u"), n);
  fill(a);
  fill(b);
  fill(u);
  in_core(TypeParam{}, range(1, n - 1), 23, Step1{1, 1}, a, b, halo(1, 1));
  const StreamReport report = streamed_iterate(streamed(TypeParam{}, 1 << 18).chunk(4000).steps_per_pass(4),
                                               23, Step1{1, 1}, state(u, halo(1, 1)));
  EXPECT_EQ(report.scheduler, StreamScheduler::Carry);
  EXPECT_EQ(report.passes, 6);
  EXPECT_EQ(values(u), values(a));
  // A tile larger than all: passes wait for each other's only tile.
  fill(u);
  streamed_iterate(streamed(TypeParam{}, 1 << 24).chunk(n).steps_per_pass(5).slots(2), 23, Step1{1, 1},
                   state(u, halo(1, 1)));
  EXPECT_EQ(values(u), values(a));
}
struct StepAndSum {
  STRATA_FUNCTION void operator()(auto i, const auto& old, const auto& next, double& sum) const {
    Step1{1, 1}(i, old, next);
    sum += next(i) * old(i);
  }
};
TYPED_TEST(StreamedFiles, StepsThatReduce) {
  const index_t n = 30000;
  CoherentArray<double, rank<1>> a("a", n), b("b", n);
  const auto u = file_array<double, rank<1>>(this->path("u"), n);
  fill(a);
  fill(b);
  fill(u);
  std::vector<double> expected, sums;
  for (int step = 0; step < 23; ++step) {
    launch_reduce(on(TypeParam{}), range(1, n - 1), StepAndSum{}, Sum(expected.emplace_back()),
                  in(a, halo(1, 1)), inout(b));
    std::swap(a, b);
  }
  const StreamReport report =
      streamed_iterate_reduce(streamed(TypeParam{}, 1 << 19).chunk(4000).steps_per_pass(4), 23, StepAndSum{},
                              each_step(Sum, sums), state(u, halo(1, 1)));
  EXPECT_EQ(report.scheduler, StreamScheduler::Carry);
  EXPECT_EQ(report.passes, 6);
  EXPECT_EQ(sums, expected);
  EXPECT_EQ(values(u), values(a));
}
TYPED_TEST(StreamedFiles, StepsOverTiles) {
  using Array = CoherentArray<double, rank<2>>;
  Array a("a", 501, 6), b("b", 501, 6);
  const auto u = file_array<double, rank<2>>(this->path("u"), 501, 6);
  fill(a);
  fill(b);
  fill(u);
  in_core(TypeParam{}, range(1, 500), 9, RowStep{}, a, b, halo(1, 1));
  streamed_iterate(streamed(TypeParam{}, 1 << 18).chunk(50).steps_per_pass(3), range(1, 500), 9, RowStep{},
                   state(u, halo(1, 1)));
  EXPECT_EQ(values(u), values(a));
}
TYPED_TEST(StreamedFiles, SumsAndScans) {
  const index_t n = 100000;
  const CoherentArray<double, rank<1>> x("x", n), y("y", n);
  const auto file = file_array<double, rank<1>>(this->path("x"), n),
             prefix = file_array<double, rank<1>>(this->path("y"), n);
  fill(x);
  fill(file);
  double expected = 0, got = -1;
  launch_reduce(on(TypeParam{}), n, Add{}, Sum(expected), in(x));
  launch_reduce(streamed(TypeParam{}, 1 << 17), n, Add{}, Sum(got), in(file));
  EXPECT_EQ(got, expected);
  launch_scan(on(TypeParam{}), n, Prefix{}, Sum(expected), in(x), out(y));
  launch_scan(streamed(TypeParam{}, 1 << 19), n, Prefix{}, Sum(got), in(file), out(prefix));
  EXPECT_EQ(got, expected);
  EXPECT_EQ(values(prefix), values(y));
}
TYPED_TEST(StreamedFiles, SecondCopiesAndRingsAreErrors) {
  const auto u = file_array<double, rank<1>>(this->path("u"), 1000);
  EXPECT_THROW(streamed_iterate(streamed(TypeParam{}, 1 << 18).scheduler(StreamScheduler::Overlap), 3,
                                Step1{1, 1}, state(u, halo(1, 1))),
               Error);
  EXPECT_THROW(
      streamed_iterate(streamed(TypeParam{}, 1 << 18), 3, Step1{1, 1}, state(u, halo(1, 1, edge::cyclic))),
      Error);
}
TYPED_TEST(StreamedFiles, FailuresOfTheDiskAreToldAndTheFileIsNotComplete) {
  if (std::string(TypeParam::name) == "Cuda" && settings().cuda_direct_files)
    GTEST_SKIP() << "requests of the host fail here, and GPUs make their own";
  const index_t n = 100000;
  for (const int request : {0, 3, 9}) {
    const std::string name = this->path("y") + std::to_string(request);
    {
      const auto x = file_array<double, rank<1>>(name + "x", n), y = file_array<double, rank<1>>(name, n);
      fill(x);
      save(x);
      save(y);
      detail::file_storage_of(*y.state())->file().inject({request, ENOSPC, -1});
      try {
        launch(streamed(TypeParam{}, 1 << 19).chunk(8192), n, Axpy{2}, in(x), inout(y));
        FAIL() << "a request failed";
      } catch (const DataLost& error) {
        EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
      }
      launch(streamed(TypeParam{}, 1 << 18), n, Axpy{2}, in(x), inout(y));  // goes on
    }
  }
}
TYPED_TEST(StreamedFiles, AFileForReadingIsNotWritten) {
  const index_t n = 5000;
  {
    const auto y = file_array<double, rank<1>>(this->path("y"), n);
    save(y);
  }
  const auto y = open_file_array<double, rank<1>>(this->path("y"), for_reading);
  const CoherentArray<double, rank<1>> x("x", n);
  EXPECT_THROW(launch(streamed(TypeParam{}, 1 << 18), n, Axpy{2}, in(x), inout(y)), FileError);
  double sum = -1;
  launch_reduce(streamed(TypeParam{}, 1 << 18), n, Add{}, Sum(sum), in(y));
  EXPECT_EQ(sum, 0);
}

}  // namespace
