// Parts to calls, rows to parts, answers to rows.
#include "crm/salesforce/calls/composite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "tests/support/json.h"

namespace giftsync::salesforce {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kVersion[] = "62.0";

TEST(Composite, QueriesTravelInTheBody) {
  const PartRequest parts[] = {query_part(kVersion, "SELECT Id FROM User", "users"),
                               query_part(kVersion, "SELECT Id FROM Task", "tasks", true)};
  EXPECT_EQ(composite_body(parts), R"({"allOrNone":false,"collateSubrequests":false,"compositeRequest":[)"
                                   R"({"method":"GET","referenceId":"users","url":"/services/)"
                                   R"(data/v62.0/query?q=SELECT%20Id%20FROM%20User"},)"
                                   R"({"method":"GET","referenceId":"tasks","url":"/services/)"
                                   R"(data/v62.0/queryAll?q=SELECT%20Id%20FROM%20Task"}]})");
}

TEST(Composite, ACallHas25PartsAnd5HeavyOnes) {
  std::vector<PartRequest> parts(60, PartRequest{"GET", "/services/data/v62.0/sobjects/X/describe", "d"});
  for (PartRequest& part : parts) part.is_heavy = false;
  EXPECT_EQ(group_parts(parts).size(), 3U);
  for (PartRequest& part : parts) part.is_heavy = true;
  EXPECT_EQ(group_parts(parts).size(), 12U);
  parts.resize(3);
  for (PartRequest& part : parts) part.body = std::string(kMaxCallBytes / 2, ' ');
  EXPECT_EQ(group_parts(parts).size(), 3U);
  EXPECT_TRUE(group_parts({}).empty());
}

std::vector<WriteRow> numbered_rows(std::size_t count, std::size_t bytes = 0) {
  std::vector<WriteRow> rows;
  for (std::size_t i = 0; i < count; ++i)
    rows.push_back({Operation::create, R"({"attributes":{"type":"X"},"N":)" + std::to_string(i) +
                                           R"(,"T":")" + std::string(bytes, 'x') + "\"}"});
  return rows;
}

TEST(Composite, AThousandNewRowsAreOneCall) {
  const std::vector<WriteCall> calls = write_calls(kVersion, 1000, numbered_rows(1000));
  ASSERT_EQ(calls.size(), 1U);
  const Json body = tests::parse_ordered_json(composite_body(calls[0].parts));
  EXPECT_EQ(body.at("allOrNone"), false);
  ASSERT_EQ(body.at("compositeRequest").size(), 5U);
  const Json& part = body.at("compositeRequest")[1];
  EXPECT_EQ(part.at("method"), "POST");
  EXPECT_EQ(part.at("url"), "/services/data/v62.0/composite/sobjects");
  EXPECT_EQ(part.at("httpHeaders").at("Sforce-Duplicate-Rule-Header"), "allowSave=true");
  EXPECT_EQ(part.at("httpHeaders").at("Sforce-Auto-Assign"), "FALSE");
  EXPECT_EQ(part.at("body").at("records").size(), 200U);
  EXPECT_EQ(part.at("body").at("records")[0].begin().key(), "attributes");
  EXPECT_EQ(part.at("body").at("records")[0].at("N"), 200);
}

TEST(Composite, FewerRowsPerCallAreSmallerBlocks) {
  const std::vector<WriteCall> calls = write_calls(kVersion, 25, numbered_rows(60));
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_EQ(calls[0].blocks.size(), 5U);
  EXPECT_EQ(calls[0].blocks[0].rows.size(), 5U);
  EXPECT_TRUE(write_calls(kVersion, 25, {}).empty());
}

/// Whatever the rows: each is in one block, limits hold, and the calls keep the order.
TEST(Composite, EveryRowIsWrittenOnceWithinTheLimits) {
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    std::vector<WriteRow> rows = numbered_rows(random() % 1500, random() % 9000);
    for (WriteRow& row : rows) row.operation = random() % 3 ? Operation::create : Operation::update;
    const std::size_t per_call = 25 + random() % 976;
    std::set<std::size_t> seen;
    std::size_t first = 0;
    for (const WriteCall& call : write_calls(kVersion, per_call, rows)) {
      EXPECT_LE(composite_body(call.parts).size(), kMaxCallBytes);
      EXPECT_LE(call.blocks.size(), kMaxHeavyParts);
      std::size_t count = 0;
      for (const RowBlock& block : call.blocks) {
        EXPECT_LE(block.rows.size(), kMaxRowsPerPart);
        count += block.rows.size();
        for (const std::size_t row : block.rows) {
          EXPECT_TRUE(seen.insert(row).second);
          EXPECT_EQ(rows[row].operation, block.operation);
          EXPECT_GE(row, first);
        }
      }
      EXPECT_LE(count, per_call);
      first += count;
    }
    EXPECT_EQ(seen.size(), rows.size());
  }
}

