// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <strata/core/files/file_size_limit.hpp>
#include <strata/core/files/partial_file.hpp>
#include <strata/miniapps/explicit_dynamics/checkpoint.hpp>

namespace strata::inline STRATA_ABI::dynamics {

namespace {

constexpr char magic[8] = {'S', 'T', 'R', 'A', 'T', 'A', 'D', '2'};
constexpr std::uint64_t byte_order = 0x0102030405060708;

struct Header {
  char magic[8];
  std::uint64_t byte_order;
  std::uint64_t description_size;
  std::uint64_t state_size;
  std::uint64_t checksum;  // of description and state
};

constexpr std::uint64_t first_sum = 0xcbf29ce484222325;

// FNV-1a over words of 8 bytes, with the rotation that its upper bits lack.
std::uint64_t checksum(std::uint64_t sum, const char* data, std::size_t size) {
  for (std::size_t k = 0; k < size; k += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + k, size - k < 8 ? size - k : 8);
    sum = (sum ^ word) * 0x100000001b3;
    sum = sum << 29 | sum >> 35;
  }
  return sum;
}
std::uint64_t checksum_of(const std::string& description, const std::vector<char>& state) {
  return checksum(checksum(first_sum, description.data(), description.size()), state.data(), state.size());
}

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw CheckpointError("checkpoint " + path + ": " + what);
}

[[noreturn]] void fail_writing(const std::string& path) {
  fail(path, "cannot be written: " + strata::detail::files::file_error_text(errno) +
                 "; the one before is as it was. Check the folder, its permissions and the disk's space");
}

std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", x);
  return text;
}

// Opens a file, to be read after its header, which is that of a whole checkpoint.
Header open_checkpoint(const std::string& path, std::ifstream& file) {
  if (std::filesystem::is_directory(path)) fail(path, "is a folder; give the file of --checkpoint-file");
  file.open(path, std::ios::binary);
  if (!file)
    fail(path,
         std::string("cannot be read: ") + std::strerror(errno) + "; give the file of --checkpoint-file");
  Header header{};
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header) ||
      std::memcmp(header.magic, magic, sizeof magic - 1) != 0)
    fail(path, "is no checkpoint of strata-dynamics; give the file of --checkpoint-file");
  if (header.magic[sizeof magic - 1] != magic[sizeof magic - 1])
    fail(path, "was written by another version of strata-dynamics; restart it with that one");
  if (header.byte_order != byte_order)
    fail(path, "was written on a machine of another byte order; restart it there");
  file.seekg(0, std::ios::end);
  const auto size = static_cast<std::uint64_t>(file.tellg());
  if (header.description_size > size || header.state_size > size ||
      size != sizeof header + header.description_size + header.state_size)
    fail(path,
         "is cut short or has been changed: it has " + std::to_string(size) + " bytes; use an earlier one");
  file.seekg(sizeof header);
  return header;
}

// The first line in which two descriptions differ.
std::string difference(const std::string& found, const std::string& wanted) {
  std::size_t a = 0, b = 0;
  while (a < found.size() || b < wanted.size()) {
    const std::string x = found.substr(a, found.find('\n', a) - a),
                      y = wanted.substr(b, wanted.find('\n', b) - b);
    if (x != y) return "it is of \"" + x + "\", this run has \"" + y + "\"";
    a += x.size() + 1;
    b += y.size() + 1;
  }
  return "it is of something else";
}

}  // namespace

std::string describe(Dynamics& s) {
  const fem::HostMesh mesh = s.mesh();
  std::uint64_t sum = checksum(first_sum, reinterpret_cast<const char*>(mesh.coordinates.data()),
                               mesh.coordinates.size() * sizeof mesh.coordinates[0]);
  sum = checksum(sum, reinterpret_cast<const char*>(mesh.elements.data()),
                 mesh.elements.size() * sizeof mesh.elements[0]);
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(sum));
  const Parameters& p = s.parameters();
  return std::to_string(s.node_count()) + " nodes\n" + std::to_string(s.element_count()) +
         " elements\nmesh with the checksum " + text + "\ntype " + s.type() + "\nyoung " + number(p.young) +
         "\npoisson " + number(p.poisson) + "\ndensity " + number(p.density) + "\n";
}

void write_checkpoint(const std::string& path, const std::string& description, Dynamics& simulation) {
  simulation.wait();
  const std::vector<char> state = simulation.state();
  Header header{};
  std::memcpy(header.magic, magic, sizeof magic);
  header.byte_order = byte_order;
  header.description_size = description.size();
  header.state_size = state.size();
  header.checksum = checksum_of(description, state);
  strata::detail::files::remove_abandoned_partials(path);
  strata::detail::files::PartialFile file;
  if (!file.create(path)) fail_writing(path);
  std::uint64_t end = 0;
  const auto write = [&](const void* data, std::size_t bytes) {
    if (!file.write(data, bytes, end)) fail_writing(path);
    end += bytes;
  };
  write(&header, sizeof header);
  write(description.data(), description.size());
  write(state.data(), state.size());
  // Its bytes are on disk before it has its name, and then the name.
  if (!file.sync() || !file.place() || !file.sync()) fail_writing(path);
}

void require_checkpoint(const std::string& path) {
  std::ifstream file;
  static_cast<void>(open_checkpoint(path, file));
}

void restart(const std::string& path, const std::string& description, Dynamics& simulation) {
  std::ifstream file;
  const Header header = open_checkpoint(path, file);
  std::string found(header.description_size, '\0');
  std::vector<char> state(header.state_size);
  file.read(found.data(), static_cast<std::streamsize>(found.size()));
  file.read(state.data(), static_cast<std::streamsize>(state.size()));
  if (!file) fail(path, "cannot be read to its end; use an earlier one");
  if (checksum_of(found, state) != header.checksum)
    fail(path, "is damaged: its checksum does not fit; use an earlier one");
  if (found != description)
    fail(path, "does not fit this run: " + difference(found, description) +
                   "; restart with the mesh, refinements, type and material of the run that wrote it");
  simulation.restore(state);
}

}  // namespace strata::inline STRATA_ABI::dynamics
