#include "daemon/identity/saml/saml_sign_in.h"

#include <fmt/format.h>

#include <utility>

#include "daemon/config/connection_urls.h"
#include "daemon/signin/home_realm.h"
#include "platform/digest.h"
#include "platform/visible_text.h"

namespace giftsync::saml {

namespace {

// Who the user of an assertion is, by the connection's claims (SAML-20, SAML-21). Pure.

using Value = Outcome<std::optional<std::string>>;

constexpr std::string_view kNameIdentifier =
    "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/nameidentifier";

Value checked(std::string value, std::string_view what) {
  if (!signin::is_identity_line(value))
    return refuse(20, "{} is {}; one line of 1 to {} characters is allowed", what, in_quotes(value),
                  signin::kMaxIdentityCodePoints);
  return std::optional(std::move(value));
}

/// The one value of the attribute `claim`; nothing when there is no such attribute.
Value attribute_value(const XmlElement& assertion, const std::string& claim, std::string_view key) {
  std::vector<const XmlElement*> attributes;
  for (const XmlElement* statement : children_of(assertion, "AttributeStatement")) {
    if (!children_of(*statement, "EncryptedAttribute").empty())
      return refuse(20, "an attribute is encrypted; turn encryption of attributes off at the provider");
    for (const XmlElement* element : children_of(*statement, "Attribute")) {
      if (attribute_text(*element, "Name") == claim) attributes.push_back(element);
    }
  }
  const std::string what = fmt::format("the attribute {} (claims.{})", in_quotes(claim), key);
  if (attributes.empty()) return std::optional<std::string>();
  if (attributes.size() > 1)
    return refuse(20, "{} appears {} times; let the provider send it once", what, attributes.size());
  const auto values = children_of(*attributes.front(), "AttributeValue");
  if (values.size() != 1 || attributes.front()->children.size() != 1 || !values.front()->children.empty())
    return refuse(20, "{} has {} values; exactly one, a text, is allowed", what, values.size());
  return checked(trimmed_text(*values.front()), what);
}

/// Entra ID and AD FS send this in place of more than 150 groups.
constexpr std::string_view kMoreGroups = "http://schemas.microsoft.com/claims/groups.link";

/// SAML-25. Of the connection's groups those that the assertion names, in one attribute or in several.
Outcome<std::vector<std::string>> groups_of(const XmlElement& assertion, const SamlConnection& connection) {
  const std::string& claim = connection.settings.groups_claim;
  std::vector<std::string> all;
  bool has_more = false;
  for (const XmlElement* statement : children_of(assertion, "AttributeStatement")) {
    for (const XmlElement* element : children_of(*statement, "Attribute")) {
      has_more = has_more || attribute_text(*element, "Name") == kMoreGroups;
      if (attribute_text(*element, "Name") != claim) continue;
      for (const XmlElement* value : children_of(*element, "AttributeValue")) {
        if (!value->children.empty())
          return refuse(25, "a value of the attribute {} (groups_claim) is not a text", in_quotes(claim));
        all.push_back(trimmed_text(*value));
      }
    }
  }
  if (all.empty() && has_more)
    return refuse(
        25,
        "the user is in more groups than the provider puts into an assertion, so it names none; let "
        "it send only the groups that are assigned to the app");
  return signin::known_groups(connection.settings, all);
}

/// The NameID, held to its own rules even where an attribute identifies the user.
Value name_id(const XmlElement& subject, const SamlConnection& connection) {
  if (!children_of(subject, "EncryptedID").empty())
    return refuse(20, "the NameID is encrypted; turn encryption of the NameID off at the provider");
  const auto ids = children_of(subject, "NameID");
  if (ids.empty()) return std::optional<std::string>();
  if (ids.size() > 1 || !ids.front()->children.empty())
    return refuse(20, "the Subject has several NameIDs, or one that is not a text");
  const auto qualifier = ids.front()->attribute("", "SPNameQualifier");
  if (qualifier && *qualifier != connection.entity_id)
    return refuse(20, "the NameID is one for {} (SPNameQualifier); expected {}", in_quotes(*qualifier),
                  in_quotes(connection.entity_id));
  return checked(trimmed_text(*ids.front()), "the NameID");
}

Value subject_of(const XmlElement& assertion, const XmlElement& subject, const SamlConnection& connection) {
  Value id = name_id(subject, connection);
  if (!id) return id;
  Value value = attribute_value(assertion, connection.settings.claim_user_id, "user_id");
  if (!value || *value) return value;
  const bool is_usable = *id && connection.settings.claim_user_id == kNameIdentifier &&
                         attribute_text(*children_of(subject, "NameID").front(), "Format") != kTransient;
  if (is_usable) return id;
  return refuse(20,
                "there is no attribute {} (claims.user_id){}; let the provider send the user's "
                "permanent id under this name, or set claims.user_id to the name that it sends",
                in_quotes(connection.settings.claim_user_id),
                *id ? ", and the NameID cannot stand for it" : "");
}

/// SAML-21
Outcome<void> check_email(const std::optional<std::string>& email, const SamlConnection& connection) {
  if (!email)
    return refuse(21,
                  "there is no attribute {} (claims.email); let the provider send the user's address "
                  "under this name, or set claims.email to the name that it sends",
                  in_quotes(connection.settings.claim_email));
  if (const auto error = signin::address_error(*email))
    return refuse(21, "the e-mail address {} is invalid: {}", in_quotes(*email), *error);
  if (signin::is_in_domains(connection.settings, *email)) return {};
  const std::vector<std::string> domains = config::all_domains(connection.settings);
  return refuse(
      21,
      "the e-mail address {} is outside of the connection's domains ({}); if its people are to sign "
      "in here, add the domain to domains",
      in_quotes(*email), domains.empty() ? "none" : fmt::format("{}", fmt::join(domains, ", ")));
}

/// The identity without its times. `subject` is the assertion's Subject. Its NameID stands for the claim
/// user_id when the assertion has no such attribute and the connection asks for the claim nameidentifier,
/// which AD FS and Entra ID send as NameID only.
Outcome<VerifiedIdentity> user_claims(const XmlElement& assertion, const XmlElement& subject,
                                      const SamlConnection& connection) {
  const Value user_id = subject_of(assertion, subject, connection);
  if (!user_id) return tl::unexpected(user_id.error());
  const Value email = attribute_value(assertion, connection.settings.claim_email, "email");
  if (!email) return tl::unexpected(email.error());
  const Value name = attribute_value(assertion, connection.settings.claim_name, "name");
  if (!name) return tl::unexpected(name.error());
  if (const auto checked_email = check_email(*email, connection); !checked_email)
    return tl::unexpected(checked_email.error());
  VerifiedIdentity identity{.connection = connection.settings.name,
                            .subject = **user_id,
                            .address = **email,
                            .name = name->value_or("")};
  if (connection.settings.groups.empty()) return identity;
  auto groups = groups_of(assertion, connection);
  if (!groups) return tl::unexpected(groups.error());
  identity.groups = std::move(*groups);
  return identity;
}

}  // namespace

namespace {

/// What the rules compare.
struct Context {
  const VerifiedResponse& verified;
  const SamlConnection& connection;
  const AuthnRequest& request;
  UtcMillis now;
};

bool has_ended(UtcMillis end, UtcMillis now) {
  return end + kClockSkewMillis <= now;
}
bool has_started(UtcMillis begin, UtcMillis now) {
  return begin - kClockSkewMillis <= now;
}

Outcome<void> check_status(const Context& context) {  // SAML-12
  const XmlElement& response = context.verified.response;
  const XmlElement* status = only_child(response, "Status", kProtocol);
  const XmlElement* code = status ? only_child(*status, "StatusCode", kProtocol) : nullptr;
  if (!code) return refuse(12, "the Response has no StatusCode, or several");
  if (attribute_text(*code, "Value") == kSuccess) return {};
  const XmlElement* detail = only_child(*code, "StatusCode", kProtocol);
  const XmlElement* message = only_child(*status, "StatusMessage", kProtocol);
  return refuse(12, "the provider did not sign the user in: status {}{}{}",
                in_quotes(attribute_text(*code, "Value")),
                detail ? ", " + in_quotes(attribute_text(*detail, "Value")) : "",
                message ? ", message " + in_quotes(trimmed_text(*message)) : "");
}

Outcome<void> check_issuer(const Context& context) {  // SAML-13
  const XmlElement& response = context.verified.response;
  const XmlElement* of_assertion = only_child(context.verified.assertion, "Issuer");
  const auto of_response = children_of(response, "Issuer");
  const std::string issuer = of_assertion ? trimmed_text(*of_assertion) : "";
  if (issuer.empty() || of_response.size() > 1)
    return refuse(13, "the Assertion has no Issuer, or the Response has several");
  const std::string& expected = context.connection.settings.provider_entity_id;
  if (!expected.empty() && issuer != expected)
    return refuse(13, "the Assertion was issued by {}; expected {} (provider_entity_id)", in_quotes(issuer),
                  in_quotes(expected));
  if (!of_response.empty() && trimmed_text(*of_response.front()) != issuer)
    return refuse(13, "the Response was issued by {} and its Assertion by {}; both must be the same",
                  in_quotes(trimmed_text(*of_response.front())), in_quotes(issuer));
  return {};
}

Outcome<void> check_destination(const Context& context) {  // SAML-14
  const auto destination = context.verified.response.attribute("", "Destination");
  if (!destination && !context.verified.is_response_signed) return {};
  if (destination == context.connection.post_back_url) return {};
  return refuse(14, "the Response's Destination is {}; expected {}, the post-back URL, exactly",
                in_quotes(destination.value_or("")), context.connection.post_back_url);
}

/// SAML-15
Outcome<void> check_confirmation(const Context& context) {
  const XmlElement* subject = only_child(context.verified.assertion, "Subject");
  if (!subject) return refuse(15, "the Assertion has no Subject, or several");
  std::vector<const XmlElement*> bearers;
  for (const XmlElement* element : children_of(*subject, "SubjectConfirmation")) {
    if (attribute_text(*element, "Method") == kBearer) bearers.push_back(element);
  }
  if (bearers.size() != 1)
    return refuse(15, "the Subject has {} confirmations of the method bearer; exactly one is expected",
                  bearers.size());
  const XmlElement* data = only_child(*bearers.front(), "SubjectConfirmationData");
  if (!data) return refuse(15, "the bearer confirmation has no SubjectConfirmationData");
  if (data->attribute("", "Recipient") != context.connection.post_back_url)
    return refuse(15, "the Recipient is {}; expected {}, the post-back URL, exactly",
                  in_quotes(attribute_text(*data, "Recipient")), context.connection.post_back_url);
  const TimeAttribute end = time_attribute(*data, "NotOnOrAfter");
  if (!end.time || has_ended(*end.time, context.now))
    return refuse(15,
                  "the confirmation's NotOnOrAfter is {}; a later time is expected. Compare the "
                  "clocks of provider and daemon",
                  in_quotes(attribute_text(*data, "NotOnOrAfter")));
  if (data->attribute("", "NotBefore"))
    return refuse(15, "the bearer confirmation has NotBefore, which the standard forbids");
  if (data->attribute("", "InResponseTo") != context.request.id)
    return refuse(15, "the confirmation's InResponseTo is {}; expected the id of our request",
                  in_quotes(attribute_text(*data, "InResponseTo")));
  return {};
}

Outcome<void> check_request(const Context& context) {  // SAML-16
  const XmlElement& response = context.verified.response;
  if (response.attribute("", "InResponseTo") == context.request.id) return {};
  return refuse(16, "the Response's InResponseTo is {}; expected the id of our request",
                in_quotes(attribute_text(response, "InResponseTo")));
}

Outcome<void> check_audience(const XmlElement& conditions, const std::string& entity_id) {
  const auto restrictions = children_of(conditions, "AudienceRestriction");
  if (restrictions.empty())
    return refuse(17, "the Assertion has no AudienceRestriction; expected one to {}", in_quotes(entity_id));
  for (const XmlElement* restriction : restrictions) {
    const auto audiences = children_of(*restriction, "Audience");
    const bool is_ours = std::any_of(audiences.begin(), audiences.end(), [&](const XmlElement* audience) {
      return trimmed_text(*audience) == entity_id;
    });
    if (!is_ours)
      return refuse(17, "the Assertion is for the audience {}; expected {}, the entity id",
                    in_quotes(audiences.empty() ? "" : trimmed_text(*audiences.front())),
                    in_quotes(entity_id));
  }
  return {};
}

/// SAML-17
Outcome<void> check_conditions(const Context& context) {
  const XmlElement* conditions = only_child(context.verified.assertion, "Conditions");
  if (!conditions) return refuse(17, "the Assertion has no Conditions, or several");
  const TimeAttribute begin = time_attribute(*conditions, "NotBefore");
  const TimeAttribute end = time_attribute(*conditions, "NotOnOrAfter");
  if (begin.is_faulty() || end.is_faulty() || (begin.time && !has_started(*begin.time, context.now)) ||
      (end.time && has_ended(*end.time, context.now)))
    return refuse(17,
                  "the Assertion is valid from {} to {}, and now is {}; compare the clocks of "
                  "provider and daemon",
                  in_quotes(attribute_text(*conditions, "NotBefore")),
                  in_quotes(attribute_text(*conditions, "NotOnOrAfter")), to_rfc3339(context.now));
  for (const XmlElement& element : conditions->children) {
    const bool is_known = element.is(kAssertion, "AudienceRestriction") ||
                          element.is(kAssertion, "OneTimeUse") || element.is(kAssertion, "ProxyRestriction");
    if (!is_known)
      return refuse(17, "the Assertion has the unknown condition {}; remove it at the provider",
                    in_quotes(element.name));
  }
  return check_audience(*conditions, context.connection.entity_id);
}

/// When the user signed in at the provider and until when, by all statements: the earliest times count.
struct Authentication {
  UtcMillis at = {};
  std::optional<UtcMillis> until = {};
};

/// SAML-18
Outcome<Authentication> authentication_of(const Context& context) {
  std::optional<Authentication> found;
  for (const XmlElement* element : children_of(context.verified.assertion, "AuthnStatement")) {
    const TimeAttribute at = time_attribute(*element, "AuthnInstant");
    const TimeAttribute until = time_attribute(*element, "SessionNotOnOrAfter");
    if (!at.time || until.is_faulty())
      return refuse(18, "an AuthnStatement has no AuthnInstant, or a time that is none");
    if (!found || *at.time < found->at) found = Authentication{*at.time, found ? found->until : std::nullopt};
    if (until.time && (!found->until || *until.time < *found->until)) found->until = until.time;
  }
  if (!found) return refuse(18, "the Assertion has no AuthnStatement");
  if (!has_started(found->at, context.now))
    return refuse(18,
                  "AuthnInstant is {}, later than now ({}); compare the clocks of "
                  "provider and daemon",
                  to_rfc3339(found->at), to_rfc3339(context.now));
  if (found->until && has_ended(*found->until, context.now))
    return refuse(18, "the provider's session ended at {} (SessionNotOnOrAfter)", to_rfc3339(*found->until));
  if (context.request.force_authn && found->at + kClockSkewMillis < context.request.issued_at)
    return refuse(18,
                  "the user was to authenticate again, and did so last at {}; the "
                  "provider must support ForceAuthn",
                  to_rfc3339(found->at));
  return *found;
}

/// Until when the assertion could be used again: the confirmation's end, at least.
UtcMillis usable_until(const XmlElement& subject) {
  UtcMillis last{};
  for (const XmlElement* element : children_of(subject, "SubjectConfirmation")) {
    const XmlElement* data = only_child(*element, "SubjectConfirmationData");
    const auto end = data ? time_attribute(*data, "NotOnOrAfter").time : std::nullopt;
    if (end) last = std::max(last, *end);
  }
  return last + kClockSkewMillis;
}

}  // namespace

Outcome<ValidAssertion> validate_assertion(const VerifiedResponse& verified, const SamlConnection& connection,
                                           const AuthnRequest& request, UtcMillis now) {
  const Context context{verified, connection, request, now};
  const XmlElement* subject = only_child(verified.assertion, "Subject");
  for (const auto check :
       {check_status, check_issuer, check_destination, check_confirmation, check_request, check_conditions}) {
    if (const Outcome<void> verdict = check(context); !verdict) return tl::unexpected(verdict.error());
  }
  const auto authentication = authentication_of(context);
  if (!authentication) return tl::unexpected(authentication.error());
  auto identity = user_claims(verified.assertion, *subject, connection);
  if (!identity) return tl::unexpected(identity.error());
  identity->authenticated_at = authentication->at;
  identity->session_until = authentication->until;
  const std::string id = attribute_text(verified.assertion, "ID");
  if (id.empty()) return refuse(19, "the Assertion has no ID, so its second use would not be seen");
  return ValidAssertion{std::move(*identity), id, usable_until(*subject)};
}

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
