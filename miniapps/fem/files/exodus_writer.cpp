// Exodus II with the blocks and sets of the mesh, and the fields of every state as its time steps. Elements
// are sorted by blocks, as the format wants them; their numbers say which they were.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <numeric>
#include <set>

#include <strata/miniapps/fem/files/netcdf_writer.hpp>
#include <strata/miniapps/fem/files/result_formats.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

namespace {

using Type = NetcdfWriter::Type;
using Integers = std::vector<std::int64_t>;

std::size_t as_size(std::int64_t value) { return static_cast<std::size_t>(value); }

// The numbers of blocks or sets; their places from 1 where those are none, twice the same, or too large.
template <class Entities>
Integers usable_ids(const Entities& entities) {
  Integers ids;
  for (const auto& entity : entities) ids.push_back(entity.id);
  std::set<std::int64_t> different;
  for (const std::int64_t id : ids) {
    if (id > 0 && id <= std::numeric_limits<std::int32_t>::max()) different.insert(id);
  }
  if (different.size() != ids.size()) std::iota(ids.begin(), ids.end(), 1);
  return ids;
}

template <class Entities>
std::vector<std::string> names_of(const Entities& entities) {
  std::vector<std::string> names;
  for (const auto& entity : entities) names.push_back(entity.name);
  return names;
}

class ExodusFormat : public OneFileFormat {
 public:
  ExodusFormat(const std::string& path, const HostMesh& mesh, std::optional<double> from)
      : OneFileFormat(path), mesh_(mesh), from_(from) {
    sort_elements();
  }

  void write(double time, const std::vector<Field>& fields) override {
    if (!begun_) begin(fields);
    std::vector<std::string> values = {NetcdfBytes::number(time)};
    for (const Field& field : fields) {
      for (int c = 0; !field.of_elements && c < field.components; ++c) {
        values.push_back(NetcdfBytes::numbers(field.values.data(), mesh_.coordinates.size(), as_size(c),
                                              as_size(field.components)));
      }
    }
    for (const Field& field : fields) {
      for (int c = 0; field.of_elements && c < field.components; ++c) {
        for (const Integers& elements : block_elements_) {
          std::vector<double> of_block;
          for (const std::int64_t element : elements) {
            of_block.push_back(field.values[as_size(element * field.components + c)]);
          }
          values.push_back(NetcdfBytes::numbers(of_block.data(), of_block.size(), 0, 1));
        }
      }
    }
    file_.write_record(values);
    written_ = true;
  }

  void require_series(const std::vector<Field>& fields) override {
    if (begun_ || !goes_on()) return;
    describe(fields);
    file_.require_same(path_);
  }

  void finish() override {
    if (!begun_) begin({});
    file_.finish();
    written_ = true;
  }

 private:
  void sort_elements() {
    block_elements_.resize(mesh_.blocks.size());
    for (std::size_t element = 0; element < mesh_.elements.size(); ++element) {
      block_elements_[as_size(mesh_.element_blocks[element])].push_back(static_cast<std::int64_t>(element));
    }
    places_.resize(mesh_.elements.size());
    std::int64_t place = 0;
    for (const Integers& elements : block_elements_) {
      for (const std::int64_t element : elements) places_[as_size(element)] = ++place;
    }
  }

  bool goes_on() const { return from_ && std::filesystem::exists(path_); }

  void begin(const std::vector<Field>& fields) {
    describe(fields);
    if (goes_on()) file_.go_on(path_, *from_);
    else file_.begin(path_);
    begun_ = true;
  }

  // What is in the file, once.
  void describe(const std::vector<Field>& fields) {
    if (described_) return;
    described_ = true;
    add_sizes();
    add_mesh();
    add_blocks();
    add_sets();
    add_fields(fields);
  }

