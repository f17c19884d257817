// Documents of the generator with random changes: none crashes the reader, and none signs in anyone but its
// own user. GIFTSYNC_SAML_MUTATIONS=N makes N of them in place of some hundreds, GIFTSYNC_SAML_SEED=N others.
#include <gtest/gtest.h>

#include <random>

#include "daemon/identity/saml/response_reader.h"
#include "tests/daemon/identity/saml/forged_documents.h"
#include "tests/daemon/identity/test_tokens.h"

namespace giftsync::saml {
namespace {

class Mutator {
 public:
  Mutator(const std::vector<ForgedDocument>& seeds, std::uint64_t seed) : seeds_(seeds), random_(seed) {}

  std::string next() {
    std::string text = any();
    for (std::size_t changes = 1 + below(4); changes > 0; --changes) change(text);
    return text;
  }

 private:
  std::size_t below(std::size_t end) { return end == 0 ? 0 : random_() % end; }
  const std::string& any() { return seeds_[below(seeds_.size())].xml; }
  /// A place where markup begins, mostly: changes there keep the document well-formed more often.
  std::size_t place(const std::string& text) {
    const std::size_t at = below(text.size());
    const std::size_t tag = text.find('<', at);
    return tag == std::string::npos || below(4) == 0 ? at : tag;
  }
  /// From one '<' to a later one: a tag, an element or several.
  std::string piece(const std::string& text) {
    const std::size_t from = place(text);
    return text.substr(from, place(text.substr(from)));
  }
  void change(std::string& text) {
    if (text.empty()) return;
    switch (below(6)) {
      case 0:
        text[below(text.size())] = static_cast<char>(random_() % 256);
        return;
      case 1:
        text.erase(place(text), 1 + below(40));
        return;
      case 2:
        text.insert(place(text), piece(text));
        return;
      case 3:
        text.insert(place(text), piece(any()));
        return;
      case 4: {
        const std::string moved = piece(text);
        const std::size_t at = text.find(moved);
        text.erase(at, moved.size());
        text.insert(place(text + " "), moved);
        return;
      }
      default:
        text.resize(below(text.size()));
    }
  }

  const std::vector<ForgedDocument>& seeds_;
  std::mt19937_64 random_;
};

// SAML-11
TEST(MutatedDocuments, NeverSignInAnyoneElse) {
  const ForgedDocuments documents = make_forged_documents();
  const SamlConnection connection = test_connection(documents.signer);
  const UtcMillis now = documents.response.now;
  const AuthnRequest request = test_request(now);
  const std::uint64_t seed = tests::number_from_environment("GIFTSYNC_SAML_SEED", std::random_device()());
  SCOPED_TRACE("GIFTSYNC_SAML_SEED=" + std::to_string(seed));
  Mutator mutator(documents.all, seed);
  std::uint64_t accepted = 0;
  const std::uint64_t runs = tests::number_from_environment("GIFTSYNC_SAML_MUTATIONS", 800);
  for (std::uint64_t i = 0; i < runs; ++i) {
    const std::string xml = mutator.next();
    const auto verified = verify_response(xml, connection, now);
    if (!verified) continue;
    // What the provider never signed is in none of the verified bytes.
    ASSERT_EQ(verified->signed_bytes.find("admin@acme.example"), std::string::npos) << xml;
    const auto assertion = validate_assertion(*verified, connection, request, now);
    if (!assertion) continue;
    ++accepted;
    ASSERT_EQ(assertion->identity.subject, "u-4711") << xml;
    ASSERT_EQ(assertion->identity.address, "ana@acme.example") << xml;
  }
  RecordProperty("accepted", std::to_string(accepted));
}

}  // namespace
}  // namespace giftsync::saml
