// daemon: what the rooms of a daemon are built with, from the settings. Main thread, at the start.
#pragma once

#include <memory>
#include <string>

#include "daemon/http/gift_api.h"
#include "daemon/http/gift_links.h"
#include "daemon/http/http_front.h"
#include "daemon/mail/delivery_step.h"
#include "daemon/mail/transport.h"
#include "daemon/pages/page_face.h"
#include "daemon/settings/settings.h"
#include "sync/sync_step.h"

namespace giftsync::daemon {

std::unique_ptr<MailTransport> make_transport(const EmailSettings& email);

GiftApiOptions api_options(const LimitSettings& limits);

/// Of a door that listens at `listen`.
FrontOptions front_options(const Settings& settings, const std::string& listen);

/// A logo that cannot be read any more is told in the log and left out.
PageFace face_of(const PageSettings& pages);

/// Both refer to `links` for as long as they live, the mails' also to `settings`. The owner of the leases is
/// not in them yet. `installation`: tells this store's mails from others'.
DeliveryRules delivery_rules(const Settings& settings, const std::string& installation,
                             const GiftLinks& links);
sync::SyncRules sync_rules_with(const Settings& settings, const GiftLinks& links);

}  // namespace giftsync::daemon
