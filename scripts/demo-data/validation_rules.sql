-- Two rules with which an admin of the CRM keeps gift records out; giftsync's own tables can have them like those of any CRM.
CREATE TRIGGER ride_is_approved BEFORE INSERT ON crm_gift_record WHEN new.giftid = 103 BEGIN
  SELECT raise(ABORT, 'FIELD_CUSTOM_VALIDATION_EXCEPTION: a ride needs the approval of its manager'); END;
CREATE TRIGGER message_is_short BEFORE INSERT ON crm_gift_record WHEN length(new.message) > 120 BEGIN
  SELECT raise(ABORT, 'STRING_TOO_LONG: Message: at most 120 characters'); END;
