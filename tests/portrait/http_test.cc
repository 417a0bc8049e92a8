// What HTTP says, without sockets: targets, forms, names of hosts.
#include <gtest/gtest.h>

#include "apps/portrait/server/http/form.h"
#include "apps/portrait/server/http/host_rule.h"
#include "apps/portrait/server/http/message.h"
#include "quoted.h"
#include "support.h"

namespace oriel::portrait::http {
namespace {

Head target(std::string_view text) {
  Head head;
  read_target(text, head);
  return head;
}

TEST(Target, PathAndParametersAreDecoded) {
  using Parameters = std::map<std::string, std::string>;
  EXPECT_EQ(target("/").path, "/");
  EXPECT_EQ(target("/a%2Fb%20c+d").path, "/a/b c+d");
  EXPECT_EQ(target("/a?x=1&y=%23fff&z=a+b").parameters, (Parameters{{"x", "1"}, {"y", "#fff"}, {"z", "a b"}}));
  EXPECT_EQ(target("/a?x=1&x=2&&y&=3#z=4").parameters, (Parameters{{"x", "2"}, {"y", ""}, {"", "3"}}));
  EXPECT_EQ(target("/%00?%00=%00").parameters, (Parameters{{std::string(1, '\0'), std::string(1, '\0')}}));
  EXPECT_EQ(target("/%").path, "/%");
  EXPECT_EQ(target("/%2").path, "/%2");
  EXPECT_EQ(target("/%2g%").path, "/%2g%");
  EXPECT_EQ(target("").path, "");
  EXPECT_EQ(target("?").path, "");
}

TEST(Text, IsShownWithoutWhatEndsOrBreaksALine) {
  EXPECT_EQ(detail::ascii(std::string_view("a\0b\nc\x7f\xff", 7)), "a?b?c??");
  EXPECT_EQ(detail::shortened("abcdef", 3), "abc...");
  EXPECT_EQ(detail::shortened("abc", 3), "abc");
  EXPECT_EQ(error_json("no \"x\"\n"), "{\"error\":\"no \\\"x\\\"?\"}\n");
  EXPECT_TRUE(same_word("Content-TYPE", "content-type"));
  EXPECT_FALSE(same_word("content", "content-type"));
}

std::string flat(std::string_view type, std::string_view body) {
  std::string all;
  for (const Part& part : parts_of(type, body)) all += part.name + "=" + std::string(part.content) + ";";
  return all;
}

constexpr std::string_view kType = "multipart/form-data; boundary=b";

TEST(Form, PartsInTheirOrder) {
  EXPECT_EQ(flat(kType, "--b\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\n1\r\n--b--\r\n"), "x=1;");
  EXPECT_EQ(
      flat("Multipart/Form-Data; charset=a; Boundary=\"b c\"",
           "--b c \t\r\ncontent-disposition:form-data;filename=\"a;name=\\\"q\"; name=x\r\nA: b\r\n\r\n\r\n--b c\r\n"
           "Content-Disposition: form-data; name*=utf-8''q; name=\"y\"\r\n\r\n2\r\n--b c--rest"),
      "x=;y=2;");
  EXPECT_EQ(flat(kType, "--b--"), "");
  // What only begins like the boundary is content.
  EXPECT_EQ(flat(kType, "--b\r\nContent-Disposition: form-data; name=x\r\n\r\n\r\n--bc\r\n-\r\n--b--"),
            "x=\r\n--bc\r\n-;");
}

TEST(Form, TakesContentWithoutCopying) {
  const std::string body = "--b\r\nContent-Disposition: form-data; name=x\r\n\r\ncontent\r\n--b--";
  const std::vector<Part> parts = parts_of(kType, body);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].content.data(), body.data() + body.find("content"));
}

std::string why_not(std::string_view type, std::string_view body) {
  return test::error_of([&] { parts_of(type, body); });
}

TEST(Form, SaysWhatIsMalformed) {
  const std::string begin = "the request is malformed: ";
  EXPECT_EQ(why_not("multipart/form-data", "--\r\n"), begin + "its boundary has not 1 to 70 characters");
  EXPECT_EQ(why_not(kType, "x--b\r\n"), begin + "the form does not begin with its boundary");
  EXPECT_EQ(why_not(kType, "--bx\r\n"), begin + "the form does not begin with its boundary");
  EXPECT_EQ(why_not(kType, "--b\r\nA: b\r\n\r\n1\r\n--b--"), begin + "a part has no name");
  EXPECT_EQ(why_not(kType, "--b\r\nContent-Disposition: attachment; name=x\r\n\r\n1\r\n--b--"),
            begin + "a part is no form-data");
  EXPECT_EQ(why_not(kType, "--b\r\nA\r\n\r\n1\r\n--b--"), begin + "a header of a part has no colon");
  EXPECT_EQ(why_not(kType, "--b\r\nA: b"), begin + "the headers of a part do not end");
  EXPECT_EQ(why_not(kType, "--b\r\nA: " + std::string(9000, 'b') + "\r\n\r\n\r\n--b--"),
            begin + "the headers of a part do not end");
  EXPECT_EQ(why_not(kType, "--b\r\nContent-Disposition: form-data; name=x\r\n\r\n1"),
            begin + "the form does not end with its boundary");
}

TEST(Host, HasOneForm) {
  EXPECT_EQ(plain_host("LocalHost:80"), "localhost");
  EXPECT_EQ(plain_host("[0:0::1]:7000"), "::1");
  EXPECT_EQ(plain_host("[::FFFF:10.0.0.1]"), "10.0.0.1");
  for (const char* wrong : {"", ":80", "a b", "[::1", "[::1]x", "[a]", "::1", "a:b", "a:1:2", "a@b", "a/b", "a:123456"})
    EXPECT_EQ(plain_host(wrong), std::nullopt) << wrong;
}

TEST(HostRule, KnowsItsNames) {
  const HostRule rule("192.168.0.9", {"192.168.0.9"}, {"Studio.Example", "[fe80::1]"});
  EXPECT_EQ(rule.names(), "localhost, 192.168.0.9, studio.example, fe80::1");
  EXPECT_TRUE(rule.allows("STUDIO.example:7000", ""));
  EXPECT_TRUE(rule.allows("[fe80:0::1]", ""));
  EXPECT_TRUE(rule.allows("10.1.1.1", "::ffff:10.1.1.1"));
  EXPECT_FALSE(rule.allows("10.1.1.1", "10.1.1.2"));
  EXPECT_FALSE(rule.allows("studio.example.evil.example", "10.1.1.1"));
  EXPECT_EQ(HostRule("127.0.0.1", {"127.0.0.1"}, {}).names(), "localhost");
}

TEST(HostRule, LetsInItsOwnPagesOnly) {
  const HostRule rule("127.0.0.1", {"127.0.0.1"}, {"studio.example"});
  EXPECT_TRUE(rule.allows_origin("", "localhost:7000"));
  EXPECT_TRUE(rule.allows_origin("http://LOCALHOST:7000", "localhost:7000"));
  EXPECT_TRUE(rule.allows_origin("http://localhost", "localhost:80"));
  EXPECT_TRUE(rule.allows_origin("https://studio.example", "localhost:7000"));
  for (const char* other : {"null", "http://localhost", "http://localhost:7001", "https://evil.example",
                            "localhost:7000", "http://localhost:7000/", "http://", "http://evil@localhost:7000"})
    EXPECT_FALSE(rule.allows_origin(other, "localhost:7000")) << other;
}

}  // namespace
}  // namespace oriel::portrait::http
