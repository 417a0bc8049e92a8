// The processes that work on one command: one alone, or the ranks that mpirun started.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "cli/options.h"

namespace oriel::cli {

/// Every rank makes the same calls in the same order.
class Team {
 public:
  /// `command`: what errors begin with, e.g. `oriel pool`.
  explicit Team(std::string command) : command_(std::move(command)) {}
  virtual ~Team() = default;
  const std::string& command() const { return command_; }
  virtual int rank() const { return 0; }
  virtual int size() const { return 1; }
  /// Ranks on this machine, which share its cores.
  virtual int local_size() const { return 1; }
  /// What rank 0 says, at most 4000 bytes.
  virtual std::string from_first(const std::string& text) { return text; }
  /// Throws Error with the text of the first rank that has a failure (empty: none), on every rank.
  virtual void agree(const std::string& failure) {
    if (!failure.empty()) throw Error(failure);
  }
  /// The greatest and the sum of what the ranks give.
  virtual index_t greatest(index_t mine) { return mine; }
  virtual index_t sum(index_t mine) { return mine; }
  /// Gives rank 0 the bitwise or of the bytes of all.
  virtual void unite(void*, index_t) {}
  /// A rank waits for the others as long as --deadline says, and a second more for each 10 MB of what one of them reads
  /// or writes before they next meet, which this says.
  virtual void expect(index_t) {}
  /// As long as what it gives lives, all ranks do the same thing in calls that wait for each other, which the deadline
  /// ends. `what` is for its error, e.g. `closing the file`.
  virtual std::shared_ptr<void> watch(const std::string&) { return nullptr; }
  /// Makes an HDF5 file access property list one for ranks that open a file together; null if there is one rank.
  using UseRanks = void (*)(std::int64_t list);
  virtual UseRanks use_ranks() const { return nullptr; }

 private:
  std::string command_;
};

/// Runs a step that other ranks run too; when it fails on any, all throw the same Error or UsageError.
template <class Step>
void together(Team& team, const Step& step) {
  constexpr char usage = '\x01';  // what the text of a UsageError begins with on its way
  std::string failure;
  try {
    step();
  } catch (const UsageError& e) {
    failure = usage + std::string(e.what());
  } catch (const std::bad_alloc&) {
    failure = "out of memory";
  } catch (const std::exception& e) {
    failure = e.what();
  }
  try {
    team.agree(failure);
  } catch (const Error& e) {
    const std::string text = e.what();
    if (text.starts_with(usage)) throw UsageError(team.command(), text.substr(1));
    throw;
  }
}

}  // namespace oriel::cli
