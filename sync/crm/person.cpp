#include "sync/crm/person.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "schema/contact_normalization.h"
#include "schema/store/gift/erased_address.h"
#include "sync/crm/gift_record_draft.h"
#include "sync/status/status_rules.h"

namespace giftsync::sync {
namespace {

/// By all changes: the gift's row may not include the latest ones yet.
bool is_closed(const store::Gift& gift, std::span<const store::StatusChange> changes) {
  const store::RecipientTransaction& transaction = gift.transaction;
  if (!transaction.gift_source.empty()) return true;
  return is_complete(fold(*transaction.times[Status::sent], changes, transaction.untimed_status).status);
}

/// `keeps_crm`: giftsync does. Another CRM gets nothing of a gift any more once it is erased, so its record
/// is written before.
void find_gifts(store::Store& store, bool keeps_crm, PersonData& person) {
  std::vector<TransactionId> addressed;
  std::set<TransactionId> busy;
  for (const store::PersonGift& gift : store.person_traces.gifts(person.address_key, person.mark)) {
    if (gift.is_erased) {
      person.erased.push_back(gift.id);
      continue;
    }
    addressed.push_back(gift.id);
    if (gift.is_busy || (gift.waits_for_crm && !keeps_crm)) busy.insert(gift.id);
  }
  std::map<TransactionId, std::vector<store::StatusChange>> changes;
  for (store::StatusChange& change : store.changes.changes_of(addressed)) {
    const TransactionId id = change.transaction;
    changes[id].push_back(std::move(change));
  }
  for (const store::Gift& gift : store.gifts.find(addressed)) {
    const TransactionId id = gift.transaction.id;
    if (!is_closed(gift, changes[id]))
      person.open.push_back(id);
    else
      (busy.contains(id) ? person.busy : person.closed).push_back(id);
  }
}

std::vector<std::string> people_with(crm::Crm& crm, crm::PersonRows& rows, crm::PersonObject object,
                                     const std::string& address_key) {
  const crm::RecipientMatchKeys keys{address_key, "", false};
  std::vector<std::string> ids = rows.deleted_people(object, address_key);
  for (const crm::Candidates& found : crm.directory().find_candidates(object, std::span(&keys, 1)))
    for (const crm::Candidate& candidate : found.by_email) ids.push_back(candidate.id);
  return ids;
}

void find_crm_rows(store::Store& store, crm::Crm& crm, PersonData& person) {
  crm::PersonRows* const rows = crm.person_rows();
  if (rows == nullptr) return;
  person.has_crm = true;
  person.contacts = people_with(crm, *rows, crm::PersonObject::contact, person.address_key);
  person.leads = people_with(crm, *rows, crm::PersonObject::lead, person.address_key);
  person.records = crm.gift_records().transaction_ids_by_email(person.address_key);
  std::vector<TransactionId> gifts = person.closed;
  gifts.insert(gifts.end(), person.erased.begin(), person.erased.end());
  const crm::RequestRecordsOf records{person.address_key, person.contacts, person.leads,
                                      store.person_traces.request_records(gifts)};
  const crm::ErasureMarks marks{store::kErased, person.mark};
  person.crm_requests = rows->request_records(records, marks, true);
  person.open_crm_requests = rows->request_records(records, marks, false);
}

void add_count(std::string& text, std::size_t count, const std::string& one, const std::string& many) {
  if (count == 0) return;
  text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + (count == 1 ? one : many);
}

/// Names of records as giftsync would write them now.
std::vector<crm::ErasedGiftRecord> erased_records(store::Store& store, const std::set<TransactionId>& ids) {
  std::map<TransactionId, std::string> names;
  for (const TransactionId id : ids) names.emplace(id, store::kErased);
  const std::vector<TransactionId> asked(ids.begin(), ids.end());
  for (const store::Gift& gift : store.gifts.find(asked)) {
    const GiftRecord record = draft_gift_record(gift, {}, "", "").record;
    if (const auto* name = std::get_if<std::string>(&record.get(GiftField::name)))
      names[gift.transaction.id] = *name;
  }
  std::vector<crm::ErasedGiftRecord> records;
  for (auto& [id, name] : names) records.push_back({id, std::move(name)});
  return records;
}

/// The records of erased gifts; of other gifts those that have the address, but for gifts in use.
std::set<TransactionId> records_to_erase(const PersonData& person) {
  std::set<TransactionId> ids(person.closed.begin(), person.closed.end());
  ids.insert(person.erased.begin(), person.erased.end());
  if (!person.is_in_use()) ids.insert(person.records.begin(), person.records.end());
  return ids;
}

void erase_crm_rows(store::Store& store, crm::Crm& crm, const PersonData& person, PersonErasure& done) {
  crm::PersonRows* const rows = crm.person_rows();
  if (rows == nullptr) return;
  const crm::ErasureMarks marks{store::kErased, person.mark};
  done.records = rows->erase_gift_records(erased_records(store, records_to_erase(person)), marks);
  if (person.is_in_use()) return;
  // Some are found by the people's rows alone.
  done.requests = rows->erase_request_records(person.crm_requests, marks);
  done.contacts = rows->erase_people(crm::PersonObject::contact, person.contacts, marks);
  done.leads = rows->erase_people(crm::PersonObject::lead, person.leads, marks);
  while (crm.directory().maintain()) continue;  // match keys have the address, too
}

}  // namespace

bool PersonData::has_traces() const {
  return !open.empty() || !closed.empty() || !busy.empty() || !texts.empty() || !open_requests.empty() ||
         !contacts.empty() || !leads.empty() || !records.empty() || !crm_requests.empty() ||
         !open_crm_requests.empty() ||
         std::any_of(entries.begin(), entries.end(),
                     [](const store::DoNotSendEntry& entry) { return entry.pattern_hash.empty(); });
}

std::string PersonData::counts_text() const {
  const auto listed = std::count_if(entries.begin(), entries.end(), [](const store::DoNotSendEntry& entry) {
    return entry.pattern_hash.empty();
  });
  std::string text;
  add_count(text, closed.size(), "gift", "gifts");
  if (!is_in_use()) {
    add_count(text, texts.size(), "other text", "other texts");
    add_count(text, static_cast<std::size_t>(listed), "do-not-send entry", "do-not-send entries");
    add_count(text, contacts.size(), "contact", "contacts");
    add_count(text, leads.size(), "lead", "leads");
    add_count(text, records.size(), "gift record", "gift records");
    add_count(text, crm_requests.size(), "request record", "request records");
  }
  return text.empty() ? "nothing" : text;
}

std::string PersonData::export_text() const {
  return std::to_string(open.size() + busy.size() + closed.size()) + " gifts, " +
         std::to_string(texts.size()) + " texts";
}

PersonData find_person(store::Store& store, crm::Crm& crm, const std::string& address) {
  PersonData person;
  person.address_key = email_key(address);
  person.mark = store.do_not_send.mark_of(person.address_key);
  find_gifts(store, crm.person_rows() != nullptr, person);
  person.texts = store.person_traces.texts(person.address_key);
  person.open_requests = store.person_traces.open_requests(person.address_key);
  person.entries = store.do_not_send.entries_of(person.address_key);
  find_crm_rows(store, crm, person);
  return person;
}

PersonErasure erase_person(store::Store& store, crm::Crm& crm, PersonData person,
                           const store::AuditEvent& event) {
  PersonErasure done;
  store.audit.add(event);
  const std::vector<TransactionId> erased = store.person_traces.erase_gifts(person.closed, person.mark);
  done.gifts = static_cast<std::int64_t>(erased.size());
  for (const TransactionId gift : person.closed)  // a worker has it since find_person()
    if (std::find(erased.begin(), erased.end(), gift) == erased.end()) person.busy.push_back(gift);
  person.closed = erased;
  if (!person.is_in_use()) {
    store.person_traces.erase_request_records(person.crm_requests);
    done.texts = store.person_traces.erase_texts(person.texts, person.address_key, person.mark);
    // Differences that wait have an erased campaign's text, and so has the row that those gifts leave.
    while (store.rollups.add_deltas() == store::Rollups::kMaxDeltas) continue;
    done.entries =
        store.person_traces.erase_entries(person.address_key, store.do_not_send.hash_of(person.address_key));
  }
  erase_crm_rows(store, crm, person, done);
  return done;
}

}  // namespace giftsync::sync
