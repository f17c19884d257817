// The ground of tests of mail providers' webhooks: a source of the settings, what its messages come to, and
// signatures.
#pragma once

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/crypto/digest.h"
#include "daemon/sources/mail_presets.h"
#include "daemon/sources/report_judgement.h"

namespace giftsync::daemon {

inline constexpr schema::UtcMillis kNow{1'800'000'000'000};
inline constexpr const char* kTopic = "arn:aws:sns:us-west-2:123456789012:MyTopic";

inline SourcePlan plan_of(SourcePreset preset, const std::string& secret) {
  SourceSettings settings;
  settings.name = "mails";
  settings.preset = preset;
  if (!secret.empty()) settings.secrets = {Secret(secret)};
  settings.topic = kTopic;
  return make_source_plan(settings, "8f3a");
}

inline std::optional<std::string> no_fetch(const std::string&) {
  return std::nullopt;
}

/// The statuses that a message sets on transaction 41; "ignored" for what it does not.
inline std::vector<std::string> outcomes(const WebhookMessage& message, const SourcePlan& plan,
                                         schema::UtcMillis now = kNow) {
  std::vector<std::string> words;
  if (const auto* refusal = std::get_if<WebhookRefusal>(&message)) return {"refused " + refusal->why};
  if (const auto* later = std::get_if<WebhookNotNow>(&message)) return {"not now: " + later->why};
  if (const auto* garbage = std::get_if<WebhookGarbage>(&message)) return {"garbage " + garbage->why};
  for (const RawReport& report : std::get<WebhookReports>(message).reports) {
    const Judgement judged = judge(report, plan, now, [](schema::GiftId) { return std::nullopt; });
    if (judged.ignored) {
      words.push_back("ignored");
    } else if (judged.item.kept_aside) {
      words.push_back("aside: " + judged.item.aside.detail);
    } else {
      EXPECT_EQ(judged.item.change->transaction.value, 41);
      words.push_back(std::string(to_word(judged.item.change->status)) + " " +
                      schema::to_rfc3339(judged.item.change->occurred_at));
    }
  }
  return words;
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

}  // namespace giftsync::daemon
