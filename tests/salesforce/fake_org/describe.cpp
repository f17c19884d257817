#include "tests/salesforce/fake_org/describe.h"

#include "platform/text.h"

namespace giftsync::tests::fake_org {
namespace {

const char* type_of(Kind kind) {
  switch (kind) {
    case Kind::id:
      return "id";
    case Kind::reference:
      return "reference";
    case Kind::text:
      return "string";
    case Kind::long_text:
      return "textarea";
    case Kind::email:
      return "email";
    case Kind::phone:
      return "phone";
    case Kind::url:
      return "url";
    case Kind::picklist:
      return "picklist";
    case Kind::currency:
      return "currency";
    case Kind::number:
      return "double";
    case Kind::checkbox:
      return "boolean";
    case Kind::date:
      return "date";
    case Kind::date_time:
      return "datetime";
  }
  return "";
}

const char* soap_type_of(Kind kind) {
  switch (kind) {
    case Kind::id:
    case Kind::reference:
      return "tns:ID";
    case Kind::currency:
    case Kind::number:
      return "xsd:double";
    case Kind::checkbox:
      return "xsd:boolean";
    case Kind::date:
      return "xsd:date";
    case Kind::date_time:
      return "xsd:dateTime";
    default:
      return "xsd:string";
  }
}

Json words_of(const Field& field) {
  Json words = Json::array();
  for (const PicklistWord& word : field.words)
    words.push_back({{"active", true},
                     {"defaultValue", word.is_default},
                     {"label", word.label},
                     {"validFor", nullptr},
                     {"value", word.value}});
  return words;
}

Json default_of(const Field& field) {
  return field.kind == Kind::checkbox ? Json(false) : Json();
}

Json targets_of(const Org& org, const Field& field) {
  Json targets = Json::array();
  for (const std::string& target : field.targets) {
    if (target != "*") {
      targets.push_back(target);
      continue;
    }
    for (const Object& object : org.schema().objects) {
      if (object.is_custom || object.name == "Account" || object.name == "Opportunity")
        targets.push_back(object.name);
    }
  }
  return targets;
}

/// What follows from the kind of the field.
void add_constants(Json& made, const Field& field, bool is_short_text) {
  for (const char* name : {"aiPredictionField", "cascadeDelete", "dependentPicklist", "deprecatedAndHidden",
                           "displayLocationInDecimal", "encrypted", "formulaTreatNullNumberAsZero",
                           "highScaleNumber", "queryByDistance", "restrictedDelete", "searchPrefilterable",
                           "writeRequiresMasterRead", "htmlFormatted"})
    made[name] = false;
  for (const char* name :
       {"controllerName", "defaultValueFormula", "extraTypeInfo", "filteredLookupInfo", "inlineHelpText",
        "mask", "maskType", "referenceTargetField", "relationshipOrder", "compoundFieldName"})
    made[name] = nullptr;
  made["aggregatable"] = field.kind != Kind::checkbox && is_short_text;
  made["filterable"] = is_short_text;
  made["groupable"] = is_short_text && field.kind != Kind::date_time && field.kind != Kind::currency;
  made["sortable"] = is_short_text;
  made["digits"] = 0;
}

/// Whether an upsert may find records by the field.
bool is_id_lookup(const Object& object, const Field& field) {
  if (field.name == "Name") return object.is_custom || object.name == "Opportunity";
  return field.is_external_id || field.kind == Kind::id || (field.kind == Kind::email && !field.is_custom) ||
         (field.is_custom && field.is_unique);
}

Json field_json(const Org& org, const Object& object, const Field& field, const FieldAccess& access) {
  const bool is_system = !field.is_createable && field.formula.empty();
  const bool is_id = field.kind == Kind::id || field.kind == Kind::reference;
  const int length = is_id                                                       ? 18
                     : field.kind == Kind::date_time || field.kind == Kind::date ? 0
                                                                                 : field.length;
  Json made{{"name", field.name}, {"label", field.label}, {"type", type_of(field.kind)}};
  add_constants(made, field, field.kind != Kind::long_text || field.length <= 255);
  made["autoNumber"] = field.is_auto_number;
  made["byteLength"] = is_id ? 18 : length * 3;
  made["calculated"] = !field.formula.empty();
  made["calculatedFormula"] = field.formula.empty() ? Json() : Json(field.formula);
  made["caseSensitive"] = field.is_case_sensitive;
  made["createable"] = field.is_createable && access.is_editable;
  made["updateable"] = field.is_updateable && access.is_editable;
  made["custom"] = field.is_custom;
  made["defaultValue"] = default_of(field);
  made["defaultedOnCreate"] = is_system || field.kind == Kind::checkbox || field.name == "OwnerId";
  made["externalId"] = field.is_external_id;
  made["idLookup"] = is_id_lookup(object, field);
  made["length"] = length;
  made["nameField"] = field.name == "Name";
  made["namePointing"] = field.targets.size() > 1 || (!field.targets.empty() && field.targets[0] == "*");
  made["nillable"] =
      !field.is_required && !is_system && field.kind != Kind::checkbox && field.name != "OwnerId";
  made["permissionable"] = field.is_custom && !field.is_required;
  made["picklistValues"] = words_of(field);
  made["polymorphicForeignKey"] = made["namePointing"];
  made["precision"] = field.precision;
  made["referenceTo"] = targets_of(org, field);
  made["relationshipName"] = field.relationship.empty() ? Json() : Json(field.relationship);
  made["restrictedPicklist"] = field.is_restricted;
  made["scale"] = field.scale;
  made["soapType"] = soap_type_of(field.kind);
  made["unique"] = field.is_unique;
  return made;
}

Json urls_of(const Object& object, const std::string& version) {
  const std::string url = "/services/data/" + version + "/sobjects/" + object.name;
  return {{"sobject", url}, {"describe", url + "/describe"}, {"rowTemplate", url + "/{ID}"}};
}

/// What the global description and the object's own have in common.
Json object_json(Org& org, const std::string& user, const Object& object, const std::string& version) {
  const ObjectAccess access = org.access(user, object);
  Json made{{"name", object.name},
            {"label", object.label},
            {"labelPlural", object.plural_label},
            {"keyPrefix", object.key_prefix},
            {"custom", object.is_custom},
            {"createable", access.can_create},
            {"updateable", access.can_edit},
            {"deletable", access.can_delete}};
  for (const char* name : {"queryable", "retrieveable", "replicateable", "searchable", "layoutable",
                           "triggerable", "undeletable"})
    made[name] = true;
  for (const char* name : {"activateable", "customSetting", "deepCloneable", "deprecatedAndHidden",
                           "feedEnabled", "hasSubtypes", "isInterface", "isSubtype", "mruEnabled"})
    made[name] = false;
  for (const char* name : {"associateEntityType", "associateParentEntity", "extendedBy", "extendsInterfaces",
                           "implementedBy", "implementsInterfaces"})
    made[name] = nullptr;
  made["mergeable"] = object.name == "Account" || object.name == "Contact" || object.name == "Lead";
  made["urls"] = urls_of(object, version);
  return made;
}

}  // namespace

Json describe_object(Org& org, const std::string& user, const Object& object, const std::string& version) {
  Json made = object_json(org, user, object, version);
  for (const char* name :
       {"actionOverrides", "childRelationships", "namedLayoutInfos", "recordTypeInfos", "supportedScopes"})
    made[name] = Json::array();
  for (const char* name : {"defaultImplementation", "listviewable", "lookupLayoutable",
                           "networkScopeFieldName", "sobjectDescribeOption"})
    made[name] = nullptr;
  if (const auto bytes = parse_number<std::size_t>(org.setting("describe_bytes")))
    made["recordTypeInfos"].push_back({{"name", std::string(*bytes, 'x')}});
  made["compactLayoutable"] = made["searchLayoutable"] = true;
  made["fields"] = Json::array();
  for (const Field& field : object.fields) {
    const FieldAccess access = org.access(user, object, field);
    if (access.is_readable) made["fields"].push_back(field_json(org, object, field, access));
  }
  return made;
}

Json describe_org(Org& org, const std::string& user, const std::string& version) {
  Json made{{"encoding", "UTF-8"}, {"maxBatchSize", 200}, {"sobjects", Json::array()}};
  for (const Object& object : org.schema().objects) {
    if (org.access(user, object).can_read)
      made["sobjects"].push_back(object_json(org, user, object, version));
  }
  return made;
}

Json basic_information(Org& org, const std::string& user, const Object& object, const std::string& version) {
  return {{"objectDescribe", object_json(org, user, object, version)}, {"recentItems", Json::array()}};
}

}  // namespace giftsync::tests::fake_org
