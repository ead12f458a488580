// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <strata/miniapps/factorize/matrix_input.hpp>

namespace strata::inline STRATA_ABI::factorize {

namespace {

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw InputError("--input " + path + ": " + why);
}

// The order of a matrix of so many elements; -1: it is not square.
index_t order_of(index_t elements) {
  index_t order = static_cast<index_t>(std::sqrt(static_cast<double>(elements)));
  while (order * order > elements) --order;
  while ((order + 1) * (order + 1) <= elements) ++order;
  return order * order == elements ? order : -1;
}

// Read part by part when it is asked for: the file may be larger than the memory.
class RawMatrix final : public MatrixInput {
 public:
  RawMatrix(const std::string& path, bool is_double)
      : MatrixInput(0, path + ", raw"), path_(path), bytes_(is_double ? 8 : 4) {
    file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe is refused, not waited for
    if (file_ < 0) fail(path, std::string("the file cannot be read: ") + std::strerror(errno));
    try {
      set_order();
    } catch (...) {
      close(file_);
      throw;
    }
  }
  ~RawMatrix() override { close(file_); }
  RawMatrix(const RawMatrix&) = delete;
  RawMatrix& operator=(const RawMatrix&) = delete;

  void read(index_t row, index_t first, index_t count, double* values) const override {
    if (bytes_ == 8) read_numbers(row * order_ + first, count, values);
    else {
      std::vector<float> numbers(static_cast<std::size_t>(count));
      read_numbers(row * order_ + first, count, numbers.data());
      std::copy(numbers.begin(), numbers.end(), values);
    }
  }

 private:
  void set_order() {
    struct stat status {};
    if (fstat(file_, &status) != 0) fail(path_, std::strerror(errno));
    if (!S_ISREG(status.st_mode)) fail(path_, "this is no file: give the path of one");
    const index_t size = status.st_size;
    const std::string type = bytes_ == 8 ? "double" : "float";
    if (size == 0) fail(path_, "the file is empty");
    order_ = size % bytes_ == 0 ? order_of(size / bytes_) : -1;
    if (order_ >= 1) return;
    const index_t other = 12 - bytes_;
    const bool is_other = size % other == 0 && order_of(size / other) > 0;
    fail(path_, std::to_string(size) + " bytes are no square matrix of numbers of type " + type +
                    (is_other ? ": they are one of type " + std::string(other == 8 ? "double" : "float") +
                                    " (--type)"
                              : ", and the file does not begin with %%MatrixMarket: raw files have n x n "
                                "numbers, and nothing else"));
  }
  template <class Number>
  void read_numbers(index_t element, index_t count, Number* numbers) const {
    char* to = reinterpret_cast<char*>(numbers);
    index_t left = count * bytes_, at = element * bytes_;
    while (left > 0) {
      const ssize_t got = pread(file_, to, static_cast<std::size_t>(left), at);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail(path_, std::string("reading stopped: ") + std::strerror(errno));
      if (got == 0) fail(path_, "the file has become shorter while it was read");
      to += got;
      at += got;
      left -= got;
    }
  }

  std::string path_;
  index_t bytes_;  // of a number
  int file_ = -1;
};

}  // namespace

std::unique_ptr<MatrixInput> make_raw(const std::string& path, bool is_double) {
  return std::make_unique<RawMatrix>(path, is_double);
}

}  // namespace strata::inline STRATA_ABI::factorize
