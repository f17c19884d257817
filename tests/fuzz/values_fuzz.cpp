// Small values from outside: times, money, addresses, digits, pointers, queries and SOQL literals.
#include "crm/salesforce/calls/soql.h"
#include "daemon/http/trusted_proxies.h"
#include "platform/digest.h"
#include "platform/ip_address.h"
#include "platform/text.h"
#include "platform/time.h"
#include "platform/url_parameters.h"
#include "schema/contact_normalization.h"
#include "schema/money.h"
#include "tests/fuzz/fuzz.h"

namespace giftsync::fuzz {
namespace {

void check_time(const std::string& text) {
  const auto time = from_iso8601(text);
  if (time) {
    require(to_rfc3339(*time).size() == std::string_view("2026-11-21T12:31:07.042Z").size(),
            "a time has a year of four digits", to_rfc3339(*time));
    require(from_rfc3339(to_rfc3339(*time)) == time, "a time is read again as it was", to_rfc3339(*time));
  }
  if (const auto strict = from_rfc3339(text)) require(strict == time, "RFC 3339 is ISO 8601");
}

void check_numbers(const std::string& text) {
  if (const auto amount = from_decimal(text))
    require(from_decimal(to_decimal(*amount)) == amount && *amount <= kMaxMoney, "money is read again",
            to_decimal(*amount));
  if (const auto bytes = from_hex(text)) require(to_hex(*bytes) == ascii_lower(text), "hex is read again");
  if (const auto bytes = from_base64url(text)) require(to_base64url(*bytes) == text, "base64url is exact");
  if (const auto bytes = from_base64_text(text))
    require(to_base64_text(*bytes).starts_with(text), "base64 is canonical but for its padding");
  require(from_base64url(to_base64url(text)) == text && from_base64_text(to_base64_text(text)) == text,
          "bytes are read again");
}

void check_addresses(const std::string& text) {
  if (const auto address = parse_ip_address(text)) {
    require(parse_ip_address(address->text()) == address, "an address is read again", address->text());
    require(!http::TrustedProxies::entry_error(text) && http::TrustedProxies({text}).trusts(*address),
            "an address is an entry of trusted proxies", text);
  }
  const std::string key = email_key(text);
  if (is_storable_text(text)) require(email_key(key) == key, "a key is its own key", key);
  if (!email_error(text)) {
    require(is_storable_text(text) && !key.empty(), "a valid address is text and has a key");
    require(email_key(email_for_envelope(text)) == key, "an envelope has the same key", key);
  }
  const std::string phone = phone_key(text, "US");
  require(phone.empty() || phone_key(phone, "DE") == phone, "a key of a phone number is its own key", phone);
}

void check_statements(const std::string& text) {
  (void)unique_url_parameters(text);
  for (const auto& [name, value] : first_url_parameters(text))
    require(is_storable_text(name) && is_storable_text(value), "parameters are text");
  const auto literal = salesforce::text_literal(text);
  require(!literal || is_storable_text(text), "only text becomes a literal");
  if (!literal) return;
  require(literal->size() >= 2 && literal->front() == '\'' && literal->back() == '\'', "it is in quotes",
          *literal);
  for (std::size_t i = 1; i + 1 < literal->size(); ++i) {
    require((*literal)[i] != '\'', "no quote ends the literal early", *literal);
    if ((*literal)[i] == '\\') require(++i + 1 < literal->size(), "no backslash hides the end", *literal);
  }
}

}  // namespace
}  // namespace giftsync::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text = giftsync::fuzz::text_of(bytes, size);
  giftsync::fuzz::check_time(text);
  giftsync::fuzz::check_numbers(text);
  giftsync::fuzz::check_addresses(text);
  giftsync::fuzz::check_statements(text);
  return 0;
}
