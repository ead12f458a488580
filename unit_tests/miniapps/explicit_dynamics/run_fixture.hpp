// A simulation that only counts its steps, and runs of strata-dynamics around it, in a folder of their own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include <strata/miniapps/common/run_devices.hpp>
#include <strata/miniapps/explicit_dynamics/run.hpp>

namespace dynamics_testing {

using namespace strata;
using namespace strata::dynamics;
using miniapp::RunReport;

/// One element; every step takes 1/4 and moves all nodes by 1. `fails_at` is the step that fails.
class CountingDynamics : public Dynamics {
 public:
  explicit CountingDynamics(index_t fails_at = -1, double size = 1) : fails_at_(fails_at), size_(size) {}

  std::string device() const override { return "Counting"; }
  std::string type() const override { return type_; }
  index_t node_count() const override { return 8; }
  index_t element_count() const override { return 1; }
  const Parameters& parameters() const override { return parameters_; }

  void fix(const std::string&, std::uint8_t) override {}
  void set_velocity(const std::string&, double, double, double) override {}
  void set(Field, const std::vector<double>&) override {}
  std::vector<double> get(Field field) override {
    switch (field) {
      case Field::Cauchy:
        return std::vector<double>(6, 0.0);
      case Field::Mass:
        return std::vector<double>(8, 1.0);
      default:
        return std::vector<double>(24, static_cast<double>(clock_.step));
    }
  }
  std::vector<double> coordinates() override { return {}; }
  fem::HostMesh mesh() override {
    fem::HostMesh mesh;
    mesh.coordinates = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0},
                        {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, size_}};
    mesh.elements = {{0, 1, 2, 3, 4, 5, 6, 7}};
    mesh.element_blocks = {0};
    mesh.blocks = {{1, "block"}};
    return mesh;
  }
  void advance(index_t steps) override {
    asked_ += steps;
    for (; steps > 0 && clock_.failure == Failure::None; --steps) {
      if (clock_.step == fails_at_) {
        clock_.failure = Failure::Volume;
      } else {
        clock_.time += 0.25;
        ++clock_.step;
      }
    }
  }
  void wait() override {
    if (clock_.failure != Failure::None) throw SimulationError("element 1 is inside out");
  }
  index_t bytes() const override { return 0; }
  const StreamReport& report() const override { return report_; }
  void impose(const std::vector<double>&, const std::vector<double>&, double) override {}
  Clock clock() override { return clock_; }
  Energies energies() override { return clock_.step == 0 ? Energies{1, 0, 0, 0, {}, {}} : end_; }
  void look() override {
    looks_.push_back({clock_, energies()});
    most_looks_ = std::max(most_looks_, looks_.size());
  }
  Look seen() override {
    const Look first = looks_.at(0);
    looks_.erase(looks_.begin());
    ahead_ += clock_.step > first.clock.step ? 1 : 0;
    return first;
  }
  double stable_dt() override { return 0.25; }
  std::vector<char> state() override {
    std::vector<char> bytes(sizeof clock_);
    std::memcpy(bytes.data(), &clock_, sizeof clock_);
    return bytes;
  }
  void restore(const std::vector<char>& bytes) override { std::memcpy(&clock_, bytes.data(), sizeof clock_); }

  Energies end_{1, 0, 0, 0, {}, {}};
  std::string type_ = "double";
  std::vector<Look> looks_;
  std::size_t most_looks_ = 0;
  index_t asked_ = 0;  // steps that were enqueued
  int ahead_ = 0;      // looks that were fetched while more was enqueued behind them

 private:
  Clock clock_;
  Parameters parameters_;
  index_t fails_at_;
  double size_;
  StreamReport report_;
};

class DynamicsRun : public ::testing::Test {
 protected:
  DynamicsRun() {
    std::string name = (std::filesystem::temp_directory_path() / "strata_run_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    folder_ = name;
    settings_.common.quiet = true;
    settings_.common.mesh = "box:1x1x1";
    settings_.checkpoint_file = path("checkpoint");
  }
  ~DynamicsRun() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string content(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  // All files with their contents, but for the checkpoint.
  std::vector<std::pair<std::string, std::string>> files() const {
    std::vector<std::pair<std::string, std::string>> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      const std::string name = entry.path().filename().string();
      if (name != "checkpoint") all.emplace_back(name, content(name));
    }
    std::sort(all.begin(), all.end());
    return all;
  }
  void clear() {
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) std::filesystem::remove(entry);
  }

  RunReport run(index_t steps, index_t fails_at = -1, double size = 1) {
    settings_.steps = steps;
    RunReport report;
    run_problem([&](const std::string&, int, const std::string&,
                    const Parameters&) { return std::make_unique<CountingDynamics>(fails_at, size); },
                settings_, "", report);
    return report;
  }
  template <class Error>
  std::string message(const std::function<void()>& work) {
    try {
      work();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  std::filesystem::path folder_;
  DynamicsSettings settings_;
};

}  // namespace dynamics_testing
