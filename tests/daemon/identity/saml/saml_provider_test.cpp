// A real provider that tests/saml/outside_checks/run starts: GIFTSYNC_SAML_PROVIDER is its folder, with its
// certificate (provider.pem) and the page that it answered with (page.html).
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "daemon/identity/saml/authn_request.h"
#include "platform/digest.h"
#include "tests/daemon/identity/saml/test_response.h"

namespace giftsync::saml {
namespace {

std::string provider_folder() {
  const char* given = std::getenv("GIFTSYNC_SAML_PROVIDER");
  return given ? given : "";
}

std::string content_of(const std::string& name) {
  std::ifstream file(provider_folder() + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The value of a hidden field of the page.
std::string field_of(const std::string& page, const std::string& name) {
  const std::size_t field = page.find("name=\"" + name + "\"");
  if (field == std::string::npos) return "";
  const std::size_t from = page.find("value=\"", field) + 7;
  std::string value = page.substr(from, page.find('"', from) - from);
  for (std::size_t at = value.find("&#"); at != std::string::npos; at = value.find("&#", at + 1)) {
    const std::size_t end = value.find(';', at);
    const int base = value[at + 2] == 'x' ? 16 : 10;
    const std::string digits = value.substr(at + (base == 16 ? 3 : 2), end - at - (base == 16 ? 3 : 2));
    value.replace(at, end - at + 1, 1, static_cast<char>(std::stoi(digits, nullptr, base)));
  }
  return value;
}

#define SKIP_WITHOUT_PROVIDER() \
  if (provider_folder().empty()) GTEST_SKIP() << "GIFTSYNC_SAML_PROVIDER names no folder"

// SAML-22
TEST(SamlProvider, GetsARequest) {
  SKIP_WITHOUT_PROVIDER();
  const std::string url = authn_request_url(
      test_connection(Signer()), {.id = "_request", .relay_state = kRelayState, .issued_at = system_now()});
  std::ofstream(provider_folder() + "/request") << url.substr(url.find("SAMLRequest="));
}

// SAML-24
TEST(SamlProvider, SignsTheUserIn) {
  SKIP_WITHOUT_PROVIDER();
  Signer provider;
  provider.certificate = content_of("provider.pem");
  const std::string page = content_of("page.html");
  const UtcMillis now = system_now();
  const auto identity = complete_saml_sign_in(
      {.saml_response = field_of(page, "SAMLResponse"), .relay_state = field_of(page, "RelayState")},
      test_connection(provider), test_request(now), [](const std::string&, UtcMillis) { return true; }, now);
  ASSERT_TRUE(identity) << identity.error().rule << ": " << identity.error().text << "\n" << page;
  EXPECT_EQ(identity->subject, "u-4711");
  EXPECT_EQ(identity->address, "ana@acme.example");
}

}  // namespace
}  // namespace giftsync::saml
