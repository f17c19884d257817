// The rotation of the server secret: store, files and sealed texts, also where it was interrupted.
#include "daemon/wiring/secret_rotation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>

#include "crm/salesforce/calls/access_token.h"
#include "daemon/secret_watch.h"
#include "daemon/wiring/components_config.h"
#include "daemon/wiring/database_config.h"
#include "daemon/wiring/erased_addresses.h"
#include "platform/digest.h"
#include "platform/keys.h"

namespace giftsync::wiring {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

constexpr UtcMillis kNow{1'795'264'267'000};
constexpr std::int64_t kGrace = 30 * kDayMillis;

std::string fingerprint_of(const std::string& secret) {
  return sync::LinkSigner(secret).fingerprint();
}

class SecretRotationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "giftsync-rotation-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    settings_.file = (folder_ / "giftsyncd.yaml").string();
    settings_.store.connection = (folder_ / "giftsync.db").string();
    store::migrate_store(store_dsn(settings_.store));
    store_ = std::make_unique<store::Store>(store_dsn(settings_.store));
    first_ = load_server_secrets(settings_, *store_).current;
  }
  void TearDown() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::string path() const { return server_secret_path(settings_); }
  std::string next_path() const { return next_server_secret_path(settings_); }
  ServerSecrets loaded() { return load_server_secrets(settings_, *store_); }
  std::optional<ServerSecrets> rotate(std::int64_t grace = kGrace, UtcMillis now = kNow) {
    return rotate_server_secret(settings_, *store_, loaded(), grace, now);
  }
  /// As a command does it that ends before the files are exchanged.
  std::string rotate_in_the_store_alone() {
    const std::string next = prepare_next_secret(settings_);
    store::ServerSecretFacts facts(store_dsn(settings_.store));
    EXPECT_TRUE(facts.rotate(fingerprint_of(next), {fingerprint_of(first_), kNow, kNow + kGrace,
                                                    seal_text(next, kFormerSecretLabel, first_)}));
    return next;
  }
  void seal_token(const std::string& secret) {
    store_->set_metadata(salesforce::kTokenFact, seal_text(secret, salesforce::kTokenSealLabel, "token"));
  }
  std::optional<std::string> token_by(const std::string& secret) {
    return giftsync::open_sealed_text(secret, salesforce::kTokenSealLabel,
                                      store_->metadata(salesforce::kTokenFact).value_or(""));
  }
  SealedAgain finish(const ServerSecrets& secrets, UtcMillis now, bool may_continue = true) {
    return finish_rotation(settings_, secrets, now, [=] { return may_continue; });
  }
  void expect_refused(const std::string& part) {
    EXPECT_THAT([this] { loaded(); }, ThrowsMessage<ConfigError>(AllOf(HasSubstr(path()), HasSubstr(part))));
    EXPECT_FALSE(readable_server_secrets(settings_, *store_));
    EXPECT_THAT(server_secret_fault(settings_, *store_).value_or(""), HasSubstr(part));
  }

  std::filesystem::path folder_;
  config::Settings settings_;
  std::unique_ptr<store::Store> store_;
  std::string first_;
};

// OPS-37
TEST_F(SecretRotationTest, TheNewSecretTakesThePlaceOfTheFormerOne) {
  EXPECT_FALSE(loaded().former);
  const auto rotated = rotate();
  ASSERT_TRUE(rotated);
  EXPECT_NE(rotated->current, first_);
  EXPECT_EQ(read_server_secret(path()), rotated->current);
  EXPECT_FALSE(std::filesystem::exists(next_path()));
  EXPECT_EQ(store_->metadata(store::kSecretFingerprintFact), fingerprint_of(rotated->current));
  ASSERT_TRUE(rotated->former);
  EXPECT_EQ(rotated->former->secret, first_);
  EXPECT_EQ(rotated->former->rotation.former_fingerprint, fingerprint_of(first_));
  EXPECT_EQ(rotated->former->rotation.rotated_at, kNow);
  const ServerSecrets again = loaded();
  EXPECT_EQ(again.current, rotated->current);
  const auto former = former_signer(again);
  ASSERT_TRUE(former);
  EXPECT_EQ(former->valid_until, kNow + kGrace);
  EXPECT_EQ(former->signer.fingerprint(), fingerprint_of(first_));
  EXPECT_EQ(links_since(*store_), kNow);
}

