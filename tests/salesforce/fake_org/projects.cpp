#include "tests/salesforce/fake_org/projects.h"

#include <regex>

namespace giftsync::tests::fake_org {
namespace {

constexpr const char* kLog = R"(<CustomObject xmlns="http://soap.sforce.com/2006/04/metadata">
  <label>Status Log</label>
  <pluralLabel>Status Logs</pluralLabel>
  <nameField><label>Number</label><type>AutoNumber</type><displayFormat>L-{00000000}</displayFormat></nameField>
</CustomObject>)";

constexpr const char* kTransaction = R"(<CustomField xmlns="http://soap.sforce.com/2006/04/metadata">
  <fullName>RecipientTransactionId__c</fullName>
  <label>Transaction Id</label>
  <type>Number</type>
  <precision>18</precision>
  <scale>0</scale>
  <externalId>true</externalId>
</CustomField>)";

constexpr const char* kStatus = R"(<CustomField xmlns="http://soap.sforce.com/2006/04/metadata">
  <fullName>Status__c</fullName>
  <label>Status</label>
  <type>Text</type>
  <length>255</length>
</CustomField>)";

constexpr const char* kReader = R"(<PermissionSet xmlns="http://soap.sforce.com/2006/04/metadata">
  <label>Status Log Reader</label>
  <objectPermissions>
    <object>Status_Log__c</object>
    <allowRead>true</allowRead>
    <viewAllRecords>true</viewAllRecords>
  </objectPermissions>
  <fieldPermissions>
    <field>Status_Log__c.RecipientTransactionId__c</field>
    <readable>true</readable>
  </fieldPermissions>
  <fieldPermissions>
    <field>Status_Log__c.Status__c</field>
    <readable>true</readable>
  </fieldPermissions>
</PermissionSet>)";

std::string prefixed(const std::string& text, const std::string& name_space) {
  static const std::regex kName(R"(\b(?!Send_Type__c)([A-Za-z]\w*__[cr])\b)");
  return std::regex_replace(text, kName, name_space + "__$1");
}

}  // namespace

SourceFiles with_namespace(const SourceFiles& files, const std::string& name_space) {
  SourceFiles made;
  for (const auto& [path, text] : files) made[prefixed(path, name_space)] = prefixed(text, name_space);
  return made;
}

void add_status_log(Org& org, const std::string& user) {
  const std::string folder = "objects/Status_Log__c/";
  SourceFiles files = org.files();
  files[folder + "Status_Log__c.object-meta.xml"] = kLog;
  files[folder + "fields/RecipientTransactionId__c.field-meta.xml"] = kTransaction;
  files[folder + "fields/Status__c.field-meta.xml"] = kStatus;
  files["permissionsets/Status_Log_Reader.permissionset-meta.xml"] = kReader;
  org.deploy(files);
  org.database().run(
      "INSERT INTO crm_permission_set_assignment (assigneeid, permissionsetname) VALUES (?, "
      "'Status_Log_Reader')",
      {user});
}

}  // namespace giftsync::tests::fake_org
