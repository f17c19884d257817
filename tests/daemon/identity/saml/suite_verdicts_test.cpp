// The documents of node-saml, ruby-saml and pysaml2, with their verdicts and ours (suite_verdicts.txt). They
// lie outside of the sources; tests that read them are skipped where they are missing.
// GIFTSYNC_SIGN_IN_SUITES names another folder.
#include <Poco/InflatingStream.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "daemon/identity/saml/response_reader.h"
#include "daemon/identity/saml/saml_sign_in.h"
#include "platform/xml.h"
#include "tests/daemon/identity/saml/test_response.h"
#include "tests/source_folder.h"

namespace giftsync::saml {
namespace {

std::string suite_folder() {
  const char* given = std::getenv("GIFTSYNC_SIGN_IN_SUITES");
  return given ? given : std::string(kSourceFolder) + "/../shared/data/sign-in-suites";
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string inflated(const std::string& bytes) {
  std::istringstream in(bytes);
  Poco::InflatingInputStream inflating(in, -15);
  return {std::istreambuf_iterator<char>(inflating), {}};
}

/// ruby-saml keeps documents as XML, as base64, as deflated base64 and as base64 of that.
std::string document_of(const std::string& name) {
  std::string text = content_of(suite_folder() + "/" + name);
  for (int layers = 0; layers < 3 && text.find('<') == std::string::npos; ++layers) {
    const auto decoded = decoded_response(text);
    if (!decoded) return text;
    text = *decoded;
    if (text.find('<') == std::string::npos || text.find("xml") == std::string::npos) {
      std::string plain = inflated(text);
      if (plain.find('<') != std::string::npos) return plain;
    }
  }
  return text;
}

std::string between(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t begin = text.find(from);
  if (begin == std::string::npos) return "";
  const std::size_t at = begin + from.size();
  return text.substr(at, text.find(to, at) - at);
}

/// The certificate in the document, as if it were the provider's: that is all that a forger could wish for.
std::string embedded_certificate(const std::string& xml) {
  std::string base64 = between(xml, "X509Certificate>", "<");
  std::erase_if(base64, [](char c) { return c == '\n' || c == '\r' || c == ' ' || c == '\t'; });
  std::string pem = "-----BEGIN CERTIFICATE-----\n";
  for (std::size_t at = 0; at < base64.size(); at += 64) pem += base64.substr(at, 64) + "\n";
  return pem + "-----END CERTIFICATE-----\n";
}

/// Whether the certificate's key made the signatures, however old and weak it is.
bool is_signed(const std::string& xml, const std::string& certificate) {
  const auto root = read_xml(xml);
  const auto elements = signed_elements(*root, true);
  return std::all_of(elements->begin(), elements->end(), [&](const SignedElement& one) {
    return verified_xml(xml, one.path, {{certificate}, true}).has_value();
  });
}

/// The rule that refuses the signature; "accepted" otherwise. Many of the certificates have expired or have
/// 1024 bits: SAML-8 stands for a signature that none of them verifies.
std::string signature_verdict(const std::string& name, const std::string& xml) {
  SamlConnection connection;
  connection.settings.sha1 = true;
  connection.certificates = {name.starts_with("node-saml")
                                 ? content_of(suite_folder() + "/node-saml/cert.pem")
                                 : embedded_certificate(xml)};
  const auto verified = verify_response(xml, connection, UtcMillis{0});
  if (verified) return "accepted before the certificate";
  if (verified.error().rule != "SAML-8") return verified.error().rule;
  return is_signed(xml, connection.certificates.front()) ? "accepted" : "SAML-8";
}

/// The rule that refuses what the document says, read as if it were signed, by a service provider that fits
/// as much of it as possible.
std::string assertion_verdict(const std::string& xml) {
  const auto root = read_xml(xml);
  const XmlElement* assertion = root ? only_child(*root, "Assertion") : nullptr;
  if (!assertion) return "-";
  const VerifiedResponse verified{.assertion = *assertion, .response = *root};
  const std::string recipient = between(xml, "Recipient=\"", "\"");
  const std::string destination(root->attribute("", "Destination").value_or(""));
  const std::string address =
      between(between(xml, "Name=\"mail\"", "</saml:Attribute>") + "<", "AttributeValue", "<");
  SamlConnection connection{.entity_id = std::string(trimmed(between(xml, "Audience>", "<"))),
                            .post_back_url = destination.empty() ? recipient : destination};
  connection.settings.claim_user_id = std::string(kClaims) + "nameidentifier";
  connection.settings.claim_email = "mail";
  connection.settings.claim_name = "cn";
  connection.settings.domains = {address.substr(address.rfind('@') + 1)};
  const AuthnRequest request{.id = attribute_text(*root, "InResponseTo")};
  const auto issued = from_rfc3339(attribute_text(*assertion, "IssueInstant"));
  const auto identity = validate_assertion(verified, connection, request, issued.value_or(UtcMillis{0}));
  return identity ? "accepted" : identity.error().rule;
}

struct Line {
  std::string suite_says = {};  ///< accepted | refused
  std::string signature = {};
  std::string assertion = {};
  std::string reason = {};
};

std::map<std::string, Line> table() {
  std::map<std::string, Line> lines;
  std::ifstream file(std::string(kSourceFolder) + "/tests/daemon/identity/saml/suite_verdicts.txt");
  for (std::string text; std::getline(file, text);) {
    if (text.empty() || text.starts_with('#')) continue;
    std::istringstream words(text);
    std::string name;
    Line line;
    words >> name >> line.suite_says >> line.signature >> line.assertion >> std::ws;
    std::getline(words, line.reason);
    lines.emplace(name, line);
  }
  return lines;
}

// SAML-1 to SAML-21 on what others have collected.
TEST(SuiteDocuments, HaveTheVerdictsOfTheTable) {
  if (content_of(suite_folder() + "/README.md").empty())
    GTEST_SKIP() << "no documents of node-saml, ruby-saml and pysaml2 in " << suite_folder();
  const auto lines = table();
  ASSERT_GE(lines.size(), 120U);
  for (const auto& [name, line] : lines) {
    const std::string xml = document_of(name);
    ASSERT_FALSE(xml.empty()) << name;
    EXPECT_EQ(signature_verdict(name, xml) + " " + assertion_verdict(xml),
              line.signature + " " + line.assertion)
        << name;
  }
}

TEST(SuiteDocuments, EachDifferenceHasItsReason) {
  for (const auto& [name, line] : table()) {
    const bool is_accepted =
        line.signature == "accepted" && (line.assertion == "accepted" || line.assertion == "-");
    EXPECT_TRUE(is_accepted == (line.suite_says == "accepted") || !line.reason.empty())
        << name << ": our verdict is another than the suite's, without a reason";
  }
}

}  // namespace
}  // namespace giftsync::saml
