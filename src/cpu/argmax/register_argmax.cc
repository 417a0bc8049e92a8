#include <optional>

#include "cpu/argmax/argmax.h"
#include "cpu/argmax/box_argmax.h"
#include "cpu/argmax/index_writer.h"
#include "cpu/argmax/register_kernels.h"

namespace oriel::cpu {
namespace {

constexpr index_t kSliceRows = 8;      // of outputs, that a slice of a volume is left for the next one after
constexpr index_t kMostListed = 4096;  // rows of taps of a whole plane

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

CodeKernel kernel_of(const Problem& problem) { return code_table().kernel(problem.pool.op, problem.dtype); }

// Whether kernels of planes write int64 indices themselves: where a lane holds what the last tap adds to one.
bool writes_indices(const FoldJob& job) {
  if (job.index_dtype != Dtype::i64 || job.layout.lanes.n > 1) return false;
  if (job.layout.axis.end()[-1].axis.kernel > kMostAlongIndexed) return false;
  const PlaceCoords step = IndexRule{job.layout, job.space}.steps();
  index_t most = 0;
  for (int a = 0; a < job.layout.pooled(); ++a) {
    most += (job.layout.axis[at(a)].axis.kernel - 1) * step[at(job.layout.pooled() - 1 - a)];
  }
  return size_bytes(job.problem->dtype) > 2 || most < index_t{1} << 16;
}

bool by_lanes(const RowLayout& layout) { return layout.lanes.n > 1; }

// The rows of inputs that rows of outputs read: of those of a box, or of a whole plane where that is not much, so that
// its boxes need not list them again.
class ReadRows {
 public:
  /// For boxes of at most so many outputs; what taps add to codes is `steps`, from the last axis on.
  ReadRows(const FoldJob& job, const PlaceCoords& size, const PlaceCoords& steps, Arena& arena)
      : layout_(job.layout), elem_(size_bytes(job.problem->dtype)), steps_(steps) {
    index_t rows = 1, all_rows = 1;
    for (int a = 0; a < last_; ++a) {
      rows *= size[at(a)];
      all_rows *= axis(a).out;
      across_ *= static_cast<int>(axis(a).kernel);
    }
    lists_all_ = all_rows * across_ <= kMostListed;
    row_ = arena.take_array<CodeRow>((lists_all_ ? all_rows : rows) * across_);
  }

  int across() const { return across_; }  // rows that a window reads

  void set_box(const PlaceBox& box) {
    PlaceBox wanted = box;
    for (int a = 0; lists_all_ && a < last_; ++a) wanted[at(a)] = {0, axis(a).out};
    wanted[at(last_)] = {0, 0};
    if (wanted == listed_) return;
    listed_ = wanted;
    each_row(listed_, last_, [&](const PlaceCoords& o, index_t r) {
      follows(o) ? list_next(row_ + r * across_) : list_taps(o, row_ + r * across_);
    });
  }

  /// Those of the row of outputs at o, in row-major order of their taps.
  const CodeRow* of(const PlaceCoords& o) const {
    index_t number = 0;
    for (int a = 0; a < last_; ++a) number = number * listed_[at(a)].size() + o[at(a)] - listed_[at(a)].begin;
    return row_ + number * across_;
  }

 private:
  const Axis& axis(int a) const { return layout_.axis[at(a)].axis; }

  // Whether a row of outputs has all its taps across, and so does the one that is listed before it.
  bool follows(const PlaceCoords& o) const {
    if (last_ == 0) return false;
    const index_t here = o[at(last_ - 1)];
    const Range full = axis(last_ - 1).full();
    return here > listed_[at(last_ - 1)].begin && full.contains(here) && full.contains(here - 1);
  }

  // The rows of the row before, moved on: most rows are listed in this way, which is quick.
  void list_next(CodeRow* row) const {
    const PooledAxis& across = layout_.axis[at(last_ - 1)];
    const index_t step = across.axis.stride * across.pitch[kX] * elem_;
    for (int t = 0; t < across_; ++t, ++row) *row = {row[-across_].offset + step, row[-across_].code};
  }

  // Where a row does not exist, the nearest that does.
  void list_taps(const PlaceCoords& o, CodeRow* row) const {
    for (index_t number = 0; number < across_; ++number) {
      index_t rest = number, offset = 0, code = 0;
      for (int a = last_ - 1; a >= 0; --a) {
        const Range taps = axis(a).taps(o[at(a)]);
        const index_t tap = std::clamp(rest % axis(a).kernel, taps.begin, taps.end - 1);
        offset += axis(a).at(o[at(a)], tap) * layout_.axis[at(a)].pitch[kX];
        code += tap * steps_[at(last_ - a)];
        rest /= axis(a).kernel;
      }
      *row++ = {offset * elem_, repeated_code(static_cast<std::uint64_t>(code), elem_)};
    }
  }

