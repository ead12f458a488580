// Kokkos Tools: what a library written against the C interface is told, in a process of its own. The library
// is profiling/recording_tool.cpp.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/child_process.hpp"

namespace {

using namespace child_testing;

class KokkosTools : public ChildProcess {
 protected:
  // What the library wrote while the program ran `arguments`.
  std::vector<std::string> recorded(const std::string& arguments, const std::string& variables = "") {
    output = run_watched(arguments, "RECORDING_FILE=" + file("calls") +
                                        " KOKKOS_TOOLS_LIBS=" + STRATA_RECORDING_TOOL + " " + variables);
    EXPECT_EQ(output.status, 0) << output.output;
    return lines_of(text_of(file("calls")));
  }

  Finished output{};
};

const std::string tool_fence = "Kokkos::Tools::invoke_kokkosp_callback: Kokkos Profile Tool Fence";

bool starts_with(const std::string& line, const std::string& start) { return line.rfind(start, 0) == 0; }

std::vector<std::string> without_fences(const std::vector<std::string>& calls) {
  std::vector<std::string> kept;
  for (const std::string& call : calls)
    if (!starts_with(call, "begin fence|" + tool_fence)) kept.push_back(call);
  return kept;
}

TEST_F(KokkosTools, StartInTheOrderOfKokkosAndEndOnce) {
  const auto calls = recorded("serial", "KOKKOS_TOOLS_ARGS='one  two'");

  ASSERT_GE(calls.size(), 5u);
  EXPECT_EQ(calls[0], "init|0|20240906|0|null");
  EXPECT_EQ(calls[1], "settings|1|1");
  EXPECT_EQ(calls[2], "interface|1|fence|zeros");
  EXPECT_EQ(calls[3], "args|3|watched_program|one|two");
  EXPECT_EQ(calls.back(), "finalize");
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "finalize"), 1);
}

TEST_F(KokkosTools, AreToldOfEverythingWithTheNamesOfKokkos) {
  const auto calls = recorded("serial");

  const std::vector<std::string> expected{
      "metadata|size|10", "push|outer", "push|inner", "allocate|Host|x|data|80",
      "begin for|Kokkos::View::initialization [x] via memset|0.0.1|1000", "end for|1000",
      "allocate|Host|y|data|80", "begin for|set|0.0.1|1001", "end for|1001",
      "begin for|(anonymous namespace)::Set|0.0.1|1002", "end for|1002",
      "begin for|(anonymous namespace)::TaggedSet/(anonymous namespace)::Twice|0.0.1|1003", "end for|1003",
      "begin reduce|total|0.0.1|1004", "end reduce|1004", "begin scan|running|0.0.1|1005", "end scan|1005",
      "begin copy|Host|y|Host|x|80", "end copy", "begin copy|Host|x|Host|Scalar|80", "end copy",
      // Queues have their own numbers; 0 is all of a device.
      "begin for|in a queue|0.0.2|1006", "end for|1006", "begin fence|wait for the queue|0.0.2|1007",
      "end fence|1007", "begin fence|wait for all|0.0.0|1008", "end fence|1008",
      // What is recorded is not told; a replay is one event.
      "begin for|graph of 2 operations|0.0.2|1009", "end for|1009",
      "begin for|graph of 2 operations|0.0.2|1010", "end for|1010", "begin fence|graphs|0.0.2|1011",
      "end fence|1011", "deallocate|Host|y|data|80", "deallocate|Host|x|data|80", "pop", "event|here",
      "create section|a section", "start section|77", "stop section|77", "pop", "destroy section|77",
      "finalize"};
  ASSERT_GE(calls.size(), 4u);
  EXPECT_EQ(std::vector<std::string>(calls.begin() + 4, calls.end()), expected);
}

TEST_F(KokkosTools, KnowDevicesByTheTypesAndSpacesOfKokkos) {
  const auto calls = recorded("emulated", "RECORDING_NO_FENCES=1");

  const auto has = [&](const std::string& call) {
    return std::find(calls.begin(), calls.end(), call) != calls.end();
  };
  EXPECT_TRUE(has("allocate|Cuda|x|data|80"));
  EXPECT_TRUE(has("begin for|set|2.0.1|1001"));
  EXPECT_TRUE(has("begin copy|Host|y|Cuda|x|80"));
  EXPECT_TRUE(has("begin fence|wait for all|2.0.0|1008"));
}

