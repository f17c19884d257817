// daemon/config: the keys of `crm.salesforce`: the org, the sign-in and the calls that giftsync may use.
#include "daemon/config/settings_table.h"

namespace giftsync::daemon::config {
namespace {

using S = SalesforceSettings;

constexpr std::int64_t kLeastRowsOfCall = 25;
constexpr std::int64_t kMostRowsOfCall = 1000;

template <class T>
auto salesforce(T S::*member) {
  return setting(&Settings::crm, &CrmSettings::salesforce, member);
}

KeyTable sign_in_keys() {
  const OnlyWith jwt{"crm.salesforce.flow", "jwt"};
  const OnlyWith client_credentials{"crm.salesforce.flow", "client_credentials"};
  return {{"crm.salesforce.domain",
           "The org's My Domain URL, at which giftsync signs in and calls the API. Required with type: "
           "salesforce.",
           Text{salesforce(&S::domain),
                {"an https:// URL of a host such as https://acme.my.salesforce.com", check_org_url,
                 R"({"pattern": "^[Hh][Tt][Tt][Pp][Ss]?://[^/?#@\\s]+/*$"})"}},
           {.example = "\"https://acme.my.salesforce.com\""}},
          {"crm.salesforce.login",
           "Which host's users the assertion of flow: jwt is for: production (login.salesforce.com), sandbox "
           "(test.salesforce.com) or a URL.",
           Text{salesforce(&S::login),
                {"production, sandbox or an https:// URL of a host", check_org_login,
                 R"({"pattern": "^(production|sandbox|[Hh][Tt][Tt][Pp][Ss]?://[^/?#@\\s]+/*)$"})"}}},
          {"crm.salesforce.flow",
           "How giftsync signs in: jwt, by an assertion that private_key signs; client_credentials, by "
           "client_secret.",
           choice({"jwt", "client_credentials"}, salesforce(&S::flow))},
          {"crm.salesforce.client_id",
           "The consumer key of the org's External Client App. Required with type: salesforce.",
           Text{salesforce(&S::client_id), plain_text("the consumer key as the app shows it")},
           {.example = "\"3MVG9...\""}},
          {"crm.salesforce.username",
           "The user name of the integration user. Required with flow: jwt.",
           Text{salesforce(&S::username), plain_text("a user name")},
           {.example = "\"giftsync@acme.example\"", .only_with = jwt}},
          {"crm.salesforce.private_key",
           "The RSA key (PEM, 2048 bits or more) whose certificate the app has, as a reference to a secret. "
           "Required with flow: jwt.",
           SecretReference{salesforce(&S::private_key), true},
           {.example = "\"credential:salesforce-key\"", .only_with = jwt}},
          {"crm.salesforce.client_secret",
           "The consumer secret of the app, as a reference to a secret. Required with flow: "
           "client_credentials.",
           SecretReference{salesforce(&S::client_secret)},
           {.example = "\"credential:salesforce-secret\"", .only_with = client_credentials}}};
}

KeyTable call_keys() {
  return {{"crm.salesforce.api_version", "The version of the Salesforce API.",
           Text{salesforce(&S::api_version),
                {"a version from 60.0 on such as 62.0", check_api_version,
                 R"({"type": ["string", "number"], "minimum": 60, "pattern": "^[1-9][0-9]{1,2}([.]0)?$"})"}}},
          {"crm.salesforce.share",
           "The part of the org's daily API calls that giftsync may use; beyond it only new gifts and status "
           "changes are written.",
           WholeNumber{salesforce(&S::share), 1, 100, "percent"}},
          {"crm.salesforce.keep_free",
           "The part of the org's daily API calls that stays free for others: giftsync makes no call while "
           "less is left.",
           WholeNumber{salesforce(&S::keep_free), 0, 90, "percent"}},
          {"crm.salesforce.rows_a_call",
           "The most rows that one call writes. giftsync takes fewer by itself after a row lock or a slow "
           "call.",
           WholeNumber{salesforce(&S::rows_a_call), kLeastRowsOfCall, kMostRowsOfCall, "rows"}},
          {"crm.salesforce.mode",
           "How an older state is kept from overwriting a newer one: guarded, by the validation rules of "
           "giftsync's package; bare, for the package of another owner, by one writer among all daemons and "
           "commands. Guarded mode never becomes bare by itself.",
           choice({"guarded", "bare"}, salesforce(&S::mode))}};
}

}  // namespace

KeyTable salesforce_keys() {
  return joined({sign_in_keys, call_keys});
}

}  // namespace giftsync::daemon::config
