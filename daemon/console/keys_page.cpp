// API keys: find them, pause, release and revoke (CON-66). The keys of accounts that the viewer sees.
#include <algorithm>
#include <span>

#include "daemon/console/access.h"
#include "daemon/console/gift_filter.h"
#include "daemon/console/pages.h"
#include "platform/text.h"
#include "sync/access/credential.h"
#include "sync/access/credential_changes.h"

namespace giftsync::console {
namespace {

using store::Credential;
using sync::CredentialChange;

constexpr std::string_view kPath = "/keys";
/// A card has three forms: so the page stays below 60 kB.
constexpr std::size_t kKeysOfPage = 15;
/// More are found by the filter.
constexpr std::size_t kMaxPages = 1000;

/// More of a key or token than lists show, whether it is whole or mistyped: a secret, which no page and no
/// URL keeps.
bool has_secret(const std::string& text) {
  return sync::public_prefix(text) != text &&
         (text.starts_with("gsk_live_") || text.starts_with("got_live_") || is_test_key(text));
}

struct Asked {
  std::string find = {};
  std::size_t page = 1;
  std::vector<NotApplied> not_applied = {};
};

Asked asked_of(const PageCall& call) {
  Asked asked;
  asked.not_applied = unknown_filters(call.query, {"find", "page"});
  asked.find = trimmed(field(call.query, "find"));
  if (const std::string page = field(call.query, "page"); !page.empty()) {
    const auto number = parse_number<std::size_t>(page);
    if (number && *number >= 1 && *number <= kMaxPages)
      asked.page = *number;
    else
      asked.not_applied.push_back({"page", page});
  }
  return asked;
}

bool is_usable(const PageCall& call, const Credential& key) {
  return sync::is_usable(sync::state_of(key, call.now));
}

/// Those that work first, the newest first.
std::vector<Credential> keys_of(const PageCall& call, const std::string& find) {
  std::vector<Credential> keys = call.store().credentials.list(call.viewer(), CredentialKind::api_key);
  if (!find.empty())
    std::erase_if(keys, [&](const Credential& key) {
      return key.prefix.find(find) == std::string::npos && key.name.find(find) == std::string::npos &&
             key.owner.find(find) == std::string::npos;
    });
  std::ranges::reverse(keys);
  std::ranges::stable_partition(keys, [&](const Credential& key) { return is_usable(call, key); });
  return keys;
}

std::optional<Credential> find_key(const PageCall& call) {
  const auto number = parse_number<std::int64_t>(call.parameter);
  if (!number) return std::nullopt;
  for (Credential& key : call.store().credentials.list(call.viewer(), CredentialKind::api_key))
    if (key.id.value == *number) return std::move(key);
  return std::nullopt;
}

void add_forms(Data& card, const PageCall& call, const Credential& key) {
  if (!is_usable(call, key)) return;
  const std::string path = std::string(kPath) + "/" + std::to_string(key.id.value);
  if (key.paused_at)
    card.set("release", release_form(call, path + "/release", *key.paused_at));
  else
    card.set("pause", form_data(call, path + "/pause"));
  card.set("revoke", form_data(call, path + "/revoke"));
}

Data card_data(const PageCall& call, const Credential& key, bool may_change) {
  Data card;
  card.set("prefix", key.prefix);
  set_text(card, "name", key.name);
  Data lines(Data::type::list);
  add_line(lines, "key_account", key.owner);
  add_time(lines, "key_paused_at", key.paused_at);
  if (key.paused_at) add_line(lines, "reason", shown_text(call.viewer(), key.pause_reason));
  add_line(lines, "key_scopes", to_words(key.scopes));
  add_time(lines, "created_at", key.created_at);
  if (key.last_used_at)
    add_time(lines, "key_last_used", key.last_used_at);
  else
    add_line(lines, "key_last_used", texts().text("key_never"));
  add_time(lines, "key_ends", key.revoked_at ? key.revoked_at : key.expires_at);
  card.set("state", badge_data("key_is_" + std::string(to_word(sync::state_of(key, call.now)))));
  card.set("facts", lines);
  card.set("gifts", call.url().base + "/gifts?" + query_of({{"key", key.prefix}}));
  if (may(call.viewer().roles, Permission::cancel_many) && sees_installation(call.viewer()))
    card.set("cancel", call.url().base + "/cancel-gifts?" +
                           query_of({{"key", key.prefix}, {"since", to_rfc3339(call.now).substr(0, 10)}}));
  if (may_change) add_forms(card, call, key);
  return card;
}

/// As the event of the command, with who did it in the console.
store::AuditEvent event_for(const PageCall& call, const std::string& action, const Credential& key,
                            const std::string& detail) {
  store::AuditEvent event = event_of(call, "key." + action, "key", key.prefix);
  event.detail = detail;
  const auto account = call.store().accounts.find_by_email(key.owner);
  event.organization = account ? account->organization : std::nullopt;
  return event;
}

http::HttpResponse redirect_after(const PageCall& call, CredentialChange change, const std::string& notice) {
  return redirect_with_notice(call, std::string(kPath),
                              change == CredentialChange::done ? notice : "key_unchanged");
}

}  // namespace

http::HttpResponse keys_page(const PageCall& call) {
  const Asked asked = asked_of(call);
  const std::string url = call.url().base + std::string(kPath);
  if (has_secret(asked.find))
    return redirect(url + "?" + query_of({{"find", sync::public_prefix(asked.find)}}));
  Data data;
  set_not_applied(data, asked.not_applied, url);
  std::vector<Credential> keys;
  if (asked.not_applied.empty()) keys = keys_of(call, asked.find);
  const std::size_t begin = std::min((asked.page - 1) * kKeysOfPage, keys.size());
  const std::size_t end = std::min(begin + kKeysOfPage, keys.size());
  const auto page_url = [&](const std::string& page) {
    const std::string query = query_of({{"find", asked.find}, {"page", page}});
    return query.empty() ? url : url + "?" + query;
  };
  if (asked.page > 1) data.set("first", page_url(""));
  if (end < keys.size() && asked.page < kMaxPages) data.set("next", page_url(std::to_string(asked.page + 1)));
  const bool may_change = may(call.viewer().roles, Permission::manage_keys);
  const bool needs_proof = may_change && !keys.empty() && !has_new_proof(call);
  set_list(data, "rows", list_of(std::span(keys).subspan(begin, end - begin), [&](const Credential& key) {
             return card_data(call, key, may_change && !needs_proof);
           }));
  data.set("find", asked.find);
  if (needs_proof) data.set("proof", new_proof_data(call, std::string(kPath), {{"find", asked.find}}));
  http::HttpResponse response = page(call, "keys", texts().text("keys"), std::move(data));
  if (!needs_proof) return response;
  return with_return_to(call.url(), std::move(response), asked.find.empty() ? url : page_url(""));
}

http::HttpResponse pause_key(const PageCall& call) {
  const auto key = find_key(call);
  if (!key) return not_found(call);
  const std::string reason(trimmed(field(call.form, "reason")));
  if (!sync::is_plain_reason(reason)) return redirect_with_notice(call, std::string(kPath), "key_bad_reason");
  return redirect_after(call,
                        sync::pause_credential(call.store().credentials, *key, reason, call.now,
                                               event_for(call, "pause", *key, reason)),
                        "key_paused");
}

http::HttpResponse release_key(const PageCall& call) {
  const auto key = find_key(call);
  if (!key) return not_found(call);
  if (!is_pause_of_form(call, key->paused_at)) return redirect_after(call, CredentialChange::already, "");
  return redirect_after(
      call, sync::release_credential(call.store(), *key, call.now, event_for(call, "release", *key, "")),
      "key_released");
}

http::HttpResponse revoke_key(const PageCall& call) {
  const auto key = find_key(call);
  if (!key) return not_found(call);
  if (field(call.form, "confirm") != "1")
    return redirect_with_notice(call, std::string(kPath), "not_confirmed");
  return redirect_after(call,
                        sync::revoke_credential(call.store().credentials, *key, call.now,
                                                event_for(call, "revoke", *key, "of " + key->owner)),
                        "key_revoked");
}

}  // namespace giftsync::console
