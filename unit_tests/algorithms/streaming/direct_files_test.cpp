// Arrays in files that the device reads and writes itself.
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <stdexcept>
#include <string>

#include <stdlib.h>

#include <strata/algorithms/streaming/streamed_iterate.hpp>
#include <strata/algorithms/streaming/streamed_reduce.hpp>
#include <strata/core/error.hpp>
#include <strata/views/coherent/file_array.hpp>
#include <strata/views/coherent/file_storage.hpp>

#include "messages.hpp"
#include "sequence_fixture.hpp"
#include "stream_kernels.hpp"

namespace {

using namespace stream_test;

class DirectFiles : public ::testing::Test {
 protected:
  DirectFiles() {
    directory_ = (std::filesystem::temp_directory_path() / "strata_direct_files_XXXXXX").string();
    if (mkdtemp(directory_.data()) == nullptr) throw std::runtime_error("no temporary directory");
  }
  ~DirectFiles() override { std::filesystem::remove_all(directory_); }
  void SetUp() override {
    emulated::Config config = emulated::default_config();
    config.reads_files = true;
    emulated::configure(config);
  }
  void TearDown() override {
    emulated::clear_faults();
    EXPECT_NO_THROW(wait(Emulated{0}));
    emulated::configure(emulated::default_config());
  }
  std::string path(const char* name) const { return directory_ + "/" + name; }

 private:
  std::string directory_;
};

index_t copied(const StreamReport& report) { return report.bytes_to_device + report.bytes_to_host; }

TEST_F(DirectFiles, WholeBlocksNeverComeToTheHost) {
  const index_t n = 300 * 512;
  const auto x = file_array<double, rank<1>>(path("x"), n), y = file_array<double, rank<1>>(path("y"), n);
  fill(x);
  const StreamReport report = launch(streamed(Emulated{0}, 1 << 19), n, Axpy{2}, in(x), inout(y));
  EXPECT_GT(report.slices, 3);
  EXPECT_EQ(copied(report), 3 * n * 8);
  EXPECT_EQ(report.bytes_direct, copied(report));
  EXPECT_NE(report.explain().find("between files and the device itself"), std::string::npos)
      << report.explain();
  // The file's next user sees what the device wrote, by the mapping and by reading.
  EXPECT_EQ(values(y)[1000], 2 * start_value(1000));
  const StreamReport again = launch(streamed(Threads{}, 1 << 19), n, Axpy{1}, in(x), inout(y));
  EXPECT_EQ(again.bytes_direct, 0);
  const auto got = values(y);
  for (index_t i = 0; i < n; ++i)
    ASSERT_EQ(got[static_cast<std::size_t>(i)], 2 * start_value(i) + start_value(i)) << i;
}
TEST_F(DirectFiles, LoopsOneAfterTheOther) {
  const sequence_test::Mesh mesh(9000, 12000, 30, 5);
  sequence_test::Arrays arrays(mesh);
  sequence_test::move_to_files(arrays, path("x"), path("state"));
  Sequence steps("steps", streamed(Emulated{0}, 1 << 19).steps_per_pass(2));
  steps.temporary(arrays.force);
  sequence_test::add_loops(steps, mesh, arrays);

  const StreamReport report = steps.run(5);

  EXPECT_GT(report.bytes_direct, 0);
  sequence_test::InCore expected(mesh);
  for (int step = 0; step < 5; ++step) expected.elements(step), expected.nodes();
  sequence_test::expect_same(arrays, expected, "in files");
}
TEST_F(DirectFiles, PartsOfBlocksGoThroughTheHost) {
  const index_t n = 100003;
  const auto x = file_array<double, rank<1>>(path("x"), n), y = file_array<double, rank<1>>(path("y"), n);
  fill(x);
  fill(y);
  const auto before = values(y);
  const StreamReport report = launch(streamed(Emulated{0}, 1 << 18), range(5, n), Axpy{2}, in(x), inout(y));
  EXPECT_GT(report.bytes_direct, copied(report) / 2);
  EXPECT_LT(report.bytes_direct, copied(report));
  const auto got = values(y);
  for (index_t i = 0; i < n; ++i) {
    const double old = before[static_cast<std::size_t>(i)];
    ASSERT_EQ(got[static_cast<std::size_t>(i)], i < 5 ? old : old + 2 * start_value(i)) << i;
  }
}
TEST_F(DirectFiles, StepsInPlaceOverManyPasses) {
  for (const index_t n : {index_t{60000}, index_t{120 * 512}}) {
    CoherentArray<double, rank<1>> a("a", n), b("b", n);
    const auto u = file_array<double, rank<1>>(path("u") + std::to_string(n), n);
    fill(a);
    fill(b);
    fill(u);
    in_core(Serial{}, range(1, n - 1), 23, Step1{1, 1}, a, b, halo(1, 1));
    const StreamReport report = streamed_iterate(streamed(Emulated{0}, 1 << 18).steps_per_pass(4), 23,
                                                 Step1{1, 1}, state(u, halo(1, 1)));
    EXPECT_EQ(report.passes, 6);
    EXPECT_GT(report.bytes_direct, copied(report) / 2);
    EXPECT_EQ(values(u), values(a)) << n;
  }
}
TEST_F(DirectFiles, SlicesThatTheUserAsksForStayAsTheyAre) {
  const index_t n = 5000;
  const auto x = file_array<double, rank<2>, LayoutRight>(path("x"), n, 3),
             y = file_array<double, rank<2>, LayoutRight>(path("y"), n, 3),
             z = file_array<double, rank<2>, LayoutRight>(path("z"), n, 3);
  fill(x);
  fill(y);
  // Whole blocks are 512 rows of 24 bytes: neither what is asked for, nor within this budget.
  const StreamReport report =
      launch(streamed(Emulated{0}, 1 << 15).chunk(100), n, Triad{}, in(x), in(y), out(z));
  EXPECT_EQ(report.chunk, 100);
  EXPECT_EQ(report.slices, 50);
  launch(streamed(Emulated{0}, 1 << 15), n, Triad{}, in(x), in(y), out(z));
  const auto a = values(x), b = values(y), got = values(z);
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], a[i] + 0.5 * b[i]) << i;
}
TEST_F(DirectFiles, SeveralDevicesLeaveThemToTheHost) {
  const index_t n = 100 * 512;
  const auto x = file_array<double, rank<1>>(path("x"), n), y = file_array<double, rank<1>>(path("y"), n);
  fill(x);
  const StreamReport report =
      launch(streamed(across(Emulated{0}, Emulated{1}), 1 << 18), n, Axpy{2}, in(x), inout(y));
  EXPECT_EQ(report.devices, 2);
  EXPECT_EQ(report.bytes_direct, 0);
  EXPECT_EQ(values(y)[1000], 2 * start_value(1000));
}
TEST_F(DirectFiles, FailuresAreToldAndTheFileIsNotComplete) {
  const index_t n = 100 * 512;
  for (const int transfer : {1, 4, 20}) {
    const std::string name = path("y") + std::to_string(transfer);
    const std::string message = strata_tests::message_of<DataLost>([&] {
      const auto x = file_array<double, rank<1>>(name + "x", n), y = file_array<double, rank<1>>(name, n);
      fill(x);
      save(x);
      save(y);
      emulated::fail(emulated::Fault::Copy, transfer);
      launch(streamed(Emulated{0}, 1 << 17), n, Axpy{2}, in(x), inout(y));
    });
    EXPECT_NE(message.find(name), std::string::npos) << message;
    EXPECT_THROW((open_file_array<double, rank<1>>(name)), FileError);
  }
}

}  // namespace
