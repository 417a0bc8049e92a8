#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "distributed/mpi/channels.h"

namespace oriel::distributed {
namespace {

MPI_Comm handle_of(const Communicator& comm) {
  if (comm.size() != sizeof(MPI_Comm)) {
    throw Error(
        fmt::format("distributed pool: comm must be an MPI_Comm of {} bytes, as in the MPI that this library was "
                    "built for, but has {}",
                    sizeof(MPI_Comm), comm.size()));
  }
  MPI_Comm handle;
  std::memcpy(&handle, comm.bits(), sizeof handle);
  return handle;
}

std::string text_of(const Problem& problem) {
  std::string text = to_string(problem);
  for (int a = 0; a < problem.pooled; ++a) {  // of a sliced problem the name does not say all
    const Axis& axis = problem.axis[static_cast<std::size_t>(a)];
    text += fmt::format("{}{}+{}", a == 0 ? " (" : " ", axis.first, axis.out);
  }
  return text + ")";
}

std::string text_of(const Partition& partition) {
  std::string text;
  for (int a = 0; a < partition.rank(); ++a) {
    text += a == 0 ? "[" : " [";
    const std::vector<index_t>& bounds = partition.along(a).bounds();
    for (std::size_t b = 0; b < bounds.size(); ++b) text += (b == 0 ? "" : ",") + std::to_string(bounds[b]);
    text += "]";
  }
  return text;
}

std::string text_of(const MpiOptions& options) {
  std::string text = fmt::format("method {}, messages of {} bytes, {} sharers, passes",
                                 static_cast<int>(options.method), options.most_bytes, options.most_sharers);
  for (Pass pass : options.passes) text += fmt::format(" {}", name(pass));
  const Beside& beside = options.beside;
  if (!beside.mask.empty()) text += ", mask " + to_string(beside.mask);
  if (!beside.weights.empty())
    text += fmt::format(", weights {} {}", name(beside.weights_dtype), to_string(beside.weights));
  return text;
}

class MpiTransport : public Transport {
 public:
  MpiTransport(std::shared_ptr<OwnComm> comm, const MpiOptions& options) : comm_(std::move(comm)), options_(options) {}

  void use(std::shared_ptr<SharedMemory> memory) { memory_ = std::move(memory); }

  void abandon() override { comm_->keep(); }

  std::unique_ptr<Channel> open(Pass pass, LocalPool& pool) override {
    if (memory_ != nullptr) return shared_channel(memory_, comm_->get(), pass, pool, options_);
    pool.allocate(pass);
    const Route route{pool.buffers(pass).send, pool.buffers(pass).receive};
    if (options_.method == MpiMethod::neighbourhood) {
      return std::make_unique<NeighbourhoodChannel>(comm_->get(), route, options_, pool);
    }
    return std::make_unique<PersistentChannel>(comm_->get(), static_cast<int>(pass), route, options_, pool);
  }

 private:
  std::shared_ptr<OwnComm> comm_;
  MpiOptions options_;
  std::shared_ptr<SharedMemory> memory_;
};

void check_options(const MpiOptions& options) {
  if (!(options.deadline > 0)) {
    throw Error(fmt::format("distributed pool: deadline must be > 0 s, but is {}", options.deadline));
  }
  if (options.most_bytes < 1 || options.most_bytes > 0x7fffffff) {
    throw Error(fmt::format("distributed pool: most_bytes must be 1 to 2147483647, but is {}", options.most_bytes));
  }
  if (options.most_sharers < 0) {
    throw Error(fmt::format("distributed pool: most_sharers must be >= 0 (0: all), but is {}", options.most_sharers));
  }
}

// This rank's part. Throws Error for what does not fit.
LocalPool local_part(const Problem& problem, const Partition& inputs, const Partition& outputs, MPI_Comm comm,
                     MpiOptions& options) {
  check_options(options);
  int rank = 0, size = 0;
  check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  if (inputs.ranks() != size) {
    throw Error(fmt::format("distributed pool: the partition must have as many parts as comm has ranks, {}, but has {}",
                            size, inputs.ranks()));
  }
  LocalPool pool(problem, inputs, outputs, rank, options.beside);
  if (options.passes.empty()) {
    options.passes.push_back(Pass::forward);
    if (pool.has(pool.gradient())) options.passes.push_back(pool.gradient());
  }
  std::sort(options.passes.begin(), options.passes.end());
  for (Pass pass : options.passes) (void)pool.buffers(pass);  // throws for one that the pool has not
  return pool;
}

}  // namespace

DistributedPool make_mpi_pool(const Problem& problem, const Partition& inputs, const Partition& outputs,
                              Communicator comm, const MpiOptions& options) {
  if (!mpi_runs()) throw Error("distributed pool: MPI must be initialised and not finalised, but is not");
  const MPI_Comm users = handle_of(comm);
  if (users == MPI_COMM_NULL) throw Error("distributed pool: comm must be a communicator, but is MPI_COMM_NULL");
  MpiOptions used = options;
  const double seconds = options.deadline > 0 ? options.deadline : MpiOptions{}.deadline;
  const auto own = std::make_shared<OwnComm>(duplicate(users, seconds));
  const MPI_Comm handle = own->get();
  std::optional<LocalPool> pool;
  std::string failure;
  try {
    pool.emplace(local_part(problem, inputs, outputs, handle, used));
  } catch (const Error& e) {
    failure = e.what();
  }
  agree(handle,
        {{"version", version()},
         {"problem", text_of(problem)},
         {"partition of the input", text_of(inputs)},
         {"partition of the output", text_of(outputs)},
         {"options", text_of(options)}},
        failure, seconds);
  auto transport = std::make_unique<MpiTransport>(own, used);
  if (used.method == MpiMethod::shared_memory) transport->use(share_memory(handle, *pool, used.passes, used));
  std::optional<DistributedPool> made;
  all_succeed(handle, seconds, [&] { made.emplace(std::move(*pool), std::move(transport), used.passes); });
  return std::move(*made);
}

}  // namespace oriel::distributed