// MAIL-25
TEST_F(SecretRotationTest, TheRelaysSettingsAreNotChangedByIt) {
  const auto fingerprint = [this] {
    store::Store restarted(store_dsn(settings_.store));
    open_erased_addresses(settings_, restarted);
    return relay_fingerprint(settings_.email, restarted.do_not_send);
  };
  const std::string before = fingerprint();
  rotate();
  EXPECT_EQ(fingerprint(), before);
  finish(loaded(), kNow + kGrace + 1);
  ASSERT_FALSE(loaded().former);
  EXPECT_EQ(fingerprint(), before);
}

// OPS-37
TEST_F(SecretRotationTest, TheStoreHasNoSecretThatIsReadableWithoutTheFile) {
  rotate();
  const std::string stored = store_->metadata(store::kSecretRotationFact).value_or("");
  EXPECT_THAT(stored, Not(HasSubstr(to_hex(first_))));
  const auto rotation = store::secret_rotation_from(stored);
  ASSERT_TRUE(rotation);
  EXPECT_FALSE(giftsync::open_sealed_text(first_, kFormerSecretLabel, rotation->sealed_former))
      << "who has the former secret and the store does not get the new one";
}

// OPS-37
TEST_F(SecretRotationTest, SealedTextsAreReadableBeforeAndAfterTheyAreSealedAgain) {
  seal_token(first_);
  const ServerSecrets secrets = *rotate();
  const std::string sealed = store_->metadata(salesforce::kTokenFact).value_or("");
  EXPECT_EQ(open_sealed_text(secrets, salesforce::kTokenSealLabel, sealed), "token");
  EXPECT_FALSE(token_by(secrets.current));
  EXPECT_EQ(finish(secrets, kNow).texts, 1);
  EXPECT_EQ(token_by(secrets.current), "token");
  EXPECT_EQ(finish(secrets, kNow).texts, 0) << "again it finds nothing to do";
  EXPECT_TRUE(loaded().former) << "its links are valid still";
}

// OPS-37
TEST_F(SecretRotationTest, AnInterruptedRunIsRepeatedAndTheFormerSecretIsKeptUntilThen) {
  seal_token(first_);
  const ServerSecrets secrets = *rotate();
  const UtcMillis end = kNow + kGrace;
  EXPECT_FALSE(finish(secrets, end, false).is_complete);
  EXPECT_FALSE(token_by(secrets.current));
  ASSERT_TRUE(loaded().former) << "it alone opens the text";
  EXPECT_TRUE(finish(loaded(), end).is_complete);
  EXPECT_EQ(token_by(secrets.current), "token");
  EXPECT_FALSE(loaded().former);
  EXPECT_EQ(token_by(loaded().current), "token") << "after the former secret was dropped";
  EXPECT_EQ(secret_rotation_of(*store_)->former_fingerprint, fingerprint_of(first_)) << "known for good";
}

// OPS-37
TEST_F(SecretRotationTest, ATextThatTheFormerSecretSealsLateIsSealedAgainBeforeItIsDropped) {
  const ServerSecrets secrets = *rotate(0);
  EXPECT_EQ(finish(secrets, kNow).texts, 0);
  seal_token(first_);  // by a process that has not seen the rotation yet
  EXPECT_FALSE(may_drop_former(secrets.former->rotation, kNow + kLeastKeptMillis - 1));
  EXPECT_TRUE(loaded().former) << "although its links have ended";
  EXPECT_EQ(finish(secrets, kNow + kLeastKeptMillis).texts, 1);
  EXPECT_EQ(token_by(secrets.current), "token");
  EXPECT_FALSE(loaded().former);
}

