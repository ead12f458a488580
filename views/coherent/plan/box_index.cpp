// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <strata/views/coherent/plan/box_index.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

constexpr std::size_t most_children = 16;

// By how much the sides of `bounds` grow in all when it takes in `box`: as good a measure as the volume, and
// without overflow.
double growth(const Box& bounds, const Box& box) {
  double sum = 0;
  for (int d = 0; d < box.rank(); ++d) {
    const index_t lower = std::min(bounds.lower(d), box.lower(d)),
                  upper = std::max(bounds.upper(d), box.upper(d));
    sum += static_cast<double>(upper - lower) - static_cast<double>(bounds.extent(d));
  }
  return sum;
}

double centre(const Box& box, int d) {
  return 0.5 * (static_cast<double>(box.lower(d)) + static_cast<double>(box.upper(d)));
}

}  // namespace

void BoxIndex::insert(int id, const Box& box) {
  const auto place = static_cast<std::size_t>(id);
  if (place >= boxes_.size()) boxes_.resize(place + 1);
  boxes_[place] = {box, -1, used_.size()};
  used_.push_back(id);
  if (root_ >= 0) insert_into_tree(id);
  else if (used_.size() > longest_list) build_tree();
}

void BoxIndex::erase(int id) {
  const Entry& entry = boxes_[static_cast<std::size_t>(id)];
  used_[entry.place] = used_.back();
  boxes_[static_cast<std::size_t>(used_.back())].place = entry.place;
  used_.pop_back();
  if (root_ < 0) return;
  Node& leaf = nodes_[static_cast<std::size_t>(entry.leaf)];
  leaf.children.erase(std::find(leaf.children.begin(), leaf.children.end(), id));
  tighten(entry.leaf);
  // Not at once at 32: a map that keeps changing there would build trees all the time.
  if (used_.size() <= longest_list / 2) {
    nodes_.clear();
    free_nodes_.clear();
    root_ = -1;
  }
}

void BoxIndex::find(const Box& query, std::vector<int>& ids) const {
  if (root_ < 0) {
    for (const int id : used_)
      if (overlap(boxes_[static_cast<std::size_t>(id)].box, query)) ids.push_back(id);
    return;
  }
  std::vector<int> stack{root_};
  while (!stack.empty()) {
    const Node& node = nodes_[static_cast<std::size_t>(stack.back())];
    stack.pop_back();
    for (const int child : node.children)
      if (overlap(bounds_of(node, child), query)) (node.is_leaf ? ids : stack).push_back(child);
  }
}

int BoxIndex::depth() const {
  int levels = 0;
  for (int node = root_; node >= 0; ++levels) {
    const Node& at = nodes_[static_cast<std::size_t>(node)];
    node = at.is_leaf || at.children.empty() ? -1 : at.children.front();
  }
  return levels;
}

void BoxIndex::build_tree() {
  root_ = new_node(true, -1);
  for (const int id : used_) insert_into_tree(id);
}

void BoxIndex::insert_into_tree(int id) {
  const Box box = boxes_[static_cast<std::size_t>(id)].box;
  int at = root_;
  while (!nodes_[static_cast<std::size_t>(at)].is_leaf) {
    const Node& node = nodes_[static_cast<std::size_t>(at)];
    at = *std::min_element(node.children.begin(), node.children.end(), [&](int a, int b) {
      return growth(bounds_of(node, a), box) < growth(bounds_of(node, b), box);
    });
  }
  adopt(at, id);
  for (int node = at; node >= 0; node = nodes_[static_cast<std::size_t>(node)].parent) {
    Node& grown = nodes_[static_cast<std::size_t>(node)];
    grown.bounds = grown.bounds.rank() == 0 || grown.bounds.empty() ? box : cover(grown.bounds, box);
  }
  for (int node = at; node >= 0;) {
    const int parent = nodes_[static_cast<std::size_t>(node)].parent;
    if (nodes_[static_cast<std::size_t>(node)].children.size() > most_children) split(node);
    node = parent;
  }
}

// In two halves at the median along the longest side; a root gets a new root above it.
void BoxIndex::split(int node) {
  if (node == root_) {
    root_ = new_node(false, -1);
    nodes_[static_cast<std::size_t>(root_)].bounds = nodes_[static_cast<std::size_t>(node)].bounds;
    adopt(root_, node);
  }
  const int parent = nodes_[static_cast<std::size_t>(node)].parent;
  const int half = new_node(nodes_[static_cast<std::size_t>(node)].is_leaf, parent);
  Node& from = nodes_[static_cast<std::size_t>(node)];
  int longest = 0;
  for (int d = 1; d < from.bounds.rank(); ++d)
    if (from.bounds.extent(d) > from.bounds.extent(longest)) longest = d;
  std::vector<int> children;
  children.swap(from.children);
  const auto middle = children.begin() + static_cast<std::ptrdiff_t>(children.size() / 2);
  std::nth_element(children.begin(), middle, children.end(), [&](int a, int b) {
    return centre(bounds_of(from, a), longest) < centre(bounds_of(from, b), longest);
  });
  for (auto child = children.begin(); child != children.end(); ++child)
    adopt(child < middle ? node : half, *child);
  fit(node);
  fit(half);
  adopt(parent, half);  // whose bounds stay as they were
}

// Bounds of a node and those above it anew; nodes that have nothing left are removed.
void BoxIndex::tighten(int node) {
  while (node >= 0) {
    Node& at = nodes_[static_cast<std::size_t>(node)];
    const int parent = at.parent;
    if (at.children.empty() && parent >= 0) {
      std::vector<int>& siblings = nodes_[static_cast<std::size_t>(parent)].children;
      siblings.erase(std::find(siblings.begin(), siblings.end(), node));
      free_nodes_.push_back(node);
    } else if (!at.children.empty()) {
      fit(node);
    }
    node = parent;
  }
}

void BoxIndex::fit(int node) {
  Node& at = nodes_[static_cast<std::size_t>(node)];
  at.bounds = bounds_of(at, at.children.front());
  for (const int child : at.children) at.bounds = cover(at.bounds, bounds_of(at, child));
}

int BoxIndex::new_node(bool is_leaf, int parent) {
  int node;
  if (free_nodes_.empty()) {
    node = static_cast<int>(nodes_.size());
    nodes_.emplace_back();
  } else {
    node = free_nodes_.back();
    free_nodes_.pop_back();
  }
  Node& made = nodes_[static_cast<std::size_t>(node)];
  made = Node();
  made.is_leaf = is_leaf;
  made.parent = parent;
  return node;
}

const Box& BoxIndex::bounds_of(const Node& node, int child) const {
  const auto place = static_cast<std::size_t>(child);
  return node.is_leaf ? boxes_[place].box : nodes_[place].bounds;
}

void BoxIndex::adopt(int node, int child) {
  Node& at = nodes_[static_cast<std::size_t>(node)];
  at.children.push_back(child);
  if (at.is_leaf) boxes_[static_cast<std::size_t>(child)].leaf = node;
  else nodes_[static_cast<std::size_t>(child)].parent = node;
}

}  // namespace strata::inline STRATA_ABI::detail