TEST_F(KokkosTools, GetAFenceBeforeBeginAndEndOfKernelsAndRegionsIfTheyAskForIt) {
  const auto calls = recorded("emulated");

  // The device starts with the first allocation: there was nothing to wait for before that.
  auto at = std::find(calls.begin(), calls.end(), "allocate|Cuda|x|data|80");
  ASSERT_NE(at, calls.end());
  int fenced = 0;
  for (++at; at != calls.end(); ++at) {
    const bool wanted = starts_with(*at, "begin for|") || starts_with(*at, "begin reduce|") ||
                        starts_with(*at, "begin scan|") || starts_with(*at, "end for|") ||
                        starts_with(*at, "end reduce|") || starts_with(*at, "end scan|") ||
                        starts_with(*at, "push|") || *at == "pop";
    const bool fence = starts_with(*(at - 1), "end fence|") &&
                       starts_with(*(at - 2), "begin fence|" + tool_fence + "|2.0.0|");
    EXPECT_EQ(fence, wanted) << *at;
    fenced += wanted;
    if (starts_with(*at, "begin fence|" + tool_fence)) ++at;  // and its end
  }
  EXPECT_EQ(fenced, 20);  // nine kernels and two regions' ends
}

TEST_F(KokkosTools, GetNoFenceIfTheyAskForNone) {
  const auto calls = recorded("emulated", "RECORDING_NO_FENCES=1");

  EXPECT_EQ(without_fences(calls), calls);
}

TEST_F(KokkosTools, EndWhatTheyBeganAlsoIfTheyLeaveTheNumberAlone) {
  const auto calls = recorded("serial", "RECORDING_IDS=keep");

  std::map<std::string, int> open;
  int pairs = 0;
  for (const std::string& call : calls) {
    const std::string number = call.substr(call.rfind('|') + 1);
    if (starts_with(call, "begin") && !starts_with(call, "begin copy")) ++open[number];
    if (starts_with(call, "end") && call != "end copy") {
      EXPECT_EQ(open[number]--, 1) << call;
      ++pairs;
    }
  }
  EXPECT_EQ(pairs, 12);
  EXPECT_TRUE(std::all_of(open.begin(), open.end(), [](const auto& entry) { return entry.second == 0; }));
}

TEST_F(KokkosTools, MayWaitForDevicesThemselves) {
  const auto calls = recorded("mark");

  EXPECT_NE(std::find(calls.begin(), calls.end(), "event|fence, please"), calls.end());
  EXPECT_EQ(calls.back(), "finalize");
}

TEST_F(KokkosTools, AreCalledByOneThreadAtATime) {
  const auto calls = recorded("threads");

  EXPECT_EQ(std::count(calls.begin(), calls.end(), "two threads at once"), 0);
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "push|of a thread"), 200);
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "pop"), 200);
}

TEST_F(KokkosTools, LeaveTheErrorsOfQueuesToTheProgram) {
  recorded("failing");

  EXPECT_EQ(output.output, "the error arrived\n");
}

TEST_F(KokkosTools, AreNamedOnTheCommandLineToo) {
  const std::string tool = STRATA_RECORDING_TOOL;
  const Finished run =
      run_watched("serial with-runtime input --kokkos-tools-libs=" + tool +
                      " --kokkos-tools-args 'a b' --kokkos-num-threads=3 -- --kokkos-tools-help",
                  "RECORDING_FILE=" + file("calls"));

  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.output,
            "argument serial\nargument with-runtime\nargument input\nargument --kokkos-num-threads=3\n"
            "argument --\nargument --kokkos-tools-help\n");
  const auto calls = lines_of(text_of(file("calls")));
  ASSERT_GE(calls.size(), 4u);
  EXPECT_EQ(calls[3], "args|3|watched_program|a|b");
}

TEST_F(KokkosTools, PrintTheirHelpOnRequest) {
  const std::string tool = STRATA_RECORDING_TOOL;
  const Finished run = run_watched("serial with-runtime --kokkos-tools-help --strata-tools-libs=" + tool,
                                   "RECORDING_FILE=" + file("calls"));

  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.output, "help of the recording tool\n");
}

