// crm/salesforce: the API names of objects and fields in one org: from the package's namespace (none where
// its sources were deployed), the package's word inside some names, and the settings that name objects and
// fields otherwise. An empty name: the org does not have it. Names are compared without case. Pure; any
// thread once it is built.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/gift_record.h"
#include "schema/request_record.h"

namespace giftsync::salesforce {

struct OrgNames {
  std::string name_space = {};            ///< "giftsync" for giftsync__Message__c; empty for Message__c
  std::string package_word = "giftsync";  ///< inside of names, as in giftsync_Error_Log__c
  std::map<std::string, std::string> objects =
      {};  ///< "gift_record" to API name; "-": the org does not have it
  std::map<std::string, std::string> columns =
      {};  ///< "contact.Email" to API name; "-": the org does not have it
};

/// The package's permission set for the integration user.
inline constexpr std::string_view kIntegrationPermissionSet = "giftsync_Integration";

/// Fields that only giftsync uses.
enum class OwnField {
  record_version,  ///< of the gift record
  claimed,         ///< of the request record, like the following
  guard_modified,  ///< LastModifiedDate as it was read
  guard_mark,      ///< identifies the last write
  creation_key,
  task_transaction  ///< of the task
};
inline constexpr std::size_t kOwnFieldCount = static_cast<std::size_t>(OwnField::task_transaction) + 1;

/// The object of a gift record's lookup: "contact", "user"; empty for other fields.
std::string_view target_object(GiftField lookup);
/// All lookups that giftsync writes.
std::vector<GiftField> written_lookups();

class ApiNames {
 public:
  explicit ApiNames(OrgNames names);

  const std::string& name_space() const { return names_.name_space; }

  /// `object` as in the settings: "gift_record", "opportunity_contact_role".
  std::string object(std::string_view object) const;
  /// A field of Salesforce's own objects: field("contact", "Email").
  std::string field(std::string_view object, std::string_view field) const;
  const std::string& field(GiftField field) const;
  const std::string& field(RequestRecordField field) const;
  const std::string& field(OwnField field) const;

  /// What settings and listings call the field of this API name: without prefix and suffix. The API name
  /// itself where giftsync has no name for it.
  std::string field_name(std::string_view object, std::string_view api_name) const;

  /// The org does not have this field, or giftsync does not see it.
  void skip_field(GiftField field);
  void skip_field(RequestRecordField field);
  void skip_field(OwnField field);

  /// Until the next call these fields have no name here and in every copy: the org does not show them at the
  /// moment.
  void hide(std::span<const GiftField> fields) const;
  /// The same of a request record's campaign, which older packages of giftsync do not have.
  void hide_campaign(bool is_hidden) const;
  /// A copy that hides nothing, and which others do not change.
  ApiNames complete() const;

  /// Those that the org has, in the order of the field tables.
  std::vector<GiftField> gift_fields() const;
  std::vector<RequestRecordField> request_record_fields() const;

  /// The gift field with this API name, as errors name it; the namespace may be missing.
  std::optional<GiftField> gift_field(std::string_view api_name) const;

 private:
  std::string mapped(std::string_view object, std::string_view field, std::string name) const;
  std::string packaged(std::string_view name) const;
  std::string default_name(const FieldDescriptor& field) const;
  std::string request_record_name(RequestRecordField field) const;
  void name_own_fields();

  OrgNames names_;
  std::array<std::string, kGiftFieldCount> gift_fields_;
  std::shared_ptr<std::atomic<std::uint64_t>> hidden_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  std::array<std::string, kRequestRecordFieldCount> request_fields_;
  std::shared_ptr<std::atomic<bool>> hides_campaign_ = std::make_shared<std::atomic<bool>>(false);
  std::array<std::string, kOwnFieldCount> own_fields_;
};

}  // namespace giftsync::salesforce
