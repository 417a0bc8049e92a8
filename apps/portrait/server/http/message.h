// What an HTTP request asks and what is answered, apart from how it comes.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace oriel::portrait::http {

/// What a request says before its body.
struct Head {
  std::string method;                             ///< `GET`, `POST` …
  std::string path;                               ///< of the address, decoded
  std::map<std::string, std::string> parameters;  ///< of the address, decoded; of a name that comes twice the last
  std::string host, origin, type;                 ///< the headers Host, Origin and Content-Type; empty: none
  std::string came_to;                            ///< this machine's address that the connection was made to
};

/// What is answered.
struct Reply {
  int status = 200;
  std::string type = "application/json";  ///< of the body
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};  ///< further ones
};

/// Sets `path` and `parameters` from a request's target, e.g. `/api/remove?om=true&bgc=0,0,0`. `%` that begins no
/// sequence is left as it is; `+` in parameters is a space.
void read_target(std::string_view target, Head& head);

/// `{"error": "…"}`, with `?` for what is not printable ASCII.
std::string error_json(std::string_view text);
/// An error as a reply.
Reply refusal(int status, std::string_view text);

/// True when both are the same but for the case of ASCII letters.
bool same_word(std::string_view a, std::string_view b);
/// ASCII letters small.
std::string lower(std::string_view text);

}  // namespace oriel::portrait::http
