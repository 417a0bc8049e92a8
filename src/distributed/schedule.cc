#include "distributed/schedule.h"

#include <algorithm>

#include "distributed/box_copy.h"

namespace oriel::distributed {
namespace {

constexpr index_t kLine = 64;                       // what memory is aligned to
constexpr index_t kBandBytes = index_t{256} << 10;  // between two looks at the messages
constexpr index_t kMostBands = 16;

struct Travelling {
  Stream stream;
  Exchange exchange;
  index_t bytes;        // of an element in a message
  Extents beside = {};  // the whole shape, if it is a mask or weights
};

class Builder {
 public:
  Builder(const HaloPlan& plan, Pass pass, index_t rank, const Beside& beside)
      : plan_(plan), pass_(pass), rank_(rank), forward_(pass == Pass::forward), weighted_(!beside.weights.empty()) {
    const Problem& problem = plan.problem();
    made_.code_bytes = distributed::code_bytes(problem.taps());
    made_.indices = pass == Pass::backward_indices;
    if (forward_) add_inputs(plan.forward(rank), beside);
    if (pass == Pass::backward_inputs) add_inputs(plan.backward_inputs(rank), beside);
    if (!forward_) travelling_.push_back({Stream::dy, plan.backward(rank), size_bytes(problem.result)});
    if (made_.indices) travelling_.push_back({Stream::indices, travelling_.back().exchange, made_.code_bytes});
    // The widest elements first, so that all lie on multiples of their size.
    std::stable_sort(travelling_.begin(), travelling_.end(),
                     [](const Travelling& a, const Travelling& b) { return a.bytes > b.bytes; });
  }

  Schedule build() {
    for (const Travelling& t : travelling_) {
      add_pieces(t, t.exchange.send, made_.send);
      add_pieces(t, t.exchange.receive, made_.receive);
    }
    if (forward_)
      add_forward();
    else
      add_backward();
    made_.ready = true;
    return std::move(made_);
  }

 private:
  void add_inputs(const Exchange& exchange, const Beside& beside) {
    travelling_.push_back({Stream::x, exchange, size_bytes(plan_.problem().dtype)});
    if (!beside.mask.empty()) travelling_.push_back({Stream::mask, exchange, 1, beside.mask});
    if (!beside.weights.empty())
      travelling_.push_back({Stream::weights, exchange, size_bytes(beside.weights_dtype), beside.weights});
  }

  // What there is of a tensor that travels, of a box of x or dy.
  Box box_of(const Travelling& t, const Box& box) const {
    return t.beside.empty() ? box : beside_box(t.beside, plan_.problem().shape, box);
  }

  void add_pieces(const Travelling& t, const std::vector<Piece>& pieces, std::vector<MessagePlan>& messages) const {
    for (const Piece& piece : pieces) {
      auto at = std::lower_bound(messages.begin(), messages.end(), piece.rank,
                                 [](const MessagePlan& m, index_t peer) { return m.peer < peer; });
      if (at == messages.end() || at->peer != piece.rank) at = messages.insert(at, {piece.rank, 0, {}});
      const Box box = box_of(t, piece.box);
      at->parcels.push_back({t.stream, box, at->bytes});
      at->bytes += box.element_count() * t.bytes;
    }
  }

  index_t take(const Box& box, index_t bytes) {
    const index_t offset = made_.scratch_bytes;
    made_.scratch_bytes += (box.element_count() * bytes + kLine - 1) / kLine * kLine;
    return offset;
  }

  // A copy of a box from what is owned and what comes.
  Ghost gather(const Travelling& t, const Box& all) {
    const Box box = box_of(t, all), owned = box_of(t, t.exchange.owned);
    Ghost ghost{t.stream, box, 0, {}};
    ghost.offset = take(box, t.stream == Stream::indices ? size_bytes(Dtype::i64) : t.bytes);
    const Box own = intersect(box, owned);
    if (!own.empty()) ghost.copies.push_back({.from = owned, .part = own});
    for (std::size_t m = 0; m < made_.receive.size(); ++m) {
      for (const Parcel& parcel : made_.receive[m].parcels) {
        const Box part = intersect(box, parcel.box);
        if (parcel.stream != t.stream || part.empty()) continue;
        ghost.copies.push_back(
            {.message = static_cast<int>(m), .offset = parcel.offset, .from = parcel.box, .part = part});
      }
    }
    return ghost;
  }

  // The axis along which a box may be cut into bands that are computed one after another; -1: none. A gradient in place
  // adds up what windows send, so its bands must not share any.
  int band_axis(const Box& box) const {
    const Problem& problem = plan_.problem();
    for (int d = 0; d < problem.shape.size(); ++d) {
      const auto end = problem.axes.begin() + problem.pooled;
      const bool pooled = std::find(problem.axes.begin(), end, d) != end;
      if (box.along(d).size() > 1 && (forward_ || !pooled)) return d;
    }
    return -1;
  }

