#include "daemon/identity/saml/user_claims.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/config/connection_urls.h"
#include "daemon/identity/saml/element_lookup.h"
#include "daemon/identity/saml/saml_names.h"
#include "daemon/signin/home_realm.h"
#include "platform/quoted_text.h"
#include "platform/text.h"

namespace giftsync::daemon::identity::saml {
namespace {

using platform::in_quotes;
using platform::XmlElement;
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
    for (const XmlElement* one : children_of(*statement, "Attribute")) {
      if (attribute_text(*one, "Name") == claim) attributes.push_back(one);
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

}  // namespace

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
  return VerifiedIdentity{.connection = connection.settings.name,
                          .subject = **user_id,
                          .address = **email,
                          .name = name->value_or("")};
}

}  // namespace giftsync::daemon::identity::saml
