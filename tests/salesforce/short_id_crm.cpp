// The ports of a CRM with names instead of Ids.
#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tests/salesforce/short_ids.h"

namespace giftsync::tests {
namespace {

using namespace crm;

using Ids = std::span<const std::string>;

constexpr std::array<std::pair<GiftField, std::string_view>, 8> kLookups{
    {{GiftField::recipient_contact, kContactIds},
     {GiftField::account, kAccountIds},
     {GiftField::recipient_lead, kLeadIds},
     {GiftField::opportunity, kOpportunityIds},
     {GiftField::sender, kUserIds},
     {GiftField::actual_sender, kUserIds},
     {GiftField::created_by, kUserIds},
     {GiftField::owner, kUserIds}}};

std::vector<std::string> org_ids(std::string_view prefix, Ids names) {
  std::vector<std::string> ids;
  for (const std::string& name : names) ids.push_back(to_org_id(prefix, name));
  return ids;
}

void shorten(std::string& id) {
  id = to_short_name(id);
}

GiftRecord to_org(GiftRecord record) {
  for (const auto& [field, prefix] : kLookups) {
    if (const auto* name = std::get_if<std::string>(&record.get(field)))
      record.set(field, to_org_id(prefix, *name));
  }
  return record;
}

std::vector<GiftRecord> from_org(std::vector<GiftRecord> records) {
  for (GiftRecord& record : records) {
    for (const auto& [field, prefix] : kLookups) {
      if (const auto* id = std::get_if<std::string>(&record.get(field)))
        record.set(field, to_short_name(*id));
    }
  }
  return records;
}

Associations to_org(const Associations& links) {
  return {to_org_id(kContactIds, links.contact_id), to_org_id(kAccountIds, links.account_id),
          to_org_id(kLeadIds, links.lead_id), to_org_id(kOpportunityIds, links.opportunity_id)};
}

TaskUpsert to_org(TaskUpsert task) {
  task.contact_id = to_org_id(kContactIds, task.contact_id);
  task.owner_id = to_org_id(kUserIds, task.owner_id);
  return task;
}

class ShortDirectory : public Directory {
 public:
  explicit ShortDirectory(Directory& org) : org_(org) {}

  std::vector<Candidates> find_candidates(PersonObject object,
                                          std::span<const RecipientMatchKeys> recipients) override {
    std::vector<Candidates> found = org_.find_candidates(object, recipients);
    for (Candidates& one : found) {
      for (std::vector<Candidate>* people : {&one.by_email, &one.by_phone}) {
        for (Candidate& person : *people) {
          if (person.order_value == person.id) shorten(person.order_value);
          shorten(person.id);
          shorten(person.account_id);
        }
      }
    }
    return found;
  }
  std::vector<std::vector<Opportunity>> find_open_opportunities(Ids contacts) override {
    auto found = org_.find_open_opportunities(org_ids(kContactIds, contacts));
    for (std::vector<Opportunity>& some : found) {
      for (Opportunity& one : some) {
        shorten(one.id);
        shorten(one.account_id);
      }
    }
    return found;
  }
  std::vector<ConvertedLead> find_converted_leads(Ids leads) override {
    auto found = org_.find_converted_leads(org_ids(kLeadIds, leads));
    for (ConvertedLead& one : found) {
      shorten(one.lead_id);
      shorten(one.contact_id);
      shorten(one.account_id);
    }
    return found;
  }
  std::vector<std::optional<std::string>> find_accounts_of_contacts(Ids contacts) override {
    auto found = org_.find_accounts_of_contacts(org_ids(kContactIds, contacts));
    for (std::optional<std::string>& one : found)
      if (one) shorten(*one);
    return found;
  }
  std::vector<std::string> find_account_owners(Ids accounts) override {
    auto found = org_.find_account_owners(org_ids(kAccountIds, accounts));
    for (std::string& one : found) shorten(one);
    return found;
  }
  std::vector<std::vector<CrmUser>> find_users_by_email(Ids keys) override {
    auto found = org_.find_users_by_email(keys);
    for (std::vector<CrmUser>& some : found)
      for (CrmUser& one : some) shorten(one.id);
    return found;
  }
  std::vector<std::optional<CrmUser>> find_users_by_id(Ids ids) override {
    auto found = org_.find_users_by_id(org_ids(kUserIds, ids));
    for (std::optional<CrmUser>& one : found)
      if (one) shorten(one->id);
    return found;
  }
  std::optional<std::vector<std::vector<PermissionSetAssignment>>> permission_sets(Ids users) override {
    return org_.permission_sets(org_ids(kUserIds, users));
  }

 private:
  Directory& org_;
};

class ShortGiftRecords : public GiftRecords {
 public:
  explicit ShortGiftRecords(GiftRecords& org) : org_(org) {}

