#include "nn/weights/pickle.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "nn/weights/pickle_stack.h"
#include "quoted.h"

namespace oriel::nn {
namespace {

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

// Carries out a pickle's instructions.
class Machine {
 public:
  Machine(Bytes pickle, const std::string& file) : file_(file), in_(pickle, file), stack_(in_) {}

  // The value that STOP leaves.
  Value* run() {
    for (;;) {
      const std::size_t at = in_.at();
      const int code = in_.byte();
      if (code == '.') return stack_.pop();
      if (!number(code) && !text(code) && !memory(code) && !container(code) && !object(code))
        throw Error(
            fmt::format("{}: data.pkl has the instruction 0x{:02x} at byte {}, which the pickles of tensors do "
                        "not need; nothing was executed",
                        file_, code, at));
    }
  }

 private:
  bool push_integer(index_t value, Kind kind = Kind::integer) {
    Value* const v = stack_.make(kind);
    v->integer = value;
    stack_.push(v);
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
        return push_integer(in_.little<std::int32_t>());
      case 'K':  // BININT1
        return push_integer(in_.byte());
      case 'M':  // BININT2
        return push_integer(in_.little<std::uint16_t>());
      case 0x8a:  // LONG1
        return push_integer(in_.long_integer());
      case 'G':  // BINFLOAT; no tensor needs the value
        in_.take(8);
        return push_integer(0, Kind::real);
      default:
        return false;
    }
  }

  bool text(int code) {
    if (code == 'X') {  // BINUNICODE
      push_text(in_.take(in_.little<std::uint32_t>()));
    } else if (code == 'U') {  // SHORT_BINSTRING
      push_text(in_.take(static_cast<std::size_t>(in_.byte())));
    } else if (code == 0x80) {  // PROTO
      const int protocol = in_.byte();
      if (protocol != 2)
        throw Error(fmt::format("{}: data.pkl is of pickle protocol {}; allowed: 2, which torch.save writes by itself",
                                file_, protocol));
    } else {
      return false;
    }
    return true;
  }

  void push_text(std::string_view value) {
    Value* const v = stack_.make(Kind::text);
    v->text = value;
    stack_.push(v);
  }

  bool memory(int code) {
    switch (code) {
      case 'q':  // BINPUT
        return stack_.put(static_cast<std::uint32_t>(in_.byte()));
      case 'r':  // LONG_BINPUT
        return stack_.put(in_.little<std::uint32_t>());
      case 'h':  // BINGET
        return stack_.get(static_cast<std::uint32_t>(in_.byte()));
      case 'j':  // LONG_BINGET
        return stack_.get(in_.little<std::uint32_t>());
      default:
        return false;
    }
  }

  bool container(int code) {
    switch (code) {
      case '(':
        stack_.mark();
        return true;
      case '}':
        stack_.push(stack_.make(Kind::dict));
        return true;
      case ']':
        stack_.push(stack_.make(Kind::list));
        return true;
      case ')':
        stack_.push(stack_.make(Kind::tuple));
        return true;
      case 't':
        return push_tuple(stack_.pop_to_mark());
      case 0x85:  // TUPLE1
        return push_tuple(stack_.pop_several(1));
      case 0x86:
        return push_tuple(stack_.pop_several(2));
      case 0x87:
        return push_tuple(stack_.pop_several(3));
      case 'a':
        return append(stack_.pop_several(1), Kind::list);
      case 'e':
        return append(stack_.pop_to_mark(), Kind::list);
      case 's':
        return append(stack_.pop_several(2), Kind::dict);
      case 'u':
        return append(stack_.pop_to_mark(), Kind::dict);
      default:
        return false;
    }
  }

  bool push_tuple(std::vector<Value*> items) {
    Value* const tuple = stack_.make(Kind::tuple);
    tuple->items = std::move(items);
    stack_.push(tuple);
    return true;
  }

