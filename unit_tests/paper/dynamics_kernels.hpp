// Figures 21 and 23 to 25 of the Kokkos Array paper: functors of the explicit dynamics mini-application.
//
// Included once for each device, as the paper's programs did, with STRATA_MACRO_DEVICE defined as the device
// that the partial specialisations are for: hence no include guard. ERRATA.md lists what differs from print.
// SPDX-License-Identifier: Apache-2.0

template <typename Scalar>
struct divergence<Scalar, STRATA_MACRO_DEVICE> {
  typedef STRATA_MACRO_DEVICE device_type;
  typedef typename strata::MDArray<Scalar, device_type> array_type;
  typedef typename strata::MDArray<int, device_type> int_array_type;
  typedef strata::Value<Scalar, device_type> scalar_view;
  typedef Scalar value_type;

  const int_array_type elem_node_connectivity;

  // numerous other member array view declarations
  const array_type model_coords, displacement, velocity, vel_grad, hgop, stress, element_force;
  const Material<Scalar> material;
  const Scalar user_dt;
  const scalar_view dt;

  STRATA_FUNCTION
  static void init(value_type& update) {
    update = static_cast<Scalar>(1.0e32);  // initialize to large value for minimum time step
  }
  STRATA_FUNCTION
  static void join(volatile value_type& update, const volatile value_type& source) {
    update = update < source ? update : source;  // keep the minimum
  }
  STRATA_FUNCTION
  void operator()(int ielem, value_type& update) const {
    // local memory
    Scalar x[8], y[8], z[8];  // Element nodal coordinates in local memory.

    // member functions to compute end of step gradient operators
    for (int n = 0; n < 8; ++n) {
      const int node = elem_node_connectivity(ielem, n);
      x[n] = model_coords(node, 0) + displacement(node, 0);
      y[n] = model_coords(node, 1) + displacement(node, 1);
      z[n] = model_coords(node, 2) + displacement(node, 2);
    }
    Scalar grad_x[8], grad_y[8], grad_z[8];
    comp_grad(y, z, grad_x);
    comp_grad(z, x, grad_y);
    comp_grad(x, y, grad_z);

    // computation for computing the element stable time step, cur_time_step
    const Scalar volume = dot8(x, grad_x);
    const Scalar speed = std::sqrt((material.lambda + 2 * material.mu) / material.density);
    Scalar cur_time_step = material.safety * std::cbrt(volume) / speed;
    if (user_dt > 0) cur_time_step = user_dt;

    update = update < cur_time_step ? update : cur_time_step;

    // compute stress and internal force
    const Scalar trace = vel_grad(ielem, 0, 0) + vel_grad(ielem, 1, 1) + vel_grad(ielem, 2, 2);
    Scalar s[3][3];
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        stress(ielem, i, j) += *dt * (material.mu * (vel_grad(ielem, i, j) + vel_grad(ielem, j, i)) +
                                      (i == j ? material.lambda * trace : 0));
        s[i][j] = stress(ielem, i, j);
      }
    for (int d = 0; d < 3; ++d) {
      Scalar mode_rate[4] = {};
      for (int m = 0; m < 4; ++m)
        for (int n = 0; n < 8; ++n)
          mode_rate[m] += hgop(ielem, m, n) * velocity(elem_node_connectivity(ielem, n), d);
      for (int n = 0; n < 8; ++n) {
        Scalar force = s[d][0] * grad_x[n] + s[d][1] * grad_y[n] + s[d][2] * grad_z[n];
        for (int m = 0; m < 4; ++m) force += material.hourglass * mode_rate[m] * hgop(ielem, m, n);
        element_force(ielem, d, n) = force;
      }
    }
  }
};

template <typename Scalar>
struct set_next_time_step<Scalar, STRATA_MACRO_DEVICE> {
  typedef STRATA_MACRO_DEVICE device_type;
  typedef Scalar value_type;
  // ... Members views and constructor ...
  strata::Value<Scalar, device_type> prev_dt, dt;

  STRATA_FUNCTION
  void operator()(Scalar& result) const {
    *prev_dt = *dt;
    *dt = result;
  }
};

template <typename Scalar>
struct finish_step<Scalar, STRATA_MACRO_DEVICE> {
  typedef STRATA_MACRO_DEVICE device_type;
  typedef device_type::size_type size_type;
  // ... member views and constructor to pass in those views ...
  strata::MDArray<int, device_type> node_elem_offset, node_elem_ids, fixed;
  strata::MDArray<Scalar, device_type> element_force, nodal_mass, internal_force, acceleration, velocity,
      displacement;
  strata::Value<Scalar, device_type> prev_dt, dt;

  STRATA_FUNCTION
  void operator()(int inode) const {
    // Getting offset and count as per 'CSR-like' data structure
    const int elem_offset = node_elem_offset(inode);
    const int elem_count = node_elem_offset(inode + 1) - elem_offset;

    // for each element that contains the node to accumulate internal force
    double local_force[] = {0.0, 0.0, 0.0};
    for (int i = 0; i < elem_count; i++) {
      const int elem_id = node_elem_ids(elem_offset + i, 0);
      const int elem_node_index = node_elem_ids(elem_offset + i, 1);
      for (int d = 0; d <= 2; ++d) local_force[d] += element_force(elem_id, d, elem_node_index);
    }
    for (int d = 0; d <= 2; ++d)
      internal_force(inode, d) = static_cast<Scalar>(local_force[d]);  // copy local to global memory

    // Computations for acceleration including at fixed boundary
    // Each line stores local a_current for fast access later in the velocity update
    // and copies the values to the global acceleration array.

    Scalar a_current[3];  // Local storage for subsequent use

    if (fixed(inode)) {
      // enforce fixed BC by zeroing out acceleration
      for (int d = 0; d <= 2; ++d) acceleration(inode, d) = a_current[d] = 0;
    } else {  // not on a fixed boundary
      for (int d = 0; d <= 2; ++d)
        acceleration(inode, d) = a_current[d] = static_cast<Scalar>(-local_force[d] / nodal_mass(inode));
    }

    // Computations for central difference integration of velocities and displacements
    for (int d = 0; d < 3; ++d) {
      velocity(inode, d) += (*prev_dt + *dt) / 2 * a_current[d];
      displacement(inode, d) += *dt * velocity(inode, d);
    }
  }
};
