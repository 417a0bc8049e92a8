#include "distributed/mpi/shim.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <vector>

namespace oriel::test {
namespace {

using Clock = std::chrono::steady_clock;
Clock::time_point started;
std::map<MPI_Request, int> sizes;  // of requests to send

bool fails(Shim::At at) {
  Shim& s = shim();
  if (s.fault != at || s.fault_in == 0) return false;
  return --s.fault_in == 0;
}

void dawdle() {
  Shim& s = shim();
  if (!s.disturb) return;
  const auto time = std::chrono::microseconds(s.random() % 4 == 0 ? s.random() % 300 : 0);
  if (time.count() == 0) return;
  ++s.disturbed;
  std::this_thread::sleep_for(time);
}

bool early() {
  const Shim& s = shim();
  return s.latency > 0 && Clock::now() - started < std::chrono::duration<double>(s.latency);
}

}  // namespace

Shim& shim() {
  static Shim s;
  return s;
}

}  // namespace oriel::test

using namespace oriel::test;

extern "C" {

int MPI_Send_init(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  if (fails(Shim::At::send_init)) return shim().fault_code;
  const int code = PMPI_Send_init(data, count, type, to, tag, comm, request);
  sizes[*request] = count;
  ++shim().live_requests;
  return code;
}

int MPI_Recv_init(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request) {
  ++shim().live_requests;
  return PMPI_Recv_init(data, count, type, from, tag, comm, request);
}

int MPI_Request_free(MPI_Request* request) {
  sizes.erase(*request);
  --shim().live_requests;
  return PMPI_Request_free(request);
}

int MPI_Type_contiguous(int count, MPI_Datatype of, MPI_Datatype* type) {
  ++shim().live_types;
  return PMPI_Type_contiguous(count, of, type);
}

int MPI_Type_create_struct(int count, const int* lengths, const MPI_Aint* places, const MPI_Datatype* of,
                           MPI_Datatype* type) {
  ++shim().live_types;
  return PMPI_Type_create_struct(count, lengths, places, of, type);
}

int MPI_Type_commit(MPI_Datatype* type) {
  if (fails(Shim::At::commit)) return shim().fault_code;
  return PMPI_Type_commit(type);
}

int MPI_Type_free(MPI_Datatype* type) {
  --shim().live_types;
  return PMPI_Type_free(type);
}

int MPI_Start(MPI_Request* request) {
  dawdle();
  if (fails(Shim::At::start)) return shim().fault_code;
  const auto send = sizes.find(*request);
  if (send != sizes.end()) {
    ++shim().sends;
    shim().bytes += send->second;
  }
  started = Clock::now();
  return PMPI_Start(request);
}

int MPI_Testsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  if (fails(Shim::At::testsome)) return shim().fault_code;
  *done = 0;
  if (early()) return MPI_SUCCESS;
  if (!shim().disturb) {
    const int code = PMPI_Testsome(count, requests, done, indices, statuses);
    if (code == MPI_SUCCESS && *done > 0 && *done != MPI_UNDEFINED && fails(Shim::At::status)) {
      for (int i = 0; i < *done; ++i) statuses[i].MPI_ERROR = MPI_SUCCESS;
      statuses[0].MPI_ERROR = shim().fault_code;
      return MPI_ERR_IN_STATUS;
    }
    return code;
  }
  dawdle();
  // One that is complete, in random order; inactive requests are none.
  std::vector<int> order(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) order[static_cast<std::size_t>(i)] = i;
  std::shuffle(order.begin(), order.end(), shim().random);
  for (int i : order) {
    int one = 0;
    const int code = PMPI_Testsome(1, &requests[i], &one, indices, statuses);
    if (code != MPI_SUCCESS) return code;
    if (one != 1) continue;
    indices[0] = i;
    *done = 1;
    return MPI_SUCCESS;
  }
  return MPI_SUCCESS;
}

int MPI_Ineighbor_alltoallw(const void* from, const int* from_counts, const MPI_Aint* from_places,
                            const MPI_Datatype* from_types, void* to, const int* to_counts, const MPI_Aint* to_places,
                            const MPI_Datatype* to_types, MPI_Comm comm, MPI_Request* request) {
  dawdle();
  if (fails(Shim::At::neighbour)) return shim().fault_code;
  started = Clock::now();
  return PMPI_Ineighbor_alltoallw(from, from_counts, from_places, from_types, to, to_counts, to_places, to_types, comm,
                                  request);
}

}  // extern "C"
