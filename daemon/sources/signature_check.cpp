#include "daemon/sources/signature_check.h"

#include <charconv>

#include "daemon/crypto/digest.h"
#include "schema/text.h"

namespace giftsync::daemon {
namespace {

constexpr std::size_t kMostSignatures = 20;
constexpr std::size_t kMostIdBytes = 255;

SignatureOutcome bad(std::string why) {
  return {false, std::move(why), std::nullopt};
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty() && words.size() < kMostSignatures) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::optional<std::int64_t> seconds_of(std::string_view text) {
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole && seconds > 0 && seconds < 100'000'000'000 ? std::optional(seconds) : std::nullopt;
}

/// Every pair is compared, whichever was good.
bool any_equal(const std::vector<std::string>& expected, const std::vector<std::string>& given) {
  bool found = false;
  for (const std::string& one : expected) {
    for (const std::string& other : given) {
      if (equal_in_constant_time(one, other)) found = true;
    }
  }
  return found;
}

}  // namespace

SignatureOutcome check_standard_webhook(const HttpRequest& request, const std::vector<Secret>& secrets,
                                        schema::UtcMillis now) {
  const auto id = request.header("webhook-id");
  const auto timestamp = request.header("webhook-timestamp");
  const auto signature = request.header("webhook-signature");
  if (!id || id->empty() || id->size() > kMostIdBytes || !timestamp || !signature)
    return bad("without webhook-id, webhook-timestamp and webhook-signature, each once");
  if (!schema::is_storable_text(*id)) return bad("with a webhook-id that is no text");
  const auto seconds = seconds_of(*timestamp);
  if (!seconds) return bad("with a webhook-timestamp that is no number of seconds");
  const std::int64_t age = now.value - *seconds * schema::kSecondMillis;
  if (age > kSignatureToleranceMillis || age < -kSignatureToleranceMillis)
    return bad("signed more than five minutes from now");
  std::vector<std::string> given;
  for (const std::string_view word : words_of(*signature)) {
    if (!word.starts_with("v1,")) continue;
    if (auto bytes = from_base64_text(word.substr(3))) given.push_back(std::move(*bytes));
  }
  std::vector<std::string> expected;
  for (const Secret& secret : secrets) {
    if (const auto key = standard_webhook_key(secret.reveal()))
      expected.push_back(hmac_sha256(*key, *id + "." + *timestamp + "." + request.body));
  }
  if (!any_equal(expected, given)) return bad("with a wrong signature");
  return {true, "", *id};
}

SignatureOutcome check_body_hmac(const HttpRequest& request, const std::string& header,
                                 const std::vector<Secret>& secrets) {
  const auto value = request.header(header);
  if (!value) return bad("without " + header);
  std::string_view text = schema::trimmed(*value);
  if (schema::ascii_lower(text.substr(0, 7)) == "sha256=") text.remove_prefix(7);
  std::vector<std::string> given;
  if (auto bytes = from_hex(text); bytes && bytes->size() == kSha256Bytes) given.push_back(std::move(*bytes));
  if (auto bytes = from_base64_text(text)) given.push_back(std::move(*bytes));
  std::vector<std::string> expected;
  for (const Secret& secret : secrets) expected.push_back(hmac_sha256(secret.reveal(), request.body));
  if (!any_equal(expected, given)) return bad("with a wrong signature");
  return {true, "", std::nullopt};
}

SignatureOutcome check_basic(const HttpRequest& request, const std::vector<Secret>& secrets) {
  const auto value = request.header("Authorization");
  if (!value || schema::ascii_lower(std::string_view(*value).substr(0, 6)) != "basic ")
    return bad("without a user name and password");
  const auto given = from_base64_text(schema::trimmed(std::string_view(*value).substr(6)));
  // Digests, so that the time tells nothing of the secret's length either.
  std::vector<std::string> expected;
  for (const Secret& secret : secrets) expected.push_back(sha256(secret.reveal()));
  if (!given || !any_equal(expected, {sha256(*given)})) return bad("with a wrong user name or password");
  return {true, "", std::nullopt};
}

}  // namespace giftsync::daemon