  // A box of outputs, in bands where messages travel meanwhile.
  std::vector<Box> bands(const Box& outputs) const {
    const int d = band_axis(outputs);
    const bool alone = made_.send.empty() && made_.receive.empty();
    const index_t bytes = plan_.needs(outputs).element_count() * size_bytes(plan_.problem().dtype);
    if (alone || d < 0 || bytes < 2 * kBandBytes) return {outputs};
    const index_t n = outputs.along(d).size(), count = std::min({n, bytes / kBandBytes, kMostBands});
    std::vector<Box> parts;
    for (index_t b = 0; b < count; ++b) {
      parts.push_back(outputs);
      parts.back().begin[d] = outputs.begin[d] + n * b / count;
      parts.back().end[d] = outputs.begin[d] + n * (b + 1) / count;
    }
    return parts;
  }

  // Nothing reaches `made`. Lp multiplies even an empty sum by a power of x, which may be infinite.
  void add_nothing(Task task, const Box& made) {
    task.nothing = true;
    task.made = made;
    if (pass_ == Pass::backward_inputs) task.problem = blind_problem(plan_.problem(), made.shape(), weighted_);
    made_.tasks.push_back(task);
  }

  Task task_of(const Box& outputs, const Box& made) {
    Task task;
    task.outputs = outputs;
    task.inputs = plan_.needs(outputs);
    task.made = made;
    task.nothing = outputs.empty() || task.inputs.empty();
    if (!task.nothing) task.problem = plan_.part(outputs);
    return task;
  }

  void add_forward() {
    const Exchange& e = travelling_[0].exchange;  // all have the same
    if (e.made.empty()) return;
    if (!e.interior.empty()) {
      for (const Box& band : bands(e.interior)) {
        Task task = task_of(band, band);
        task.in_place = true;
        made_.tasks.push_back(task);
      }
    }
    for (const Box& slab : around(e.made, e.interior)) {
      Task task = task_of(slab, slab);
      if (!task.nothing)
        for (const Travelling& t : travelling_) task.ghosts.push_back(gather(t, task.inputs));
      made_.tasks.push_back(task);
    }
  }

  // Outputs whose windows lie in what the rank owns give the gradient of all their inputs in place. Inputs that other
  // windows reach too are made again from copies, with all their windows, and only they are kept.
  void add_backward() {
    const Box owned = plan_.inputs().part(rank_);
    if (owned.empty()) return;
    const Box inside = plan_.forward(rank_).interior;
    Box done = owned;
    done.end = done.begin;
    if (!inside.empty() && !plan_.needs(inside).empty()) {
      const Box reached = plan_.needs(inside);
      done = plan_.fed_by(reached, inside);
      if (!done.empty()) {
        for (const Box& band : bands(inside)) {
          Task task = task_of(band, plan_.needs(band));
          task.in_place = true;
          made_.tasks.push_back(task);
        }
      }
    }
    for (const Box& slab : around(owned, done)) add_slab(slab);
  }

  void add_slab(const Box& slab) {
    Task task = task_of(plan_.feeds(slab), slab);
    if (task.nothing) return add_nothing(task, slab);
    task.made = intersect(slab, task.inputs);
    // Between windows, or behind the last.
    for (const Box& unread : around(slab, task.made)) add_nothing(task, unread);
    if (task.made.empty()) return;
    for (const Travelling& t : travelling_) {
      const bool outputs = t.stream == Stream::dy || t.stream == Stream::indices;
      task.ghosts.push_back(gather(t, outputs ? task.outputs : task.inputs));
    }
    if (!(task.inputs == task.made)) task.result = take(task.inputs, size_bytes(plan_.problem().dtype));
    made_.tasks.push_back(task);
  }

  const HaloPlan& plan_;
  const Pass pass_;
  const index_t rank_;
  const bool forward_, weighted_;
  std::vector<Travelling> travelling_;
  Schedule made_;
};

}  // namespace

Problem blind_problem(const Problem& problem, const Extents& shape, bool weighted) {
  Pool pool = problem.pool;
  // Masks may lack other axes than pooled ones.
  const int axis = shape.size() == problem.shape.size() ? problem.axes[0] : 0;
  pool.windows.kind = WindowKind::uniform;
  pool.windows.kernel = pool.windows.dilation = pool.windows.pad_lo = {1};
  pool.windows.stride = {shape[axis] + 1};
  pool.windows.pad_hi = {0};
  pool.windows.axes = {axis};
  pool.windows.output_size = {};
  pool.windows.padding = Padding::given;
  pool.windows.ceil_mode = false;
  // A window of one tap has no footprint, and fewer taps than some options ask for: it has none in the input anyway.
  pool.footprint = {};
  pool.min_count = std::min<index_t>(pool.min_count, 1);
  pool.ddof = 0;
  if (weighted && pool.op == Op::avg) pool.count_include_pad = false;
  if (pool.rank) {
    pool.rank.reset();
    pool.q = {0};
  }
  return make_problem(pool, problem.dtype, shape);
}

Box beside_box(const Extents& whole, const Extents& x_shape, const Box& box) {
  Box beside = box;
  for (int d = 0; d < whole.size(); ++d) {
    if (whole[d] == x_shape[d]) continue;
    beside.begin[d] = 0;
    beside.end[d] = 1;
  }
  return beside;
}

Schedule make_schedule(const HaloPlan& plan, Pass pass, index_t rank, const Beside& beside) {
  return Builder(plan, pass, rank, beside).build();
}

}  // namespace oriel::distributed
