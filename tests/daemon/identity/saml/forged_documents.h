// Generates responses that a forger, a careless provider or a broken one could send, each signed with keys
// made for this run, and each with the rule that must refuse it.
#pragma once

#include <string>
#include <vector>

#include "tests/daemon/identity/saml/test_response.h"

namespace giftsync::saml {

struct ForgedDocument {
  enum class Kind {
    valid,   ///< must sign in as u-4711
    forged,  ///< its structure or its key is a forger's
    weak,    ///< genuine, with a hash that can be forged
    wrong    ///< genuinely signed, and not for this sign-in
  };
  Kind kind = Kind::forged;
  std::string name = {};
  std::string rule = {};  ///< that refuses it; empty for valid ones
  std::string xml = {};
};

struct ForgedDocuments {
  Signer signer = {};
  Signer forger = {};
  TestResponse response = {};  ///< its time and ids
  std::vector<ForgedDocument> all = {};
};

ForgedDocuments make_forged_documents();

}  // namespace giftsync::saml
