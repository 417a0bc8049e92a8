// The values that a pickle makes, on a stack with marks, and its memo.
#pragma once

#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "nn/weights/pickle.h"
#include "nn/weights/pickle_bytes.h"

namespace oriel::nn {

enum class Kind : std::uint8_t { none, boolean, integer, real, text, tuple, list, dict, global, storage, tensor };

// A value on the machine's stack. Values live as long as the machine, so a pickle that refers to itself is no trouble.
struct Value {
  Kind kind = Kind::none;
  index_t integer = 0;
  std::string text{};           // of a text, or the full name of a global
  std::vector<Value*> items{};  // of a tuple or list; keys and values of a dict in turn
  PickledTensor tensor{};       // of a storage or tensor
};

class PickleStack {
 public:
  /// Errors name the byte that `in` has come to.
  explicit PickleStack(const PickleBytes& in) : in_(in) {}

  Value* make(Kind kind) {
    values_.emplace_back();
    values_.back().kind = kind;
    return &values_.back();
  }

  void push(Value* value) { stack_.push_back(value); }

  Value* pop() {
    if (stack_.empty() || (!marks_.empty() && stack_.size() == marks_.back())) in_.fail("the stack is empty");
    Value* const value = stack_.back();
    stack_.pop_back();
    return value;
  }

  Value* pop(Kind kind, std::string_view what) {
    Value* const value = pop();
    if (value->kind != kind) in_.fail(what);
    return value;
  }

  // The values above the last MARK.
  std::vector<Value*> pop_to_mark() {
    if (marks_.empty()) in_.fail("there is no MARK");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<Value*> out(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return out;
  }

  Value* top(Kind kind, std::string_view what) {
    Value* const value = pop(kind, what);
    push(value);
    return value;
  }

  void mark() { marks_.push_back(stack_.size()); }

  std::vector<Value*> pop_several(std::size_t count) {
    std::vector<Value*> out(count);
    while (count-- > 0) out[count] = pop();
    return out;
  }

  bool put(std::uint32_t key) {
    Value* const value = pop();
    memo_[key] = value;
    push(value);
    return true;
  }

  bool get(std::uint32_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) in_.fail(fmt::format("memo {} was never put", key));
    push(found->second);
    return true;
  }

 private:
  const PickleBytes& in_;
  std::deque<Value> values_;
  std::vector<Value*> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint32_t, Value*> memo_;
};

}  // namespace oriel::nn