  std::vector<RowResult> upsert(std::span<const GiftUpsert> given) override {
    std::vector<GiftUpsert> rows(given.begin(), given.end());
    for (GiftUpsert& row : rows) {
      row.record = to_org(std::move(row.record));
      if (row.task) row.task = to_org(*std::move(row.task));
    }
    return org_.upsert(rows);
  }
  std::vector<RowResult> relink(std::span<const GiftRelink> given) override {
    std::vector<GiftRelink> rows(given.begin(), given.end());
    for (GiftRelink& row : rows) {
      row.from = to_org(row.from);
      row.to = to_org(row.to);
    }
    return org_.relink(rows);
  }
  std::vector<std::vector<GiftField>> missing_lookups(std::span<const Associations> given) override {
    std::vector<Associations> links;
    for (const Associations& one : given) links.push_back(to_org(one));
    return org_.missing_lookups(links);
  }
  std::vector<GiftRecord> find(std::span<const TransactionId> ids) override {
    return from_org(org_.find(ids));
  }
  std::vector<GiftRecord> page(TransactionId after, std::size_t limit) override {
    return from_org(org_.page(after, limit));
  }
  std::vector<GiftRecord> page_in_status(Status status, TransactionId after, std::size_t limit) override {
    return from_org(org_.page_in_status(status, after, limit));
  }
  std::vector<TransactionId> transaction_ids_between(TransactionId from, TransactionId below,
                                                     std::size_t limit) override {
    return org_.transaction_ids_between(from, below, limit);
  }
  std::vector<TransactionId> transaction_ids_below(TransactionId below, std::size_t limit) override {
    return org_.transaction_ids_below(below, limit);
  }
  std::vector<TransactionId> transaction_ids_by_email(const std::string& address) override {
    return org_.transaction_ids_by_email(address);
  }
  std::vector<TransactionId> transaction_ids_by_contact(const std::string& contact) override {
    return org_.transaction_ids_by_contact(to_org_id(kContactIds, contact));
  }
  std::int64_t count() override { return org_.count(); }
  bool has_field(GiftField field) const override { return org_.has_field(field); }
  FieldValue as_kept(GiftField field, FieldValue value) const override {
    return org_.as_kept(field, std::move(value));
  }
  std::vector<GiftStatusTimes> find_status_times(std::span<const TransactionId> ids) override {
    return org_.find_status_times(ids);
  }
  std::vector<TransactionId> fill_status_times(std::span<const GiftStatusTimes> times) override {
    return org_.fill_status_times(times);
  }

 private:
  GiftRecords& org_;
};

class ShortTasks : public Tasks {
 public:
  explicit ShortTasks(Tasks& org) : org_(org) {}

  std::vector<RowResult> upsert(std::span<const TaskUpsert> given) override {
    std::vector<TaskUpsert> rows(given.begin(), given.end());
    for (TaskUpsert& row : rows) row = to_org(std::move(row));
    return org_.upsert(rows);
  }
  std::vector<Task> page(TransactionId after, std::size_t limit) override {
    std::vector<Task> tasks = org_.page(after, limit);
    for (Task& task : tasks) {
      shorten(task.who_id);
      shorten(task.owner_id);
    }
    return tasks;
  }

 private:
  Tasks& org_;
};

/// Ids within texts, too.
class ShortRowReader : public RowReader {
 public:
  explicit ShortRowReader(RowReader& org) : org_(org) {}

  std::vector<std::string> objects() override { return org_.objects(); }
  std::vector<CrmRow> page(const std::string& object, const std::string& after, std::size_t limit) override {
    std::vector<CrmRow> rows = org_.page(object, to_org_id(prefix_of(object), after), limit);
    for (CrmRow& row : rows) from_org(row);
    return rows;
  }
  std::optional<CrmRow> find(const std::string& object, const std::string& id) override {
    std::optional<CrmRow> row = org_.find(object, to_org_id(prefix_of(object), id));
    if (row) from_org(*row);
    return row;
  }

 private:
  static std::string_view prefix_of(const std::string& object) {
    if (object == "account") return kAccountIds;
    if (object == "lead") return kLeadIds;
    return object == "gift_record" ? kGiftIds : kContactIds;
  }
  static void from_org(CrmRow& row) {
    shorten(row.id);
    for (auto& [name, text] : row.fields)
      if (text) shorten(*text);
  }

  RowReader& org_;
};

class ShortIdCrm : public Crm {
 public:
  explicit ShortIdCrm(std::unique_ptr<Crm> org)
      : org_(std::move(org)),
        directory_(org_->directory()),
        gift_records_(org_->gift_records()),
        tasks_(org_->tasks()),
        rows_(*org_->rows()) {}

  CrmPace pace() const override { return org_->pace(); }
  Directory& directory() override { return directory_; }
  GiftRecords& gift_records() override { return gift_records_; }
  Tasks& tasks() override { return tasks_; }
  RowReader* rows() override { return &rows_; }
  LegacyStatusLog* legacy_status_log() override { return org_->legacy_status_log(); }

 private:
  std::unique_ptr<Crm> org_;
  ShortDirectory directory_;
  ShortGiftRecords gift_records_;
  ShortTasks tasks_;
  ShortRowReader rows_;
};

}  // namespace

std::unique_ptr<Crm> with_short_ids(std::unique_ptr<Crm> crm) {
  return std::make_unique<ShortIdCrm>(std::move(crm));
}

}  // namespace giftsync::tests
