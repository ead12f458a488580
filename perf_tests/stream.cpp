// Are kernels that only move memory as fast as memory? STREAM's copy, scale, add and triad, and fill, against
// plain loops and plain CUDA on the same arrays; deep_copy of an array and of a value next to them.
// SPDX-License-Identifier: Apache-2.0
#include "baselines/stream.hpp"

#include "common/contest.hpp"
#include "kokkos/kokkos_cases.hpp"

namespace {

using namespace perf;
using strata::index_t;

struct Copy {
  STRATA_FUNCTION void operator()(auto i, auto a, auto b) const { a(i) = b(i); }
};
template <class T>
struct Scale {
  T s;
  STRATA_FUNCTION void operator()(auto i, auto a, auto b) const { a(i) = s * b(i); }
};
struct Add {
  STRATA_FUNCTION void operator()(auto i, auto a, auto b, auto c) const { a(i) = b(i) + c(i); }
};
template <class T>
struct Triad {
  T s;
  STRATA_FUNCTION void operator()(auto i, auto a, auto b, auto c) const { a(i) = b(i) + s * c(i); }
};
template <class T>
struct Fill {
  T s;
  STRATA_FUNCTION void operator()(auto i, auto a) const { a(i) = s; }
};
// Small numbers, so that results are exact.
template <class T>
struct Numbers {
  STRATA_FUNCTION static T b(index_t i) { return static_cast<T>(i % 1021); }
  STRATA_FUNCTION static T c(index_t i) { return static_cast<T>(i % 127); }
  STRATA_FUNCTION void operator()(index_t i, auto b_view, auto c_view) const {
    b_view(i) = b(i);
    c_view(i) = c(i);
  }
};

template <class T, class D>
void measure(const Options& options, Report& report, const char* type) {
  using Array = strata::MDArray<T, D, strata::rank<1>>;
  using Operation = StreamOperation;
  constexpr T s = 3;
  const index_t n = size_for<D>(options, index_t{1} << 24, index_t{1} << 27);
  const auto a = strata::create<Array>("a", n), b = strata::create<Array>("b", n),
             c = strata::create<Array>("c", n);
  strata::parallel_for(n, strata::with(Numbers<T>{}, b, c));
  strata::wait(D{});
  Contest<D> contest(options, report, type, 3.0 * sizeof(T) * static_cast<double>(n));

  const auto one = [&](const char* name, StreamOperation operation, std::function<void()> run,
                       auto expected) {
    const StreamArrays<T> arrays{a.data(), b.data(), c.data(), s, n};
    contest.measure(
        {.name = name,
         .n = n,
         .bytes = static_cast<double>(stream_arrays(operation)) * sizeof(T) * static_cast<double>(n),
         .run = std::move(run),
         .baseline = stream_by_hand(contest.place(), operation, arrays),
         .others = {kokkos_stream(kokkos_place<D>(), operation, arrays)},
         .correct =
             [&] {
               return rows_hold(
                   a, 4096, [&](const auto& host, index_t at, index_t i) { return host(at) == expected(i); });
             },
         .clear = [&] { strata::deep_copy(a, T(-1)); }});
  };
  const auto launched = [&](auto kernel, auto... accesses) {
    return [n, kernel, accesses...] {
      strata::launch(strata::on(D{}), n, kernel, accesses...);
      strata::wait(D{});
    };
  };
  using strata::in, strata::out;
  const auto nb = [](index_t i) { return Numbers<T>::b(i); };
  const auto value = [](index_t) { return s; };
  one("copy", Operation::Copy, launched(Copy{}, out(a), in(b)), nb);
  one(
      "copy, nothing declared", Operation::Copy,
      [&] {
        strata::parallel_for(n, strata::with(Copy{}, a, b));
        strata::wait(D{});
      },
      nb);
  one(
      "deep_copy", Operation::Copy, [&] { strata::deep_copy(a, b); }, nb);
  one("scale", Operation::Scale, launched(Scale<T>{s}, out(a), in(b)),
      [](index_t i) { return s * Numbers<T>::b(i); });
  one("add", Operation::Add, launched(Add{}, out(a), in(b), in(c)),
      [](index_t i) { return Numbers<T>::b(i) + Numbers<T>::c(i); });
  one("triad", Operation::Triad, launched(Triad<T>{s}, out(a), in(b), in(c)),
      [](index_t i) { return Numbers<T>::b(i) + s * Numbers<T>::c(i); });
  one("fill", Operation::Fill, launched(Fill<T>{s}, out(a)), value);
  one(
      "deep_copy of a value", Operation::Fill, [&] { strata::deep_copy(a, s); }, value);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, "Copy, scale, add, triad and fill.");
  Report report("stream", "the fastest of the loops or kernels by hand on the same arrays");
  for_each_type(options, [&](auto zero, const char* type) {
    for_each_real_device(
        options, [&](auto device) { measure<decltype(zero), decltype(device)>(options, report, type); });
  });
  report.note("deep_copy of a contiguous array on hosts is memcpy, in parts");
  return report.finish(options);
}
