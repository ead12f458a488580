// See miniapp_cases.hpp. The mini-app's kernels are templates over the views they get, and are called here
// with those of Kokkos, in functors that hold no more views than a kernel needs.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "kokkos/miniapp_cases.hpp"
#include "kokkos/spaces.hpp"

#if __has_include(<Kokkos_Core.hpp>)  // for tools that look at every file
#include <strata/miniapps/explicit_dynamics/node_kernels.hpp>

namespace perf {

namespace {

using namespace with_kokkos;
namespace dynamics = strata::dynamics;

template <class Space, class Bounds>
using Range = Kokkos::RangePolicy<Space, Kokkos::IndexType<int>, Bounds>;
// How kernels are launched on a GPU: as Kokkos chooses, or with the sizes of blocks that the mini-app asks
// for.
struct Chosen {
  using elements = Kokkos::LaunchBounds<>;
  using nodes = Kokkos::LaunchBounds<>;
};
struct SmallBlocks {
  using elements = Kokkos::LaunchBounds<64, 4>;
  using nodes = Kokkos::LaunchBounds<128, 4>;
};
// What is read through indices has the numbers of a row side by side on every device.
template <class Data, class Space>
using NodeView = View<Data, Space, Kokkos::LayoutRight>;
template <class Data, class Space>
using GatheredView = Kokkos::View<Data, Kokkos::LayoutRight, Space,
                                  Kokkos::MemoryTraits<Kokkos::Unmanaged | Kokkos::RandomAccess>>;

template <class T, class Space>
struct Gradient {
  const dynamics::Clock* clock;
  View<const std::int32_t* [8], Space> nodes;
  GatheredView<const double* [3], Space> coordinates;
  GatheredView<const T*[3], Space> displacement, velocity;
  View<T* [9], Space> velocity_gradient;
  View<T* [3][4], Space> mode_rates;

  KOKKOS_INLINE_FUNCTION void operator()(int e) const {
    dynamics::GradientKernel<T>{}(e, clock, nodes, coordinates, displacement, velocity, velocity_gradient,
                                  mode_rates);
  }
};

template <class T, class Space>
struct Rotation {
  const dynamics::Clock* clock;
  View<const T* [9], Space> velocity_gradient;
  View<T* [9], Space> rotation;
  View<T*[6], Space> stretch, rate;

  KOKKOS_INLINE_FUNCTION void operator()(int e) const {
    dynamics::RotationKernel<T, dynamics::Update::Second>{}(e, clock, velocity_gradient, rotation, stretch,
                                                            rate);
  }
};

template <class T, class Space>
struct Force {
  dynamics::ForceKernel<T> kernel;
  const dynamics::Clock* clock;
  View<const std::int32_t* [8], Space> nodes;
  GatheredView<const double* [3], Space> coordinates;
  GatheredView<const T* [3], Space> displacement;
  View<T*, Space> mass;
  View<T* [3][4], Space> mode_rates;
  View<const T* [9], Space> rotation;
  View<T*[6], Space> rate, stress;
  View<T* [3][4], Space> hourglass;
  View<double*, Space> hourglass_work;
  View<T* [3][8], Space> element_force;
  View<T*, Space> stable_dt;

  KOKKOS_INLINE_FUNCTION void operator()(int e) const {
    kernel(e, clock, nodes, coordinates, displacement, mass, mode_rates, rotation, rate, stress, hourglass,
           hourglass_work, element_force, stable_dt);
  }
};

template <class T, class Space>
struct Fused {
  dynamics::FusedKernel<T, dynamics::Update::Second> kernel;
  const dynamics::Clock* clock;
  View<const std::int32_t* [8], Space> nodes;
  GatheredView<const double* [3], Space> coordinates;
  GatheredView<const T*[3], Space> displacement, velocity;
  View<T*, Space> mass;
  View<T* [9], Space> rotation;
  View<T*[6], Space> stretch, stress;
  View<T* [3][4], Space> hourglass;
  View<double*, Space> hourglass_work;
  View<T* [3][8], Space> element_force;
  View<T*, Space> stable_dt;

  KOKKOS_INLINE_FUNCTION void operator()(int e) const {
    kernel(e, clock, nodes, coordinates, displacement, velocity, mass, rotation, stretch, stress, hourglass,
           hourglass_work, element_force, stable_dt);
  }
};

template <class T, class Space>
struct LeastStep {
  using value_type = T;
  View<const T*, Space> stable_dt;
  dynamics::SetNextTimeStep<dynamics::Clock*> set;

