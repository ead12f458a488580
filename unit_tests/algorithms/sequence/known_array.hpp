// KnownArray: an array of programs that fail, beside what each of its elements may be. Told: what errors
// said.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <strata/core/error.hpp>

#include "algorithms/sequence/mixing.hpp"

namespace sequence_testing {

/// The texts of errors, and the rows of arrays that these say are lost.
class Told {
 public:
  void add(const Error& error) {
    const std::string more = error.what();
    text += (text.empty() ? "" : "\n") + more;
    if (dynamic_cast<const DataLost*>(&error) == nullptr) return;
    static const std::regex boxes(R"RX(((?:\[\d+, \d+\)(?:, )?)+) of "([^"]+)")RX"),
        rows(R"(\[(\d+), (\d+)\))");
    const std::sregex_iterator end;
    // Of slices that failed: nobody knows what the host has.
    static const std::regex values(R"RX([tT]he values of ((?:"[^"]+"(?:, )?)+))RX"),
        labels(R"RX("([^"]+)")RX");
    for (std::sregex_iterator of(more.begin(), more.end(), values); of != end; ++of) {
      const std::string list = (*of)[1];
      for (std::sregex_iterator label(list.begin(), list.end(), labels); label != end; ++label)
        unknown_.insert((*label)[1]);
    }
    for (std::sregex_iterator of(more.begin(), more.end(), boxes); of != end; ++of) {
      const std::string list = (*of)[1];
      for (std::sregex_iterator box(list.begin(), list.end(), rows); box != end; ++box)
        lost_[(*of)[2]].push_back({std::stoll((*box)[1]), std::stoll((*box)[2])});
    }
  }
  /// Whether the values of the array are in part old and in part new, to be written anew.
  bool is_unknown(const std::string& label) const { return unknown_.contains(label); }
  bool is_lost(const std::string& label, index_t row) const {
    const auto known = lost_.find(label);
    if (known == lost_.end()) return false;
    return std::any_of(known->second.begin(), known->second.end(),
                       [&](const ResidentRows& rows) { return rows.begin <= row && row < rows.end; });
  }

  std::string text;

 private:
  std::map<std::string, std::vector<ResidentRows>> lost_;
  std::set<std::string> unknown_;
};

class KnownArray {
 public:
  /// `in_turns`: other threads use it before and after, of whose failures their errors may come late.
  KnownArray(const std::string& label, index_t n, bool in_turns)
      : array(label.c_str(), n),
        in_turns_(in_turns),
        versions_{Values(static_cast<std::size_t>(n), 0)},
        oldest_(static_cast<std::size_t>(n), 0),
        is_with_host_(static_cast<std::size_t>(n), true) {}

  const Numbers array;

  /// What it is where all goes well.
  const Values& now() const { return versions_.back(); }
  index_t rows() const { return array.extent(0); }
  std::size_t versions() const { return versions_.size(); }

  /// f(values) is what a device makes of rows begin to end.
  template <class F>
  void device_writes(index_t begin, index_t end, const F& f) {
    versions_.push_back(now());
    f(versions_.back());
    for (index_t i = begin; i < end; ++i) is_with_host_[static_cast<std::size_t>(i)] = false;
  }
  /// The same of the host, which has done it.
  template <class F>
  void host_wrote(index_t begin, index_t end, const F& f) {
    versions_.push_back(now());
    f(versions_.back());
    host_has(begin, end);
  }
  /// The host has read these rows: no failure of what was before can take them back.
  void host_has(index_t begin, index_t end) {
    for (index_t i = begin; i < end; ++i) {
      oldest_[static_cast<std::size_t>(i)] = versions_.size() - 1;
      is_with_host_[static_cast<std::size_t>(i)] = true;
    }
    if (begin == 0 && end == rows()) forget();
  }

  /// That what was declared since has not happened at all.
  struct Mark {
    std::size_t versions;
    std::vector<bool> is_with_host;
  };
  Mark mark() const { return {versions_.size(), is_with_host_}; }
  void back_to(const Mark& mark) {
    versions_.resize(mark.versions);
    is_with_host_ = mark.is_with_host;
  }

  /// What the host reads is right.
  void check(index_t begin, index_t end) {
    const auto view = array.read(line(begin, end));
    for (index_t i = begin; i < end; ++i)
      ASSERT_EQ(view(i), now()[static_cast<std::size_t>(i)])
          << "element " << i << " of " << array.label() << ": " << array.explain();
    host_has(begin, end);
  }

  /// Until nothing more is told of it.
  void hear(Told& told) const {
    constexpr int most = 1000;
    for (int k = 0; k < most; ++k) try {
        array.flush();
        return;
      } catch (const NeverWritten&) {  // checked builds: lost, as was told
        return;
      } catch (const Error& error) {
        told.add(error);
      }
    FAIL() << "errors without end: " << told.text;
  }

  /// After hear(): each element is one that it may be, or is lost, as was told, and was with a device only;
  /// and what was told to be lost is so. What is lost is then written anew.
  void settle(const Told& told) {
    std::vector<bool> is_lost(static_cast<std::size_t>(rows()));
    for (const Residence& part : array.where(line(0, rows())))
      for (index_t i = part.box.lower(0); i < part.box.upper(0); ++i)
        is_lost[static_cast<std::size_t>(i)] = part.memories.empty();
    for (index_t i = 0; i < rows(); ++i) {
      const std::size_t at = static_cast<std::size_t>(i);
      const bool is_told = told.is_lost(array.label(), i);
      ASSERT_FALSE(is_lost[at] && is_with_host_[at])
          << what(i) << " was with the host and is lost" << after(told);
      ASSERT_FALSE(is_lost[at] && !is_told) << what(i) << " is lost, and nobody was told" << after(told);
      ASSERT_FALSE(is_told && !is_lost[at] && !in_turns_)
          << what(i) << " is there, and was told lost" << after(told);
    }
    Values seen = now();
    insist([&] {
      for (const Residence& part : array.where(line(0, rows())))
        if (part.memories.empty()) {
          const auto view = array.write(part.box);
          for (index_t i = part.box.lower(0); i < part.box.upper(0); ++i) view(i) = 1;
        }
      const auto view = array.read();
      for (index_t i = 0; i < rows(); ++i) seen[static_cast<std::size_t>(i)] = view(i);
    });
    for (index_t i = 0; i < rows(); ++i) {
      const std::size_t at = static_cast<std::size_t>(i);
      const auto is_seen = [&](const Values& version) { return version[at] == seen[at]; };
      ASSERT_TRUE(
          is_lost[at] || told.is_unknown(array.label()) ||
          std::any_of(versions_.begin() + static_cast<std::ptrdiff_t>(oldest_[at]), versions_.end(), is_seen))
          << what(i) << " is " << seen[at] << ", none of its " << versions_.size() - oldest_[at] << " values"
          << (std::any_of(versions_.begin(), versions_.end(), is_seen) ? ", but an older one" : "")
          << after(told);
    }
    versions_ = {seen};
    host_has(0, rows());
  }

 private:
  // Until it goes well: errors are those of others.
  template <class F>
  static void insist(const F& f) {
    std::string last;
    for (int k = 0; k < 1000; ++k) try {
        return f();
      } catch (const Error& error) {
        last = error.what();
      }
    FAIL() << "errors without end: " << last;
  }
  std::string what(index_t i) const { return "element " + std::to_string(i) + " of " + array.label(); }
  static std::string after(const Told& told) { return ", after: " + told.text; }
  void forget() {
    versions_.erase(versions_.begin(), versions_.end() - 1);
    oldest_.assign(oldest_.size(), 0);
  }

  const bool in_turns_;
  std::deque<Values> versions_;      // since all of it was with the host; the last one is now()
  std::vector<std::size_t> oldest_;  // of each element: the first version that it may be
  std::vector<bool> is_with_host_;
};

}  // namespace sequence_testing
