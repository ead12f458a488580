// Tiled matrices in files: factors and products under budgets of devices and of hosts, and what a folder says
// when it is opened.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <sys/resource.h>

#include <strata/algorithms/linear/tiled/tiled_cholesky.hpp>
#include <strata/algorithms/linear/tiled/tiled_files.hpp>
#include <strata/algorithms/linear/tiled/tiled_lu.hpp>
#include <strata/algorithms/linear/tiled/tiled_product.hpp>

#include "algorithms/linear/tiled_cases.hpp"
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
  EXPECT_EQ(refusal(), tried + "\"" + folder + "/matrix\" is not what Strata wrote");
  EXPECT_THROW(static_cast<void>(tiled_files<double>(folder + "b", 4, -1, 8)), ExtentError);
}

// A disk that is full is said as each file array says it; what was made before is gone.
TEST_F(TiledFilesOfTheHost, SayThatThereIsNoRoom) {
  const std::string folder = this->folder("a");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{20000, before.rlim_max};

  setrlimit(RLIMIT_FSIZE, &limit);
  const std::string text =
      message_of<FileError>([&] { static_cast<void>(tiled_files<double>(folder, 100, 100, 60)); });
  setrlimit(RLIMIT_FSIZE, &before);

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
