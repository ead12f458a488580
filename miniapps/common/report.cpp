// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <fstream>

#include <strata/core/error.hpp>
#include <strata/core/files/file_size_limit.hpp>
#include <strata/core/files/partial_file.hpp>
#include <strata/devices/host/affinity.hpp>
#include <strata/miniapps/common/report.hpp>
#include <strata/miniapps/common/standard_output.hpp>

namespace strata::inline STRATA_ABI::miniapp {

Check check_near(const std::string& name, double value, double expected, double tolerance) {
  return {name, value, expected, tolerance, std::abs(value - expected) <= tolerance};
}
Check check_zero(const std::string& name, double value, double tolerance) {
  return check_near(name, value, 0, tolerance);
}
Check check_between(const std::string& name, double value, double low, double high) {
  return {name, value, (low + high) / 2, (high - low) / 2, low <= value && value <= high};
}
Check check_relative(const std::string& name, double value, double expected, double tolerance) {
  return check_near(name, value, expected, tolerance * std::abs(expected));
}
Check check_true(const std::string& name, bool holds) { return {name, holds ? 1.0 : 0.0, 1, 0, holds}; }

void RunReport::add_phase(const std::string& name, double seconds) {
  for (Phase& phase : phases) {
    if (phase.name != name) continue;
    phase.seconds += seconds;
    return;
  }
  phases.push_back({name, seconds});
}

double RunReport::seconds_of(const std::string& name) const {
  for (const Phase& phase : phases)
    if (phase.name == name) return phase.seconds;
  return 0;
}

bool RunReport::passed() const {
  return error.empty() &&
         std::all_of(checks.begin(), checks.end(), [](const Check& check) { return check.passed; });
}

bool Report::passed() const {
  return std::all_of(runs_.begin(), runs_.end(), [](const RunReport& run) { return run.passed(); });
}

bool Report::finds_only_usage_errors() const {
  return std::all_of(runs_.begin(), runs_.end(),
                     [](const RunReport& run) { return run.passed() || run.is_usage_error; });
}

namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string title_of(const RunReport& run) {
  std::string text = run.device + ", " + run.type;
  if (!run.mesh.source.empty())
    text += ": " + run.mesh.source +
            (run.mesh.refinements > 0 ? ", refined " + std::to_string(run.mesh.refinements) : "");
  if (run.mesh.elements > 0)
    text +=
        ", " + std::to_string(run.mesh.elements) + " elements, " + std::to_string(run.mesh.nodes) + " nodes";
  return text + "\n";
}

std::string phases_text(const RunReport& run) {
  if (run.phases.empty()) return "";
  double total = 0;
  for (const Phase& phase : run.phases) total += phase.seconds;
  Rows rows{{"  phase", "seconds", "share"}};
  for (const Phase& phase : run.phases)
    rows.push_back({"  " + phase.name, number_text(phase.seconds, 4),
                    number_text(total > 0 ? std::round(1000 * phase.seconds / total) / 10 : 0, 4) + " %"});
  rows.push_back({"  all", number_text(total, 4), ""});
  return table_text(rows, 1);
}

std::string checks_text(const RunReport& run) {
  if (run.checks.empty()) return "";
  Rows rows{{"  check", "value", "expected", "tolerance", ""}};
  for (const Check& check : run.checks)
    rows.push_back({"  " + check.name, number_text(check.value, 7), number_text(check.expected, 7),
                    number_text(check.tolerance, 2), check.passed ? "passed" : "FAILED"});
  return table_text(rows, 1);
}

std::string run_text(const RunReport& run, bool with_errors) {
  std::string text = title_of(run);
  if (!run.is_usage_error) text += phases_text(run);
  Rows results;
  for (const Figure& result : run.results)
    results.push_back(
        {"  " + result.name, number_text(result.value, 10) + (result.unit.empty() ? "" : " ") + result.unit});
  text += table_text(results, 2) + checks_text(run);
  for (const std::string& note : run.notes) text += "  " + note + "\n";
  for (const std::string& file : run.files) text += "  wrote " + file + "\n";
  for (const Figure& figure : run.figures)
    text += "FOM: " + figure.name + " = " + number_text(figure.value, 5) + " " + figure.unit + " (" +
            run.device + ", " + run.type + ")\n";
  if (!run.error.empty()) text += "  FAILED: " + (with_errors ? run.error : "the error is below") + "\n";
  return text;
}

}  // namespace