/// So many gift records, and a task for each that refers to it.
std::vector<WriteRow> rows_with_tasks(std::size_t count, std::size_t bytes = 0) {
  std::vector<WriteRow> rows = numbered_rows(count, bytes);
  for (std::size_t i = 0; i < count; ++i)
    rows.push_back({Operation::create,
                    R"({"attributes":{"type":"Task"},"N":)" + std::to_string(i) + "}",
                    {},
                    RowReference{"WhatId", i}});
  return rows;
}

// ORG-20
TEST(Composite, ATaskRefersToTheRecordThatAnEarlierPartCreates) {
  const std::vector<WriteCall> calls = write_calls(kVersion, 6, rows_with_tasks(3));
  ASSERT_EQ(calls.size(), 1U);
  std::map<std::string, Json> created;  // the values of N, by what refers to their Ids
  std::size_t tasks = 0;
  const Json body = tests::parse_ordered_json(composite_body(calls[0].parts));
  for (const Json& part : body.at("compositeRequest")) {
    const Json& records = part.at("body").at("records");
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (!records[i].contains("WhatId")) {
        created["@{" + part.at("referenceId").get<std::string>() + "[" + std::to_string(i) + "].id}"] =
            records[i].at("N");
        continue;
      }
      ++tasks;
      EXPECT_EQ(created.at(records[i].at("WhatId").get<std::string>()), records[i].at("N"))
          << "of an earlier part";
    }
  }
  EXPECT_EQ(tasks, 3U);
}

// ORG-20
TEST(Composite, RowsThatReferFitOneCallOrAreNotSentWithTheirRecords) {
  for (const std::size_t count : {1U, 2U, 3U, 5U, 7U, 12U, 50U, 299U, 300U, 400U}) {
    const std::vector<WriteRow> rows = rows_with_tasks(count);
    EXPECT_TRUE(fits_one_call(1000, rows)) << count;
    const std::vector<WriteCall> calls = write_calls(kVersion, rows.size(), rows);
    ASSERT_EQ(calls.size(), 1U) << count;
    EXPECT_LE(calls[0].blocks.size(), kMaxHeavyParts);
  }
  EXPECT_FALSE(fits_one_call(1000, rows_with_tasks(401))) << "six blocks";
  EXPECT_FALSE(fits_one_call(25, rows_with_tasks(13))) << "26 rows";
  EXPECT_TRUE(fits_one_call(25, rows_with_tasks(12)));
  EXPECT_FALSE(fits_one_call(1000, rows_with_tasks(3, kMaxCallBytes / 3))) << "4 MB";
  std::vector<WriteRow> mixed = numbered_rows(3);
  mixed[0].operation = mixed[2].operation = Operation::update;
  mixed.push_back({Operation::create, "{}", {}, RowReference{"WhatId", 1}});
  EXPECT_TRUE(fits_one_call(1000, mixed));
  EXPECT_EQ(write_calls(kVersion, mixed.size(), mixed).size(), 1U);
}

