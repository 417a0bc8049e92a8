// Any bytes as what a C caller passes: names, structs of any size with any numbers in them, tensors with any shapes and
// pitches, NULL among them. Each call gives a status and a text of one line; what a call may touch lies in memory of
// exactly its size, so the sanitizers see one that goes beyond.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "oriel/c.h"
#include "oriel/tensor.h"

namespace {

void expect(bool holds) {
  if (!holds) __builtin_trap();
}

bool good(oriel_status status) {
  expect(status >= ORIEL_OK && status <= ORIEL_NO_DEVICE);  // ORIEL_INTERNAL is for what must not happen
  if (status == ORIEL_OK) return true;
  const std::string text = oriel_last_error();
  expect(!text.empty() && text.find('\n') == std::string::npos);
  return false;
}

// The input's bytes, taken one after another; zeros when there are no more.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  template <class T>
  T take() {
    T value{};
    const std::size_t count = std::min(size_, sizeof value);
    std::memcpy(static_cast<void*>(&value), data_, count);
    data_ += count;
    size_ -= count;
    return value;
  }
  // Mostly small numbers, at times any.
  std::int64_t number() {
    const auto kind = take<std::uint8_t>();
    return kind < 240 ? kind % 12 - 2 : take<std::int64_t>();
  }
  std::int32_t word() { return static_cast<std::int32_t>(number()); }
  bool often() { return take<std::uint8_t>() % 8 != 0; }
  std::string text() {
    const std::size_t count = std::min<std::size_t>(size_, take<std::uint8_t>());
    const std::string out(reinterpret_cast<const char*>(data_), std::min(count, size_));
    data_ += out.size();
    size_ -= out.size();
    return out;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

// A struct in memory of exactly the size that it says, or of 8 bytes if that is none.
template <class S>
class Placed {
 public:
  Placed(Bytes& bytes, const S& value) {
    std::size_t size = sizeof(S);
    if (!bytes.often())
      size = bytes.often() ? (static_cast<std::size_t>(bytes.number()) + 2) * 8 : bytes.take<std::size_t>();
    memory_.resize(std::clamp<std::size_t>(size <= 8192 ? size : 8, 8, 8192));
    std::memcpy(memory_.data(), &value, std::min(memory_.size(), sizeof(S)));
    for (std::size_t i = sizeof(S); i < memory_.size(); ++i)
      memory_[i] = bytes.often() ? 0 : bytes.take<unsigned char>();
    std::memcpy(memory_.data(), &size, sizeof size);
    memory_.shrink_to_fit();
    if (!bytes.often()) null_ = !bytes.often();
  }
  S* get() { return null_ ? nullptr : reinterpret_cast<S*>(memory_.data()); }

 private:
  std::vector<unsigned char> memory_;
  bool null_ = false;
};

using List = std::vector<std::int64_t>;

List list(Bytes& bytes, std::int32_t count) {
  List out(static_cast<std::size_t>(std::clamp(count, 0, 16)));
  for (std::int64_t& value : out) value = bytes.number();
  return out;
}

class FuzzedPool {
 public:
  explicit FuzzedPool(Bytes& bytes) {
    oriel_pool pool = ORIEL_POOL_INIT;
    for (std::int32_t* field : {&pool.op, &pool.kind, &pool.padding, &pool.nan_policy, &pool.ceil_mode, &pool.exclude})
      if (!bytes.often()) *field = bytes.word();
    pool.op = bytes.often() ? bytes.take<std::uint8_t>() % 5 : pool.op;  // the struct has the first five
    if (!bytes.often()) pool.divisor = bytes.number();
    if (!bytes.often()) pool.norm = bytes.take<double>();
    pool.values = bytes.often() ? 1 : bytes.word();
    pool.pooled = bytes.often() ? 0 : bytes.word();
    const std::int64_t** const fields[] = {&pool.kernel,   &pool.stride,      &pool.pad_lo, &pool.pad_hi,
                                           &pool.dilation, &pool.output_size, &pool.axes};
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      lists_[i] = list(bytes, i == 6 ? pool.pooled : pool.values);
      if (i == 0 ? bytes.often() : !bytes.often()) *fields[i] = lists_[i].data();
    }
    placed_ = std::make_unique<Placed<oriel_pool>>(bytes, pool);
  }
  const oriel_pool* get() { return placed_->get(); }

 private:
  std::array<List, 7> lists_;
  std::unique_ptr<Placed<oriel_pool>> placed_;
};

// A tensor whose memory is what it spans, if that can be had; else it has none.
class FuzzedTensor {
 public:
  FuzzedTensor(Bytes& bytes, std::int32_t dtype, const std::int64_t* shape, std::int32_t rank) {
    oriel_tensor t = ORIEL_TENSOR_INIT;
    t.dtype = bytes.often() ? dtype : bytes.word();
    if (!bytes.often()) t.device = bytes.word();
    if (!bytes.often()) t.reserved = bytes.word();
    t.rank = bytes.often() ? rank : bytes.word();
    shape_ = bytes.often() ? List(shape, shape + rank) : list(bytes, t.rank);
    shape_.resize(static_cast<std::size_t>(std::clamp(t.rank, 0, 16)), 1);
    pitch_ = list(bytes, t.rank);
    if (bytes.often() || !shape_.empty()) t.shape = shape_.data();
    if (!bytes.often()) t.pitch = pitch_.data();
    allocate(bytes, t);
    placed_ = std::make_unique<Placed<oriel_tensor>>(bytes, t);
  }
  oriel_tensor* get() { return placed_->get(); }