// OPS-37
TEST_F(SecretRotationTest, ATextOfNeitherSecretStaysAsItIs) {
  seal_token(std::string(32, 'x'));
  const ServerSecrets secrets = *rotate();
  const SealedAgain done = finish(secrets, kNow + kGrace);
  EXPECT_EQ(done.texts, 0);
  EXPECT_EQ(done.unreadable, 1);
  EXPECT_EQ(token_by(std::string(32, 'x')), "token");
  EXPECT_FALSE(loaded().former) << "it does not open that text either";
}

// OPS-37
TEST_F(SecretRotationTest, AnEndBetweenStoreAndFilesIsMadeGoodByTheNextReader) {
  const std::string next = rotate_in_the_store_alone();
  EXPECT_EQ(read_server_secret(path()), first_);
  EXPECT_EQ(readable_server_secrets(settings_, *store_)->current, next) << "it changes no file";
  EXPECT_EQ(read_server_secret(path()), first_);
  EXPECT_EQ(server_secret_fault(settings_, *store_), std::nullopt);
  const ServerSecrets secrets = loaded();
  EXPECT_EQ(secrets.current, next);
  EXPECT_EQ(secrets.former->secret, first_);
  EXPECT_EQ(read_server_secret(path()), next);
  EXPECT_FALSE(std::filesystem::exists(next_path()));
}

// OPS-37
TEST_F(SecretRotationTest, AnEndBeforeTheStoreChangesNothingAndItsSecretIsUsedNextTime) {
  const std::string next = prepare_next_secret(settings_);
  EXPECT_EQ(loaded().current, first_);
  EXPECT_EQ(prepare_next_secret(settings_), next);
  EXPECT_EQ(rotate()->current, next);
}

// OPS-37
TEST_F(SecretRotationTest, TheNextSecretReplacesNoSecretOfAnotherStore) {
  const std::string next = rotate_in_the_store_alone();
  std::filesystem::remove(path());
  const std::string other = create_server_secret(path());
  EXPECT_EQ(loaded().current, next);
  EXPECT_EQ(read_server_secret(path()), other);
}

// OPS-37
TEST_F(SecretRotationTest, ALeftoverOfTheNextSecretIsRemovedAndALaterOneIsNot) {
  const std::string next = rotate_in_the_store_alone();
  std::filesystem::copy_file(next_path(), folder_ / "copy");
  loaded();
  std::filesystem::rename(folder_ / "copy", next_path());
  EXPECT_EQ(loaded().current, next);
  EXPECT_FALSE(std::filesystem::exists(next_path()));
  const std::string later = prepare_next_secret(settings_);
  EXPECT_EQ(loaded().current, next);
  EXPECT_EQ(read_server_secret(next_path()), later) << "its only copy";
}

// OPS-37
TEST_F(SecretRotationTest, OfTwoRotationsAtOnceOneIsRefused) {
  const ServerSecrets before = loaded();
  ASSERT_TRUE(rotate());
  const ServerSecrets secrets = loaded();
  EXPECT_FALSE(rotate_server_secret(settings_, *store_, before, 0, kNow + 1));
  EXPECT_EQ(loaded().current, secrets.current);
  EXPECT_EQ(loaded().former->rotation, secrets.former->rotation);
}

// OPS-37
TEST_F(SecretRotationTest, TheSecondRotationEndsTheLinksOfTheFirstSecret) {
  seal_token(first_);
  const ServerSecrets second = *rotate();
  finish(second, kNow);
  const ServerSecrets third = *rotate(kGrace, kNow + kDayMillis);
  ASSERT_TRUE(third.former);
  EXPECT_EQ(third.former->secret, second.current);
  EXPECT_EQ(third.former->rotation.links_until, kNow + kDayMillis + kGrace);
  EXPECT_EQ(finish(third, kNow + kDayMillis).texts, 1);
  EXPECT_EQ(token_by(third.current), "token");
}

// OPS-5
TEST_F(SecretRotationTest, AnotherStoresFileIsRefusedAfterARotationToo) {
  rotate();
  std::filesystem::remove(path());
  create_server_secret(path());
  expect_refused("is not the server secret of this store");
}

