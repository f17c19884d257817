// XML of an unknown sender: what is read, and what is refused before it can cost anything.
#include "platform/xml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace giftsync {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

XmlElement read(const std::string& text) {
  const auto root = read_xml(text);
  EXPECT_TRUE(root) << describe(root.error()) << "\n" << text;
  return root.value_or(XmlElement{});
}

std::string refusal(const std::string& text, const XmlLimits& limits = {}) {
  const auto root = read_xml(text, limits);
  return root ? "read: " + root->name : describe(root.error());
}

std::string nested(std::size_t depth) {
  std::string text;
  for (std::size_t i = 0; i < depth; ++i) text += "<a>";
  for (std::size_t i = 0; i < depth; ++i) text += "</a>";
  return text;
}

// ARCH-34
TEST(Xml, ElementsHaveTheirNamespacesAttributesAndText) {
  const XmlElement root = read(
      "\xEF\xBB\xBF<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<e:Envelope xmlns:e=\"urn:e\" xmlns:x=\"urn:x\">\n"
      " <list xmlns=\"urn:l\" id=\"1\" x:id='2'><item>one</item><e:item/></list>\n"
      "</e:Envelope>\n");
  EXPECT_TRUE(root.is("urn:e", "Envelope"));
  EXPECT_THAT(root.attributes, SizeIs(0)) << "a declaration of a namespace is no attribute";
  ASSERT_THAT(root.children, SizeIs(1));
  const XmlElement& list = root.children.front();
  EXPECT_TRUE(list.is("urn:l", "list"));
  EXPECT_EQ(list.attribute("", "id"), "1");
  EXPECT_EQ(list.attribute("urn:x", "id"), "2");
  EXPECT_EQ(list.attribute("urn:l", "id"), std::nullopt);
  ASSERT_THAT(list.children, SizeIs(2));
  EXPECT_TRUE(list.children[0].is("urn:l", "item"));
  EXPECT_EQ(list.children[0].text, "one");
  EXPECT_TRUE(list.children[1].is("urn:e", "item"));
}

TEST(Xml, ReferencesAndCdataAreTheirCharacters) {
  const XmlElement root =
      read("<a b=\"&lt;&amp;&#38;&#x20AC;\">&lt;&amp;&gt;&quot;&apos;&#233; <![CDATA[<&]]></a>");
  EXPECT_EQ(root.text, "<&>\"'\xC3\xA9 <&");
  EXPECT_EQ(root.attribute("", "b"), "<&&\xE2\x82\xAC");
  EXPECT_EQ(read("<a>" + xml_escaped("<&>\"'") + "</a>").text, "<&>\"'");
  EXPECT_EQ(read("<a b='" + xml_escaped("<&>\"'") + "'/>").attribute("", "b"), "<&>\"'");
}

// A reader that stops at a comment takes admin@example.com for the whole value.
TEST(Xml, ACommentDoesNotCutAText) {
  EXPECT_EQ(read("<a>admin@example.com<!-- -->.evil.example</a>").text, "admin@example.com.evil.example");
  EXPECT_EQ(read("<!-- <b attribute='\"> --><a/>").name, "a");
}

