#include "ranks.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "array.h"
#include "faults.h"
#include "fmt/format.h"
#include "oriel/distributed/local_pool.h"
#include "statistic.h"

namespace oriel::python {
namespace {

using namespace nb::literals;
using distributed::Pass;

using Bounds = std::vector<std::vector<index_t>>;

Pass parse_pass(const std::string& word) {
  for (int p = 0; p < distributed::kPasses; ++p) {
    if (word == distributed::name(static_cast<Pass>(p))) return static_cast<Pass>(p);
  }
  throw Error(
      fmt::format("distributed pool: the pass must be 'forward', 'backward', 'backward_indices' or 'backward_inputs', "
                  "but is '{}'",
                  word));
}

distributed::Partition partition_of(const Bounds& bounds) {
  std::vector<distributed::Cuts> cuts;
  for (const std::vector<index_t>& b : bounds) cuts.emplace_back(b);
  return distributed::Partition(std::move(cuts));
}

Bounds bounds_of(const distributed::Partition& partition) {
  Bounds bounds;
  for (int d = 0; d < partition.rank(); ++d) bounds.push_back(partition.along(d).bounds());
  return bounds;
}

nb::tuple box_tuple(const distributed::Box& box) {
  nb::list ranges;
  for (int d = 0; d < box.begin.size(); ++d) ranges.append(nb::make_tuple(box.begin[d], box.end[d]));
  return nb::tuple(ranges);
}

distributed::Beside beside_of(nb::handle mask, nb::handle weights, const std::string& weights_dtype) {
  distributed::Beside beside;
  if (!mask.is_none()) beside.mask = read_shape("distributed pool", "mask_shape", mask);
  if (!weights.is_none()) beside.weights = read_shape("distributed pool", "weights_shape", weights);
  beside.weights_dtype = parse_dtype(weights_dtype);
  return beside;
}

nb::list pieces(const std::vector<distributed::Piece>& list) {
  nb::list result;
  for (const distributed::Piece& piece : list) result.append(nb::make_tuple(piece.rank, box_tuple(piece.box)));
  return result;
}

// The arrays that a pass works on between its first and its last step.
struct Arrays {
  std::array<Array, 7> array;  // x, y, places, dy, dx, mask, weights
  distributed::Operands operands;
};

// A turn at a pool. Whoever finds another thread in it gets an error rather than its memory: steps release the GIL, so
// threads could meet in one with it, too.
class Turn {
 public:
  explicit Turn(std::atomic<bool>& taken) : taken_(taken) {
    if (taken.exchange(true, std::memory_order_acquire)) {
      throw Error("distributed pool: a LocalPool must be used by one thread at a time, but another is using it");
    }
  }
  ~Turn() { taken_.store(false, std::memory_order_release); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  std::atomic<bool>& taken_;
};

class RankPool {
 public:
  RankPool(const PythonPool& pool, const std::string& dtype, const Bounds& inputs, const std::optional<Bounds>& outputs,
           index_t rank, nb::handle options, nb::handle mask_shape, nb::handle weights_shape,
           const std::string& weights_dtype)
      : local_(make(with_options(pool, options), dtype, inputs, outputs, rank,
                    beside_of(mask_shape, weights_shape, weights_dtype))) {}

  distributed::LocalPool& local() { return local_; }
  Turn turn() { return Turn(taken_); }
  const distributed::HaloPlan& plan() const { return local_.plan(); }

  void begin(const std::string& word, nb::handle x, nb::handle y, nb::handle places, nb::handle dy, nb::handle dx,
             nb::handle mask, nb::handle weights) {
    const Turn turn(taken_);
    const Pass pass = parse_pass(word);
    auto arrays = std::make_unique<Arrays>();
    const std::string function = fmt::format("distributed {}_pool {}", name(plan().problem().pool.op), word);
    const std::array<std::pair<const char*, nb::handle>, 7> given = {
        {{"x", x}, {"y", y}, {"indices", places}, {"dy", dy}, {"dx", dx}, {"mask", mask}, {"weights", weights}}};
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (given[i].second.is_none()) continue;
      Array& a = arrays->array[i] = read_array(function, given[i].first, given[i].second, true);
      const bool written = i == 1 || i == 4 || (i == 2 && pass == Pass::forward);
      if (written && (!a.writable || !a.object.is(given[i].second))) {
        throw Error(fmt::format("{}: {} must be a writable array, but is read-only", function, given[i].first));
      }
    }
    distributed::Operands& o = arrays->operands;
    const auto& a = arrays->array;
    if (!x.is_none()) o.x = a[0].view;
    if (!y.is_none()) o.y = a[1].writable_view();
    if (!places.is_none()) o.indices = a[2].writable_view();
    if (!dy.is_none()) o.dy = a[3].view;
    if (!dx.is_none()) o.dx = a[4].writable_view();
    if (!mask.is_none()) o.mask = a[5].view;
    if (!weights.is_none()) o.weights = a[6].view;
    o.space = IndexSpace::window;
    local_.check(pass, o);
    local_.allocate(pass);
    {
      const nb::gil_scoped_release release;
      local_.pack(pass, o);
    }
    running_[static_cast<std::size_t>(pass)] = std::move(arrays);
  }

