// Hooks: a listener sees every kernel, copy, fence, allocation and region with the right fields, and nothing
// once it is removed.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <typeinfo>
#include <vector>

#include <strata/core/check.hpp>

#include "test_devices.hpp"

namespace {

using strata::EventKind;
using strata::HookEvent;
using strata::index_t;
using strata::MDArray;
using strata::rank;

// Keeps what it saw; pointers of events are valid during the callback only.
class Recorder : public strata::Listener {
 public:
  struct Seen {
    HookEvent event;
    std::string label, name, device, source_label;
  };
  Recorder() { strata::add_listener(*this); }
  ~Recorder() override { stop(); }
  void stop() {
    if (listening_) strata::remove_listener(*this);
    listening_ = false;
  }
  void on_event(const HookEvent& e) override {
    seen.push_back({e, e.label, strata::kernel_name(e), e.device, e.source_label});
  }
  std::vector<Seen> of(EventKind kind) const {
    std::vector<Seen> result;
    std::copy_if(seen.begin(), seen.end(), std::back_inserter(result),
                 [&](const Seen& s) { return s.event.kind == kind; });
    return result;
  }

  std::vector<Seen> seen;

 private:
  bool listening_ = true;
};

struct Fill {
  STRATA_FUNCTION void operator()(index_t i, auto x) const { x(i) = static_cast<double>(i); }
};
struct Total {
  STRATA_FUNCTION void operator()(index_t i, auto x, double& sum) const { sum += x(i); }
};

struct Sweep {};
struct TaggedFill {
  STRATA_FUNCTION void operator()(Sweep, index_t i, auto x) const { x(i) = 2.0 * static_cast<double>(i); }
};

template <class D>
class Hooks : public ::testing::Test {
 protected:
  using A = MDArray<double, D, rank<1>>;
};
TYPED_TEST_SUITE(Hooks, strata_tests::TestDevices, strata_tests::DeviceName);

TYPED_TEST(Hooks, KernelsAreSeenWithLabelDeviceAndItems) {
  const auto x = strata::create<typename TestFixture::A>("x", 50);
  Recorder recorder;

  strata::parallel_for("fill", 50, strata::with(Fill{}, x));
  strata::parallel_for(20, strata::with(Fill{}, x));
  strata::wait(TypeParam());

  const auto begin = recorder.of(EventKind::BeginFor), end = recorder.of(EventKind::EndFor);
  ASSERT_EQ(begin.size(), 2u);
  ASSERT_EQ(end.size(), 2u);
  EXPECT_EQ(begin[0].label, "fill");
  EXPECT_EQ(begin[0].device, strata_tests::device_name<TypeParam>());
  EXPECT_EQ(begin[0].event.instance, 0);
  EXPECT_EQ(begin[0].event.items, 50);
  EXPECT_EQ(begin[1].event.items, 20);
  EXPECT_NE(begin[1].name.find("Fill"), std::string::npos) << begin[1].name;
  EXPECT_EQ(begin[0].event.id, end[0].event.id);
  EXPECT_EQ(begin[1].event.id, end[1].event.id);
  EXPECT_NE(begin[0].event.id, begin[1].event.id);
}

TYPED_TEST(Hooks, ReductionsAreSeenAsSuch) {
  const auto x = strata::create<typename TestFixture::A>("x", 50);
  Recorder recorder;
  double sum = 0;

  strata::parallel_reduce("total", 50, strata::with(Total{}, x), strata::Sum(sum));

  const auto begin = recorder.of(EventKind::BeginReduce), end = recorder.of(EventKind::EndReduce);
  ASSERT_EQ(begin.size(), 1u);
  ASSERT_EQ(end.size(), 1u);
  EXPECT_EQ(begin[0].label, "total");
  EXPECT_EQ(begin[0].event.items, 50);
  EXPECT_EQ(begin[0].event.id, end[0].event.id);
}

TYPED_TEST(Hooks, CopiesAreSeenWithBothSidesAndBytes) {
  const auto x = strata::create<typename TestFixture::A>("x", 50);
  const auto y = strata::create<MDArray<double, strata::Serial, rank<1>>>("y", 50);
  Recorder recorder;

  strata::deep_copy(x, y);
  strata::deep_copy(x, 1.0);

  const auto begin = recorder.of(EventKind::BeginCopy), end = recorder.of(EventKind::EndCopy);
  ASSERT_EQ(begin.size(), 2u);
  ASSERT_EQ(end.size(), 2u);
  EXPECT_EQ(begin[0].label, "x");
  EXPECT_EQ(begin[0].source_label, "y");
  EXPECT_EQ(begin[0].event.bytes, 400u);
  EXPECT_STREQ(begin[0].event.destination.kind, TypeParam::memory_space::kind);
  EXPECT_STREQ(begin[0].event.source.kind, "Host");
  EXPECT_EQ(begin[0].event.destination_data, x.data());
  EXPECT_EQ(begin[0].event.source_data, y.data());
  EXPECT_EQ(begin[0].event.id, end[0].event.id);
  EXPECT_EQ(begin[1].source_label, "");
  EXPECT_EQ(begin[1].event.bytes, 400u);
}

TYPED_TEST(Hooks, AllocationsAreSeenFromBirthToDeath) {
  Recorder recorder;
  const void* data = nullptr;
  {
    const auto x = strata::create<typename TestFixture::A>("x", 50);
    data = x.data();
  }

  const auto born = recorder.of(EventKind::Allocate), died = recorder.of(EventKind::Deallocate);
  ASSERT_EQ(born.size(), 1u);
  ASSERT_EQ(died.size(), 1u);
  for (const auto& s : {born[0], died[0]}) {
    EXPECT_EQ(s.label, "x");
    EXPECT_EQ(s.event.bytes, 400u);
    EXPECT_EQ(s.event.destination_data, data);
    EXPECT_STREQ(s.event.destination.kind, TypeParam::memory_space::kind);
  }
}

TYPED_TEST(Hooks, FencesAreSeenWithTheirLabel) {
  const strata::Queue<TypeParam> queue;
  Recorder recorder;

  queue.wait("after the sweep");
  strata::wait(TypeParam(), "the end");

  const auto begin = recorder.of(EventKind::BeginFence), end = recorder.of(EventKind::EndFence);
  ASSERT_EQ(begin.size(), 2u);
  ASSERT_EQ(end.size(), 2u);
  EXPECT_EQ(begin[0].label, "after the sweep");
  EXPECT_NE(begin[0].event.queue, 0u);
  EXPECT_EQ(begin[0].device, strata_tests::device_name<TypeParam>());
  EXPECT_EQ(begin[1].label, "the end");
  EXPECT_EQ(begin[0].event.id, end[0].event.id);
}

TYPED_TEST(Hooks, TheZeroingOfANewArrayIsSeenAndThatOfAnUninitializedOneIsNot) {
  Recorder recorder;

  const auto x = strata::create<typename TestFixture::A>("x", 50);
  const auto y = strata::create<typename TestFixture::A>("y", 50, strata::uninitialized);

  const auto begin = recorder.of(EventKind::BeginInitialize), end = recorder.of(EventKind::EndInitialize);
  ASSERT_EQ(begin.size(), 1u);
  ASSERT_EQ(end.size(), 1u);
  EXPECT_EQ(begin[0].label, "x");
  EXPECT_EQ(begin[0].event.bytes, 400u);
  EXPECT_EQ(begin[0].device, strata_tests::device_name<TypeParam>());
  EXPECT_EQ(begin[0].event.id, end[0].event.id);
}

TYPED_TEST(Hooks, AReplayOfAGraphIsOneEventAndItsRecordingIsNone) {
  const auto x = strata::create<typename TestFixture::A>("x", 50);
  const auto y = strata::create<typename TestFixture::A>("y", 50);
  const strata::Queue<TypeParam> queue;
  Recorder recorder;

  const auto graph = strata::record(queue, [&] {
    strata::parallel_for("fill", strata::on(queue), 50, strata::with(Fill{}, x));
    strata::deep_copy(queue, y, x);
  });
  const std::size_t recorded =
      recorder.of(EventKind::BeginFor).size() + recorder.of(EventKind::BeginCopy).size();
  graph.launch(queue);
  graph.launch(queue);
  queue.wait();

  const auto begin = recorder.of(EventKind::BeginGraph), end = recorder.of(EventKind::EndGraph);
  EXPECT_EQ(recorded, 0u);
  ASSERT_EQ(begin.size(), 2u);
  ASSERT_EQ(end.size(), 2u);
  EXPECT_EQ(begin[0].label, "graph of " + std::to_string(graph.size()) + " operations");
  EXPECT_EQ(begin[0].event.items, graph.size());
  EXPECT_EQ(begin[0].device, strata_tests::device_name<TypeParam>());
  EXPECT_EQ(begin[0].event.queue, queue.state().id());
  EXPECT_EQ(begin[1].event.id, end[1].event.id);
  EXPECT_EQ(recorder.of(EventKind::BeginFor).size(), 0u);
  EXPECT_EQ(recorder.of(EventKind::BeginCopy).size(), 0u);
}

TYPED_TEST(Hooks, WorkBehindAGraphIsSeenAgain) {
  const auto x = strata::create<typename TestFixture::A>("x", 50);
  const strata::Queue<TypeParam> queue;
  Recorder recorder;

  strata::record(queue, [&] {
    strata::parallel_for(strata::on(queue), 50, strata::with(Fill{}, x));
  }).launch(queue);
  strata::parallel_for("behind", strata::on(queue), 50, strata::with(Fill{}, x));
  queue.wait();

  ASSERT_EQ(recorder.of(EventKind::BeginFor).size(), 1u);
  EXPECT_EQ(recorder.of(EventKind::BeginFor)[0].label, "behind");
}

TYPED_TEST(Hooks, KernelsWithATagAreNamedWithIt) {
  const auto x = strata::create<typename TestFixture::A>("x", 50);
  Recorder recorder;

  strata::parallel_for(strata::tagged<Sweep>(50), strata::with(TaggedFill{}, x));

  ASSERT_EQ(recorder.of(EventKind::BeginFor).size(), 1u);
  const std::string name = recorder.of(EventKind::BeginFor)[0].name;
  EXPECT_NE(name.find("TaggedFill/"), std::string::npos) << name;
  EXPECT_NE(name.find("Sweep"), std::string::npos) << name;
}

TYPED_TEST(Hooks, ErrorsNameKernelsWithTheirTagToo) {
  const auto x = strata::create<typename TestFixture::A>("x", 50);
  const strata::Queue<TypeParam> recorded, other;
  std::string message;

  try {
    const auto graph = strata::record(recorded, [&] {
      strata::parallel_for(strata::on(other), strata::tagged<Sweep>(50), strata::with(TaggedFill{}, x));
    });
  } catch (const strata::Error& error) {
    message = error.what();
  }

  EXPECT_NE(message.find("TaggedFill/"), std::string::npos) << message;
  EXPECT_NE(message.find("Sweep"), std::string::npos) << message;
}

TEST(HooksOfNobody, AFailedCheckNamesTheKernelWithItsTag) {
  strata::detail::CheckRecord record;
  record.state = 2;
  record.kind = strata::detail::FailedCheck::Assertion;
  record.assertion.set("i < n", "", "file.cpp", 7);

  try {
    strata::detail::throw_failed_check(record, "", typeid(TaggedFill).name(), typeid(Sweep).name());
    FAIL() << "nothing was thrown";
  } catch (const strata::AssertionFailed& error) {
    EXPECT_NE(std::string(error.what()).find("TaggedFill/(anonymous namespace)::Sweep: the assertion"),
              std::string::npos)
        << error.what();
  }
}

TEST(HooksOfRegions, SectionsKeepTheirNumber) {
  Recorder recorder;
  {
    strata::Section section("assembly");
    section.start();
    section.stop();
    section.start();
    section.stop();
  }

  ASSERT_EQ(recorder.seen.size(), 6u);
  EXPECT_EQ(recorder.seen[0].event.kind, EventKind::CreateSection);
  EXPECT_EQ(recorder.seen[3].event.kind, EventKind::StartSection);
  EXPECT_EQ(recorder.seen[4].event.kind, EventKind::StopSection);
  EXPECT_EQ(recorder.seen[5].event.kind, EventKind::DestroySection);
  for (const auto& seen : recorder.seen) {
    EXPECT_EQ(seen.label, "assembly");
    EXPECT_EQ(seen.event.id, recorder.seen[0].event.id);
  }
}

TEST(HooksOfRegions, RegionsNestAndMarksAreSeen) {
  Recorder recorder;
  {
    const strata::Region outer("outer");
    strata::push_region("inner");
    strata::mark("here");
    strata::pop_region();
  }

  ASSERT_EQ(recorder.seen.size(), 5u);
  EXPECT_EQ(recorder.seen[0].label, "outer");
  EXPECT_EQ(recorder.seen[1].label, "inner");
  EXPECT_EQ(recorder.seen[2].event.kind, EventKind::Mark);
  EXPECT_EQ(recorder.seen[2].label, "here");
  EXPECT_EQ(recorder.seen[3].event.kind, EventKind::PopRegion);
  EXPECT_EQ(recorder.seen[4].event.kind, EventKind::PopRegion);
}

TEST(HooksOfNobody, NothingIsCalledAfterRemovalAndOthersGoOn) {
  Recorder first, second;
  strata::mark("both");
  first.stop();
  strata::mark("second only");
  second.stop();
  strata::mark("nobody");

  EXPECT_EQ(first.seen.size(), 1u);
  EXPECT_EQ(second.seen.size(), 2u);
  EXPECT_FALSE(strata::detail::profiling::hooks_active());
}

TEST(HooksOfNobody, RemovingTwiceOrAStrangerIsHarmless) {
  Recorder recorder;
  recorder.stop();

  strata::remove_listener(recorder);

  EXPECT_FALSE(strata::detail::profiling::hooks_active());
}

}  // namespace
