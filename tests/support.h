// What an Error says, for tests of errors.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "oriel/types.h"

namespace oriel::test {

/// The text of the Error that a call throws; `(no error)` if it throws none.
std::string message(auto&& call) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
    return e.what();
  }
  return "(no error)";
}

/// The same of a call that must throw one: else the test fails.
std::string error_of(auto&& call) {
  bool threw = true;
  const std::string text = message([&] {
    call();
    threw = false;
  });
  EXPECT_TRUE(threw) << "no Error was thrown";
  return threw ? text : "";
}

}  // namespace oriel::test