  void interior(const std::string& word, const Options& options) {
    const Turn turn(taken_);
    const Pass pass = parse_pass(word);
    const distributed::Operands& operands = running(pass).operands;
    const nb::gil_scoped_release release;
    local_.interior(pass, operands, options);
  }

  void finish(const std::string& word, const Options& options) {
    const Turn turn(taken_);
    const Pass pass = parse_pass(word);
    (void)running(pass);
    const std::unique_ptr<Arrays> arrays = std::move(running_[static_cast<std::size_t>(pass)]);
    const nb::gil_scoped_release release;
    local_.finish(pass, arrays->operands, options);
  }

  void globalise(nb::handle object, nb::handle space) const {
    const Array places = read_array("globalise", "indices", object);
    if (!places.writable || !places.object.is(object)) {
      throw Error("globalise: indices must be a writable array, but is read-only");
    }
    distributed::globalise(plan(), local_.outputs(), places.writable_view(), read_space("globalise", space));
  }

 private:
  static distributed::LocalPool make(const PythonPool& pool, const std::string& dtype, const Bounds& inputs,
                                     const std::optional<Bounds>& outputs, index_t rank,
                                     const distributed::Beside& beside) {
    const distributed::Partition in = partition_of(inputs);
    pool.check_rank(in.shape());
    const Problem problem = make_problem(pool.pool, parse_dtype(dtype), in.shape());
    distributed::Partition out = outputs ? partition_of(*outputs) : centred_outputs(problem, in);
    return {problem, in, std::move(out), rank, beside};
  }

  Arrays& running(Pass pass) {
    Arrays* arrays = running_[static_cast<std::size_t>(pass)].get();
    if (arrays == nullptr) {
      throw Error(fmt::format("distributed {}_pool {}: begin must be called first, but was not",
                              name(plan().problem().pool.op), distributed::name(pass)));
    }
    return *arrays;
  }

