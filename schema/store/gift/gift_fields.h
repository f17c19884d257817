// schema/store: the fields of gift requests and of their recipient transactions, in the order in which their
// rows are read.
#pragma once

#include "schema/record_fields.h"
#include "schema/store/gift/gift_requests.h"

namespace giftsync::store {

// One field a line.
// clang-format off
inline constexpr auto kGiftRequestFields = record_fields(
    "gift_request",
    field<&GiftRequest::id>("id"),
    field<&GiftRequest::account>("account_id"),
    field<&GiftRequest::mode>("mode"),
    field<&GiftRequest::gift>("gift_id"),
    field<&GiftRequest::item_name>("item_name"),
    field<&GiftRequest::item_description>("item_description"),
    field<&GiftRequest::costs, &GiftCosts::item>("item_cost"),
    field<&GiftRequest::costs, &GiftCosts::shipping>("shipping_cost"),
    field<&GiftRequest::costs, &GiftCosts::carbon_neutral>("carbon_neutral_cost"),
    field<&GiftRequest::costs, &GiftCosts::transaction_fee>("transaction_fee"),
    field<&GiftRequest::sender_email>("sender_email"),
    field<&GiftRequest::sender_name>("sender_name"),
    field<&GiftRequest::utm_campaign_id>("utm_campaign_id"),
    field<&GiftRequest::triggered_by>("triggered_by"),
    field<&GiftRequest::created_at>("created_at"),
    field<&GiftRequest::terms>("terms"),
    field<&GiftRequest::credential_prefix>("credential_prefix"),
    field<&GiftRequest::http_request_id>("http_request_id"),
    field<&GiftRequest::organization>("organization_id"),
    field<&GiftRequest::sending_day>("sending_day"),
    field<&GiftRequest::is_test>("is_test"),
    field<&GiftRequest::reference>("reference", "Request reference").masked().listed_as("request_reference"));

inline constexpr auto kRecipientTransactionFields = record_fields(
    "recipient_transaction",
    field<&RecipientTransaction::id>("id"),
    field<&RecipientTransaction::email>("email").masked(),
    field<&RecipientTransaction::first_name>("first_name").masked(),
    field<&RecipientTransaction::last_name>("last_name").masked(),
    field<&RecipientTransaction::message>("message").masked(),
    field<&RecipientTransaction::generation>("generation"),
    field<&RecipientTransaction::status>("status"),
    field<&RecipientTransaction::version>("version"),
    field<&RecipientTransaction::times, Status::sent>("sent_at"),
    field<&RecipientTransaction::times, Status::delivered>("delivered_at"),
    field<&RecipientTransaction::times, Status::undelivered>("undelivered_at"),
    field<&RecipientTransaction::times, Status::opened>("opened_at"),
    field<&RecipientTransaction::times, Status::redeemed>("redeemed_at"),
    field<&RecipientTransaction::times, Status::donated>("donated_at"),
    field<&RecipientTransaction::times, Status::expired>("expired_at"),
    field<&RecipientTransaction::times, Status::refunded>("refunded_at"),
    field<&RecipientTransaction::has_conflict>("has_conflict"),
    field<&RecipientTransaction::phone>("phone").masked(),
    field<&RecipientTransaction::gift_source>("gift_source"),
    field<&RecipientTransaction::untimed_status>("untimed_status"),
    field<&RecipientTransaction::due_at>("due_at"),
    field<&RecipientTransaction::resent_at>("resent_at"),
    field<&RecipientTransaction::last_reminder_day>("last_reminder_day"),
    field<&RecipientTransaction::external_id>("external_id"),
    field<&RecipientTransaction::is_test>("is_test"),
    field<&RecipientTransaction::reference>("reference", "Reference").masked(),
    field<&RecipientTransaction::extended_until>("extended_until", "Extended until"));

inline constexpr auto kRequestRecordGiftFields = record_fields(
    "request_record_gift",
    field<&RequestRecordGift::link, &RequestRecordLink::record_id>("record_id"),
    field<&RequestRecordGift::gift_request>("gift_request_id"),
    field<&RequestRecordGift::link, &RequestRecordLink::contact_id>("contact_id"),
    field<&RequestRecordGift::link, &RequestRecordLink::lead_id>("lead_id"),
    field<&RequestRecordGift::link, &RequestRecordLink::account_id>("account_id"),
    field<&RequestRecordGift::link, &RequestRecordLink::opportunity_id>("opportunity_id"),
    field<&RequestRecordGift::link, &RequestRecordLink::sender_id>("sender_id"));
// clang-format on

/// Calls visit(field, value) for each field of the gift that every output lists.
template <class Visit>
void each_listed(const Gift& gift, Visit&& visit) {
  kGiftRequestFields.each_listed(gift.request, visit);
  kRecipientTransactionFields.each_listed(gift.transaction, visit);
}

}  // namespace giftsync::store
