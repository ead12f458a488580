// Graphs of tasks over arrays in files, of which a host holds so much at a time.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <strata/views/coherent/file_array.hpp>
#include <strata/views/coherent/file_storage.hpp>

#include "algorithms/tasks/task_fixture.hpp"
#include "core/files/file_size_limit.hpp"

namespace {

using namespace strata_tests;

// Arrays in files go through a host's memory that holds three of them.
TEST(TaskFiles, HostsHoldSoMuchOfThemAndNoMore) {
  constexpr index_t items = 1 << 13, bytes = items * index_t{sizeof(Word)};
  const std::string folder = ::testing::TempDir();
  TaskGraph graph("g");
  std::vector<Words> files;
  const auto begin = [&] {
    graph.clear();
    files.clear();
    for (int k = 0; k < 8; ++k)
      files.push_back(
          file_array<Word, rank<1>>(folder + "task_files_test_" + std::to_string(k), items, overwrite));
    for (int round = 0; round < 2; ++round)
      for (std::size_t k = 0; k < 8; ++k) {
        graph.launch("increment", items, Increment{}, inout(files[k]));
        graph.launch("add", items, Add{}, in(files[k]), inout(files[(k + 1) % 8]));
      }
  };
  std::vector<Word> expected(8);
  for (int round = 0; round < 2; ++round)
    for (std::size_t k = 0; k < 8; ++k) expected[(k + 1) % 8] += ++expected[k];
  TaskRunOptions options;
  options.host_memory = 3 * bytes;
  for (const std::string scheduler : {"eager", "darts", "data-aware"}) {
    begin();
    options.scheduler = scheduler;
    const TaskReport report = graph.run(on(Threads{}), options);
    EXPECT_GT(report.devices[0].bytes_in, 8 * bytes) << scheduler;
    EXPECT_GT(report.devices[0].bytes_out, 0) << scheduler;
    for (std::size_t k = 0; k < 8; ++k) EXPECT_EQ(Word(files[k](items - 1)), expected[k]) << scheduler;
  }
  options.host_memory = bytes + 1;
  EXPECT_THROW(graph.run(on(Threads{}), options), tasks::TaskError);
  options.host_memory = -1;
  EXPECT_THROW(graph.run(on(Threads{}), options), Error);
  for (int k = 0; k < 8; ++k) std::remove((folder + "task_files_test_" + std::to_string(k)).c_str());
}

// Bytes of a file that are in memory; -1: the system does not say, or its files are nowhere else.
index_t resident_bytes(const std::string& path) {
  constexpr long in_memory = 0x01021994;  // a file system, tmpfs
  struct statfs system {};
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (file < 0 || fstatfs(file, &system) != 0 || system.f_type == in_memory || fstat(file, &status) != 0)
    return -1;
  const std::size_t size = static_cast<std::size_t>(status.st_size),
                    page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const map = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  std::vector<unsigned char> pages((size + page - 1) / page);
  const bool is_known = map != MAP_FAILED && mincore(map, size, pages.data()) == 0;
  if (map != MAP_FAILED) munmap(map, size);
  if (!is_known) return -1;
  return static_cast<index_t>(page) *
         std::count_if(pages.begin(), pages.end(), [](unsigned char state) { return (state & 1) != 0; });
}

// What devices used of files has left the host's memory, too, but for what they still have.
TEST(TaskFiles, TheHostHoldsNoMoreOfThemThanDevices) {
  constexpr index_t items = 1 << 16, bytes = items * index_t{sizeof(Word)};
  constexpr std::size_t count = 16;
  const auto path = [](std::size_t k) {
    return ::testing::TempDir() + "task_files_of_devices_" + std::to_string(k);
  };
  std::vector<Words> files;
  TaskGraph graph("g");
  for (std::size_t k = 0; k < count; ++k)
    files.push_back(file_array<Word, rank<1>>(path(k), items, overwrite));
  for (int round = 0; round < 2; ++round)
    for (const Words& file : files) graph.launch("increment", items, Increment{}, inout(file));
  const auto resident = [&] {
    index_t all = 0;
    for (std::size_t k = 0; k < count; ++k) {
      const index_t here = resident_bytes(path(k));
      if (here < 0) return here;
      all += here;
    }
    return all;
  };
  coherent::set_budget(Emulated{0}, 4 * bytes);
  TaskRunOptions options;
  options.host_memory = 4 * bytes;
  options.on_host = true;

  graph.run(on(Emulated{0}), options);

  const index_t left = resident();
  for (const Words& file : files) EXPECT_EQ(Word(file(items - 1)), 2);
  coherent::set_budget(Emulated{0}, index_t{1} << 40);
  for (std::size_t k = 0; k < count; ++k) std::remove(path(k).c_str());
  if (left < 0) GTEST_SKIP() << "the system does not say what of files is in memory";
  EXPECT_LE(left, 6 * bytes);  // a page at each end besides
}

// A disk that is full is an error where the file is made, which gets all its blocks then: tasks over those
// that there are go on, and what is finished is right.
TEST(TaskFiles, AFullDiskIsAnErrorWhereAFileIsMade) {
  constexpr index_t items = 1 << 13;
  const std::string path = ::testing::TempDir() + "task_files_test_full_";
  std::optional<file_testing::FileSizeLimit> limit;
  TaskRunOptions options;
  options.host_memory = 2 * items * index_t{sizeof(Word)};
  std::vector<Words> files;
  const std::string text = message_of<FileError>([&] {
    TaskScope scope("files", on(Threads{}), options);
    for (int k = 0;; ++k) {
      if (k == 3) limit.emplace(1 << 13);  // the disk is full now
      files.push_back(file_array<Word, rank<1>>(path + std::to_string(k), items, overwrite));
      scope.launch("increment", items, Increment{}, inout(files.back()));
      if (k > 0) scope.launch("add", items, Add{}, in(files[std::size_t(k) - 1]), inout(files.back()));
    }
  });
  limit.reset();
  expect_parts(text, {path + "3"});
  ASSERT_EQ(files.size(), 3u);
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_EQ(Word(files[k](items - 1)), k + 1);
    std::remove((path + std::to_string(k)).c_str());
  }
}

