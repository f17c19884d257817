// schema/store: the model's enumerations as stored words, for SOCI. Included by this folder's .cpp files
// only.
#pragma once

#include "schema/enums.h"
#include "schema/sql/queries.h"

namespace giftsync::store {

using StatusWord = sql::WordConversion<Status, status_from_word, Status::sent>;
using SendModeWord = sql::WordConversion<SendMode, send_mode_from_word, SendMode::email>;
using PremiseWord = sql::WordConversion<Premise, premise_from_word, Premise::none>;
using PlanWord = sql::WordConversion<Plan, plan_from_word, Plan::individual>;
using DeliveryStateWord = sql::WordConversion<DeliveryState, delivery_state_from_word, DeliveryState::queued>;
using MailKindWord = sql::WordConversion<MailKind, mail_kind_from_word, MailKind::gift>;
using DoNotSendReasonWord =
    sql::WordConversion<DoNotSendReason, do_not_send_reason_from_word, DoNotSendReason::blocked>;
using HeldStateWord = sql::WordConversion<HeldState, held_state_from_word, HeldState::held>;
using AdminNoticeKindWord =
    sql::WordConversion<AdminNoticeKind, admin_notice_kind_from_word, AdminNoticeKind::budget>;

}  // namespace giftsync::store

namespace soci {

template <>
struct type_conversion<giftsync::Status> : giftsync::store::StatusWord {};
template <>
struct type_conversion<giftsync::SendMode> : giftsync::store::SendModeWord {};
template <>
struct type_conversion<giftsync::Premise> : giftsync::store::PremiseWord {};
template <>
struct type_conversion<giftsync::Plan> : giftsync::store::PlanWord {};
template <>
struct type_conversion<giftsync::DeliveryState> : giftsync::store::DeliveryStateWord {};
template <>
struct type_conversion<giftsync::MailKind> : giftsync::store::MailKindWord {};
template <>
struct type_conversion<giftsync::DoNotSendReason> : giftsync::store::DoNotSendReasonWord {};
template <>
struct type_conversion<giftsync::HeldState> : giftsync::store::HeldStateWord {};
template <>
struct type_conversion<giftsync::AdminNoticeKind> : giftsync::store::AdminNoticeKindWord {};

template <>
struct type_conversion<std::set<giftsync::Scope>> {
  using base_type = std::string;
  static void from_base(const std::string& in, indicator, std::set<giftsync::Scope>& out) {
    out = giftsync::scopes_from_words(in);
  }
  static void to_base(const std::set<giftsync::Scope>& in, std::string& out, indicator& ind) {
    out = giftsync::to_words(in);
    ind = i_ok;
  }
};

}  // namespace soci
