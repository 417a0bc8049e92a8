#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "apps/portrait/image/pooling.h"
#include "apps/portrait/image/resize.h"
#include "apps/portrait/image/rows.h"
#include "oriel/window.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "apps/portrait/matte/closed_form.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "apps/portrait/matte/closed_form.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::portrait {
namespace HWY_NAMESPACE {
namespace {

constexpr index_t kLanes = 16;             // neighbours in a row that are computed together
constexpr index_t kReach = 2;              // pixels that share a 3x3 window are at most so far apart
constexpr index_t kSide = 2 * kReach + 1;  // of the stencil
constexpr index_t kStencil = kSide * kSide;
constexpr index_t kGroup = 64;  // runs whose products are summed first: the order of a sum is fixed

using Lanes = float[kLanes];

// Rows with room around them, so that a stencil reads inside wherever its middle is.
class Padded {
 public:
  Padded(index_t height, index_t width)
      : pitch_(ceil_div(width, kLanes) * kLanes + 2 * kLanes),
        values_(static_cast<std::size_t>((height + 2 * kReach) * pitch_)) {}
  float* at(index_t y, index_t x) { return values_.data() + (y + kReach) * pitch_ + kLanes + x; }
  const float* at(index_t y, index_t x) const { return values_.data() + (y + kReach) * pitch_ + kLanes + x; }
  index_t pitch() const { return pitch_; }

 private:
  index_t pitch_;
  std::vector<float> values_;
};

// kLanes neighbours in a row, at least one of them unknown.
struct Run {
  index_t y, x;
  Lanes unknown;  // 1 or 0
};

// Statistics of the 3x3 windows around kLanes pixels: mean colour, LDL^T of the covariance, a ninth where the window is
// inside the image.
struct Windows {
  Lanes mean[3], l1, l2, l3, inverse[3], ninth;
};

// One step of LDL^T, of all lanes. In exact arithmetic no pivot is below `least`, the variance that epsilon adds.
void factor(Windows& w, const Lanes (&c)[6], float least) {
  for (index_t i = 0; i < kLanes; ++i) {
    const float rr = c[0][i], rg = c[1][i], rb = c[2][i], gg = c[3][i], gb = c[4][i], bb = c[5][i];
    const float l1 = rg / rr, l2 = rb / rr;
    const float d1 = std::max(gg - l1 * rg, least);
    const float l3 = (gb - l2 * rg) / d1;
    w.l1[i] = l1;
    w.l2[i] = l2;
    w.l3[i] = l3;
    w.inverse[0][i] = 1 / rr;
    w.inverse[1][i] = 1 / d1;
    w.inverse[2][i] = 1 / std::max(bb - l2 * rb - l3 * l3 * d1, least);
  }
}

class Laplacian {
 public:
  Laplacian(const MattingProblem& problem, float epsilon, int threads)
      : height_(problem.colours.height),
        width_(problem.colours.width),
        threads_(threads),
        pad_(height_, width_),
        colours_{pad_, pad_, pad_} {
    for_rows(height_, threads, [&](index_t begin, index_t end) {
      for (index_t c = 0; c < 3; ++c)
        for (index_t y = begin; y < end; ++y)
          std::copy_n(problem.colours.row(c, y), width_, colours_[static_cast<std::size_t>(c)].at(y, 0));
    });
    find_runs(problem.trimap);
    weights_ = std::make_unique_for_overwrite<Lanes[]>(runs_.size() * kStencil);
    fill_windows(epsilon);
    each_run([&](std::size_t r) { fill_weights(r); });
    windows_.reset();
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      const float* const weight = problem.weight.row(0, runs_[r].y) + runs_[r].x;
      float* const middle = weights_[r * kStencil + kStencil / 2];
      for (index_t i = 0; i < std::min(kLanes, width_ - runs_[r].x); ++i) middle[i] += weight[i];
    }
  }

  const std::vector<Run>& runs() const { return runs_; }
  const float* diagonal(std::size_t run) const { return weights_[run * kStencil + kStencil / 2]; }
  index_t height() const { return height_; }
  index_t width() const { return width_; }

