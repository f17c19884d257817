#include <fmt/format.h>
#include <fmt/ostream.h>

#include "daemon/cli/change_list.h"
#include "daemon/cli/gift_story.h"
#include "daemon/cli/text_table.h"

namespace giftsync::daemon {
namespace {

void line(std::ostream& out, std::string_view label, const std::string& value) {
  if (!value.empty()) fmt::print(out, "  {:<14}{}\n", label, printable(value));
}

/// Each line of a text by itself, indented.
void text_block(std::ostream& out, std::string_view label, std::string_view text) {
  for (bool first = true; !text.empty(); first = false) {
    const std::size_t end = text.find('\n');
    fmt::print(out, "  {:<14}{}\n", first ? label : "", printable(text.substr(0, end)));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

std::string named(const std::string& name, const std::string& email) {
  return name.empty() ? email : fmt::format("{} <{}>", name, email);
}

std::string recipient_of(const schema::RecipientTransaction& transaction) {
  const bool both = !transaction.first_name.empty() && !transaction.last_name.empty();
  return named(transaction.first_name + (both ? " " : "") + transaction.last_name,
               transaction.email.empty() ? transaction.phone : transaction.email);
}

/// "12.50 = item 10.00 + fee 2.50": what is not known or does not apply is left out.
std::string total_of(const schema::GiftCosts& costs) {
  if (!costs.total()) return "not known";
  std::string parts;
  const auto add = [&](const char* name, std::optional<schema::Money> cost) {
    if (cost) parts += fmt::format("{}{} {}", parts.empty() ? " = " : " + ", name, to_decimal(*cost));
  };
  add("item", costs.item);
  add("shipping", costs.shipping);
  add("carbon", costs.carbon_neutral);
  add("fee", costs.transaction_fee);
  return to_decimal(*costs.total()) + parts;
}

/// One that was sent elsewhere may have a number alone.
std::string item_of(const schema::GiftRequest& request) {
  const std::string number = fmt::format("gift {}", request.gift.value);
  return request.item_name.empty() ? number : fmt::format("{} ({})", request.item_name, number);
}

void tell_request(const schema::Gift& gift, std::ostream& out) {
  const schema::GiftRequest& request = gift.request;
  line(out, "to", recipient_of(gift.transaction));
  line(out, "from", named(request.sender_name, request.sender_email));
  if (request.gift.value > 0)  // what was sent elsewhere may name none
    line(out, "item", item_of(request));
  line(out, "total", total_of(request.costs));
  line(out, "request",
       fmt::format("{} ({})", request.id.value,
                   request.mode == schema::SendMode::email  ? "sent by e-mail"
                   : request.mode == schema::SendMode::urls ? "handed out as URLs"
                   : gift.transaction.origin == schema::kAdoptedOrigin
                       ? "sent elsewhere, its record was in the CRM before giftsync"
                       : "sent elsewhere, reported by " + printable(gift.transaction.origin)));
  line(out, "campaign", request.utm_campaign_id.value_or(""));
  text_block(out, "message", gift.transaction.message);
}

/// giftsync counts from a time that it had to take, also when somebody has told the CRM another one since.
std::string guessed_sending(const GiftStory& story, schema::UtcMillis counted_from) {
  const auto* told = std::get_if<schema::UtcMillis>(&story.record->get(schema::GiftField::sent_at));
  return (told ? schema::to_rfc3339(*told) + " says its record" : "not known") + "; counted from " +
         schema::to_rfc3339(counted_from);
}

void tell_times(const GiftStory& story, std::ostream& out) {
  out << "Times\n";
  for (const schema::Status status : schema::kAllStatuses) {
    const auto& time = story.gift.transaction.times[status];
    if (!time) continue;
    const bool is_guessed = status == schema::Status::sent && story.is_sending_guessed;
    line(out, to_word(status), is_guessed ? guessed_sending(story, *time) : schema::to_rfc3339(*time));
  }
}

void tell_mirror(const GiftStory& story, std::ostream& out) {
  out << "CRM\n";
  if (!story.mirror) {
    line(out, "state", "not synced yet");
    return;
  }
  const schema::GiftMirror& mirror = *story.mirror;
  const schema::MatchDecision& decision = mirror.decision;
  line(out, "matched to",
       !decision.contact_id.empty() ? "contact " + decision.contact_id
       : !decision.lead_id.empty()  ? "lead " + decision.lead_id
                                    : "nobody");
  line(out, "account", decision.account_id);
  line(out, "opportunity", decision.opportunity_id);
  if (!story.linked_by_hand.empty())
    line(out, "but linked", story.linked_by_hand + ", by hand in the CRM; giftsync leaves that alone");
  line(out, "deal stage", decision.deal_stage);
  line(out, "sender", decision.sender_id);
  text_block(out, "why", decision.reason);
  text_block(out, "warnings", decision.warnings);
  line(out, "decided", schema::to_rfc3339(mirror.decided_at));
  line(out, "state",
       fmt::format("{}, version {} of {}", to_word(mirror.state), mirror.written_version,
                   story.gift.transaction.version));
  line(out, "record", story.record ? fmt::format("version {}", story.record->version) : "none in the CRM");
  line(out, "task", mirror.task == schema::TaskState::none ? "" : std::string(to_word(mirror.task)));
  line(out, "rematch", mirror.needs_rematch ? "needed: a lookup was refused, or leads nowhere any more" : "");
  line(out, "error", mirror.error);
}

void tell_delivery(const schema::DeliveryRow& row, std::ostream& out) {
  out << "Mail\n";
  line(out, "state",
       fmt::format("{}, {} {}{}", to_word(row.state), tries_of(row),
                   tries_of(row) == 1 ? "attempt" : "attempts",
                   row.number == 1 ? "" : fmt::format(" at {} mails", row.number)));
  line(out, "which",
       row.number == 1 ? ""
                       : fmt::format("mail {}, a {}", row.number,
                                     row.kind == schema::MailKind::gift ? "resend" : "reminder"));
  line(out, "repeats", row.repeats == 0 ? "" : std::to_string(row.repeats));
  line(out, "last reply", row.last_reply);
  line(out, "message id", row.message_id);
  const bool has_next =
      row.state == schema::DeliveryState::queued || row.state == schema::DeliveryState::uncertain;
  line(out, "next try", has_next ? schema::to_rfc3339(row.due_at) : "");
  line(out, "since", schema::to_rfc3339(row.updated_at));
}

void tell_change(const ToldChange& told, std::ostream& out) {
  const schema::StatusChange& change = told.change;
  fmt::print(out, "  {}  {:<11}  change {}, {}, received {}", schema::to_rfc3339(change.occurred_at),
             to_word(change.status), change.id.value, printable(change.source),
             schema::to_rfc3339(change.received_at));
  if (change.premise != schema::Premise::none) fmt::print(out, ", as {}", to_word(change.premise));
  if (!change.event_ids.empty())
    fmt::print(out, ", events {}", printable(fmt::format("{}", fmt::join(change.event_ids, ", "))));
  out << '\n';
  if (!change.reviews.empty()) fmt::print(out, "  {:<26}{}\n", "", printable(review_words(change)));
  if (!told.contradiction.empty()) fmt::print(out, "  {:<26}contradiction: {}\n", "", told.contradiction);
}

void tell_act(const schema::GiftAct& act, std::ostream& out) {
  fmt::print(out, "  {}  {:<11}  by {}{}{}\n", schema::to_rfc3339(act.at), to_word(act.kind),
             printable(act.who), act.remark.empty() ? "" : ", ", printable(act.remark));
}

/// Changes and what was done to the gift, in the order of their times.
void tell_history(const GiftStory& story, std::ostream& out) {
  out << "History\n";
  if (story.history.empty() && story.acts.empty()) out << "  no changes reported yet\n";
  auto act = story.acts.begin();
  for (const ToldChange& told : story.history) {
    for (; act != story.acts.end() && act->at <= told.change.occurred_at; ++act) tell_act(*act, out);
    tell_change(told, out);
  }
  for (; act != story.acts.end(); ++act) tell_act(*act, out);
}

std::string_view unless(const sync::DueOutcome& next, schema::SendMode mode) {
  switch (next.premise) {
    case schema::Premise::unopened:
      return "unless it is opened before";
    case schema::Premise::unclaimed:
      return "unless it is accepted or donated before";
    case schema::Premise::undelivered:
      // Whoever asked for the URLs mails them; giftsync cannot send them again.
      return mode == schema::SendMode::email ? "unless it is sent again before" : "as it was not delivered";
    default:
      return "as it has expired";
  }
}

void tell_what_comes(const GiftStory& story, std::ostream& out) {
  if (!story.next && !story.reminder) return;
  out << "To come\n";
  if (story.reminder)
    fmt::print(out, "  {}  {:<11}  a mail to the recipient, unless it is opened before\n",
               schema::to_rfc3339(story.reminder->at), "reminder");
  if (story.next)
    fmt::print(out, "  {}  {:<11}  {}\n", schema::to_rfc3339(story.next->at), to_word(story.next->status),
               unless(*story.next, story.gift.request.mode));
}

}  // namespace

void tell(const GiftStory& story, std::ostream& out) {
  const schema::RecipientTransaction& transaction = story.gift.transaction;
  fmt::print(out, "Gift {}: {}\n", transaction.id.value, to_word(transaction.status));
  tell_request(story.gift, out);
  if (story.donation) {
    const schema::Donation& donation = *story.donation;
    line(out, "donated to",
         donation.charity.empty() ? "whom the sender's company chooses"
         : donation.link.empty()  ? donation.charity
                                  : fmt::format("{} ({})", donation.charity, donation.link));
  }
  line(out, "code", story.has_code ? "handed out" : "");
  tell_times(story, out);
  tell_mirror(story, out);
  if (story.delivery) tell_delivery(*story.delivery, out);
  tell_history(story, out);
  tell_what_comes(story, out);
}

}  // namespace giftsync::daemon
