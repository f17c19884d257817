#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sysexits.h>

#include <algorithm>
#include <map>
#include <memory>

#include "daemon/cli/commands.h"
#include "daemon/cli/json_list.h"
#include "daemon/cli/os_user.h"
#include "daemon/cli/request_story.h"
#include "daemon/cli/text_table.h"
#include "daemon/crypto/random.h"
#include "daemon/settings/settings_fault.h"
#include "schema/address.h"
#include "schema/text.h"
#include "sync/request_order.h"
#include "sync/request_verdict.h"

namespace giftsync::daemon {
namespace {

using schema::FieldType;
using schema::RequestRecord;
using F = schema::RequestField;

/// "Recipient_Email": "--recipient-email".
std::string option_of(F field) {
  std::string name = "--" + schema::ascii_lower(field_of(field).name);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

struct Wish {
  std::map<F, std::string> texts;
  std::map<F, bool> checks;
  bool json = false;
};

/// Too long for its field, or no text: the fault; else empty.
std::string text_fault(F field, const std::string& text) {
  const schema::RecordField& described = field_of(field);
  if (!schema::is_storable_text(text)) return option_of(field) + " is no UTF-8 text";
  const std::size_t length = schema::count_code_points(text);
  if (described.length == 0 || length <= static_cast<std::size_t>(described.length)) return {};
  return fmt::format("{} has {} characters; at most {} are allowed", option_of(field), length,
                     described.length);
}

/// A sender given by address becomes the CRM user's Id.
std::optional<std::string> sender_id(Installation& place, const std::string& given) {
  if (given.find('@') == std::string::npos) return given;
  const std::string key = schema::email_key(given);
  const auto users = place.crm->find_users(std::span(&key, 1)).front();
  return users.empty() ? std::nullopt : std::optional(users.front().id);
}

int create(const Console& console, Installation& place, const Wish& wish) {
  RequestRecord record;
  for (const auto& [field, text] : wish.texts) {
    if (const std::string fault = text_fault(field, text); !fault.empty())
      return console.fail(EX_USAGE, fault);
    if (!text.empty()) record.set(field, text);
  }
  // Given by nobody it stays unchecked: the package's default is for the CRM's own automation.
  record.set(F::auto_approved, false);
  for (const auto& [field, checked] : wish.checks) record.set(field, checked);
  if (const std::string sender = record.text(F::sender); !sender.empty()) {
    const auto id = sender_id(place, sender);
    if (!id)
      return console.fail(EX_DATAERR, fmt::format("no CRM user has the address {}", in_quotes(sender)));
    record.set(F::sender, *id);
  }
  const schema::NewRequest asked{random_hex(16), record};
  const RequestRecord made = place.crm->create_requests(std::span(&asked, 1)).front();
  place.store.requests.note_made({made.id, made.text(F::number), os_user(), asked.creation_key},
                                 place.store.requests.now());
  if (wish.json) {
    fmt::print(console.out, "{}\n", json_text(request_summary(made), 2));
  } else {
    fmt::print(console.out, "{}\n", made.text(F::number));
  }
  if (!place.settings.requests.enabled)
    console.note("Requests are not sent: requests.enabled in the settings is false.");
  return EX_OK;
}

void add_create(Commands& commands, CLI::App& noun) {
  const auto wish = std::make_shared<Wish>();
  CLI::App* verb = commands.verb(noun, "create",
                                 "Ask for a gift by a request record in the CRM. Prints its Request Number. "
                                 "It is sent once it is approved: by "
                                 "\"giftsyncctl request approve\", in the CRM, or at once with "
                                 "--auto-approved. The sender is a CRM user's Id or "
                                 "address.",
                                 {"request create --gift-id 7 --recipient-email ada@example.com --message "
                                  "'Thank you!' --sender ana@example.com",
                                  "request create --gift-id 7 --recipient-contact 003A --message 'Thank "
                                  "you!' --sender 005A --auto-approved"});
  for (const F field : schema::given_fields()) {
    const schema::RecordField& described = field_of(field);
    if (described.type == FieldType::checkbox) {
      verb->add_flag_callback(
          option_of(field), [wish, field] { wish->checks[field] = true; }, std::string(described.label));
    } else {
      verb->add_option_function<std::string>(
              option_of(field), [wish, field](const std::string& text) { wish->texts[field] = text; },
              std::string(described.label))
          ->option_text("TEXT");
    }
  }
  verb->add_flag("--json", wish->json, "Print JSON: Id, Name and Request_Status");
  commands.run(verb,
               [wish](const Console& console, Installation& place) { return create(console, place, *wish); });
}

struct Listing {
  std::string status;
  bool json = false;
  std::int64_t limit = 0;
};

std::string recipient_of(const RequestRecord& row) {
  for (const F field : {F::recipient_email, F::recipient_contact, F::recipient_lead}) {
    if (!row.text(field).empty()) return row.text(field);
  }
  return {};
}

int list_requests(const Console& console, Installation& place, const Listing& wanted) {
  const auto status = wanted.status.empty() ? std::nullopt : schema::request_status_from_word(wanted.status);
  JsonList list(console.out);
  TextTable table(console.out, {{"REQUEST"},
                                {"STATUS"},
                                {"AUTO"},
                                {"GIFT", TextTable::Kind::elastic},
                                {"RECIPIENT", TextTable::Kind::elastic},
                                {"SENDER", TextTable::Kind::elastic},
                                {"CREATED"}});
  std::int64_t listed = 0;
  for (std::string after; console.out;) {
    const auto page = place.crm->requests(after, status, schema::kCrmBatch);
    if (page.empty()) break;
    for (const RequestRecord& row : page) {
      if (wanted.limit > 0 && listed == wanted.limit) break;
      ++listed;
      if (wanted.json) {
        list.add(request_json(row));
        continue;
      }
      const auto* created = std::get_if<schema::UtcMillis>(&row.get(F::created_date));
      table.add({row.text(F::number), printable(row.text(F::status)),
                 row.checked(F::auto_approved).value_or(false) ? "yes" : "no",
                 printable(row.text(F::gift_id)), printable(recipient_of(row)),
                 printable(row.text(F::sender)), created ? minute_text(*created) : ""},
                printable(row.text(F::error_log)));
    }
    after = page.back().text(F::number);
    if (wanted.limit > 0 && listed == wanted.limit) break;
  }
  wanted.json ? list.finish() : table.finish();
  if (listed == 0) console.note("There is no such request.");
  return EX_OK;
}

void add_list(Commands& commands, CLI::App& noun) {
  const auto wanted = std::make_shared<Listing>();
  CLI::App* verb =
      commands.verb(noun, "list",
                    "Request records, by their numbers. What giftsync could not send shows its Error Log "
                    "below.",
                    {"request list", "request list --status Pending",
                     "request list --json | jq -r '.[] | select(.Error_Log) | .Name'"});
  verb->add_option("--status", wanted->status, "Only those with this status")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, std::string>{
              {"Pending", "Pending"}, {"Approved", "Approved"}, {"Rejected", "Rejected"}, {"Sent", "Sent"}},
          CLI::ignore_case));
  verb->add_option("--limit", wanted->limit, "At most N requests")
      ->option_text("N")
      ->check(CLI::Range(std::int64_t{1}, schema::kMaxId));
  verb->add_flag("--json", wanted->json, "Print a JSON array of requests with their fields by API names");
  commands.run(verb, [wanted](const Console& console, Installation& place) {
    return list_requests(console, place, *wanted);
  });
}

void add_show(Commands& commands, CLI::App& noun) {
  struct Words {
    std::string number;
    bool json = false;
  };
  const auto words = std::make_shared<Words>();
  CLI::App* verb =
      commands.verb(noun, "show",
                    "One request: its fields, where it stands, every move (who, when, from, to, why) and "
                    "the gift that was sent for it.",
                    {"request show R-000001", "request show R-000001 --json"});
  verb->add_option("NUMBER", words->number, "Request Number, or Id in the CRM")->required();
  verb->add_flag("--json", words->json, "Print JSON");
  commands.run(verb, [words](const Console& console, Installation& place) {
    return show_request(console, place, words->number, words->json);
  });
}

struct Deciding {
  std::vector<std::string> numbers;
  std::string comment;
};

int decide(const Console& console, Installation& place, sync::RequestAct act, const Deciding& wanted) {
  using Kind = sync::VerdictOutcome::Kind;
  int code = EX_OK;
  for (const std::string& number : wanted.numbers) {
    const sync::VerdictOutcome outcome = sync::decide_request(
        place.store, *place.crm, number, {act, os_user(), wanted.comment}, place.store.requests.now());
    if (outcome.kind == Kind::done) {
      fmt::print(console.out, "{} {}\n", outcome.number, to_word(outcome.status));
    } else {
      const std::string& name = outcome.number.empty() ? number : outcome.number;
      code = console.fail(EX_DATAERR, outcome.kind == Kind::unknown
                                          ? fmt::format("{}; \"giftsyncctl request list\" "
                                                        "shows them",
                                                        outcome.why)
                                          : fmt::format("{}: {}", name, outcome.why));
    }
  }
  return code;
}

void add_verdict(Commands& commands, CLI::App& noun, sync::RequestAct act, const std::string& name,
                 const std::string& about) {
  const auto wanted = std::make_shared<Deciding>();
  CLI::App* verb = commands.verb(
      noun, name, about,
      {"request " + name + " R-000001", "request " + name + " R-000001 R-000002 --comment 'as agreed'"});
  verb->add_option("NUMBER", wanted->numbers, "Request Numbers, or Ids in the CRM")->required();
  verb->add_option("--comment", wanted->comment, "Why; kept with the move")->option_text("TEXT");
  commands.run(verb, [wanted, act](const Console& console, Installation& place) {
    return decide(console, place, act, *wanted);
  });
}

}  // namespace

void add_request_commands(Commands& commands) {
  CLI::App* noun = commands.noun("request", "Gifts that the CRM asks for: request records with approval");
  add_create(commands, *noun);
  add_list(commands, *noun);
  add_show(commands, *noun);
  add_verdict(
      commands, *noun, sync::RequestAct::approve, "approve",
      "Approve pending requests, as they are now; the name of the user at this command line is kept with the "
      "move. The daemon sends them within seconds.");
  add_verdict(commands, *noun, sync::RequestAct::reject, "reject",
              "Reject requests that are pending, or approved and not yet being sent.");
}

}  // namespace giftsync::daemon
