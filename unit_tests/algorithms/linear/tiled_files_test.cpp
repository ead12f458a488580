// Tiled matrices in files: factors and products under budgets of devices and of hosts, and what a folder says
// when it is opened.
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>

#include <sys/resource.h>

#include <strata/algorithms/linear/tiled/tiled_cholesky.hpp>
#include <strata/algorithms/linear/tiled/tiled_files.hpp>
#include <strata/algorithms/linear/tiled/tiled_lu.hpp>
#include <strata/algorithms/linear/tiled/tiled_product.hpp>

#include "algorithms/linear/tiled_cases.hpp"
#include "core/files/file_size_limit.hpp"
#include "messages.hpp"

namespace {

using namespace strata_tests;
using namespace strata;

template <class D>
class TiledFiles : public OverPlaces<D> {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "strata-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    parent_ = pattern;
  }
  void TearDown() override {
    OverPlaces<D>::TearDown();
    std::filesystem::remove_all(parent_);
  }
  std::string folder(const char* name) const { return parent_ + "/" + name; }

 private:
  std::string parent_;
};
TYPED_TEST_SUITE(TiledFiles, TestDevices, DeviceName);
using TiledFilesOfTheHost = TiledFiles<AnyHost>;

// Budgets of devices come with run_somewhere; hosts get one here.
template <class Options>
void set_host_memory(Random& draw, Options& options, index_t tile_bytes, index_t least) {
  if (draw(0, 1) == 0) options.run.host_memory = least + tile_bytes * draw(4, 20);
}

TYPED_TEST(TiledFiles, HaveTheFactorsAndProductsOfThoseInMemory) {
  Random draw;
  for (int trial = 0; trial < 3; ++trial) {
    const index_t n = draw(2, 120), tile = random_tile(draw), bytes = tile * tile * 8,
                  panel = n * std::min(n, tile) * 8 + 8 * n + 32 * tile + 100;
    const Dense a = random_positive(draw, n), b = random_dense(draw, n, 3);
    const auto l = symmetric_tiled_files<double>(this->folder("l"), n, tile, overwrite);
    const auto f = tiled_files<double>(this->folder("f"), n, n, tile, overwrite, uninitialized);
    const auto c = tiled_files<double>(this->folder("c"), n, n, tile, overwrite);
    const TiledMatrix<double> x("x", n, 3, tile), y("y", n, 3, tile);
    fill(l, a), fill(f, a), fill(x, b), fill(y, b);

    this->run_somewhere(
        draw, bytes,
        [&](const auto& where, linear::TiledOptions options) {
          set_host_memory(draw, options, bytes, panel);
          linear::gemm(1, f, f, 0, c, where, options);
          linear::cholesky(l, where, options);
          linear::solve(l, x, where, options);
          linear::LuOptions lu;
          static_cast<linear::TiledOptions&>(lu) = options;
          const auto factors = linear::lu(f, where, lu);
          linear::solve(factors, y, where, options);
        },
        panel + bytes);

    Dense square(n, n), of_x(n, 3), of_y(n, 3);
    add_product(square, 1, a, a, false);
    add_product(of_x, 1, a, values_of(x), false);
    add_product(of_y, 1, a, values_of(y), false);
    EXPECT_LE(distance(values_of(c), square), tolerance<double>(n, static_cast<double>(n * n)));
    EXPECT_LE(distance(of_x, b), tolerance<double>(n, 4));
    EXPECT_LE(distance(of_y, b), tolerance<double>(n, 4));
  }
}

TYPED_TEST(TiledFiles, AreFoundAgainAsTheyWereSaved) {
  const std::string folder = this->folder("a");
  {
    const auto a = symmetric_tiled_files<float>(folder, 50, 16);
    a.fill([](index_t i, index_t j) { return i == j ? 2.0f : 0.01f; });
    linear::TiledOptions options;
    options.backend = linear::Backend::Strata;
    linear::cholesky(a, on(TypeParam{}), options);
    save(a);
  }

  const auto a = open_tiled_files<float>(folder, for_reading);

  EXPECT_TRUE(a.is_symmetric());
  EXPECT_EQ(a.rows(), 50);
  EXPECT_EQ(a.tile_order(), 16);
  EXPECT_FLOAT_EQ(a.tile(0, 0).read()(0, 0), std::sqrt(2.0f));
  EXPECT_FLOAT_EQ(a.tile(3, 0).read()(1, 0), 0.01f / std::sqrt(2.0f));
}

TEST_F(TiledFilesOfTheHost, SayWhatIsWrongWithAFolder) {
  const std::string folder = this->folder("a");
  const auto refusal = [&] {
    return message_of<FileError>([&] { static_cast<void>(open_tiled_files<double>(folder)); });
  };
  const std::string tried = "cannot open the tiled matrix \"" + folder + "\": ";

  EXPECT_EQ(refusal(),
            tried + "there is no file \"" + folder + "/matrix\" that can be read: correct the folder");
  static_cast<void>(tiled_files<float>(folder, 20, 10, 8));
  EXPECT_EQ(refusal(), tried + "its elements are float, asked was double: open it as what it is");
  EXPECT_EQ(message_of<FileError>([&] { static_cast<void>(tiled_files<float>(folder, 20, 10, 8)); }),
            "cannot create the tiled matrix \"" + folder +
                "\": there is one already: give `overwrite` to replace it, or open it with open_tiled_files");
  EXPECT_NE(message_of<FileError>([&] {
              static_cast<void>(tiled_files<float>(folder + "/no/a", 2, 2, 8));
            }).find("make the folder that it is to be in"),
            std::string::npos);
  static_cast<void>(tiled_files<double>(folder, 4, 4, 8, overwrite));
  EXPECT_FALSE(std::filesystem::exists(folder + "/tile_2_1"));  // of the one that was replaced
  EXPECT_EQ(open_tiled_files<double>(folder).rows(), 4);
  std::filesystem::remove(folder + "/tile_0_0");
  EXPECT_NE(refusal().find("tile_0_0"), std::string::npos);
  std::ofstream(folder + "/matrix") << "something else";
  EXPECT_EQ(refusal(), tried + "\"" + folder +
                           "/matrix\" is not what Strata wrote: correct the folder, or replace the matrix "
                           "(`overwrite`)");
  EXPECT_THROW(static_cast<void>(tiled_files<double>(folder + "b", 4, -1, 8)), ExtentError);
}