  KOKKOS_INLINE_FUNCTION void operator()(int e, T& least) const {
    dynamics::LeastStep<T>{}(e, stable_dt, least);
  }
  KOKKOS_INLINE_FUNCTION void init(T& least) const { dynamics::LeastStep<T>::init(least); }
  KOKKOS_INLINE_FUNCTION void join(T& least, const T& other) const {
    dynamics::LeastStep<T>::join(least, other);
  }
  KOKKOS_INLINE_FUNCTION void final(T& least) const { set(least); }
};

template <class T, class Space>
struct Nodes {
  const dynamics::Clock* clock;
  View<const std::int32_t*, Space> offsets, corners;
  View<const T* [3][8], Space> element_force;
  View<const T*, Space> mass;
  View<const std::uint8_t*, Space> fixed;
  NodeView<T*[3], Space> velocity, displacement;
  View<double*, Space> work;
  NodeView<double* [3], Space> reaction;

  KOKKOS_INLINE_FUNCTION void operator()(int n) const {
    dynamics::NodeKernel<T>{}(n, clock, offsets, corners, element_force, mass, fixed, velocity, displacement,
                              work, reaction);
  }
};

template <class T>
dynamics::Material<T> material_of(const DynamicsMaterial& from) {
  dynamics::Material<T> material{dynamics::Parameters()};
  material.lambda = static_cast<T>(from.lambda);
  material.two_mu = static_cast<T>(from.two_mu);
  material.modulus = static_cast<T>(from.lambda + from.two_mu);
  material.hourglass_stiffness = static_cast<T>(from.hourglass_stiffness);
  material.hourglass_viscosity = static_cast<T>(from.hourglass_viscosity);
  material.bulk_linear = static_cast<T>(from.bulk_linear);
  material.bulk_quadratic = static_cast<T>(from.bulk_quadratic);
  return material;
}

// All arrays of the race, those of nodes too: a state that steps change must belong together.
template <class T, class Space>
class Fields {
 public:
  explicit Fields(const DynamicsFields<T>& f)
      : elements_(static_cast<int>(f.elements)),
        node_count_(static_cast<int>(f.nodes)),
        material_(material_of<T>(f.material)),
        nodes_(of_elements<const std::int32_t* [8]>(f.element_nodes)),
        coordinates_(of_nodes<const double* [3]>(f.coordinates)),
        offsets_(arrays_.template add<const std::int32_t*>(f.offsets, f.nodes + 1, 1)),
        corners_(arrays_.template add<const std::int32_t*>(f.corners, 8 * f.elements, 1)),
        displacement_(of_nodes<T* [3]>(f.displacement)),
        velocity_(of_nodes<T* [3]>(f.velocity)),
        node_mass_(arrays_.template add<const T*>(static_cast<const T*>(f.mass), f.nodes, 1)),
        fixed_(arrays_.template add<const std::uint8_t*>(f.fixed, f.nodes, 1)),
        work_(arrays_.template add<double*>(f.work, f.nodes, 1)),
        reaction_(of_nodes<double* [3]>(f.reaction)),
        mass_(of_elements<T*>(f.element_mass)),
        rotation_(of_elements<T* [9]>(f.rotation)),
        stretch_(of_elements<T* [6]>(f.stretch)),
        stress_(of_elements<T* [6]>(f.stress)),
        hourglass_(of_elements<T* [3][4]>(f.hourglass)),
        hourglass_work_(of_elements<double*>(f.hourglass_work)),
        element_force_(of_elements<T* [3][8]>(f.element_force)),
        stable_dt_(of_elements<T*>(f.stable_dt)),
        velocity_gradient_(of_elements<T* [9]>(f.velocity_gradient)),
        mode_rates_(of_elements<T* [3][4]>(f.mode_rates)),
        rate_(of_elements<T* [6]>(f.rate)),
        clock_(
            arrays_.template add<dynamics::Clock*>(reinterpret_cast<dynamics::Clock*>(f.clock), 1, 1).data()),
        least_("least step") {}

  const Arrays<Space>& arrays() const { return arrays_; }

