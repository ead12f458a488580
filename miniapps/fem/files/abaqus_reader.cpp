// Abaqus input files (.inp), as far as they describe one part of C3D8 elements: *NODE, *ELEMENT, *NSET,
// *ELSET, *SURFACE, *SOLID SECTION. Sections make the blocks where there are any, element sets otherwise;
// four-node shells and membranes become side sets by their element sets. Other keywords are passed over, and
// listed in HostMesh::remarks. The format has no end mark of its own: the parts, assemblies, instances and
// steps that a file begins have to end, and so has its last line.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <strata/miniapps/fem/files/formats.hpp>
#include <strata/miniapps/fem/files/mesh_builder.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

namespace {

// Abaqus' faces S1 to S6 as those of Exodus II less one.
constexpr std::array<int, 6> face_of_surface = {4, 5, 0, 1, 2, 3};

using Words = std::vector<std::string_view>;

Words split(std::string_view line) {
  Words words;
  while (true) {
    const std::size_t comma = line.find(',');
    words.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) return words;
    line.remove_prefix(comma + 1);
  }
}

class AbaqusReader {
 public:
  explicit AbaqusReader(MeshText& text) : text_(text), builder_(text) {}

  HostMesh read() {
    while (text_.remaining() > 0) {
      const std::string_view line = trimmed(text_.line());
      at_ = text_.word_position();
      if (line.empty() || line.starts_with("**")) continue;
      line[0] == '*' ? read_keyword(line) : read_data(line);
      const bool is_cut = text_.remaining() == 0 && text_.content().back() != '\n';
      if (is_cut && !ended_)
        fail("the file ends within this line, which may be cut short; if it is whole, end the line");
    }
    finish_element();
    require_ends();
    number_sets();
    return builder_.build();
  }

 private:
  enum class Data { None, Nodes, Elements, NodeSet, ElementSet, Surface, Instance };
  struct Member {
    std::int64_t id;
    std::size_t at;
  };
  struct Set {
    std::string name;
    std::vector<Member> members;
    bool has_section = false;
  };
  // By their names in small letters, as capitals make no difference.
  using Sets = std::map<std::string, Set>;
  struct SideSetName {
    std::string name;
    std::int64_t id = 0;  // 0 until it has a side
  };
  struct Section {
    std::string set;
    std::size_t at;
  };
  struct Element {
    std::int64_t id;
    std::array<std::int64_t, 8> nodes;
    const Set* set;  // none: nullptr
    std::size_t at;
  };
  struct Quadrilateral {
    std::array<std::int64_t, 4> nodes;
    std::size_t at;
    bool is_in_a_set = false;
  };
  struct SurfacePart {
    SideSetName* surface;
    std::string of;
    int face;
    std::size_t at;
  };

  void read_keyword(std::string_view line) {
    finish_element();
    const Words words = split(line.substr(1));
    const std::string keyword = lower_case(words[0]);
    parameters_.clear();
    for (std::size_t k = 1; k < words.size(); ++k) {
      const std::size_t equals = words[k].find('=');
      const std::string_view value =
          equals == std::string_view::npos ? "" : trimmed(words[k].substr(equals + 1));
      parameters_[lower_case(trimmed(words[k].substr(0, equals)))] = unquoted(value);
    }
    data_ = Data::None;
    set_ = nullptr;
    if (keyword.starts_with("end ")) {
      open_.erase(keyword.substr(4));
      ended_ = true;
      return;
    }
    // What may follow the end of the mesh does not say that the file is whole.
    ended_ = ended_ && keyword != "node" && keyword != "element" && keyword != "nset" && keyword != "elset" &&
             keyword != "surface" && keyword != "solid section";
    if (keyword == "part" || keyword == "assembly" || keyword == "instance" || keyword == "step")
      open_.insert_or_assign(keyword, at_);
    if (keyword == "node") {
      data_ = Data::Nodes;
      set_ = set_of(node_sets_, parameters_["nset"]);
    } else if (keyword == "element") {
      begin_elements();
    } else if (keyword == "nset") {
      data_ = Data::NodeSet;
      set_ = set_of(node_sets_, parameters_["nset"]);
    } else if (keyword == "elset") {
      data_ = Data::ElementSet;
      set_ = set_of(element_sets_, parameters_["elset"]);
    } else if (keyword == "surface") {
      const std::string type = lower_case(parameters_["type"]);
      if (type.empty() || type == "element") {
        data_ = Data::Surface;
        surface_ = parameters_["name"].empty() ? nullptr : &side_set_of(parameters_["name"]);
      } else {
        builder_.leave_out("surfaces of type " + in_quotes(type), at_);
      }
    } else if (keyword == "solid section") {
      if (!parameters_["elset"].empty()) sections_.push_back({parameters_["elset"], at_});
    } else if (keyword == "instance") {
      if (++instances_ > 1) fail("a second instance is not supported; save the mesh as one part");
      data_ = Data::Instance;
    } else if (keyword == "part") {
      if (++parts_ > 1) fail("a second part is not supported; save the mesh as one part");
    } else if (keyword == "include") {
      fail("*INCLUDE is not supported; put the file's content here");
    } else if (keyword == "system" || keyword == "ngen" || keyword == "nfill" || keyword == "elgen" ||
               keyword == "ncopy" || keyword == "elcopy" || keyword == "nmap") {
      fail("*" + keyword + " is not supported; save the mesh with all nodes and elements written out");
    } else if (keyword != "heading" && keyword != "preprint" && keyword != "assembly" && keyword != "step") {
      builder_.leave_out("what follows " + in_quotes("*" + keyword) + ", which is not read", at_);
    }
  }

