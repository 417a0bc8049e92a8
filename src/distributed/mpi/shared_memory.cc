#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "distributed/mailbox.h"
#include "distributed/mpi/channels.h"
#include "distributed/patience.h"

namespace oriel::distributed {
namespace {

constexpr index_t kLine = 64;
index_t lines(index_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

}  // namespace

// A rank's segment begins with a directory: for each pass and each rank of the node, where the message to it lies (0:
// nowhere). A message is a mailbox and its bytes.
class SharedMemory {
 public:
  SharedMemory(MPI_Comm comm, LocalPool& pool, const std::vector<Pass>& passes, const MpiOptions& options)
      : deadline_(options.deadline) {
    MPI_Comm node = MPI_COMM_NULL;
    check_mpi(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
    node_ = OwnComm(node);
    if (options.most_sharers > 0) {
      int place = 0;
      check_mpi(MPI_Comm_rank(node, &place), "MPI_Comm_rank");
      MPI_Comm part = MPI_COMM_NULL;
      check_mpi(MPI_Comm_split(node, place / options.most_sharers, place, &part), "MPI_Comm_split");
      node_ = OwnComm(part);
    }
    check_mpi(MPI_Comm_set_errhandler(node_.get(), MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    find_node(comm);
    index_t bytes = directory_bytes();
    for (Pass pass : passes) {
      for (const Message& m : pool.buffers(pass).send) {
        if (place_of(m.peer) >= 0) bytes += index_t{sizeof(Mailbox)} + lines(m.bytes);
      }
    }
    allocate(bytes);
    fill_directory(pool, passes);
  }

  // MPI frees a window when all have come, so they are waited for first: of a rank that died, not for ever.
  ~SharedMemory() {
    if (!mpi_runs() || window_ == MPI_WIN_NULL) return;
    try {
      MPI_Request request;
      check_mpi(MPI_Ibarrier(node_.get(), &request), "MPI_Ibarrier");
      complete(request, deadline_, "MPI_Ibarrier");
    } catch (const Error&) {
      node_.keep();
      return;
    }
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// The place of a rank in the node, or -1.
  int place_of(index_t rank) const { return place_[static_cast<std::size_t>(rank)]; }
  /// The message from one place of the node to another, and its mailbox before it.
  std::byte* message(int from, int to, Pass pass) const {
    std::byte* segment = segment_[static_cast<std::size_t>(from)];
    return segment + reinterpret_cast<const index_t*>(segment)[entry(pass, to)] + sizeof(Mailbox);
  }
  int self() const { return self_; }
  double deadline() const { return deadline_; }

 private:
  std::size_t entry(Pass pass, int to) const {
    return static_cast<std::size_t>(pass) * segment_.size() + static_cast<std::size_t>(to);
  }
  index_t directory_bytes() const {
    return lines(kPasses * static_cast<index_t>(segment_.size()) * index_t{sizeof(index_t)});
  }

  void find_node(MPI_Comm comm) {
    MPI_Group all, node;
    int ranks = 0, sharers = 0;
    check_mpi(MPI_Comm_size(comm, &ranks), "MPI_Comm_size");
    check_mpi(MPI_Comm_size(node_.get(), &sharers), "MPI_Comm_size");
    check_mpi(MPI_Comm_rank(node_.get(), &self_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_group(comm, &all), "MPI_Comm_group");
    check_mpi(MPI_Comm_group(node_.get(), &node), "MPI_Comm_group");
    std::vector<int> places(static_cast<std::size_t>(sharers)), found(places.size());
    for (int i = 0; i < sharers; ++i) places[static_cast<std::size_t>(i)] = i;
    check_mpi(MPI_Group_translate_ranks(node, sharers, places.data(), all, found.data()), "MPI_Group_translate_ranks");
    MPI_Group_free(&all);
    MPI_Group_free(&node);
    place_.assign(static_cast<std::size_t>(ranks), -1);
    for (int i = 0; i < sharers; ++i) place_[static_cast<std::size_t>(found[static_cast<std::size_t>(i)])] = i;
    segment_.resize(static_cast<std::size_t>(sharers));
  }

  void allocate(index_t bytes) {
    void* own = nullptr;
    // Segments one behind the other begin where the one before ends, so each has whole lines and one to spare.
    check_mpi(MPI_Win_allocate_shared(static_cast<MPI_Aint>(lines(bytes) + kLine), 1, MPI_INFO_NULL, node_.get(), &own,
                                      &window_),
              "MPI_Win_allocate_shared");
    check_mpi(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
    for (std::size_t i = 0; i < segment_.size(); ++i) {
      MPI_Aint size = 0;
      int unit = 0;
      void* base = nullptr;
      check_mpi(MPI_Win_shared_query(window_, static_cast<int>(i), &size, &unit, &base), "MPI_Win_shared_query");
      // The ranks see memory at different addresses, but of the same place in a page.
      segment_[i] = reinterpret_cast<std::byte*>(lines(static_cast<index_t>(reinterpret_cast<std::uintptr_t>(base))));
    }
    std::byte* first = segment_[static_cast<std::size_t>(self_)];
    std::fill(first, first + lines(bytes), std::byte{0});
    check_mpi(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_), "MPI_Win_lock_all");
  }

  void fill_directory(LocalPool& pool, const std::vector<Pass>& passes) {
    index_t* directory = reinterpret_cast<index_t*>(segment_[static_cast<std::size_t>(self_)]);
    index_t next = directory_bytes();
    for (Pass pass : passes) {
      for (const Message& m : pool.buffers(pass).send) {
        if (place_of(m.peer) < 0) continue;
        directory[entry(pass, place_of(m.peer))] = next;
        next += index_t{sizeof(Mailbox)} + lines(m.bytes);
      }
    }
    check_mpi(MPI_Win_sync(window_), "MPI_Win_sync");
    MPI_Request request;
    check_mpi(MPI_Ibarrier(node_.get(), &request), "MPI_Ibarrier");
    complete(request, deadline_, "MPI_Ibarrier");
    check_mpi(MPI_Win_sync(window_), "MPI_Win_sync");
  }

  double deadline_;
  OwnComm node_;
  MPI_Win window_ = MPI_WIN_NULL;
  int self_ = 0;
  std::vector<int> place_;  // by rank
  std::vector<std::byte*> segment_;
};

namespace {

class SharedChannel : public Channel {
 public:
  SharedChannel(std::shared_ptr<SharedMemory> memory, MPI_Comm comm, Pass pass, LocalPool& pool,
                const MpiOptions& options)
      : memory_(std::move(memory)) {
    Buffers& buffers = pool.buffers(pass);
    for (Message& m : buffers.send) place(m, true, pass);
    for (Message& m : buffers.receive) place(m, false, pass);
    pool.allocate(pass);  // of those between nodes
    Route far;
    for (const Message& m : buffers.send) {
      if (memory_->place_of(m.peer) < 0) far.send.push_back(m);
    }
    for (const Message& m : buffers.receive) {
      if (memory_->place_of(m.peer) < 0) far.receive.push_back(m);
    }
    far_ = std::make_unique<PersistentChannel>(comm, static_cast<int>(pass), far, options, pool);
  }

  void prepare() override {
    far_->prepare();
    wait(
        to_, [&](Mailbox& mail) { return mail.is_read(time_); }, "read its message");
  }
  void start() override {
    ++time_;
    for (const Near& n : to_) n.mail->pack(time_);
    far_->start();
  }
  void progress() override { far_->progress(); }
  void finish() override {
    wait(
        from_, [&](Mailbox& mail) { return mail.is_packed(time_); }, "send its message");
    far_->finish();
  }
  void release() override {
    for (const Near& n : from_) n.mail->take(time_);
  }

 private:
  struct Near {
    index_t peer;
    Mailbox* mail;
  };

  void place(Message& m, bool sends, Pass pass) {
    const int other = memory_->place_of(m.peer), self = memory_->self();
    if (other < 0) return;
    m.data = sends ? memory_->message(self, other, pass) : memory_->message(other, self, pass);
    (sends ? to_ : from_).push_back({m.peer, reinterpret_cast<Mailbox*>(m.data - sizeof(Mailbox))});
  }

  template <class Done>
  void wait(const std::vector<Near>& all, const Done& done, const char* what) {
    Patience patience(memory_->deadline());
    for (const Near& n : all) {
      while (!done(*n.mail)) {
        far_->progress();
        if (patience.wait()) continue;
        throw Error(fmt::format("distributed pool: rank {} must {} within {} s, but has not", n.peer, what,
                                memory_->deadline()));
      }
    }
  }

  std::shared_ptr<SharedMemory> memory_;
  std::vector<Near> to_, from_;
  std::unique_ptr<PersistentChannel> far_;
  std::uint64_t time_ = 0;
};

}  // namespace

std::shared_ptr<SharedMemory> share_memory(MPI_Comm comm, LocalPool& pool, const std::vector<Pass>& passes,
                                           const MpiOptions& options) {
  return std::make_shared<SharedMemory>(comm, pool, passes, options);
}

std::unique_ptr<Channel> shared_channel(std::shared_ptr<SharedMemory> memory, MPI_Comm comm, Pass pass, LocalPool& pool,
                                        const MpiOptions& options) {
  return std::make_unique<SharedChannel>(std::move(memory), comm, pass, pool, options);
}

}  // namespace oriel::distributed
