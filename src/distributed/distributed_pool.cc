#include <fmt/format.h>

#include <array>

#include "oriel/distributed/transport.h"

namespace oriel::distributed {

Channel::~Channel() = default;
Transport::~Transport() = default;

struct DistributedPool::State {
  State(LocalPool p, std::unique_ptr<Transport> t) : pool(std::move(p)), transport(std::move(t)) {}

  ~State() {
    bool abandoned = false;
    for (Way& w : ways) {
      if (w.channel == nullptr || w.phase == Phase::idle) continue;
      w.channel->abandon();
      abandoned = true;
    }
    if (abandoned) transport->abandon();
  }

  enum class Phase : std::uint8_t { idle, started, inside_done, failed };
  struct Way {
    std::unique_ptr<Channel> channel;
    Phase phase = Phase::idle;
    Operands operands;
    Options options;
    Traffic each;  // of one run
  };

  Way& way(Pass pass) {
    Way& w = ways[static_cast<std::size_t>(pass)];
    if (w.channel == nullptr) {
      throw Error(
          fmt::format("distributed pool: the pass must be among those that were opened, but is {}", name(pass)));
    }
    if (w.phase == Phase::failed) {
      throw Error(fmt::format("distributed pool: the {} pass has failed before and must not be used", name(pass)));
    }
    return w;
  }

  // Runs a step; when it throws, the pass is over for good.
  template <class Step>
  static void guarded(Way& w, const Step& step) {
    try {
      step();
    } catch (...) {
      w.phase = Phase::failed;
      throw;
    }
  }

  LocalPool pool;
  std::unique_ptr<Transport> transport;
  std::array<Way, kPasses> ways;  // destroyed first
  Traffic sum;
};

DistributedPool::DistributedPool(LocalPool pool, std::unique_ptr<Transport> transport, const std::vector<Pass>& passes)
    : state_(std::make_unique<State>(std::move(pool), std::move(transport))) {
  std::vector<Pass> opened = passes;
  if (opened.empty()) {
    opened.push_back(Pass::forward);
    if (state_->pool.has(state_->pool.gradient())) opened.push_back(state_->pool.gradient());
  }
  for (Pass pass : opened) {
    State::Way& w = state_->ways[static_cast<std::size_t>(pass)];
    if (w.channel != nullptr) continue;
    w.channel = state_->transport->open(pass, state_->pool);
    w.each = state_->pool.traffic(pass);
  }
}
DistributedPool::~DistributedPool() = default;
DistributedPool::DistributedPool(DistributedPool&&) noexcept = default;
DistributedPool& DistributedPool::operator=(DistributedPool&&) noexcept = default;

LocalPool& DistributedPool::local() { return state_->pool; }
Traffic DistributedPool::traffic() const { return state_->sum; }

void DistributedPool::start(Pass pass, const Operands& operands, const Options& options) {
  State::Way& w = state_->way(pass);
  if (w.phase != State::Phase::idle) {
    throw Error(fmt::format("distributed pool: the {} pass must be finished before it starts again", name(pass)));
  }
  state_->pool.check(pass, operands);
  if (options.threads < 0) {
    throw Error(fmt::format("distributed pool: threads must be >= 0 (0: all), but is {}", options.threads));
  }
  State::guarded(w, [&] {
    w.channel->prepare();
    state_->pool.pack(pass, operands);
    w.channel->start();
  });
  w.operands = operands;
  w.options = options;
  w.phase = State::Phase::started;
}

void DistributedPool::interior(Pass pass) {
  State::Way& w = state_->way(pass);
  if (w.phase != State::Phase::started) {
    throw Error(fmt::format("distributed pool: interior of the {} pass must follow its start", name(pass)));
  }
  State::guarded(w, [&] {
    const auto progress = [](void* channel) { static_cast<Channel*>(channel)->progress(); };
    state_->pool.interior(pass, w.operands, w.options, progress, w.channel.get());
  });
  w.phase = State::Phase::inside_done;
}

void DistributedPool::finish(Pass pass) {
  State::Way& w = state_->way(pass);
  if (w.phase == State::Phase::idle) {
    throw Error(fmt::format("distributed pool: finish of the {} pass must follow its start", name(pass)));
  }
  if (w.phase == State::Phase::started) interior(pass);
  State::guarded(w, [&] {
    w.channel->finish();
    state_->pool.finish(pass, w.operands, w.options);
    w.channel->release();
  });
  state_->sum.messages_sent += w.each.messages_sent;
  state_->sum.messages_received += w.each.messages_received;
  state_->sum.bytes_sent += w.each.bytes_sent;
  state_->sum.bytes_received += w.each.bytes_received;
  w.phase = State::Phase::idle;
}

void DistributedPool::run(Pass pass, const Operands& operands, const Options& options) {
  start(pass, operands, options);
  finish(pass);
}

void DistributedPool::forward(const Operands& operands, const Options& options) {
  run(Pass::forward, operands, options);
}

void DistributedPool::backward(const Operands& operands, const Options& options) {
  run(operands.indices.given() ? Pass::backward_indices
      : operands.x.given()     ? Pass::backward_inputs
                               : Pass::backward,
      operands, options);
}

}  // namespace oriel::distributed