  // Row after row of the matrix times `x`, for one run.
  void product(std::size_t run, const Padded& x, Lanes& out) const {
    const float* const from = x.at(runs_[run].y - kReach, runs_[run].x - kReach);
    const Lanes* const weight = &weights_[run * kStencil];
    Lanes sum = {};
    for (index_t v = 0; v < kSide; ++v)
      for (index_t u = 0; u < kSide; ++u) {
        const float* const w = weight[v * kSide + u];
        const float* const in = from + v * x.pitch() + u;
        for (index_t i = 0; i < kLanes; ++i) sum[i] += w[i] * in[i];
      }
    std::copy_n(sum, kLanes, out);
  }

  template <class F>
  void each_run(const F& f) const {
    const auto count = static_cast<index_t>(runs_.size());
    for_rows(ceil_div(count, kGroup), threads_, [&](index_t begin, index_t end) {
      for (index_t r = begin * kGroup; r < std::min(end * kGroup, count); ++r) f(static_cast<std::size_t>(r));
    });
  }

 private:
  void find_runs(const Planes& trimap) {
    columns_ = ceil_div(width_, kLanes);
    windows_at_.assign(static_cast<std::size_t>((height_ + 2) * (columns_ + 2)), -1);
    for (index_t y = 0; y < height_; ++y)
      for (index_t c = 0; c < columns_; ++c) {
        Run run{y, c * kLanes, {}};
        const float* const t = trimap.row(0, y) + run.x;
        bool any = false;
        for (index_t i = 0; i < std::min(kLanes, width_ - run.x); ++i) {
          const bool unknown = !(t[i] <= 0) && !(t[i] >= 1);
          run.unknown[i] = unknown ? 1.0F : 0.0F;
          any = any || unknown;
        }
        if (!any) continue;
        runs_.push_back(run);
        for (index_t v = y; v <= y + 2; ++v)
          for (index_t u = c; u <= c + 2; ++u) windows_at_[static_cast<std::size_t>(v * (columns_ + 2) + u)] = 0;
      }
    for (auto& at : windows_at_)
      if (at == 0) at = window_count_++;
  }

  // Of the windows around pixels (y, x) and following; every one of them may be asked for by a run.
  const Windows& windows(index_t y, index_t column) const {
    return windows_[static_cast<std::size_t>(
        windows_at_[static_cast<std::size_t>((y + 1) * (columns_ + 2) + column + 1)])];
  }

  void fill_windows(float epsilon) {
    windows_ = std::make_unique_for_overwrite<Windows[]>(static_cast<std::size_t>(window_count_));
    for_rows(height_ + 2, threads_, [&](index_t begin, index_t end) {
      for (index_t v = begin; v < end; ++v)
        for (index_t u = 0; u < columns_ + 2; ++u)
          if (const index_t at = windows_at_[static_cast<std::size_t>(v * (columns_ + 2) + u)]; at >= 0)
            fill(windows_[static_cast<std::size_t>(at)], v - 1, (u - 1) * kLanes, epsilon);
    });
  }

  void fill(Windows& w, index_t y, index_t x, float epsilon) const {
    const bool row_inside = y >= 1 && y + 1 < height_;
    bool any = false;
    for (index_t i = 0; i < kLanes; ++i) {
      const bool inside = row_inside && x + i >= 1 && x + i + 1 < width_;
      w.ninth[i] = inside ? 1.0F / 9 : 0.0F;
      any = any || inside;
    }
    if (!any) {
      w = Windows{};
      return;
    }
    Lanes covariance[6] = {};
    for (std::size_t c = 0; c < 3; ++c) {
      Lanes sum = {};
      for (index_t v = -1; v <= 1; ++v)
        for (index_t u = -1; u <= 1; ++u) {
          const float* const in = colours_[c].at(y + v, x + u);
          for (index_t i = 0; i < kLanes; ++i) sum[i] += in[i];
        }
      for (index_t i = 0; i < kLanes; ++i) w.mean[c][i] = sum[i] / 9;
    }
    for (index_t v = -1; v <= 1; ++v)
      for (index_t u = -1; u <= 1; ++u) {
        const float* const r = colours_[0].at(y + v, x + u);
        const float* const g = colours_[1].at(y + v, x + u);
        const float* const b = colours_[2].at(y + v, x + u);
        for (index_t i = 0; i < kLanes; ++i) {
          const float dr = r[i] - w.mean[0][i], dg = g[i] - w.mean[1][i], db = b[i] - w.mean[2][i];
          covariance[0][i] += dr * dr;
          covariance[1][i] += dr * dg;
          covariance[2][i] += dr * db;
          covariance[3][i] += dg * dg;
          covariance[4][i] += dg * db;
          covariance[5][i] += db * db;
        }
      }
    for (const std::size_t k : {0U, 1U, 2U, 3U, 4U, 5U})
      for (index_t i = 0; i < kLanes; ++i)
        covariance[k][i] = (covariance[k][i] + (k == 0 || k == 3 || k == 5 ? epsilon : 0)) / 9;
    factor(w, covariance, epsilon / 9);
  }

