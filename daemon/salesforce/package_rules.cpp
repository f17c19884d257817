#include "daemon/salesforce/package_rules.h"

#include "daemon/salesforce/package_fields.h"

namespace giftsync::daemon::salesforce {

std::vector<PackageRule> package_rules() {
  const std::string approved(to_word(schema::RequestRecordStatus::approved));
  return {
      {std::string(kGiftObject), "Only_Newer", "An older version of a gift never overwrites a newer one.",
       "AND(NOT(ISNEW()), ISCHANGED(Record_Version__c), "
       "Record_Version__c < BLANKVALUE(PRIORVALUE(Record_Version__c), 0))",
       std::string(kOlderVersionMark) + " the record has a newer version."},
      {std::string(kGiftObject), "Same_Gift",
       "giftsync writes a record of its gift only, and the Transaction Id of a record that giftsync wrote "
       "stays.",
       "AND(NOT(ISNEW()), ISCHANGED(RecipientTransactionId__c), "
       "OR(ISCHANGED(Record_Version__c), PRIORVALUE(Record_Version__c) > 0))",
       std::string(kOtherGiftMark) + " the Transaction Id of this record cannot be changed."},
      {std::string(kGiftObject), "One_Recipient", "A gift has one recipient: a contact or a lead.",
       "AND(NOT(ISBLANK(RecipientContactId__c)), NOT(ISBLANK(RecipientLeadId__c)), OR(ISNEW(), "
       "ISCHANGED(RecipientContactId__c), ISCHANGED(RecipientLeadId__c)))",
       "A gift record names a contact or a lead, not both: clear one of the two."},
      {std::string(kRequestObject), "As_Read",
       "giftsync writes only while the record is as giftsync read it, and claims only approved ones.",
       "AND(ISCHANGED(Guard_Mark__c), OR(Guard_Modified__c <> PRIORVALUE(LastModifiedDate), "
       "AND(ISCHANGED(Claimed__c), Claimed__c, NOT(ISPICKVAL(PRIORVALUE(Request_Status__c), \"" +
           approved + "\")))))",
       std::string(kChangedSinceReadMark) + " the record was changed since it was read."},
      {std::string(kRequestObject), "Being_Sent", "The status of a gift that is being sent is giftsync's.",
       "AND(PRIORVALUE(Claimed__c), NOT(ISCHANGED(Guard_Mark__c)), ISCHANGED(Request_Status__c))",
       "giftsync is sending this gift; it cannot be changed any more."},
  };
}

}  // namespace giftsync::daemon::salesforce
