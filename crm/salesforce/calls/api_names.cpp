#include "crm/salesforce/calls/api_names.h"

#include <utility>

#include "platform/text.h"

namespace giftsync::salesforce {
namespace {

/// "opportunity_contact_role" is OpportunityContactRole.
std::string standard_object(std::string_view object) {
  std::string name;
  bool starts_word = true;
  for (const char c : object) {
    if (c == '_') {
      starts_word = true;
      continue;
    }
    name += starts_word && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    starts_word = false;
  }
  return name;
}

std::map<std::string, std::string> with_lower_keys(const std::map<std::string, std::string>& names) {
  std::map<std::string, std::string> lowered;
  for (const auto& [key, name] : names) lowered[ascii_lower(key)] = name;
  return lowered;
}

static_assert(kGiftFieldCount <= 64);
std::uint64_t bit_of(GiftField field) {
  return std::uint64_t{1} << static_cast<unsigned>(field);
}

struct OwnName {
  OwnField field;
  std::string_view object;
  std::string_view name;
};
constexpr auto kOwnNames =
    std::to_array<OwnName>({{OwnField::record_version, "gift_record", "Record_Version"},
                            {OwnField::claimed, "request_record", "Claimed"},
                            {OwnField::guard_modified, "request_record", "Guard_Modified"},
                            {OwnField::guard_mark, "request_record", "Guard_Mark"},
                            {OwnField::creation_key, "request_record", "Creation_Key"},
                            {OwnField::task_transaction, "task", "RecipientTransactionId"}});
static_assert(kOwnNames.size() == kOwnFieldCount);

constexpr std::array<std::pair<GiftField, std::string_view>, 8> kLookups{{
    {GiftField::recipient_contact, "contact"},
    {GiftField::account, "account"},
    {GiftField::recipient_lead, "lead"},
    {GiftField::opportunity, "opportunity"},
    {GiftField::sender, "user"},
    {GiftField::actual_sender, "user"},
    {GiftField::created_by, "user"},
    {GiftField::owner, "user"},
}};

bool equal_names(std::string_view one, std::string_view other) {
  return ascii_lower(one) == ascii_lower(other);
}

/// Names with a namespace and names without one are both met in errors.
std::string_view without_name_space(std::string_view name, std::string_view name_space) {
  const std::string start = ascii_lower(name_space) + "__";
  if (name_space.empty() || !ascii_lower(name).starts_with(start)) return name;
  return name.substr(start.size());
}

}  // namespace

std::string_view target_object(GiftField lookup) {
  const auto* const found = std::find_if(kLookups.begin(), kLookups.end(),
                                         [&](const auto& entry) { return entry.first == lookup; });
  return found == kLookups.end() ? std::string_view() : found->second;
}

std::vector<GiftField> written_lookups() {
  std::vector<GiftField> lookups;
  for (const auto& [field, object] : kLookups) lookups.push_back(field);
  return lookups;
}

ApiNames::ApiNames(OrgNames names) : names_(std::move(names)) {
  names_.objects = with_lower_keys(names_.objects);
  // As they are spelled, too, for field_name(): capital letters come first.
  names_.columns.merge(with_lower_keys(names_.columns));
  for (std::size_t i = 0; i < kGiftFieldCount; ++i) {
    const FieldDescriptor& field = kGiftFields[i];
    gift_fields_[i] = mapped("gift_record", field.name, default_name(field));
  }
  for (std::size_t i = 0; i < kRequestRecordFieldCount; ++i) {
    const auto field = static_cast<RequestRecordField>(i);
    request_fields_[i] = mapped("request_record", descriptor_of(field).name, request_record_name(field));
  }
  name_own_fields();
}

void ApiNames::name_own_fields() {
  for (const OwnName& own : kOwnNames)
    own_fields_[static_cast<std::size_t>(own.field)] =
        mapped(own.object, own.name, packaged(std::string(own.name) + "__c"));
}

std::string ApiNames::packaged(std::string_view name) const {
  return names_.name_space.empty() ? std::string(name) : names_.name_space + "__" + std::string(name);
}

std::string ApiNames::default_name(const FieldDescriptor& field) const {
  return field.standard ? std::string(field.name) : packaged(std::string(field.name) + "__c");
}

std::string ApiNames::mapped(std::string_view object, std::string_view field, std::string name) const {
  const std::string key = ascii_lower(std::string(object) + "." + std::string(field));
  const auto given = names_.columns.find(key);
  if (given == names_.columns.end()) return name;
  return given->second == "-" ? std::string() : given->second;
}

std::string ApiNames::request_record_name(RequestRecordField field) const {
  const std::string& word = names_.package_word;
  switch (field) {
    case RequestRecordField::send_type:
      return "Send_Type__c";  // without a namespace in every org
    case RequestRecordField::error_log:
      return packaged(word + "_Error_Log__c");
    case RequestRecordField::item_link:
      return packaged("Item_in_" + word + "__c");
    case RequestRecordField::include_shipping:
      return packaged("Include_" + word + "_Shipping__c");
    default:
      return default_name(descriptor_of(field));
  }
}

std::string ApiNames::object(std::string_view object) const {
  const auto given = names_.objects.find(ascii_lower(object));
  if (given != names_.objects.end()) return given->second == "-" ? std::string() : given->second;
  if (object == "gift_record") return packaged("Gift_Record__c");
  if (object == "request_record") return packaged("Request_Record__c");
  return standard_object(object);
}

std::string ApiNames::field(std::string_view object, std::string_view field) const {
  return mapped(object, field, std::string(field));
}

const std::string& ApiNames::field(GiftField field) const {
  static const std::string kNone;
  const bool is_hidden = (hidden_->load(std::memory_order_relaxed) & bit_of(field)) != 0;
  return is_hidden ? kNone : gift_fields_[static_cast<std::size_t>(field)];
}

const std::string& ApiNames::field(RequestRecordField field) const {
  static const std::string kNone;
  const bool is_hidden =
      field == RequestRecordField::utm_campaign_id && hides_campaign_->load(std::memory_order_relaxed);
  return is_hidden ? kNone : request_fields_[static_cast<std::size_t>(field)];
}

const std::string& ApiNames::field(OwnField field) const {
  return own_fields_[static_cast<std::size_t>(field)];
}

std::string ApiNames::field_name(std::string_view object, std::string_view api_name) const {
  for (const auto& [key, name] : names_.columns) {
    const std::size_t dot = key.find('.');
    if (dot != std::string::npos && equal_names(key.substr(0, dot), object) && equal_names(name, api_name))
      return key.substr(dot + 1);
  }
  for (const OwnName& own : kOwnNames) {
    if (own.object == object && equal_names(field(own.field), api_name)) return std::string(own.name);
  }
  if (object == "gift_record") {
    for (const GiftField gift_field : gift_fields()) {
      if (equal_names(field(gift_field), api_name)) return std::string(descriptor_of(gift_field).name);
    }
  }
  if (object == "request_record") {
    for (const RequestRecordField request_record_field : request_record_fields()) {
      if (equal_names(field(request_record_field), api_name))
        return std::string(descriptor_of(request_record_field).name);
    }
  }
  return std::string(api_name);
}

void ApiNames::skip_field(GiftField field) {
  gift_fields_[static_cast<std::size_t>(field)].clear();
}

void ApiNames::skip_field(RequestRecordField field) {
  request_fields_[static_cast<std::size_t>(field)].clear();
}

void ApiNames::skip_field(OwnField field) {
  own_fields_[static_cast<std::size_t>(field)].clear();
}

void ApiNames::hide(std::span<const GiftField> fields) const {
  std::uint64_t hidden = 0;
  for (const GiftField field : fields) hidden |= bit_of(field);
  hidden_->store(hidden, std::memory_order_relaxed);
}

void ApiNames::hide_campaign(bool is_hidden) const {
  hides_campaign_->store(is_hidden, std::memory_order_relaxed);
}

ApiNames ApiNames::complete() const {
  ApiNames names = *this;
  names.hidden_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  names.hides_campaign_ = std::make_shared<std::atomic<bool>>(false);
  return names;
}

std::vector<GiftField> ApiNames::gift_fields() const {
  std::vector<GiftField> fields;
  for (std::size_t i = 0; i < kGiftFieldCount; ++i) {
    if (!field(static_cast<GiftField>(i)).empty()) fields.push_back(static_cast<GiftField>(i));
  }
  return fields;
}

std::vector<RequestRecordField> ApiNames::request_record_fields() const {
  std::vector<RequestRecordField> fields;
  for (std::size_t i = 0; i < kRequestRecordFieldCount; ++i) {
    if (!field(static_cast<RequestRecordField>(i)).empty())
      fields.push_back(static_cast<RequestRecordField>(i));
  }
  return fields;
}

std::optional<GiftField> ApiNames::gift_field(std::string_view api_name) const {
  const std::string wanted = ascii_lower(without_name_space(api_name, names_.name_space));
  for (const GiftField field : gift_fields()) {
    const std::string_view name = without_name_space(this->field(field), names_.name_space);
    if (ascii_lower(name) == wanted) return field;
  }
  return std::nullopt;
}

}  // namespace giftsync::salesforce
