#include "nn/pickle.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "nn/formats.h"

namespace oriel::nn {
namespace {

enum class Kind : std::uint8_t { none, boolean, integer, real, text, tuple, list, dict, global, storage, tensor };

// A value on the machine's stack. Values live as long as the machine, so a pickle that refers to itself is no trouble.
struct Value {
  Kind kind = Kind::none;
  index_t integer = 0;
  std::string text{};           // of a text, or the full name of a global
  std::vector<Value*> items{};  // of a tuple or list; keys and values of a dict in turn
  PickledTensor tensor{};       // of a storage or tensor
};

struct StorageType {
  std::string_view name;
  Dtype dtype;
};
constexpr StorageType kStorages[] = {{"torch.DoubleStorage", Dtype::f64},        {"torch.FloatStorage", Dtype::f32},
                                     {"torch.HalfStorage", Dtype::f16},          {"torch.BFloat16Storage", Dtype::bf16},
                                     {"torch.LongStorage", Dtype::i64},          {"torch.IntStorage", Dtype::i32},
                                     {"torch.ShortStorage", Dtype::i16},         {"torch.CharStorage", Dtype::i8},
                                     {"torch.ByteStorage", Dtype::u8},           {"torch.BoolStorage", Dtype::boolean},
                                     {"torch.storage.UntypedStorage", Dtype::u8}};

constexpr std::string_view kDict = "collections.OrderedDict";
constexpr std::string_view kTensor = "torch._utils._rebuild_tensor_v2";
constexpr std::string_view kParameter = "torch._utils._rebuild_parameter";
constexpr std::string_view kSize = "torch.Size";
constexpr std::string_view kDtypes[] = {"torch.float64", "torch.float32", "torch.float16", "torch.bfloat16",
                                        "torch.int64",   "torch.int32",   "torch.int16",   "torch.int8",
                                        "torch.uint8",   "torch.bool"};

std::optional<Dtype> storage_type(std::string_view name) {
  for (const StorageType& type : kStorages)
    if (type.name == name) return type.dtype;
  return std::nullopt;
}

bool is_allowed(std::string_view name) {
  if (name == kDict || name == kTensor || name == kParameter || name == kSize || storage_type(name)) return true;
  for (std::string_view dtype : kDtypes)
    if (dtype == name) return true;
  return false;
}

class Machine {
 public:
  Machine(Bytes pickle, const std::string& file) : pickle_(pickle), file_(file) {}

  // The value that STOP leaves.
  Value* run() {
    for (;;) {
      const std::size_t at = at_;
      const int code = byte();
      if (code == '.') return pop();
      if (!number(code) && !text(code) && !memory(code) && !container(code) && !object(code))
        throw Error(
            fmt::format("{}: data.pkl has the instruction 0x{:02x} at byte {}, which the pickles of tensors do "
                        "not need; nothing was executed",
                        file_, code, at));
    }
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw Error(fmt::format("{}: data.pkl is broken at byte {}: {}", file_, at_, what));
  }

  int byte() {
    if (at_ == pickle_.size()) fail("it ends without STOP");
    return std::to_integer<int>(pickle_[at_++]);
  }

