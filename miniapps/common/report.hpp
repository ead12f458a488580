// Report: what an application found, as a table for people, lines for scripts ("FOM: ...", "VERIFY: PASSED")
// and JSON.
//
// A RunReport is one problem on one device; a Report has one or more of them, the parameters and the machine.
// Plain data, filled by one thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::miniapp {

/// The version of the layout of the JSON: `schema` in it. It grows when a program that reads it would have to
/// change.
inline constexpr int report_schema = 1;

/// A number that was compared with what it should be.
struct Check {
  std::string name;
  double value = 0;
  double expected = 0;
  double tolerance = 0;
  bool passed = false;
};
/// |value - expected| <= tolerance; NaN fails.
Check check_near(const std::string& name, double value, double expected, double tolerance);
/// |value| <= tolerance.
Check check_zero(const std::string& name, double value, double tolerance);
/// low <= value <= high.
Check check_between(const std::string& name, double value, double low, double high);
/// value = expected within `tolerance` times |expected|; the check holds the absolute tolerance.
Check check_relative(const std::string& name, double value, double expected, double tolerance);
/// Whether something holds.
Check check_true(const std::string& name, bool holds);

/// Seconds that a part of the run took.
struct Phase {
  std::string name;
  double seconds = 0;
};
/// A named number.
struct Figure {
  std::string name;
  double value = 0;
  std::string unit;
};
/// What the mesh is.
struct MeshCounts {
  std::string source;
  index_t nodes = 0;
  index_t elements = 0;
  index_t refinements = 0;
};

/// Seconds since some moment.
inline double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// One problem on one device.
struct RunReport {
  std::string device;  ///< "Threads", "Cuda:0"
  std::string type;    ///< "double" or "float"
  MeshCounts mesh;
  std::vector<Phase> phases;
  std::vector<Figure> results;  ///< what was computed: temperatures, energies
  std::vector<Figure> figures;  ///< figures of merit
  std::vector<Check> checks;
  std::vector<std::string> notes;
  std::vector<std::string> files;  ///< that were written
  std::string error;               ///< why the run ended early; empty: it did not
  bool is_starting = false;        ///< it takes up what the user gave: mesh, sets, material, checkpoint
  bool is_usage_error = false;     ///< it could not start because of the user's input

  /// Adds to the seconds of a phase.
  void add_phase(const std::string& name, double seconds);
  double seconds_of(const std::string& name) const;
  /// Calls `work`, which waits for what it starts, and adds its time to a phase.
  template <class Work>
  void timed(const std::string& name, const Work& work) {
    const double start = now_seconds();
    work();
    add_phase(name, now_seconds() - start);
  }
  void add_result(const std::string& name, double value, const std::string& unit = "") {
    results.push_back({name, value, unit});
  }
  void add_figure(const std::string& name, double value, const std::string& unit) {
    figures.push_back({name, value, unit});
  }
  /// Whether nothing failed.
  bool passed() const;
};

/// The runs of a program.
class Report {
 public:
  /// `parameters` is what Options::to_json gives.
  Report(std::string program, std::string parameters)
      : program_(std::move(program)), parameters_(std::move(parameters)) {}

  void add(RunReport run) { runs_.push_back(std::move(run)); }
  const std::vector<RunReport>& runs() const { return runs_; }
  bool passed() const;

  /// The tables, the lines "FOM: ..." and, where something was checked or failed, "VERIFY: ...". No such line
  /// where no run could start because of what the user gave. Without errors it says where those are.
  std::string text(bool with_errors = true) const;
  std::string to_json() const;
  /// Prints text(), and errors of runs to standard error (to that only, where both go to the same place);
  /// writes the JSON to `path` unless that is empty. Returns the exit status of the program: 0; 1 when a
  /// check or a run failed; 2 when a run could not start because of the user's input and no other failed.
  /// Error when the file cannot be written.
  int finish(const std::string& path) const;
  /// The same without the text.
  int finish_quietly(const std::string& path) const;

 private:
  // Whether all runs that failed could not start because of the user's input.
  bool finds_only_usage_errors() const;

  std::string program_, parameters_;
  std::vector<RunReport> runs_;
};

/// Writes a file as a whole: to a temporary of the same folder, which is then renamed. Error.
void write_whole_file(const std::string& path, const std::string& contents);
/// Rows with aligned columns; the first `text_columns` to the left, the others to the right.
std::string table_text(const std::vector<std::vector<std::string>>& rows, std::size_t text_columns);
/// The processor, and how many threads of it this process may use.
std::string machine_text();
/// `value` with `digits` significant digits.
std::string number_text(double value, int digits = 6);

}  // namespace strata::inline STRATA_ABI::miniapp
