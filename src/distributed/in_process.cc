#include <fmt/format.h>

#include <map>
#include <mutex>
#include <tuple>

#include "distributed/mailbox.h"
#include "distributed/memory.h"
#include "distributed/patience.h"
#include "oriel/distributed/transport.h"

namespace oriel::distributed {

struct InProcess::Group {
  struct Box {
    Mailbox mail;
    std::byte* data = nullptr;  // written before the first packing
    Memory memory;              // a receiver may read when the sender is gone
  };

  Box& box(Pass pass, index_t from, index_t to) {
    const std::lock_guard lock(mutex);
    std::unique_ptr<Box>& found = boxes[{pass, from, to}];
    if (!found) found = std::make_unique<Box>();
    return *found;
  }

  index_t ranks = 0;
  double deadline = 0;
  std::mutex mutex;
  std::map<std::tuple<Pass, index_t, index_t>, std::unique_ptr<Box>> boxes;
};

namespace {

template <class Group>
class MailChannel : public Channel {
 public:
  MailChannel(std::shared_ptr<Group> group, Pass pass, LocalPool& pool)
      : group_(std::move(group)), buffers_(pool.buffers(pass)) {
    for (Message& m : buffers_.send) {
      to_.push_back(&group_->box(pass, pool.rank(), m.peer));
      to_.back()->data = m.data = to_.back()->memory.take(m.bytes);
    }
    for (const Message& m : buffers_.receive) from_.push_back(&group_->box(pass, m.peer, pool.rank()));
  }

  void prepare() override {
    for (std::size_t m = 0; m < to_.size(); ++m) {
      wait([&] { return to_[m]->mail.is_read(time_); }, "read its message", buffers_.send[m].peer);
    }
  }
  void start() override {
    ++time_;
    for (auto* box : to_) box->mail.pack(time_);
  }
  void finish() override {
    for (std::size_t m = 0; m < from_.size(); ++m) {
      wait([&] { return from_[m]->mail.is_packed(time_); }, "send its message", buffers_.receive[m].peer);
      buffers_.receive[m].data = from_[m]->data;
    }
  }
  void release() override {
    for (auto* box : from_) box->mail.take(time_);
  }

 private:
  template <class Done>
  void wait(const Done& done, const char* what, index_t peer) {
    Patience patience(group_->deadline);
    while (!done()) {
      if (patience.wait()) continue;
      throw Error(
          fmt::format("distributed pool: rank {} must {} within {} s, but has not", peer, what, group_->deadline));
    }
  }

  std::shared_ptr<Group> group_;
  Buffers& buffers_;
  std::vector<typename Group::Box*> to_, from_;
  std::uint64_t time_ = 0;
};

template <class Group>
class MailTransport : public Transport {
 public:
  MailTransport(std::shared_ptr<Group> group, index_t rank) : group_(std::move(group)), rank_(rank) {}
  std::unique_ptr<Channel> open(Pass pass, LocalPool& pool) override {
    if (pool.plan().ranks() != group_->ranks || pool.rank() != rank_) {
      throw Error(
          fmt::format("distributed pool: the transport of rank {} of {} must serve that rank, but serves {} of {}",
                      rank_, group_->ranks, pool.rank(), pool.plan().ranks()));
    }
    return std::make_unique<MailChannel<Group>>(group_, pass, pool);
  }

 private:
  std::shared_ptr<Group> group_;
  index_t rank_;
};

}  // namespace

InProcess::InProcess(index_t ranks, double deadline) : group_(std::make_shared<Group>()) {
  if (ranks < 1) throw Error(fmt::format("in-process ranks: their number must be >= 1, but is {}", ranks));
  group_->ranks = ranks;
  group_->deadline = deadline;
}
InProcess::~InProcess() = default;

std::unique_ptr<Transport> InProcess::transport(index_t rank) const {
  if (rank < 0 || rank >= group_->ranks) {
    throw Error(fmt::format("in-process ranks: the rank must be 0 to {}, but is {}", group_->ranks - 1, rank));
  }
  return std::make_unique<MailTransport<Group>>(group_, rank);
}

}  // namespace oriel::distributed
