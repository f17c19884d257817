// The SOQL of each query, and how many statements it takes.
#include "crm/salesforce/records/statements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crm/salesforce/calls/soql.h"

namespace giftsync::salesforce {
namespace {

using crm::PersonMatchFields;
using crm::PersonObject;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

const ApiNames kNames{OrgNames{}};
const PersonMatchFields kFields{{"Email", "Work_Email__c"}, {"Phone"}, {"LastModifiedDate", true}};
constexpr char kContact[] = "0035g00000AbCdEAAV";

std::string only(const std::vector<Statement>& statements) {
  EXPECT_EQ(statements.size(), 1U);
  return statements.empty() ? std::string() : statements.front().soql;
}

TEST(Statements, AskForContactsOverAllEmailFields) {
  EXPECT_EQ(only(persons_by_email(kNames, PersonObject::contact, kFields,
                                  std::vector<std::string>{"a@b.c", "o'x@b.c"})),
            "SELECT Id, Name, AccountId, Email, Work_Email__c, Phone, LastModifiedDate FROM Contact WHERE "
            R"((Email IN ('a@b.c','o\'x@b.c') OR Work_Email__c IN ('a@b.c','o\'x@b.c')) )"
            "ORDER BY LastModifiedDate DESC NULLS LAST, Id ASC");
}

// MATCH-7
TEST(Statements, ConvertedLeadsComeLast) {
  const std::string soql =
      only(persons_by_email(kNames, PersonObject::lead, kFields, std::vector<std::string>{"a@b.c"}));
  EXPECT_THAT(soql, HasSubstr("FROM Lead WHERE"));
  EXPECT_THAT(soql, HasSubstr(", IsConverted FROM Lead WHERE"));
  EXPECT_THAT(soql, HasSubstr(" ORDER BY IsConverted ASC, "));
  EXPECT_THAT(soql, Not(HasSubstr("AccountId")));
}

TEST(Statements, RolesAreFoundByTheContactsAddress) {
  EXPECT_EQ(
      only(roles_by_email(kNames, {"Email"}, {"CloseDate", false}, std::vector<std::string>{"a@b.c"})),
      "SELECT ContactId, OpportunityId, Opportunity.Name, Opportunity.StageName, Opportunity.AccountId, "
      "Opportunity.CloseDate FROM OpportunityContactRole WHERE Contact.Email IN ('a@b.c') AND "
      "Opportunity.IsClosed = false ORDER BY Opportunity.CloseDate ASC NULLS LAST, OpportunityId ASC");
}

TEST(Statements, AskInBothSpellingsOfADomain) {
  const std::string soql = only(users_by_email(kNames, std::vector<std::string>{"a@xn--bcher-kva.example"}));
  EXPECT_EQ(soql,
            "SELECT Id, Name, Email, IsActive FROM User WHERE Email IN "
            "('a@xn--bcher-kva.example','a@bücher.example') ORDER BY IsActive DESC, Id ASC");
}

TEST(Statements, FieldsThatTheOrgLacksAreNotAsked) {
  const ApiNames names(
      OrgNames{.objects = {{"lead", "-"}},
               .columns = {{"contact.Work_Email__c", "-"}, {"contact.LastModifiedDate", "-"}}});
  EXPECT_EQ(only(persons_by_email(names, PersonObject::contact, kFields, std::vector<std::string>{"a@b.c"})),
            "SELECT Id, Name, AccountId, Email, Phone FROM Contact WHERE Email IN ('a@b.c') ORDER BY Id ASC");
  EXPECT_TRUE(
      persons_by_email(names, PersonObject::lead, kFields, std::vector<std::string>{"a@b.c"}).empty());
  EXPECT_TRUE(persons_by_phone(kNames, PersonObject::contact, {{"Email"}, {}, {"Name", true}},
                               std::vector<std::vector<std::string>>{{"1"}})
                  .empty());
}

TEST(Statements, ValuesThatCannotExistAreNotAsked) {
  EXPECT_TRUE(users_by_id(kNames, std::vector<std::string>{"x' OR Id != '", ""}).empty());
  EXPECT_THAT(only(users_by_id(kNames, std::vector<std::string>{"bad", kContact})),
              HasSubstr("Id IN ('0035g00000AbCdEAAV') ORDER"));
  EXPECT_TRUE(users_by_email(kNames, std::vector<std::string>{"", "\xff"}).empty());
  EXPECT_TRUE(users_by_email(kNames, std::vector<std::string>{}).empty());
  EXPECT_EQ(transactions_by_contact(kNames, "'"), std::nullopt);
  EXPECT_EQ(transactions_by_email(kNames, ""), std::nullopt);
}

TEST(Statements, AThousandAddressesOverTwoFieldsAreOneStatement) {
  std::vector<std::string> keys;
  for (int i = 0; i < 10'000; ++i) keys.push_back("recipient." + std::to_string(100'000 + i) + "@ex.example");
  const std::span<const std::string> some(keys);
  EXPECT_EQ(persons_by_email(kNames, PersonObject::contact, kFields, some.first(1000)).size(), 1U);
  const std::vector<Statement> all = persons_by_email(kNames, PersonObject::contact, kFields, keys);
  EXPECT_GT(all.size(), 5U);
  std::size_t next = 0;
  for (const Statement& statement : all) {
    EXPECT_EQ(statement.first, next);
    next += statement.count;
    EXPECT_LE(utf16_length(statement.soql), kMaxStatementLength);
    EXPECT_THAT(statement.soql, HasSubstr("'" + keys[statement.first] + "'"));
    EXPECT_THAT(statement.soql, HasSubstr("'" + keys[next - 1] + "'"));
  }
  EXPECT_EQ(next, keys.size());
}

TEST(Statements, NearlyFiveThousandIdsAreOneStatement) {
  const std::vector<std::string> ids(4700, kContact);
  EXPECT_EQ(converted_leads(kNames, ids).size(), 1U);
  EXPECT_EQ(only(converted_leads(kNames, std::vector<std::string>{kContact})),
            "SELECT Id, ConvertedContactId, ConvertedContact.Name, ConvertedContact.AccountId FROM Lead "
            "WHERE Id IN "
            "('0035g00000AbCdEAAV') AND IsConverted = true ORDER BY Id ASC");
}

TEST(Statements, GiftRecordsByTransactionsFillOnePageEach) {
  std::vector<TransactionId> ids;
  for (int i = 0; i < 4001; ++i) ids.push_back({9'000'000'000'000'000 + i});
  const std::vector<Statement> statements = gifts_by_transaction(kNames, ids);
  ASSERT_EQ(statements.size(), 3U);
  EXPECT_EQ(statements[0].count, kPageRows);
  EXPECT_EQ(statements[2].first, 4000U);
  EXPECT_THAT(statements[2].soql, HasSubstr("WHERE RecipientTransactionId__c IN (9000000000004000) ORDER BY "
                                            "RecipientTransactionId__c ASC NULLS LAST, Id ASC"));
  EXPECT_EQ(only(gift_keys_by_transaction(kNames, std::span(ids).first(1))),
            "SELECT Id, RecipientTransactionId__c, Record_Version__c, Recipient_Email__c, "
            "RecipientTransactionCreatedAt__c FROM Gift_Record__c WHERE RecipientTransactionId__c IN "
            "(9000000000000000) ORDER BY RecipientTransactionId__c ASC NULLS LAST, Id ASC");
}

TEST(Statements, PagesAndRangesOfTransactions) {
  EXPECT_THAT(gift_page(kNames, {5}, 2000),
              EndsWith(" FROM Gift_Record__c WHERE RecipientTransactionId__c > 5 ORDER BY "
                       "RecipientTransactionId__c ASC NULLS LAST, Id ASC LIMIT 2000"));
  EXPECT_EQ(
      transactions_between(kNames, {5}, {9}, 10),
      "SELECT RecipientTransactionId__c FROM Gift_Record__c WHERE RecipientTransactionId__c >= 5 AND "
      "RecipientTransactionId__c <= 8 ORDER BY RecipientTransactionId__c ASC NULLS LAST, Id ASC LIMIT 10");
  EXPECT_THAT(transactions_below(kNames, {9}, 10),
              HasSubstr("RecipientTransactionId__c DESC NULLS LAST, Id ASC"));
  EXPECT_THAT(*transactions_by_email(kNames, "a@b.c"), HasSubstr("WHERE Recipient_Email__c = 'a@b.c' AND "));
  EXPECT_THAT(*transactions_by_contact(kNames, kContact),
              HasSubstr("RecipientContactId__c = '0035g00000AbCdEAAV'"));
  EXPECT_EQ(
      task_page(kNames, {5}, 7),
      "SELECT Id, RecipientTransactionId__c, WhatId, WhoId, Type, Status, Subject, OwnerId FROM Task WHERE "
      "RecipientTransactionId__c > 5 AND IsDeleted = false ORDER BY RecipientTransactionId__c ASC NULLS "
      "LAST, Id ASC LIMIT 7");
}

TEST(Statements, LookupTargetsTellDeletedAndMergedRows) {
  const std::vector<std::string> ids{kContact};
  EXPECT_THAT(only(lookup_targets(kNames, "contact", ids)),
              HasSubstr("SELECT Id, IsDeleted, MasterRecordId FROM Contact"));
  EXPECT_THAT(only(lookup_targets(kNames, "opportunity", ids)),
              HasSubstr("SELECT Id, IsDeleted FROM Opportunity"));
  EXPECT_THAT(only(lookup_targets(kNames, "user", ids)), HasSubstr("SELECT Id FROM User"));
}

TEST(Statements, RequestRecordsByNumberStatusAndChange) {
  EXPECT_THAT(*request_by_number(kNames, "R-00000012"), HasSubstr("WHERE Name = 'R-00000012'"));
  EXPECT_THAT(
      *request_page(kNames, "R-00000012", RequestRecordStatus::pending, 50),
      EndsWith("WHERE Name > 'R-00000012' AND (Request_Status__c = 'Pending' OR Request_Status__c = null) "
               "ORDER BY Name ASC NULLS LAST, Id ASC LIMIT 50"));
  EXPECT_THAT(*request_page(kNames, "", std::nullopt, 50), Not(HasSubstr("WHERE")));
  EXPECT_THAT(changed_requests(kNames, {1'795'341'600'900}),
              EndsWith("WHERE SystemModstamp >= 2026-11-22T10:00:00Z ORDER BY SystemModstamp ASC, Id ASC"));
  EXPECT_EQ(
      open_requests(kNames),
      "SELECT Id, LastModifiedDate, SystemModstamp FROM Request_Record__c WHERE ((Request_Status__c = "
      "'Pending' OR Request_Status__c = null) OR Request_Status__c = 'Approved') ORDER BY SystemModstamp "
      "ASC, Id ASC");
  EXPECT_THAT(only(requests_by_key(kNames, std::vector<std::string>{"k'1"})),
              HasSubstr(R"(Creation_Key__c IN ('k\'1'))"));
}

}  // namespace
}  // namespace giftsync::salesforce
