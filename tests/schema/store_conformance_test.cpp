// One suite for the store over every back end: whatever it promises in schema/store/ it keeps on SQLite and
// PostgreSQL.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <thread>

#include "tests/schema/store_ground.h"

namespace giftsync::schema {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr UtcMillis kNow{1'800'000'000'000};

class StoreConformance : public StoreGround {
 protected:
  Store& store() { return *store_; }

  NewGiftRequest asked(std::size_t recipients, SendMode mode = SendMode::email) {
    NewGiftRequest request;
    request.request.account = {7};
    request.request.mode = mode;
    request.request.gift = {12};
    request.request.item_name = "Coffee \"grande\" \\ {1,2} ☕";
    request.request.item_description = "Hot";
    request.request.costs = {{550}, {0}, {12}, {30}};
    request.request.sender_email = "sender@example.com";
    request.request.sender_name = "Sam";
    request.request.created_at = kNow;
    for (std::size_t i = 0; i < recipients; ++i) {
      request.recipients.push_back(
          {"person" + std::to_string(i) + "@example.com", "Per", "Son", "Line 1\nLine 2 ' \" \\ , {}"});
    }
    return request;
  }

  TransactionId one_gift(SendMode mode = SendMode::email) {
    const NewGiftRequest request = asked(1, mode);
    return store().gifts.create(std::span(&request, 1)).front().recipients.front().id;
  }

  StatusChange change(TransactionId transaction, Status status, std::int64_t after_millis,
                      const std::string& event = "") {
    StatusChange one{{}, "import", transaction, status, kNow + after_millis, kNow + after_millis, {}};
    if (!event.empty()) one.event_ids.push_back(event);
    return one;
  }

  bool begin(const std::string& owner, const DeliveryClaim& claim, const std::string& message_id,
             std::int64_t lease_millis) {
    const DeliveryQueue::Sending sending{claim, message_id};
    return store().deliveries.begin_sending(owner, std::span(&sending, 1), lease_millis, kNow).front();
  }

  std::vector<AcceptOutcome> accept(const std::vector<StatusChange>& changes) {
    return store().changes.accept(changes);
  }
};

TEST_P(StoreConformance, organizations_have_tokens_and_accounts) {
  OrganizationToken token;
  token.prefix = "got_live_first";
  token.hash = "hash 1";
  token.created_at = kNow;
  const auto edge = store().organizations.create("Edge Communications", token);
  ASSERT_TRUE(edge.has_value());
  token.hash = "hash 2";
  EXPECT_FALSE(store().organizations.create(" edge COMMUNICATIONS", token).has_value());
  EXPECT_FALSE(store().organizations.find_token("hash 2").has_value()) << "all of it or nothing";
  token.organization = *edge;
  token.expires_at = kNow + 5;
  const OrganizationTokenId second = store().organizations.add_token(token);
  store().organizations.revoke(second, kNow + 1);
  store().organizations.revoke(second, kNow + 2);
  const auto found = store().organizations.find_token("hash 2");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->organization_name, "Edge Communications");
  EXPECT_EQ(found->revoked_at, kNow + 1) << "the first revocation stands";
  EXPECT_EQ(found->expires_at, kNow + 5);
  EXPECT_FALSE(store().organizations.tokens().front().revoked_at.has_value());

  Account account;
  account.email = "Ana@example.com";
  account.organization = *edge;
  store().accounts.create(account);
  account.email = "bob@example.com";
  account.organization.reset();
  store().accounts.create(account);
  EXPECT_EQ(store().organizations.organization("EDGE communications")->accounts, 1);
  const std::vector<std::string> keys{"ana@example.com", "bob@example.com", "nobody@example.com", ""};
  const auto accounts = store().accounts.accounts_by_email_key(keys);
  ASSERT_THAT(accounts, SizeIs(2));
  EXPECT_EQ(accounts.at("ana@example.com").organization, edge);
  EXPECT_FALSE(accounts.at("bob@example.com").organization.has_value());
  EXPECT_TRUE(store().accounts.set_organization("BOB@example.com", edge));
  EXPECT_TRUE(store().accounts.set_organization("ana@example.com", std::nullopt));
  EXPECT_FALSE(store().accounts.set_organization("nobody@example.com", edge));
  EXPECT_EQ(store().accounts.account_by_email("bob@example.com")->organization, edge);
  EXPECT_FALSE(store().accounts.account_by_email("ana@example.com")->organization.has_value());
}

