// daemon: all HTTP endpoints and their router. Any thread.
#pragma once

#include <memory>

#include "daemon/console/console.h"
#include "daemon/handlers/crm_gift_request_handler.h"
#include "daemon/handlers/gift_request_handler.h"
#include "daemon/handlers/outbound_message_handler.h"
#include "daemon/handlers/request_record_handler.h"
#include "daemon/handlers/status_webhook_handler.h"
#include "daemon/http/refusal_log.h"
#include "daemon/http/router.h"
#include "daemon/identity/provider_sign_in.h"
#include "daemon/pages/gift_page_handler.h"
#include "daemon/shared_parts.h"
#include "daemon/sources/providers/sns_certificate_cache.h"
#include "daemon/workers.h"

namespace giftsync::daemon {

class Endpoints {
 public:
  /// The arguments must outlive it.
  Endpoints(SharedParts& shared, Workers& workers, sync::UrgentWriter& writer);

  http::Router& router() { return router_; }

  /// Logs what is pending and deletes what has ended. Throws platform::DependencyError.
  void maintain();
  /// Saves the last-used times of API keys. Throws platform::DependencyError.
  void save_last_used();
  /// At the end: a failure is logged.
  void close();

 private:
  http::Handlers make_handlers();

  SharedParts& shared_;
  http::Authenticator authenticator_;
  handlers::GiftRequestHandler gift_requests_;
  pages::GiftPageHandler gift_pages_;
  sources::SnsCertificateCache sns_certificates_;
  handlers::StatusWebhookHandler status_webhooks_;
  handlers::CrmGiftRequestHandler crm_gift_requests_;
  handlers::RequestRecordHandler request_records_;
  handlers::OutboundMessageHandler outbound_messages_;
  std::unique_ptr<identity::ProviderSignIn> provider_sign_in_;  ///< null: console.sign_in is off
  std::unique_ptr<console::Console> console_;                   ///< null: console.enabled is off
  http::HttpRefusalLog refusal_log_;
  http::Router router_;
};

}  // namespace giftsync::daemon