  template <class T>
  T little() {
    T value{};
    if (pickle_.size() - at_ < sizeof value) fail("it ends inside an instruction");
    std::memcpy(&value, pickle_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  std::string_view take(std::size_t count) {
    if (pickle_.size() - at_ < count) fail("it ends inside a text");
    at_ += count;
    return {reinterpret_cast<const char*>(pickle_.data()) + at_ - count, count};
  }

  std::string_view line() {
    const std::size_t begin = at_;
    while (byte() != '\n') {
    }
    return {reinterpret_cast<const char*>(pickle_.data()) + begin, at_ - begin - 1};
  }

  Value* make(Kind kind) {
    values_.emplace_back();
    values_.back().kind = kind;
    return &values_.back();
  }

  void push(Value* value) { stack_.push_back(value); }

  Value* pop() {
    if (stack_.empty() || (!marks_.empty() && stack_.size() == marks_.back())) fail("the stack is empty");
    Value* const value = stack_.back();
    stack_.pop_back();
    return value;
  }

  Value* pop(Kind kind, std::string_view what) {
    Value* const value = pop();
    if (value->kind != kind) fail(what);
    return value;
  }

  // The values above the last MARK.
  std::vector<Value*> pop_to_mark() {
    if (marks_.empty()) fail("there is no MARK");
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

  bool push_integer(index_t value, Kind kind = Kind::integer) {
    Value* const v = make(kind);
    v->integer = value;
    push(v);
    return true;
  }

  bool number(int code) {
    switch (code) {
      case 'N':
        return push_integer(0, Kind::none);
      case 0x88:  // NEWTRUE
        return push_integer(1, Kind::boolean);
      case 0x89:  // NEWFALSE
        return push_integer(0, Kind::boolean);
      case 'J':  // BININT
        return push_integer(little<std::int32_t>());
      case 'K':  // BININT1
        return push_integer(byte());
      case 'M':  // BININT2
        return push_integer(little<std::uint16_t>());
      case 0x8a:  // LONG1
        return push_integer(long_integer());
      case 'G':  // BINFLOAT; no tensor needs the value
        take(8);
        return push_integer(0, Kind::real);
      default:
        return false;
    }
  }

  // Little-endian two's complement of up to 8 bytes; longer ones are no sizes.
  index_t long_integer() {
    const std::string_view bytes = take(static_cast<std::size_t>(byte()));
    if (bytes.size() > 8) fail("an integer has more than 64 bits");
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    if (!bytes.empty() && bytes.size() < 8 && (static_cast<unsigned char>(bytes.back()) & 0x80U) != 0)
      value |= ~std::uint64_t{0} << (8 * bytes.size());
    return static_cast<index_t>(value);
  }

  bool text(int code) {
    if (code == 'X') {  // BINUNICODE
      push_text(take(little<std::uint32_t>()));
    } else if (code == 'U') {  // SHORT_BINSTRING
      push_text(take(static_cast<std::size_t>(byte())));
    } else if (code == 0x80) {  // PROTO
      const int protocol = byte();
      if (protocol != 2)
        throw Error(fmt::format("{}: data.pkl is of pickle protocol {}; allowed: 2, which torch.save writes by itself",
                                file_, protocol));
    } else {
      return false;
    }
    return true;
  }

  void push_text(std::string_view value) {
    Value* const v = make(Kind::text);
    v->text = value;
    push(v);
  }

  bool memory(int code) {
    switch (code) {
      case 'q':  // BINPUT
        return put(static_cast<std::uint32_t>(byte()));
      case 'r':  // LONG_BINPUT
        return put(little<std::uint32_t>());
      case 'h':  // BINGET
        return get(static_cast<std::uint32_t>(byte()));
      case 'j':  // LONG_BINGET
        return get(little<std::uint32_t>());
      default:
        return false;
    }
  }

  bool put(std::uint32_t key) {
    Value* const value = pop();
    memo_[key] = value;
    push(value);
    return true;
  }

  bool get(std::uint32_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) fail(fmt::format("memo {} was never put", key));
    push(found->second);
    return true;
  }

  bool container(int code) {
    switch (code) {
      case '(':
        marks_.push_back(stack_.size());
        return true;
      case '}':
        push(make(Kind::dict));
        return true;
      case ']':
        push(make(Kind::list));
        return true;
      case ')':
        push(make(Kind::tuple));
        return true;
      case 't':
        return push_tuple(pop_to_mark());
      case 0x85:  // TUPLE1
        return push_tuple(pop_several(1));
      case 0x86:
        return push_tuple(pop_several(2));
      case 0x87:
        return push_tuple(pop_several(3));
      case 'a':
        return append(pop_several(1), Kind::list);
      case 'e':
        return append(pop_to_mark(), Kind::list);
      case 's':
        return append(pop_several(2), Kind::dict);
      case 'u':
        return append(pop_to_mark(), Kind::dict);
      default:
        return false;
    }
  }

  std::vector<Value*> pop_several(std::size_t count) {
    std::vector<Value*> out(count);
    while (count-- > 0) out[count] = pop();
    return out;
  }

  bool push_tuple(std::vector<Value*> items) {
    Value* const tuple = make(Kind::tuple);
    tuple->items = std::move(items);
    push(tuple);
    return true;
  }

  bool append(const std::vector<Value*>& items, Kind kind) {
    if (kind == Kind::dict && items.size() % 2 != 0) fail("a dictionary gets a key without a value");
    Value* const into = top(kind, kind == Kind::dict ? "items are set of no dictionary" : "items go to no list");
    into->items.insert(into->items.end(), items.begin(), items.end());
    return true;
  }

  bool object(int code) {
    switch (code) {
      case 'c':
        return global();
      case 'Q':
        return persistent();
      case 'R':
      case 0x81:  // NEWOBJ
        return reduce();
      case 'b':
        return build();
      default:
        return false;
    }
  }

  bool global() {
    const std::string_view module = line();
    const std::string name = fmt::format("{}.{}", module, line());
    if (!is_allowed(name))
      throw Error(
          fmt::format("{}: data.pkl asks for {}, which is not among the names that tensors need; nothing was "
                      "executed",
                      file_, shown(name)));
    Value* const value = make(Kind::global);
    value->text = name;
    push(value);
    return true;
  }

  // ('storage', type, key, device, elements)
  bool persistent() {
    const Value* const id = pop(Kind::tuple, "a persistent id is no tuple");
    if (id->items.size() != 5 || id->items[0]->kind != Kind::text || id->items[0]->text != "storage" ||
        id->items[1]->kind != Kind::global || id->items[2]->kind != Kind::text || id->items[4]->kind != Kind::integer)
      fail("a persistent id is not ('storage', type, key, device, elements)");
    const auto dtype = storage_type(id->items[1]->text);
    if (!dtype) fail(fmt::format("{} is no storage type", shown(id->items[1]->text)));
    Value* const storage = make(Kind::storage);
    storage->tensor.storage = id->items[2]->text;
    storage->tensor.dtype = *dtype;
    storage->tensor.elements = id->items[4]->integer;
    if (storage->tensor.elements < 0) fail("a storage has a negative size");
    push(storage);
    return true;
  }

  bool reduce() {
    const Value* const arguments = pop(Kind::tuple, "the arguments of a call are no tuple");
    const Value* const function = pop(Kind::global, "a call of something without a name");
    if (function->text == kDict) {
      if (!arguments->items.empty()) fail("OrderedDict gets arguments");
      push(make(Kind::dict));
    } else if (function->text == kTensor) {
      push(rebuild_tensor(arguments->items));
    } else if (function->text == kParameter) {
      if (arguments->items.size() != 3 || arguments->items[0]->kind != Kind::tensor) fail("a parameter of no tensor");
      push(arguments->items[0]);
    } else if (function->text == kSize) {
      if (arguments->items.size() != 1) fail("torch.Size gets not one list");
      push(arguments->items[0]);
    } else {
      fail(fmt::format("{} is called", shown(function->text)));
    }
    return true;
  }

  // (storage, offset, size, pitch, requires_grad, hooks[, metadata])
  Value* rebuild_tensor(const std::vector<Value*>& a) {
    if ((a.size() != 6 && a.size() != 7) || a[0]->kind != Kind::storage || a[1]->kind != Kind::integer ||
        a[2]->kind != Kind::tuple || a[3]->kind != Kind::tuple)
      fail("_rebuild_tensor_v2 gets not (storage, offset, size, stride, …)");
    Value* const out = make(Kind::tensor);
    out->tensor = a[0]->tensor;
    out->tensor.offset = a[1]->integer;
    out->tensor.shape = extents(*a[2]);
    out->tensor.pitch = extents(*a[3]);
    if (out->tensor.offset < 0) fail("a tensor's offset is negative");
    if (out->tensor.shape.size() != out->tensor.pitch.size()) fail("a tensor has not one stride for each axis");
    return out;
  }

  Extents extents(const Value& tuple) const {
    if (tuple.items.size() > kMaxRank) fail("a tensor has too many axes");
    Extents out;
    for (const Value* item : tuple.items) {
      if (item->kind != Kind::integer || item->integer < 0) fail("a size or stride is no integer >= 0");
      out.push_back(item->integer);
    }
    return out;
  }

  // Attributes of a dictionary (`_metadata` of a state dictionary); they say nothing about tensors.
  bool build() {
    pop(Kind::dict, "attributes are no dictionary");
    top(Kind::dict, "attributes of something that is no dictionary");
    return true;
  }

  Bytes pickle_;
  const std::string& file_;
  std::size_t at_ = 0;
  std::deque<Value> values_;
  std::vector<Value*> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint32_t, Value*> memo_;
};

bool has_tensors(const Value& dict) {
  for (std::size_t i = 1; i < dict.items.size(); i += 2)
    if (dict.items[i]->kind == Kind::tensor) return true;
  return false;
}

// The dictionary of tensors: the value itself, or what it holds under the usual names.
const Value& state_dict(const Value& top, const std::string& file) {
  if (top.kind == Kind::tensor) throw Error(fmt::format("{}: one tensor without a name; a state_dict is needed", file));
  if (top.kind != Kind::dict) throw Error(fmt::format("{}: holds no dictionary; a state_dict is needed", file));
  if (has_tensors(top)) return top;
  for (std::string_view key : {"state_dict", "model_state_dict", "model"})
    for (std::size_t i = 0; i < top.items.size(); i += 2)
      if (top.items[i]->kind == Kind::text && top.items[i]->text == key && top.items[i + 1]->kind == Kind::dict &&
          has_tensors(*top.items[i + 1]))
        return *top.items[i + 1];
  throw Error(
      fmt::format("{}: its dictionary holds no tensors, nor a state_dict, model_state_dict or model that does", file));
}

}  // namespace

std::map<std::string, PickledTensor> read_state_dict(std::span<const std::byte> pickle, const std::string& file) {
  Machine machine(pickle, file);
  const Value& dict = state_dict(*machine.run(), file);
  std::map<std::string, PickledTensor> out;
  for (std::size_t i = 0; i < dict.items.size(); i += 2) {
    if (dict.items[i + 1]->kind != Kind::tensor) continue;  // what people keep beside the tensors
    if (dict.items[i]->kind != Kind::text) throw Error(fmt::format("{}: a tensor's name is no text", file));
    out[dict.items[i]->text] = dict.items[i + 1]->tensor;
  }
  constexpr std::string_view kModule = "module.";
  bool wrapped = true;
  for (const auto& [name, tensor] : out) wrapped = wrapped && name.starts_with(kModule);
  if (!wrapped) return out;
  std::map<std::string, PickledTensor> plain;
  for (auto& [name, tensor] : out) plain[name.substr(kModule.size())] = std::move(tensor);
  return plain;
}

}  // namespace oriel::nn