  // nullptr where there is no name.
  static Set* set_of(Sets& sets, const std::string& name) {
    if (name.empty()) return nullptr;
    Set& set = sets[lower_case(name)];
    if (set.name.empty()) set.name = name;
    return &set;
  }

  void require_ends() {
    for (const auto& [keyword, at] : open_) {
      std::string name = keyword;
      for (char& c : name) c = static_cast<char>(c - 'a' + 'A');
      text_.fail(at, "*" + name + " has no *END " + name + "; the file is truncated: write it again");
    }
    if (ended_) return;
    builder_.remark(text_.content().size(),
                    "the file ends without *END PART or another end mark: if it was cut short between lines, "
                    "that does not show");
  }

  static std::string unquoted(std::string_view value) {
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    return std::string(value);
  }

  [[noreturn]] void fail(const std::string& problem) const { text_.fail(at_, problem); }

  void begin_elements() {
    const std::string type = lower_case(parameters_["type"]);
    set_ = set_of(element_sets_, parameters_["elset"]);
    data_ = Data::Elements;
    const auto one_of = [&](std::initializer_list<std::string_view> names) {
      for (const std::string_view name : names) {
        if (type == name) return true;
      }
      return false;
    };
    if (one_of({"c3d8", "c3d8r", "c3d8i", "c3d8h", "c3d8rh", "c3d8t", "c3d8rt", "dc3d8", "ac3d8"})) {
      corners_ = 8;
    } else if (one_of({"s4", "s4r", "m3d4", "m3d4r", "sfm3d4", "sfm3d4r", "r3d4", "cps4", "cps4r", "cpe4",
                       "cpe4r"})) {
      corners_ = 4;
    } else if (one_of(
                   {"t3d2", "b31", "cps3", "s3", "s3r", "m3d3", "sfm3d3", "r3d3", "cpe3", "stri3", "mass"})) {
      builder_.leave_out("groups of elements of type " + type, at_);
      data_ = Data::None;
    } else {
      fail("elements of type " + in_quotes(type) +
           " are not supported, only eight-node hexahedra (C3D8); mesh the part with them");
    }
  }

  void read_data(std::string_view line) {
    const Words words = split(line);
    switch (data_) {
      case Data::None:
        break;
      case Data::Nodes:
        read_node(words);
        break;
      case Data::Elements:
        read_element(words);
        break;
      case Data::NodeSet:
        read_members(words);
        break;
      case Data::ElementSet:
        read_members(words);
        break;
      case Data::Surface:
        read_surface(words);
        break;
      case Data::Instance:
        fail("an instance that is moved or turned is not supported; save the mesh in its place");
    }
  }

  std::int64_t integer(std::string_view word, const char* what) const {
    std::int64_t value = 0;
    if (!to_integer(word, value)) fail("expected " + std::string(what) + " and found " + in_quotes(word));
    return value;
  }

  void read_node(const Words& words) {
    if (words.size() < 4) fail("a node needs a number and three coordinates; write the line again");
    const std::int64_t id = integer(words[0], "a node number");
    std::array<double, 3> x{};
    for (std::size_t k = 0; k < 3; ++k) {
      // An empty coordinate is 0.
      if (!words[k + 1].empty() && !to_number(words[k + 1], x[k])) {
        fail("node " + std::to_string(id) + ": " + in_quotes(words[k + 1]) + " is no number");
      }
      if (!(x[k] - x[k] == 0)) fail("node " + std::to_string(id) + " has a coordinate that is not finite");
    }
    builder_.add_node(id, x, at_);
    if (set_ != nullptr) set_->members.push_back({id, at_});
  }

