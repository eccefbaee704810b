// A program for two processes, each of which computes two of four shards.
#include <cstdio>

#include <gradus/gradus.h>
#include <gradus/train/distributed/mpi/mpi.h>
#include <gradus/train/distributed/shards.h>

int main() {
  gradus::distributed::Mpi processes;
  gradus::nn::Linear model(1, 1);
  gradus::optim::SGD optimizer(model.parameters(), {.lr = 1});
  gradus::distributed::Shards shards(model, optimizer, processes, 4);
  const double before = model.weight.item();
  bool stop = false;
  // The gradients are 0, 1, 2 and 3, whose mean is 1.5.
  shards.gradients(
      0, [&](std::int64_t shard) { return gradus::sum(model.weight) * static_cast<double>(shard); },
      stop);
  shards.update({}, 0);
  const double change = model.weight.item() - before;
  std::printf("rank %d of %d: the weight changed by %g\n", processes.rank(), processes.size(),
              change);
  return change > -1.51 && change < -1.49 ? 0 : 1;
}