  // The stencil of one run: the sum over the nine windows that hold its middle.
  void fill_weights(std::size_t run) {
    const index_t y = runs_[run].y, x = runs_[run].x;
    Lanes* const weight = &weights_[run * kStencil];
    std::fill_n(&weight[0][0], kStencil * kLanes, 0.0F);
    Lanes away[3][kStencil];
    for (std::size_t c = 0; c < 3; ++c)
      for (index_t o = 0; o < kStencil; ++o) {
        const float* const middle = colours_[c].at(y, x);
        const float* const in = colours_[c].at(y + o / kSide - kReach, x + o % kSide - kReach);
        for (index_t i = 0; i < kLanes; ++i) away[c][o][i] = in[i] - middle[i];
      }
    for (index_t v = -1; v <= 1; ++v) {
      // The windows of this row, and their neighbours' at both ends, side by side.
      float row[10][3 * kLanes];
      for (index_t part = 0; part < 3; ++part) {
        const Windows& w = windows(y + v, x / kLanes + part - 1);
        const float* const planes[10] = {w.mean[0], w.mean[1],    w.mean[2],    w.l1,         w.l2,
                                         w.l3,      w.inverse[0], w.inverse[1], w.inverse[2], w.ninth};
        for (std::size_t k = 0; k < 10; ++k) std::copy_n(planes[k], kLanes, row[k] + part * kLanes);
      }
      for (index_t u = -1; u <= 1; ++u) add_window(y, x, v, u, row, away, weight);
    }
  }

  void add_window(index_t y, index_t x, index_t v, index_t u, const float (&row)[10][3 * kLanes],
                  const Lanes (&away)[3][kStencil], Lanes* weight) const {
    const float* w[10];
    for (std::size_t k = 0; k < 10; ++k) w[k] = row[k] + kLanes + u;
    const float* const r = colours_[0].at(y, x);
    const float* const g = colours_[1].at(y, x);
    const float* const b = colours_[2].at(y, x);
    Lanes slope[3], own;
    for (index_t i = 0; i < kLanes; ++i) {
      const float d0 = r[i] - w[0][i], d1 = g[i] - w[1][i], d2 = b[i] - w[2][i];
      const float z1 = d1 - w[3][i] * d0;
      const float z2 = d2 - w[4][i] * d0 - w[5][i] * z1;
      const float s2 = z2 * w[8][i];
      const float s1 = z1 * w[7][i] - w[5][i] * s2;
      const float s0 = d0 * w[6][i] - w[3][i] * s1 - w[4][i] * s2;
      slope[0][i] = s0;
      slope[1][i] = s1;
      slope[2][i] = s2;
      own[i] = 1 + s0 * d0 + s1 * d1 + s2 * d2;
    }
    for (index_t p = -1; p <= 1; ++p)
      for (index_t q = -1; q <= 1; ++q) {
        const index_t o = (v + p + kReach) * kSide + u + q + kReach;
        float* const to = weight[o];
        for (index_t i = 0; i < kLanes; ++i)
          to[i] -= w[9][i] *
                   (own[i] + slope[0][i] * away[0][o][i] + slope[1][i] * away[1][o][i] + slope[2][i] * away[2][o][i]);
      }
    float* const middle = weight[kStencil / 2];
    for (index_t i = 0; i < kLanes; ++i) middle[i] += 9 * w[9][i];
  }

