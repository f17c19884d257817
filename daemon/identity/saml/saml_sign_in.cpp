#include "daemon/identity/saml/saml_sign_in.h"

#include "daemon/identity/saml/response_reader.h"
#include "platform/digest.h"
#include "platform/visible_text.h"

namespace giftsync::saml {

Outcome<VerifiedIdentity> complete_saml_sign_in(const SamlForm& form, const SamlConnection& connection,
                                                const std::optional<AuthnRequest>& request,
                                                const ClaimAssertion& claim, UtcMillis now) {
  if (!request || request->relay_state.empty() ||
      !equal_in_constant_time(request->relay_state, form.relay_state)) {
    auto unsolicited =
        refuse(16,
               "RelayState names no pending sign-in of this connection: the provider began it, "
               "or it was finished or began too long ago; the sign-in begins again");
    unsolicited.value().offered_connection = connection.settings.name;
    return unsolicited;
  }
  const auto xml = decoded_response(form.saml_response);
  if (!xml) return tl::unexpected(xml.error());
  const auto verified = verify_response(*xml, connection, now);
  if (!verified) return tl::unexpected(verified.error());
  auto assertion = validate_assertion(*verified, connection, *request, now);
  if (!assertion) return tl::unexpected(assertion.error());
  if (claim(assertion->id, assertion->usable_until)) return std::move(assertion->identity);
  return refuse(19, "the Assertion {} was used before; an assertion counts once", in_quotes(assertion->id));
}

}  // namespace giftsync::saml
