// print: printf, in kernels on any device and anywhere else, with the format checked by the compiler.
//
//   strata::print("item %ld: %g\n", i, x(i));
//
// The format is a string literal with the conversions of printf: one that does not fit its argument, or a
// wrong number of them, does not compile. An index (index_t, std::size_t, the work index of a kernel) takes
// %ld or %lu, an int %d, float and double %g and its like, a string literal %s, an address %p.
//
// Calls of different work items print in any order, each call in one piece. The output of kernels on Cuda is
// kept on the GPU, in a buffer of 1 MiB whose oldest lines are overwritten first, and appears with the next
// wait for the GPU; on other devices it appears at once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <type_traits>

#include <strata/core/config.hpp>
#include <strata/core/lane_index.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

// The kinds of arguments of printf; integers by size, as conversions have length modifiers.
enum class Printed { Unprintable, Integer, LongInteger, Real, Text, Address };

template <class T>
consteval Printed printed_as() {
  if constexpr (is_lane_index_v<T>) return Printed::LongInteger;
  else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>)
    return sizeof(T) <= sizeof(int) ? Printed::Integer : Printed::LongInteger;
  else if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) return Printed::Real;
  else if constexpr (std::is_same_v<T, const char*> || std::is_same_v<T, char*>) return Printed::Text;
  else if constexpr (std::is_pointer_v<T>) return Printed::Address;
  else return Printed::Unprintable;
}

// Not defined: the compiler's message names one where a format is wrong.
void print_has_another_number_of_arguments_than_its_format_says();
void print_of_a_type_that_printf_does_not_know();
void print_with_a_conversion_that_does_not_fit_its_argument();
void print_with_a_format_that_printf_does_not_know();

constexpr bool is_one_of(char c, const char* letters) {
  for (; *letters != 0; ++letters)
    if (c == *letters) return true;
  return false;
}

// Whether the conversion `letter`, of a length of long or more or not, takes such an argument.
constexpr bool fits(char letter, bool is_long, Printed argument) {
  if (is_one_of(letter, "diuoxX")) return argument == (is_long ? Printed::LongInteger : Printed::Integer);
  if (letter == 'c') return argument == Printed::Integer;
  if (is_one_of(letter, "fFeEgGaA")) return argument == Printed::Real;
  if (letter == 's') return argument == Printed::Text;
  return argument == Printed::Address || argument == Printed::Text;  // %p
}

constexpr void check_format(const char* at, const Printed* arguments, int count) {
  int next = 0;
  const auto take = [&] {
    if (next == count) print_has_another_number_of_arguments_than_its_format_says();
    const Printed argument = arguments[next++];
    if (argument == Printed::Unprintable) print_of_a_type_that_printf_does_not_know();
    return argument;
  };
  const auto take_number = [&] {  // of a width or precision
    if (*at == '*') {
      ++at;
      if (take() != Printed::Integer) print_with_a_conversion_that_does_not_fit_its_argument();
    }
    while (*at >= '0' && *at <= '9') ++at;
  };
  for (; *at != 0; ++at) {
    if (*at != '%') continue;
    if (*++at == '%') continue;
    while (is_one_of(*at, "-+ #0")) ++at;
    take_number();
    if (*at == '.') {
      ++at;
      take_number();
    }
    const char* const length = at;
    bool is_long = false;
    for (; is_one_of(*at, "hljzt"); ++at) is_long = is_long || *at != 'h';
    // %lf is %f; before the others a length asks for another type (%ls: wide characters).
    const bool takes_length =
        is_one_of(*at, "diuoxX") || (is_one_of(*at, "fFeEgGaA") && *length == 'l' && at - length == 1);
    if (!is_one_of(*at, "diuoxXcfFeEgGaAsp") || (at != length && !takes_length))
      print_with_a_format_that_printf_does_not_know();
    if (!fits(*at, is_long, take())) print_with_a_conversion_that_does_not_fit_its_argument();
  }
  if (next != count) print_has_another_number_of_arguments_than_its_format_says();
}

template <class... T>
struct PrintFormat {
#if defined(__CUDA_ARCH__)
  // The host's pass over the same kernel checks it.
  __device__ constexpr PrintFormat(const char* format) : text(format) {}
#else
  consteval PrintFormat(const char* format) : text(format) {
    const Printed arguments[] = {printed_as<T>()..., Printed::Unprintable};
    check_format(format, arguments, sizeof...(T));
  }
#endif

  const char* text;
};

template <class T>
STRATA_FUNCTION constexpr auto printable(const T& value) {
  if constexpr (is_lane_index_v<T>) return static_cast<index_t>(value);
  else if constexpr (std::is_enum_v<T>) return static_cast<std::underlying_type_t<T>>(value);
  else return value;
}

}  // namespace detail

/// Prints to the standard output as printf does.
template <class... T>
STRATA_FUNCTION void print(detail::PrintFormat<std::type_identity_t<T>...> format, T... values) {
  // The 0 is for compilers that warn of a printf whose only argument is no literal; printf ignores it.
  ::printf(format.text, detail::printable(values)..., 0);
}

}  // namespace strata::inline STRATA_ABI