  bool append(const std::vector<Value*>& items, Kind kind) {
    if (kind == Kind::dict && items.size() % 2 != 0) in_.fail("a dictionary gets a key without a value");
    Value* const into = stack_.top(kind, kind == Kind::dict ? "items are set of no dictionary" : "items go to no list");
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
    const std::string_view module = in_.line();
    const std::string name = fmt::format("{}.{}", module, in_.line());
    if (!is_allowed(name))
      throw Error(
          fmt::format("{}: data.pkl asks for {}, which is not among the names that tensors need; nothing was "
                      "executed",
                      file_, detail::shortened(name)));
    Value* const value = stack_.make(Kind::global);
    value->text = name;
    stack_.push(value);
    return true;
  }

  // ('storage', type, key, device, elements)
  bool persistent() {
    const Value* const id = stack_.pop(Kind::tuple, "a persistent id is no tuple");
    if (id->items.size() != 5 || id->items[0]->kind != Kind::text || id->items[0]->text != "storage" ||
        id->items[1]->kind != Kind::global || id->items[2]->kind != Kind::text || id->items[4]->kind != Kind::integer)
      in_.fail("a persistent id is not ('storage', type, key, device, elements)");
    const auto dtype = storage_type(id->items[1]->text);
    if (!dtype) in_.fail(fmt::format("{} is no storage type", detail::shortened(id->items[1]->text)));
    Value* const storage = stack_.make(Kind::storage);
    storage->tensor.storage = id->items[2]->text;
    storage->tensor.dtype = *dtype;
    storage->tensor.elements = id->items[4]->integer;
    if (storage->tensor.elements < 0) in_.fail("a storage has a negative size");
    stack_.push(storage);
    return true;
  }

  bool reduce() {
    const Value* const arguments = stack_.pop(Kind::tuple, "the arguments of a call are no tuple");
    const Value* const function = stack_.pop(Kind::global, "a call of something without a name");
    if (function->text == kDict) {
      if (!arguments->items.empty()) in_.fail("OrderedDict gets arguments");
      stack_.push(stack_.make(Kind::dict));
    } else if (function->text == kTensor) {
      stack_.push(rebuild_tensor(arguments->items));
    } else if (function->text == kParameter) {
      if (arguments->items.size() != 3 || arguments->items[0]->kind != Kind::tensor)
        in_.fail("a parameter of no tensor");
      stack_.push(arguments->items[0]);
    } else if (function->text == kSize) {
      if (arguments->items.size() != 1) in_.fail("torch.Size gets not one list");
      stack_.push(arguments->items[0]);
    } else {
      in_.fail(fmt::format("{} is called", detail::shortened(function->text)));
    }
    return true;
  }

  // (storage, offset, size, pitch, requires_grad, hooks[, metadata])
  Value* rebuild_tensor(const std::vector<Value*>& a) {
    if ((a.size() != 6 && a.size() != 7) || a[0]->kind != Kind::storage || a[1]->kind != Kind::integer ||
        a[2]->kind != Kind::tuple || a[3]->kind != Kind::tuple)
      in_.fail("_rebuild_tensor_v2 gets not (storage, offset, size, stride, …)");
    Value* const out = stack_.make(Kind::tensor);
    out->tensor = a[0]->tensor;
    out->tensor.offset = a[1]->integer;
    out->tensor.shape = extents(*a[2]);
    out->tensor.pitch = extents(*a[3]);
    if (out->tensor.offset < 0) in_.fail("a tensor's offset is negative");
    if (out->tensor.shape.size() != out->tensor.pitch.size()) in_.fail("a tensor has not one stride for each axis");
    return out;
  }

  Extents extents(const Value& tuple) const {
    if (tuple.items.size() > kMaxRank) in_.fail("a tensor has too many axes");
    Extents out;
    for (const Value* item : tuple.items) {
      if (item->kind != Kind::integer || item->integer < 0) in_.fail("a size or stride is no integer >= 0");
      out.push_back(item->integer);
    }
    return out;
  }

  // Attributes of a dictionary (`_metadata` of a state dictionary); they say nothing about tensors.
  bool build() {
    stack_.pop(Kind::dict, "attributes are no dictionary");
    stack_.top(Kind::dict, "attributes of something that is no dictionary");
    return true;
  }

  const std::string& file_;
  PickleBytes in_;
  PickleStack stack_;
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
    if (dict.items[i]->kind != Kind::text) throw Error(fmt::format("{}: a tensor's name is not a string", file));
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