INSTANTIATE_TEST_SUITE_P(BackEnds, StoreConformance, testing::Values(Dialect::sqlite, Dialect::postgresql),
                         name_of_dialect);

TEST_P(StoreConformance, MigratingAgainChangesNothing) {
  const TransactionId id = one_gift();
  migrate_store(database_->address());
  EXPECT_EQ(store_version(database_->address()), kStoreVersion);
  EXPECT_THAT(store().gifts.gifts(std::span(&id, 1)), SizeIs(1));
}

TEST_P(StoreConformance, RefusesAStoreNewerThanItself) {
  sql::Database database(database_->address());
  database.write([](soci::session& session) {
    session << "UPDATE store_fact SET value = '999' WHERE name = 'version'";
  });
  try {
    migrate_store(database_->address());
    FAIL() << "a newer store was accepted";
  } catch (const BrokenWorld& fault) {
    EXPECT_FALSE(fault.transient());
    EXPECT_THAT(fault.what(), testing::HasSubstr("999"));
  }
}

TEST_P(StoreConformance, KeepsTheFirstValueOfAFact) {
  EXPECT_EQ(store().fact("fingerprint"), std::nullopt);
  EXPECT_EQ(store().settle_fact("fingerprint", "one"), "one");
  EXPECT_EQ(store().settle_fact("fingerprint", "two"), "one");
}

TEST_P(StoreConformance, IsUnusedUntilItsFirstRequest) {
  EXPECT_TRUE(store().is_unused());
  store().check_writable();
  one_gift();
  EXPECT_FALSE(store().is_unused());
}

TEST_P(StoreConformance, CreatesARequestWholeAndReadsItBack) {
  NewGiftRequest request = asked(3);
  request.request.utm_campaign_id = "spring";
  const CreateOutcome outcome = store().gifts.create(std::span(&request, 1)).front();
  EXPECT_EQ(outcome.kind, CreateOutcome::Kind::created);
  ASSERT_THAT(outcome.recipients, SizeIs(3));

  const auto read = store().gifts.request(outcome.request);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->item_name, request.request.item_name);
  EXPECT_EQ(read->costs, request.request.costs);
  EXPECT_EQ(read->utm_campaign_id, "spring");
  EXPECT_EQ(read->mode, SendMode::email);
  const auto recipients = store().gifts.recipients(outcome.request);
  ASSERT_THAT(recipients, SizeIs(3));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(recipients[i].id, outcome.recipients[i].id);
    EXPECT_EQ(recipients[i].email, request.recipients[i].email);
    EXPECT_EQ(recipients[i].message, request.recipients[i].message);
    EXPECT_EQ(recipients[i].status, Status::sent);
    EXPECT_EQ(recipients[i].times[Status::sent], kNow);
    EXPECT_EQ(recipients[i].times[Status::delivered], std::nullopt);
  }
}

TEST_P(StoreConformance, AnswersWhatDoesNotExistWithNothing) {
  EXPECT_EQ(store().gifts.request({4711}), std::nullopt);
  EXPECT_THAT(store().gifts.recipients({4711}), IsEmpty());
  const TransactionId unknown{4711};
  EXPECT_THAT(store().gifts.gifts(std::span(&unknown, 1)), IsEmpty());
  EXPECT_EQ(store().gifts.highest_transaction_id(), std::nullopt);
}

