// schema/store: the model's enumerations as stored words, for SOCI. Included by this folder's .cpp files
// only.
#pragma once

#include "schema/enums.h"
#include "schema/sql/queries.h"

namespace giftsync::schema::store {

using StatusWord = sql::WordConversion<Status, status_from_word, Status::sent>;
using PremiseWord = sql::WordConversion<Premise, premise_from_word, Premise::none>;
using PlanWord = sql::WordConversion<Plan, plan_from_word, Plan::individual>;
using DeliveryStateWord = sql::WordConversion<DeliveryState, delivery_state_from_word, DeliveryState::queued>;
using MailKindWord = sql::WordConversion<MailKind, mail_kind_from_word, MailKind::gift>;

}  // namespace giftsync::schema::store

namespace soci {

template <>
struct type_conversion<giftsync::schema::Status> : giftsync::schema::store::StatusWord {};
template <>
struct type_conversion<giftsync::schema::Premise> : giftsync::schema::store::PremiseWord {};
template <>
struct type_conversion<giftsync::schema::Plan> : giftsync::schema::store::PlanWord {};
template <>
struct type_conversion<giftsync::schema::DeliveryState> : giftsync::schema::store::DeliveryStateWord {};
template <>
struct type_conversion<giftsync::schema::MailKind> : giftsync::schema::store::MailKindWord {};

}  // namespace soci
