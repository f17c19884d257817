#include "daemon/salesforce/package_permissions.h"

#include <utility>

namespace giftsync::daemon::salesforce {
namespace {

using Elements = std::vector<MetadataElement>;

struct ObjectAccess {
  bool create = false;
  bool edit = false;
  bool remove = false;
  bool view_all = false;
};

MetadataElement object_permission(std::string_view object, const ObjectAccess& access) {
  return {"objectPermissions",
          {},
          {metadata_flag("allowCreate", access.create), metadata_flag("allowDelete", access.remove),
           metadata_flag("allowEdit", access.edit), metadata_flag("allowRead", true),
           metadata_flag("modifyAllRecords", false), metadata_leaf("object", object),
           metadata_flag("viewAllRecords", access.view_all)}};
}

MetadataElement field_permission(std::string_view object, const PackageField& field, bool is_editable) {
  return {"fieldPermissions",
          {},
          {metadata_flag("editable", is_editable && field.is_editable),
           metadata_leaf("field", std::string(object) + "." + field.name), metadata_flag("readable", true)}};
}

/// Of a field of Salesforce's own objects.
MetadataElement standard_field_permission(std::string_view field, bool is_editable) {
  return {"fieldPermissions",
          {},
          {metadata_flag("editable", is_editable), metadata_leaf("field", field),
           metadata_flag("readable", true)}};
}

MetadataElement user_permission(std::string_view name) {
  return {"userPermissions", {}, {metadata_flag("enabled", true), metadata_leaf("name", name)}};
}

/// A deployed application is visible to no one otherwise.
MetadataElement application(std::string_view name) {
  return {
      "applicationVisibilities", {}, {metadata_leaf("application", name), metadata_flag("visible", true)}};
}

MetadataElement tab(std::string_view object) {
  return {"tabSettings", {}, {metadata_leaf("tab", object), metadata_leaf("visibility", "Visible")}};
}

/// What a set allows of the fields that people see, and of the guard fields.
struct FieldAccess {
  bool edits_gifts = false;
  bool edits_requests = false;
  bool edits_guards = false;
};

void add_fields(Elements& elements, const FieldAccess& access, std::string_view word) {
  for (const PackageField& field : gift_package_fields())
    elements.push_back(
        field_permission(kGiftObject, field, field.is_guard ? access.edits_guards : access.edits_gifts));
  for (const PackageField& field : request_package_fields(word))
    elements.push_back(field_permission(kRequestObject, field,
                                        field.is_guard ? access.edits_guards : access.edits_requests));
  elements.push_back(field_permission("Task", task_key_field(), access.edits_guards));
}

PermissionSetSource set_of(std::string_view name, std::string_view label, std::string_view description,
                           Elements elements) {
  elements.push_back(metadata_leaf("description", description));
  elements.push_back(metadata_leaf("label", label));
  elements.push_back(metadata_flag("hasActivationRequired", false));
  return {std::string(name), metadata_document("PermissionSet", std::move(elements))};
}

PermissionSetSource standard_user(std::string_view word) {
  Elements elements{object_permission(kGiftObject, {}),
                    object_permission(kRequestObject, {.create = true, .edit = true}), application(word),
                    tab(kGiftObject), tab(kRequestObject)};
  add_fields(elements, {.edits_requests = true}, word);
  return set_of("Standard_User", std::string(word) + " Standard User",
                "Sends gifts, sees gift records, and makes request records.", std::move(elements));
}

PermissionSetSource admin(std::string_view word) {
  const ObjectAccess all{.create = true, .edit = true, .remove = true, .view_all = true};
  Elements elements{object_permission(kGiftObject, all), object_permission(kRequestObject, all),
                    application(word), tab(kGiftObject), tab(kRequestObject)};
  add_fields(elements, {.edits_gifts = true, .edits_requests = true}, word);
  return set_of("Admin", std::string(word) + " Admin",
                "Sends gifts, corrects gift records, and approves request records.", std::move(elements));
}

PermissionSetSource integration(std::string_view word) {
  const ObjectAccess all{.create = true, .edit = true, .view_all = true};
  Elements elements{object_permission(kGiftObject, all), object_permission(kRequestObject, all),
                    // Without Access Activities a user does not see the object Task.
                    user_permission("ActivitiesAccess"), user_permission("ApiEnabled"),
                    user_permission("EditTask"), user_permission("ViewSetup")};
  for (const std::string_view object : {"Account", "Contact", "Lead", "Opportunity"})
    elements.push_back(object_permission(object, {.view_all = true}));
  // A user of a minimal profile does not see them; required fields are visible to everyone.
  for (const std::string_view field :
       {"Contact.AccountId", "Contact.Email", "Contact.MobilePhone", "Contact.Phone", "Lead.Email",
        "Lead.MobilePhone", "Lead.Phone", "Opportunity.AccountId"})
    elements.push_back(standard_field_permission(field, false));
  for (const std::string_view field : {"Task.Type", "Task.WhatId", "Task.WhoId"})
    elements.push_back(standard_field_permission(field, true));
  add_fields(elements, {.edits_gifts = true, .edits_requests = true, .edits_guards = true}, word);
  return set_of(std::string(word) + "_Integration", std::string(word) + " Integration",
                "For the user with whom the daemon signs in. Without View All a match could be missed.",
                std::move(elements));
}

}  // namespace

std::vector<PermissionSetSource> package_permission_sets(std::string_view word) {
  return {standard_user(word), admin(word), integration(word)};
}

}  // namespace giftsync::daemon::salesforce
