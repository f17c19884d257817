// daemon/salesforce: the custom fields of giftsync's own objects in Salesforce, made from the field tables of
// the schema. Names have no namespace: Salesforce adds one where the project is built as a managed package.
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/salesforce/metadata_xml.h"
#include "schema/gift_record.h"
#include "schema/request_record.h"

namespace giftsync::daemon::salesforce {

inline constexpr std::string_view kGiftObject = "Gift_Record__c";
inline constexpr std::string_view kRequestObject = "Request_Record__c";
inline constexpr std::string_view kTaskKeyField = "RecipientTransactionId__c";

struct PackageField {
  std::string name;  ///< "Item_Cost__c"
  std::string label;
  std::vector<MetadataElement> elements;  ///< of the CustomField, without fullName and label
  bool is_editable = true;                ///< false for formulas
  bool is_guard = false;                  ///< only giftsync writes it, and nothing else shows it
};

/// Standard fields by their own names: "Name", "OwnerId".
std::string packaged_name(schema::GiftField field);
/// `word` is the package's name within some names: "giftsync_Error_Log__c".
std::string packaged_name(schema::RequestRecordField field, std::string_view word);

/// In the order of the field tables, standard fields left out; then the guard fields.
std::vector<PackageField> gift_package_fields();
std::vector<PackageField> request_package_fields(std::string_view word);
/// The field of Activity that makes one task per gift.
PackageField task_key_field();

}  // namespace giftsync::daemon::salesforce