  const RowLayout& layout_;
  const index_t elem_;
  const PlaceCoords steps_;
  const int last_ = layout_.pooled() - 1;
  int across_ = 1;
  bool lists_all_ = false;
  CodeRow* row_ = nullptr;
  PlaceBox listed_{Range{-1, -1}};  // nothing yet
};

// What taps add to the codes that kernels carry: what they add to indices, or their number in the window.
PlaceCoords code_steps(const FoldJob& job) {
  return IndexRule{job.layout, writes_indices(job) ? job.space : IndexSpace::window}.steps();
}

// One thread's part.
class CodeWriter {
 public:
  CodeWriter(const FoldJob& job, const PlaceCoords& size, Arena& arena)
      : job_(job),
        layout_(job.layout),
        size_(size),
        arena_(arena),
        k_(kernel_of(*job.problem)),
        elem_(size_bytes(job.problem->dtype)),
        indexed_(writes_indices(job)),
        in_place_(job.index_dtype == Dtype::u8 || indexed_),
        reads_(job, size, code_steps(job), arena),
        indices_(job, 0, arena) {
    index_t rows = 1;
    for (int a = 0; a < last_; ++a) rows *= size[at(a)];
    tap_ = arena.take_array<CodeTap>(reads_.across() * axis(last_).kernel);
    stage_pitch_ = (size[at(last_)] * layout_.lanes.n + 63) / 64 * 64;
    if (!in_place_) stage_ = arena.take_array<std::uint8_t>(rows * stage_pitch_ + 64);
  }

  void run(index_t plane, const PlaceBox& box) {
    const Pitches begin = layout_.plane_offsets(plane);
    x_ = static_cast<const std::byte*>(job_.x) + begin[kX] * elem_;
    y_ = static_cast<std::byte*>(job_.y) + begin[kY] * elem_;
    indices_.set_plane(begin);
    if (!(box == box_)) set_box(box);
    if (by_lanes(layout_) ? fold_lanes() : fold_planes()) {
      if (!careful_) careful_.emplace(job_, size_, arena_);
      return careful_->run(plane, box);
    }
    if (in_place_) return;
    const index_t n = box_[at(last_)].size() * layout_.lanes.n;
    each_row(box_, last_,
             [&](const PlaceCoords& o, index_t r) { indices_.write_bytes(k_, o, stage_ + r * stage_pitch_, n); });
  }

 private:
  const Axis& axis(int a) const { return layout_.axis[at(a)].axis; }

  void set_box(const PlaceBox& box) {
    const bool same_along = box[at(last_)] == box_[at(last_)];
    box_ = box;
    reads_.set_box(box);
    if (!same_along && !by_lanes(layout_)) set_along();
  }

  void set_along() {
    const PooledAxis& along = layout_.axis[at(last_)];
    const Axis part = along.axis.slice(box_[at(last_)]);
    band_.across = reads_.across();
    band_.ascends = last_ == 1 && axis(0).dilation == 1 && axis(0).kernel == along.axis.kernel &&
                    axis(0).stride == along.axis.stride;
    band_.in = part.in;
    band_.first = part.start(0);
    band_.out = part.out;
    in_begin_ = (part.in_offset - along.axis.in_offset) * along.pitch[kX] * elem_;
    if (!indexed_) return;
    const IndexRule rule{layout_, job_.space};
    band_.tap_step = rule.steps()[0];
    band_.step = rule.output_step();
    const bool flat = last_ > 0 && job_.space != IndexSpace::window;
    band_.row_step = flat ? axis(last_ - 1).stride * layout_.axis[at(last_ - 1)].pitch[kFlat] : 0;
  }

  // Whether values were met that this does not treat exactly.
  bool fold_planes() {
    const index_t slices = last_ == 2 ? box_[0].size() : 1, rows = row_count(box_, last_) / slices;
    const index_t most = last_ == 2 ? kSliceRows : rows;
    bool special = false;
    for (index_t s = 0; s < slices && !special; ++s) {
      for (index_t r = 0; r < rows && !special; r += most) {
        PlaceCoords o = {box_[0].begin, box_[1].begin, box_[2].begin};
        o[0] += s;
        if (last_ > 0) o[at(last_ - 1)] += r;
        special = fold_band(o, s * rows + r, std::min(most, rows - r));
      }
    }
    return special;
  }

