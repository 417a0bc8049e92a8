#include "oriel/pyramid.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "arguments.h"
#include "array.h"
#include "element_copy.h"
#include "faults.h"
#include "pyramid.h"
#include "statistic.h"
#include "text.h"

namespace oriel::python {
namespace {

using namespace nb::literals;

constexpr std::string_view kFunction = "pyramid";

Dtype dtype_named(const std::string& text) {
  constexpr int kDtypes = static_cast<int>(Dtype::boolean) + 1;
  for (int i = 0; i < kDtypes; ++i) {
    if (numpy_name(static_cast<Dtype>(i)) == text) return static_cast<Dtype>(i);
  }
  throw Error(fmt::format("pyramid: dtype must be one of NumPy's numbers, but is '{}'", text));
}

// The pyramid that a dict of the package's own code describes; its keys are all there.
Pyramid read_pyramid(nb::dict d) {
  PythonPool pool;
  pool.pool.op = parse_op(nb::cast<std::string>(d["op"]));
  if (nb::cast<bool>(d["omit_nan"])) pool.pool.nan = NanPolicy::omit;
  Pyramid pyramid;
  pyramid.pool = with_options(pool, d["options"]).pool;
  for (nb::handle step : nb::cast<nb::list>(d["factors"])) {
    pyramid.factors.push_back(read_ints(kFunction, "factors", step));
  }
  pyramid.origin = read_optional_ints(kFunction, "origin", d["origin"]);
  const std::string edge = nb::cast<std::string>(d["edge"]);
  pyramid.edge = edge == "trim" ? Edge::trim : edge == "exact" ? Edge::exact : Edge::partial;
  if (!d["source"].is_none()) {
    const bool base = nb::cast<std::string>(d["source"]) == "base";
    pyramid.source = base ? LevelSource::base : LevelSource::previous;
  }
  return pyramid;
}

// Boxes that a Python function returns, and chunks that another one takes. The interpreter's lock is held for these
// only.
class Functions : public PyramidSource, public PyramidSink {
 public:
  Functions(Dtype dtype, nb::handle read, nb::handle write) : dtype_(dtype), read_(read), write_(write) {}

  void read(const Extents& begin, const Tensor& to) override {
    const nb::gil_scoped_acquire lock;
    Extents end = begin;
    for (int d = 0; d < end.size(); ++d) end[d] += to.shape[d];
    const nb::object box = read_(to_tuple(begin), to_tuple(end));
    const Array array = read_array(kFunction, "the box that was read", box);
    if (array.view.dtype != dtype_ || !(array.view.shape == to.shape)) {
      throw Error(fmt::format("pyramid: a box of x must be {} of {}, but is {} of {}", numpy_name(dtype_),
                              to_string(to.shape), numpy_name(array.view.dtype), to_string(array.view.shape)));
    }
    detail::copy_elements(array.view, to);
  }
  void write(int level, const Extents& begin, const ConstTensor& chunk) override {
    const nb::gil_scoped_acquire lock;
    const Array like = read_array(kFunction, "x", nb::module_::import_("numpy").attr("empty")(1));
    NewArray fresh(like, chunk.dtype, chunk.shape);
    detail::copy_elements(chunk, fresh.view());
    write_(level, to_tuple(begin), fresh.finish());
  }

 private:
  Dtype dtype_;
  nb::handle read_, write_;
};

nb::list levels_of(nb::dict given, nb::handle dtype, nb::handle shape, const std::vector<double>& scale,
                   const std::vector<double>& translation) {
  const Pyramid pyramid = read_pyramid(given);
  const Dtype type = dtype_named(nb::cast<std::string>(dtype));
  nb::list levels;
  for (const PyramidLevel& level : pyramid_levels(pyramid, type, read_shape(kFunction, "shape", shape))) {
    const LevelCoordinates at = level_coordinates(pyramid.pool.op, level, {scale, translation});
    levels.append(nb::make_tuple(std::string(numpy_name(level.dtype)), to_tuple(level.shape), to_tuple(level.factor),
                                 nb::cast(at.scale), nb::cast(at.translation)));
  }
  return levels;
}

nb::dict build(nb::dict given, const std::string& dtype, nb::handle shape, nb::handle read, nb::handle write,
               nb::list chunks, nb::handle source_chunk, bool with_base, int threads, index_t memory) {
  const Pyramid pyramid = read_pyramid(given);
  const Dtype type = dtype_named(dtype);
  const Extents extents = read_shape(kFunction, "shape", shape);
  PyramidOptions options{.threads = threads,
                         .with_base = with_base,
                         .chunks = {},
                         .source_chunk = read_optional_ints(kFunction, "chunks of x", source_chunk),
                         .memory = memory};
  for (nb::handle chunk : chunks) options.chunks.push_back(read_ints(kFunction, "chunks", chunk));
  Functions functions(type, read, write);
  PyramidReport report;
  {
    const nb::gil_scoped_release release;
    report = build_pyramid(pyramid, type, extents, functions, functions, options);
  }
  nb::dict result;
  result["tiles_read"] = report.tiles_read;
  result["chunks_written"] = report.chunks_written;
  result["peak_memory"] = report.peak_memory;
  return result;
}

}  // namespace

void bind_pyramid(nb::module_& m) {
  m.def("pyramid_levels", &levels_of, "pyramid"_a, "dtype"_a, "shape"_a, "scale"_a, "translation"_a,
        "[(dtype, shape, factor, scale, translation)] of all levels, level 0 first.");
  m.def("build_pyramid", &build, "pyramid"_a, "dtype"_a, "shape"_a, "read"_a, "write"_a, "chunks"_a,
        "source_chunk"_a.none(), "with_base"_a, "threads"_a, "memory"_a,
        "Makes the levels: read(begin, end) returns a box of level 0, write(level, begin, chunk) takes chunks.");
  m.def(
      "pyramid_factors",
      [](nb::handle shape, const std::vector<double>& spacing, nb::handle axes, nb::handle most) {
        nb::list factors;
        for (const Extents& step :
             pyramid_factors(read_shape(kFunction, "shape", shape), spacing,
                             read_optional_ints(kFunction, "axes", axes), read_ints(kFunction, "chunks", most))) {
          factors.append(to_tuple(step));
        }
        return factors;
      },
      "shape"_a, "spacing"_a, "axes"_a.none(), "most"_a, "Factors that make elements cubes and the last level small.");
}

}  // namespace oriel::python