// The disk is full when values are written back, between tasks and in the end: all tasks run that can, what
// was finished is right, and the error names a file. With room, save() writes what is not in its file.
TEST(TaskFiles, AFullDiskAtWriteBackIsAnErrorThatLosesNothing) {
  constexpr index_t items = 1 << 13, bytes = items * index_t{sizeof(Word)};
  constexpr std::size_t count = 6;
  const std::string path = ::testing::TempDir() + "task_files_test_write_back_";
  const auto run_all = [&](const auto& place, std::size_t first_full, std::size_t last_full) {
    std::vector<Words> files;
    for (std::size_t k = 0; k < count; ++k)
      files.push_back(file_array<Word, rank<1>>(path + std::to_string(k), items, overwrite));
    const auto set_full = [&](int error) {
      for (std::size_t k = first_full; k <= last_full; ++k)
        detail::file_storage_of(*files[k].state())->inject_write_error(error);
    };
    TaskGraph graph("files");
    for (std::size_t k = 0; k < count; ++k)
      for (const char* const label : {"first", "second"})
        graph.launch(label + std::to_string(k), items, Increment{}, inout(files[k]));
    TaskRunOptions options;
    options.host_memory = 2 * bytes;
    options.on_host = true;
    set_full(ENOSPC);

    std::string text;
    std::vector<Word> expected(count, 2);
    try {
      graph.run(place, options);
    } catch (const TaskFailed& error) {
      text = error.what();
      EXPECT_TRUE(error.lost.empty()) << text;
      for (const auto& labels : {error.failed, error.dropped})
        for (const std::string& label : labels) --expected[std::size_t(label.back() - '0')];
    }

    expect_parts(text, {"cannot write back", std::strerror(ENOSPC), "make room", path, "save()"});
    for (std::size_t k = 0; k < count; ++k) {
      if (k >= first_full && k <= last_full) EXPECT_THROW(save(files[k]), FileError);
      else save(files[k]);
    }
    set_full(0);
    for (const Words& file : files) save(file);
    files.clear();
    graph.clear();
    for (std::size_t k = 0; k < count; ++k) {
      const auto file = open_file_array<Word, rank<1>>(path + std::to_string(k), for_reading);
      EXPECT_EQ(Word(file(0)), expected[k]) << k << " of " << text;
      EXPECT_EQ(Word(file(items - 1)), expected[k]) << k << " of " << text;
      std::remove((path + std::to_string(k)).c_str());
    }
  };
  coherent::set_budget(Emulated{0}, 2 * bytes);
  run_all(on(Threads{}), 2, 2);
  run_all(on(Threads{}), 0, count - 1);
  run_all(on(Emulated{0}), 2, 2);
  run_all(on(Emulated{0}), 0, count - 1);
  coherent::set_budget(Emulated{0}, index_t{1} << 40);
}

// Random programs over arrays of which some are in files, on hosts and devices, by a graph or a scope.
void run_random_programs(int count) {
  Random draw;
  const std::string path = ::testing::TempDir() + "random_task_files_";
  const std::vector<std::string> names = tasks::scheduler_names();
  for (int trial = 0; trial < count && !::testing::Test::HasFatalFailure(); ++trial) {
    const TaskProgram program = TaskProgram::draw(draw, 25, draw(0, 1) == 0);
    std::vector<Words> arrays = initial_arrays(program);
    std::vector<std::string> files;
    for (std::size_t a = 0; a < arrays.size(); ++a) {
      if (draw(0, 2) == 0) continue;
      files.push_back(path + std::to_string(a));
      const Words in_file = file_array<Word, rank<1>>(files.back(), program.items, overwrite);
      const auto view = in_file.write();
      for (index_t i = 0; i < program.items; ++i) view(i) = TaskProgram::initial(a, i);
      arrays[a] = in_file;
    }
    TaskRunOptions options;
    options.scheduler = names[static_cast<std::size_t>(draw(0, static_cast<index_t>(names.size()) - 1))];
    options.window = static_cast<int>(draw(1, 50));
    options.host_memory = program.items * index_t{sizeof(Word)} * draw(3, 12);
    const auto add_steps = [&](auto& tasks) {
      for (const TaskProgram::Step& step : program.steps) add_step(tasks, step, arrays, "step");
    };
    const auto run = [&](const auto& place) {
      if (draw(0, 1) == 0) {
        TaskScope scope("random", place, options);
        add_steps(scope);
        scope.wait();
      } else {
        TaskGraph graph("random");
        add_steps(graph);
        graph.run(place, options);
      }
    };
    if (draw(0, 1) == 0) run(on(Threads{}));
    else run(across(Threads{}, Emulated{0}));
    ASSERT_TRUE(has_values(arrays, program.run_in_order())) << options.scheduler;
    for (const std::string& file : files) std::remove(file.c_str());
  }
}
TEST(TaskFiles, ProgramsGiveWhatTheyGiveInOrder) { run_random_programs(trials(30)); }
TEST(TaskFiles, ProgramsGiveWhatTheyGiveInOrderSlow) { run_random_programs(5000); }

}  // namespace
