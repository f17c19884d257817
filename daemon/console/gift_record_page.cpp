// What the CRM holds of a gift beside what giftsync would write.
#include "daemon/console/crm_questions.h"
#include "daemon/console/gift_actions.h"
#include "daemon/console/pages.h"
#include "platform/text.h"
#include "sync/gift_record_draft.h"
#include "sync/record_comparison.h"

namespace giftsync::daemon::console {
namespace {

using schema::GiftField;

constexpr int kMostCalls = 1;

/// What may name the recipient, and the link to the gift.
bool is_personal(GiftField field) {
  return field == GiftField::name || field == GiftField::message || field == GiftField::link ||
         field == GiftField::recipient_email || field == GiftField::recipient_phone_number;
}

/// The key of what the page says about a field.
std::string_view verdict_of(const sync::RecordDrift& drift, GiftField field) {
  for (const sync::FieldDrift& one : drift.repaired)
    if (one.field == field) return "field_wrong";
  for (const sync::FieldDrift& one : drift.differences)
    if (one.field == field) return "field_differs";
  return "";
}

schema::store::MatchDecision decision_of(schema::store::Store& store, schema::TransactionId id) {
  const auto states = store.sync.find_states(std::span(&id, 1));
  return states.empty() ? schema::store::MatchDecision() : states.front().decision;
}

Data field_rows(const PageCall& call, const schema::crm::GiftRecords& records,
                const schema::GiftRecord& record, const schema::store::Gift& gift) {
  const sync::SyncRules& rules = call.console.options.crm.rules;
  const std::string link = rules.link_of ? rules.link_of(gift.transaction) : std::string();
  const schema::GiftRecord wanted =
      sync::draft_gift_record(gift, decision_of(call.store(), gift.transaction.id), link,
                              rules.integration_user)
          .record;
  const sync::RecordDrift drift = sync::compare_record(
      records, record, wanted, gift.transaction.gift_source == schema::store::kAdoptedGiftSource,
      rules.link_of != nullptr);
  Data rows(Data::type::list);
  for (std::size_t i = 0; i < schema::kGiftFieldCount; ++i) {
    const auto field = static_cast<GiftField>(i);
    if (!records.has_field(field)) continue;
    std::string in_crm = sync::text_in(record, field);
    std::string ours = sync::text_of(wanted.get(field));
    if (in_crm.empty() && ours.empty()) continue;
    if (call.viewer().is_masked() && is_personal(field)) {
      if (!in_crm.empty()) in_crm = "***";
      if (!ours.empty()) ours = "***";
    }
    Data row;
    row.set("field", std::string(schema::kGiftFields[i].label));
    set_text(row, "in_crm", with_readable_times(in_crm));
    set_text(row, "ours", with_readable_times(ours));
    if (const std::string_view verdict = verdict_of(drift, field); !verdict.empty())
      row.set("differs", texts().text(verdict));
    rows << row;
  }
  return rows;
}

}  // namespace

http::HttpResponse gift_record_page(const PageCall& call) {
  const auto seen = find_gift(call);
  if (!seen) return not_found(call);
  const schema::TransactionId id = seen->gift.transaction.id;
  const auto gifts = call.store().gifts.find(std::span(&id, 1));
  if (gifts.empty()) return not_found(call);
  Data data;
  data.set("gift_url", call.url().base + path_of(seen->gift));
  data.set("masked", call.viewer().is_masked());
  data.set("waiting", seen->is_waiting);
  set_ask(call, path_of(seen->gift) + "/record", kMostCalls, data);
  if (asks_crm(call)) {
    const std::string away = ask_crm(call, [&](schema::crm::Crm& crm) {
      const auto records = crm.gift_records().find(std::span(&id, 1));
      data.set("missing", records.empty());
      if (records.empty()) return;
      data.set("rows", field_rows(call, crm.gift_records(), records.front(), gifts.front()));
      data.set("has_rows", true);
    });
    set_outcome(call, away, data);
  }
  return page(call, "gift_record", texts().text("record_title", {{"id", call.parameter}}), std::move(data));
}

}  // namespace giftsync::daemon::console