  // An element may go on in the next line, after a comma.
  void read_element(const Words& words) {
    if (pending_.empty()) element_at_ = at_;
    for (const std::string_view word : words) {
      if (!word.empty()) pending_.push_back(integer(word, "a number of an element or node"));
    }
    if (pending_.size() > corners_) finish_element();
  }

  void finish_element() {
    if (pending_.empty()) return;
    if (pending_.size() != corners_ + 1) {
      text_.fail(element_at_, "element " + std::to_string(pending_[0]) + " has " +
                                  std::to_string(pending_.size() - 1) + " nodes in place of " +
                                  std::to_string(corners_) + "; write its line again");
    }
    const std::int64_t* nodes = pending_.data() + 1;
    if (corners_ == 8) {
      Element element{pending_[0], {}, set_, element_at_};
      std::copy(nodes, nodes + 8, element.nodes.begin());
      elements_.push_back(element);
    } else {
      const Quadrilateral shell{{nodes[0], nodes[1], nodes[2], nodes[3]}, element_at_};
      if (!quadrilaterals_.emplace(pending_[0], shell).second) {
        text_.fail(element_at_,
                   "element " + std::to_string(pending_[0]) + " is given twice; number each once");
      }
    }
    if (set_ != nullptr) set_->members.push_back({pending_[0], element_at_});
    pending_.clear();
  }

  // Numbers, or names of other sets that are there; with GENERATE first, last, step.
  void read_members(const Words& words) {
    if (set_ == nullptr) fail("a set without a name; add NSET= or ELSET= to its keyword");
    std::vector<Member>& members = set_->members;
    if (parameters_.contains("generate")) {
      generate(words, members);
      return;
    }
    for (const std::string_view word : words) {
      if (word.empty()) continue;
      std::int64_t id = 0;
      if (to_integer(word, id)) {
        members.push_back({id, at_});
        continue;
      }
      const Sets& sets = data_ == Data::NodeSet ? node_sets_ : element_sets_;
      const auto other = sets.find(lower_case(unquoted(word)));
      if (other == sets.end()) fail("the set " + in_quotes(word) + " is not known here; define it before");
      const std::size_t number = other->second.members.size();
      text_.repeat(number, at_);
      for (std::size_t k = 0; k < number; ++k) {  // which may be those of this set
        const Member member = other->second.members[k];
        members.push_back(member);
      }
    }
  }

  void generate(const Words& words, std::vector<Member>& members) {
    if (words.size() < 2) fail("GENERATE needs the first number, the last, and the step");
    const std::int64_t first = integer(words[0], "the first number"),
                       last = integer(words[1], "the last number");
    const std::int64_t step = words.size() > 2 && !words[2].empty() ? integer(words[2], "a step") : 1;
    if (step < 1 || first < 0 || last < first) {
      fail("GENERATE " + std::to_string(first) + ", " + std::to_string(last) + ", " + std::to_string(step) +
           " gives no set; correct the numbers");
    }
    text_.repeat(Count((last - first) / step) + 1, at_);
    for (std::int64_t id = first; id <= last - step; id += step) members.push_back({id, at_});
    members.push_back({first + (last - first) / step * step, at_});
  }

  void read_surface(const Words& words) {
    if (surface_ == nullptr) fail("a surface without a name; add NAME= to its keyword");
    if (words.size() < 2) fail("expected an element or element set and a face, such as 'top, S2'");
    const std::string face = lower_case(words[1]);
    if (face.size() != 2 || face[0] != 's' || face[1] < '1' || face[1] > '6') {
      fail(in_quotes(words[1]) + " is no face of a hexahedron: S1 to S6");
    }
    surface_parts_.push_back(
        {surface_, unquoted(words[0]), face_of_surface[static_cast<std::size_t>(face[1] - '1')], at_});
  }

  SideSetName& side_set_of(const std::string& name) {
    SideSetName& set = side_sets_[lower_case(name)];
    if (set.name.empty()) set.name = name;
    return set;
  }

  // Its number, from 1 in the order in which they have sides.
  std::int64_t number_of(SideSetName& set) {
    if (set.id == 0) {
      set.id = ++number_of_side_sets_;
      builder_.name_side_set(set.id, set.name);
    }
    return set.id;
  }

