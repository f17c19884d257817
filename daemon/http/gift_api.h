// daemon/http: the API's endpoints (Spec 4): A sends a gift by e-mail, B hands out its URLs, and a sender may
// read a gift request back. Checks go in this order: authorization, size, type, body, catalogue (design 3.4).
#pragma once

#include <functional>

#include "daemon/gift_writer.h"
#include "daemon/http/gift_links.h"
#include "daemon/http/gift_request_body.h"
#include "daemon/http/http_message.h"
#include "daemon/http/key_gate.h"
#include "daemon/http/keys_at_work.h"
#include "daemon/short_memory.h"
#include "schema/store/store.h"

namespace giftsync::daemon {

struct GiftApiOptions {
  GiftRequestLimits limits;
  std::size_t max_body_bytes = 1 << 20;
};

/// Any thread. Throws schema::BrokenWorld when the store fails; nothing is acknowledged then.
class GiftApi {
 public:
  /// `on_created` is called after each durable gift request; it wakes the loops.
  GiftApi(schema::Store& store, GiftWriter& writer, KeyGate& gate, const GiftLinks& links,
          GiftApiOptions options, Clock clock, std::function<void()> on_created);

  /// Endpoint A (mode email, Spec 4.1) and B (mode urls, Spec 4.2).
  HttpResponse create(const HttpRequest& request, schema::SendMode mode);
  /// What both endpoints do once caller and body are good: catalogue, then the durable gift request. Keys of
  /// different `idempotency` scopes must differ. `triggered_by`: the CRM user at whose hand it is sent.
  HttpResponse send(GiftRequestBody body, schema::SendMode mode, const schema::Account& sender,
                    const std::optional<std::string>& idempotency_key, const std::string& triggered_by = {});
  /// GET /api/v1/gift_requests/{id}: 404 for requests of other senders too.
  HttpResponse read(const HttpRequest& request, std::string_view id);

 private:
  HttpResponse create_for(const HttpRequest& request, schema::SendMode mode, const schema::KeyHolder& caller);
  HttpResponse create_once(schema::NewGiftRequest asked);
  HttpResponse created_answer(const schema::CreateOutcome& outcome, schema::SendMode mode) const;
  HttpResponse read_for(std::string_view id, const schema::KeyHolder& caller);

  schema::Store& store_;
  GiftWriter& writer_;
  KeyGate& gate_;
  const GiftLinks& links_;
  const GiftApiOptions options_;
  const Clock clock_;
  const std::function<void()> on_created_;
  ShortMemory<schema::GiftId, schema::GiftItem> items_;
  KeysAtWork keys_at_work_;
};

}  // namespace giftsync::daemon
