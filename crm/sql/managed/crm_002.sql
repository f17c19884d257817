-- The campaign of a request record (REQ-58), which belongs to what an approval binds to (REQ-16). crm_001.sql has the rest.
ALTER TABLE crm_request_record ADD COLUMN utm_campaign_id TEXT;;

--@sqlite
DROP TRIGGER IF EXISTS crm_request_approval_reset;;
-- The approval binds to this content: an edit before giftsync has processed the approval invalidates it.
CREATE TRIGGER crm_request_approval_reset AFTER UPDATE ON crm_request_record
  WHEN old.request_status = 'Approved' AND new.request_status = 'Approved' AND NOT old.claimed AND NOT new.claimed AND (
   new.credit_card_id IS NOT old.credit_card_id OR new.gift_category_id IS NOT old.gift_category_id OR
    new.gift_id IS NOT old.gift_id OR new.gift_item_description IS NOT old.gift_item_description OR
    new.include_shipping IS NOT old.include_shipping OR
    new.include_carbon_neutral_cost IS NOT old.include_carbon_neutral_cost OR
    new.payment_method IS NOT old.payment_method OR new.root_gift_id IS NOT old.root_gift_id OR
    new.send_type IS NOT old.send_type OR new.third_party_gift_id IS NOT old.third_party_gift_id OR
    new.third_party_vendor IS NOT old.third_party_vendor OR new.use_user_balance IS NOT old.use_user_balance OR
    new.recipient_contact IS NOT old.recipient_contact OR new.recipient_lead IS NOT old.recipient_lead OR
    new.recipient_email IS NOT old.recipient_email OR new.recipient_first_name IS NOT old.recipient_first_name OR
    new.recipient_last_name IS NOT old.recipient_last_name OR new.message IS NOT old.message OR
    new.sender IS NOT old.sender OR new.utm_campaign_id IS NOT old.utm_campaign_id) BEGIN
  UPDATE crm_request_record SET request_status = 'Pending' WHERE id = new.id;
END;;
--@postgresql
CREATE OR REPLACE FUNCTION crm_request_before_write() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  number TEXT;
BEGIN
  IF TG_OP = 'INSERT' THEN
    number := cast(nextval('crm_request_number') AS text);
    NEW.name := 'R-' || lpad(number, greatest(6, length(number)), '0');
    NEW.request_status := coalesce(nullif(trim(NEW.request_status), ''), 'Pending');
    NEW.createddate := coalesce(NEW.createddate, date_trunc('milliseconds', now()));
    NEW.lastmodifieddate := coalesce(NEW.lastmodifieddate, date_trunc('milliseconds', now()));
    NEW.lastmodifiedbyid := coalesce(NEW.lastmodifiedbyid, NEW.createdbyid, NEW.ownerid);
    RETURN NEW;
  END IF;
  IF NEW.lastmodifieddate IS NOT DISTINCT FROM OLD.lastmodifieddate THEN
    NEW.lastmodifieddate := date_trunc('milliseconds', now());
  END IF;
  -- The approval binds to this content: an edit before giftsync has processed the approval invalidates it.
  IF OLD.request_status = 'Approved' AND NEW.request_status = 'Approved' AND NOT OLD.claimed AND NOT NEW.claimed AND
    (NEW.credit_card_id, NEW.gift_category_id, NEW.gift_id, NEW.gift_item_description, NEW.include_shipping,
    NEW.include_carbon_neutral_cost, NEW.payment_method, NEW.root_gift_id, NEW.send_type, NEW.third_party_gift_id,
    NEW.third_party_vendor, NEW.use_user_balance, NEW.recipient_contact, NEW.recipient_lead, NEW.recipient_email,
    NEW.recipient_first_name, NEW.recipient_last_name, NEW.message, NEW.sender, NEW.utm_campaign_id)
    IS DISTINCT FROM
    (OLD.credit_card_id, OLD.gift_category_id, OLD.gift_id, OLD.gift_item_description, OLD.include_shipping,
    OLD.include_carbon_neutral_cost, OLD.payment_method, OLD.root_gift_id, OLD.send_type, OLD.third_party_gift_id,
    OLD.third_party_vendor, OLD.use_user_balance, OLD.recipient_contact, OLD.recipient_lead, OLD.recipient_email,
    OLD.recipient_first_name, OLD.recipient_last_name, OLD.message, OLD.sender, OLD.utm_campaign_id)
  THEN
    NEW.request_status := 'Pending';
  END IF;
  RETURN NEW;
END $$;;
--@end
