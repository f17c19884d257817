#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sysexits.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

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

/// What a verb runs where the CRM can have request records at all: in our own tables.
void run_where_requests_are(Commands& commands, CLI::App* verb, StoreCommand command) {
  commands.run(verb, [command = std::move(command)](const Console& console, Installation& place) {
    if (!place.settings.crm.is_foreign()) return command(console, place);
    return console.fail(
        EX_CONFIG, fmt::format("{}: crm.connection names a CRM that someone else owns; request records exist "
                               "in the managed CRM only; ask for gifts over HTTP, or work without "
                               "crm.connection",
                               place.settings.file));
  });
}

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

/// What is missing for it ever to be sent; empty when nothing is. Whether gift and people exist is found out
/// when it is approved, as for any request of the CRM.
std::string missing_in(const Wish& wish, const Settings& settings) {
  const auto given = [&](F field) {
    const auto found = wish.texts.find(field);
    return found != wish.texts.end() && !schema::trimmed(found->second).empty();
  };
  std::vector<std::string> missing;
  if (!given(F::gift_id)) missing.push_back("--gift-id");
  if (!given(F::recipient_email) && !given(F::recipient_contact) && !given(F::recipient_lead))
    missing.push_back("--recipient-email (or --recipient-contact, or --recipient-lead)");
  if (!given(F::message)) missing.push_back("--message");
  // Without a Sender it is who created the record.
  if (!given(F::sender) && settings.crm.integration_user.empty()) missing.push_back("--sender");
  return fmt::format("{}", fmt::join(missing, ", "));
}

int create(const Console& console, Installation& place, const Wish& wish) {
  if (const std::string missing = missing_in(wish, place.settings); !missing.empty())
    return console.fail(EX_USAGE,
                        fmt::format("request create: a request that can be sent also needs {}", missing));
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

struct OptionWords {
  const char* placeholder;
  const char* about;
};

OptionWords words_of(F field) {
  switch (field) {
    case F::account:
      return {"ID", "The CRM account that it is about"};
    case F::opportunity:
      return {"ID", "The opportunity that it is about"};
    case F::auto_approved:
      return {"", "Send it at once, without anybody's approval"};
    case F::gift_id:
      return {"ID REQUIRED", "The item to send (\"item list\" shows them)"};
    case F::gift_item_description:
      return {"TEXT", "What the recipient reads of the item, instead of the catalogue's description"};
    case F::include_shipping:
      return {"", "Count the item's shipping cost"};
    case F::include_carbon_neutral_cost:
      return {"", "Count the item's carbon neutral cost"};
    case F::send_type:
      return {"WORD",
              "email: giftsync sends it (the default); link: it makes the gift's URLs, which \"request "
              "show\" then has, and mails nothing"};
    case F::recipient_contact:
      return {"ID", "The CRM contact it is for; address and names come from there unless given"};
    case F::recipient_lead:
      return {"ID", "Likewise a lead; a contact or a lead, not both"};
    case F::recipient_email:
      return {"ADDRESS", "Whom it is for: this, a contact or a lead is REQUIRED"};
    case F::recipient_first_name:
      return {"NAME", "First name, for the mail and the page"};
    case F::recipient_last_name:
      return {"NAME", "Last name, for the mail and the page"};
    case F::message:
      return {"TEXT REQUIRED", "What the sender writes to the recipient"};
    case F::sender:
      return {"USER",
              "On whose behalf: a CRM user's Id or address; may be left out if crm.integration_user is set"};
    case F::use_user_balance:
      return {"", "Kept with the record for the books (Use User Balance)"};
    default:
      return {"TEXT", nullptr};
  }
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
    const OptionWords words = words_of(field);
    const std::string about =
        words.about ? words.about : fmt::format("Kept with the record for the books ({})", described.label);
    if (described.type == FieldType::checkbox) {
      verb->add_flag_callback(
          option_of(field), [wish, field] { wish->checks[field] = true; }, about);
    } else {
      CLI::Option* option = verb->add_option_function<std::string>(
          option_of(field), [wish, field](const std::string& text) { wish->texts[field] = text; }, about);
      option->option_text(words.placeholder);
      if (field == F::send_type) option->check(one_of({"email", "link"}));
    }
  }
  verb->add_flag("--json", wish->json, "Print JSON: Id, Name and Request_Status");
  run_where_requests_are(commands, verb, [wish](const Console& console, Installation& place) {
    return create(console, place, *wish);
  });
}

/// In any case of letters, as the CRM writes it; else as it was given.
std::string given_status(const std::string& word) {
  const auto status = schema::trimmed(word).empty() ? std::nullopt : schema::request_status_from_word(word);
  return status ? std::string(to_word(*status)) : word;
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
                                {"CREATED (UTC)"}});
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
  if (listed == 0) {
    console.note(place.settings.requests.enabled ? "There is no such request."
                                                 : "There is no such request. Requests are not in use: "
                                                   "requests.enabled in the settings is false.");
  }
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
      ->option_text("STATUS")
      ->transform(CLI::Validator(
          [](std::string& word) -> std::string {
            word = given_status(word);
            return {};
          },
          ""))
      ->check(one_of({"Pending", "Approved", "Rejected", "Sent"}));
  verb->add_option("--limit", wanted->limit, "At most N requests")->option_text("N")->check(whole_number());
  verb->add_flag("--json", wanted->json, "Print a JSON array of requests with their fields by API names");
  run_where_requests_are(commands, verb, [wanted](const Console& console, Installation& place) {
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
                    "the gift that was sent for it, with its URLs if it was asked for with the Send Type "
                    "link. Whoever has these can take the gift.",
                    {"request show R-000001", "request show R-000001 --json"});
  verb->add_option("NUMBER", words->number, "Request Number, or Id in the CRM")->required();
  verb->add_flag("--json", words->json, "Print JSON");
  run_where_requests_are(commands, verb, [words](const Console& console, Installation& place) {
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
  run_where_requests_are(commands, verb, [wanted, act](const Console& console, Installation& place) {
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
