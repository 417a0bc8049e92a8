#include "vectors/names.h"

#include <array>
#include <initializer_list>

#include "oriel/problem.h"

namespace oriel::vectors {
namespace {

using Names = std::vector<std::string>;

constexpr std::array<const char*, 7> kOps = {"max", "min", "avg", "sum", "lp1", "lp2", "lpinf"};
constexpr std::array<const char*, 4> kFloats = {"f32", "f64", "f16", "bf16"};
constexpr std::array<const char*, 9> kWholes = {"i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "bool"};

// Windows that every dtype has: of networks, of one axis, of channels that stand last, by name and by memory.
constexpr const char* kOfAllDtypes[] = {"2x3x6x7:k3x3s2p1", "3x11:k2:axes1", "2x7x6x3:k3s2p1:axes1,2",
                                        "2x3x5x6:k2x2s1:order0,2,3,1"};

// Windows of which each has one floating and one other dtype, in turns.
constexpr const char* kOfSomeDtypes[] = {
    // One axis: long windows, steps, odd tails, dilation, padding on one side, windows that see nothing.
    "9:k3", "9:k3s1", "17:k4s3p2", "40:k7s1p3", "131:k13s1p6", "70:k31s1p15", "300:k9s2", "90:k16s1", "33:k3s2d2p2",
    "14:k4s3p5d3", "12:k3s5", "7:k1s2p1+0d1", "5:k2s1p4+1", "64:k2:ceil", "10:k4s3p1:ceil", "23:k5s4:same",
    "23:k5s4:same_lower", "19:out7", "24:out6", "29:global", "3x131:k5s2p2:axes1", "70x9:k3s1p1:axes0",
    // Two: of networks, overlapping and not, wide and high, unlike sizes, classes of outputs.
    "1x2x12x14:k2x2", "1x2x13x35:k3x3s2p1", "2x2x9x40:k3x3s1p1", "2x9x41:k3x3s2", "1x1x20x21:k7x7s1p3",
    "1x2x15x16:k5x5s1p2", "1x1x40x33:k17x17s3p8", "1x1x5x131:k1x5s1x3", "1x1x30x40:k12x9s1p5x4",
    "1x1x45x20:k10x6s3x1p2x3d2x1", "2x11x12:k3x3s2p1d2", "1x2x7x9:k2x2s3p1:ceil", "1x2x7x8:k3x3s1:same_lower",
    "1x2x7x9:k3x2s2x3:same", "1x2x7x9:out3x4", "2x3x9x7:global:axes2,3", "6x5:k2x3s1:axes1,0",
    // Channels last, few and many, by axes and by the order of memory.
    "1x9x8x20:k3s2p1:axes1,2", "1x7x6x33:k2:axes1,2", "2x6x5x3:k3x2s1x2p1:axes1,2", "1x9x7x17:global:axes1,2",
    "1x12x13x9:out4x3:axes1,2", "2x5x9x8:k3x3s2p1:order0,2,3,1", "1x18x6x7:k2x2:order0,2,3,1",
    "2x4x5x6:k2x3s1:order3,1,0,2",
    // Three and four.
    "1x2x5x6x7:k3x3x3s2p1", "4x5x6:k2", "2x4x6x5x3:k2s1:axes1,2,3", "1x2x4x9x10:k1x3x3s1x2x2p0x1x1",
    "4x5x6:k2x3s1:axes2,0", "3x4x3x4:k2s1", "4x3x5x3:k3s2p1", "3x5x4x6:k2x1x3x2s1x1x2x3", "2x4x5x6:out2x2x3"};

// Of averages alone: what they divide by.
constexpr const char* kOfAverages[] = {"1x2x13x15:k3x3s2p1:exclude",          "1x2x9x9:k3x3s1p1:div7",
                                       "4x9x8x6:k3s2p1:ceil:exclude:axes1,2", "31:k5s2p2:ceil",
                                       "1x1x31x20:k15x9s1p7x4:exclude",       "2x17x5:k7s3p3:ceil:exclude:axes1",
                                       "1x2x7x8:k3x3s1:same_lower:exclude",   "40:k20s1p10:div1000"};

// Larger tensors: several vectors of a row, several rows of a band, several bands of a plane.
constexpr const char* kLarge[] = {"max:f32:1x8x56x56:k3x3s2p1",
                                  "max:f32:2x4x40x72:k3x3s1p1",
                                  "min:f64:1x3x33x70:k3x3s2p1:indices",
                                  "max:f32:1x8x56x57:k2x2:codes",
                                  "max:f16:1x6x40x66:k3x3s1p1:codes:backward",
                                  "max:bf16:1x5x33x64:k3x3s2p1:indices",
                                  "max:f32:1x60x13x13:k5x5s1p2",
                                  "max:f32:1x24x13x13:k13x13s1p6",
                                  "max:f32:1x28x28x64:k3s2p1:axes1,2",
                                  "max:u8:1x4x60x90:k5x5s1p2",
                                  "min:i16:1x8x40x50:k3x3s2p1:codes",
                                  "max:i32:1x28x30x40:k3s1p1:axes1,2:indices",
                                  "max:i64:29:global:indices",
                                  "min:u64:10x3:out3x7:indices",
                                  "max:u32:10x4:global:indices",
                                  "max:i64:13:k13:indices",
                                  "max:f32:1x30x31x48:k2:axes1,2:codes",
                                  "max:f32:1x30x31x48:k2:axes1,2:codes:backward",
                                  "max:f32:200x150:k31s1p15",
                                  "min:f32:1x1x60x300:k9x65s1p4x32",
                                  "max:f64:1x2x3000:k257s1p128:axes2",
                                  "max:f32:1x2x9x10x33:k3x3x3s1p1",
                                  "max:f32:1x40x40x8:k3s2p1:axes1,2:indices:backward",
                                  "max:f32:1x4x50x60:k3x3s2p1:backward",
                                  "min:bf16:2x20x24x16:k3s2p1:axes1,2:backward",
                                  "avg:f32:1x8x56x56:k2x2",
                                  "avg:f32:1x8x56x56:k3x3s2p1",
                                  "avg:f32:1x33x28x28:k3x3s1p1:exclude",
                                  "avg:f32:4x64x7x7:global:axes2,3",
                                  "avg:f32:2x7x7x200:global:axes1,2",
                                  "avg:f16:1x4x40x66:k3x3s2p1",
                                  "avg:bf16:1x28x28x64:k3s2p1:axes1,2",
                                  "avg:f64:1x30x31x24:k3s1p1:axes1,2",
                                  "avg:u8:1x3x60x80:k31x31s1p15",
                                  "avg:i32:1x4x40x50:k7x7s3",
                                  "avg:f32:200x150:k31s1p15",
                                  "avg:f64:1x40x40x17:k5x5s2:order0,2,3,1",
                                  "avg:f32:1x8x56x56:k2x2:backward",
                                  "avg:f32:1x4x50x60:k3x3s2p1:backward",
                                  "avg:f16:1x28x28x40:k3s1p1:axes1,2:backward",
                                  "avg:f32:3x20x30:out7x7:backward",
                                  "avg:f64:2x30x40:k9x7s2x3p3:exclude:backward",
                                  "avg:bf16:2x40x7x7:global:axes2,3:backward",
                                  "sum:f32:1x4x56x56:k7x7s1p3",
                                  "sum:f32:1x1x4100:k9s2:axes2",
                                  "sum:f32:1x2x150x70:k31x5s1p15x2",
                                  "sum:f64:1x3x40x90:k6x6s4p1",
                                  "sum:f16:1x4x60x70:k7x7s3p2",
                                  "sum:bf16:2x3x40x90:global:axes2,3",
                                  "sum:i16:30x9x13x11:k3x3s1p1",
                                  "sum:u64:1x2x40x50:k5x5s2",
                                  "sum:i8:3x4000:k400s160:axes1",
                                  "sum:f32:5x20x21x22:out7x7x7:axes1,2,3",
                                  "sum:f32:1x20x8000:k3s1p1:axes1",
                                  "sum:f32:3x30x41:k12x1s1:axes1,2",
                                  "sum:f32:1x4x50x60:k5x5s1p2:backward",
                                  "sum:f64:64x300:k16s5p4:axes0:backward",
                                  "sum:i32:1x3x30x40:k3x3s2p1:backward",
                                  "lp2:f32:1x4x56x56:k2x2",
                                  "lp2:f32:1x3x90x101:k5x5s2p2",
                                  "lp1:f64:1x2x40x50:k3x3s2p1",
                                  "lpinf:f32:1x4x50x60:k3x3s2p1",
                                  "lp2:f32:1x4x30x40:k3x3s1p1:backward",
                                  "lp2:i32:1x2x30x40:k5x5s3",
                                  "lp2:f16:1x20x21x24:k3s2p1:axes1,2"};

// Windows for inputs of few values, and of NaN, infinities, zeros and subnormals.
constexpr const char* kOfData[] = {
    "2x3x7x8:k3x3s2p1", "1x2x9x20:k2x2", "60:k5s1p2", "1x9x8x20:k3s2p1:axes1,2", "2x3x5x6:k2x2s1:order0,2,3,1",
    "3x4x5:k2s1"};

void add(Names& names, const std::string& op, const std::string& dtype, const std::string& windows,
         std::initializer_list<const char*> suffixes) {
  for (const char* suffix : suffixes) names.push_back(op + ":" + dtype + ":" + windows + suffix);
}

// Whether a name may ask for codes.
bool has_codes(const std::string& dtype, const std::string& windows) {
  return parse_problem("max:" + dtype + ":" + windows).taps() <= kMostByteCodes;
}

// The gradient of an Lp pool for an input that is NaN: S9 says nothing of it.
bool is_unspecified(const std::string& name) {
  return name.starts_with("lp") && name.ends_with(":backward@specials") && name.find(":omit") == std::string::npos;
}

// Every op forward and, where it has one, backward; indices and codes of max and min.
void add_all(Names& names, const std::string& dtype, const std::string& windows, const std::string& words = "") {
  const bool floating = is_floating(parse_dtype(dtype));
  const bool codes = has_codes(dtype, windows);
  const auto add_modes = [&](const char* op, std::initializer_list<const char*> modes) {
    for (const char* mode : modes) names.push_back(std::string(op) + ":" + dtype + ":" + windows + mode + words);
  };
  for (const char* op : kOps) {
    const std::string_view of = op;
    const bool picks = of == "max" || of == "min";
    add_modes(op, {""});
    if (floating || picks || of == "sum") add_modes(op, {":backward"});
    if (picks) add_modes(op, {":indices", ":indices:backward"});
    if (picks && codes) add_modes(op, {":codes", ":codes:backward"});
  }
}

void add_numbers(Names& names) {
  for (const char* windows : kOfAllDtypes) {
    for (const char* dtype : kFloats) add_all(names, dtype, windows);
    for (const char* dtype : kWholes) add_all(names, dtype, windows);
  }
  std::size_t turn = 0;
  for (const char* windows : kOfSomeDtypes) {
    add_all(names, kFloats[turn % kFloats.size()], windows);
    add_all(names, kWholes[turn % kWholes.size()], windows);
    ++turn;
  }
  for (const char* windows : kOfAverages) {
    for (const char* dtype : kFloats) add(names, "avg", dtype, windows, {"", ":backward"});
    for (const char* dtype : {"u8", "i32", "i64"}) add(names, "avg", dtype, windows, {""});
  }
  names.insert(names.end(), std::begin(kLarge), std::end(kLarge));
}

// Other kinds of indices, other data.
void add_words(Names& names) {
  std::size_t turn = 0;
  for (const char* windows : kOfSomeDtypes) {
    const char* dtype = kFloats[++turn % kFloats.size()];
    const char* whole = kWholes[turn % kWholes.size()];
    add(names, "max", dtype, windows, {":indices@tensor", ":indices@window", ":indices@unpool"});
    add(names, "min", whole, windows,
        {":indices:backward@tensor", ":indices:backward@window", ":indices@tensor@unpool"});
    if (!has_codes(dtype, windows)) continue;
    add(names, "max", dtype, windows, {":codes@i32"});
    add(names, "min", whole, windows, {":codes:backward@i32"});
  }
  for (const char* windows : kOfData) {
    for (const char* dtype : kFloats) {
      for (const char* op : {"max", "min", "lpinf"}) add(names, op, dtype, windows, {"@ties", ":backward@ties"});
      for (const char* op : {"max", "min"})
        add(names, op, dtype, windows, {":indices@ties", ":codes@ties", ":indices@unpool@ties"});
      add_all(names, dtype, windows, "@specials");
      add_all(names, dtype, windows + std::string(":omit"), "@specials");
      std::erase_if(names, is_unspecified);
    }
    for (const char* dtype : {"i32", "u32", "i64", "u64"})
      for (const char* op : {"max", "min"}) add(names, op, dtype, windows, {":indices@ties", ":codes:backward@ties"});
  }
}

}  // namespace

const std::vector<std::string>& all_names() {
  static const Names names = [] {
    Names made;
    add_numbers(made);
    add_words(made);
    return made;
  }();
  return names;
}

}  // namespace oriel::vectors
