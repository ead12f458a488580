// A mesh in HDF5 gives its own bytes, and none of another file that it names.
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <strata/miniapps/fem/files/hdf5_exodus.hpp>
#include <strata/miniapps/fem/files/read_mesh.hpp>
#include <strata/miniapps/fem/mesh_error.hpp>

#include "miniapps/fem/files/mesh_fixtures.hpp"

#if STRATA_TESTS_HAVE_HDF5

#include <hdf5.h>

namespace {

using namespace fem_files_testing;

constexpr hsize_t nodes = 36;  // of the fixture

class Hdf5Exodus : public testing::Test {
 protected:
  void SetUp() override {
    if (!fem::detail::has_hdf5_exodus()) GTEST_SKIP() << "this build has no netCDF";
    const std::vector<double> secret(nodes, 42.5);
    std::ofstream(folder_ / "secret", std::ios::binary)
        .write(reinterpret_cast<const char*>(secret.data()), nodes * sizeof(double));
  }

  // The fixture with another dataset coordx, which `make` creates.
  std::string with_coordinates(const std::function<void(hid_t file)>& make) {
    return changed([&](hid_t file) {
      EXPECT_GE(H5Ldelete(file, "coordx", H5P_DEFAULT), 0);
      make(file);
    });
  }
  std::string changed(const std::function<void(hid_t file)>& change) {
    const std::string path = folder_ / "mesh.e";
    std::filesystem::copy_file(fixture("two_blocks_hdf5.e"), path,
                               std::filesystem::copy_options::overwrite_existing);
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    EXPECT_GE(file, 0);
    change(file);
    EXPECT_GE(H5Fclose(file), 0);
    return content_of(path);
  }
  static void add_doubles(hid_t file, const char* name, hsize_t size, hid_t properties) {
    const hid_t space = H5Screate_simple(1, &size, nullptr);
    const hid_t dataset = H5Dcreate2(file, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    EXPECT_GE(dataset, 0);
    H5Dclose(dataset);
    H5Sclose(space);
  }
  static std::string message_of(const std::string& content) {
    try {
      const fem::HostMesh mesh = fem::parse_mesh("mesh.e", content);
      return "read, with x = " + std::to_string(mesh.coordinates.at(0)[0]);
    } catch (const fem::MeshError& error) {
      return error.what();
    }
  }

  TemporaryFolder folder_;
};

TEST_F(Hdf5Exodus, WithValuesInAnotherFileIsRefused) {
  const auto external = [&](const std::string& path) {
    return with_coordinates([&](hid_t file) {
      const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
      H5Pset_external(properties, path.c_str(), 0, nodes * sizeof(double));
      add_doubles(file, "coordx", nodes, properties);
      H5Pclose(properties);
    });
  };
  const std::string refused =
      "mesh.e: the values of 'coordx' lie in another file, which is not read; save the mesh as a file that "
      "holds "
      "all its data";

  EXPECT_EQ(message_of(external(folder_ / "secret")), refused);

  const std::string fifo = folder_ / "fifo";  // of which nobody writes the other end
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(message_of(external(fifo)), refused);
}

TEST_F(Hdf5Exodus, WithAVirtualDatasetIsRefused) {
  const std::string other = folder_ / "other.h5";
  const hid_t source = H5Fcreate(other.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  add_doubles(source, "secret", nodes, H5P_DEFAULT);
  H5Fclose(source);

  const std::string content = with_coordinates([&](hid_t file) {
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    const hid_t space = H5Screate_simple(1, &nodes, nullptr);
    H5Pset_virtual(properties, space, other.c_str(), "secret", space);
    add_doubles(file, "coordx", nodes, properties);
    H5Sclose(space);
    H5Pclose(properties);
  });

  EXPECT_EQ(
      message_of(content),
      "mesh.e: 'coordx' is a virtual dataset, whose values lie in others or in other files, which is not "
      "read; save the mesh as a file that holds all its data");
}

TEST_F(Hdf5Exodus, WithALinkOutOfItIsRefused) {
  const std::string refused =
      "mesh.e: 'coordx' is a link that may lead to another file, which is not read; save the mesh as a file "
      "that "
      "holds all its data";
  const std::string other = folder_ / "other.h5";

  EXPECT_EQ(message_of(with_coordinates([&](hid_t file) {
              H5Lcreate_external(other.c_str(), "secret", file, "coordx", H5P_DEFAULT, H5P_DEFAULT);
            })),
            refused);
  EXPECT_EQ(message_of(with_coordinates([&](hid_t file) {
              H5Lcreate_soft("/elsewhere/coordx", file, "coordx", H5P_DEFAULT, H5P_DEFAULT);
            })),
            refused);
}

TEST_F(Hdf5Exodus, ThatUnpacksToManyTimesItsSizeIsRefused) {
  const std::string content = changed([&](hid_t file) {
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t chunk = 1000;
    H5Pset_chunk(properties, 1, &chunk);
    add_doubles(file, "large", 4000000, properties);  // of which none is stored
    H5Pclose(properties);
  });

  EXPECT_LT(content.size(), 100000u);
  EXPECT_NE(message_of(content).find("bytes when it is unpacked, from a file of"), std::string::npos)
      << message_of(content);
}

TEST_F(Hdf5Exodus, IsReadWithoutAFolderForTemporaryFiles) {
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  setenv("TMPDIR", (folder_ / "none").c_str(), 1);

  EXPECT_EQ(message_of(content_of(fixture("two_blocks_hdf5.e"))), "read, with x = 0.000000");

  before == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", kept.c_str(), 1);
}

}  // namespace

#endif
