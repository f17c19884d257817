// daemon: by what the CRM's request records are judged and sent, from the settings (Spec 2.6, 5.6).
#pragma once

#include "daemon/settings/settings.h"
#include "schema/crm.h"
#include "schema/store/store.h"
#include "sync/request_step.h"

namespace giftsync::daemon {

/// They refer to all of the arguments for as long as they live.
sync::RequestRules request_rules(const Settings& settings, schema::Store& store, schema::Crm& crm);

/// The page of an item (catalogue.item_url); empty when there is none.
std::string item_page(const CatalogueSettings& catalogue, schema::GiftId gift);

}  // namespace giftsync::daemon