 private:
  void allocate(Bytes& bytes, oriel_tensor& t) {
    try {
      oriel::Extents shape, pitch;
      for (const std::int64_t extent : shape_) shape.push_back(extent);
      for (const std::int64_t step : pitch_) pitch.push_back(step);
      const auto dtype = static_cast<oriel::Dtype>(std::clamp(t.dtype, 0, 12));
      if (t.pitch == nullptr) pitch = oriel::dense_pitch(shape);
      const oriel::ByteSpan span = oriel::byte_span({nullptr, dtype, shape, pitch});
      if (span.begin < -kMost || span.end > kMost) return;
      memory_.resize(static_cast<std::size_t>(span.end - span.begin) / 8 + 1);
      for (std::uint64_t& word : memory_) word = bytes.take<std::uint8_t>() * 0x0101010101010101U;
      if (span.begin % 8 != 0 || !bytes.often()) return;
      // Also a place between two elements, where there can be one.
      const bool between = oriel_dtype_bytes(t.dtype) > 1 && !bytes.often();
      t.data = reinterpret_cast<char*>(memory_.data()) - span.begin + (between ? 1 : 0);
    } catch (const oriel::Error&) {
      // A tensor that is none: the library says so.
    }
  }

  static constexpr std::int64_t kMost = 1 << 16;
  List shape_, pitch_;
  std::vector<std::uint64_t> memory_;
  std::unique_ptr<Placed<oriel_tensor>> placed_;
};

// Axes of the result: of several quantiles there is another one, first.
std::int32_t output_rank(const oriel_problem_info& info) {
  const bool several = info.rank < ORIEL_MAX_RANK && info.output_shape[info.rank] != 0;
  return info.rank + (several ? 1 : 0);
}

// What the sanitizers can pool in a moment.
bool is_small(const oriel_problem_info& info) {
  std::int64_t work = info.taps;
  if (work > 4096) return false;
  for (std::int32_t a = 0; a < output_rank(info); ++a) {
    if (info.shape[a] > 4096 || info.output_shape[a] > 4096) return false;
    work *= std::max<std::int64_t>({info.shape[a], info.output_shape[a], 1});
    if (work > 1 << 18) return false;
  }
  return true;
}

// A tensor of x's shape, at times with extents of 1, for a mask or weights.
FuzzedTensor beside(Bytes& bytes, const oriel_problem_info& info, std::int32_t dtype) {
  List shape(info.shape, info.shape + info.rank);
  for (std::int64_t& extent : shape)
    if (!bytes.often()) extent = 1;
  return {bytes, dtype, shape.data(), info.rank};
}

void call_all(Bytes& bytes, const oriel_problem* problem, const oriel_problem_info& info) {
  FuzzedTensor x(bytes, info.dtype, info.shape, info.rank), dx(bytes, info.dtype, info.shape, info.rank);
  FuzzedTensor y(bytes, info.result_dtype, info.output_shape, output_rank(info));
  const std::int32_t index_dtypes[] = {ORIEL_I64, ORIEL_U8, ORIEL_I32};
  FuzzedTensor indices(bytes, index_dtypes[bytes.take<std::uint8_t>() % 3], info.output_shape, output_rank(info));
  const std::int32_t space = bytes.often() ? bytes.take<std::uint8_t>() % 3 : bytes.word();
  oriel_run run = ORIEL_RUN_INIT;
  run.threads = bytes.word();
  Placed<oriel_run> placed(bytes, run);
  const bool indexed = bytes.often();
  good(oriel_forward(problem, x.get(), y.get(), indexed ? indices.get() : nullptr, space, placed.get()));
  good(oriel_backward(problem, x.get(), y.get(), indexed ? indices.get() : nullptr, space, dx.get(), placed.get()));
  const List axes = list(bytes, info.pooled);
  const bool named = bytes.often();
  good(oriel_unpool(named ? info.pooled : bytes.word() % 2, named ? info.axes : axes.data(), y.get(), indices.get(),
                    space, dx.get(), nullptr));
  FuzzedTensor mask = beside(bytes, info, bytes.often() ? ORIEL_U8 : ORIEL_BOOL);
  FuzzedTensor weights = beside(bytes, info, bytes.often() ? ORIEL_F32 : ORIEL_F64);
  const oriel_tensor* const given_mask = bytes.often() ? mask.get() : nullptr;
  const oriel_tensor* const given_weights = bytes.often() ? nullptr : weights.get();
  good(oriel_forward_masked(problem, x.get(), given_mask, given_weights, y.get(), indexed ? indices.get() : nullptr,
                            space, placed.get()));
  good(oriel_backward_masked(problem, x.get(), given_mask, given_weights, y.get(), dx.get(), placed.get()));
}

void describe_and_call(Bytes& bytes, oriel_problem* problem) {
  oriel_problem_info fresh{};
  Placed<oriel_problem_info> hostile(bytes, fresh);
  good(oriel_problem_describe(problem, hostile.get()));
  fresh.size = sizeof fresh;
  expect(good(oriel_problem_describe(problem, &fresh)));
  std::vector<char> name(bytes.take<std::uint8_t>());
  std::size_t length = 0;
  expect(good(oriel_problem_name(problem, name.data(), name.size(), &length)));
  std::vector<char> whole(length + 1);
  expect(good(oriel_problem_name(problem, whole.data(), whole.size(), nullptr)));
  oriel_problem* again = nullptr;
  expect(good(oriel_problem_parse(whole.data(), &again)));
  oriel_problem_free(again);
  if (is_small(fresh)) call_all(bytes, problem, fresh);
}

void convert(Bytes& bytes) {
  oriel_dl_managed_tensor m{};
  m.version.major = bytes.often() ? 1 : bytes.take<std::uint32_t>();
  m.flags = bytes.take<std::uint8_t>();
  m.dl_tensor.device.type = bytes.often() ? 1 : bytes.word();
  m.dl_tensor.ndim = bytes.word();
  m.dl_tensor.dtype = bytes.take<oriel_dl_dtype>();
  m.dl_tensor.byte_offset = bytes.take<std::uint64_t>();
  List shape = list(bytes, m.dl_tensor.ndim);
  if (bytes.often()) m.dl_tensor.shape = shape.data();
  Placed<oriel_tensor> to(bytes, ORIEL_TENSOR_INIT);
  good(oriel_tensor_from_dlpack_managed(&m, bytes.word(), to.get()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  oriel_problem* problem = nullptr;
  bool made = false;
  if (bytes.often()) {
    made = good(oriel_problem_parse(bytes.text().c_str(), &problem));
  } else {
    FuzzedPool pool(bytes);
    const std::int32_t rank = bytes.often() ? 1 + bytes.take<std::uint8_t>() % 4 : bytes.word();
    const List shape = list(bytes, rank);
    const std::int32_t dtype = bytes.often() ? bytes.take<std::uint8_t>() % 13 : bytes.word();
    made = good(oriel_problem_make(pool.get(), dtype, rank, shape.empty() ? nullptr : shape.data(), &problem));
  }
  expect(made == (problem != nullptr));
  if (made) describe_and_call(bytes, problem);
  oriel_problem_free(problem);
  convert(bytes);
  oriel_dtype_bytes(bytes.word());
  oriel_dtype_name(bytes.word());
  return 0;
}
