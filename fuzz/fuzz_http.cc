// Any bytes as what a client says: a target, a Host, an Origin, and a form after the first empty line.
#include <cstring>

#include "apps/portrait/server/http/form.h"
#include "apps/portrait/server/http/host_rule.h"
#include "apps/portrait/server/http/message.h"
#include "oriel/types.h"

namespace {

using namespace oriel::portrait::http;

void expect(bool holds) {
  if (!holds) __builtin_trap();
}

// The parts lie in the body, in their order, and nothing of one is in another.
void read_form(std::string_view type, std::string_view body) {
  try {
    const char* at = body.data();
    for (const Part& part : parts_of(type, body)) {
      expect(part.content.data() >= at && part.content.data() + part.content.size() <= body.data() + body.size());
      at = part.content.data() + part.content.size();
    }
  } catch (const oriel::Error& e) {
    expect(std::strncmp(e.what(), "the request is malformed: ", 26) == 0);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::string_view line = all.substr(0, all.find('\n'));
  Head head;
  read_target(line, head);
  expect(head.path.size() <= line.size());
  static const HostRule rule("127.0.0.1", {"127.0.0.1"}, {"studio.example"});
  if (const auto plain = plain_host(line)) expect(plain->size() <= 253 && *plain == lower(*plain));
  rule.allows(line, "127.0.0.1");
  if (rule.allows_origin(line, "localhost:7000")) expect(line.empty() || same_word(line.substr(0, 4), "http"));
  const std::string error = error_json(all);
  expect(error.find('\0') == std::string::npos && error.find('\n') == error.size() - 1);
  read_form("multipart/form-data; boundary=b", all);
  if (line.size() < size) read_form(line, all.substr(line.size() + 1));
  return 0;
}