  void number_sets() {
    add_elements();
    std::int64_t key = 0;
    for (const auto& [name, set] : node_sets_) {
      ++key;
      builder_.name_node_set(key, key, set.name);
      for (const Member& member : set.members) builder_.add_set_node(member.id, key, member.at);
    }
    add_quadrilaterals();
    for (const SurfacePart& part : surface_parts_) {
      const std::int64_t set = number_of(*part.surface);
      std::int64_t element = 0;
      if (to_integer(part.of, element)) {
        builder_.add_side(element, part.face, set, part.at);
        continue;
      }
      const auto found = element_sets_.find(lower_case(part.of));
      if (found == element_sets_.end()) {
        text_.fail(part.at, "the surface names the element set " + in_quotes(part.of) +
                                ", which the file does not have");
      }
      text_.repeat(found->second.members.size(), part.at);
      for (const Member& member : found->second.members)
        builder_.add_side(member.id, part.face, set, part.at);
    }
  }

  // Element sets of shells are side sets.
  void add_quadrilaterals() {
    for (const auto& [name, set] : element_sets_) {
      SideSetName& sides = side_set_of(set.name);
      for (const Member& member : set.members) {
        const auto found = quadrilaterals_.find(member.id);
        if (found == quadrilaterals_.end()) continue;
        found->second.is_in_a_set = true;
        builder_.add_quadrilateral(found->second.nodes, number_of(sides), found->second.at);
      }
    }
    for (const auto& [id, shell] : quadrilaterals_) {
      if (!shell.is_in_a_set) builder_.leave_out("shells that belong to no element set", shell.at);
    }
  }

  // The block of each element that has one by a section: the last one, if there are several. A set counts
  // once, however many sections name it.
  std::map<std::int64_t, std::int64_t> blocks_of_sections() {
    std::map<std::int64_t, std::int64_t> section_of;
    for (std::size_t k = sections_.size(); k-- > 0;) {
      const auto block = static_cast<std::int64_t>(k) + 1;
      const auto found = element_sets_.find(lower_case(sections_[k].set));
      if (found == element_sets_.end()) {
        builder_.leave_out("a section of an element set that the file does not have", sections_[k].at);
        continue;
      }
      Set& set = found->second;
      if (std::exchange(set.has_section, true)) continue;
      builder_.name_block(block, sections_[k].set);
      for (const Member& member : set.members) {
        if (section_of.emplace(member.id, block).first->second != block)
          builder_.leave_out("sections of an element but its last", member.at);
      }
    }
    return section_of;
  }

  void add_elements() {
    const std::map<std::int64_t, std::int64_t> section_of = blocks_of_sections();
    std::map<const Set*, std::int64_t> blocks;
    for (const Element& element : elements_) {
      std::int64_t block = 0;
      if (const auto section = section_of.find(element.id); section != section_of.end()) {
        block = section->second;
      } else {
        const auto first_free = static_cast<std::int64_t>(sections_.size() + blocks.size()) + 1;
        const auto [place, is_new] = blocks.emplace(element.set, first_free);
        block = place->second;
        if (is_new && element.set != nullptr) builder_.name_block(block, element.set->name);
      }
      builder_.add_hexahedron(element.id, element.nodes, block, element.at);
    }
  }

  MeshText& text_;
  MeshBuilder builder_;
  std::size_t at_ = 0;  // where the line begins
  Data data_ = Data::None;
  std::map<std::string, std::string> parameters_;
  Set* set_ = nullptr;              // that the data belong to
  SideSetName* surface_ = nullptr;  // likewise
  std::size_t corners_ = 8;
  std::vector<std::int64_t> pending_;  // number and nodes of an element that is not complete
  std::size_t element_at_ = 0;
  int parts_ = 0;
  int instances_ = 0;
  std::vector<Element> elements_;
  std::map<std::int64_t, Quadrilateral> quadrilaterals_;
  std::vector<Section> sections_;
  Sets node_sets_;
  Sets element_sets_;
  std::vector<SurfacePart> surface_parts_;
  std::map<std::string, SideSetName> side_sets_;  // by their names in small letters
  std::int64_t number_of_side_sets_ = 0;
  std::map<std::string, std::size_t> open_;  // what has to end, and where it began
  bool ended_ = false;                       // since the last data of a mesh, an end mark
};

}  // namespace

HostMesh read_abaqus(MeshText& text) { return AbaqusReader(text).read(); }

}  // namespace strata::inline STRATA_ABI::fem::detail
