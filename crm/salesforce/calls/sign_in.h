// crm/salesforce: signs in at the org's token endpoint as the integration user, without a person: by a
// signed assertion (JWT bearer) or by the app's secret (client credentials). One request, never repeated
// here: repeated refusals can lock the user. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "crm/salesforce/calls/answers.h"
#include "platform/http_client.h"
#include "platform/keys.h"
#include "platform/time.h"

namespace giftsync::salesforce {

enum class SignInFlow { jwt_bearer, client_credentials };

struct SignInSettings {
  std::string domain;                ///< "https://acme.my.salesforce.com", no slash at its end
  std::string login = "production";  ///< production | sandbox | a URL: the assertion's audience
  SignInFlow flow = SignInFlow::jwt_bearer;
  std::string client_id;                  ///< the app's consumer key
  std::string username;                   ///< jwt_bearer
  std::optional<SigningKey> private_key;  ///< jwt_bearer
  std::string client_secret;              ///< client_credentials
};

/// What requests to the API need, and whose it is.
struct Session {
  std::string access_token;     ///< a secret
  std::string instance_url;     ///< "https://acme.my.salesforce.com"
  std::string organization_id;  ///< 15 or 18 characters
  std::string user_id;          ///< 15 or 18 characters

  bool operator==(const Session&) const = default;
};

/// The org refuses these credentials. Nothing changes until an admin has acted.
struct SignInRefusal {
  std::string reason;     ///< the org's own words
  std::string next_step;  ///< a sentence without an end, for an admin
};

/// No answer, or one that says nothing about the credentials: a later attempt may succeed.
struct SignInFault {
  std::string reason;
  std::optional<std::int64_t> retry_after_seconds = {};  ///< if the server says so
  int status = 0;                                        ///< of HTTP; 0: no answer
  bool is_answered = false;  ///< by the token endpoint of an org, with an error that passes
};

using SignInOutcome = std::variant<Session, SignInRefusal, SignInFault>;

/// Only a Session contains a secret. `keep_going`: false ends the request; may be null. Throws
/// giftsync::DependencyError when OpenSSL cannot sign.
SignInOutcome sign_in(const SignInSettings& settings, HttpClient& http, UtcMillis now,
                      const KeepGoing& keep_going = nullptr);

/// Whose sign-in these settings describe: equal as long as a session of one serves the other. No secret can
/// be derived from it.
std::string sign_in_fingerprint(const SignInSettings& settings);

// What an admin does about each refusal of the token endpoint. Pure.

/// Whether the error says nothing about the credentials, so that a later attempt may succeed.
bool is_temporary(const OAuthError& error);

/// A sentence for an admin, without an end: what to change and where. `clock_lead_seconds`: by how much this
/// host's clock is ahead of the server's, where the answer has a date.
std::string next_step_after(const OAuthError& error, std::optional<std::int64_t> clock_lead_seconds);

// Describes a response that is not what the API returns, such as a maintenance page or the
// page of a proxy. Pure.

/// The status, the kind of the body and its first 200 characters, as one visible line: "HTTP 503, text/html:
/// <html>...".
std::string describe_unexpected(const HttpResponse& response);

}  // namespace giftsync::salesforce
