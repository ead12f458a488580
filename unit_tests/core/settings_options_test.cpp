// Settings on the command line: what is taken out of it, what errors say, and the help.
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <strata/core/error.hpp>
#include <strata/core/settings.hpp>
#include <strata/core/settings_table.hpp>

#include "settings_fixture.hpp"

namespace {

using namespace settings_testing;
using strata::set_setting;
using strata::Settings;
using strata::settings;
using strata::SettingSource;

using SettingsOptionsTest = SettingsTest;

std::string message_for(std::vector<std::string> arguments) {
  return message_of<strata::SettingError>([&] { CommandLine(std::move(arguments)).parse(); });
}

TEST_F(SettingsOptionsTest, AreTakenOutOfTheCommandLineAndTheRestIsLeftInOrder) {
  CommandLine line({"input", "--strata-threads=3", "-v", "--strata-emulated-capacity", "2GiB", "--strata",
                    "--strata-emulated_count=4", "output"});

  const bool help = line.parse();

  EXPECT_FALSE(help);
  EXPECT_EQ(line.rest(), "input -v --strata output");
  EXPECT_EQ(settings().threads, 3);
  EXPECT_EQ(settings().emulated_capacity, strata::index_t{2} << 30);
  EXPECT_EQ(settings().emulated_count, 4);
  EXPECT_EQ(description("threads").source, SettingSource::CommandLine);
}

TEST_F(SettingsOptionsTest, ParsingStopsAtTwoDashes) {
  CommandLine line({"--strata-threads=3", "--", "--strata-threads=4", "--strata-nonsense"});

  line.parse();

  EXPECT_EQ(line.rest(), "-- --strata-threads=4 --strata-nonsense");
  EXPECT_EQ(settings().threads, 3);
}

TEST_F(SettingsOptionsTest, TheLastOfRepeatedOptionsCounts) {
  CommandLine line({"--strata-threads=3", "--strata-threads", "5"});

  line.parse();

  EXPECT_EQ(settings().threads, 5);
  EXPECT_EQ(line.rest(), "");
}

TEST_F(SettingsOptionsTest, ATruthValueMayBeLeftOutAndTakesTheNextArgumentOnlyIfItIsOne) {
  CommandLine line({"--strata-pin", "no", "--strata-print-config", "input"});

  line.parse();

  EXPECT_FALSE(settings().pin);
  EXPECT_TRUE(settings().print_config);
  EXPECT_EQ(line.rest(), "input");
}

TEST_F(SettingsOptionsTest, AnEmptyCommandLineIsLeftAlone) {
  char* nothing[] = {nullptr};
  int count = 0;

  EXPECT_FALSE(strata::parse_settings(count, nothing));
  EXPECT_EQ(count, 0);
}

TEST_F(SettingsOptionsTest, AnUnknownOptionIsAnErrorWithTheNearestName) {
  EXPECT_EQ(message_for({"--strata-emulated-cuont=3"}),
            "the option --strata-emulated-cuont is not a setting of Strata; the nearest one is "
            "--strata-emulated-count (--strata-help lists all)");
  EXPECT_TRUE(contains(message_for({"--strata-spin", "3"}), "the nearest one is --strata-pin"));
  EXPECT_TRUE(contains(message_for({"--strata-help=all"}), "--strata-help lists all"));
}

TEST_F(SettingsOptionsTest, AValueThatDoesNotFitSaysNameValueOriginAndWhatIsExpected) {
  EXPECT_EQ(
      message_for({"--strata-threads=lots"}),
      "the setting threads cannot be \"lots\" (from the command line, --strata-threads); expected an integer "
      "from 0 to 65536");
  EXPECT_EQ(
      message_for({"--strata-pin=maybe"}),
      "the setting pin cannot be \"maybe\" (from the command line, --strata-pin); expected true or false");
  EXPECT_EQ(
      message_for({"--strata-emulated-capacity", "8GX"}),
      "the setting emulated_capacity cannot be \"8GX\" (from the command line, --strata-emulated-capacity); "
      "expected bytes (such as 512MiB) of at least 1 B");
  EXPECT_EQ(message_for({"--strata-emulated-host-bandwidth=0"}),
            "the setting emulated_host_bandwidth cannot be \"0\" (from the command line, "
            "--strata-emulated-host-bandwidth); expected a number from 0.001 to 1000000");
  EXPECT_TRUE(contains(message_for({"--strata-device="}), "expected text that is not empty"));
  for (const char* value : {"slab", "", ", ", "slabs, async"})
    EXPECT_EQ(message_for({std::string("--strata-cuda-allocator=") + value}),
              std::string("the setting cuda_allocator cannot be \"") + value +
                  "\" (from the command line, --strata-cuda-allocator); expected one of slabs, async");
}

TEST_F(SettingsOptionsTest, AnOptionWithoutItsValueIsAnError) {
  const std::string expected =
      "the option --strata-threads has no value; write --strata-threads=VALUE, an integer from 0 to 65536";

  EXPECT_EQ(message_for({"--strata-threads"}), expected);
  EXPECT_EQ(message_for({"--strata-threads", "--strata-pin=no"}), expected);
  EXPECT_EQ(message_for({"--strata-threads", "--", "4"}), expected);
}

TEST_F(SettingsOptionsTest, AnOptionOfKokkosWithoutItsValueIsAnErrorInItsOwnName) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--kokkos-tools-libs"}, {"--kokkos-tools-libs", "--", "input"}}) {
    CommandLine line(arguments);