TEST_P(StoreConformance, GivesEachRequestOfAGroupIdsOfItsOwn) {
  std::vector<NewGiftRequest> group;
  for (int i = 0; i < 40; ++i) group.push_back(asked(i % 3 + 1));
  std::set<TransactionId> ids;
  std::set<GiftRequestId> requests;
  std::size_t recipients = 0;
  for (const CreateOutcome& outcome : store().gifts.create(group)) {
    requests.insert(outcome.request);
    recipients += outcome.recipients.size();
    for (const auto& one : outcome.recipients) ids.insert(one.id);
  }
  EXPECT_THAT(requests, SizeIs(40));
  EXPECT_EQ(ids.size(), recipients);
}

TEST_P(StoreConformance, ReplaysAnIdempotencyKeyAndRefusesItForAnotherBody) {
  NewGiftRequest first = asked(2);
  first.idempotency = IdempotencyKey{"key-1", "hash-1"};
  first.warnings = "[\"w\"]";
  NewGiftRequest other = first;
  other.idempotency->body_hash = "hash-2";
  NewGiftRequest elsewhere = first;
  elsewhere.request.mode = SendMode::urls;

  const CreateOutcome created = store().gifts.create(std::span(&first, 1)).front();
  const std::vector<NewGiftRequest> group{first, other, elsewhere};
  const auto again = store().gifts.create(group);
  EXPECT_EQ(again[0].kind, CreateOutcome::Kind::replayed);
  EXPECT_EQ(again[0].request, created.request);
  EXPECT_EQ(again[0].warnings, first.warnings);
  ASSERT_THAT(again[0].recipients, SizeIs(2));
  EXPECT_EQ(again[0].recipients[1].id, created.recipients[1].id);
  EXPECT_EQ(again[1].kind, CreateOutcome::Kind::body_mismatch);
  EXPECT_EQ(again[2].kind, CreateOutcome::Kind::created) << "keys belong to account and endpoint";
  EXPECT_EQ(store().gifts.prune_idempotency(kNow + 1), 2);
  EXPECT_EQ(store().gifts.create(std::span(&first, 1)).front().kind, CreateOutcome::Kind::created);
}

TEST_P(StoreConformance, ReplaysWithinOneGroup) {
  NewGiftRequest request = asked(1);
  request.idempotency = IdempotencyKey{"twice", "same"};
  const std::vector<NewGiftRequest> group{request, request};
  const auto outcomes = store().gifts.create(group);
  EXPECT_EQ(outcomes[0].kind, CreateOutcome::Kind::created);
  EXPECT_EQ(outcomes[1].kind, CreateOutcome::Kind::replayed);
  EXPECT_EQ(outcomes[1].request, outcomes[0].request);
  EXPECT_EQ(outcomes[1].recipients.front().id, outcomes[0].recipients.front().id);
}

TEST_P(StoreConformance, ThreadsThatUseOneKeyCreateOneRequest) {
  NewGiftRequest request = asked(1);
  request.idempotency = IdempotencyKey{"race", "same"};
  std::vector<GiftRequestId> seen(8);
  std::vector<std::thread> threads;
  for (auto& id : seen) {
    threads.emplace_back([&] { id = store().gifts.create(std::span(&request, 1)).front().request; });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(std::set<GiftRequestId>(seen.begin(), seen.end()), SizeIs(1));
}

TEST_P(StoreConformance, StartsTransactionIdsWhereTold) {
  one_gift();
  store().gifts.start_transaction_ids_at({5'000'000});
  EXPECT_EQ(one_gift(), TransactionId{5'000'000});
  store().gifts.start_transaction_ids_at({10});
  EXPECT_EQ(one_gift(), TransactionId{5'000'001}) << "ids never go back";
  Store other(database_->address());
  const NewGiftRequest request = asked(1);
  EXPECT_GT(other.gifts.create(std::span(&request, 1)).front().recipients.front().id,
            TransactionId{5'000'001});
}

TEST_P(StoreConformance, FindsAccountsByAnySpelling) {
  Account account{{}, "Ada@Example.com", "Ada", Plan::enterprise_plus, true, kNow};
  const auto id = store().accounts.create(account);
  ASSERT_TRUE(id);
  EXPECT_EQ(store().accounts.create(account), std::nullopt) << "one account for an address";
  const auto found = store().accounts.account_by_email(" ada@example.COM");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->id, *id);
  EXPECT_EQ(found->plan, Plan::enterprise_plus);
  EXPECT_TRUE(store().accounts.set_active("ADA@example.com", false));
  EXPECT_FALSE(store().accounts.account_by_email("ada@example.com")->active);
  EXPECT_FALSE(store().accounts.set_active("nobody@example.com", false));
}

