#include "daemon/pages/stop_page.h"

#include <algorithm>
#include <kainjow/mustache.hpp>
#include <span>
#include <utility>
#include <vector>

#include "daemon/pages/gift_page.h"
#include "platform/url_parameters.h"
#include "schema/contact_normalization.h"
#include "sync/access/sending_policy.h"

namespace giftsync::pages {
namespace {

using kainjow::mustache::data;

// The values of the field `choice`.
constexpr const char* kStopChoice = "stop";
constexpr const char* kAllowChoice = "allow";

std::string domain_of(const std::string& email) {
  return email.substr(email.rfind('@') + 1);
}

store::AuditEvent event_of(const char* action, const store::RecipientTransaction& gift, UtcMillis now) {
  return {.occurred_at = now,
          .actor_kind = store::ActorKind::system,
          .actor = sync::kRecipientActor,
          .action = action,
          .object_kind = "do-not-send",
          .object_id = sync::audited_pattern(email_key(gift.email)),
          .detail = "by gift " + std::to_string(gift.id.value)};
}

/// By one read: a repeat is no transaction.
template <class IsMeant>
bool has_wish(store::DoNotSend& list, const std::string& pattern, const IsMeant& is_meant) {
  const std::vector<store::DoNotSendEntry> entries = list.entries_of(pattern);
  return std::any_of(entries.begin(), entries.end(), [&](const store::DoNotSendEntry& entry) {
    return entry.pattern == pattern && entry.reason == DoNotSendReason::opted_out && is_meant(entry);
  });
}

}  // namespace

bool may_allow_again(const store::Gift& gift) {
  return gift.request.mode == SendMode::email;
}

StopState stop_state(store::DoNotSend& list, const store::Gift& gift, UtcMillis now) {
  bool is_stopped = false;
  bool is_own = may_allow_again(gift);
  for (const store::DoNotSendEntry& entry : list.entries_of(email_key(gift.transaction.email))) {
    if (entry.reason == DoNotSendReason::bounced || (entry.expires_at && *entry.expires_at <= now)) continue;
    is_stopped |= !entry.expires_at;
    is_own &= entry.reason == DoNotSendReason::opted_out;
  }
  if (!is_stopped) return StopState::allowed;
  return is_own ? StopState::opted_out : StopState::blocked;
}

http::HttpResponse stop_page(StopState state, const std::string& email, const content::Messages& messages,
                             const content::Branding& branding) {
  const bool is_allowed = state == StopState::allowed;
  const std::string headline = messages.text(is_allowed ? "stop" : "stopped");
  const std::string text =
      messages.html(is_allowed ? "stop_text" : "stopped_text", {{"domain", domain_of(email)}});
  data page;
  page.set("title", headline);
  page.set("headline", content::html_escaped(headline));
  if (state == StopState::blocked) {
    page["notice"] = data("notice_text", text + " " + messages.html("stopped_ask"));
    return page_response(200, page, messages, branding);
  }
  data form;
  form.set("prompt", messages.text(is_allowed ? "stop_question" : "allow_question"));
  form.set("hint", text);
  form.set("choice", is_allowed ? kStopChoice : kAllowChoice);
  form.set("button", messages.text(is_allowed ? "stop" : "allow"));
  page["form"] = std::move(form);
  return page_response(200, page, messages, branding, {true, false, {}});
}

StopRequest stop_request(std::string_view body) {
  const std::size_t field = body.find("List-Unsubscribe");
  if (field != std::string_view::npos && body.find("One-Click", field) != std::string_view::npos)
    return StopRequest::one_click;
  const auto fields = first_url_parameters(body);
  const auto choice = fields.find("choice");
  if (choice == fields.end()) return StopRequest::none;
  if (choice->second == kStopChoice) return StopRequest::opt_out;
  return choice->second == kAllowChoice ? StopRequest::allow : StopRequest::none;
}

bool opt_out(store::DoNotSend& list, const store::RecipientTransaction& gift, UtcMillis now) {
  store::DoNotSendEntry entry;
  entry.pattern = email_key(gift.email);
  entry.reason = DoNotSendReason::opted_out;
  entry.transaction = gift.id;
  entry.added_by = sync::kRecipientActor;
  const auto is_same = [](const store::DoNotSendEntry& stored) { return !stored.expires_at; };
  if (has_wish(list, entry.pattern, is_same)) return false;
  store::AuditEvent event = event_of("do-not-send.opt-out", gift, now);
  event.detail += ", entries";  // the store adds their number
  return list.add(std::span(&entry, 1), event) > 0;
}

bool allow_again(store::DoNotSend& list, const store::RecipientTransaction& gift, UtcMillis now) {
  const std::string pattern = email_key(gift.email);
  return has_wish(list, pattern, [](const store::DoNotSendEntry&) { return true; }) &&
         list.remove(pattern, DoNotSendReason::opted_out, event_of("do-not-send.allow-again", gift, now));
}

}  // namespace giftsync::pages
