// Explicit dynamics whose fields are four times what the device may hold of them, against the same in core: a
// bar that is long beside what a step reads of its neighbours, and a cube; with given time steps, stable ones
// that are kept for some steps, and such that each step decides, which takes a pass. Element-steps a second;
// and bytes a second against the link by hand.
//
// On devices other than a GPU the program is for trying itself out: --device, small meshes.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <string>

#include <strata/miniapps/explicit_dynamics/make_simulation.hpp>

#include "common/contest.hpp"
#include "common/streaming_cases.hpp"

namespace {

using namespace perf;
using namespace strata;
using namespace strata::dynamics;

template <class D>
class StreamedSteps : public StreamingCases<D> {
  using Base = StreamingCases<D>;
  using Base::add;
  using Base::report_;

 public:
  using Base::Base;

  void all() {
    this->measured([&] { this->link(); });
    const bool gpu = is_gpu<D>;
    this->measured(
        [&] { compare("bar", gpu ? "box:100x100x400:1,1,4" : "box:6x6x48:1,1,8", Length::Given); });
    const char* const cube = gpu ? "box:160x160x160:1,1,1" : "box:14x14x14";
    this->measured([&] { compare("cube", cube, Length::Given); });
    this->measured([&] { compare("cube, stable steps", cube, Length::Kept); });
    this->measured([&] { compare("cube, a pass each step", cube, Length::Decided); });
  }

 private:
  enum class Length { Given, Kept, Decided };
  static Parameters parameters() {
    Parameters p;
    p.poisson = 0.3;
    p.fused = true;
    return p;
  }
  static void begin(Dynamics& s) {
    s.fix("x>=max", all_directions);
    s.set_velocity("all", 1e-4, 0, 0);
  }

  // Element-steps a second, after some steps that warm up; the best of some runs.
  static double rate(Dynamics& s, index_t steps) {
    s.advance(steps);
    s.wait();
    double best = 1e30;
    for (int run = 0; run < 3; ++run) {
      const double begin = now();
      s.advance(steps);
      s.wait();
      best = std::min(best, now() - begin);
    }
    return static_cast<double>(s.element_count()) * static_cast<double>(steps) / best;
  }

  void compare(const std::string& name, const std::string& box, Length length) {
    Parameters p = parameters();
    if (length == Length::Decided) p.dt_every = 1;
    double in_core = 0;
    Energies expected;
    index_t elements = 0, steps = 0;
    const fem::MeshOnHost mesh = fem::load_mesh_on_host(box, 0);
    const auto make_in_core = [&] {
      using K = miniapp::KernelDevice<D>;
      return make_simulation_of<double>(K(D{}), mesh, p);
    };
    {
      const auto s = make_in_core();
      elements = s->element_count();
      if (length == Length::Given) p.dt = s->stable_dt() / 2;
    }
    // The budget is known when the fields are.
    const index_t bytes = make_streamed_simulation<double>(D{}, mesh, p, index_t{1} << 40)->bytes();
    const auto streamed = make_streamed_simulation<double>(D{}, mesh, p, bytes / 4);
    begin(*streamed);
    steps = std::max<index_t>(streamed->steps_at_once(), 8);
    const double rate_streamed = rate(*streamed, steps);
    const StreamReport report = streamed->report();
    {
      const auto s = make_in_core();
      begin(*s);
      in_core = rate(*s, steps);
      expected = s->energies();
    }
    const Energies got = streamed->energies();
    report_.check(got.kinetic == expected.kinetic && got.elastic == expected.elastic,
                  (name + ": energies").c_str());
    const auto seconds = [&](double r) {
      return once(static_cast<double>(elements) * static_cast<double>(steps) / r);
    };
    add("dynamics, " + name + ", in core", elements, "double", seconds(in_core), in_core / 1e9, "G/s", none);
    add("dynamics, " + name + ", fields 4x the budget", elements, "double", seconds(rate_streamed),
        rate_streamed / 1e9, "G/s", in_core / 1e9, rate_streamed / in_core);
    const double up = static_cast<double>(report.bytes_to_device),
                 down = static_cast<double>(report.bytes_to_host), link = link_seconds<D>(up, down);
    add("dynamics, " + name + ", the link in the last run", elements, "double", once(report.seconds),
        (up + down) / report.seconds / 1e9, "GB/s", (up + down) / link / 1e9);
    report_.note("dynamics, " + name + ": " + predicted(report, report.seconds) + ", " +
                 std::to_string(report.steps_per_pass) + " steps a pass");
    report_.note("dynamics, " + name + ": " + streamed->storage());
  }
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, "Explicit dynamics of fields larger than a device.");
  Report report("streaming_dynamics", "the same in core");
  for_each_streaming_device(options,
                            [&](auto device) { StreamedSteps<decltype(device)>(options, report).all(); });
  return report.finish(options);
}
