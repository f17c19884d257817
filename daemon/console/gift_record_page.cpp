// What the CRM holds of a gift beside what giftsync would write.
#include <array>

#include "daemon/console/crm_questions.h"
#include "daemon/console/gift_actions.h"
#include "daemon/console/pages.h"
#include "platform/text.h"
#include "sync/gift_record_draft.h"
#include "sync/record_comparison.h"
#include "sync/sync_step.h"

namespace giftsync::daemon::console {
namespace {

using schema::GiftField;

constexpr int kMostCalls = 1;

/// What may name the recipient, and the link to the gift.
bool is_personal(GiftField field) {
  return field == GiftField::name || field == GiftField::message || field == GiftField::link ||
         field == GiftField::recipient_email || field == GiftField::recipient_phone_number;
}

schema::store::MatchDecision decision_of(schema::store::Store& store, schema::TransactionId id) {
  const auto states = store.sync.find_states(std::span(&id, 1));
  return states.empty() ? schema::store::MatchDecision() : states.front().decision;
}

/// The record that giftsync would write.
schema::GiftRecord wanted_record(const PageCall& call, const schema::store::Gift& gift) {
  const sync::SyncRules& rules = call.console.options.crm.rules;
  const std::string link = rules.link_of ? rules.link_of(gift.transaction) : std::string();
  return sync::draft_gift_record(gift, decision_of(call.store(), gift.transaction.id), link,
                                 rules.integration_user)
      .record;
}

/// The fields by what the comparison says of them, those that differ first (CON-43).
struct ComparedFields {
  struct Group {
    std::string_view title;  ///< the key of its text
    std::size_t count = 0;
    Data rows = Data(Data::type::list);
  };
  std::array<Group, 3> groups{Group{"fields_differing"}, Group{"fields_same"}, Group{"fields_not_compared"}};

  Group& of(sync::FieldVerdict verdict) {
    using V = sync::FieldVerdict;
    if (verdict == V::repaired || verdict == V::differs) return groups[0];
    return groups[verdict == V::same ? 1 : 2];
  }
};

/// One field, `in_crm` beside `ours`.
Data row_data(const PageCall& call, GiftField field, const std::string& in_crm, const std::string& ours) {
  const bool is_hidden = call.viewer().is_masked() && is_personal(field);
  Data row;
  row.set("field", std::string(schema::descriptor_of(field).label));
  const auto shown = [&](const std::string& text) {
    return field == GiftField::recipient_email ? masked_address(is_hidden, text)
                                               : masked_text(is_hidden, with_readable_times(text));
  };
  set_text(row, "in_crm", shown(in_crm));
  set_text(row, "ours", shown(ours));
  return row;
}

/// Of a gift without a record: the fields that giftsync wants to write (CON-62).
ComparedFields fields_to_write(const PageCall& call, const schema::crm::GiftRecords& records,
                               const schema::store::Gift& gift) {
  const schema::GiftRecord wanted = wanted_record(call, gift);
  ComparedFields fields;
  ComparedFields::Group& group = fields.groups[0];
  group.title = "fields_to_write";
  for (std::size_t i = 0; i < schema::kGiftFieldCount; ++i) {
    const auto field = static_cast<GiftField>(i);
    const std::string ours = sync::text_of(wanted.get(field));
    if (ours.empty() || !records.has_field(field)) continue;
    Data row = row_data(call, field, "", ours);
    row.set("verdict", texts().text("field_to_write"));
    group.rows << row;
    ++group.count;
  }
  return fields;
}

ComparedFields compare_fields(const PageCall& call, const schema::crm::GiftRecords& records,
                              const schema::GiftRecord& record, const schema::store::Gift& gift) {
  const schema::GiftRecord wanted = wanted_record(call, gift);
  const bool knows_link = call.console.options.crm.rules.link_of != nullptr;
  const bool is_adopted = gift.transaction.gift_source == schema::store::kAdoptedGiftSource;
  ComparedFields compared;
  for (std::size_t i = 0; i < schema::kGiftFieldCount; ++i) {
    const auto field = static_cast<GiftField>(i);
    const std::string in_crm = sync::text_in(record, field);
    const std::string ours = sync::text_of(wanted.get(field));
    if (in_crm.empty() && ours.empty()) continue;
    const sync::FieldVerdict verdict =
        sync::compare_field(records, record, wanted, field, is_adopted, knows_link);
    ComparedFields::Group& group = compared.of(verdict);
    Data row = row_data(call, field, in_crm, ours);
    row.set("verdict", word_text("field_", verdict));
    row.set("differs", &group == &compared.groups[0]);
    group.rows << row;
    ++group.count;
  }
  return compared;
}

void set_fields(Data& data, const ComparedFields& compared) {
  Data groups(Data::type::list);
  for (const ComparedFields::Group& group : compared.groups) {
    if (group.count == 0) continue;
    Data one;
    one.set("title", texts().text(group.title, {{"count", std::to_string(group.count)}}));
    one.set("open", &group == &compared.groups[0]);
    one.set("rows", group.rows);
    groups << one;
  }
  data.set("groups", groups);
  data.set("has_groups", true);
  data.set("none_differs", compared.groups[0].count == 0);
}

/// The key of the text for what was refused, or failed otherwise.
std::string_view failure_title(const schema::store::SyncWait& wait) {
  if (wait.last_error.starts_with(sync::kTaskError)) return wait.is_rejected ? "task_refused" : "task_failed";
  return wait.is_rejected ? "record_refused" : "record_failed";
}

/// Why the CRM does not have the gift's current state: the last error of its write, with its class (CON-62).
void set_failure(const PageCall& call, schema::TransactionId id, Data& data) {
  const auto wait = call.store().sync.find_wait(id);
  if (wait && wait->last_error.empty()) data.set("waiting", true);
  if (!wait || wait->last_error.empty()) return;
  Data failure;
  failure.set("title", texts().text(failure_title(*wait)));
  failure.set("error", shown_error(call.viewer(), wait->last_error));
  failure.set("number", failure_class_number(schema::store::failure_class_of(wait->last_error)));
  failure.set("next", time_data(wait->next_attempt_at));
  data.set("failure", failure);
}

/// Whether giftsync makes the record that the CRM does not have.
bool will_be_written(const schema::store::ConsoleGift& gift) {
  return gift.crm_state != schema::store::CrmSyncStatus::deleted &&
         gift.crm_state != schema::store::CrmSyncStatus::skipped;
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
  set_failure(call, id, data);
  set_ask(call, path_of(seen->gift) + "/record", kMostCalls, data);
  if (asks_crm(call)) {
    const std::string away = ask_crm(call, [&](schema::crm::Crm& crm) {
      const auto records = crm.gift_records().find(std::span(&id, 1));
      data.set("missing", records.empty());
      if (!records.empty())
        set_fields(data, compare_fields(call, crm.gift_records(), records.front(), gifts.front()));
      else if (will_be_written(*seen))
        set_fields(data, fields_to_write(call, crm.gift_records(), gifts.front()));
    });
    set_outcome(call, away, data);
  }
  return page(call, "gift_record", texts().text("record_title", {{"id", call.parameter}}), std::move(data));
}

}  // namespace giftsync::daemon::console
