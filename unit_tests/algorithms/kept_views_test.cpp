// A function of a task that keeps a view: in checked builds it is an error to use it on the host afterwards.
// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include <strata/algorithms/tasks/task_graph.hpp>

#include "messages.hpp"
#include "test_devices.hpp"

namespace {

using namespace strata;

TEST(KeptViews, OfFunctionsOfTasksExpire) {
  const CoherentArray<double, rank<1>> x("x", 10);
  std::function<double()> read;
  double value = 0;
  TaskGraph graph("keeps");
  graph.call<DeviceList<AnyHost>>(
      "keeps",
      [&](const Queue<AnyHost>&, const auto& view) {
        view(3) = 7;
        read = [view] { return static_cast<double>(view(3)); };
        value = read();
      },
      inout(x));
  graph.run(on(Threads{}));
  EXPECT_EQ(value, 7) << "in the function it may be used";
  EXPECT_EQ(static_cast<double>(x(3)), 7);
  if constexpr (checked_build) {
    const std::string text = strata_tests::message_of<OutOfBounds>([&] { static_cast<void>(read()); });
    strata_tests::expect_parts(text, {"after the end()", "the function of a task that got it"});
  }
}

}  // namespace
