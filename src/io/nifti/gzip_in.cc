#include "io/nifti/gzip_in.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>

namespace oriel::io::nifti {
namespace {

constexpr index_t kInput = index_t{1} << 16;
constexpr index_t kFirstApart = index_t{1} << 20;

}  // namespace

void GzipIn::End::operator()(State* state) const {
  ::inflateEnd(&state->z);
  delete state;
}

GzipIn::GzipIn(const std::string& path)
    : file_(path, O_RDONLY, path), in_(static_cast<std::size_t>(kInput)), now_(first_state()), apart_(kFirstApart) {}

GzipIn::~GzipIn() = default;

void GzipIn::fail(const std::string& what) const { throw Error(fmt::format("{}: {}", file_.file(), what)); }

GzipIn::StatePointer GzipIn::first_state() {
  constexpr int gzip = 15 + 16;  // windows of 32 KiB, gzip's header and checksum
  StatePointer state(new State);
  if (::inflateInit2(&state->z, gzip) != Z_OK) throw std::bad_alloc();
  return state;
}

GzipIn::StatePointer GzipIn::copy_of(const State& state) const {
  StatePointer copy(new State);
  copy->out = state.out;
  copy->in = state.in - static_cast<index_t>(state.z.avail_in);  // those are read again
  copy->ended = state.ended;
  if (::inflateCopy(&copy->z, const_cast<z_stream*>(&state.z)) != Z_OK) throw std::bad_alloc();
  copy->z.avail_in = 0;
  return copy;
}

index_t GzipIn::most_bytes() const {
  constexpr index_t deflate_at_most = 1032;
  return std::min(file_.size(), index_t{1} << 50) * deflate_at_most;
}

// Whether there is more input.
bool GzipIn::fill() {
  z_stream& z = now_->z;
  if (z.avail_in > 0) return true;
  const index_t got = file_.read(in_.data(), kInput, now_->in);
  now_->in += got;
  z.next_in = reinterpret_cast<Bytef*>(in_.data());
  z.avail_in = static_cast<uInt>(got);
  return got > 0;
}

// What follows a member is another one, or does not count.
bool GzipIn::next_member() {
  constexpr std::array<Bytef, 2> magic{0x1f, 0x8b};
  z_stream& z = now_->z;
  for (const Bytef wanted : magic) {  // looked at, not taken
    if (!fill() || *z.next_in != wanted) return false;
    ++z.next_in;
    --z.avail_in;
  }
  if (::inflateReset(&z) != Z_OK) return false;
  std::array<Bytef, 2> again = magic;
  Bytef* const next = z.next_in;
  const uInt left = z.avail_in;
  z.next_in = again.data();
  z.avail_in = static_cast<uInt>(again.size());
  std::array<Bytef, 1> none{};
  z.next_out = none.data();
  z.avail_out = 0;
  ::inflate(&z, Z_NO_FLUSH);
  z.next_in = next;
  z.avail_in = left;
  now_->ended = false;
  return true;
}

// The bytes that came, at least one unless the stream has ended.
index_t GzipIn::inflate_some(std::byte* to, index_t count) {
  z_stream& z = now_->z;
  constexpr index_t most = index_t{1} << 20;
  for (;;) {
    if (now_->ended && !next_member()) return 0;
    if (!fill()) fail("the gzip stream is cut off");
    const auto room = static_cast<uInt>(std::min(count, most));
    z.next_out = reinterpret_cast<Bytef*>(to);
    z.avail_out = room;
    const int status = ::inflate(&z, Z_NO_FLUSH);
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
      fail(fmt::format("the gzip stream is damaged after {} bytes: {}", now_->out,
                       z.msg != nullptr ? z.msg : "unknown error"));
    now_->ended = status == Z_STREAM_END;
    const auto got = static_cast<index_t>(room - z.avail_out);
    now_->out += got;
    work_ += got;
    if (got > 0) return got;
  }
}

// When there are too many, each second one is given up.
void GzipIn::keep_state() {
  if (now_->ended || now_->out < (kept_.empty() ? 0 : kept_.back()->out) + apart_) return;
  if (kept_.size() == kMostStates) {
    std::size_t left = 0;
    for (std::size_t i = 1; i < kept_.size(); i += 2) std::swap(kept_[left++], kept_[i]);
    kept_.resize(left);
    apart_ *= 2;
    return keep_state();
  }
  kept_.push_back(copy_of(*now_));
}

void GzipIn::go_to(index_t at) {
  const auto after = std::upper_bound(kept_.begin(), kept_.end(), at,
                                      [](index_t place, const StatePointer& state) { return place < state->out; });
  const State* const before = after == kept_.begin() ? nullptr : std::prev(after)->get();
  if (at < now_->out || (before != nullptr && before->out > now_->out))
    now_ = before != nullptr ? copy_of(*before) : first_state();
  constexpr std::size_t piece = std::size_t{1} << 15;
  std::array<std::byte, piece> passed{};
  while (now_->out < at) {
    if (inflate_some(passed.data(), std::min<index_t>(at - now_->out, piece)) == 0) return;
    keep_state();
  }
}

index_t GzipIn::read(void* to, index_t count, index_t at) {
  go_to(at);
  if (now_->out != at) return 0;
  index_t done = 0;
  while (done < count) {
    const index_t got = inflate_some(static_cast<std::byte*>(to) + done, count - done);
    if (got == 0) break;
    done += got;
    keep_state();
  }
  return done;
}

void GzipIn::check_end(index_t at) {
  if (now_->out != at || now_->ended) return;
  std::byte next{};
  inflate_some(&next, 1);
}

}  // namespace oriel::io::nifti