TEST_P(StoreConformance, KeepsKeysWithTheirLife) {
  const AccountId account = *store().accounts.create({{}, "a@example.com", "A", Plan::team, true, kNow});
  ApiKey key;
  key.account = account;
  key.prefix = "gsk_live_abcdefg";
  key.hash = "hash";
  key.scopes = {Scope::send, Scope::approve};
  key.created_at = kNow;
  const KeyId id = store().accounts.add_key(key);
  auto holder = store().accounts.find_key("hash");
  ASSERT_TRUE(holder);
  EXPECT_EQ(holder->key.scopes, key.scopes);
  EXPECT_EQ(holder->account.email, "a@example.com");
  EXPECT_EQ(holder->key.last_used_at, std::nullopt);
  EXPECT_EQ(store().accounts.find_key("other"), std::nullopt);

  store().accounts.note_used({{id, kNow + 5}});
  store().accounts.set_expiry(id, kNow + 10);
  store().accounts.revoke(id, kNow + 20);
  store().accounts.revoke(id, kNow + 30);
  holder = store().accounts.find_key("hash");
  EXPECT_EQ(holder->key.last_used_at, kNow + 5);
  EXPECT_EQ(holder->key.expires_at, kNow + 10);
  EXPECT_EQ(holder->key.revoked_at, kNow + 20) << "the first revocation counts";
  EXPECT_THAT(store().accounts.keys(), SizeIs(1));
}

