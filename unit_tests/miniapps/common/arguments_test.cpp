// The two parsers of command lines, of which a build has one in its library, against the same lines.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

// The plain one under another name, beside that of the library.
#define parse_arguments parse_arguments_plainly
#include <strata/miniapps/common/arguments_plain.cpp>
#undef parse_arguments

namespace strata::inline STRATA_ABI::miniapp {
ParsedArguments parse_arguments(const std::string& program, const std::string& purpose,
                                const std::vector<OptionEntry>& table, int argc, const char* const* argv);
}

namespace {

using namespace strata;
using namespace strata::miniapp;

using Arguments = std::vector<const char*>;

class Parsers : public ::testing::TestWithParam<bool> {
 protected:
  Parsers() {
    table_ = {{"mesh", "m", &mesh_, "FILE", "the mesh", {}, ""},
              {"fix", "f", &fix_, "SEL", "held nodes", {}, ""},
              {"quiet", "q", &quiet_, "", "no progress", {}, "false"},
              {"steps", "", &steps_, "N", "steps", {}, "7"}};
  }

  ParsedArguments parse(Arguments arguments) const {
    arguments.insert(arguments.begin(), "program");
    const int argc = static_cast<int>(arguments.size());
    const auto parser = GetParam() ? &parse_arguments_plainly : &parse_arguments;
    return parser("program", "Does things.", table_, argc, arguments.data());
  }
  // "mesh=x quiet=true ", by the order of the table.
  std::string values(const Arguments& arguments) const {
    const ParsedArguments parsed = parse(arguments);
    std::string text;
    for (std::size_t row = 0; row < table_.size(); ++row)
      for (const auto& [of, value] : parsed.values)
        if (of == row) text += table_[row].name + "=" + value + " ";
    return text + (parsed.config.empty() ? "" : "config=" + parsed.config + " ") +
           (parsed.help ? "help " : "") + (parsed.version ? "version " : "");
  }
  std::string error(const Arguments& arguments) const {
    try {
      return "none: " + values(arguments);
    } catch (const UsageError& error) {
      const std::string text = error.what();
      return text.substr(0, text.find('\n'));
    }
  }

  std::string mesh_;
  std::vector<std::string> fix_;
  bool quiet_ = false;
  index_t steps_ = 7;
  std::vector<OptionEntry> table_;
};

TEST_P(Parsers, TakeValuesInEveryWayToWriteThem) {
  EXPECT_EQ(values({}), "");
  EXPECT_EQ(values({"--mesh", "x", "--steps=-3"}), "mesh=x steps=-3 ");
  EXPECT_EQ(values({"-m", "x", "-fa=b", "-f", "[c,d]"}), "mesh=x fix=a=b fix=[c,d] ");
  EXPECT_EQ(values({"-qm", "x"}), "mesh=x quiet=true ");
  EXPECT_EQ(values({"-qmx", "--quiet=false"}), "mesh=x quiet=true quiet=false ");
  EXPECT_EQ(values({"--fix=z<=min=0", "--steps", "-3", "-m", "-q"}), "mesh=-q fix=z<=min=0 steps=-3 ");
  EXPECT_EQ(values({"--config", "a", "--config=b", "--"}), "config=b ");
  EXPECT_EQ(values({"-qh"}), "quiet=true help ");
  EXPECT_EQ(values({"--version"}), "version ");
}

TEST_P(Parsers, RefuseWhatBelongsToNoOptionByItsName) {
  const auto stray = [](const std::string& name) {
    return "the argument \"" + name +
           "\" belongs to no option: every value follows its option, as in --mesh " + name;
  };
  EXPECT_EQ(error({"part.msh"}), stray("part.msh"));
  EXPECT_EQ(error({"-q", "part.msh"}), stray("part.msh"));
  EXPECT_EQ(error({"--mesh", "x", "part.msh"}), stray("part.msh"));
  EXPECT_EQ(error({"-m", "x", "part.msh", "-q"}), stray("part.msh"));
  EXPECT_EQ(error({"-f", "a", "b"}), stray("b"));
  EXPECT_EQ(error({"--fix=a", "b", "c"}), stray("b"));
  EXPECT_EQ(error({"--", "part.msh"}), stray("part.msh"));
  EXPECT_EQ(error({"-"}), stray("-"));
  EXPECT_EQ(error({""}), stray(""));
  EXPECT_EQ(error({"--help", "part.msh"}), stray("part.msh"));
}

TEST_P(Parsers, RefuseOptionsThatThereAreNotByTheirName) {
  EXPECT_EQ(error({"-b", "foo"}), "there is no option -b");
  EXPECT_EQ(error({"--mes", "x"}), "there is no option --mes");
  EXPECT_EQ(error({"-m", "x", "--colour=red"}), "there is no option --colour=red");
  EXPECT_EQ(error({"-qb"}), "there is no option -b");
}

TEST_P(Parsers, RefuseOptionsWithoutTheirValue) {
  EXPECT_EQ(error({"-m"}), "-m needs a value");
  EXPECT_EQ(error({"-q", "--mesh"}), "--mesh needs a value");
  EXPECT_EQ(error({"--mesh=", "x"}), "--mesh= needs a value");
  EXPECT_EQ(error({"--config"}), "--config needs a value");
}

INSTANTIATE_TEST_SUITE_P(All, Parsers, ::testing::Values(false, true),
                         [](const auto& one) { return one.param ? "Plain" : "OfTheLibrary"; });

}  // namespace