std::string Report::text(bool with_errors) const {
  std::string text;
  std::size_t checks = 0, failed = 0, ended = 0;
  for (const RunReport& run : runs_) {
    text += run_text(run, with_errors);
    checks += run.checks.size();
    for (const Check& check : run.checks) failed += check.passed ? 0 : 1;
    ended += run.error.empty() ? 0 : 1;
  }
  std::string how;
  if (failed > 0) how = std::to_string(failed) + " of " + std::to_string(checks) + " checks";
  if (ended > 0)
    how += (how.empty() ? "" : ", ") + std::to_string(ended) + " of " + std::to_string(runs_.size()) +
           " runs ended with an error";
  // What was refused for the way it was asked for has verified nothing.
  if (checks == 0 && finds_only_usage_errors()) return text;
  if (!how.empty()) return text + "VERIFY: FAILED (" + how + ")\n";
  return checks == 0 ? text : text + "VERIFY: PASSED (" + std::to_string(checks) + " checks)\n";
}

int Report::finish(const std::string& path) const {
  const bool printed =
      std::fputs(text(!shares_output_with_errors()).c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  const int status = finish_quietly(path);
  if (printed) return status;
  std::fprintf(stderr, "%s: the report cannot be written to standard output: is its disk full?\n",
               program_.c_str());
  return 1;
}

int Report::finish_quietly(const std::string& path) const {
  for (const RunReport& run : runs_) {
    if (!run.error.empty()) std::fprintf(stderr, "%s: %s\n", program_.c_str(), run.error.c_str());
    for (const Check& check : run.checks)
      if (!check.passed)
        std::fprintf(stderr, "%s: %s, %s, %s: check failed: %s is %.6g, expected %.6g within %.3g\n",
                     program_.c_str(), run.device.c_str(), run.type.c_str(), run.mesh.source.c_str(),
                     check.name.c_str(), check.value, check.expected, check.tolerance);
  }
  if (path == "-") write_kept_output(to_json());
  else if (!path.empty()) write_whole_file(path, to_json());
  return passed() ? 0 : finds_only_usage_errors() ? 2 : 1;
}

void write_whole_file(const std::string& path, const std::string& contents) {
  strata::detail::files::remove_abandoned_partials(path);
  strata::detail::files::PartialFile file;
  if (!file.create(path) || !file.write(contents.data(), contents.size(), 0) || !file.place())
    throw Error(path + ": cannot be written: " + strata::detail::files::file_error_text(errno) +
                "; is there such a folder, may you write there, is the disk full?");
}

std::string number_text(double value, int digits) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

std::string table_text(const std::vector<std::vector<std::string>>& rows, std::size_t text_columns) {
  std::vector<std::size_t> width;
  for (const auto& row : rows) {
    width.resize(std::max(width.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string padding(width[c] - row[c].size(), ' ');
      line += (c == 0 ? "" : "  ") + (c < text_columns ? row[c] + padding : padding + row[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string machine_text() {
  std::ifstream file("/proc/cpuinfo");
  std::string line, model = "unknown processor";
  while (std::getline(file, line))
    if (line.starts_with("model name")) {
      model = line.substr(std::min(line.find(':') + 2, line.size()));
      break;
    }
  return model + ", " + std::to_string(strata::detail::usable_processors()) + " threads";
}

}  // namespace strata::inline STRATA_ABI::miniapp
