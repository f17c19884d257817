#include "crm/salesforce/salesforce_crm.h"

#include <algorithm>
#include <array>
#include <utility>

#include "crm/salesforce/calls/org_queries.h"
#include "crm/salesforce/calls/record_json.h"
#include "crm/salesforce/org/org_description.h"
#include "crm/salesforce/records/directory.h"
#include "crm/salesforce/records/gift_records.h"
#include "crm/salesforce/records/request_records.h"
#include "crm/salesforce/records/statements.h"
#include "crm/salesforce/records/tasks.h"
#include "platform/dependency_error.h"
#include "platform/text.h"

namespace giftsync::salesforce {
namespace {

ApiNames names_of(const SalesforceCrmOptions& options) {
  ApiNames names = options.names;
  // Nothing in the org compares it.
  if (options.bare) names.skip_field(OwnField::record_version);
  return names;
}

class SalesforceCrm : public crm::Crm {
 public:
  SalesforceCrm(ApiClient& client, SalesforceCrmOptions options)
      : connection_(std::move(options.connection)),
        org_names_(options.names),
        names_(names_of(options)),
        calls_(client, std::move(options.api_version), options.governor, options.clock,
               std::move(options.governor_storage)),
        control_(make_control(options)),
        directory_(calls_, names_, std::move(options.match_fields)),
        gift_records_(calls_, names_, options.has_tasks, control_),
        tasks_(calls_, names_, options.has_tasks, control_),
        rows_(calls_, names_),
        status_log_(calls_, std::move(options.status_log)) {
    if (options.request_records)
      request_records_.emplace(calls_, names_, std::move(*options.request_records), std::move(options.clock));
  }

  /// One writer: two would wait for each other's locks on accounts.
  crm::CrmPace pace() const override { return {calls_.rows_per_call(), kPageRows, kLongestCallMillis, 1}; }
  std::optional<crm::CrmUsage> usage() const override { return calls_.usage(); }
  void require_spare_calls() override { calls_.require_spare_calls(); }
  crm::Directory& directory() override { return directory_; }
  crm::GiftRecords& gift_records() override { return gift_records_; }
  crm::Tasks& tasks() override { return tasks_; }
  crm::RequestRecords* request_records() override { return request_records_ ? &*request_records_ : nullptr; }
  crm::RowReader* rows() override { return &rows_; }
  crm::LegacyStatusLog* legacy_status_log() override { return status_log_.exists() ? &status_log_ : nullptr; }

 private:
  WriteControl make_control(SalesforceCrmOptions& options) {
    WriteControl control;
    if (options.mode_facts)
      control.modes = &modes_.emplace(calls_, org_names_, options.bare ? OrgMode::bare : OrgMode::guarded,
                                      std::move(*options.mode_facts), options.clock);
    if (options.bare) {
      control.bare = &bare_.emplace(std::move(*options.bare), options.clock);
      calls_.set_write_gate(control.bare);
    }
    return control;
  }