  // Rows of outputs from `o` on, of which the first is number `row` of the box.
  bool fold_band(const PlaceCoords& o, index_t row, index_t rows) {
    const Pitches none{};
    const Pitches& across = last_ == 0 ? none : layout_.axis[at(last_ - 1)].pitch;
    const int kernel = static_cast<int>(axis(last_).kernel), stride = static_cast<int>(axis(last_).stride);
    CodeBand& band = band_;
    band.x = x_ + in_begin_;
    band.row = reads_.of(o);
    band.rows = rows;
    band.ahead = last_ == 0 ? 0 : rows * axis(last_ - 1).stride * across[kX] * elem_;
    band.y = y_ + offset_of(layout_, o, kY) * elem_;
    band.y_pitch = across[kY];
    if (indexed_) {
      band.index = indices_.row<std::int64_t>(o);
      band.index_pitch = across[kIndex];
      band.origin = indices_.origin(o);
      const bool lines = reinterpret_cast<std::uintptr_t>(band.index) % 64 == 0 && (across[kIndex] | band.out) % 8 == 0;
      band.stream = indices_.streams() && lines;
      return k_.indexed(band, kernel, stride);
    }
    band.code = in_place_ ? indices_.row<std::uint8_t>(o) : stage_ + row * stage_pitch_;
    band.code_pitch = in_place_ ? across[kIndex] : stage_pitch_;
    return k_.planes(band, kernel, stride);
  }

  bool fold_lanes() {
    const Range outputs = box_[at(last_)], full = axis(last_).full();
    bool special = false;
    each_row(box_, last_, [&](const PlaceCoords& o, index_t r) {
      for (index_t p = outputs.begin; p < outputs.end && !special;) {
        const index_t end = full.contains(p) ? std::min(full.end, outputs.end) : p + 1;
        special = fold_windows(o, r, {p, end});
        p = end;
      }
    });
    return special;
  }

  // Windows side by side that have the same taps.
  bool fold_windows(const PlaceCoords& row, index_t r, Range outputs) {
    const PooledAxis& along = layout_.axis[at(last_)];
    const Range taps = along.axis.taps(outputs.begin);
    PlaceCoords o = row;
    o[at(last_)] = outputs.begin;
    CodeLanes lanes;
    const CodeRow* rows = reads_.of(row);
    int count = 0;
    for (int t = 0; t < reads_.across(); ++t) {
      for (index_t u = taps.begin; u < taps.end; ++u) {
        tap_[count++] = {rows[t].offset + (along.axis.at(outputs.begin, u) - along.axis.at(outputs.begin, taps.begin)) *
                                              along.pitch[kX] * elem_,
                         rows[t].code + repeated_code(static_cast<std::uint64_t>(u), elem_)};
      }
    }
    lanes.x = x_ + along.axis.at(outputs.begin, taps.begin) * along.pitch[kX] * elem_;
    lanes.tap = tap_;
    lanes.taps = count;
    lanes.windows = outputs.size();
    lanes.step = along.axis.stride * along.pitch[kX] * elem_;
    lanes.n = layout_.lanes.n;
    lanes.y = y_ + offset_of(layout_, o, kY) * elem_;
    lanes.y_pitch = along.pitch[kY];
    lanes.code = in_place_ ? indices_.row<std::uint8_t>(o)
                           : stage_ + r * stage_pitch_ + (outputs.begin - box_[at(last_)].begin) * layout_.lanes.n;
    lanes.code_pitch = in_place_ ? along.pitch[kIndex] : layout_.lanes.n;
    return k_.lanes(lanes);
  }

  const FoldJob& job_;
  const RowLayout& layout_;
  const PlaceCoords size_;
  Arena& arena_;
  const int last_ = layout_.pooled() - 1;
  const CodeKernel k_;
  const index_t elem_;
  const bool indexed_;   // kernels write indices
  const bool in_place_;  // what kernels write needs no expansion
  ReadRows reads_;
  IndexWriter indices_;
  std::optional<PlaceWriter> careful_;  // made when first needed: it seldom is
  PlaceBox box_{};
  CodeBand band_;
  index_t in_begin_ = 0;  // bytes
  CodeTap* tap_ = nullptr;
  std::uint8_t* stage_ = nullptr;  // codes on their way to wider indices
  index_t stage_pitch_ = 0;
  const std::byte* x_ = nullptr;  // where the plane begins
  std::byte* y_ = nullptr;
};

}  // namespace

bool can_codes(const FoldJob& job) {
  if (!can_places(job)) return false;
  const RowLayout& layout = job.layout;
  const CodeKernel k = kernel_of(*job.problem);
  const bool expands = job.index_dtype == Dtype::i64 && !writes_indices(job);
  const index_t taps = job.problem->taps(), most = expands ? kMostCodePlaces : kMostByteCodes;
  if (k.planes == nullptr || taps > most) return false;
  const PooledAxis& row = layout.axis[at(layout.pooled() - 1)];
  if (by_lanes(layout)) return layout.lanes.n >= k.vector && layout.lanes.pitch[kX] == 1 && layout.lanes.pitch[kY] == 1;
  return has_code_planes(row.axis.kernel, row.axis.stride, k.most_along) && row.axis.dilation == 1 &&
         layout.row_axis >= 0 && (row.axis.in == 1 || row.pitch[kX] == 1) && (row.axis.out == 1 || row.pitch[kY] == 1);
}

void run_codes(const FoldJob& job, int threads) {
  each_place_box(job, threads, [&](const PlaceCoords& size, Arena& arena) { return CodeWriter(job, size, arena); });
}

}  // namespace oriel::cpu