  void add_sizes() {
    file_.add_attribute("api_version", 5.1f);
    file_.add_attribute("version", 5.1f);
    file_.add_attribute("floating_point_word_size", 8);
    file_.add_attribute("file_size", 1);
    file_.add_attribute("maximum_name_length", static_cast<std::int32_t>(name_length - 1));
    file_.add_attribute("title", std::string("mesh of hexahedra"));
    file_.add_dimension("len_string", 33);
    file_.add_dimension("len_name", static_cast<std::int64_t>(name_length));
    file_.add_dimension("len_line", 81);
    file_.add_dimension("four", 4);
    file_.add_dimension("time_step", 0);
    file_.add_dimension("num_dim", 3);
    file_.add_dimension("num_nodes", static_cast<std::int64_t>(mesh_.coordinates.size()));
    file_.add_dimension("num_elem", static_cast<std::int64_t>(mesh_.elements.size()));
    file_.add_record("time_whole", {});
  }

  void add_integers(const std::string& name, const std::string& dimension, Integers values,
                    NetcdfWriter::Texts texts = {}) {
    file_.add(
        name, Type::Integer, {dimension}, [values] { return NetcdfBytes::integers(values); },
        std::move(texts));
  }

  void add_names(const std::string& name, const std::string& dimension, std::vector<std::string> values) {
    file_.add(name, Type::Characters, {dimension, "len_name"},
              [values] { return NetcdfBytes::strings(values, name_length); });
  }

  static Integers usable_numbers(const Integers& numbers, std::size_t size) {
    Integers usable(size);
    std::iota(usable.begin(), usable.end(), 1);
    const bool fit =
        numbers.size() == size && std::all_of(numbers.begin(), numbers.end(), [](std::int64_t number) {
          return number >= 0 && number <= std::numeric_limits<std::int32_t>::max();
        });
    return fit ? numbers : usable;
  }

  void add_mesh() {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      file_.add(
          std::string("coord") + "xyz" [axis], Type::Number, { "num_nodes" },
          [this, axis] {
            return NetcdfBytes::numbers(mesh_.coordinates[0].data(), mesh_.coordinates.size(), axis, 3);
          });
    }
    add_names("coor_names", "num_dim", {"x", "y", "z"});
    add_integers("node_num_map", "num_nodes", usable_numbers(mesh_.node_ids, mesh_.coordinates.size()));
    const Integers numbers = usable_numbers(mesh_.element_ids, mesh_.elements.size());
    Integers sorted(numbers.size());
    for (std::size_t element = 0; element < numbers.size(); ++element)
      sorted[as_size(places_[element] - 1)] = numbers[element];
    add_integers("elem_num_map", "num_elem", std::move(sorted));
  }

  void add_blocks() {
    file_.add_dimension("num_el_blk", static_cast<std::int64_t>(mesh_.blocks.size()));
    add_entities("eb", "num_el_blk", usable_ids(mesh_.blocks), names_of(mesh_.blocks));
    for (std::size_t block = 0; block < mesh_.blocks.size(); ++block) {
      const std::string place = std::to_string(block + 1);
      // A dimension of 0 is that of records: empty blocks have none.
      if (block_elements_[block].empty()) continue;
      file_.add_dimension("num_el_in_blk" + place, static_cast<std::int64_t>(block_elements_[block].size()));
      file_.add_dimension("num_nod_per_el" + place, 8);
      const auto nodes = [this, block] {
        Integers corners;
        for (const std::int64_t element : block_elements_[block]) {
          for (const std::int32_t node : mesh_.elements[as_size(element)])
            corners.push_back(std::int64_t{node} + 1);
        }
        return NetcdfBytes::integers(corners);
      };
      file_.add("connect" + place, Type::Integer, {"num_el_in_blk" + place, "num_nod_per_el" + place}, nodes,
                {{"elem_type", "HEX8"}});
    }
  }

  void add_entities(const std::string& prefix, const std::string& dimension, Integers ids,
                    std::vector<std::string> names) {
    Integers status;
    for (std::size_t k = 0; k < ids.size(); ++k) {
      status.push_back(prefix != "eb" || !block_elements_[k].empty() ? 1 : 0);
    }
    add_integers(prefix + "_status", dimension, std::move(status));
    add_integers(prefix + "_prop1", dimension, std::move(ids), {{"name", "ID"}});
    add_names(prefix + "_names", dimension, std::move(names));
  }

