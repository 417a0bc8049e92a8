#include <algorithm>

#include "distributed/mpi/channels.h"
#include "distributed/patience.h"

namespace oriel::distributed {
namespace {

// So many bytes as one element: counts are ints, messages may be longer.
OwnType bytes_type(index_t bytes, index_t most_bytes) {
  const int whole = static_cast<int>(bytes / most_bytes), rest = static_cast<int>(bytes % most_bytes);
  OwnType block, blocks, type;
  check_mpi(MPI_Type_contiguous(static_cast<int>(most_bytes), MPI_BYTE, block.place()), "MPI_Type_contiguous");
  check_mpi(MPI_Type_contiguous(whole, block.get(), blocks.place()), "MPI_Type_contiguous");
  const int lengths[] = {1, rest};
  const MPI_Aint places[] = {0, static_cast<MPI_Aint>(whole * most_bytes)};
  const MPI_Datatype parts[] = {blocks.get(), MPI_BYTE};
  check_mpi(MPI_Type_create_struct(2, lengths, places, parts, type.place()), "MPI_Type_create_struct");
  check_mpi(MPI_Type_commit(type.place()), "MPI_Type_commit");
  return type;
}

// The ranks of both lists, each once; and this one, so that no list is empty.
std::vector<int> peers_of(const Route& route, index_t self) {
  std::vector<int> peers = {static_cast<int>(self)};
  for (const std::vector<Message>* list : {&route.send, &route.receive}) {
    for (const Message& m : *list) peers.push_back(static_cast<int>(m.peer));
  }
  std::sort(peers.begin(), peers.end());
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  return peers;
}

}  // namespace

NeighbourhoodChannel::Side NeighbourhoodChannel::side_of(const std::vector<Message>& messages,
                                                         index_t most_bytes) const {
  Side side{std::vector<int>(peers_.size(), 0),
            std::vector<MPI_Aint>(peers_.size(), 0),
            std::vector<MPI_Datatype>(peers_.size(), MPI_BYTE),
            {}};
  for (const Message& m : messages) {
    const auto at = std::lower_bound(peers_.begin(), peers_.end(), static_cast<int>(m.peer));
    const std::size_t i = static_cast<std::size_t>(at - peers_.begin());
    check_mpi(MPI_Get_address(m.data, &side.places[i]), "MPI_Get_address");
    const bool fits = m.bytes <= most_bytes;
    side.counts[i] = fits ? static_cast<int>(m.bytes) : 1;
    if (fits) continue;
    side.long_types.push_back(bytes_type(m.bytes, most_bytes));
    side.types[i] = side.long_types.back().get();
  }
  return side;
}

// No periodic Cartesian communicator: with one or two ranks along an axis, MPIs have exchanged the blocks of the two
// directions (Open MPI issue 14430). Here every pair of ranks meets once.
NeighbourhoodChannel::NeighbourhoodChannel(MPI_Comm comm, const Route& route, const MpiOptions& options,
                                           LocalPool& pool)
    : deadline_(options.deadline), pool_(pool), peers_(peers_of(route, pool.rank())) {
  all_succeed(comm, deadline_, [&] {  // the others would wait for ever in what follows
    to_ = side_of(route.send, options.most_bytes);
    from_ = side_of(route.receive, options.most_bytes);
  });
  MPI_Comm graph = MPI_COMM_NULL;
  const int degree = static_cast<int>(peers_.size());
  check_mpi(MPI_Dist_graph_create_adjacent(comm, degree, peers_.data(), MPI_UNWEIGHTED, degree, peers_.data(),
                                           MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph),
            "MPI_Dist_graph_create_adjacent");
  graph_ = OwnComm(graph);
  check_mpi(MPI_Comm_set_errhandler(graph, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

NeighbourhoodChannel::~NeighbourhoodChannel() {
  if (request_ != MPI_REQUEST_NULL) pool_.keep_memory();  // a collective cannot be taken back
}

void NeighbourhoodChannel::start() {
  check_mpi(
      MPI_Ineighbor_alltoallw(MPI_BOTTOM, to_.counts.data(), to_.places.data(), to_.types.data(), MPI_BOTTOM,
                              from_.counts.data(), from_.places.data(), from_.types.data(), graph_.get(), &request_),
      "MPI_Ineighbor_alltoallw");
}

void NeighbourhoodChannel::progress() {
  int done = 0;
  check_mpi(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "MPI_Ineighbor_alltoallw");
}

void NeighbourhoodChannel::finish() { complete(request_, deadline_, "MPI_Ineighbor_alltoallw"); }

}  // namespace oriel::distributed
