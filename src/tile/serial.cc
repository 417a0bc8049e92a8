#include "tile/serial.h"

#include <array>
#include <limits>
#include <utility>

#include "tile/element.h"
#include "tile/walk.h"

namespace oriel::tile {

bool is_serial(const Instruction& i) { return i.opcode == Opcode::tensor_tensor_scan || i.opcode == Opcode::max8; }

void insert8(std::span<float, 8> top, float value) {
  for (float& t : top)
    if (value > t || (std::isnan(value) && !std::isnan(t))) std::swap(value, t);
}

namespace {

struct Operand {
  void* data = nullptr;
  Dtype dtype = Dtype::f32;
  Pattern pattern;
  index_t offset = 0;

  index_t place(const Values& at) const {
    index_t flat = offset;
    for (std::size_t a = 0; a < pattern.steps.size(); ++a) flat += pattern.steps[a].stride * at[a];
    return flat;
  }
  float read(const Values& at) const { return load_element(data, dtype, place(at)); }
  void write(const Values& at, index_t further, float value) const {
    store_element(data, dtype, place(at) + further, value);
  }
};

}  // namespace

void run_serial(const Program& program, const Instruction& i, const std::vector<void*>& memory,
                const Values& counters) {
  const auto operand = [&](const Access& access) {
    Operand o{memory[static_cast<std::size_t>(access.tensor)], program.tensor(access.tensor).dtype,
              lower(program, i, access), 0};
    o.offset = o.pattern.offset.at(counters);
    return o;
  };
  std::vector<Operand> sources;
  for (const Access& src : i.src) sources.push_back(operand(src));
  const Operand dst = operand(i.dst);
  for (index_t p = 0; p < i.counts[0]; ++p) {
    Values begin(i.counts.size(), 0), end = i.counts;
    begin[0] = p;
    end[0] = p + 1;
    if (i.opcode == Opcode::max8) {
      std::array<float, 8> top;
      top.fill(-std::numeric_limits<float>::infinity());
      each_index(begin, end, [&](const Values& at) { insert8(top, sources[0].read(at)); });
      for (std::size_t k = 0; k < top.size(); ++k) dst.write(begin, static_cast<index_t>(k), top[k]);
      continue;
    }
    float before = sources.size() > 2 ? sources[2].read(begin) : static_cast<float>(i.scalar);
    each_index(begin, end, [&](const Values& at) {
      before = apply(i.alu1, apply(i.alu, sources[0].read(at), before), sources[1].read(at));
      dst.write(at, 0, before);
    });
  }
}

}  // namespace oriel::tile