  void add_sets() {
    std::vector<SideSet> side_sets = mesh_.side_sets;
    std::erase_if(side_sets, [](const SideSet& set) { return set.elements.empty(); });
    if (!side_sets.empty()) {
      file_.add_dimension("num_side_sets", static_cast<std::int64_t>(side_sets.size()));
      add_entities("ss", "num_side_sets", usable_ids(side_sets), names_of(side_sets));
    }
    for (std::size_t set = 0; set < side_sets.size(); ++set) {
      const std::string place = std::to_string(set + 1);
      Integers elements, sides;
      for (const std::int32_t element : side_sets[set].elements)
        elements.push_back(places_[as_size(element)]);
      for (const std::int8_t face : side_sets[set].faces) sides.push_back(face + 1);
      file_.add_dimension("num_side_ss" + place, static_cast<std::int64_t>(elements.size()));
      add_integers("elem_ss" + place, "num_side_ss" + place, std::move(elements));
      add_integers("side_ss" + place, "num_side_ss" + place, std::move(sides));
    }
    std::vector<NodeSet> node_sets = mesh_.node_sets;
    std::erase_if(node_sets, [](const NodeSet& set) { return set.nodes.empty(); });
    if (node_sets.empty()) return;
    file_.add_dimension("num_node_sets", static_cast<std::int64_t>(node_sets.size()));
    add_entities("ns", "num_node_sets", usable_ids(node_sets), names_of(node_sets));
    for (std::size_t set = 0; set < node_sets.size(); ++set) {
      const std::string place = std::to_string(set + 1);
      Integers nodes;
      for (const std::int32_t node : node_sets[set].nodes) nodes.push_back(std::int64_t{node} + 1);
      file_.add_dimension("num_nod_ns" + place, static_cast<std::int64_t>(nodes.size()));
      add_integers("node_ns" + place, "num_nod_ns" + place, std::move(nodes));
    }
  }

  void add_fields(const std::vector<Field>& fields) {
    std::vector<std::string> of_nodes, of_elements;
    for (const Field& field : fields) {
      for (int c = 0; c < field.components; ++c) {
        (field.of_elements ? of_elements : of_nodes).push_back(component_name(field, c));
      }
    }
    if (!of_nodes.empty()) {
      file_.add_dimension("num_nod_var", static_cast<std::int64_t>(of_nodes.size()));
      add_names("name_nod_var", "num_nod_var", of_nodes);
      for (std::size_t k = 1; k <= of_nodes.size(); ++k)
        file_.add_record("vals_nod_var" + std::to_string(k), {"num_nodes"});
    }
    if (of_elements.empty()) return;
    file_.add_dimension("num_elem_var", static_cast<std::int64_t>(of_elements.size()));
    add_names("name_elem_var", "num_elem_var", of_elements);
    file_.add("elem_var_tab", Type::Integer, {"num_el_blk", "num_elem_var"},
              [this, variables = of_elements.size()] {
                Integers table;
                for (const Integers& elements : block_elements_)
                  table.insert(table.end(), variables, elements.empty() ? 0 : 1);
                return NetcdfBytes::integers(table);
              });
    for (std::size_t k = 1; k <= of_elements.size(); ++k) {
      for (std::size_t block = 0; block < mesh_.blocks.size(); ++block) {
        if (block_elements_[block].empty()) continue;
        const std::string place = std::to_string(block + 1);
        file_.add_record("vals_elem_var" + std::to_string(k) + "eb" + place, {"num_el_in_blk" + place});
      }
    }
  }

  static constexpr std::size_t name_length = 256;

  const HostMesh& mesh_;
  std::vector<Integers> block_elements_;
  Integers places_;  // of elements in the file, from 1
  std::optional<double> from_;
  NetcdfWriter file_;
  bool described_ = false, begun_ = false;
};

}  // namespace

std::unique_ptr<ResultFormat> make_exodus_format(const std::string& path, const HostMesh& mesh,
                                                 std::optional<double> from) {
  return std::make_unique<ExodusFormat>(path, mesh, from);
}

}  // namespace strata::inline STRATA_ABI::fem::detail