  std::atomic<bool> taken_ = false;
  distributed::LocalPool local_;
  std::array<std::unique_ptr<Arrays>, distributed::kPasses> running_;
};

// The messages of a pass as (peer, bytes): views of the pool's memory, which they keep.
nb::tuple buffers(nb::handle self, const std::string& word) {
  auto& pool = nb::cast<RankPool&>(self);
  const Turn turn = pool.turn();
  const Pass pass = parse_pass(word);
  pool.local().allocate(pass);
  const auto views = [&](const std::vector<distributed::Message>& messages) {
    nb::list list;
    for (const distributed::Message& m : messages) {
      const auto bytes = static_cast<std::size_t>(m.bytes);
      list.append(nb::make_tuple(
          m.peer, nb::ndarray<nb::numpy, std::uint8_t>(reinterpret_cast<std::uint8_t*>(m.data), {bytes}, self)));
    }
    return list;
  };
  const distributed::Buffers& all = pool.local().buffers(pass);
  return nb::make_tuple(views(all.send), views(all.receive));
}

nb::dict exchange(const RankPool& pool, const std::string& word, index_t rank) {
  const Pass pass = parse_pass(word);
  const distributed::HaloPlan& plan = pool.plan();
  const distributed::Exchange e = pass == Pass::forward           ? plan.forward(rank)
                                  : pass == Pass::backward_inputs ? plan.backward_inputs(rank)
                                                                  : plan.backward(rank);
  nb::dict result;
  result["owned"] = box_tuple(e.owned);
  result["made"] = box_tuple(e.made);
  result["needed"] = box_tuple(e.needed);
  result["interior"] = box_tuple(e.interior);
  result["kept"] = box_tuple(e.kept);
  result["send"] = pieces(e.send);
  result["receive"] = pieces(e.receive);
  return result;
}

nb::tuple traffic(RankPool& pool, const std::string& word) {
  const Turn turn = pool.turn();
  const distributed::Traffic t = pool.local().traffic(parse_pass(word));
  return nb::make_tuple(t.messages_sent, t.messages_received, t.bytes_sent, t.bytes_received);
}

void bind_numbers(nb::class_<RankPool>& pool) {
  pool.def_prop_ro("name", [](const RankPool& p) { return to_string(p.plan().problem()); });
  pool.def_prop_ro("rank", [](RankPool& p) { return p.local().rank(); });
  pool.def_prop_ro(
      "inputs", [](RankPool& p) { return box_tuple(p.local().inputs()); }, "What the rank owns.");
  pool.def_prop_ro(
      "outputs", [](RankPool& p) { return box_tuple(p.local().outputs()); }, "What the rank computes.");
  pool.def_prop_ro("input_cuts", [](const RankPool& p) { return bounds_of(p.plan().inputs()); });
  pool.def_prop_ro("output_cuts", [](const RankPool& p) { return bounds_of(p.plan().outputs()); });
  pool.def_prop_ro(
      "gradient", [](RankPool& p) { return std::string(distributed::name(p.local().gradient())); },
      "The gradient pass that sends least.");
  pool.def_prop_ro(
      "has_indices", [](RankPool& p) { return p.local().has_indices(); }, "Whether forward can give indices.");
  pool.def_prop_ro(
      "result_dtype",
      [](RankPool& p) -> nb::object {
        const Problem& problem = p.plan().problem();
        if (problem.result == problem.dtype) return nb::none();
        return nb::cast(std::string(numpy_name(problem.result)));
      },
      "The name of the dtype of results; None: that of inputs.");
  pool.def(
      "has", [](RankPool& p, const std::string& word) { return p.local().has(parse_pass(word)); }, "pass_"_a);
  pool.def("exchange", &exchange, "pass_"_a, "rank"_a,
           "Which boxes a rank sends to and receives from others, for any rank.");
  pool.def("traffic", &traffic, "pass_"_a, "(messages sent, messages received, bytes sent, bytes received).");
}

}  // namespace

void bind_ranks(nb::module_& m, Options (*options)()) {
  nb::class_<RankPool> pool(m, "LocalPool",
                            "One rank's part of a divided pool: packs and computes; the caller carries the messages.");
  pool.def(nb::init<const PythonPool&, const std::string&, const Bounds&, const std::optional<Bounds>&, index_t,
                    nb::handle, nb::handle, nb::handle, const std::string&>(),
           "pool"_a, "dtype"_a, "input_cuts"_a, "output_cuts"_a.none(), "rank"_a, "options"_a.none() = nb::none(),
           "mask_shape"_a.none() = nb::none(), "weights_shape"_a.none() = nb::none(), "weights_dtype"_a = "f64",
           "With the shapes of the whole mask and weights, if calls have them.");
  bind_numbers(pool);
  pool.def(
      "buffers", [](nb::handle_t<RankPool> self, const std::string& word) { return buffers(self, word); }, "pass_"_a,
      "Lists (send, receive) of (peer, bytes), the bytes being views of the pool's memory.");
  pool.def("begin", &RankPool::begin, "pass_"_a, "x"_a.none() = nb::none(), "y"_a.none() = nb::none(),
           "indices"_a.none() = nb::none(), "dy"_a.none() = nb::none(), "dx"_a.none() = nb::none(),
           "mask"_a.none() = nb::none(), "weights"_a.none() = nb::none(),
           "Checks the arrays, keeps them until finish, and fills the messages to be sent.");
  pool.def(
      "interior", [options](RankPool& p, const std::string& word) { p.interior(word, options()); }, "pass_"_a,
      "Computes what needs no message.");
  pool.def(
      "finish", [options](RankPool& p, const std::string& word) { p.finish(word, options()); }, "pass_"_a,
      "Computes the rest from the messages that were received.");
  pool.def("globalise", &RankPool::globalise, "indices"_a, "space"_a,
           "Converts indices from taps of the window to another space, overwriting them.");
  m.def("dtype_of", [](nb::handle x) { return std::string(name(read_array("pool", "x", x, true).view.dtype)); });
}

}  // namespace oriel::python