// ORG-21
TEST(Composite, ARowWithATextThatReadsAsAReferenceIsInNoCompositeCall) {
  std::vector<WriteRow> rows = numbered_rows(6);
  for (const std::size_t i : {1U, 2U, 4U}) rows[i].json = R"({"T":"Hello @{name}"})";
  rows[4].operation = Operation::update;
  const std::vector<WriteCall> calls = write_calls(kVersion, 1000, rows);
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_EQ(calls[0].blocks[0].rows, (std::vector<std::size_t>{0, 3, 5}));
  EXPECT_FALSE(calls[0].parts[0].is_alone);
  EXPECT_EQ(calls[1].blocks[0].rows, (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(calls[2].blocks[0].rows, (std::vector<std::size_t>{4}));
  for (const std::size_t at : {1U, 2U}) {
    ASSERT_EQ(calls[at].parts.size(), 1U);
    EXPECT_TRUE(calls[at].parts[0].is_alone);
  }
  EXPECT_EQ(calls[1].parts[0].body,
            R"({"allOrNone":false,"records":[{"T":"Hello @{name}"},{"T":"Hello @{name}"}]})");
  std::vector<WriteRow> odd = numbered_rows(10);
  for (WriteRow& row : odd) row.json = R"({"T":"@{name}"})";
  EXPECT_EQ(write_calls(kVersion, odd.size(), odd).size(), 1U);
  for (std::size_t i = 0; i < odd.size(); i += 2) odd[i].operation = Operation::update;
  EXPECT_EQ(write_calls(kVersion, odd.size(), odd).size(), 2U) << "one of each kind";
  std::vector<PartRequest> parts(3, PartRequest{"PATCH", "/services/data/v62.0/sobjects/X/1", "r"});
  for (PartRequest& part : parts) part.is_heavy = false;
  parts[1].is_alone = true;
  EXPECT_EQ(group_parts(parts), (std::vector<std::vector<std::size_t>>{{0}, {1}, {2}}));
}

std::string part_answer(const std::string& reference, int status, const std::string& body) {
  return R"({"body":)" + body + R"(,"httpHeaders":{},"httpStatusCode":)" + std::to_string(status) +
         R"(,"referenceId":")" + reference + "\"}";
}

TEST(Composite, AnswersComeInTheOrderOfTheRows) {
  std::vector<WriteRow> rows = numbered_rows(4);
  rows[1].operation = rows[3].operation = Operation::update;
  const WriteCall call = write_calls(kVersion, 1000, rows).at(0);
  const AnswerBody body = read_body(
      200,
      R"({"compositeResponse":[)" +
          part_answer("w1", 200,
                      R"([{"id":"i1","success":true,"errors":[]},{"id":"i3","success":true,"errors":[]}])") +
          "," + part_answer("w0", 200, R"([{"id":"i0","success":true,"errors":[]},{"success":false,"errors":[
                   {"statusCode":"UNABLE_TO_LOCK_ROW","message":"m","fields":[]}]}])") +
          "]}");
  const auto parts = composite_parts(*body.json());
  ASSERT_TRUE(parts) << parts.error();
  const std::vector<RowAnswer> answers = row_answers(call, *parts);
  ASSERT_EQ(answers.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(answers[i].row, i);
    EXPECT_TRUE(answers[i].is_answered);
  }
  EXPECT_EQ(answers[1].written.id, "i1");
  EXPECT_EQ(answers[3].written.id, "i3");
  EXPECT_EQ(classify(answers[2].written.errors.at(0), answers[2].context("Key__c")), ErrorClass::row_lock);
}

TEST(Composite, AFailedPartFailsAllItsRowsAlike) {
  const WriteCall call = write_calls(kVersion, 10, numbered_rows(4)).at(0);
  ASSERT_EQ(call.blocks.size(), 2U);
  const AnswerBody body = read_body(
      200, R"({"compositeResponse":[)" +
               part_answer("w0", 400, R"([{"errorCode":"INVALID_FIELD","message":"No such column"}])") +
               "]}");
  const std::vector<RowAnswer> answers = row_answers(call, *composite_parts(*body.json()));
  ASSERT_EQ(answers.size(), 4U);
  EXPECT_EQ(answers[1].status, 400);
  EXPECT_EQ(classify(answers[1].written.errors.at(0), answers[1].context("Key__c")),
            ErrorClass::fields_differ);
  EXPECT_FALSE(answers[2].is_answered) << "a part without an answer";
}

TEST(Composite, AnAnswerWithFewerRowsIsNone) {
  const WriteCall call = write_calls(kVersion, 1000, numbered_rows(2)).at(0);
  const AnswerBody body =
      read_body(200, R"({"compositeResponse":[)" +
                         part_answer("w0", 200, R"([{"id":"i0","success":true,"errors":[]}])") + "]}");
  for (const RowAnswer& answer : row_answers(call, *composite_parts(*body.json())))
    EXPECT_FALSE(answer.is_answered);
}

}  // namespace
}  // namespace giftsync::salesforce
