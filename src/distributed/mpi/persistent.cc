#include <fmt/format.h>

#include <algorithm>

#include "distributed/mpi/channels.h"
#include "distributed/patience.h"

namespace oriel::distributed {

PersistentChannel::PersistentChannel(MPI_Comm comm, int tag, const Route& route, const MpiOptions& options,
                                     LocalPool& pool)
    : PersistentChannel(options.deadline, pool) {  // complete by now, so the requests are freed when one cannot be made
  for (const Message& m : route.receive) add(m, false, comm, tag, options.most_bytes);
  receives_ = requests_.size();
  for (const Message& m : route.send) add(m, true, comm, tag, options.most_bytes);
  completed_.resize(requests_.size());
  statuses_.resize(requests_.size());
}

// Messages of one sender, tag and communicator arrive in the order of their starts, so parts need no numbers.
void PersistentChannel::add(const Message& m, bool sends, MPI_Comm comm, int tag, index_t most_bytes) {
  for (index_t at = 0; at < m.bytes; at += most_bytes) {
    const int bytes = static_cast<int>(std::min(most_bytes, m.bytes - at)), peer = static_cast<int>(m.peer);
    MPI_Request request = MPI_REQUEST_NULL;
    if (sends)
      check_mpi(MPI_Send_init(m.data + at, bytes, MPI_BYTE, peer, tag, comm, &request), "MPI_Send_init", m.peer);
    else
      check_mpi(MPI_Recv_init(m.data + at, bytes, MPI_BYTE, peer, tag, comm, &request), "MPI_Recv_init", m.peer);
    requests_.push_back(request);
    active_.push_back(false);
    peers_.push_back(m.peer);
  }
}

PersistentChannel::~PersistentChannel() {
  if (under_way_ != 0) pool_.keep_memory();
  if (!mpi_runs()) return;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    // A receive can be taken back; of a send, MPI is only told that nobody waits for it any more.
    if (active_[i] && i < receives_ && MPI_Cancel(&requests_[i]) == MPI_SUCCESS) {
      MPI_Wait(&requests_[i], MPI_STATUS_IGNORE);
    }
    if (requests_[i] != MPI_REQUEST_NULL) MPI_Request_free(&requests_[i]);
  }
}

void PersistentChannel::launch(std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    check_mpi(MPI_Start(&requests_[i]), "MPI_Start", peers_[i]);
    active_[i] = true;
    ++under_way_;
  }
}

void PersistentChannel::prepare() { launch(0, receives_); }
void PersistentChannel::start() { launch(receives_, requests_.size()); }

void PersistentChannel::look() {
  if (requests_.empty()) return;
  int count = 0;
  const int code =
      MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, completed_.data(), statuses_.data());
  if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) check_mpi(code, "MPI_Testsome");
  if (count == MPI_UNDEFINED) count = 0;  // none is active
  index_t failed = -1;
  int error = MPI_SUCCESS;
  for (int i = 0; i < count; ++i) {
    const std::size_t at = static_cast<std::size_t>(completed_[static_cast<std::size_t>(i)]);
    active_[at] = false;
    --under_way_;
    if (code == MPI_ERR_IN_STATUS && statuses_[static_cast<std::size_t>(i)].MPI_ERROR != MPI_SUCCESS) {
      failed = peers_[at];
      error = statuses_[static_cast<std::size_t>(i)].MPI_ERROR;
    }
  }
  check_mpi(error, "MPI_Testsome", failed);
}

void PersistentChannel::progress() {
  if (under_way_ != 0) look();
}

void PersistentChannel::finish() {
  Patience patience(deadline_);
  while (under_way_ != 0) {
    look();
    if (under_way_ != 0 && !patience.wait()) give_up();
  }
}

void PersistentChannel::give_up() const {
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (!active_[i]) continue;
    throw Error(fmt::format("distributed pool: rank {} must {} within {} s, but has not", peers_[i],
                            i < receives_ ? "send its message" : "receive its message", deadline_));
  }
  throw Error("distributed pool: messages must arrive in time, but have not");
}

}  // namespace oriel::distributed
