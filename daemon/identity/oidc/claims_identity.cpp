#include "daemon/identity/oidc/claims_identity.h"

#include "daemon/identity/oidc/id_token.h"
#include "daemon/signin/home_realm.h"
#include "platform/quoted_text.h"
#include "platform/text.h"

namespace giftsync::daemon::identity::oidc {
namespace {

using platform::JsonValue;

/// Some providers send "true" or "1" as text, or 1.
bool is_true(const JsonValue& claims, std::string_view name) {
  const JsonValue* value = claims.find(name);
  return value != nullptr && (value->boolean() == true || value->integer() == 1 || value->text() == "1" ||
                              value->text() == "true");
}

/// Without an address.
VerifiedIdentity identity_of(const JsonValue& claims, const config::SsoConnectionSettings& connection,
                             std::string_view subject, std::string tenant) {
  return {.connection = connection.name,
          .subject = std::string(subject),
          .tenant = std::move(tenant),
          .name = std::string(platform::truncated(claims.text_of("name"), signin::kMaxIdentityCodePoints)),
          .authenticated_at = time_claim(claims, "auth_time")};
}

/// OIDC-12. Pages, listings and the audit log show name and address.
Outcome<VerifiedIdentity> with_checked_text(VerifiedIdentity identity) {
  if (!identity.name.empty() && !signin::is_identity_line(identity.name))
    return refuse("OIDC-12", "The user's name (name) is {}; it must be one line.",
                  platform::in_quotes(identity.name));
  if (identity.address.empty()) return identity;
  if (const auto error = signin::address_error(identity.address))
    return refuse("OIDC-12", "The user's address {} {}.", platform::in_quotes(identity.address), *error);
  return identity;
}

/// A person of another organization whom the directory has invited.
bool is_guest(const JsonValue& claims) {
  const std::string_view provider = claims.text_of("idp");
  return is_true(claims, "acct") || (!provider.empty() && provider != claims.text_of("iss"));
}

/// `email` is what the user's own directory writes there, unverified; only xms_edov vouches for it. The other
/// two are the name with which the user signs in, in a domain that the directory has proved to own.
std::string_view directory_address(const JsonValue& claims, const config::SsoConnectionSettings& connection) {
  const std::string_view name = claims.text_of(connection.identity_api_v2 ? "preferred_username" : "upn");
  if (signin::is_in_domains(connection, name)) return name;
  const std::string_view email = claims.text_of("email");
  return is_true(claims, "xms_edov") && signin::is_in_domains(connection, email) ? email : std::string_view();
}

}  // namespace

Outcome<VerifiedIdentity> oidc_identity(const JsonValue& claims,
                                        const config::SsoConnectionSettings& connection) {
  VerifiedIdentity identity = identity_of(claims, connection, claims.text_of("sub"), "");
  const std::string_view email = claims.text_of("email");
  const bool is_verified = is_true(claims, "email_verified");
  if (claims.find("email_verified") != nullptr && !is_verified) {
    return refuse("OIDC-8", "The provider has not verified the address {} (email_verified).",
                  platform::in_quotes(email));
  }
  // An address in another domain says nothing about its owner: the provider speaks for its own domains only.
  if (signin::is_in_domains(connection, email)) identity.address = email;
  return with_checked_text(std::move(identity));
}

Outcome<VerifiedIdentity> directory_identity(const JsonValue& claims,
                                             const config::SsoConnectionSettings& connection,
                                             const std::string& tenant) {
  const std::string claimed = platform::ascii_lower(claims.text_of("tid"));
  if (claimed.empty() || claimed != tenant ||
      (!connection.tenant_id.empty() && claimed != connection.tenant_id)) {
    return refuse("OIDC-9", "The ID token is of directory {}; the connection's is {}.",
                  platform::in_quotes(claimed), connection.tenant_id.empty() ? tenant : connection.tenant_id);
  }
  const std::string_view object = claims.text_of("oid");
  if (!signin::is_identity_line(object))
    return refuse("OIDC-10",
                  "The ID token has no oid of one line. Keep profile among the connection's scopes.");
  if (is_guest(claims) && !connection.allow_guests) {
    return refuse("OIDC-11",
                  "The user is a guest of the directory; the setting allow_guests of the connection lets "
                  "guests sign in.");
  }
  VerifiedIdentity identity = identity_of(claims, connection, object, claimed);
  identity.address = directory_address(claims, connection);
  return with_checked_text(std::move(identity));
}

}  // namespace giftsync::daemon::identity::oidc
