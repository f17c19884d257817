// Fixture of the mail providers' webhook tests: a source, the results of its messages, and signatures.
#pragma once

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/sources/kept_event.h"
#include "daemon/sources/provider_webhook.h"
#include "platform/digest.h"

namespace giftsync::sources {

inline constexpr UtcMillis kNow{1'800'000'000'000};
inline constexpr const char* kTopicArn = "arn:aws:sns:us-west-2:123456789012:MyTopic";

inline CompiledSource compiled_source_for(config::SourcePreset preset, const std::string& secret) {
  config::SourceSettings settings;
  settings.name = "mails";
  settings.preset = preset;
  if (!secret.empty()) settings.secrets = {config::Secret(secret)};
  settings.topic = kTopicArn;
  return compile_source(settings, "8f3a");
}

inline std::optional<std::string> no_fetch(const std::string&) {
  return std::nullopt;
}

/// The statuses that a message sets on transaction 41; "complaint" or "ignored" for an event that sets none.
inline std::vector<std::string> describe_outcomes(const WebhookMessage& message, const CompiledSource& source,
                                                  UtcMillis now = kNow) {
  std::vector<std::string> descriptions;
  if (const auto* refusal = std::get_if<WebhookRefusal>(&message)) return {"refused " + refusal->why};
  if (const auto* temporary_failure = std::get_if<WebhookTemporaryFailure>(&message))
    return {"not now: " + temporary_failure->why};
  if (const auto* invalid = std::get_if<WebhookInvalidBody>(&message)) return {"invalid " + invalid->why};
  for (const sync::InboundEvent& event : std::get<WebhookEvents>(message).events) {
    const sync::ClassifiedEvent classified =
        sync::classify_event(event, keep(event), source.rules, now, [](GiftId) { return std::nullopt; });
    if (classified.ignored) {
      const bool is_complaint = event.generation && event[sync::EventField::status] == sync::kComplaintStatus;
      descriptions.push_back(is_complaint ? "complaint" : "ignored");
    } else if (classified.item.quarantined) {
      descriptions.push_back("quarantined: " + classified.item.event.detail);
    } else {
      EXPECT_EQ(classified.item.change->transaction.value, 41);
      descriptions.push_back(std::string(to_word(classified.item.change->status)) + " " +
                             to_rfc3339(classified.item.change->occurred_at));
    }
  }
  return descriptions;
}

/// Of each event the address that the provider calls bad; empty: none.
inline std::vector<std::string> bad_addresses(const WebhookMessage& message) {
  std::vector<std::string> addresses;
  for (const sync::InboundEvent& event : std::get<WebhookEvents>(message).events)
    addresses.push_back(event.bounced_address);
  return addresses;
}

using SigningKey = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

/// The signature in base64.
inline std::string sign(EVP_PKEY* key, const std::string& text, const EVP_MD* hash) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  EVP_DigestSignInit(context.get(), nullptr, hash, nullptr, key);
  std::size_t length = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  EVP_DigestSign(context.get(), nullptr, &length, bytes, text.size());
  std::string signature(length, '\0');
  EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &length, bytes,
                 text.size());
  signature.resize(length);
  return to_base64_text(signature);
}

}  // namespace giftsync::sources
