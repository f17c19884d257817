// wiring: the rules for validating and sending the CRM's request records, from the settings (REQ-36).
#pragma once

#include "daemon/config/settings.h"
#include "schema/crm/crm.h"
#include "schema/store/store.h"
#include "sync/request_record_step.h"

namespace giftsync::wiring {

/// The result keeps references to all arguments.
sync::RequestRecordRules request_record_rules(const daemon::config::Settings& settings,
                                              schema::store::Store& store, schema::crm::Crm& crm);

/// The page of an item (catalogue.item_url); empty when there is none.
std::string item_page_url(const daemon::config::CatalogueSettings& catalogue, schema::GiftId gift);

}  // namespace giftsync::wiring
