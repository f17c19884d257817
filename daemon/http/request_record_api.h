// daemon/http: request records over HTTP (design 3.3), at admin_url: POST /api/v1/request_records makes one
// in the CRM, POST /api/v1/request_records/{number}/approve and /reject decide on one, GET
// /api/v1/request_records/{number} tells where it stands, and whoever asked for its URLs (Send Type link)
// gets them there. Nobody approves their own request unless requests.own_approval says so.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "daemon/http/handed_links.h"
#include "daemon/http/http_message.h"
#include "daemon/http/key_gate.h"
#include "daemon/http/request_record_body.h"
#include "daemon/settings/settings.h"
#include "schema/crm.h"
#include "schema/store/store.h"
#include "sync/request_verdict.h"

namespace giftsync::daemon {

/// Any thread. Throws schema::BrokenWorld when store or CRM fail; nothing is acknowledged then.
class RequestRecordApi {
 public:
  /// `on_changed` is called after each change; it wakes the request loop.
  RequestRecordApi(schema::Store& store, schema::Crm& crm, KeyGate& gate, const GiftLinks& links,
                   const RequestSettings& settings, std::size_t max_body_bytes, Clock clock,
                   std::function<void()> on_changed);

  HttpResponse create(const HttpRequest& request);
  HttpResponse read(const HttpRequest& request, std::string_view number);
  HttpResponse decide(const HttpRequest& request, std::string_view number, sync::RequestAct act);

 private:
  HttpResponse with_key(const HttpRequest& request, schema::Scope scope, const KeyGate::Work& work);
  HttpResponse create(const HttpRequest& request, const schema::KeyHolder& caller);
  HttpResponse create_once(const RequestRecordBody& body,
                           const std::optional<schema::IdempotencyKey>& idempotency,
                           const schema::KeyHolder& caller);
  schema::RequestRecord make(const schema::NewRequest& asked);
  HttpResponse read(const std::string& number, const schema::KeyHolder& caller);
  HttpResponse decide(const HttpRequest& request, const std::string& number, sync::RequestAct act,
                      const schema::KeyHolder& caller);
  /// The URLs of the gift that was sent for a request, if they are the caller's to have.
  std::optional<HandedLinks> links_for(const schema::SentRequest& sent, const schema::KeyHolder& caller);
  /// CRM users with the address of the key's account.
  std::vector<schema::CrmUser> crm_users_of(const schema::KeyHolder& caller);
  /// Whether the caller asked for it, in whichever way the request came to be.
  bool is_own(const schema::RequestRecord& row, const schema::KeyHolder& caller);
  /// The same, by its creator and Sender as they were when it was sent.
  bool was_own(const schema::SentRequest& sent, const schema::KeyHolder& caller);

  schema::Store& store_;
  schema::Crm& crm_;
  KeyGate& gate_;
  const GiftLinks& links_;
  const RequestSettings& settings_;
  const std::size_t max_body_bytes_;
  const Clock clock_;
  const std::function<void()> on_changed_;
};

}  // namespace giftsync::daemon
