// An image whose rows are divided among the ranks of MPI: each pools its own, and gets the gradient of its own.
// mpirun -n 4 example_mpi_rows
#include <mpi.h>

#include <cstdio>
#include <vector>

#include "oriel/distributed/mpi.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  {
    using namespace oriel;
    const Problem problem = parse_problem("max:f32:1x1x64x8:k3x3s2p1");  // of the whole image
    const auto inputs = distributed::Partition::balanced(problem.shape, {1, 1, ranks, 1});
    auto pool = distributed::make_mpi_pool(problem, inputs, centred_outputs(problem, inputs), MPI_COMM_WORLD);

    const Extents in = pool.local().inputs().shape(), out = pool.local().outputs().shape();
    std::vector<float> x, y(static_cast<std::size_t>(element_count(out))), dy(y.size(), 1), dx;
    for (index_t i = 0; i < element_count(in); ++i) {
      x.push_back(static_cast<float>((pool.local().inputs().begin[2] * 8 + i) * 37 % 101));
    }
    dx.resize(x.size());
    std::vector<std::int64_t> places(y.size());
    const Tensor taps(places.data(), out);
    pool.forward({.x = {x, in}, .y = {y, out}, .indices = taps, .space = IndexSpace::window});
    pool.backward({.dy = {dy, out}, .indices = taps, .space = IndexSpace::window, .dx = {dx, in}});

    double mine[2] = {0, 0}, sum[2];
    for (float v : y) mine[0] += v;
    for (float v : dx) mine[1] += v;
    MPI_Reduce(mine, sum, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) std::printf("sum of outputs %.0f, of gradients %.0f\n", sum[0], sum[1]);
  }
  MPI_Finalize();
}
