#include "distributed/mpi/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>

#include "distributed/patience.h"

namespace oriel::distributed {
namespace {

constexpr std::size_t kMostText = 400;  // bytes of a rank's words that travel to the others

constexpr std::uint64_t kMostHash = (std::uint64_t{1} << 62) - 1;  // MPICH 4.0 compares MPI_UINT64_T as signed

std::uint64_t hash(std::string_view text) {  // FNV-1a
  std::uint64_t h = 0xcbf29ce484222325ULL;
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return (h >> 2) & kMostHash;
}

class Collective {
 public:
  Collective(MPI_Comm comm, double seconds) : comm_(comm), seconds_(seconds) {
    check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  }

  std::vector<std::uint64_t> greatest(const std::vector<std::uint64_t>& mine) const {
    std::vector<std::uint64_t> all(mine.size());
    MPI_Request request;
    const int count = static_cast<int>(mine.size());
    check_mpi(MPI_Iallreduce(mine.data(), all.data(), count, MPI_UINT64_T, MPI_MAX, comm_, &request), "MPI_Iallreduce");
    complete(request, seconds_, "MPI_Iallreduce");
    return all;
  }

  // What rank `from` says.
  std::string words(int from, const std::string& mine) const {
    std::array<char, kMostText> text{};
    if (rank == from) mine.copy(text.data(), kMostText - 1);
    MPI_Request request;
    check_mpi(MPI_Ibcast(text.data(), static_cast<int>(kMostText), MPI_CHAR, from, comm_, &request), "MPI_Ibcast");
    complete(request, seconds_, "MPI_Ibcast");
    return text.data();
  }

  int rank = 0;
  int size = 0;

 private:
  MPI_Comm comm_;
  double seconds_;
};

}  // namespace

void check_mpi(int code, std::string_view call, index_t peer) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING + 1> words{};
  int length = 0;
  if (MPI_Error_string(code, words.data(), &length) != MPI_SUCCESS) length = 0;
  const std::string with = peer >= 0 ? fmt::format(" with rank {}", peer) : "";
  throw MpiError(fmt::format("distributed pool: {}{} failed with code {}: {}", call, with, code,
                             std::string_view(words.data(), static_cast<std::size_t>(length))),
                 code, peer);
}

bool mpi_runs() {
  int began = 0, ended = 0;
  MPI_Initialized(&began);
  if (began != 0) MPI_Finalized(&ended);
  return began != 0 && ended == 0;
}

void complete(MPI_Request& request, double seconds, std::string_view call) {
  Patience patience(seconds);
  int done = 0;
  while (true) {
    check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), call);
    if (done != 0) return;
    if (!patience.wait()) {
      throw Error(
          fmt::format("distributed pool: every rank must join {} within {} s, but not all have", call, seconds));
    }
  }
}

OwnComm duplicate(MPI_Comm comm, double seconds) {
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Request request;
  check_mpi(MPI_Comm_idup(comm, &copy, &request), "MPI_Comm_idup");
  complete(request, seconds, "MPI_Comm_idup");
  OwnComm own(copy);
  check_mpi(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return own;
}

void agree(MPI_Comm comm, const std::vector<Aspect>& aspects, const std::string& failure, double seconds) {
  const Collective ranks(comm, seconds);
  const std::uint64_t size = static_cast<std::uint64_t>(ranks.size), self = static_cast<std::uint64_t>(ranks.rank);
  std::vector<std::uint64_t> mine;
  for (const Aspect& a : aspects) mine.insert(mine.end(), {hash(a.text), kMostHash - hash(a.text)});
  mine.push_back(failure.empty() ? 0 : size - self);  // the first rank that fails has the greatest
  const std::vector<std::uint64_t> most = ranks.greatest(mine);
  for (std::size_t a = 0; a < aspects.size(); ++a) {
    if (most[2 * a] == kMostHash - most[2 * a + 1]) continue;  // the greatest and the least
    const std::string first = ranks.words(0, aspects[a].text);
    // Long texts are cut: hashes tell who differs.
    const std::uint64_t of_first = ranks.greatest({ranks.rank == 0 ? mine[2 * a] : 0})[0];
    const std::uint64_t other = size - ranks.greatest({mine[2 * a] != of_first ? size - self : 0})[0];
    const std::string second = ranks.words(static_cast<int>(other), aspects[a].text);
    throw Error(fmt::format("distributed pool: every rank must give the same {}, but rank 0 gives {} and rank {} {}",
                            aspects[a].name, first, other, second));
  }
  if (most.back() != 0) {
    const std::uint64_t who = size - most.back();
    throw Error(fmt::format("distributed pool: rank {} says: {}", who, ranks.words(static_cast<int>(who), failure)));
  }
}

void all_succeed(MPI_Comm comm, double seconds, const std::function<void()>& step) {
  std::exception_ptr own;
  std::string failure;
  try {
    step();
  } catch (const Error& e) {
    own = std::current_exception();
    failure = e.what();
  }
  try {
    agree(comm, {}, failure, seconds);
  } catch (const Error&) {
    if (own != nullptr) std::rethrow_exception(own);
    throw;
  }
}

}  // namespace oriel::distributed
