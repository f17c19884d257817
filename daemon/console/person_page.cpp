// What is kept of a recipient, its file and its erasure (CON-69). For admins of all organizations. The
// address is in no URL: each look is a post.
#include <algorithm>
#include <span>

#include "daemon/console/access.h"
#include "daemon/console/pages.h"
#include "daemon/exports/person_export.h"
#include "platform/dependency_error.h"
#include "platform/digest.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "schema/contact_normalization.h"
#include "sync/access/sending_policy.h"
#include "sync/crm/person.h"

namespace giftsync::console {
namespace {

using sync::PersonData;

constexpr std::string_view kPath = "/person";
/// The command shows all.
constexpr std::size_t kMaxShown = 100;
/// Of a text: a batch of a source may name many people (CON-54).
constexpr std::size_t kMaxTextCodePoints = 200;

http::HttpResponse redirect_to_form(const PageCall& call, const std::string& notice, std::int64_t count = 0) {
  return redirect_with_notice(call, std::string(kPath), notice, count);
}

store::AuditEvent person_event(const PageCall& call, const std::string& action, const PersonData& person) {
  store::AuditEvent event = event_of(call, action, "person", sync::audited_pattern(person.address_key));
  event.detail = person.counts_text();
  return event;
}

/// What keeps the page from looking, or the notice that says what is wrong with the form.
std::string problem_of(const PageCall& call) {
  if (call.console.options.crm.crm == nullptr) return "person_no_crm";
  const std::string address(trimmed(field(call.form, "address")));
  if (address.empty() || email_error(address)) return "person_bad_address";
  return {};
}

PersonData find_person(const PageCall& call) {
  return sync::find_person(call.store(), *call.console.options.crm.crm,
                           std::string(trimmed(field(call.form, "address"))));
}

/// Reads of whole tables may take too long for a page: then it names the command. Match keys of the CRM that
/// are being made are no outage of the store.
template <class Answer>
http::HttpResponse answer_in_time(const PageCall& call, const Answer& answer) {
  try {
    return answer();
  } catch (const ReadTooLong&) {
    return redirect_to_form(call, "person_too_slow");
  } catch (const crm::LookupNotReady&) {
    return redirect_to_form(call, "person_not_ready");
  }
}

void add_gifts(Data& groups, const PageCall& call, std::string_view key,
               const std::vector<TransactionId>& gifts) {
  if (gifts.empty()) return;
  Data group;
  group.set("title", texts().text(key, {{"count", std::to_string(gifts.size())}}));
  group.set("links",
            list_of(std::span(gifts).first(std::min(gifts.size(), kMaxShown)), [&](TransactionId id) {
              Data link;
              link.set("text", std::to_string(id.value));
              link.set("url", url_of(call, "/gifts/" + std::to_string(id.value)));
              return link;
            }));
  groups << group;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : std::span(words).first(std::min(words.size(), kMaxShown)))
    text.append(text.empty() ? "" : ", ").append(word);
  return text + (words.size() > kMaxShown ? ", …" : "");
}

Data facts_of(const PageCall& call, const PersonData& person) {
  Data lines(Data::type::list);
  add_line(lines, "person_open_requests", joined(person.open_requests));
  add_line(lines, "person_contacts", joined(person.contacts));
  add_line(lines, "person_leads", joined(person.leads));
  if (!person.records.empty()) add_line(lines, "person_records", std::to_string(person.records.size()));
  add_line(lines, "person_crm_requests", joined(person.crm_requests));
  add_line(lines, "person_open_crm_requests", joined(person.open_crm_requests));
  for (const store::DoNotSendEntry& entry : person.entries)
    add_line(lines, "do_not_send",
             sync::describe(entry) + (entry.comment.empty() ? "" : " ") + entry.comment);
  if (call.store().accounts.find_by_email(person.address_key))
    add_line(lines, "person_also", texts().text("person_also_account"));
  if (call.store().console_users.find_by_email(person.address_key))
    add_line(lines, "person_also", texts().text("person_also_user"));
  return lines;
}

Data texts_of(const PersonData& person) {
  return list_of(std::span(person.texts).first(std::min(person.texts.size(), kMaxShown)),
                 [](const store::PersonText& text) {
                   Data row;
                   row.set("place", text.table + "." + text.column);
                   row.set("key", text.key);
                   const std::string_view start = truncated(text.text, kMaxTextCodePoints);
                   row.set("text", std::string(start) + (start.size() < text.text.size() ? "…" : ""));
                   return row;
                 });
}

/// Why nothing is erased now; empty when something can be.
std::string erase_problem(const PageCall& call, const PersonData& person) {
  if (!person.has_traces()) return "person_nothing";
  if (!call.store().do_not_send.has_erased_address_key()) return "person_no_key";
  return person.is_in_use() && person.closed.empty() ? "person_in_use" : "";
}

/// Of what was found: an erasure is of what the page showed.
std::string fingerprint(const PersonData& person) {
  std::string found = person.counts_text();
  const auto add_ids = [&](const std::vector<TransactionId>& ids) {
    for (const TransactionId id : ids) found += " " + std::to_string(id.value);
    found += "\n";
  };
  const auto add_words = [&](const std::vector<std::string>& words) {
    for (const std::string& word : words) found += " " + word;
    found += "\n";
  };
  for (const auto* gifts : {&person.open, &person.busy, &person.closed, &person.records}) add_ids(*gifts);
  for (const auto* words : {&person.open_requests, &person.contacts, &person.leads, &person.crm_requests,
                            &person.open_crm_requests})
    add_words(*words);
  for (const store::PersonText& text : person.texts)
    found += text.table + "." + text.column + " " + text.key + "\n";
  for (const store::DoNotSendEntry& entry : person.entries) found += entry.pattern + "\n";
  return sha256_hex(found);
}

Data found_data(const PageCall& call, const PersonData& person) {
  Data found;
  set_address(found, "address", person.address_key);
  Data groups(Data::type::list);
  add_gifts(groups, call, "person_closed", person.closed);
  add_gifts(groups, call, "person_open", person.open);
  add_gifts(groups, call, "person_busy", person.busy);
  add_gifts(groups, call, "person_erased_gifts", person.erased);
  set_list(found, "groups", groups);
  set_list(found, "facts", facts_of(call, person));
  set_list(found, "texts", texts_of(person));
  if (person.texts.size() > kMaxShown)
    found.set("more", texts().text("person_more_texts",
                                   {{"count", std::to_string(person.texts.size() - kMaxShown)}}));
  found.set("stays", person.is_in_use());
  found.set("other_crm", !person.has_crm);
  found.set("whole", person.address_key);
  found.set("download", form_data(call, std::string(kPath) + "/download"));
  found.set("command", "giftsyncctl person export " + shell_word(person.address_key) + " --json");
  if (const std::string problem = erase_problem(call, person); !problem.empty()) {
    found.set("problem", texts().text("notice_" + problem));
    return found;
  }
  Data erase = form_data(call, std::string(kPath) + "/erase");
  erase.set("whole", person.address_key);
  erase.set("seen", fingerprint(person));
  erase.set("what", texts().text("person_to_erase", {{"what", person.counts_text()}}));
  found.set("erase", erase);
  return found;
}

http::HttpResponse page_with(const PageCall& call, Data data) {
  const bool is_new = has_new_proof(call);
  if (is_new)
    data.set("look", form_data(call, std::string(kPath)));
  else
    data.set("proof", new_proof_data(call, std::string(kPath)));
  http::HttpResponse response = page(call, "person", texts().text("person"), std::move(data));
  if (is_new) return response;
  return with_return_to(call.url(), std::move(response), url_of(call, std::string(kPath)));
}

}  // namespace

