// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstring>

#include <strata/core/cache_lines.hpp>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace strata::inline STRATA_ABI::detail {

#if defined(__x86_64__)
namespace {

// Four registers, and no array of them: g++ 12 stores those in one move to an address that is a multiple of
// 64, which the stack of AddressSanitizer does not have (https://gcc.gnu.org/PR110027).
void stream(char* dst, __m128i a, __m128i b, __m128i c, __m128i d) {
  auto* const to = reinterpret_cast<__m128i*>(dst);
  _mm_stream_si128(to, a);
  _mm_stream_si128(to + 1, b);
  _mm_stream_si128(to + 2, c);
  _mm_stream_si128(to + 3, d);
}

__m128i load(const char* src) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(src)); }

void stream_line(char* dst, const char* src) {
  stream(dst, load(src), load(src + 16), load(src + 32), load(src + 48));
}

}  // namespace
#endif

void fill_lines(char* dst, const char* line, std::size_t count, bool past_cache) {
#if defined(__x86_64__)
  if (past_cache) {
    const __m128i a = load(line), b = load(line + 16), c = load(line + 32), d = load(line + 48);
    for (std::size_t k = 0; k < count; ++k, dst += line_bytes) stream(dst, a, b, c, d);
    _mm_sfence();
    return;
  }
#endif
  static_cast<void>(past_cache);
  char own[line_bytes];  // in registers: `line` might be a part of what is written
  std::memcpy(own, line, line_bytes);
  for (std::size_t k = 0; k < count; ++k, dst += line_bytes) std::memcpy(dst, own, line_bytes);
}

void copy_past_cache(char* dst, const char* src, std::size_t bytes) {
#if defined(__x86_64__)
  const std::size_t before = std::min(bytes, -reinterpret_cast<std::uintptr_t>(dst) % line_bytes);
  std::memcpy(dst, src, before);
  const char* const end = src + bytes;
  dst += before;
  src += before;
  // Lines of several pages by turns, as processors fetch ahead in each page by itself.
  constexpr std::size_t page = 4096, pages = 4;
  for (; static_cast<std::size_t>(end - src) >= pages * page; src += pages * page, dst += pages * page)
    for (std::size_t k = 0; k < page; k += line_bytes)
      for (std::size_t q = 0; q < pages; ++q) stream_line(dst + q * page + k, src + q * page + k);
  for (; static_cast<std::size_t>(end - src) >= line_bytes; src += line_bytes, dst += line_bytes)
    stream_line(dst, src);
  _mm_sfence();
  bytes = static_cast<std::size_t>(end - src);
#endif
  std::memcpy(dst, src, bytes);
}

}  // namespace strata::inline STRATA_ABI::detail
