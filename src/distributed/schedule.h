// A pass of one rank, spelled out before it runs: what each message holds, and the tasks, each a problem of its own on
// tensors in place or on gathered copies.
#pragma once

#include <vector>

#include "oriel/distributed/local_pool.h"

namespace oriel::distributed {

/// A tensor that travels.
enum class Stream : std::uint8_t { x, dy, indices, mask, weights };
inline constexpr int kStreams = 5;

/// A box of one stream, dense, from byte `offset` of a message on.
struct Parcel {
  Stream stream = Stream::x;
  Box box;
  index_t offset = 0;
};

struct MessagePlan {
  index_t peer = 0;
  index_t bytes = 0;
  std::vector<Parcel> parcels;
};

/// Where a part of a gathered copy comes from.
struct Copy {
  int message = -1;  // -1: the rank's own tensor
  index_t offset = 0;
  Box from;  // what lies there,
  Box part;  // and what of it is wanted
};

/// A box of a stream, gathered in scratch memory.
struct Ghost {
  Stream stream = Stream::x;
  Box box;
  index_t offset = 0;  // in scratch memory, bytes
  std::vector<Copy> copies;
};

struct Task {
  Problem problem;
  Box outputs;  // of the problem
  Box inputs;   //
  Box made;     // what is written, of outputs forward, of inputs backward
  bool in_place = false;
  bool nothing = false;       // no tap reaches what is made; `problem` is a blind one, if any
  std::vector<Ghost> ghosts;  // of a task that is not in place
  index_t result = -1;        // where in scratch memory a gradient over `inputs` is made, if not where it belongs
};

struct Schedule {
  bool ready = false;
  bool indices = false;  // whether tasks read them (forward they are written on request)
  std::vector<MessagePlan> send, receive;
  std::vector<Task> tasks;
  index_t scratch_bytes = 0;
  index_t code_bytes = 1;
};

/// The same reduction on a tensor of `shape`, with one window along a pooled axis, which sees padding alone.
/// `weighted`: calls have weights.
Problem blind_problem(const Problem& problem, const Extents& shape, bool weighted);

/// What there is of a mask, or weights, of shape `whole` beside a box of x: one element along the axes that it lacks.
Box beside_box(const Extents& whole, const Extents& x_shape, const Box& box);

/// The messages and tasks of rank's pass.
Schedule make_schedule(const HaloPlan& plan, Pass pass, index_t rank, const Beside& beside);

}  // namespace oriel::distributed