  index_t height_, width_;
  int threads_;
  Padded pad_;
  Padded colours_[3];
  index_t columns_ = 0, window_count_ = 0;
  std::vector<Run> runs_;
  std::vector<index_t> windows_at_;  // by row and column of runs, each with one more around; -1: none
  std::unique_ptr<Windows[]> windows_;
  std::unique_ptr<Lanes[]> weights_;  // [run][kStencil][kLanes]
};

// Conjugate gradients, preconditioned by the diagonal, on the unknown values alone.
class Solver {
 public:
  Solver(const Laplacian& matrix, const MattingProblem& problem, const Planes& start)
      : matrix_(matrix),
        solution_(matrix.height(), matrix.width()),
        direction_(matrix.height(), matrix.width()),
        runs_(std::make_unique_for_overwrite<State[]>(matrix.runs().size())),
        sums_(static_cast<std::size_t>(ceil_div(static_cast<index_t>(matrix.runs().size()), kGroup))) {
    for (index_t y = 0; y < matrix.height(); ++y) {
      const float* const trimap = problem.trimap.row(0, y);
      const float* const from = start.row(0, y);
      float* const to = solution_.at(y, 0);
      for (index_t x = 0; x < matrix.width(); ++x) to[x] = trimap[x] >= 1 ? 1 : (trimap[x] <= 0 ? 0 : from[x]);
    }
    matrix.each_run([&](std::size_t r) { begin(r, problem); });
  }

  void iterate(int count) {
    double now = sum([&](std::size_t r, Lanes& terms) {
      const State& s = runs_[r];
      for (index_t i = 0; i < kLanes; ++i) terms[i] = s.rest[i] * s.rest[i] * s.inverse[i];
    });
    float keep = 0;
    for (int step = 0; step < count && now > 1e-12; ++step) {
      matrix_.each_run([&](std::size_t r) { turn(r, keep); });
      const double bent = sum([&](std::size_t r, Lanes& terms) { multiply(r, terms); });
      if (!(bent > 0)) return;
      const auto far = static_cast<float>(now / bent);
      const double next = sum([&](std::size_t r, Lanes& terms) { advance(r, far, terms); });
      keep = static_cast<float>(next / now);
      now = next;
    }
  }

  Planes take(const Planes& trimap) const {
    Planes alpha(1, matrix_.height(), matrix_.width());
    for (index_t y = 0; y < alpha.height; ++y) {
      const float* const known = trimap.row(0, y);
      const float* const from = solution_.at(y, 0);
      float* const to = alpha.row(0, y);
      for (index_t x = 0; x < alpha.width; ++x)
        to[x] = known[x] >= 1 ? 1 : (known[x] <= 0 ? 0 : std::clamp(from[x], 0.0F, 1.0F));
    }
    return alpha;
  }

 private:
  struct State {
    Lanes rest, product, inverse;  // right side less matrix times solution; matrix times direction; of the diagonal
  };

  void begin(std::size_t r, const MattingProblem& problem) {
    constexpr float least = 1e-9F;
    const Run& run = matrix_.runs()[r];
    State& s = runs_[r];
    s = {};
    Lanes product;
    matrix_.product(r, solution_, product);
    const float* const guess = problem.guess.row(0, run.y) + run.x;
    const float* const weight = problem.weight.row(0, run.y) + run.x;
    for (index_t i = 0; i < std::min(kLanes, matrix_.width() - run.x); ++i) {
      s.rest[i] = run.unknown[i] * (weight[i] * guess[i] - product[i]);
      s.inverse[i] = 1 / std::max(matrix_.diagonal(r)[i], least);
    }
  }

  void turn(std::size_t r, float keep) {
    const Run& run = matrix_.runs()[r];
    const State& s = runs_[r];
    float* const d = direction_.at(run.y, run.x);
    for (index_t i = 0; i < kLanes; ++i) d[i] = s.rest[i] * s.inverse[i] + keep * d[i];
  }