// ARCH-34
TEST(Xml, DocumentTypesEntitiesAndInstructionsAreRefused) {
  std::string bomb = "<!DOCTYPE a [<!ENTITY x0 \"ha\">";
  for (int i = 1; i < 30; ++i)
    bomb += "<!ENTITY x" + std::to_string(i) + " \"&x" + std::to_string(i - 1) + ";&x" +
            std::to_string(i - 1) + ";\">";
  const std::vector<std::string> types{
      "<!DOCTYPE a><a/>",
      bomb + "]><a>&x29;</a>",
      bomb + "]><a b=\"&x29;\"/>",
      "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><a>&x;</a>",
      "<!DOCTYPE a [<!ENTITY x SYSTEM \"http://127.0.0.1:1/\">]><a>&x;</a>",
      "<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>",
      "<!DOCTYPE a PUBLIC \"-//X\" \"http://127.0.0.1:1/x.dtd\"><a/>",
      "<!DOCTYPE a [<!ENTITY % x SYSTEM \"file:///etc/passwd\"> %x;]><a/>",
      "<!DOCTYPE a [<!ATTLIST a b CDATA \"given\">]><a/>",
      "<!DOCTYPE a [<!ENTITY x \"" + std::string(100'000, 'x') + "\">]><a>&x;&x;&x;</a>"};
  for (const std::string& text : types)
    EXPECT_THAT(refusal(text), HasSubstr("DOCTYPE")) << text.substr(0, 90);
  EXPECT_THAT(refusal("<a>&x;</a>"), HasSubstr("'x' not defined"));
  EXPECT_THAT(refusal("<a b='&x;'/>"), HasSubstr("'x' not defined"));
  EXPECT_THAT(refusal("<?xml-stylesheet href=\"file:///etc/passwd\"?><a/>"), HasSubstr("instruction"));
  EXPECT_THAT(refusal("<a><?php x ?></a>"), HasSubstr("instruction"));
  EXPECT_THAT(refusal("<a/><?end x?>"), HasSubstr("instruction"));
  EXPECT_THAT(refusal("<a><!ENTITY x \"y\"></a>"), HasSubstr("line 1")) << "not well-formed there";
}

// ARCH-34
TEST(Xml, SizeDepthElementsAndTagsAreBounded) {
  EXPECT_EQ(refusal(nested(32)), "read: a");
  EXPECT_THAT(refusal(nested(33)), HasSubstr("more than 32 elements inside"));
  EXPECT_THAT(refusal(nested(20'000)), HasSubstr("more than 32 elements inside"));
  const auto siblings = [](std::size_t count) {
    std::string text = "<a>";
    for (std::size_t i = 1; i < count; ++i) text += "<b/>";
    return text + "</a>";
  };
  EXPECT_EQ(refusal(siblings(20'000)), "read: a");
  EXPECT_THAT(refusal(siblings(20'001)), HasSubstr("more than 20000 elements"));
  const auto spaces = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += " xmlns:n" + std::to_string(i) + "='urn:n'";
    return text;
  };
  EXPECT_EQ(
      refusal("<a" + spaces(2) + "><b" + spaces(2) + "/><b" + spaces(2) + "/></a>", {.max_namespaces = 4}),
      "read: a")
      << "those of an element that has ended do not count";
  EXPECT_THAT(refusal("<a" + spaces(2) + "><b" + spaces(3) + "/></a>", {.max_namespaces = 4}),
              HasSubstr("more than 4 namespaces declared around an element"));
  EXPECT_EQ(refusal("<a>" + std::string(93, 'x') + "</a>", {.max_bytes = 100}), "read: a");
  EXPECT_EQ(refusal("<a>" + std::string(94, 'x') + "</a>", {.max_bytes = 100}),
            "found 101 bytes; at most 100 are allowed");
  EXPECT_EQ(refusal("<a b=\"" + std::string(20'000, '>') + "\"/>"), "found a tag of more than 16384 bytes");
  EXPECT_EQ(refusal("<a " + std::string(20'000, ' ')), "found a tag of more than 16384 bytes");
  const auto with_attributes = [](int count) {
    std::string tag = "<a";
    for (int i = 0; i < count; ++i) tag += " b" + std::to_string(i) + "='=\"='";
    return tag + "/>";
  };
  EXPECT_EQ(refusal(with_attributes(256)), "read: a");
  EXPECT_EQ(refusal(with_attributes(257)), "found a tag with more than 256 attributes");
  EXPECT_EQ(refusal("<a>" + std::string(100'000, 'x') + "</a>"), "read: a") << "text is not a tag";
  EXPECT_EQ(refusal("<a><!-- " + std::string(100'000, '<') + "--><![CDATA[" + std::string(100'000, '<') +
                    "]]></a>"),
            "read: a");
}

// A parser that compares each attribute with all others would need minutes for these.
TEST(Xml, ATagOfManyAttributesCostsLittle) {
  std::string tag = "<a";
  for (int i = 0; i < 30'000; ++i) tag += " a" + std::to_string(i) + "=''";
  std::string declarations = "<a";
  for (int i = 0; i < 12'000; ++i) declarations += " xmlns:a" + std::to_string(i) + "='u'";
  const auto started = std::chrono::steady_clock::now();
  EXPECT_THAT(refusal(tag.substr(0, 250'000) + "/>"), HasSubstr("a tag of more than"));
  EXPECT_THAT(refusal(declarations.substr(0, 250'000) + "/>"), HasSubstr("a tag of more than"));
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(1));
}

TEST(Xml, OnlyUtf8IsRead) {
  EXPECT_EQ(read("<a>\xC3\xA9\xF0\x9F\x8E\x81</a>").text, "\xC3\xA9\xF0\x9F\x8E\x81");
  for (const std::string& text :
       {std::string("<a>\xE9</a>"), std::string("<a>\xC0\xBC</a>"), std::string("<a>\xED\xA0\x80</a>"),
        std::string("<a>\0</a>", 8), std::string("\xFF\xFE<\0a\0/\0>\0", 10), std::string("<\0a\0/\0>\0", 8)})
    EXPECT_EQ(refusal(text), "the text is not UTF-8 without NUL");
  EXPECT_THAT(refusal("<?xml version='1.0' encoding='ISO-8859-1'?><a>\xC3\xA9</a>"),
              HasSubstr("encoding other than UTF-8"));
  EXPECT_THAT(refusal("<?xml version='1.0' encoding='UTF-7'?><a>+AGE-</a>"), HasSubstr("encoding"));
  EXPECT_THAT(refusal("<a>&#0;</a>"), HasSubstr("line 1"));
  EXPECT_THAT(refusal("<a>\x01</a>"), HasSubstr("line 1"));
}

TEST(Xml, WhatIsNotWellFormedIsRefusedByLine) {
  EXPECT_EQ(refusal(""), "found no text");
  EXPECT_THAT(refusal("  "), HasSubstr("line 1"));
  EXPECT_THAT(refusal("<a>\n<b>\n</a>"), HasSubstr("line 3"));
  EXPECT_THAT(refusal("<a b='1' b='2'/>"), HasSubstr("redefined"));
  EXPECT_THAT(refusal("<a xmlns:p='u' xmlns:q='u' p:b='1' q:b='2'/>"), HasSubstr("redefined"));
  EXPECT_THAT(refusal("<p:a/>"), HasSubstr("p"));
  EXPECT_THAT(refusal("<a/><b/>"), HasSubstr("line 1"));
  EXPECT_THAT(refusal("{\"a\": 1}"), HasSubstr("line 1"));
  EXPECT_EQ(refusal("<a>\x1B[31m<b></a>").find('\x1B'), std::string::npos);
}

// Each text that is cut off is refused, wherever it ends.
TEST(Xml, ATruncatedTextIsRefused) {
  const std::string text =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<e:a xmlns:e=\"urn:e\" b=\"c\">&amp;<!-- x "
      "--><![CDATA[y]]>"
      "<d>\xC3\xA9</d></e:a>";
  EXPECT_EQ(refusal(text), "read: a");
  for (std::size_t length = 0; length < text.size(); ++length)
    EXPECT_FALSE(read_xml(text.substr(0, length))) << length;
}

}  // namespace
}  // namespace giftsync
