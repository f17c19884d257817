#include "daemon/salesforce/package_sources.h"

#include <algorithm>
#include <utility>

#include "daemon/salesforce/metadata_xml.h"
#include "daemon/salesforce/package_fields.h"
#include "daemon/salesforce/package_permissions.h"
#include "daemon/salesforce/package_rules.h"

namespace giftsync::daemon::salesforce {
namespace {

using Elements = std::vector<MetadataElement>;
using Files = std::vector<SourceFile>;

/// What differs between the two objects beside their fields.
struct ObjectSource {
  std::string_view name;
  std::string_view label;
  std::string_view plural;
  std::string_view tab_icon;
  MetadataElement name_field;
  bool is_numbered;                     ///< Name is an auto number
  std::vector<std::string> highlights;  ///< API names, for the list view and the compact layout
  std::vector<PackageField> fields;
};

ObjectSource gift_object() {
  using F = schema::GiftField;
  return {kGiftObject,
          "Gift Record",
          "Gift Records",
          "Custom53: Bell",
          {"nameField", {}, {metadata_leaf("label", "Name"), metadata_leaf("type", "Text")}},
          false,
          {packaged_name(F::recipient_email), packaged_name(F::status), packaged_name(F::sent_at)},
          gift_package_fields()};
}

/// All numbers have eight digits, so that the order of texts is the order of numbers.
ObjectSource request_object(std::string_view word) {
  using F = schema::RequestRecordField;
  return {kRequestObject,
          "Request Record",
          "Request Records",
          "Custom18: Form",
          {"nameField",
           {},
           {metadata_leaf("displayFormat", "R-{00000000}"),
            metadata_leaf("label", descriptor_of(F::number).label), metadata_leaf("type", "AutoNumber")}},
          true,
          {packaged_name(F::status, word), packaged_name(F::recipient_email, word),
           packaged_name(F::error_log, word)},
          request_package_fields(word)};
}

std::string source_path(std::string_view rest) {
  return "force-app/main/default/" + std::string(rest);
}

std::string object_path(std::string_view object, std::string_view rest) {
  return source_path("objects/" + std::string(object) + "/" + std::string(rest));
}

SourceFile object_file(const ObjectSource& object) {
  Elements elements{object.name_field,
                    metadata_leaf("compactLayoutAssignment", "Highlights"),
                    metadata_leaf("deploymentStatus", "Deployed"),
                    metadata_flag("enableActivities", true),
                    metadata_flag("enableBulkApi", true),
                    metadata_flag("enableReports", true),
                    metadata_flag("enableSearch", true),
                    metadata_flag("enableSharing", true),
                    metadata_flag("enableStreamingApi", true),
                    metadata_leaf("label", object.label),
                    metadata_leaf("pluralLabel", object.plural),
                    metadata_leaf("sharingModel", "ReadWrite")};
  return {object_path(object.name, std::string(object.name) + ".object-meta.xml"),
          metadata_document("CustomObject", std::move(elements))};
}

SourceFile field_file(std::string_view object, const PackageField& field) {
  Elements elements = field.elements;
  elements.push_back(metadata_leaf("fullName", field.name));
  elements.push_back(metadata_leaf("label", field.label));
  return {object_path(object, "fields/" + field.name + ".field-meta.xml"),
          metadata_document("CustomField", std::move(elements))};
}

SourceFile rule_file(const PackageRule& rule) {
  return {object_path(rule.object, "validationRules/" + rule.name + ".validationRule-meta.xml"),
          metadata_document("ValidationRule",
                            {metadata_leaf("fullName", rule.name), metadata_flag("active", true),
                             metadata_leaf("description", rule.description),
                             metadata_leaf("errorConditionFormula", rule.formula),
                             metadata_leaf("errorMessage", rule.message)})};
}

SourceFile list_view_file(const ObjectSource& object) {
  Elements elements{metadata_leaf("fullName", "All"), metadata_leaf("columns", "NAME")};
  for (const std::string& field : object.highlights) elements.push_back(metadata_leaf("columns", field));
  elements.push_back(metadata_leaf("filterScope", "Everything"));
  elements.push_back(metadata_leaf("label", "All"));
  return {object_path(object.name, "listViews/All.listView-meta.xml"),
          metadata_document("ListView", std::move(elements))};
}

SourceFile compact_layout_file(const ObjectSource& object) {
  Elements elements{metadata_leaf("fullName", "Highlights"), metadata_leaf("fields", "Name"),
                    metadata_leaf("label", "Highlights")};
  for (const std::string& field : object.highlights) elements.push_back(metadata_leaf("fields", field));
  return {object_path(object.name, "compactLayouts/Highlights.compactLayout-meta.xml"),
          metadata_document("CompactLayout", std::move(elements))};
}

MetadataElement layout_item(std::string_view field, std::string_view behavior) {
  return {"layoutItems", {}, {metadata_leaf("behavior", behavior), metadata_leaf("field", field)}};
}

/// The fields that people see, in two columns.
SourceFile layout_file(const ObjectSource& object) {
  MetadataElement columns[2] = {{"layoutColumns"}, {"layoutColumns"}};
  columns[0].children.push_back(layout_item("Name", object.is_numbered ? "Readonly" : "Required"));
  columns[1].children.push_back(layout_item("OwnerId", "Edit"));
  std::size_t next = 0;
  for (const PackageField& field : object.fields) {
    if (!field.is_guard)
      columns[next++ % 2].children.push_back(
          layout_item(field.name, field.is_editable ? "Edit" : "Readonly"));
  }
  MetadataElement section{
      "layoutSections",
      {},
      {metadata_flag("customLabel", false), metadata_flag("detailHeading", false),
       metadata_flag("editHeading", true), metadata_leaf("label", "Information"), std::move(columns[0]),
       std::move(columns[1]), metadata_leaf("style", "TwoColumnsTopToBottom")}};
  return {source_path("layouts/" + std::string(object.name) + "-" + std::string(object.label) +
                      " Layout.layout-meta.xml"),
          metadata_document("Layout", {std::move(section)})};
}

SourceFile tab_file(const ObjectSource& object) {
  return {source_path("tabs/" + std::string(object.name) + ".tab-meta.xml"),
          metadata_document("CustomTab",
                            {metadata_flag("customObject", true), metadata_leaf("motif", object.tab_icon)})};
}

SourceFile application_file(std::string_view word) {
  return {source_path("applications/" + std::string(word) + ".app-meta.xml"),
          metadata_document("CustomApplication",
                            {metadata_leaf("formFactors", "Large"),
                             metadata_flag("isNavAutoTempTabsDisabled", false), metadata_leaf("label", word),
                             metadata_leaf("navType", "Standard"), metadata_leaf("tabs", kGiftObject),
                             metadata_leaf("tabs", kRequestObject), metadata_leaf("uiType", "Lightning")})};
}

void add_object(Files& files, const ObjectSource& object) {
  for (const PackageField& field : object.fields) files.push_back(field_file(object.name, field));
  for (const auto make : {object_file, list_view_file, compact_layout_file, layout_file, tab_file})
    files.push_back(make(object));
}

constexpr std::string_view kProject = R"({
  "packageDirectories": [
    { "path": "force-app", "default": true }
  ],
  "namespace": "",
  "sourceApiVersion": "62.0"
}
)";

}  // namespace

std::vector<SourceFile> package_sources(std::string_view word) {
  Files files{{"sfdx-project.json", std::string(kProject)},
              field_file("Activity", task_key_field()),
              application_file(word)};
  add_object(files, gift_object());
  add_object(files, request_object(word));
  for (const PackageRule& rule : package_rules()) files.push_back(rule_file(rule));
  for (const PermissionSetSource& set : package_permission_sets(word))
    files.push_back({source_path("permissionsets/" + set.name + ".permissionset-meta.xml"), set.text});
  std::ranges::sort(files, {}, &SourceFile::path);
  return files;
}

}  // namespace giftsync::daemon::salesforce
