// Every example of docs/semantics.md is run through the entry points and its numbers are compared.
//
// An example is a fenced block marked `pool`: a problem name, then lines `x:`, `y:`, `indices:` (`indices tensor:`,
// `indices window:`), `mask:`, `weights:`, `dy:`, `dx:`, `shape:` (of y) or `error:`, each with values separated by
// blanks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "oriel/pool.h"

namespace {

using oriel::Direction;
using oriel::Extents;
using oriel::index_t;
using oriel::IndexSpace;
using oriel::Problem;

struct Example {
  std::string rule;  // `S4`, from the heading above
  int line = 0;
  std::string problem;
  std::map<std::string, std::string> values;
};

std::ostream& operator<<(std::ostream& out, const Example& e) {
  return out << e.rule << ", line " << e.line << ": " << e.problem;
}

std::vector<Example> read_examples() {
  std::ifstream file(ORIEL_SEMANTICS);
  std::vector<Example> examples;
  std::string line, rule;
  bool inside = false;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.starts_with("## ")) rule = line.substr(3, line.find_first_of(". ", 3) - 3);
    if (line.starts_with("```")) {
      inside = !inside && line == "```pool";
      if (inside) examples.push_back({rule, number, "", {}});
    } else if (inside && examples.back().problem.empty()) {
      examples.back().problem = line;
    } else if (inside) {
      const std::size_t colon = line.find(':');
      examples.back().values[line.substr(0, colon)] = line.substr(std::min(line.size(), colon + 2));
    }
  }
  return examples;
}

template <class T>
T parse_value(const std::string& text) {
  if constexpr (std::is_same_v<T, std::uint64_t>) return std::strtoull(text.c_str(), nullptr, 10);
  if constexpr (std::is_integral_v<T>) return static_cast<T>(std::strtoll(text.c_str(), nullptr, 10));
  if constexpr (std::is_same_v<T, oriel::bool8>) return T(text == "1");
  if constexpr (oriel::is_floating_v<T>) return T(std::strtod(text.c_str(), nullptr));
}

template <class T>
std::vector<T> parse_values(const std::string& text) {
  std::vector<T> values;
  std::istringstream words(text);
  for (std::string word; words >> word;) values.push_back(parse_value<T>(word));
  return values;
}

template <class T>
std::string show(const std::vector<T>& values) {
  std::ostringstream out;
  for (T v : values) {
    if constexpr (std::is_same_v<T, oriel::bool8>)
      out << static_cast<int>(v.byte) << ' ';
    else if constexpr (std::is_integral_v<T>)
      out << +v << ' ';
    else if (std::isnan(static_cast<double>(v)))
      out << "nan ";  // without a sign: the payload and sign of a NaN are not specified
    else
      out << static_cast<double>(v) << ' ';
  }
  return out.str();
}

IndexSpace parse_space(const std::string& key) {
  if (key == "indices tensor") return IndexSpace::tensor;
  return key == "indices window" ? IndexSpace::window : IndexSpace::plane;
}

class Runner {
 public:
  Runner(const Example& example, Problem problem) : example_(example), problem_(std::move(problem)) {}

  template <class T>
  void run() {
    if (has("shape")) {
      EXPECT_EQ(oriel::to_string(problem_.output_shape), value("shape"));
    }
    if (problem_.direction == Direction::forward)
      oriel::visit(problem_.result, [&]<class R>() { run_forward<T, R>(); });
    else
      run_backward<T>();
  }

 private:
  bool has(const std::string& key) const { return example_.values.contains(key); }
  std::string value(const std::string& key) const { return example_.values.at(key); }

  template <class T>
  std::vector<T> input(const std::string& key, const Extents& shape) const {
    auto values = parse_values<T>(value(key));
    EXPECT_EQ(static_cast<index_t>(values.size()), oriel::element_count(shape)) << key;
    return values;
  }

  // T is the type of the input, R that of the result.
  template <class T, class R>
  void run_forward() {
    const auto x = input<T>("x", problem_.shape);
    const oriel::ConstTensor x_view(x.data(), problem_.shape);
    const auto count = static_cast<std::size_t>(oriel::element_count(problem_.output_shape));
    std::vector<R> y(count);
    const oriel::Tensor y_view(y.data(), problem_.output_shape);
    std::vector<std::uint8_t> mask;
    std::vector<double> weights;
    oriel::ConstTensor mask_view, weights_view;
    if (problem_.mask) {
      mask = input<std::uint8_t>("mask", problem_.shape);
      mask_view = oriel::ConstTensor(mask.data(), problem_.shape);
    }
    if (problem_.weights) {
      weights = input<double>("weights", problem_.shape);
      weights_view = oriel::ConstTensor(weights.data(), problem_.shape);
    }
    oriel::forward(problem_.pool, {.x = x_view, .y = y_view, .mask = mask_view, .weights = weights_view});
    EXPECT_EQ(show(y), show(parse_values<R>(value("y"))));
    for (const std::string key : {"indices", "indices tensor", "indices window"}) {
      if (!has(key)) continue;
      std::vector<std::int64_t> indices(count);
      oriel::forward(problem_.pool, {.x = x_view,
                                     .y = y_view,
                                     .indices = oriel::Tensor(indices.data(), problem_.output_shape),
                                     .space = parse_space(key)});
      EXPECT_EQ(show(indices), show(parse_values<std::int64_t>(value(key)))) << key;
    }
  }

  template <class T>
  void run_backward() {
    const auto dy = input<T>("dy", problem_.output_shape);
    const oriel::ConstTensor dy_view(dy.data(), problem_.output_shape);
    std::vector<T> dx(static_cast<std::size_t>(oriel::element_count(problem_.shape)));
    const oriel::Tensor dx_view(dx.data(), problem_.shape);
    if (has("x")) {
      const auto x = input<T>("x", problem_.shape);
      oriel::backward(problem_.pool, {.x = oriel::ConstTensor(x.data(), problem_.shape), .dy = dy_view, .dx = dx_view});
    } else {
      oriel::backward(problem_.pool, {.dy = dy_view, .dx = dx_view});
    }
    EXPECT_EQ(show(dx), show(parse_values<T>(value("dx"))));
  }

  const Example& example_;
  Problem problem_;
};

class Semantics : public testing::TestWithParam<Example> {};

TEST_P(Semantics, example_holds) {
  const Example& example = GetParam();
  SCOPED_TRACE(testing::Message() << example);
  if (example.values.contains("error")) {
    try {
      oriel::parse_problem(example.problem);
      FAIL() << "no error";
    } catch (const oriel::Error& error) {
      EXPECT_EQ(error.what(), example.values.at("error"));
    }
    return;
  }
  const Problem problem = oriel::parse_problem(example.problem);
  Runner runner(example, problem);
  oriel::visit(problem.dtype, [&]<class T>() { runner.run<T>(); });
}

INSTANTIATE_TEST_SUITE_P(Docs, Semantics, testing::ValuesIn(read_examples()),
                         [](const testing::TestParamInfo<Example>& param) {
                           return param.param.rule + "_line_" + std::to_string(param.param.line);
                         });

TEST(SemanticsPage, every_rule_has_an_example) {
  const auto examples = read_examples();
  for (int rule = 1; rule <= 20; ++rule) {
    const std::string name = "S" + std::to_string(rule);
    EXPECT_TRUE(std::any_of(examples.begin(), examples.end(), [&](const Example& e) { return e.rule == name; }))
        << name;
  }
}

}  // namespace