  template <class Blocks>
  void launch(DynamicsWork work) const {
    const bool three = work == DynamicsWork::StepOfThree, step = three || work == DynamicsWork::StepOfFused;
    const auto elements = light(Range<Space, typename Blocks::elements>(0, elements_));
    const auto nodes = light(Range<Space, typename Blocks::nodes>(0, node_count_));
    if (three || work == DynamicsWork::Gradient)
      Kokkos::parallel_for("gradient", elements,
                           Gradient<T, Space>{clock_, nodes_, coordinates_, displacement_, velocity_,
                                              velocity_gradient_, mode_rates_});
    if (three || work == DynamicsWork::Rotation)
      Kokkos::parallel_for("rotation", elements,
                           Rotation<T, Space>{clock_, velocity_gradient_, rotation_, stretch_, rate_});
    if (three || work == DynamicsWork::Force)
      Kokkos::parallel_for("force", elements,
                           Force<T, Space>{{material_},
                                           clock_,
                                           nodes_,
                                           coordinates_,
                                           displacement_,
                                           mass_,
                                           mode_rates_,
                                           rotation_,
                                           rate_,
                                           stress_,
                                           hourglass_,
                                           hourglass_work_,
                                           element_force_,
                                           stable_dt_});
    if (work == DynamicsWork::StepOfFused || work == DynamicsWork::Fused)
      Kokkos::parallel_for("elements", elements,
                           Fused<T, Space>{{material_},
                                           clock_,
                                           nodes_,
                                           coordinates_,
                                           displacement_,
                                           velocity_,
                                           mass_,
                                           rotation_,
                                           stretch_,
                                           stress_,
                                           hourglass_,
                                           hourglass_work_,
                                           element_force_,
                                           stable_dt_});
    if (step || work == DynamicsWork::LeastStep) {
      const dynamics::Parameters p;
      // Into a view, so that nothing waits for it.
      Kokkos::parallel_reduce(
          "least step", Range<Space, Kokkos::LaunchBounds<>>(0, elements_),
          LeastStep<T, Space>{stable_dt_, {clock_, p.dt, p.safety, p.collapse, p.dt_every}}, least_);
    }
    if (step || work == DynamicsWork::Nodes)
      Kokkos::parallel_for("nodes", nodes,
                           Nodes<T, Space>{clock_, offsets_, corners_, element_force_, node_mass_, fixed_,
                                           velocity_, displacement_, work_, reaction_});
  }

 private:
  template <class Data, class Number>
  View<Data, Space> of_elements(Number* theirs) {
    return arrays_.template add<Data>(theirs, elements_, 8);
  }
  template <class Data, class Number>
  NodeView<Data, Space> of_nodes(Number* theirs) {
    return arrays_.template add<Data, Kokkos::LayoutRight>(theirs, node_count_, 1);
  }

  Arrays<Space> arrays_;
  int elements_, node_count_;
  dynamics::Material<T> material_;
  View<const std::int32_t* [8], Space> nodes_;
  NodeView<const double* [3], Space> coordinates_;
  View<const std::int32_t*, Space> offsets_, corners_;
  NodeView<T*[3], Space> displacement_, velocity_;
  View<const T*, Space> node_mass_;
  View<const std::uint8_t*, Space> fixed_;
  View<double*, Space> work_;
  NodeView<double* [3], Space> reaction_;
  View<T*, Space> mass_;
  View<T* [9], Space> rotation_;
  View<T*[6], Space> stretch_, stress_;
  View<T* [3][4], Space> hourglass_;
  View<double*, Space> hourglass_work_;
  View<T* [3][8], Space> element_force_;
  View<T*, Space> stable_dt_;
  View<T* [9], Space> velocity_gradient_;
  View<T* [3][4], Space> mode_rates_;
  View<T* [6], Space> rate_;
  dynamics::Clock* clock_;
  Kokkos::View<T, Space> least_;
};

}  // namespace

template <class T>
Sweep kokkos_dynamics(KokkosPlace place, DynamicsWork work, const DynamicsFields<T>& fields, int times) {
  return sweep_in_space(place, [&](auto space, const char* name) -> Sweep {
    using Space = typename decltype(space)::type;
    const Fields<T, Space> own(fields);
    const auto by = [&]<class Blocks>(Blocks, const std::string& variant) {
      return own.arrays().competitor(name + variant, [=] {
        for (int k = 0; k < times; ++k) own.template launch<Blocks>(work);
        Kokkos::fence();
      });
    };
    if constexpr (Arrays<Space>::copied) return {by(Chosen(), "")};
    else return {by(Chosen(), ""), by(SmallBlocks(), ": small blocks")};
  });
}
template Sweep kokkos_dynamics(KokkosPlace, DynamicsWork, const DynamicsFields<float>&, int);
template Sweep kokkos_dynamics(KokkosPlace, DynamicsWork, const DynamicsFields<double>&, int);

}  // namespace perf
#endif