  const std::shared_ptr<void> connection_;
  const ApiNames org_names_;  // with giftsync's own fields
  const ApiNames names_;
  OrgCalls calls_;
  std::optional<ModeWatch> modes_;
  std::optional<BareWrites> bare_;
  const WriteControl control_;
  SalesforceDirectory directory_;
  SalesforceGiftRecords gift_records_;
  SalesforceTasks tasks_;
  SalesforceRowReader rows_;
  SalesforceStatusLog status_log_;
  std::optional<SalesforceRequestRecords> request_records_;
};

}  // namespace

std::unique_ptr<crm::Crm> make_salesforce_crm(ApiClient& client, SalesforceCrmOptions options) {
  return std::make_unique<SalesforceCrm>(client, std::move(options));
}

namespace {
using crm::CrmRow;

constexpr auto kCompoundTypes =
    std::to_array<std::string_view>({"address", "location", "complexvalue", "base64", "anyType"});
constexpr auto kNumberTypes =
    std::to_array<std::string_view>({"double", "int", "long", "currency", "percent"});

bool is_one_of(std::span<const std::string_view> types, std::string_view type) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

/// The least Id that begins like `text`: Salesforce compares Ids with whole Ids only.
std::string least_id(const std::string& text) {
  std::string id;
  for (const char c : short_id(text)) {
    if (!is_ascii_letter_or_digit(c)) break;
    id += c;
  }
  return id + std::string(kShortIdLength - id.size(), '0');
}

std::optional<std::string> text_of(const JsonValue* value, const std::string& type) {
  if (!value || value->is_null()) return std::nullopt;
  if (type == "datetime") {
    const auto time = read_time(value->text().value_or(""));
    if (time) return to_rfc3339(*time);
  }
  if (is_one_of(kNumberTypes, type)) {
    const auto digits = number_text(*value);
    auto plain = digits ? plain_number(*digits) : std::nullopt;
    if (plain) return plain;
  }
  return text_of_value(value);
}

}  // namespace

const std::map<std::string, SalesforceRowReader::ReadableObject>& SalesforceRowReader::known_objects() {
  if (objects_) return *objects_;
  std::map<std::string, ReadableObject> found;
  const AnswerBody body = calls_.get("/sobjects", "", CallPurpose::backfill);
  const JsonValue* list = body.json()->find("sobjects");
  if (!list) throw giftsync::DependencyError(true, "Salesforce did not answer with its objects", true);
  for (const std::string& object : crm::kReadableObjects) {
    const std::string wanted = ascii_lower(names_.object(object));
    for (const JsonValue& element : list->elements()) {
      const std::string name = text_at(element, "name");
      if (!wanted.empty() && ascii_lower(name) == wanted)
        found[object] = {name, text_at(element, "keyPrefix")};
    }
  }
  return objects_.emplace(std::move(found));
}

SalesforceRowReader::ReadableObject* SalesforceRowReader::find_object(const std::string& object) {
  known_objects();
  const auto found = objects_->find(object);
  return found == objects_->end() ? nullptr : &found->second;
}

std::vector<std::string> SalesforceRowReader::objects() {
  const std::lock_guard lock(mutex_);
  const std::map<std::string, ReadableObject>& known = known_objects();
  std::vector<std::string> objects;
  for (const std::string& object : crm::kReadableObjects) {
    if (known.contains(object)) objects.push_back(object);
  }
  return objects;
}

const std::vector<SalesforceRowReader::Column>& SalesforceRowReader::columns_of(const std::string& object,
                                                                                ReadableObject& readable) {
  if (!readable.columns.empty()) return readable.columns;
  const auto fields = describe_fields(calls_, readable.api_name, CallPurpose::backfill);
  if (!fields) return readable.columns;
  for (const FieldFacts& field : *fields) {
    if (!is_one_of(kCompoundTypes, field.type) && is_identifier(field.name))
      readable.columns.push_back({field.name, field.type, names_.field_name(object, field.name)});
  }
  // A set is known by its name; its Id says nothing.
  if (object == "permission_set_assignment")
    readable.columns.push_back({"PermissionSet.Name", "string", "PermissionSetName"});
  return readable.columns;
}

std::vector<CrmRow> SalesforceRowReader::rows_of(const std::string& object, ReadableObject& readable,
                                                 Select select) {
  const std::vector<Column>& columns = columns_of(object, readable);
  if (columns.empty()) return {};
  select.from = readable.api_name;
  select.order = "Id ASC";
  for (const Column& column : columns) select.fields.push_back(column.path);
  // Tasks older than a year are archived, and only this query finds them.
  const bool is_all = object == "task";
  if (is_all) select.conditions.emplace_back("IsDeleted = false");
  std::vector<CrmRow> rows;
  each_row(calls_, query_of(to_soql(select), is_all), CallPurpose::backfill, [&](const JsonValue& json) {
    CrmRow& row = rows.emplace_back(CrmRow{text_at(json, "Id"), {}});
    for (const Column& column : columns)
      row.fields.emplace_back(column.name, text_of(value_at(json, column.path), column.type));
  });
  return rows;
}

std::vector<CrmRow> SalesforceRowReader::page(const std::string& object, const std::string& after,
                                              std::size_t limit) {
  const std::lock_guard lock(mutex_);
  ReadableObject* readable = find_object(object);
  if (!readable || limit == 0) return {};
  Select select;
  const std::string start = is_record_id(after) ? after : least_id(after);
  if (!after.empty()) select.conditions = {"Id > " + id_literal(start).value_or("''")};
  select.limit = limit;
  return rows_of(object, *readable, std::move(select));
}

std::optional<CrmRow> SalesforceRowReader::find(const std::string& object, const std::string& id) {
  const std::lock_guard lock(mutex_);
  const std::optional<std::string> literal = id_literal(id);
  if (!literal) return std::nullopt;
  ReadableObject* readable = find_object(object);
  if (!readable || !id.starts_with(readable->key_prefix)) return std::nullopt;
  Select select;
  select.conditions = {"Id = " + *literal};
  std::vector<CrmRow> rows = rows_of(object, *readable, std::move(select));
  if (rows.empty()) return std::nullopt;
  return std::move(rows.front());
}

}  // namespace giftsync::salesforce
