// Requests from the CRM: approved as the design says, sent once, and every fault told (design 3.3).
#include "sync/request_step.h"

#include "sync/gift_hand.h"
#include "sync/sync_step.h"
#include "tests/sync/request_ground.h"

namespace giftsync::sync {
namespace {

using schema::RequestState;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class RequestStep : public RequestGround {};

TEST_P(RequestStep, an_auto_approved_request_is_sent_at_once) {
  crm.insert("1", "Hello", true);
  EXPECT_EQ(step().sent, 1u);
  EXPECT_EQ(status("1"), "Sent");
  ASSERT_THAT(gifts_of("1"), SizeIs(1));
  EXPECT_EQ(gifts_of("1").front().email, "1@example.com");
  EXPECT_EQ(gifts_of("1").front().message, "Hello");
  EXPECT_THAT(story("1"), ElementsAre(">pending by somebody in the CRM", "pending>approved by Auto-Approved",
                                      "approved>sent by giftsync"));
  settle();
  EXPECT_FALSE(crm.rows.at("1").claimed);
  EXPECT_EQ(known("1")->due_at, std::nullopt);
}

TEST_P(RequestStep, a_request_without_auto_approval_waits) {
  crm.insert("1", "Hello", false);
  crm.insert("2", "Hello", std::nullopt);
  settle();
  EXPECT_EQ(status("1"), "Pending");
  EXPECT_EQ(status("2"), "Pending");
  EXPECT_EQ(crm.rows.at("2").checked(F::auto_approved), false);
  EXPECT_THAT(sent("1"), IsEmpty());
}

TEST_P(RequestStep, the_packages_default_is_for_requests_that_give_no_value) {
  rules.auto_approved_default = true;
  crm.insert("1", "Hello", false);
  crm.insert("2", "Hello", std::nullopt);
  settle();
  EXPECT_EQ(status("1"), "Pending");
  EXPECT_EQ(status("2"), "Sent");
  EXPECT_EQ(crm.rows.at("2").checked(F::auto_approved), true);
}

TEST_P(RequestStep, an_approval_in_the_crm_is_honoured_and_kept_with_its_name) {
  crm.insert("1", "Hello", false);
  settle();
  crm.edit("1", F::status, std::string("Approved"));
  settle();
  EXPECT_EQ(status("1"), "Sent");
  EXPECT_THAT(story("1"), ElementsAre(">pending by somebody in the CRM", "pending>approved by CRM user 005B",
                                      "approved>sent by giftsync"));
}

TEST_P(RequestStep, first_seen_as_approved_rejected_and_sent) {
  crm.insert("1", "Hello", false, "Approved");
  crm.insert("2", "Hello", true, "Rejected");
  crm.insert("3", "Hello", true, "Sent");
  crm.insert("4", "Hello", false, "Nonsense");
  const RequestReport report = step();
  settle();
  EXPECT_EQ(status("1"), "Sent");
  EXPECT_THAT(gifts_of("1"), SizeIs(1));
  EXPECT_EQ(status("2"), "Rejected");
  EXPECT_THAT(sent("2"), IsEmpty());
  EXPECT_EQ(status("3"), "Sent");
  EXPECT_THAT(sent("3"), IsEmpty());
  EXPECT_THAT(error("3"), HasSubstr("giftsync sent no gift"));
  EXPECT_THAT(report.notes, testing::Contains(HasSubstr("was Sent when it was first seen")));
  EXPECT_EQ(status("4"), "Pending");
  EXPECT_THAT(error("4"), HasSubstr("A pending request can become"));
}

TEST_P(RequestStep, illegal_edits_are_put_back_with_an_error_log) {
  crm.insert("1", "Hello", false);
  crm.insert("2", "Hello", true);
  crm.insert("3", "Hello", false, "Rejected");
  settle();
  crm.edit("1", F::status, std::string("Sent"));
  crm.edit("2", F::status, std::string("Rejected"));
  crm.edit("3", F::status, std::string("Approved"));
  settle();
  EXPECT_EQ(status("1"), "Pending");
  EXPECT_THAT(error("1"), HasSubstr("cannot go from Pending to Sent"));
  EXPECT_EQ(status("2"), "Sent");
  EXPECT_THAT(error("2"), HasSubstr("cannot go from Sent to Rejected"));
  EXPECT_EQ(status("3"), "Rejected");
  EXPECT_THAT(error("3"), HasSubstr("cannot go from Rejected to Approved"));
  EXPECT_THAT(sent("1"), IsEmpty());
  EXPECT_THAT(sent("3"), IsEmpty());
}

TEST_P(RequestStep, unchecking_auto_approved_makes_a_request_wait) {
  const SenderVerdict good = sender;
  sender = {std::nullopt, "Nobody may send."};
  crm.insert("1", "Hello", true);
  step();
  EXPECT_EQ(status("1"), "Approved");
  EXPECT_EQ(error("1"), "Nobody may send.");
  crm.edit("1", F::auto_approved, false);
  sender = good;
  settle();
  EXPECT_EQ(status("1"), "Pending");
  EXPECT_THAT(error("1"), HasSubstr("unchecked"));
}

/// Stops every send, so that approved requests wait.
void hold(SenderVerdict& sender) {
  sender.account.reset();
  sender.fault = "wait";
}

TEST_P(RequestStep, content_that_changed_after_approval_asks_for_approval_again) {
  const SenderVerdict good = sender;
  hold(sender);
  crm.insert("1", "Hello", false, "Approved");
  crm.insert("2", "Hello", true);
  settle();
  crm.edit("1", F::message, std::string("Other"));
  crm.edit("2", F::message, std::string("Other"));
  settle();
  EXPECT_EQ(status("1"), "Pending");
  EXPECT_THAT(error("1"), HasSubstr("Changed after approval"));
  EXPECT_EQ(status("2"), "Approved") << "auto-approved ones are evaluated anew";
  sender = good;
  now = now + schema::kHourMillis;
  settle();
  EXPECT_EQ(status("1"), "Pending");
  EXPECT_EQ(status("2"), "Sent");
  EXPECT_EQ(gifts_of("2").front().message, "Other");
}

/// The page of each gift, as catalogue.item_url makes it.
std::string page_of(schema::GiftId gift) {
  return "https://items.example.com/" + std::to_string(gift.value);
}

TEST_P(RequestStep, the_item_link_follows_the_gift_id_until_the_claim) {
  const SenderVerdict good = sender;
  rules.item_link = page_of;
  hold(sender);
  crm.insert("pending", "Hello", false);
  crm.insert("approved", "Hello", false, "Approved");
  crm.insert("automatic", "Hello", true);
  const char* ids[] = {"pending", "approved", "automatic"};
  settle();
  for (const char* id : ids) {
    EXPECT_EQ(crm.text(id, F::item_link), "https://items.example.com/7") << id;
    crm.edit(id, F::gift_id, std::string("8"));
  }
  settle();
  for (const char* id : ids) EXPECT_EQ(crm.text(id, F::item_link), "https://items.example.com/8") << id;
  EXPECT_EQ(status("approved"), "Pending") << "the Gift Id is what was approved";
  crm.edit("pending", F::gift_id, std::string("tea"));
  settle();
  EXPECT_EQ(crm.text("pending", F::item_link), "") << "the page of no gift";
  crm.edit("automatic", F::gift_id, std::string("7"));
  settle();
  sender = good;
  now = now + schema::kHourMillis;
  settle();
  ASSERT_EQ(status("automatic"), "Sent");
  EXPECT_EQ(crm.text("automatic", F::item_link), "https://items.example.com/7");
  crm.edit("automatic", F::gift_id, std::string("8"));
  settle();
  EXPECT_EQ(crm.text("automatic", F::item_link), "https://items.example.com/7") << "what was sent";
}

TEST_P(RequestStep, a_gift_id_that_is_edited_after_the_sending_stays_and_is_told_once) {
  crm.insert("1", "Hello", true);
  settle();
  ASSERT_EQ(status("1"), "Sent");
  crm.edit("1", F::gift_id, std::string("8"));
  const RequestReport report = step();
  ASSERT_THAT(report.notes, SizeIs(1));
  EXPECT_THAT(report.notes.front(), HasSubstr("request R-1: Gift 7 was sent, and Gift Id was edited since"));
  EXPECT_THAT(report.notes.front(), HasSubstr("by CRM user 005B"));
  settle();
  EXPECT_THAT(error("1"), HasSubstr("no other gift is sent"));
  EXPECT_EQ(crm.text("1", F::gift_id), "8");
  EXPECT_EQ(status("1"), "Sent");
  EXPECT_THAT(gifts_of("1"), SizeIs(1));
  crm.edit("1", F::message, std::string("Other"));
  EXPECT_THAT(step().notes, IsEmpty());
  settle();
  crm.edit("1", F::status, std::string("Rejected"));
  EXPECT_THAT(step().notes, SizeIs(1)) << "of the status alone";
  settle();
  EXPECT_THAT(error("1"), HasSubstr("A sent request stays Sent. Gift 7 was sent"));
  crm.edit("1", F::gift_id, std::string("7"));
  EXPECT_THAT(step().notes, IsEmpty());
  settle();
  EXPECT_THAT(error("1"), HasSubstr("A sent request stays Sent."));
  EXPECT_THAT(error("1"), Not(HasSubstr("Gift 7")));
}

TEST_P(RequestStep, an_item_link_that_somebody_wrote_stays) {
  rules.item_link = page_of;
  for (const std::string link : {"https://items.example.com/7?tab=photos", "https://items.example.com/07",
                                 "https://other.example.com/7", "see 7", "7"}) {
    crm.insert("1", "Hello", false).set(F::item_link, link);
    settle();
    crm.edit("1", F::gift_id, std::string("8"));
    settle();
    EXPECT_EQ(crm.text("1", F::item_link), link);
    crm.remove("1");
    settle();
  }
}

TEST_P(RequestStep, a_new_item_link_asks_for_no_other_approval) {
  const SenderVerdict good = sender;
  rules.item_link = page_of;
  hold(sender);
  crm.insert("1", "Hello", false, "Approved");
  settle();
  crm.edit("1", F::item_link, std::string("https://items.example.com/8"));
  settle();
  EXPECT_EQ(crm.text("1", F::item_link), "https://items.example.com/7") << "the page of another gift";
  EXPECT_EQ(status("1"), "Approved");
  sender = good;
  now = now + schema::kHourMillis;
  settle();
  EXPECT_EQ(status("1"), "Sent");
}

TEST_P(RequestStep, an_edit_that_names_nobody_is_not_that_of_giftsyncs_own_user) {
  rules.integration_user = crm.integration_user = "005I";
  rules.item_link = [](schema::GiftId) { return std::string("https://items.example.com/7"); };
  crm.insert("1", "Hello", false).set(F::last_modified_by, std::string("005X"));
  crm.insert("2", "Hello", false);
  settle();
  ASSERT_EQ(crm.text("1", F::last_modified_by), "005I") << "giftsync wrote the item's link";
  crm.edit_without_name("1", F::status, std::string("Approved"));
  crm.edit_without_name("2", F::status, std::string("Rejected"));
  settle();
  EXPECT_EQ(status("1"), "Sent");
  EXPECT_THAT(story("1"), ElementsAre(">pending by CRM user 005X", "pending>approved by somebody in the CRM",
                                      "approved>sent by giftsync"));
  EXPECT_THAT(story("2"),
              ElementsAre(">pending by somebody in the CRM", "pending>rejected by somebody in the CRM"));
}

TEST_P(RequestStep, unchecking_without_a_name_is_not_that_of_giftsyncs_own_user) {
  rules.integration_user = crm.integration_user = "005I";
  hold(sender);
  crm.insert("1", "Hello", true);
  crm.insert("2", "Hello", true);
  step();
  ASSERT_EQ(crm.text("1", F::last_modified_by), "005I") << "giftsync wrote Approved";
  crm.edit_without_name("1", F::auto_approved, false);
  crm.edit("2", F::auto_approved, false);
  settle();
  EXPECT_THAT(story("1"), testing::Contains("approved>pending by somebody in the CRM"));
  EXPECT_THAT(story("2"), testing::Contains("approved>pending by CRM user 005B"));
}

TEST_P(RequestStep, what_is_not_content_withdraws_nothing) {
  const SenderVerdict good = sender;
  hold(sender);
  crm.insert("1", "Hello", false, "Approved");
  settle();
  crm.edit("1", F::account, std::string("001X"));
  sender = good;
  now = now + schema::kHourMillis;
  settle();
  EXPECT_EQ(status("1"), "Sent");
  EXPECT_EQ(sent("1").front().origin.account_id, "001X");
}

TEST_P(RequestStep, each_content_field_is_bound_by_the_approval) {
  const SenderVerdict good = sender;
  for (const F field : schema::approved_fields()) {
    hold(sender);
    const std::string id = "f" + std::to_string(static_cast<int>(field));
    crm.insert(id, "Hello", false, "Approved");
    settle();
    const bool checkbox = field_of(field).type == schema::FieldType::checkbox;
    crm.edit(id, field, checkbox ? schema::FieldValue(true) : schema::FieldValue(std::string("8")));
    sender = good;
    now = now + schema::kHourMillis;
    settle();
    EXPECT_EQ(status(id), "Pending") << field_of(field).label;
    EXPECT_THAT(sent(id), IsEmpty()) << field_of(field).label;
  }
}

struct BadCase {
  schema::RequestField field;
  const char* value;
  const char* told;
};

TEST_P(RequestStep, faults_of_a_record_are_told_and_wait_for_an_edit) {
  const BadCase cases[] = {
      {F::gift_id, "abc", "Gift Id \"abc\" is no number"},
      {F::gift_id, "", "Gift Id is empty"},
      {F::gift_id, "99", "There is no gift \"99\""},
      {F::gift_id, "9999999999999999999999", "is no number"},
      {F::recipient_email, "nobody", "Recipient Email \"nobody\""},
      {F::recipient_email, "", "no address to send to"},
      {F::message, " ", "Message is empty"},
      {F::send_type, "SMS", "Send Type \"SMS\" is not available"},
      {F::recipient_first_name, "a\nb", "one line"},
      {F::recipient_contact, "003nobody", "is not in the CRM"},
  };
  int number = 0;
  for (const BadCase& one : cases) {
    const std::string id = std::to_string(++number);
    crm.insert(id, "Hello", true).set(one.field, std::string(one.value));
    settle();
    EXPECT_EQ(status(id), "Approved") << one.told;
    EXPECT_THAT(error(id), HasSubstr(one.told));
    EXPECT_EQ(known(id)->due_at, std::nullopt) << "waits for an edit";
    EXPECT_THAT(sent(id), IsEmpty());
  }
  crm.edit("1", F::gift_id, std::string("7"));
  settle();
  EXPECT_EQ(status("1"), "Sent");
  EXPECT_EQ(error("1"), "") << "cleared on success";
}

TEST_P(RequestStep, a_message_of_200000_characters_and_a_contact_beside_a_lead_are_refused) {
  crm.insert("1", std::string(200'000, 'x'), true);
  auto& row = crm.insert("2", "Hello", true);
  row.set(F::recipient_contact, std::string("003A"));
  row.set(F::recipient_lead, std::string("00QA"));
  settle();
  EXPECT_EQ(error("1"), "Message has 200000 characters, at most 10000 are allowed: shorten it.");
  EXPECT_THAT(error("2"), HasSubstr("both set: clear one of them"));
  EXPECT_THAT(sent("1"), IsEmpty());
  EXPECT_THAT(sent("2"), IsEmpty());
}

TEST_P(RequestStep, a_sender_who_may_not_send_is_tried_again_with_back_off) {
  const SenderVerdict good = sender;
  sender = {std::nullopt, "The account is not active."};
  crm.insert("1", "Hello", true);
  settle();
  EXPECT_EQ(status("1"), "Approved");
  EXPECT_EQ(error("1"), "The account is not active.");
  sender = good;
  settle();
  EXPECT_EQ(status("1"), "Approved") << "not before its time";
  now = now + 3'000;
  settle();
  EXPECT_EQ(status("1"), "Sent");
  EXPECT_EQ(error("1"), "");
}

TEST_P(RequestStep, the_gift_carries_costs_description_links_and_kind) {
  crm.contacts["003A"] = {"003A", "kim@example.com", "Kim", "Ray", "001K"};
  auto& row = crm.insert("1", "Hello", true);
  row.set(F::recipient_email, {});
  row.set(F::recipient_contact, std::string("003A"));
  row.set(F::account, std::string("001A"));
  row.set(F::opportunity, std::string("006A"));
  row.set(F::gift_item_description, std::string("Our own words"));
  row.set(F::include_shipping, true);
  row.set(F::send_type, std::string("Link"));
  settle();
  const auto origin = sent("1").front();
  const auto request = store().gifts.request(origin.gift_request);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->mode, schema::SendMode::urls);
  EXPECT_EQ(request->item_description, "Our own words");
  EXPECT_EQ(request->costs.total(), schema::Money{740}) << "shipping counts, carbon does not";
  EXPECT_EQ(request->sender_email, "ana@example.com");
  EXPECT_EQ(gifts_of("1").front().email, "kim@example.com");
  EXPECT_EQ(gifts_of("1").front().first_name, "Kim");
  sync_step(store(), crm, {{}, false, "", [](const auto&) { return std::string(); }}, {"me"}, now);
  ASSERT_THAT(crm.records, SizeIs(1));
  using G = schema::GiftField;
  const auto text = [&](G field) { return std::get<std::string>(crm.records.front().get(field)); };
  EXPECT_EQ(text(G::recipient_contact), "003A");
  EXPECT_EQ(text(G::account), "001A");
  EXPECT_EQ(text(G::opportunity), "006A");
  EXPECT_EQ(text(G::sender), "005A");
  EXPECT_EQ(text(G::description), "Our own words");
  EXPECT_EQ(std::get<schema::Money>(crm.records.front().get(G::total_price)).minor_units, 740);
}

TEST_P(RequestStep, a_gift_that_was_asked_for_as_links_is_not_mailed_and_its_request_is_named) {
  crm.insert("1", "Hello", true).set(F::send_type, std::string("link"));
  settle();
  ASSERT_THAT(gifts_of("1"), SizeIs(1));
  const schema::TransactionId id = gifts_of("1").front().id;
  const HandResult mailed = resend(store(), {id, {}, "root"}, now);
  EXPECT_EQ(mailed.kind, HandResult::Kind::refused);
  EXPECT_THAT(mailed.why, HasSubstr("\"giftsyncctl request show R-1\" has them"));
  ASSERT_EQ(cancel(store(), id, "root", now).kind, HandResult::Kind::done);
  EXPECT_THAT(resend(store(), {id, {}, "root"}, now).why, HasSubstr("it was refunded"));
}

TEST_P(RequestStep, a_request_that_is_deleted_is_not_sent_and_its_id_starts_anew) {
  hold(sender);
  crm.insert("1", "Hello", false, "Approved");
  settle();
  crm.remove("1");
  const RequestReport report = step();
  EXPECT_THAT(report.notes, testing::Contains(HasSubstr("deleted in the CRM before it was sent")));
  sender.account = schema::Account();
  crm.insert("1", "Hello", false);
  now = now + schema::kHourMillis;
  settle();
  EXPECT_EQ(status("1"), "Pending");
  EXPECT_THAT(sent("1"), IsEmpty());
}

TEST_P(RequestStep, an_edit_at_the_moment_of_the_claim_stops_it) {
  for (const bool rejects : {true, false}) {
    const std::string id = rejects ? "1" : "2";
    crm.insert(id, "Hello", false, "Approved");
    bool done = false;
    crm.meanwhile = [&] {
      if (done || !known(id) || known(id)->state != RequestState::claimed) return;
      done = true;  // announced in the book, not yet made in the CRM
      if (rejects)
        crm.edit(id, F::status, std::string("Rejected"));
      else
        crm.edit(id, F::message, std::string("Other"));
    };
    step();
    crm.meanwhile = [] {};
    ASSERT_TRUE(done);
    settle();
    EXPECT_EQ(status(id), rejects ? "Rejected" : "Pending");
    EXPECT_THAT(sent(id), IsEmpty());
  }
}

TEST_P(RequestStep, a_rejection_after_the_claim_is_put_back_to_sent) {
  crm.insert("1", "Hello", false, "Approved");
  bool done = false;
  crm.meanwhile = [&] {
    if (done || !crm.rows.at("1").claimed) return;
    done = true;
    crm.edit("1", F::status, std::string("Rejected"));
  };
  step();
  crm.meanwhile = [] {};
  ASSERT_TRUE(done);
  settle();
  EXPECT_EQ(status("1"), "Sent");
  EXPECT_THAT(error("1"), HasSubstr("cannot go from Sent to Rejected"));
  EXPECT_THAT(gifts_of("1"), SizeIs(1));
}

TEST_P(RequestStep, approvers_decide_by_number_and_only_where_it_is_legal) {
  crm.insert("1", "Hello", false);
  crm.insert("2", "Hello", false);
  settle();
  const auto decide = [&](const char* number, RequestAct act) {
    return decide_request(store(), crm, number, {act, "kim", "as agreed"}, now);
  };
  EXPECT_EQ(decide("R-1", RequestAct::approve).kind, VerdictOutcome::Kind::done);
  EXPECT_EQ(status("1"), "Approved");
  EXPECT_EQ(decide("R-2", RequestAct::reject).kind, VerdictOutcome::Kind::done);
  EXPECT_EQ(decide("R-9", RequestAct::reject).kind, VerdictOutcome::Kind::unknown);
  settle();
  EXPECT_EQ(status("1"), "Sent");
  EXPECT_EQ(status("2"), "Rejected");
  const VerdictOutcome late = decide("R-1", RequestAct::reject);
  EXPECT_EQ(late.kind, VerdictOutcome::Kind::illegal);
  EXPECT_THAT(late.why, HasSubstr("A sent request stays Sent"));
  const auto moves = store().requests.moves("1");
  ASSERT_THAT(moves, SizeIs(3));
  EXPECT_EQ(moves[1].who, "kim");
  EXPECT_EQ(moves[1].comment, "as agreed");
}

TEST_P(RequestStep, an_approvers_words_bind_to_what_was_read) {
  crm.insert("1", "Hello", false);
  settle();
  bool done = false;
  crm.meanwhile = [&] {
    if (done || known("1")->state != RequestState::approved) return;
    done = true;
    crm.edit("1", F::message, std::string("Other"));
  };
  EXPECT_EQ(decide_request(store(), crm, "R-1", {RequestAct::approve, "kim", ""}, now).kind,
            VerdictOutcome::Kind::changed);
  crm.meanwhile = [] {};
  ASSERT_TRUE(done);
  now = now + schema::kHourMillis;
  settle();
  EXPECT_EQ(status("1"), "Pending");
  EXPECT_THAT(sent("1"), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(BackEnds, RequestStep,
                         testing::Values(schema::Dialect::sqlite, schema::Dialect::postgresql),
                         schema::name_of_dialect);

}  // namespace
}  // namespace giftsync::sync
