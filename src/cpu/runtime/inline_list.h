// A short list whose room is in itself: nothing is allocated, and nothing is set but what is put in.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

namespace oriel::cpu {

template <class T, int kMost>
class InlineList {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  InlineList() {}  // not defaulted: `{}` would set the room

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return begin()[i]; }
  const T& operator[](std::size_t i) const { return begin()[i]; }
  T& back() { return end()[-1]; }
  T* begin() { return std::launder(reinterpret_cast<T*>(room_)); }
  T* end() { return begin() + size_; }
  const T* begin() const { return std::launder(reinterpret_cast<const T*>(room_)); }
  const T* end() const { return begin() + size_; }

  /// There must be room: at most kMost.
  T& push_back(const T& value) {
    T* last = new (room_ + static_cast<std::size_t>(size_) * sizeof(T)) T(value);
    ++size_;
    return *last;
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }

 private:
  int size_ = 0;
  alignas(T) std::byte room_[kMost * sizeof(T)];
};

}  // namespace oriel::cpu