http::HttpResponse person_page(const PageCall& call) {
  if (!sees_installation(call.viewer())) return not_found(call);
  return page_with(call, Data());
}

/// As "giftsyncctl person export" and "person erase --dry-run" do: the event is that of the export.
http::HttpResponse show_person(const PageCall& call) {
  if (!sees_installation(call.viewer())) return not_found(call);
  if (const std::string problem = problem_of(call); !problem.empty()) return redirect_to_form(call, problem);
  return answer_in_time(call, [&] {
    const PersonData person = find_person(call);
    store::AuditEvent event = person_event(call, "person.export", person);
    event.detail = person.export_text();
    call.store().audit.add(event);
    Data data;
    data.set("found", found_data(call, person));
    return page_with(call, std::move(data));
  });
}

/// What "giftsyncctl person export --json" prints.
http::HttpResponse download_person(const PageCall& call) {
  if (!sees_installation(call.viewer())) return not_found(call);
  if (const std::string problem = problem_of(call); !problem.empty()) return redirect_to_form(call, problem);
  return answer_in_time(call, [&] {
    const PersonData person = find_person(call);
    store::AuditEvent event = person_event(call, "person.export", person);
    event.detail = person.export_text() + " as a file";
    call.store().audit.add(event);
    // Another CRM would be asked for each gift, and its data are not giftsync's.
    const std::string left_out = person.has_crm ? std::string() : texts().text("person_crm_not_asked");
    http::HttpResponse response;
    response.headers = {{"Content-Type", "application/json; charset=utf-8"},
                        {"Content-Disposition", "attachment; filename=\"person.json\""}};
    add_page_headers(response);
    response.body = exports::person_json(call.store(), *call.console.options.crm.crm, person,
                                         currency_of(call), left_out) +
                    "\n";
    return response;
  });
}

http::HttpResponse erase_person(const PageCall& call) {
  if (!sees_installation(call.viewer())) return not_found(call);
  if (const std::string problem = problem_of(call); !problem.empty()) return redirect_to_form(call, problem);
  if (field(call.form, "confirm") != "1") return redirect_to_form(call, "not_confirmed");
  return answer_in_time(call, [&] {
    const PersonData person = find_person(call);
    if (const std::string problem = erase_problem(call, person); !problem.empty())
      return redirect_to_form(call, problem);
    if (field(call.form, "seen") != fingerprint(person)) return redirect_to_form(call, "person_changed");
    const sync::PersonErasure done = sync::erase_person(call.store(), *call.console.options.crm.crm, person,
                                                        person_event(call, "person.erase", person));
    // A worker may have taken a gift since: the erasure leaves it, with all that is not about closed gifts.
    const bool is_whole = !find_person(call).has_traces();
    return redirect_to_form(call, is_whole ? "person_erased" : "person_erased_part", done.gifts);
  });
}

}  // namespace giftsync::console