// Tiles are those that are in the folder, whatever the file says that describes them.
TEST_F(TiledFilesOfTheHost, AreReplacedOnlyByOverwriteWithADamagedDescriptionOrNone) {
  const std::string folder = this->folder("a");
  const auto files = [&] {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      names.insert(entry.path().filename());
    return names;
  };
  static_cast<void>(tiled_files<double>(folder, 20, 10, 8));
  for (const char* other : {"tile_1", "tile_1_2_3", "tile__1", "tile_1_", "tile_a_1", "my tile_1_1"})
    std::ofstream(folder + "/" + other) << "of others";
  std::filesystem::remove(folder + "/matrix");

  const std::string text =
      message_of<FileError>([&] { static_cast<void>(tiled_files<double>(folder, 4, 4, 8)); });

  EXPECT_NE(text.find("there are tiles of another one, such as \"" + folder + "/tile_"), std::string::npos);
  EXPECT_NE(text.find("without the file that describes it: give `overwrite`"), std::string::npos) << text;
  EXPECT_EQ(files().count("tile_2_1"), 1U);
  for (const char* description : {"", "something else",
                                  "strata tiled matrix 1\nelements double\nkind general\nrows "
                                  "4000000000000000\ncolumns 4000000000000000\ntile 1\n"}) {
    std::ofstream(folder + "/matrix") << description;
    static_cast<void>(tiled_files<double>(folder, 4, 4, 8, overwrite));
    EXPECT_EQ(files(), (std::set<std::string>{"matrix", "tile_0_0", "tile_1", "tile_1_2_3", "tile__1",
                                              "tile_1_", "tile_a_1", "my tile_1_1"}));
  }
  EXPECT_EQ(open_tiled_files<double>(folder).rows(), 4);
}

// Extents are not counted through.
TEST_F(TiledFilesOfTheHost, SayThatADescriptionNamesMoreThanThereCanBe) {
  const std::string folder = this->folder("a");
  std::filesystem::create_directory(folder);
  const auto refusal = [&](const std::string& kind, const std::string& rows, const std::string& columns,
                           const std::string& tile) {
    std::ofstream(folder + "/matrix") << "strata tiled matrix 1\nelements double\nkind " << kind << "\nrows "
                                      << rows << "\ncolumns " << columns << "\ntile " << tile << "\n";
    return message_of<FileError>([&] { static_cast<void>(open_tiled_files<double>(folder)); });
  };
  const std::string large = "700000000", most = "9223372036854775807";
  const std::string many = "need 980000000000000000 open files";

  // Where any number of files may be open, the first is not there.
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur != RLIM_INFINITY) {
    EXPECT_NE(refusal("general", large, large, "1").find(many), std::string::npos);
    EXPECT_NE(refusal("symmetric", large, large, "1").find("need 490000000700000000 open"),
              std::string::npos);
  }
  for (const auto& [rows, columns] : {std::pair(most, std::string("1")), std::pair(std::string("1"), most),
                                      std::pair(std::string("3000000000"), std::string("3000000000"))})
    EXPECT_NE(refusal("general", rows, columns, "1").find("is not what Strata wrote"), std::string::npos);
  EXPECT_NE(refusal("general", "10", "10", most).find("tile_0_0"), std::string::npos);
}

// A disk that is full is said as each file array says it; what was made before is gone.
TEST_F(TiledFilesOfTheHost, SayThatThereIsNoRoom) {
  const std::string folder = this->folder("a");
  const std::string text = message_of<FileError>([&] {
    const file_testing::FileSizeLimit limit(20000);
    static_cast<void>(tiled_files<double>(folder, 100, 100, 60));
  });

  EXPECT_NE(text.find("tile_0_0"), std::string::npos) << text;
  EXPECT_NE(text.find("ulimit -f"), std::string::npos) << text;
  EXPECT_FALSE(std::filesystem::exists(folder + "/matrix"));
}

TEST_F(TiledFilesOfTheHost, SayThatTooManyAreOpen) {
  const std::string folder = this->folder("a");
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit limit{150, before.rlim_max};

  setrlimit(RLIMIT_NOFILE, &limit);
  const std::string text =
      message_of<FileError>([&] { static_cast<void>(tiled_files<double>(folder, 90, 90, 10)); });
  setrlimit(RLIMIT_NOFILE, &before);

  EXPECT_EQ(text,
            "cannot create the tiled matrix \"" + folder +
                "\": its tiles need 162 open files, and this process may have 150: take larger tiles, or "
                "raise the limit (ulimit -n)");
}

}  // namespace