// OPS-38
TEST_F(SecretRotationTest, ARunningProcessSeesHowItsSecretStands) {
  const auto state = [&](const std::string& secret, UtcMillis now = kNow) {
    return check_secret_of_process(settings_, *store_, secret, now).state;
  };
  EXPECT_EQ(state(first_), SecretState::current);
  std::filesystem::copy_file(path(), folder_ / "former");
  const std::string next = rotate_in_the_store_alone();
  EXPECT_EQ(state(first_), SecretState::rotated) << "the next secret was copied here before";
  EXPECT_EQ(loaded().current, next);
  EXPECT_EQ(state(next), SecretState::current);
  EXPECT_EQ(state(first_), SecretState::rotated);
  const auto end = [&](const std::string& secret) {
    return check_secret_of_process(settings_, *store_, secret, kNow).links_until;
  };
  EXPECT_EQ(end(next), std::nullopt);
  EXPECT_EQ(end(first_), kNow + kGrace) << "also before a reload takes the new secret";
  EXPECT_EQ(end(std::string(32, 'x')), UtcMillis{INT64_MIN}) << "of a secret of before the former one";
  std::filesystem::rename(folder_ / "former", path());
  expect_refused("is the former server secret of this store");
  EXPECT_EQ(state(first_, kNow + kGrace - 1), SecretState::former);
  EXPECT_EQ(state(first_, kNow + kGrace), SecretState::unusable);
  EXPECT_THAT(check_secret_of_process(settings_, *store_, first_, kNow).fault,
              AllOf(HasSubstr("2026-11-21T"), HasSubstr("giftsyncctl secret rotate")));
}

// OPS-38
TEST_F(SecretRotationTest, ADaemonThatCannotTakeTheNewSecretEndsItsOwnLinks) {
  const ServerSecrets secrets = loaded();
  const sync::LinkSigner signer(secrets.current);
  sync::GiftLinks links("https://gifts.example", signer);
  daemon::SecretWatch watch(settings_, *store_, secrets, links);
  const std::string token = signer.token(sync::LinkKind::redeem, {42}, 0);
  watch.check(kNow);
  EXPECT_TRUE(links.verify(token, kNow + kDayMillis));
  rotate(0);
  watch.check(kNow);
  EXPECT_EQ(watch.state(), SecretState::rotated) << "no reload has taken it yet";
  EXPECT_FALSE(links.verify(token, kNow));
}

// OPS-37
TEST_F(SecretRotationTest, AColumnOfSealedTextsIsListedAndReplacedRowByRow) {
  store::ServerSecretFacts facts(store_dsn(settings_.store));
  store_->set_metadata("a", "1");
  constexpr store::SealedColumn kOne{"store_metadata", "name", "value", "label", "a"};
  const auto texts = facts.sealed_texts(kOne);
  ASSERT_THAT(texts,
              ElementsAre(AllOf(Field(&store::SealedText::key, "a"), Field(&store::SealedText::text, "1"))));
  EXPECT_TRUE(facts.replace(kOne, texts.front(), "2"));
  EXPECT_FALSE(facts.replace(kOne, texts.front(), "3")) << "another process was faster";
  EXPECT_EQ(store_->metadata("a"), "2");
  constexpr store::SealedColumn kAll{"store_metadata", "name", "value", "label"};
  EXPECT_THAT(facts.sealed_texts(kAll), SizeIs(testing::Gt(2u)));
}

// OPS-37
TEST(SecretRotationText, AnotherTextIsNoRotation) {
  const store::SecretRotation rotation{"ab", {1}, {2}, "v1.x"};
  EXPECT_EQ(store::secret_rotation_from(to_text(rotation)), rotation);
  for (const std::string text : {"", "ab", "ab\n1\n2", "ab\n1\nx\n", "ab\n\n2\n", "ab\n1\n2\n3\n4"})
    EXPECT_EQ(store::secret_rotation_from(text), std::nullopt) << text;
}

}  // namespace
}  // namespace giftsync::wiring