  void multiply(std::size_t r, Lanes& terms) {
    const Run& run = matrix_.runs()[r];
    State& s = runs_[r];
    matrix_.product(r, direction_, s.product);
    const float* const d = direction_.at(run.y, run.x);
    for (index_t i = 0; i < kLanes; ++i) {
      s.product[i] *= run.unknown[i];
      terms[i] = s.product[i] * d[i];
    }
  }

  void advance(std::size_t r, float far, Lanes& terms) {
    const Run& run = matrix_.runs()[r];
    State& s = runs_[r];
    const float* const d = direction_.at(run.y, run.x);
    float* const x = solution_.at(run.y, run.x);
    for (index_t i = 0; i < kLanes; ++i) {
      x[i] += far * d[i];
      s.rest[i] -= far * s.product[i];
      terms[i] = s.rest[i] * s.rest[i] * s.inverse[i];
    }
  }

  // The sum of terms of all unknown values in one order: of lanes, of runs, of groups.
  template <class F>
  double sum(const F& terms_of) {
    std::fill(sums_.begin(), sums_.end(), 0.0);
    matrix_.each_run([&](std::size_t r) {
      Lanes terms;
      terms_of(r, terms);
      for (index_t half = kLanes / 2; half > 0; half /= 2)
        for (index_t i = 0; i < half; ++i) terms[i] += terms[i + half];
      sums_[r / kGroup] += static_cast<double>(terms[0]);
    });
    double all = 0;
    for (const double part : sums_) all += part;
    return all;
  }

  const Laplacian& matrix_;
  Padded solution_, direction_;
  std::unique_ptr<State[]> runs_;
  std::vector<double> sums_;  // of kGroup runs each
};

// Means over 2x2, in which what is not known for all four is unknown.
MattingProblem halved(const MattingProblem& p, int threads) {
  MattingProblem half{stepped(p.colours, 2, threads), p.trimap, stepped(p.guess, 2, threads),
                      stepped(p.weight, 2, threads)};
  for (float& t : half.trimap.values) t = t >= 1 ? 1.0F : (t <= 0 ? 0.0F : 0.5F);
  half.trimap = stepped(half.trimap, 2, threads);
  return half;
}

Planes solve(const MattingProblem& problem, const MattingOptions& o, int iterations, int threads) {
  const index_t height = problem.colours.height, width = problem.colours.width;
  const Laplacian matrix(problem, o.epsilon, threads);
  if (matrix.runs().empty()) return Solver(matrix, problem, problem.guess).take(problem.trimap);
  Planes start = problem.guess;
  if (std::min(height, width) >= 2 * o.least_side)
    start = resized(solve(halved(problem, threads), o, iterations + iterations / 2, threads), height, width, threads);
  Solver solver(matrix, problem, start);
  solver.iterate(iterations);
  return solver.take(problem.trimap);
}

}  // namespace

Planes matte_of(const MattingProblem& problem, const MattingOptions& options, int threads) {
  return solve(problem, options, options.iterations, threads);
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::portrait
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oriel::portrait {
namespace {

HWY_EXPORT(matte_of);

void check(const MattingProblem& p) {
  const auto fits = [&](const Planes& x) {
    return x.count == 1 && x.height == p.colours.height && x.width == p.colours.width;
  };
  if (p.colours.count != 3 || !fits(p.trimap) || !fits(p.guess) || !fits(p.weight))
    throw Error(fmt::format(
        "matting: the colours are {}x{}x{} values and the trimap {}x{}x{}; allowed: 3 and 1 planes "
        "of one size, as of guess and weight",
        p.colours.count, p.colours.height, p.colours.width, p.trimap.count, p.trimap.height, p.trimap.width));
}

}  // namespace

Planes closed_form_matte(const MattingProblem& problem, const MattingOptions& options, int threads) {
  check(problem);
  return HWY_DYNAMIC_DISPATCH(matte_of)(problem, options, threads);
}

}  // namespace oriel::portrait
#endif