TEST_P(StoreConformance, ImportsItemsAndCountsWhatChanged) {
  GiftItem coffee{{1}, "Coffee", "", {{500}, {}, {}, {25}}, true, "", "", ""};
  GiftItem ride{{9'007'199'254'740'992}, "Ride", "", {{1500}, {}, {}, {}}, false, "", "", ""};
  const std::vector<GiftItem> both{coffee, ride};
  auto counts = store().catalogue.import(both);
  EXPECT_EQ(counts.inserted, 2u);
  coffee.costs.item = {600};
  const std::vector<GiftItem> again{coffee, ride};
  counts = store().catalogue.import(again);
  EXPECT_EQ(counts.updated, 1u);
  EXPECT_EQ(counts.unchanged, 1u);
  EXPECT_EQ(store().catalogue.item({1})->costs.total(), Money{625});
  EXPECT_EQ(store().catalogue.item({2}), std::nullopt);
  EXPECT_THAT(store().catalogue.items(), SizeIs(2));
}

TEST_P(StoreConformance, AcceptsAChangeOnceAndGathersItsEventIds) {
  const TransactionId id = one_gift();
  EXPECT_THAT(accept({change(id, Status::opened, 10, "e1"), change(id, Status::opened, 10, "e2")}),
              ElementsAre(AcceptOutcome::accepted, AcceptOutcome::repeated));
  EXPECT_THAT(accept({change(id, Status::opened, 10, "e3"), change(id, Status::opened, 11, "e1")}),
              ElementsAre(AcceptOutcome::repeated, AcceptOutcome::accepted))
      << "a known event id with another content is a new change";
  const auto history = store().changes.history(id);
  ASSERT_THAT(history, SizeIs(2));
  EXPECT_THAT(history[0].event_ids, ElementsAre("e1", "e2", "e3"));
  EXPECT_THAT(history[1].event_ids, ElementsAre("e1"));
}

TEST_P(StoreConformance, HoldsChangesUntilTheirTransactionAppears) {
  const TransactionId known = one_gift();
  const TransactionId coming{known.value + 1};
  EXPECT_THAT(accept({change(coming, Status::opened, 10)}), ElementsAre(AcceptOutcome::held));
  EXPECT_THAT(accept({change(coming, Status::opened, 10)}), ElementsAre(AcceptOutcome::repeated));
  EXPECT_EQ(store().changes.count_held(), 1);
  EXPECT_EQ(store().changes.release_held(kNow), 0);
  ASSERT_EQ(one_gift(), coming);
  EXPECT_EQ(store().changes.release_held(kNow), 1);
  EXPECT_EQ(store().changes.count_held(), 0);
  EXPECT_THAT(store().changes.changes_of(std::span(&coming, 1)), SizeIs(1));
}

TEST_P(StoreConformance, ClaimsAMarkOnceUntilItsLeaseRunsOut) {
  one_gift();
  ASSERT_THAT(store().sync.claim("a", 60'000, 10, kNow), SizeIs(1));
  EXPECT_THAT(store().sync.claim("b", 60'000, 10, kNow), IsEmpty());
  store().sync.break_leases("b");
  EXPECT_THAT(store().sync.claim("b", 60'000, 10, kNow), IsEmpty()) << "only one's own leases can be broken";
  store().sync.break_leases("a");
  EXPECT_THAT(store().sync.claim("b", -1, 10, kNow), SizeIs(1)) << "a lease that has run out already";
  EXPECT_THAT(store().sync.claim("a", 60'000, 10, kNow), SizeIs(1));
}

TEST_P(StoreConformance, DoesNotClaimBeforeItIsDue) {
  one_gift();
  EXPECT_THAT(store().sync.claim("a", 60'000, 10, kNow - 1), IsEmpty());
}

TEST_P(StoreConformance, KeepsAMarkThatMovedOnWhileItWasSynced) {
  const TransactionId id = one_gift();
  auto claims = store().sync.claim("a", 60'000, 10, kNow);
  ASSERT_THAT(claims, SizeIs(1));
  accept({change(id, Status::opened, 10)});
  const SyncClose closed{claims[0], true, kNow, "", std::nullopt};
  store().sync.close("a", std::span(&closed, 1));
  claims = store().sync.claim("a", 60'000, 10, kNow + 10);
  ASSERT_THAT(claims, SizeIs(1)) << "the change that came meanwhile was closed with the old one";
  const SyncClose again{claims[0], true, kNow, "", std::nullopt};
  store().sync.close("a", std::span(&again, 1));
  EXPECT_THAT(store().sync.claim("a", 60'000, 10, kNow + 10), IsEmpty());
}

TEST_P(StoreConformance, RetriesACloseThatIsNotDoneLater) {
  one_gift();
  const auto claims = store().sync.claim("a", 60'000, 10, kNow);
  const SyncClose failed{claims[0], false, kNow + 2000, "CRM is down", std::nullopt};
  store().sync.close("a", std::span(&failed, 1));
  EXPECT_THAT(store().sync.claim("a", 60'000, 10, kNow + 1999), IsEmpty());
  EXPECT_EQ(store().sync.counts().failing, 1);
  EXPECT_EQ(store().sync.counts().last_error, "CRM is down");
  const auto later = store().sync.claim("a", 60'000, 10, kNow + 2000);
  ASSERT_THAT(later, SizeIs(1));
  EXPECT_EQ(later[0].attempts, 1);
}

TEST_P(StoreConformance, SavesAFoldOnlyOverTheVersionItCameFrom) {
  const TransactionId id = one_gift();
  FoldedState state{id, 1, Status::opened, {}, false};
  state.times[Status::opened] = kNow + 3;
  EXPECT_THAT(store().sync.save(std::span(&state, 1)), ElementsAre(id));
  EXPECT_THAT(store().sync.save(std::span(&state, 1)), IsEmpty());
  const Gift gift = store().gifts.gifts(std::span(&id, 1)).front();
  EXPECT_EQ(gift.transaction.status, Status::opened);
  EXPECT_EQ(gift.transaction.times[Status::opened], kNow + 3);
  EXPECT_EQ(gift.transaction.version, 2);
}

TEST_P(StoreConformance, TheFirstDecisionStands) {
  const TransactionId id = one_gift();
  GiftMirror mirror{id, MirrorState::decided, kNow, {"003A", "001A", "", "", "", "005A", "because", ""}, 0,
                    ""};
  store().sync.decide(std::span(&mirror, 1));
  mirror.decision.contact_id = "003B";
  const auto standing = store().sync.decide(std::span(&mirror, 1));
  ASSERT_THAT(standing, SizeIs(1));
  EXPECT_EQ(standing[0].decision.contact_id, "003A");
  EXPECT_EQ(standing[0].decision.reason, "because");
}

TEST_P(StoreConformance, QueuesAMailForEndpointAOnly) {
  one_gift(SendMode::urls);
  EXPECT_THAT(store().deliveries.claim("a", 60'000, 10, kNow), IsEmpty());
  const TransactionId id = one_gift(SendMode::email);
  const auto claims = store().deliveries.claim("a", 60'000, 10, kNow);
  ASSERT_THAT(claims, SizeIs(1));
  EXPECT_EQ(claims[0].transaction, id);
  EXPECT_EQ(claims[0].state, DeliveryState::queued);
  EXPECT_EQ(claims[0].attempt, 0);
}

TEST_P(StoreConformance, AnAbandonedSendingIsSeenAsSuchWithItsMessageId) {
  one_gift();
  auto claims = store().deliveries.claim("dead", 60'000, 10, kNow);
  ASSERT_TRUE(begin("dead", claims[0], "m1@example.com", -1));
  claims = store().deliveries.claim("b", 60'000, 10, kNow);
  ASSERT_THAT(claims, SizeIs(1));
  EXPECT_EQ(claims[0].state, DeliveryState::sending);
  EXPECT_EQ(claims[0].attempt, 1);
  EXPECT_EQ(claims[0].message_id, "m1@example.com");
  EXPECT_EQ(claims[0].first_try_at, std::nullopt)
      << "patience with a recipient does not run while a transport fails";
}

TEST_P(StoreConformance, SendingBeginsOnlyUnderALiveLease) {
  one_gift();
  const auto expired = store().deliveries.claim("a", -1, 10, kNow);
  EXPECT_FALSE(begin("a", expired[0], "m", 60'000));
  const auto claims = store().deliveries.claim("b", 60'000, 10, kNow);
  EXPECT_FALSE(begin("a", expired[0], "m", 60'000));
  EXPECT_TRUE(begin("b", claims[0], "m", 60'000));
}

TEST_P(StoreConformance, AnOutcomeAndItsStatusChangeAreOne) {
  const TransactionId id = one_gift();
  const auto claims = store().deliveries.claim("a", 60'000, 10, kNow);
  begin("a", claims[0], "m", 60'000);
  DeliveryOutcome outcome{id,       1,     DeliveryState::accepted,         kNow,
                          "250 ok", false, change(id, Status::delivered, 5)};
  EXPECT_EQ(store().deliveries.finish(std::span(&outcome, 1), kNow + 5), 1u);
  EXPECT_EQ(store().deliveries.row(id)->state, DeliveryState::accepted);
  EXPECT_THAT(store().changes.history(id), SizeIs(1));
  outcome.change = change(id, Status::undelivered, 6);
  outcome.state = DeliveryState::undelivered;
  EXPECT_EQ(store().deliveries.finish(std::span(&outcome, 1), kNow + 6), 0u)
      << "an accepted mail stays accepted";
  EXPECT_THAT(store().changes.history(id), SizeIs(1));
}

TEST_P(StoreConformance, AStaleAttemptTellsNothing) {
  const TransactionId id = one_gift();
  auto claims = store().deliveries.claim("a", 60'000, 10, kNow);
  begin("a", claims[0], "m", -1);
  claims = store().deliveries.claim("b", 60'000, 10, kNow);
  begin("b", claims[0], "m", 60'000);
  const DeliveryOutcome stale{id,    1,     DeliveryState::undelivered,        kNow,
                              "550", false, change(id, Status::undelivered, 5)};
  EXPECT_EQ(store().deliveries.finish(std::span(&stale, 1), kNow), 0u);
  EXPECT_EQ(store().deliveries.row(id)->state, DeliveryState::sending);
}

TEST_P(StoreConformance, TheSlowSenderOfAnUncertainMailMayStillTell) {
  const TransactionId id = one_gift();
  auto claims = store().deliveries.claim("slow", 60'000, 10, kNow);
  begin("slow", claims[0], "m", -1);
  claims = store().deliveries.claim("b", 60'000, 10, kNow);
  const DeliveryOutcome uncertain{id, 1, DeliveryState::uncertain, kNow + 900'000, "?", false, std::nullopt};
  EXPECT_EQ(store().deliveries.finish(std::span(&uncertain, 1), kNow), 1u);
  EXPECT_THAT(store().deliveries.claim("b", 60'000, 10, kNow + 899'999), IsEmpty());
  const DeliveryOutcome told{id,    1,     DeliveryState::accepted,         kNow,
                             "250", false, change(id, Status::delivered, 5)};
  EXPECT_EQ(store().deliveries.finish(std::span(&told, 1), kNow), 1u);
  EXPECT_THAT(store().deliveries.claim("b", 60'000, 10, kNow + 900'000), IsEmpty())
      << "it would be sent twice";
  EXPECT_EQ(store().deliveries.row(id)->repeats, 1);
}

TEST_P(StoreConformance, RemembersAPauseSinceWhenItBegan) {
  EXPECT_FALSE(store().deliveries.pause());
  store().deliveries.set_pause({kNow, kNow + 5000, 1, "no route"});
  store().deliveries.set_pause({kNow + 9, kNow + 9000, 2, "wrong password"});
  const auto pause = store().deliveries.pause();
  ASSERT_TRUE(pause);
  EXPECT_EQ(pause->since, kNow);
  EXPECT_EQ(pause->until, kNow + 9000);
  EXPECT_EQ(pause->failures, 2);
  store().deliveries.clear_pause();
  EXPECT_FALSE(store().deliveries.pause());
}

TEST_P(StoreConformance, TwoDaemonsShareTheQueueWithoutOverlap) {
  std::vector<NewGiftRequest> group(50, asked(4));
  store().gifts.create(group);
  Store other(database_->address());
  std::vector<SyncClaim> mine;
  std::vector<SyncClaim> theirs;
  const auto drain = [](Store& daemon, const std::string& owner, std::vector<SyncClaim>& claims) {
    for (auto some = daemon.sync.claim(owner, 60'000, 7, kNow); !some.empty();
         some = daemon.sync.claim(owner, 60'000, 7, kNow)) {
      claims.insert(claims.end(), some.begin(), some.end());
    }
  };
  std::thread thread([&] { drain(other, "other", theirs); });
  drain(store(), "one", mine);
  thread.join();
  std::set<TransactionId> all;
  for (const auto* claims : {&mine, &theirs}) {
    for (const SyncClaim& claim : *claims)
      EXPECT_TRUE(all.insert(claim.transaction).second) << "claimed twice";
  }
  EXPECT_GE(all.size(), 190u) << "rows that were locked for a moment may be left for the next look";
}

}  // namespace
}  // namespace giftsync::schema
