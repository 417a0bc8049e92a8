// The ways of messages over MPI.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "distributed/mpi/session.h"

namespace oriel::distributed {

/// Both directions of a pass, or a part of them.
struct Route {
  std::vector<Message> send;
  std::vector<Message> receive;
};

/// Persistent requests, one for each message (several for a very long one). `pool` keeps its memory when a request is
/// lost.
class PersistentChannel : public Channel {
 public:
  PersistentChannel(MPI_Comm comm, int tag, const Route& route, const MpiOptions& options, LocalPool& pool);
  ~PersistentChannel() override;
  void prepare() override;
  void start() override;
  void progress() override;
  void finish() override;
  /// True when all that was started is done.
  bool done() const { return under_way_ == 0; }
  /// Error for a deadline that is over: who has not answered.
  [[noreturn]] void give_up() const;

 private:
  PersistentChannel(double deadline, LocalPool& pool) : deadline_(deadline), pool_(pool) {}
  void add(const Message& message, bool sends, MPI_Comm comm, int tag, index_t most_bytes);
  void launch(std::size_t begin, std::size_t end);
  void look();

  double deadline_;
  LocalPool& pool_;
  std::vector<MPI_Request> requests_;  // receives first
  std::vector<index_t> peers_;
  std::vector<bool> active_;
  std::vector<int> completed_;
  std::vector<MPI_Status> statuses_;
  std::size_t receives_ = 0;
  std::size_t under_way_ = 0;
};

/// One nonblocking neighbourhood collective on a graph of the ranks that meet. Its edges go both ways, empty where
/// nothing travels: MPICH 4.0.2 takes the number of edges in for that of edges out.
class NeighbourhoodChannel : public Channel {
 public:
  NeighbourhoodChannel(MPI_Comm comm, const Route& route, const MpiOptions& options, LocalPool& pool);
  ~NeighbourhoodChannel() override;
  void prepare() override {}
  void start() override;
  void progress() override;
  void finish() override;
  void abandon() override { graph_.keep(); }

 private:
  struct Side {
    std::vector<int> counts;
    std::vector<MPI_Aint> places;
    std::vector<MPI_Datatype> types;
    std::vector<OwnType> long_types;  // those among them that are not MPI_BYTE
  };
  Side side_of(const std::vector<Message>& messages, index_t most_bytes) const;

  double deadline_;
  LocalPool& pool_;
  std::vector<int> peers_;
  Side to_, from_;
  OwnComm graph_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

/// Memory that the ranks of a node share; one for all passes of a pool.
class SharedMemory;
std::shared_ptr<SharedMemory> share_memory(MPI_Comm comm, LocalPool& pool, const std::vector<Pass>& passes,
                                           const MpiOptions& options);
std::unique_ptr<Channel> shared_channel(std::shared_ptr<SharedMemory> memory, MPI_Comm comm, Pass pass, LocalPool& pool,
                                        const MpiOptions& options);

}  // namespace oriel::distributed
