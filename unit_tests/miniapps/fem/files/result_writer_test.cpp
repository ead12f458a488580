// Results come out whole or not at all, series go on, and failures reach the caller.
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include <strata/miniapps/fem/files/atomic_file.hpp>
#include <strata/miniapps/fem/files/netcdf_classic.hpp>
#include <strata/miniapps/fem/files/read_mesh.hpp>
#include <strata/miniapps/fem/files/result_writer.hpp>
#include <strata/miniapps/fem/mesh_error.hpp>

#include "core/files/file_size_limit.hpp"
#include "miniapps/fem/files/mesh_fixtures.hpp"
#include "miniapps/fem/files/result_fields.hpp"

namespace {

using namespace fem_files_testing;

// The number of states that an Exodus II file says to have, and whether they are all there.
std::int64_t states_of(const std::string& path, std::size_t fields_size) {
  fem::detail::MeshText text = fem::detail::MeshText::of_file(path);
  text.set_big_endian(true);
  text.seek(4);
  const std::int64_t states = text.binary_integer(4, false, "records");
  text.seek(0);
  const fem::detail::NetcdfClassic file(text);
  EXPECT_GE(text.content().size(),
            file.find("time_whole")->begin + static_cast<std::size_t>(states) * 8 * (1 + fields_size));
  return states;
}

TEST(ResultWriter, WithoutFinishAnExodusFileHasTheStatesThatWereWritten) {
  const TemporaryFolder folder;
  const fem::HostMesh mesh = two_blocks();
  {
    fem::ResultWriter writer(folder / "run.e", mesh);
    writer.write(0, fields_of(mesh));
    writer.write(1, fields_of(mesh));
  }
  EXPECT_EQ(states_of(folder / "run.e", 4 * 36 + 12), 2);
  EXPECT_EQ(files_in(folder), 1u);
}

TEST(ResultWriter, EveryStateIsInItsFileWhenWaitReturns) {
  const TemporaryFolder folder;
  const fem::HostMesh mesh = two_blocks();
  fem::ResultWriter exodus(folder / "run.e", mesh), pvd(folder / "run.pvd", mesh);
  for (int step = 0; step < 3; ++step) {
    for (fem::ResultWriter* writer : {&exodus, &pvd}) {
      writer->write(step, fields_of(mesh, step));
      writer->wait();
    }
    EXPECT_EQ(states_of(folder / "run.e", 4 * 36 + 12), step + 1);
    EXPECT_NE(content_of(folder / "run.pvd").find("run_000" + std::to_string(step)), std::string::npos);
  }
  EXPECT_EQ(exodus.files(), std::vector{folder / "run.e"});
  EXPECT_EQ(pvd.files().size(), 4u);
}

TEST(ResultWriter, SeriesGoOnToTheBytesOfOneWriter) {
  for (const char* name : {"run.e", "run.pvd"}) {
    const TemporaryFolder whole, parts;
    const fem::HostMesh mesh = two_blocks();
    fem::ResultWriter all(whole / name, mesh);
    for (int step = 0; step < 6; ++step) all.write(step, fields_of(mesh, step));
    all.finish();
    // The first run got as far as 4, but goes on at 3; between, it wrote something of its own.
    fem::ResultWriter first(parts / name, mesh);
    for (int step = 0; step < 5; ++step) first.write(step < 3 ? step : step + 0.5, fields_of(mesh, step));
    first.finish();

    fem::ResultWriter second(parts / name, mesh, 3.0);
    for (int step = 3; step < 6; ++step) second.write(step, fields_of(mesh, step));
    second.finish();

    EXPECT_EQ(files_in(parts), files_in(whole));
    for (const auto& entry : std::filesystem::directory_iterator(whole.path())) {
      const std::string file = entry.path().filename().string();
      EXPECT_TRUE(content_of(whole / file) == content_of(parts / file)) << file;
    }
  }
}

TEST(ResultWriter, ASeriesThatWasCutShortGoesOnBehindItsWholeStates) {
  const TemporaryFolder whole, parts;
  const fem::HostMesh mesh = two_blocks();
  const auto write = [&](const std::string& path, int first, int end, std::optional<double> from) {
    fem::ResultWriter writer(path, mesh, from);
    for (int step = first; step < end; ++step) writer.write(step, fields_of(mesh, step));
    writer.finish();
  };
  write(whole / "run.e", 0, 10, {});
  write(whole / "run.e", 20, 21, 15.0);
  write(parts / "run.e", 0, 11, {});
  const std::size_t size = std::filesystem::file_size(parts / "run.e");
  std::filesystem::resize_file(parts / "run.e", size - 1);

  write(parts / "run.e", 20, 21, 15.0);

  EXPECT_EQ(states_of(parts / "run.e", 4 * 36 + 12), 11);
  EXPECT_EQ(std::filesystem::file_size(parts / "run.e"), size);
  EXPECT_TRUE(content_of(parts / "run.e") == content_of(whole / "run.e"));
}

TEST(ResultWriter, ASeriesThatWasCutShortBeforeItsFirstStateBeginsAgain) {
  const TemporaryFolder whole, parts;
  const fem::HostMesh mesh = two_blocks();
  fem::write_result(whole / "run.e", mesh, 3, fields_of(mesh));
  fem::write_result(parts / "run.e", mesh, 0, fields_of(mesh));
  const std::size_t record = 8 * (1 + 4 * 36 + 12), size = std::filesystem::file_size(parts / "run.e");
  for (const std::size_t bytes : {size - 1, size - record}) {
    std::filesystem::resize_file(parts / "run.e", bytes);

    fem::ResultWriter writer(parts / "run.e", mesh, 3.0);
    writer.write(3, fields_of(mesh));
    writer.finish();

    EXPECT_TRUE(content_of(parts / "run.e") == content_of(whole / "run.e"));
  }
}

TEST(ResultWriter, SeriesThatAreNotThereBegin) {
  for (const char* name : {"run.e", "run.pvd", "run.vtu", "run.csv"}) {
    const TemporaryFolder folder;
    const fem::HostMesh mesh = two_blocks();
    fem::ResultWriter writer(folder / name, mesh, 3.0);
    writer.write(3, fields_of(mesh));
    EXPECT_EQ(writer.finish()[0], folder / name);
  }
}

TEST(ResultWriter, SeriesOfSomethingElseAreRefusedAndStay) {
  const TemporaryFolder folder;
  const fem::HostMesh mesh = two_blocks();
  fem::HostMesh moved = mesh;
  moved.coordinates[5][0] += 1e-9;
  fem::write_result(folder / "mesh.e", moved, 0, fields_of(mesh));
  fem::write_result(folder / "fields.e", mesh, 0, {field("t", 36, 1, 0)});
  std::ofstream(folder / "text.e") << "text";
  std::ofstream(folder / "text.pvd") << "text";
  std::ofstream(folder / "empty.pvd");
  for (const char* name : {"mesh.e", "fields.e", "text.e", "text.pvd", "empty.pvd"}) {
    const std::string before = content_of(folder / name);
    try {
      fem::ResultWriter writer(folder / name, mesh, 3.0);
      writer.write(3, fields_of(mesh));
      writer.finish();
      ADD_FAILURE() << name;
    } catch (const fem::MeshFileError& error) {
      EXPECT_NE(std::string(error.what()).find("cannot go on with " + (folder / name)), std::string::npos)
          << error.what();
    }
    EXPECT_EQ(content_of(folder / name), before);
  }
}

// What require_series says; "" where the series can go on.
std::string refusal_of(const std::string& path, const fem::HostMesh& mesh,
                       const std::vector<fem::Field>& fields) {
  try {
    fem::ResultWriter(path, mesh, 3.0).require_series(fields);
  } catch (const fem::MeshFileError& error) {
    return error.what();
  }
  return "";
}

TEST(ResultWriter, SeriesOfAnotherMeshAreToldFromTheirOwnBeforeTheFirstState) {
  const TemporaryFolder folder;
  const fem::HostMesh mesh = two_blocks();
  fem::HostMesh moved = mesh, smaller = mesh, turned = mesh;
  moved.coordinates[5][0] += 1e-9;
  std::swap(turned.elements[0], turned.elements[1]);
  smaller.elements.pop_back();
  smaller.element_blocks.pop_back();
  smaller.element_ids.clear();
  smaller.side_sets.clear();
  const fem::HostMesh cube =
      fem::parse_mesh("cube",
                      "MeshVersionFormatted 2\nDimension 3\nVertices\n8\n0 0 0 0\n1 0 0 0\n"
                      "1 1 0 0\n0 1 0 0\n0 0 1 0\n1 0 1 0\n1 1 1 0\n0 1 1 0\n"
                      "Hexahedra\n1\n1 2 3 4 5 6 7 8 1\nEnd\n");
  const std::string nodes = std::to_string(mesh.coordinates.size()),
                    elements = std::to_string(mesh.elements.size());
  for (const std::string name : {"run.e", "run.pvd", "a & b.pvd"}) {
    fem::write_result(folder / name, mesh, 0, fields_of(mesh));
    const auto expect = [&](const fem::HostMesh& other, const std::string& words) {
      const std::string before = content_of(folder / name),
                        text = refusal_of(folder / name, other, fields_of(other));
      EXPECT_NE(text.find("cannot go on with " + (folder / name) + ": it is no result of the same mesh"),
                std::string::npos)
          << text;
      EXPECT_NE(text.find(words), std::string::npos) << text;
      EXPECT_EQ(content_of(folder / name), before);
    };

    EXPECT_EQ(refusal_of(folder / name, mesh, fields_of(mesh)), "");
    expect(smaller, "has " + elements + " elements, this run has " + std::to_string(smaller.elements.size()));
    expect(cube, "has " + nodes + " nodes, this run has 8");
    expect(moved, name == "run.e" ? "the values of its coordx are others" : "has nodes at other places");
    expect(turned, name == "run.e" ? "the values of its connect" : "has elements between other nodes");
  }
  EXPECT_NE(
      refusal_of(folder / "run.e", mesh, {field("t", mesh.coordinates.size(), 1, 0)}).find("num_nod_var"),
      std::string::npos);
  std::ofstream(folder / "text.e") << "text";
  EXPECT_NE(refusal_of(folder / "text.e", mesh, fields_of(mesh)).find("it is no Exodus II file"),
            std::string::npos);
  std::filesystem::remove(folder / "run_0000.vtu");
  EXPECT_NE(refusal_of(folder / "run.pvd", mesh, fields_of(mesh)).find("run_0000.vtu cannot be read"),
            std::string::npos);
  EXPECT_EQ(refusal_of(folder / "none.pvd", mesh, fields_of(mesh)), "");
}

TEST(ResultWriter, StatesBeforeAFullDiskAreKeptWhole) {
  const TemporaryFolder folder, once;
  const fem::HostMesh mesh = two_blocks();
  const std::size_t record = 8 * (1 + 4 * 36 + 12);
  fem::write_result(once / "run.e", mesh, 0, fields_of(mesh));
  const std::size_t one_state = std::filesystem::file_size(once / "run.e");
  fem::ResultWriter writer(folder / "run.e", mesh);
  {
    const file_testing::FileSizeLimit limit(one_state + 2 * record + record / 2);

    EXPECT_THROW(
        {
          for (int step = 0; step < 10; ++step) writer.write(step, fields_of(mesh, step));
          writer.finish();
        },
        fem::MeshFileError);
  }
  EXPECT_EQ(writer.files(), std::vector{folder / "run.e"});
  EXPECT_EQ(states_of(folder / "run.e", 4 * 36 + 12), 3);
  EXPECT_EQ(std::filesystem::file_size(folder / "run.e"), one_state + 2 * record);
  EXPECT_EQ(files_in(folder), 1u);

  fem::ResultWriter list(folder / "run.pvd", mesh);
  list.write(0, fields_of(mesh));
  list.wait();
  {
    const file_testing::FileSizeLimit limit(1000);
    list.write(1, fields_of(mesh));
    EXPECT_THROW(list.wait(), fem::MeshFileError);
  }
  EXPECT_EQ(list.files().size(), 2u);
  EXPECT_EQ(content_of(folder / "run.pvd").find("run_0001"), std::string::npos);
  EXPECT_EQ(files_in(folder), 3u);
}

TEST(ResultWriter, PlacesAreTriedBeforehand) {
  const TemporaryFolder folder;

  fem::require_writable(folder / "run.pvd");
  EXPECT_THROW(fem::require_writable(folder / "none/run.pvd"), fem::MeshFileError);
  EXPECT_THROW(fem::require_writable(folder / "run.xyz"), fem::MeshFileError);
  std::filesystem::create_directory(folder / "run.e");
  EXPECT_THROW(fem::require_writable(folder / "run.e"), fem::MeshFileError);

  EXPECT_EQ(files_in(folder), 1u);
}

TEST(ResultWriter, AFolderThatIsNotThereIsAnErrorOfANextCall) {
  const TemporaryFolder folder;
  const fem::HostMesh mesh = two_blocks();
  for (const char* name : {"none/run.e", "none/run.csv", "none/run.vtu", "none/run.pvd"}) {
    fem::ResultWriter writer(folder / name, mesh);
    try {
      for (int step = 0; step < 100; ++step) writer.write(step, fields_of(mesh));
      writer.finish();
      FAIL() << name;
    } catch (const fem::MeshFileError& error) {
      EXPECT_NE(std::string(error.what()).find("cannot write " + (folder / "none/run")), std::string::npos);
      EXPECT_NE(std::string(error.what()).find("No such file"), std::string::npos);
    }
    EXPECT_THROW(writer.finish(), fem::MeshFileError);
  }
  EXPECT_EQ(files_in(folder), 0u);
}

TEST(ResultWriter, AnOldFileStaysUntilTheNewOneHasAState) {
  const TemporaryFolder folder;
  const fem::HostMesh mesh = two_blocks();
  std::ofstream(folder / "run.e") << "old";
  fem::ResultWriter writer(folder / "run.e", mesh);

  EXPECT_EQ(content_of(folder / "run.e"), "old");
  writer.write(0, fields_of(mesh));
  writer.wait();

  EXPECT_EQ(content_of(folder / "run.e").substr(0, 3), "CDF");
}

TEST(ResultWriter, RemovesWhatKilledRunsLeftOfTheSameResult) {
  const TemporaryFolder folder;
  const fem::HostMesh mesh = two_blocks();
  for (const char* name : {"bar.pvd", "bar.e", "bar.csv", "bar.vtu"}) {
    const std::string left = folder / (std::string(name) + ".abcdefgh.partial");
    std::ofstream(left) << "cut short";
    fem::write_result(folder / name, mesh, 1, fields_of(mesh));
    EXPECT_FALSE(std::filesystem::exists(left)) << left;
  }
}

TEST(AtomicFile, WhatAFailingRunCutsIsItsOwnFile) {
  const TemporaryFolder folder;
  const std::string path = folder / "run.e";
  {
    fem::detail::AtomicFile first(path);
    first.write("short");
    first.keep();
    fem::detail::AtomicFile second(path);
    second.write("a longer file");
    second.commit();
    first.write("is never kept");
  }
  EXPECT_EQ(content_of(path), "a longer file");
  EXPECT_EQ(files_in(folder), 1u);
}

TEST(ResultWriter, ASecondOneOfTheSameNameIsToldWhomToWaitFor) {
  for (const char* name : {"run.e", "run.pvd", "run.vtu", "run.csv"}) {
    const TemporaryFolder folder;
    const fem::HostMesh mesh = two_blocks();
    const auto refusal = [&](const auto& work) -> std::string {
      try {
        work();
      } catch (const fem::MeshFileError& error) {
        return error.what();
      }
      return "";
    };
    const std::string wanted =
        "cannot write " + (folder / name) + ": process " + std::to_string(getpid()) + " on ";
    {
      fem::ResultWriter first(folder / name, mesh);
      first.write(0, fields_of(mesh));
      first.wait();
      const std::string content = content_of(folder / name);

      const std::string new_one = refusal([&] { fem::ResultWriter(folder / name, mesh); });
      const std::string restart = refusal([&] { fem::ResultWriter(folder / name, mesh, 0.5); });
      const std::string look = refusal([&] { fem::require_writable(folder / name); });

      for (const std::string& text : {new_one, restart, look}) EXPECT_EQ(text.rfind(wanted, 0), 0u) << text;
      EXPECT_EQ(content_of(folder / name), content);
    }
    EXPECT_EQ(refusal([&] { fem::ResultWriter(folder / name, mesh, 0.5); }), "");
    EXPECT_FALSE(std::filesystem::exists((folder / name) + ".lock"));
  }
}

TEST(ResultWriter, NamesThatXmlDoesNotTakeAreRefused) {
  const TemporaryFolder folder;
  const fem::HostMesh mesh = two_blocks();
  for (const char* name : {"a\nb.pvd", "a\x01.vtu", "a\x1b[31m.csv", "a\x7f.e", "\xe9.pvd"}) {
    EXPECT_THROW(fem::ResultWriter(folder / name, mesh), fem::MeshFileError);
    EXPECT_THROW(fem::require_writable(folder / name), fem::MeshFileError);
  }
  fem::write_result(folder / "\xc3\xa9 & <\"a\">.pvd", mesh, 0, fields_of(mesh));
  EXPECT_NE(content_of(folder / "\xc3\xa9 & <\"a\">.pvd").find("\xc3\xa9 &amp; &lt;&quot;a&quot;>_0000.vtu"),
            std::string::npos);
  fem::ResultWriter writer(folder / "a.vtu", mesh);
  EXPECT_THROW(writer.write(0, {field("\x01", mesh.coordinates.size(), 1, 0)}), fem::MeshError);
}

TEST(ResultWriter, FieldsOfTheWrongSizeOrOtherFieldsAreRefused) {
  const TemporaryFolder folder;
  const fem::HostMesh mesh = two_blocks();
  fem::ResultWriter writer(folder / "run.csv", mesh);

  EXPECT_THROW(writer.write(0, {field("t", 35, 1, 0)}), fem::MeshError);
  writer.write(0, {field("t", 36, 1, 0)});
  EXPECT_THROW(writer.write(1, {field("u", 36, 1, 0)}), fem::MeshError);
  EXPECT_EQ(writer.finish().size(), 1u);
}

TEST(ResultWriter, UnknownFormatsAreAnsweredWithTheOnesThereAre) {
  try {
    fem::ResultWriter writer("run.xyz", two_blocks());
    FAIL();
  } catch (const fem::MeshFileError& error) {
    EXPECT_EQ(std::string(error.what()),
              "cannot write run.xyz: the format of '.xyz' is not known; the formats are .vtu, .pvd (with "
              ".vtu files), "
              ".e (Exodus II) and .csv");
  }
}

}  // namespace
