// The trace: valid JSON with the right spans on the right tracks, whatever happens to its file.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <thread>

#include <nlohmann/json.hpp>

#include <strata/core/profiling/hooks.hpp>
#include <strata/core/profiling/trace.hpp>

#include "core/child_process.hpp"

namespace {

using namespace child_testing;
using nlohmann::json;

class Trace : public ChildProcess {
 protected:
  json trace(const std::string& arguments) {
    const Finished run = run_watched(arguments, "STRATA_TRACE=" + file("trace.json"));
    EXPECT_EQ(run.status, 0) << run.output;
    EXPECT_EQ(run.output, "");
    return json::parse(text_of(file("trace.json")));
  }
};

// Events of one phase, by name where one is given.
std::vector<json> of(const json& trace, const std::string& phase, const std::string& name = "") {
  std::vector<json> found;
  for (const json& event : trace)
    if (event["ph"] == phase && (name.empty() || event["name"] == name)) found.push_back(event);
  return found;
}

std::string track_name(const json& trace, const json& event) {
  for (const json& named : of(trace, "M", "thread_name"))
    if (named["pid"] == event["pid"] && named["tid"] == event["tid"]) return named["args"]["name"];
  return "";
}

double begin_of(const json& span) { return span["ts"]; }
double end_of(const json& span) { return span["ts"].get<double>() + span["dur"].get<double>(); }

// Spans of one track are disjoint, or one lies in the other: else no picture can be drawn. Times are printed
// to a nanosecond.
void expect_nested(const json& trace) {
  std::map<std::pair<int, int>, std::vector<json>> tracks;
  for (const json& span : of(trace, "X")) tracks[{span["pid"], span["tid"]}].push_back(span);
  const double slack = 0.002;
  for (const auto& [track, spans] : tracks)
    for (std::size_t i = 0; i < spans.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) {
        const double a0 = begin_of(spans[i]), a1 = end_of(spans[i]);
        const double b0 = begin_of(spans[j]), b1 = end_of(spans[j]);
        const bool disjoint = a1 <= b0 + slack || b1 <= a0 + slack;
        const bool nested = (a0 + slack >= b0 && a1 <= b1 + slack) || (b0 + slack >= a0 && b1 <= a1 + slack);
        EXPECT_TRUE(disjoint || nested) << spans[i] << "\n" << spans[j];
      }
}

TEST_F(Trace, HasKernelsCopiesAndGraphsOnTheTracksOfTheirQueues) {
  const json all = trace("serial");

  for (const char* name : {"set", "total", "running", "copy x to y", "fill x", "initialize x"}) {
    const auto spans = of(all, "X", name);
    ASSERT_EQ(spans.size(), 1u) << name;
    EXPECT_EQ(track_name(all, spans[0]), "Serial{0} default queue");
    EXPECT_GE(spans[0]["dur"].get<double>(), 0.0);
  }
  EXPECT_EQ(track_name(all, of(all, "X", "in a queue").at(0)), "Serial{0} queue 1");
  EXPECT_EQ(of(all, "X", "graph of 2 operations").size(), 2u);
  EXPECT_EQ(of(all, "X", "recorded").size(), 0u);
  EXPECT_EQ(of(all, "X", "copy x to y").at(0)["args"]["bytes"], 80);
  expect_nested(all);
}

TEST_F(Trace, HasRegionsAroundWhatHappensInThem) {
  const json all = trace("serial");

  const json outer = of(all, "X", "outer").at(0), inner = of(all, "X", "inner").at(0);
  EXPECT_EQ(track_name(all, outer), "main thread");
  EXPECT_EQ(outer["tid"], inner["tid"]);
  EXPECT_LE(begin_of(outer), begin_of(inner));
  EXPECT_GE(end_of(outer), end_of(inner));
  for (const char* name : {"set", "total", "wait for the queue"}) {
    const json span = of(all, "X", name).at(0);
    EXPECT_LE(begin_of(inner), begin_of(span)) << name;
    EXPECT_GE(end_of(inner), end_of(span)) << name;
  }
}

TEST_F(Trace, HasTheBytesHeldOfEachMemory) {
  const json all = trace("serial");

  std::vector<int> held;
  for (const json& counter : of(all, "C", "bytes in Host")) held.push_back(counter["args"]["bytes"]);
  EXPECT_EQ(held, (std::vector<int>{80, 160, 80, 0}));
  EXPECT_EQ(of(all, "i", "allocate x").size(), 1u);
  EXPECT_EQ(of(all, "i", "free x").size(), 1u);
}

TEST_F(Trace, HasMarksMetadataAndSections) {
  const json all = trace("serial");

  EXPECT_EQ(of(all, "i", "here").size(), 1u);
  EXPECT_EQ(of(all, "i", "size").at(0)["args"]["value"], "10");
  const json begin = of(all, "b", "a section").at(0), end = of(all, "e", "a section").at(0);
  EXPECT_EQ(begin["id"], end["id"]);
  EXPECT_LE(begin_of(begin), begin_of(end));
}

TEST_F(Trace, HasTheVirtualTimeOfEmulatedOnTracksOfItsOwn) {
  const json all = trace("emulated");

  const auto spans = of(all, "X", "set");
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_NE(spans[0]["pid"], spans[1]["pid"]);
  const json& virtual_span = spans[0]["cat"] == "device" ? spans[0] : spans[1];
  EXPECT_EQ(track_name(all, virtual_span), "Emulated{0} default queue");
  // Five microseconds of latency, and a nanosecond for each of the ten items.
  EXPECT_NEAR(virtual_span["dur"].get<double>(), 5.01, 0.002);
  // Replays are one event, whose parts the device still places in its time.
  EXPECT_EQ(of(all, "X", "recorded").size(), 2u);
  expect_nested(all);
}

TEST_F(Trace, ShowsThreadsThatShareAQueueSideBySide) {
  const json all = trace("threads");

  EXPECT_EQ(of(all, "X", "serial").size(), 200u);
  EXPECT_EQ(of(all, "X", "of a thread").size(), 200u);
  expect_nested(all);
}

TEST_F(Trace, HasDecimalPointsAlsoWhereTheUserHasCommas) {
  const std::string make = "localedef -i de_DE -f ISO-8859-1 '" + file("de_DE") + "' >/dev/null 2>&1";
  if (std::system(make.c_str()) != 0) GTEST_SKIP() << "no German locale could be made";

  const Finished run =
      run_watched("german", "LOCPATH='" + folder.string() + "' STRATA_TRACE=" + file("trace.json"));

  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.output, "1.50 KiB\n");
  EXPECT_EQ(of(json::parse(text_of(file("trace.json"))), "X", "set").size(), 1u);
}

