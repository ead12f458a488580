// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include <strata/core/profiling/json_text.hpp>
#include <strata/miniapps/factorize/picture.hpp>

namespace strata::inline STRATA_ABI::factorize {

namespace {

// Those of perf_tests/report/scheduling_pictures.py.
constexpr std::array<unsigned, 12> colours{0xe00000, 0x00a000, 0x2040ff, 0xd8c800, 0xe000e0, 0x00b8c8,
                                           0xff8000, 0x804000, 0x606060, 0x90b060, 0x6000a0, 0xff90b0};
constexpr long shades = 6;  // of each
constexpr const char *grey = "#e6e6e6", *white = "#ffffff";
constexpr int most_panels = 4;
constexpr double side = 240, gap = 16, top = 62, row_of_legend = 18;  // in pixels

// The colour of a task, of which each has `share` of them: light at first.
std::string shade(long position, long share) {
  const unsigned plain = colours[static_cast<std::size_t>(position / share)];
  const long steps = std::min(share, shades), step = position % share * steps / share;
  const double whiteness =
      steps == 1 ? 0 : 0.65 * (1 - static_cast<double>(step) / static_cast<double>(steps - 1));
  char text[8];
  const auto channel = [&](int shift) {
    const double value = static_cast<double>(plain >> shift & 255U);
    return static_cast<unsigned>(std::lround(value + (255 - value) * whiteness));
  };
  std::snprintf(text, sizeof text, "#%02x%02x%02x", channel(16), channel(8), channel(0));
  return text;
}
// 1, 2 or 5 times a power of ten, so that the colours are enough.
long share_of_colour(long tasks) {
  for (long power = 1;; power *= 10)
    for (const long share : {power, 2 * power, 5 * power})
      if (share * static_cast<long>(colours.size()) >= tasks) return share;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '&' ? "&amp;" : c == '<' ? "&lt;" : std::string(1, c);
  return strata::detail::profiling::is_utf8(result) ? result : "";
}

std::string rectangle(double x, double y, double width, double height, const std::string& rest) {
  return "<rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" + number(width) + "\" height=\"" +
         number(height) + "\" " + rest + "/>\n";
}
std::string words(double x, double y, const char* anchor, const std::string& text) {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" text-anchor=\"" + anchor + "\">" +
         escaped(text) + "</text>\n";
}

struct Panel {
  std::string title;
  int k;
  int device;  // none of several: -1
};

std::vector<Panel> panels_of(const PictureOf& of) {
  std::vector<Panel> panels;
  const auto k_of = [&](int step) { return of.goes_back ? of.steps - 1 - step : step; };
  if (const int devices = static_cast<int>(of.devices.size()); devices > 1)
    for (int device = 0; device < std::min(devices, most_panels); ++device)
      panels.push_back({of.devices[static_cast<std::size_t>(device)] + ", step 1", k_of(0), device});
  else
    for (int step = 0; step < std::min(of.steps, most_panels); ++step)
      panels.push_back({"step " + std::to_string(step + 1), k_of(step), -1});
  return panels;
}

// Of each tile at a step: how many tasks of its device ended before, or -1; and the device.
struct Ends {
  std::vector<long> positions;
  std::vector<int> devices;
};
Ends ends_of(const PictureOf& of, int k, const std::vector<TileTask>& order) {
  const std::size_t columns = static_cast<std::size_t>(of.columns);
  const std::size_t tiles = static_cast<std::size_t>(of.rows) * columns;
  Ends ends{std::vector<long>(tiles, -1), std::vector<int>(tiles, -1)};
  std::vector<long> counts(of.devices.size(), 0);
  for (const TileTask& task : order) {
    const long position = counts[static_cast<std::size_t>(task.device)]++;
    if (task.k != k || task.m >= of.rows || task.n >= of.columns) continue;
    const std::size_t at = static_cast<std::size_t>(task.m) * columns + static_cast<std::size_t>(task.n);
    ends.positions[at] = position;
    ends.devices[at] = task.device;
  }
  return ends;
}

// Whether the square that is as large as a memory fits the panel.
bool shows_memory(const PictureOf& of) {
  const int longest = std::max(of.rows, of.columns);
  return of.memory_tiles > 0 && of.memory_tiles < longest * longest;
}

std::string draw_panel(const PictureOf& of, const Panel& panel, double left, long share,
                       const std::vector<TileTask>& order) {
  const Ends ends = ends_of(of, panel.k, order);
  const double tile = side / std::max(of.rows, of.columns);
  std::string text = words(left + side / 2, top - 8, "middle", panel.title) +
                     rectangle(left, top, side, side, std::string("fill=\"") + white + "\"");
  for (int m = 0; m < of.rows; ++m)
    for (int n = 0; n < of.columns; ++n) {
      if (!of.is_updated(panel.k, m, n)) continue;
      const std::size_t at = static_cast<std::size_t>(m * of.columns + n);
      const bool is_here = ends.positions[at] >= 0 && (panel.device < 0 || ends.devices[at] == panel.device);
      // A little larger, so that no lines show between them.
      text += rectangle(left + n * tile, top + m * tile, tile + 0.2, tile + 0.2,
                        "fill=\"" + (is_here ? shade(ends.positions[at], share) : std::string(grey)) + "\"");
    }
  if (shows_memory(of)) {
    const double box = std::sqrt(of.memory_tiles) * tile;
    text += rectangle(left + side - box - 2, top + 2, box, box, "fill=\"none\" stroke=\"#000000\"");
  }
  return text + rectangle(left, top, side, side, "fill=\"none\" stroke=\"#808080\"");
}

}  // namespace

std::string order_picture(const PictureOf& of, const std::vector<TileTask>& order) {
  const std::vector<Panel> panels = panels_of(of);
  std::vector<long> counts(of.devices.size(), 0);
  for (const TileTask& task : order) ++counts[static_cast<std::size_t>(task.device)];
  const long most = std::max(*std::max_element(counts.begin(), counts.end()), 1L);
  const long share = share_of_colour(most);

  // The legend: what a colour is, and a square.
  std::vector<std::pair<std::string, std::string>> legend;
  for (long first = 0; first < most; first += share)
    legend.emplace_back(shade(first + share - 1, share),
                        "tasks " + std::to_string(first + 1) + " to " + std::to_string(first + share));
  if (of.devices.size() > 1) legend.emplace_back(grey, "of other devices");
  if (shows_memory(of)) legend.emplace_back("none", "tiles that fit a memory");
  const int columns = std::max(static_cast<int>(panels.size()), 2);
  const double width = gap + columns * (side + gap);
  const double bottom = top + side + gap;
  const double height =
      bottom +
      row_of_legend * (static_cast<double>((static_cast<int>(legend.size()) + columns - 1) / columns)) + gap;

  std::string text = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width) + "\" height=\"" +
                     number(height) + "\" font-family=\"sans-serif\" font-size=\"12\">\n" +
                     rectangle(0, 0, width, height, std::string("fill=\"") + white + "\"") +
                     words(width / 2, 24, "middle", of.title);
  for (std::size_t k = 0; k < panels.size(); ++k)
    text += draw_panel(of, panels[k], gap + static_cast<double>(k) * (side + gap), share, order);
  for (std::size_t k = 0; k < legend.size(); ++k) {
    const double x = gap + static_cast<double>(static_cast<int>(k) % columns) * (side + gap);
    const double y = bottom + row_of_legend * static_cast<double>(static_cast<int>(k) / columns);
    text += rectangle(x, y, 12, 12,
                      "fill=\"" + legend[k].first + "\"" +
                          (legend[k].first == "none" ? " stroke=\"#000000\"" : "")) +
            words(x + 18, y + 11, "start", legend[k].second);
  }
  return text + "</svg>\n";
}

std::string order_json(const std::string& workload, int tiles, const std::string& scheduler,
                       const std::vector<TileTask>& order) {
  using strata::detail::profiling::json_quoted;
  std::string text = "{\"workload\": " + json_quoted(workload) + ", \"tiles\": " + std::to_string(tiles) +
                     ", \"scheduler\": " + json_quoted(scheduler) +
                     ", \"columns\": [\"device\", \"k\", \"m\", \"n\"], \"order\": [";
  for (std::size_t i = 0; i < order.size(); ++i)
    text += (i == 0 ? "[" : ",[") + std::to_string(order[i].device) + "," + std::to_string(order[i].k) + "," +
            std::to_string(order[i].m) + "," + std::to_string(order[i].n) + "]";
  return text + "]}\n";
}

}  // namespace strata::inline STRATA_ABI::factorize
