// Memory that grows without being copied and goes back to the system when it is free: bodies of many sizes would leave
// a heap full of holes.
#pragma once

#include <sys/mman.h>

#include <cstddef>

namespace oriel::portrait::http {

class Pages {
 public:
  Pages() = default;
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { free(); }

  /// At least `bytes`, the first of them as they are. False when there is no memory; then nothing changes.
  bool grow(std::size_t bytes) {
    void* const at = data_ == nullptr
                         ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                         : ::mremap(data_, size_, bytes, MREMAP_MAYMOVE);
    if (at == MAP_FAILED) return false;
    data_ = static_cast<char*>(at);
    size_ = bytes;
    return true;
  }
  void free() {
    if (data_ != nullptr) ::munmap(data_, size_);
    data_ = nullptr;
    size_ = 0;
  }
  char* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace oriel::portrait::http