TEST_F(Trace, NamesKernelsToTheVeryEnd) {
  const json all = trace("at-exit");

  EXPECT_EQ(of(all, "X", "(anonymous namespace)::Set").size(), 2u);
  EXPECT_EQ(of(all, "X", "(anonymous namespace)::SetByTeam").size(), 2u);
}

TEST_F(Trace, IsThatOfTheParentOnlyWhenAProcessForks) {
  const json all = trace("forking");

  EXPECT_EQ(of(all, "X", "before").size(), 1u);
  EXPECT_EQ(of(all, "X", "behind").size(), 1u);
  EXPECT_EQ(of(all, "i", "of the child").size(), 0u);
}

TEST_F(Trace, IsOneOnlyHoweverManyThreadsStartIt) {
  const auto start_many = [&](const std::string& name) {
    for (int k = 0; k < 100; ++k) strata::start_trace(file(name));
  };

  std::thread other(start_many, "other.json");
  start_many("own.json");
  other.join();
  strata::stop_trace();

  EXPECT_FALSE(strata::detail::profiling::hooks_active());
}

TEST_F(Trace, IsCompleteAfterAnExceptionThatNobodyCatches) {
  const Finished run = run_watched("throw", "STRATA_TRACE=" + file("trace.json"));

  EXPECT_NE(run.status, 0);
  EXPECT_NE(run.output.find("nobody catches this"), std::string::npos) << run.output;
  const json all = json::parse(text_of(file("trace.json")));
  EXPECT_EQ(of(all, "X", "initialize x").size(), 1u);
  EXPECT_EQ(of(all, "X", "thrown in").size(), 1u);  // it was open
}

TEST_F(Trace, GoesToTheFolderOfTemporaryFilesWhereItsFileCannotBeWritten) {
  for (const std::string bad : {"/no/such/folder/trace.json", "/dev/full"}) {
    const Finished run = run_watched("serial", "TMPDIR=" + folder.string() + " STRATA_TRACE=" + bad);

    EXPECT_EQ(run.status, 0);
    const std::string begin = "strata: error: the trace cannot be written to \"" + bad + "\": ";
    EXPECT_EQ(run.output.find(begin), 0u) << run.output;
    const std::size_t from = run.output.find(folder.string());
    ASSERT_NE(from, std::string::npos) << run.output;
    const std::string path = run.output.substr(from, run.output.find('"', from) - from);
    EXPECT_EQ(of(json::parse(text_of(path)), "X", "set").size(), 1u);
  }
}

TEST_F(Trace, NamesWhatIsLostWhereNothingCanBeWritten) {
  const Finished run =
      run_watched("serial", "TMPDIR=/no/such/temporary/folder STRATA_TRACE=/no/such/folder/trace.json");

  EXPECT_EQ(run.status, 0);
  EXPECT_NE(run.output.find("nor to \"/no/such/temporary/folder"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("bytes of the trace are lost"), std::string::npos) << run.output;
}

TEST_F(Trace, TakesTheNumberOfTheProcessIntoTheNameOfItsFile) {
  run_watched("serial", "STRATA_TRACE=" + file("trace-%p.json"));

  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  ASSERT_EQ(names.size(), 1u);
  EXPECT_EQ(names[0].find('%'), std::string::npos);
  EXPECT_GT(names[0].size(), std::string("trace-.json").size());
}

}  // namespace