    EXPECT_EQ(message_of<strata::SettingError>(
                  [&] { strata::detail::take_kokkos_options(line.count, line.pointers.data()); }),
              "the option --kokkos-tools-libs has no value; write --kokkos-tools-libs=VALUE, text");
    EXPECT_EQ(line.count, static_cast<int>(arguments.size()) + 1);
  }
}

TEST_F(SettingsOptionsTest, AnErrorLeavesSettingsAndArgumentsAsTheyWere) {
  CommandLine line({"--strata-threads=3", "input", "--strata-spin-us=soon"});

  EXPECT_THROW(line.parse(), strata::SettingError);

  EXPECT_EQ(line.rest(), "--strata-threads=3 input --strata-spin-us=soon");
  EXPECT_EQ(settings(), Settings{});
}

TEST_F(SettingsOptionsTest, HelpShowsEachSettingWithTypeDefaultValueAndSource) {
  set_variable("STRATA_EMULATED_CAPACITY", "1536MiB");
  set_setting(&Settings::emulated_count, 4);
  CommandLine({"--strata-emulated-copy-latency-us=0.5"}).parse();

  const std::string help = strata::settings_help();

  EXPECT_TRUE(contains(help,
                       "  --strata-emulated-count  (STRATA_EMULATED_COUNT)\n"
                       "      instances of Emulated\n"
                       "      an integer from 1 to 16; default 2; now 4, set by the program\n"));
  EXPECT_TRUE(contains(
      help, "bytes (such as 512MiB) of at least 1 B; default 8 GiB; now 1610612736 B, from the env"));
  EXPECT_TRUE(contains(help, "default 10; now 0.5, from the command line\n"));
  EXPECT_TRUE(contains(help, "true or false; default true; now true, the default\n"));
  for (const strata::SettingDescription& setting : strata::describe_settings()) {
    EXPECT_TRUE(contains(help, "  " + setting.option + "  (" + setting.variable + ")\n")) << setting.name;
    EXPECT_TRUE(contains(help, setting.description)) << setting.name;
  }
}

TEST_F(SettingsOptionsTest, TheHelpOptionPrintsTheValuesOfTheWholeCommandLineAndAsksToEnd) {
  CommandLine line({"--strata-help", "input", "--strata-threads=3"});
  ::testing::internal::CaptureStdout();

  const bool help = line.parse();

  const std::string printed = ::testing::internal::GetCapturedStdout();
  EXPECT_TRUE(help);
  EXPECT_EQ(printed, strata::settings_help());
  EXPECT_TRUE(contains(printed, "now 3, from the command line"));
  EXPECT_EQ(line.rest(), "input");
}

}  // namespace