TEST_F(KokkosTools, AreTheFirstOfAList) {
  const Finished run =
      run_watched("nothing with-runtime", "RECORDING_FILE=" + file("calls") + " KOKKOS_PROFILE_LIBRARY='" +
                                              STRATA_RECORDING_TOOL + ";/no/such/library.so'");

  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.output.find("warning"), std::string::npos) << run.output;
  EXPECT_EQ(lines_of(text_of(file("calls"))).size(), 5u);
}

TEST_F(KokkosTools, WhichAreMissingAreWarnedOfAndTheProgramGoesOn) {
  const Finished run = run_watched("serial", "KOKKOS_TOOLS_LIBS=/no/such/library.so");

  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(
      run.output,
      "strata: warning: the tools library \"/no/such/library.so\" (from the environment variable "
      "KOKKOS_TOOLS_LIBS) cannot be loaded, the program goes on without it: /no/such/library.so: cannot "
      "open shared object file: No such file or directory\n");
}

TEST_F(KokkosTools, AreToldOfNoEndWhoseBeginTheyDidNotSee) {
  const std::string tool = STRATA_RECORDING_TOOL;
  const Finished run = run_watched("late-tool --kokkos-tools-libs=" + tool,
                                   "RECORDING_FILE=" + file("calls") + " STRATA_TRACE=" + file("trace.json"));

  EXPECT_EQ(run.status, 0) << run.output;
  const auto calls = lines_of(text_of(file("calls")));
  ASSERT_GE(calls.size(), 4u);
  EXPECT_EQ(std::vector<std::string>(calls.begin() + 4, calls.end()),
            (std::vector<std::string>{"push|behind", "pop", "finalize"}));
}

TEST_F(KokkosTools, AfterTheFirstAreWarnedOfAndNotLoaded) {
  recorded("late-tool --kokkos-tools-libs=libm.so.6");

  EXPECT_EQ(output.output,
            "strata: warning: the tools library \"libm.so.6\" (from the setting tools_libs) is not loaded: "
            "another one is, and a program has one\n");
}

TEST_F(KokkosTools, WhichAreNoneAreWarnedOf) {
  const Finished run = run_watched("serial", "KOKKOS_TOOLS_LIBS=libm.so.6");

  EXPECT_EQ(run.status, 0);
  EXPECT_NE(
      run.output.find("\"libm.so.6\" (from the environment variable KOKKOS_TOOLS_LIBS) has no function"),
      std::string::npos)
      << run.output;
}

// As a program of another user, its environment is that of whoever calls it.
TEST_F(KokkosTools, AndFilesThatTheEnvironmentNamesAreLeftToProgramsWithTheRightsOfTheirUser) {
  struct statvfs mount {};
  statvfs(folder.c_str(), &mount);
  if (geteuid() != 0 || (mount.f_flag & ST_NOSUID) != 0) GTEST_SKIP() << "no programs of another user here";
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "LeakSanitizer may not look at a program with other rights than its user";
#endif
  constexpr uid_t nobody = 65534;
  const std::string program = file("program");
  std::filesystem::copy_file(STRATA_WATCHED_PROGRAM, program);
  ASSERT_EQ(chmod(folder.c_str(), 0777), 0);
  ASSERT_EQ(chown(program.c_str(), nobody, nobody), 0);
  const std::string variables =
      "RECORDING_FILE=" + file("calls") + " STRATA_TOOLS_LIBS=" + STRATA_RECORDING_TOOL +
      " KOKKOS_TOOLS_LIBS=" + STRATA_RECORDING_TOOL + " STRATA_TRACE=" + file("trace");
  for (const bool is_trusted : {true, false}) {
    ASSERT_EQ(chmod(program.c_str(), is_trusted ? 0755 : 04755), 0);
    std::filesystem::remove(file("calls"));
    std::filesystem::remove(file("trace"));

    const Finished run = run_watched("serial", variables, program);

    EXPECT_EQ(run.status, 0) << run.output;
    EXPECT_EQ(std::filesystem::exists(file("calls")), is_trusted) << run.output;
    EXPECT_EQ(std::filesystem::exists(file("trace")), is_trusted) << run.output;
    for (const char* name : {"STRATA_TOOLS_LIBS is ignored", "give the option --strata-trace"})
      EXPECT_EQ(run.output.find(name) == std::string::npos, is_trusted) << run.output;
  }
}

}  // namespace
