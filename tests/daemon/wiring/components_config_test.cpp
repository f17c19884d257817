// What a pause of mail delivery is bound to, and what mails to senders link to.
#include "daemon/wiring/components_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "sync/gift/gift_links.h"
#include "tests/support/temporary_store.h"

namespace giftsync::wiring {
namespace {

config::EmailSettings relay() {
  config::EmailSettings email;
  email.transport = config::MailTransportKind::smtp;
  email.smtp_url = "smtp://relay.example.com:587";
  email.smtp_username = "gifts";
  email.smtp_password = config::Secret("first password");
  return email;
}

// MAIL-25
TEST(RelayFingerprint, EachSettingOfTheRelayChangesItAndNoOtherDoes) {
  store::DoNotSend key(nullptr);
  key.set_erased_address_key(std::string(32, 'k'));
  const std::function<void(config::EmailSettings&)> changes[] = {
      [](auto&) {},
      [](auto& email) { email.smtp_url = "smtp://relay.example.com:588"; },
      [](auto& email) { email.smtp_username = "sgift"; },
      [](auto& email) { email.smtp_password = config::Secret("second password"); },
      [](auto& email) { email.smtp_require_tls = false; },
      [](auto& email) { email.smtp_ca_file = "/etc/ca.pem"; },
      [](auto& email) { email.smtp_client_name = "vm.example.com"; },
      [](auto& email) { email.from = "other@example.com"; },
      [](auto& email) { email.transport = config::MailTransportKind::file; }};
  std::set<std::string> fingerprints;
  for (const auto& change : changes) {
    config::EmailSettings email = relay();
    change(email);
    fingerprints.insert(relay_fingerprint(email, key));
  }
  EXPECT_EQ(fingerprints.size(), std::size(changes));
  config::EmailSettings more_connections = relay();
  more_connections.smtp_connections = 9;
  const std::string fingerprint = relay_fingerprint(relay(), key);
  EXPECT_EQ(relay_fingerprint(more_connections, key), fingerprint);
  EXPECT_THAT(fingerprint, testing::MatchesRegex("[0-9a-f]{16}"));
  key.set_erased_address_key(std::string(32, 'l'));
  EXPECT_NE(relay_fingerprint(relay(), key), fingerprint)
      << "without the key no password can be tried against it";
}

// covers: GUARD-24
TEST(UnknownInRules, AnItemAnAccountAndAKeyWithoutAUsableOneAreNamed) {
  tests::TemporaryStore store;
  store::Account account;
  account.email = "ana@example.com";
  store::Credential key;
  key.account = *store->accounts.create(account);
  const UtcMillis now{1'800'000'000'000};
  for (const std::string prefix : {"gsk_live_good", "gsk_live_past"}) {
    key.prefix = key.hash = prefix;
    key.id = store->credentials.insert(key);
  }
  store->credentials.set_expiry(key, now - 1);
  config::SendingApprovalSettings settings;
  settings.rules.resize(1);
  settings.rules[0].name = "watched";
  settings.rules[0].accounts = {"Ana@example.com", "bea@example.com"};
  settings.rules[0].items = {"4711"};
  settings.rules[0].credentials = {"gsk_live_go", "gsk_live_past", "got_live_none"};
  using testing::HasSubstr;
  EXPECT_THAT(unknown_in_rules(settings, *store, now),
              testing::ElementsAre(HasSubstr("the rule watched names the item 4711"),
                                   HasSubstr("account bea@example.com"), HasSubstr("token gsk_live_past"),
                                   HasSubstr("token got_live_none")));
}

// MAIL-35
TEST(DeliveryRules, MailsToSendersLinkToTheConsoleOnlyWhileItIsOn) {
  const sync::LinkSigner signer(std::string(32, 's'));
  const sync::GiftLinks links("https://gifts.example.com", signer);
  config::Settings settings;
  settings.email.from = "gifts@example.com";
  settings.server.admin_url = "https://admin.example.com";
  store::SenderNotice notice;
  notice.gift = {41};
  notice.email = "ada@example.com";
  const store::SenderMail mail{"sam@example.com", false, 1, {notice}};
  sync::MailIdentity identity;
  identity.message_id = "sender-1@example.com";
  const auto bytes = [&](bool is_on) {
    settings.console.enabled = is_on;
    return delivery_rules(settings, "abc", links).compose_for_sender(mail, identity).bytes;
  };
  EXPECT_THAT(bytes(true), testing::HasSubstr("https://admin.example.com/console/gifts/41"));
  EXPECT_THAT(bytes(false), testing::HasSubstr("giftsyncctl gift resend 41 --email ADDRESS"));
}

// SIGN-15
TEST(MailedLinks, AreOnWhereNoProviderSignsPeopleIn) {
  const auto are_on = [](bool enabled, bool sign_in, bool has_connection, config::MailLinks wanted) {
    config::Settings settings;
    settings.console.enabled = enabled;
    settings.console.sign_in = sign_in;
    settings.console.mail_links = wanted;
    settings.sso.connections.resize(has_connection ? 1 : 0);
    return mails_sign_in_links(settings);
  };
  using config::MailLinks;
  EXPECT_TRUE(are_on(true, false, false, MailLinks::without_provider));
  EXPECT_TRUE(are_on(true, false, true, MailLinks::without_provider)) << "the connection is not used";
  EXPECT_TRUE(are_on(true, true, false, MailLinks::without_provider));
  EXPECT_FALSE(are_on(true, true, true, MailLinks::without_provider));
  EXPECT_TRUE(are_on(true, true, true, MailLinks::always));
  EXPECT_FALSE(are_on(true, false, false, MailLinks::never));
  EXPECT_FALSE(are_on(false, false, false, MailLinks::always)) << "there is no console";
}

// SIGN-15
TEST(DeliveryRules, AMailedLinkHasTheTokenOfItsSalt) {
  config::Settings settings;
  settings.server.admin_url = "https://admin.example.com";
  settings.email.from = "gifts@example.com";
  const sync::LinkSigner signer("secret");
  const sync::GiftLinks links("https://gifts.example.com", signer);
  sync::MailIdentity identity;
  identity.message_id = "sign_in-1@example.com";
  std::string bytes = delivery_rules(settings, "abc", links)
                          .compose_for_sign_in({.email = "ana@example.com", .salt = "salt"}, identity)
                          .bytes;
  for (std::size_t at = 0; (at = bytes.find("=\r\n")) != std::string::npos;) bytes.erase(at, 3);
  EXPECT_THAT(bytes, testing::HasSubstr("https://admin.example.com/console/link/" +
                                        links.sign_in_token("salt") + "\r\n"));
}

}  // namespace
}  // namespace giftsync::wiring
