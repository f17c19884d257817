// Where events are posted, how far each endpoint has come, and the log of attempts (HOOK-5).
#include "schema/store/event/webhook_endpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schema/store/server_secret_facts.h"
#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class WebhookStore : public tests::StoreFixture {
 protected:
  WebhookEndpoint created(const std::string& name) {
    WebhookEndpoint endpoint;
    endpoint.name = name;
    endpoint.url = "https://example.com/hook";
    endpoint.types = "gift.*";
    endpoint.organization = OrganizationId{3};
    endpoint.secret = "sealed";
    endpoint.epoch = 7;
    endpoint.position = 10;
    endpoint.created_by = "ana";
    EXPECT_EQ(hooks().insert(endpoint, audit("webhook.create")), WebhookEndpoints::Inserted::done);
    return endpoint;
  }
  static AuditEvent audit(const std::string& action) {
    AuditEvent event;
    event.occurred_at = kSentAt;
    event.actor_kind = ActorKind::command;
    event.action = action;
    return event;
  }
  std::string audited(const std::string& action) {
    return scalar("SELECT cast(count(*) AS TEXT) FROM audit_event WHERE action = '" + action + "'");
  }
  WebhookEndpoints& hooks() { return store_->webhooks; }
};
INSTANTIATE_TEST_SUITE_P(BackEnds, WebhookStore,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

std::vector<std::int64_t> numbers_of(const std::vector<WebhookAttempt>& attempts) {
  std::vector<std::int64_t> numbers;
  for (const WebhookAttempt& attempt : attempts) numbers.push_back(attempt.number);
  return numbers;
}

std::vector<std::int64_t> seqs_of(const std::vector<WebhookRetry>& retries) {
  std::vector<std::int64_t> seqs;
  for (const WebhookRetry& retry : retries) seqs.push_back(retry.seq);
  return seqs;
}

// HOOK-12, HOOK-13
TEST_P(WebhookStore, NamesAreUniqueAndEndpointsLimited) {
  const WebhookEndpoint first = created("crm");
  WebhookEndpoint again = first;
  EXPECT_EQ(hooks().insert(again, audit("webhook.create")), WebhookEndpoints::Inserted::name_exists);
  for (std::size_t i = 1; i < kMaxWebhookEndpoints; ++i) created("crm " + std::to_string(i));
  again.name = "one too many";
  EXPECT_EQ(hooks().insert(again, audit("webhook.create")), WebhookEndpoints::Inserted::too_many);
  EXPECT_THAT(hooks().list(), SizeIs(kMaxWebhookEndpoints));
  EXPECT_EQ(audited("webhook.create"), std::to_string(kMaxWebhookEndpoints));
  // Another owner has places of its own, until there are too many in all.
  again.organization.reset();
  again.account = AccountId{1};
  std::size_t all = kMaxWebhookEndpoints;
  for (; all < kMaxWebhookEndpointsInAll; ++all) {
    again.account = AccountId{static_cast<std::int64_t>(all / kMaxWebhookEndpoints)};
    again.name = "of accounts " + std::to_string(all);
    ASSERT_EQ(hooks().insert(again, audit("webhook.create")), WebhookEndpoints::Inserted::done) << all;
  }
  again.account = AccountId{99};
  again.name = "too many in all";
  EXPECT_EQ(hooks().insert(again, audit("webhook.create")), WebhookEndpoints::Inserted::too_many_in_all);
  const auto found = hooks().find("crm").value();
  EXPECT_EQ(found.id, first.id);
  EXPECT_EQ(found.organization, OrganizationId{3});
  EXPECT_FALSE(found.account.has_value());
  EXPECT_EQ(found.position, 10);
  EXPECT_EQ(found.state, WebhookState::active);
  EXPECT_FALSE(hooks().find("none").has_value());
}

// HOOK-5
TEST_P(WebhookStore, ABatchIsSavedAsAWhole) {
  const WebhookEndpoint before = created("crm");
  WebhookResults results{before, before};
  results.after.position = 14;
  results.after.failures = 2;
  results.retries = {{12, 1, kSentAt + 5}, {13, 10, std::nullopt}};
  results.attempts = {{before.id, 0, 11, 1, kSentAt, 20, 200, "", "ok", false},
                      {before.id, 0, 12, 1, kSentAt, 20, 0, "timeout", "", true}};
  hooks().save(results);
  auto after = hooks().find(before.id).value();
  EXPECT_EQ(after.position, 14);
  EXPECT_EQ(after.failures, 2);
  EXPECT_EQ(after.attempts, 2);
  EXPECT_THAT(seqs_of(hooks().due_retries(before.id, kSentAt + 4, 9)), IsEmpty());
  EXPECT_THAT(seqs_of(hooks().due_retries(before.id, kSentAt + 5, 9)), ElementsAre(12));
  EXPECT_EQ(hooks().next_retry(before.id).value().seq, 12);
  EXPECT_EQ(hooks().count_retries(before.id).waiting, 1);
  EXPECT_EQ(hooks().count_retries(before.id).given_up, 1);
  EXPECT_THAT(numbers_of(hooks().list_attempts(before.id, false, 99, 9)), ElementsAre(2, 1));
  EXPECT_THAT(numbers_of(hooks().list_attempts(before.id, false, 2, 9)), ElementsAre(1));
  EXPECT_THAT(numbers_of(hooks().list_attempts(before.id, true, 99, 9)), ElementsAre(2));
  WebhookResults next{after, after};
  next.ended = {12};
  next.attempts = {{before.id, 0, 12, 2, kSentAt + 6, 20, 204, "", "", false}};
  hooks().save(next);
  EXPECT_EQ(hooks().count_retries(before.id).waiting, 0);
  EXPECT_EQ(hooks().list_attempts(before.id, false, 99, 1).front().number, 3);
}

// HOOK-5, HOOK-9
TEST_P(WebhookStore, WhatAnAdminChangedMeanwhileStays) {
  const WebhookEndpoint before = created("crm");
  WebhookEndpoint moved = before;
  moved.position = 3;
  EXPECT_TRUE(hooks().move(moved, audit("webhook.replay")));
  WebhookResults results{before, before};
  results.after.position = 20;
  results.attempts = {{before.id, 0, 11, 1, kSentAt, 20, 200, "", "", false}};
  hooks().save(results);
  EXPECT_EQ(hooks().find(before.id).value().position, 3);
  EXPECT_THAT(hooks().list_attempts(before.id, false, 99, 9), SizeIs(1));
  WebhookEndpoint disabled = moved;
  disabled.state = WebhookState::disabled;
  disabled.state_since = kSentAt;
  EXPECT_TRUE(hooks().set_state(disabled, audit("webhook.disable")));
  results.before = results.after = moved;
  results.after.position = 20;
  hooks().save(results);
  EXPECT_EQ(hooks().find(before.id).value().state, WebhookState::disabled);
  EXPECT_EQ(hooks().find(before.id).value().position, 3);
}

// HOOK-9
TEST_P(WebhookStore, RetriesAreMadeDueAllOrOne) {
  const WebhookEndpoint endpoint = created("crm");
  WebhookResults results{endpoint, endpoint};
  results.retries = {{11, 10, std::nullopt}, {12, 3, kSentAt + 900}, {13, 10, std::nullopt}};
  hooks().save(results);
  EXPECT_EQ(hooks().retry_now(endpoint.id, 13, kSentAt, audit("webhook.retry")), 1);
  EXPECT_THAT(seqs_of(hooks().due_retries(endpoint.id, kSentAt, 9)), ElementsAre(13));
  EXPECT_EQ(hooks().retry_now(endpoint.id, 99, kSentAt, audit("webhook.retry")), 0);
  EXPECT_EQ(audited("webhook.retry"), "1") << "nothing was changed";
  EXPECT_EQ(hooks().retry_now(endpoint.id, std::nullopt, kSentAt, audit("webhook.retry")), 3);
  EXPECT_THAT(hooks().due_retries(endpoint.id, kSentAt, 9), SizeIs(3));
  EXPECT_THAT(hooks().due_retries(endpoint.id, kSentAt, 2), SizeIs(2));
  EXPECT_THAT(seqs_of(hooks().list_retries(endpoint.id, 11, 9)), ElementsAre(12, 13));
}

// HOOK-9
TEST_P(WebhookStore, ARetryEndsTheWaitOfOneThatIsFailing) {
  const WebhookEndpoint before = created("crm");
  WebhookResults results{before, before};
  results.after.state = WebhookState::failing;
  results.after.state_since = kSentAt;
  results.after.next_attempt_at = kSentAt + 600'000;
  hooks().save(results);
  const WebhookEndpoint failing = hooks().find(before.id).value();
  const auto next = [&] { return hooks().find(before.id).value().next_attempt_at; };
  ASSERT_EQ(next(), kSentAt + 600'000);
  EXPECT_EQ(hooks().retry_now(before.id, 99, kSentAt + 1, audit("webhook.retry")), 0);
  EXPECT_EQ(next(), kSentAt + 600'000) << "there is no such event";
  EXPECT_EQ(hooks().retry_now(before.id, std::nullopt, kSentAt + 1, audit("webhook.retry")), 0);
  EXPECT_EQ(next(), kSentAt + 1);
  EXPECT_EQ(audited("webhook.retry"), "1");
  // The attempt that was under way meanwhile sets no further wait.
  WebhookResults late{failing, failing};
  late.after.failures = 9;
  late.after.next_attempt_at = kSentAt + 700'000;
  hooks().save(late);
  EXPECT_EQ(hooks().find(before.id).value().failures, 9);
  EXPECT_EQ(next(), kSentAt + 1);
  hooks().wake(before.id, kSentAt + 5);
  EXPECT_EQ(next(), kSentAt + 1) << "it is due already";
}

// CON-7, CON-71
TEST_P(WebhookStore, AViewerSeesThoseOfTheOwnOrganizationAndItsAccounts) {
  for (const char* name : {"Edge", "Oak", "Acme"}) {
    Credential token;
    token.hash = name;
    store_->organizations.create(name, token);
  }
  Account account;
  account.email = "rose@acme.example";
  account.organization = OrganizationId{3};
  WebhookEndpoint of_account;
  of_account.name = "of an account";
  of_account.account = store_->accounts.create(account).value();
  hooks().insert(of_account, audit("webhook.create"));
  WebhookEndpoint of_all;
  of_all.name = "of all";
  hooks().insert(of_all, audit("webhook.create"));
  const WebhookEndpoint of_organization = created("of an organization");
  Viewer viewer{{}, {}, {}, {Role::admin}};
  EXPECT_THAT(hooks().list(viewer), SizeIs(3));
  viewer.organization = OrganizationId{3};
  EXPECT_THAT(hooks().list(viewer), SizeIs(2));
  EXPECT_TRUE(hooks().find(viewer, of_account.id).has_value());
  EXPECT_TRUE(hooks().find(viewer, of_organization.id).has_value());
  EXPECT_FALSE(hooks().find(viewer, of_all.id).has_value());
  viewer.organization = OrganizationId{4};
  EXPECT_THAT(hooks().list(viewer), IsEmpty());
  viewer = {{}, of_account.account, {}, {Role::sender}};
  EXPECT_THAT(hooks().list(viewer), IsEmpty());
}

// HOOK-8
TEST_P(WebhookStore, ANewEpochHasNoRetriesOfTheFormerOne) {
  WebhookEndpoint endpoint = created("crm");
  WebhookResults results{endpoint, endpoint};
  results.retries = {{11, 1, kSentAt}};
  hooks().save(results);
  endpoint.epoch = 8;
  endpoint.position = 99;
  hooks().begin_epoch(endpoint);
  EXPECT_EQ(hooks().find("crm").value().epoch, 8);
  EXPECT_EQ(hooks().find("crm").value().position, 99);
  EXPECT_EQ(hooks().count_retries(endpoint.id).waiting, 0);
}

TEST_P(WebhookStore, AnAdminsMoveIntoANewEpochEndsRetriesToo) {
  WebhookEndpoint endpoint = created("crm");
  WebhookResults results{endpoint, endpoint};
  results.retries = {{9, 1, kSentAt}};
  hooks().save(results);
  endpoint.position = 8;
  EXPECT_TRUE(hooks().move(endpoint, audit("webhook.replay")));
  EXPECT_EQ(hooks().count_retries(endpoint.id).waiting, 1) << "the epoch is the same";
  endpoint.epoch = 8;
  EXPECT_TRUE(hooks().move(endpoint, audit("webhook.replay")));
  EXPECT_EQ(hooks().count_retries(endpoint.id).waiting, 0);
}

TEST_P(WebhookStore, ThePosterMovesNoEndpointBackThatAnAdminMovedMeanwhile) {
  const WebhookEndpoint read = created("crm");
  WebhookEndpoint moved = read;
  moved.epoch = 8;
  moved.position = 500;
  EXPECT_TRUE(hooks().set_state(moved, audit("webhook.enable")));
  WebhookEndpoint begun = moved;
  begun.position = 99;
  hooks().begin_epoch(begun);
  EXPECT_EQ(hooks().find("crm").value().position, 500);
  hooks().begin_place(begun);
  EXPECT_EQ(hooks().find("crm").value().position, 500);
  begun.position = 501;
  hooks().begin_place(begun);
  EXPECT_EQ(hooks().find("crm").value().position, 501);
}

// HOOK-10
TEST_P(WebhookStore, OfTwoRotationsAtTheSameTimeOneIsRefused) {
  WebhookEndpoint one = created("crm");
  one.previous_secret = one.secret;
  WebhookEndpoint other = one;
  one.secret = "one";
  other.secret = "other";
  EXPECT_TRUE(hooks().replace_secrets(one, audit("webhook.rotate")));
  EXPECT_FALSE(hooks().replace_secrets(other, audit("webhook.rotate")));
  EXPECT_EQ(hooks().find("crm").value().secret, "one");
  EXPECT_EQ(audited("webhook.rotate"), "1");
  other.previous_secret.clear();
  EXPECT_TRUE(hooks().replace_secrets(other, audit("webhook.rotate"))) << "without a time of both";
}

TEST_P(WebhookStore, OldAttemptsAndRetriesOfDeletedEventsGo) {
  const WebhookEndpoint endpoint = created("crm");
  WebhookResults results{endpoint, endpoint};
  results.retries = {{11, 10, std::nullopt}, {12, 10, std::nullopt}};
  results.attempts = {{endpoint.id, 0, 11, 1, kSentAt, 20, 500, "", "", true},
                      {endpoint.id, 0, 12, 1, kSentAt + 1, 20, 500, "", "", true}};
  hooks().save(results);
  hooks().prune(kSentAt + 1, 12);
  EXPECT_THAT(numbers_of(hooks().list_attempts(endpoint.id, false, 99, 9)), ElementsAre(2));
  EXPECT_THAT(seqs_of(hooks().list_retries(endpoint.id, 0, 9)), ElementsAre(12));
}

// HOOK-13
TEST_P(WebhookStore, ADeletedEndpointLeavesNothing) {
  const WebhookEndpoint endpoint = created("crm");
  const WebhookEndpoint other = created("other");
  WebhookResults results{endpoint, endpoint};
  results.retries = {{11, 1, kSentAt}};
  results.attempts = {{endpoint.id, 0, 11, 1, kSentAt, 20, 500, "", "", true}};
  hooks().save(results);
  results.before = results.after = other;
  results.attempts.front().endpoint = other.id;
  hooks().save(results);
  EXPECT_TRUE(hooks().remove(endpoint.id, audit("webhook.delete")));
  EXPECT_FALSE(hooks().remove(endpoint.id, audit("webhook.delete")));
  EXPECT_EQ(audited("webhook.delete"), "1");
  EXPECT_THAT(hooks().list(), SizeIs(1));
  EXPECT_EQ(scalar("SELECT cast(count(*) AS TEXT) FROM webhook_retry"), "1");
  EXPECT_EQ(scalar("SELECT cast(count(*) AS TEXT) FROM webhook_attempt"), "1");
  hooks().add_attempt({endpoint.id, 0, 0, 1, kSentAt, 20, 200, "", "", false});
  EXPECT_EQ(scalar("SELECT cast(count(*) AS TEXT) FROM webhook_attempt"), "1");
}

// HOOK-10, OPS-37
TEST_P(WebhookStore, SealedSecretsAreFoundByTheRotationOfTheServerSecret) {
  WebhookEndpoint endpoint = created("crm");
  endpoint.previous_secret = "sealed";
  endpoint.secret = "renewed";
  endpoint.previous_until = kSentAt;
  EXPECT_TRUE(hooks().replace_secrets(endpoint, audit("webhook.rotate")));
  ServerSecretFacts facts(address());
  const SealedColumn column{"webhook_endpoint", "id", "secret", kWebhookSecretLabel};
  const auto sealed = facts.sealed_texts(column);
  ASSERT_THAT(sealed, SizeIs(1));
  EXPECT_TRUE(facts.replace(column, sealed.front(), "sealed again"));
  EXPECT_EQ(hooks().find("crm").value().secret, "sealed again");
  EXPECT_EQ(hooks().find("crm").value().previous_secret, "sealed");
}

}  // namespace
}  // namespace giftsync::store
