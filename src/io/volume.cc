#include "io/volume.h"

#include <algorithm>
#include <cstring>

namespace oriel::io {
namespace {

class ArrayVolume : public VolumeIn {
 public:
  explicit ArrayVolume(Array array) : array_(std::move(array)) {
    dtype = array_.view.dtype;
    shape = array_.view.shape;
    part = array_.part;
    picture = array_.picture;
    for (int a = 0; a < shape.size(); ++a) order.push_back(a);
  }

  void read(const Extents& begin, const Tensor& to) override {
    ConstTensor box = array_.view;
    const auto* first = static_cast<const std::byte*>(box.data);
    for (int a = 0; a < shape.size(); ++a) first += begin[a] * box.pitch[a] * size_bytes(dtype);
    box.data = first;
    box.shape = to.shape;
    copy(box, to);
  }

 private:
  Array array_;
};

}  // namespace

std::optional<Hdf5Path> split_hdf5_path(const std::string& path) {
  for (const std::string_view ending : {".h5", ".hdf5"}) {
    if (path.ends_with(ending)) return Hdf5Path{path, ""};
    const std::size_t at = path.rfind(std::string(ending) + ":");
    if (at == std::string::npos) continue;
    const std::size_t colon = at + ending.size();
    std::string dataset = path.substr(colon + 1);
    if (!dataset.starts_with('/')) dataset.insert(dataset.begin(), '/');
    return Hdf5Path{path.substr(0, colon), dataset};
  }
  return std::nullopt;
}

std::string normal_hdf5_name(const std::string& dataset) {
  std::string name;
  for (std::size_t begin = 0; begin < dataset.size();) {
    const std::size_t end = std::min(dataset.find('/', begin), dataset.size());
    const std::string part = dataset.substr(begin, end - begin);
    if (!part.empty() && part != ".") name += "/" + part;
    begin = end + 1;
  }
  return name.empty() && !dataset.empty() ? "/" : name;
}

Extents default_chunk(const Extents& shape, Dtype dtype) {
  constexpr index_t most = index_t{1} << 20;
  Extents chunk;
  for (const index_t n : shape) chunk.push_back(std::max<index_t>(n, 1));
  for (;;) {
    index_t left = most / size_bytes(dtype);
    for (const index_t n : chunk) left /= n;
    if (left > 0) return chunk;
    index_t* const longest = std::max_element(chunk.begin(), chunk.end());
    *longest = (*longest + 1) / 2;
  }
}

void for_each_run(const Extents& shape, const Extents& order, const Extents& begin, const Extents& box,
                  const std::function<void(index_t, index_t, index_t)>& run) {
  if (element_count(box) == 0) return;
  const Extents pitch = dense_pitch(shape, order);
  int outer = order.size();  // axes order[outer…] form one run
  index_t count = 1;
  while (outer > 0) {
    const int a = static_cast<int>(order[--outer]);
    count *= box[a];
    if (box[a] != shape[a]) break;
  }
  index_t at = 0;
  for (int a = 0; a < shape.size(); ++a) at += begin[a] * pitch[a];
  Extents step = Extents::filled(shape.size(), 0);
  for (index_t done = 0;; done += count) {
    run(at, done, count);
    int d = outer - 1;
    for (; d >= 0; --d) {
      const int a = static_cast<int>(order[d]);
      at += pitch[a];
      if (++step[a] < box[a]) break;
      at -= pitch[a] * box[a];
      step[a] = 0;
    }
    if (d < 0) return;
  }
}

std::unique_ptr<VolumeIn> volume_of(Array array) { return std::make_unique<ArrayVolume>(std::move(array)); }

}  // namespace oriel::io
