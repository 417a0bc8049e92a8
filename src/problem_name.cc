#include <algorithm>
#include <charconv>
#include <utility>

#include "oriel/problem.h"
#include "oriel/tensor.h"
#include "quoted.h"
#include "real_number.h"
#include "statistic_name.h"
#include "statistic_rules.h"

namespace oriel {
namespace {

using detail::quoted;

constexpr std::string_view kWords =
    "k3s2p1d1 (window), global, out7x7, same, same_lower, ceil, exclude, div9, omit, axes1,2, order0,2,3,1, indices, "
    "codes, backward, mask, weights, nodata0, min3, frac0.5, fill0, outf64, ignore0, ddof1, disk5, taps0101";

[[noreturn]] void fail(const std::string& text) { throw Error("problem name: " + text); }

Extents last_axes(int rank, int count) {
  Extents axes;
  for (int a = rank - count; a < rank; ++a) axes.push_back(a);
  return axes;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes what it reads off the front of a word.
class Reader {
 public:
  explicit Reader(std::string_view word) : word_(word), rest_(word) {}

  bool done() const { return rest_.empty(); }
  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  char peek() const { return rest_.empty() ? '\0' : rest_[0]; }

  index_t number(const char* allowed, bool may_be_negative = false) {
    index_t value = 0;
    const bool starts_well = is_digit(peek()) || (may_be_negative && peek() == '-');
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (starts_well && error == std::errc::result_out_of_range)
      fail("numbers must be at most 2^63 - 1, but the word is " + quoted(word_));
    if (!starts_well || error != std::errc()) wrong(allowed);
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  // Numbers joined by `separator`.
  Extents list(char separator, const char* allowed, bool may_be_negative = false) {
    Extents values;
    do {
      if (values.size() == kMaxRank)
        fail("at most " + std::to_string(kMaxRank) + " values are supported, but the word is " + quoted(word_));
      values.push_back(number(allowed, may_be_negative));
    } while (take(std::string_view(&separator, 1)));
    return values;
  }

  void end(const char* allowed) const {
    if (!done()) wrong(allowed);
  }

  [[noreturn]] void wrong(const char* allowed) const {
    fail("expected " + std::string(allowed) + ", but the word is " + quoted(word_));
  }

 private:
  std::string_view word_;
  std::string_view rest_;
};

class Parser {
 public:
  Problem parse(std::string_view name) {
    parse_op(next(name, "an op"));
    dtype_ = parse_dtype(next(name, "a dtype"));
    Reader shape(next(name, "a shape"));
    shape_ = shape.list('x', "a shape such as 8x64x112x112");
    shape.end("a shape such as 8x64x112x112");
    while (!name.empty() || more_) parse_word(next(name, "a word"));
    if (pool_.windows.axes.empty()) pool_.windows.axes = listed_axes();
    if (pool_.footprint.shape.empty() && !pool_.footprint.empty()) pool_.footprint.shape = kernel_box();
    Problem p = make_problem(pool_, dtype_, shape_);
    p.order = order_;
    p.indices = seen_indices_;
    p.codes = codes_;
    p.mask = mask_;
    p.weights = weights_;
    p.direction = seen_backward_ ? Direction::backward : Direction::forward;
    check(p);
    return p;
  }

 private:
  // The next word; the rest stays in `name`.
  std::string_view next(std::string_view& name, const char* what) {
    if (!more_) fail("must continue with " + std::string(what) + ", as in max:f32:8x64x112x112:k3x3s2p1, but ends");
    const std::size_t colon = name.find(':');
    const std::string_view word = name.substr(0, colon);
    more_ = colon != std::string_view::npos;
    name.remove_prefix(more_ ? colon + 1 : name.size());
    return word;
  }

  void parse_op(std::string_view word) {
    constexpr const char* kAllowed =
        "an op: max, min, avg, sum, lp and its p, such as lp2 or lpinf, median, q0.9, mode, var, count or another";
    Reader reader(word);
    if (detail::parse_statistic_op(word, pool_)) return;
    if (!reader.take("lp")) {
      for (Op op : {Op::max, Op::min, Op::avg, Op::sum})
        if (word == name(op)) {
          pool_.op = op;
          return;
        }
      reader.wrong(kAllowed);
    }
    pool_.op = Op::lp;
    const std::string_view text = word.substr(2);
    const auto [end, error] = detail::read_real(text, pool_.norm);
    if (error != std::errc() || end != text.data() + text.size()) reader.wrong(kAllowed);
  }

  void parse_word(std::string_view word) {
    if (flag(word, "same", same_upper_) || flag(word, "same_lower", same_lower_) ||
        flag(word, "ceil", pool_.windows.ceil_mode) || flag(word, "exclude", exclude_) || flag(word, "omit", omit_) ||
        flag(word, "global", global_) || flag(word, "indices", seen_indices_) || flag(word, "codes", codes_) ||
        flag(word, "backward", seen_backward_) || flag(word, "mask", mask_) || flag(word, "weights", weights_)) {
      if (same_upper_) pool_.windows.padding = Padding::same_upper;
      if (same_lower_) pool_.windows.padding = Padding::same_lower;
      if (same_upper_ && same_lower_) fail("same and same_lower exclude each other, but both are given");
      if (exclude_) pool_.count_include_pad = false;
      if (omit_) pool_.nan = NanPolicy::omit;
      if (global_) set_kind(WindowKind::global);
      return;
    }
    if (detail::parse_statistic_word(word, pool_)) return;
    Reader reader(word);
    if (reader.take("div")) {
      if (pool_.divisor != 0) fail("div is given twice");
      pool_.divisor = reader.number("div and a number such as div9");
      if (pool_.divisor == 0) fail("the divisor must be >= 1, but the word is " + quoted(word));
    } else if (reader.take("axes")) {
      read_list(reader, "axes", pool_.windows.axes, ',', "axes and numbers such as axes1,2", true);
    } else if (reader.take("order")) {
      read_list(reader, "order", order_, ',', "order and numbers such as order0,2,3,1", false);
    } else if (reader.take("out")) {
      read_list(reader, "out", pool_.windows.output_size, 'x', "out and numbers such as out7x7", false);
      set_kind(WindowKind::adaptive);
    } else if (word.size() >= 2 && is_digit(word[1])) {
      parse_window(reader);
    } else {
      reader.wrong(kWords.data());
    }
    reader.end(kWords.data());
  }

  void parse_window(Reader& reader) {
    constexpr const char* kAllowed = "k, s, p or d and a number or numbers joined by x, such as k3s2p0+1d1";
    while (!reader.done()) {
      if (reader.take("k"))
        read_list(reader, "k", pool_.windows.kernel, 'x', kAllowed, false);
      else if (reader.take("s"))
        read_list(reader, "s", pool_.windows.stride, 'x', kAllowed, false);
      else if (reader.take("d"))
        read_list(reader, "d", pool_.windows.dilation, 'x', kAllowed, false);
      else if (reader.take("p"))
        read_padding(reader, kAllowed);
      else
        reader.wrong(kAllowed);
    }
  }

  static void read_list(Reader& reader, const char* what, Extents& list, char separator, const char* allowed,
                        bool may_be_negative) {
    if (!list.empty()) fail(std::string(what) + " is given twice");
    list = reader.list(separator, allowed, may_be_negative);
  }

  // p1, p0+1, p1x2, p0+1x2: a value without + stands for both sides.
  void read_padding(Reader& reader, const char* allowed) {
    if (!pool_.windows.pad_lo.empty()) fail("p is given twice");
    bool both = false;
    do {
      if (pool_.windows.pad_lo.size() == kMaxRank)
        fail("at most " + std::to_string(kMaxRank) + " values of padding are supported");
      const index_t lo = reader.number(allowed);
      const bool plus = reader.take("+");
      pool_.windows.pad_lo.push_back(lo);
      pool_.windows.pad_hi.push_back(plus ? reader.number(allowed) : lo);
      both = both || plus;
    } while (reader.take("x"));
    if (!both) pool_.windows.pad_hi = {};
  }

  // k3x5 on a tensor of more axes is over the last two; with single values alone the pool is over all, as everywhere.
  Extents listed_axes() const {
    int count = std::max(1, pool_.footprint.shape.size());
    for (const Extents* list : {&pool_.windows.kernel, &pool_.windows.stride, &pool_.windows.pad_lo,
                                &pool_.windows.pad_hi, &pool_.windows.dilation, &pool_.windows.output_size})
      count = std::max(count, list->size());
    return count > 1 && count < shape_.size() ? last_axes(shape_.size(), count) : Extents{};
  }

  // The shape of a footprint of which only the taps are given: the kernel's.
  Extents kernel_box() const {
    const int pooled = pool_.windows.axes.empty() ? shape_.size() : pool_.windows.axes.size();
    const Extents& kernel = pool_.windows.kernel;
    if (kernel.empty()) fail("taps need a kernel such as k3, but there is none");
    Extents box;
    for (int i = 0; i < pooled; ++i) box.push_back(kernel[kernel.size() == 1 ? 0 : std::min(i, kernel.size() - 1)]);
    return box;
  }

  static bool flag(std::string_view word, std::string_view text, bool& seen) {
    if (word != text) return false;
    if (seen) fail(std::string(text) + " is given twice");
    seen = true;
    return true;
  }

  void set_kind(WindowKind kind) {
    if (pool_.windows.kind != WindowKind::uniform && pool_.windows.kind != kind)
      fail("global and out exclude each other, but both are given");
    pool_.windows.kind = kind;
  }

  static void check(const Problem& p) {
    if (!p.order.empty()) dense_pitch(p.shape, p.order);
    if (!p.order.empty() && detail::quantile_count(p.pool) > 1)
      fail("order and several quantiles exclude each other, but both are given");
    if (p.indices && !detail::selects_tap(p.pool))
      fail("indices are for max, min, first, centre, median, quantile and mode only, but the op is " +
           std::string(name(p.pool.op)));
    if (p.weights && !detail::has_weights(p.pool))
      fail("weights are for sum, avg, var, std, rms, mode and inverted_cdf only, but the op is " +
           std::string(name(p.pool.op)));
    if (p.direction == Direction::backward && !detail::has_gradient(p.pool))
      fail("backward is not for " + std::string(name(p.pool.op)) + ", which has no gradient");
    if (!p.codes) return;
    if (p.indices) fail("indices and codes exclude each other, but both are given");
    if (p.pool.op != Op::max && p.pool.op != Op::min)
      fail("codes are for max and min only, but the op is " + std::string(name(p.pool.op)));
    if (p.taps() > kMostByteCodes)
      fail("codes are for windows of at most " + std::to_string(kMostByteCodes) + " taps, but these have " +
           std::to_string(p.taps()));
  }

  Pool pool_;
  Dtype dtype_ = Dtype::f32;
  Extents shape_, order_;
  bool more_ = true, seen_indices_ = false, codes_ = false, seen_backward_ = false, mask_ = false, weights_ = false;
  bool same_upper_ = false, same_lower_ = false, exclude_ = false, omit_ = false, global_ = false;
};

// ---------------------------------------------------------------------------------------------------------------------

index_t value_of(const Extents& list, int i, index_t otherwise) {
  if (list.empty()) return otherwise;
  return list[list.size() == 1 ? 0 : i];
}

// One list of the window word: a pair of values (low, high; equal but for padding) per pooled axis.
struct Letter {
  std::string_view letter = "k";
  Extents lo, hi;
  bool needed = true;  // false: the default, which may stay unsaid

  bool uniform() const {
    for (int i = 1; i < lo.size(); ++i)
      if (lo[i] != lo[0] || hi[i] != hi[0]) return false;
    return true;
  }

  std::string text(bool expand) const {
    std::string out;
    if (!needed && !expand) return out;
    const int count = uniform() && !expand ? 1 : lo.size();
    for (int i = 0; i < count; ++i) {
      out.append(i == 0 ? letter : "x").append(std::to_string(lo[i]));
      if (hi[i] != lo[i]) out.append("+").append(std::to_string(hi[i]));
    }
    return out;
  }
};

using Letters = std::array<Letter, 4>;  // k s p d

Letters letters_of(const Problem& p) {
  Letters letters;
  constexpr std::array<std::string_view, 4> names = {"k", "s", "p", "d"};
  for (std::size_t l = 0; l < letters.size(); ++l) letters[l] = {names[l], {}, {}, l == 0};
  for (int i = 0; i < p.pooled; ++i) {
    const index_t one = p.pool.footprint.empty() ? 1 : p.axis[static_cast<std::size_t>(i)].kernel;
    const index_t k = value_of(p.pool.windows.kernel, i, one), s = value_of(p.pool.windows.stride, i, k);
    const index_t lo = value_of(p.pool.windows.pad_lo, i, 0), hi = value_of(p.pool.windows.pad_hi, i, lo);
    const index_t d = value_of(p.pool.windows.dilation, i, 1);
    const std::array<std::pair<index_t, index_t>, 4> values{{{k, k}, {s, s}, {lo, hi}, {d, d}}};
    for (std::size_t l = 0; l < letters.size(); ++l) {
      letters[l].lo.push_back(values[l].first);
      letters[l].hi.push_back(values[l].second);
    }
    letters[1].needed |= s != k;
    letters[2].needed |= lo != 0 || hi != 0;
    letters[3].needed |= d != 1;
  }
  return letters;
}

std::string numbers(const char* word, const Extents& values) {
  std::string out;
  for (index_t v : values) out.append(out.empty() ? word : ",").append(std::to_string(v));
  return out;
}

struct WindowText {
  std::string window, axes;
};

// The words of the windows, whose lists are `letters`, and of their axes: k3x3 rather than k3:axes2,3, as it says which
// axes are meant.
WindowText window_text(const Problem& p, std::string_view word, const Letter* letters, std::size_t count) {
  const int rank = p.shape.size();
  Extents axes;
  for (int i = 0; i < p.pooled; ++i) axes.push_back(p.axes[static_cast<std::size_t>(i)]);
  const Extents last = last_axes(rank, p.pooled);
  bool listed = false;
  for (std::size_t l = 0; l < count; ++l) listed |= letters[l].needed && !letters[l].uniform();
  const bool expand = count > 0 && !listed && axes == last && p.pooled > 1 && p.pooled < rank;
  WindowText text{":" + std::string(word), {}};
  for (std::size_t l = 0; l < count; ++l) text.window += letters[l].text(expand && l == 0);
  if (axes != (listed || expand ? last : last_axes(rank, rank))) text.axes = ":" + numbers("axes", axes);
  return text;
}

WindowText adaptive_text(const Problem& p) {
  Letter sizes{"out", {}, {}, true};
  for (int i = 0; i < p.pooled; ++i) {
    sizes.lo.push_back(value_of(p.pool.windows.output_size, i, 1));
    sizes.hi.push_back(sizes.lo[i]);
  }
  return window_text(p, "", &sizes, 1);
}

WindowText uniform_text(const Problem& p) {
  const Letters letters = letters_of(p);
  return window_text(p, "", letters.data(), letters.size());
}

}  // namespace

Problem parse_problem(std::string_view name) { return Parser().parse(name); }

std::string to_string(const Problem& problem) {
  const Pool& pool = problem.pool;
  std::string out = detail::statistic_op_text(pool);
  if (pool.op == Op::lp) {
    std::array<char, 32> digits{};
    const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), pool.norm);
    out.append(digits.data(), result.ptr);
  }
  out.append(":").append(name(problem.dtype)).append(":").append(to_string(problem.shape));
  WindowText window;
  if (pool.windows.kind == WindowKind::global)
    window = window_text(problem, "global", nullptr, 0);
  else
    window = pool.windows.kind == WindowKind::adaptive ? adaptive_text(problem) : uniform_text(problem);
  out += window.window;
  if (pool.windows.padding == Padding::same_upper) out += ":same";
  if (pool.windows.padding == Padding::same_lower) out += ":same_lower";
  if (pool.windows.ceil_mode) out += ":ceil";
  if (!pool.count_include_pad) out += ":exclude";
  if (pool.divisor != 0) out += ":div" + std::to_string(pool.divisor);
  if (pool.nan == NanPolicy::omit) out += ":omit";
  out += detail::statistic_words(problem);
  out += window.axes;
  bool natural = true;
  for (int i = 0; i < problem.order.size(); ++i) natural = natural && problem.order[i] == i;
  if (!natural) out += ":" + numbers("order", problem.order);
  if (problem.indices) out += ":indices";
  if (problem.codes) out += ":codes";
  if (problem.mask) out += ":mask";
  if (problem.weights) out += ":weights";
  if (problem.direction == Direction::backward) out += ":backward";
  return out;
}

}  // namespace oriel
