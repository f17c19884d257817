#include <fmt/format.h>
#include <fmt/ostream.h>

#include "cli/gift/gift_detail.h"
#include "cli/listing.h"
#include "platform/text.h"
#include "schema/store/gift/gift_fields.h"

namespace giftsync::cli {
namespace {

void print_field(std::ostream& out, std::string_view label, const std::string& value) {
  if (!value.empty()) fmt::print(out, "  {:<13} {}\n", label, printable(value));
}

/// Prints a text of several lines, indented.
void print_block(std::ostream& out, std::string_view label, std::string_view text) {
  for (bool first = true; !text.empty(); first = false) {
    const std::size_t end = text.find('\n');
    fmt::print(out, "  {:<14}{}\n", first ? label : "", printable(text.substr(0, end)));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

std::string mailbox(const std::string& name, const std::string& email) {
  return name.empty() ? email : fmt::format("{} <{}>", name, email);
}

std::string recipient_of(const store::RecipientTransaction& transaction) {
  const bool both = !transaction.first_name.empty() && !transaction.last_name.empty();
  return mailbox(transaction.first_name + (both ? " " : "") + transaction.last_name,
                 transaction.email.empty() ? transaction.phone : transaction.email);
}

/// "12.50 = item 10.00 + fee 2.50", without unknown parts.
std::string total_of(const store::GiftCosts& costs) {
  if (!costs.total()) return "unknown";
  std::string parts;
  const auto add = [&](const char* name, std::optional<Money> cost) {
    if (cost) parts += fmt::format("{}{} {}", parts.empty() ? " = " : " + ", name, to_decimal(*cost));
  };
  add("item", costs.item);
  add("shipping", costs.shipping);
  add("carbon", costs.carbon_neutral);
  add("fee", costs.transaction_fee);
  return to_decimal(*costs.total()) + parts;
}

/// A gift that giftsync did not send may have a number only.
std::string item_of(const store::GiftRequest& request) {
  if (request.item_name.empty()) return std::to_string(request.gift.value);
  return fmt::format("{} (item {})", request.item_name, request.gift.value);
}

void print_request(const GiftDetail& detail, std::ostream& out) {
  const store::Gift& gift = detail.gift;
  const store::GiftRequest& request = gift.request;
  print_field(out, "to", recipient_of(gift.transaction));
  print_field(out, "from", mailbox(request.sender_name, request.sender_email));
  if (request.gift.value > 0)  // a gift that giftsync did not send may have none
    print_field(out, "item", item_of(request));
  print_field(out, "total", total_of(request.costs));
  print_field(
      out, "request",
      fmt::format("{} ({})", request.id.value,
                  request.mode == SendMode::email  ? "sent by e-mail"
                  : request.mode == SendMode::urls ? "issued as URLs"
                  : gift.transaction.gift_source == store::kAdoptedGiftSource
                      ? "not sent by giftsync; its record was in the CRM before"
                      : "not sent by giftsync; reported by " + printable(gift.transaction.gift_source)));
  if (request.is_test) print_field(out, "test gift", "no mail to its recipient, no record in the CRM");
  print_field(out, "for record", detail.request_record);
  print_field(out, "external id", gift.transaction.external_id);
  print_field(out, "asked with", request.credential_prefix.empty() ? "" : request.credential_prefix + "...");
  print_field(out, "Request-Id", request.http_request_id);
  print_field(out, "campaign", request.utm_campaign_id.value_or(""));
  store::each_listed(gift, [&](const auto& field, const auto& value) {
    print_field(out, ascii_lower(field.title), field_text(value));
  });
  print_block(out, "message", gift.transaction.message);
}

/// The record's Sent At may be missing, or entered later; deadlines count from the estimate.
std::string estimated_sent_time(const GiftDetail& detail, UtcMillis estimate) {
  const auto* recorded = std::get_if<UtcMillis>(&detail.record->get(GiftField::sent_at));
  return (recorded ? to_rfc3339(*recorded) + " in its record" : "unknown") + "; deadlines count from " +
         to_rfc3339(estimate);
}

void print_times(const GiftDetail& detail, std::ostream& out) {
  out << "Times\n";
  for (const Status status : kAllStatuses) {
    const auto& time = detail.gift.transaction.times[status];
    if (!time) continue;
    const bool is_estimated = status == Status::sent && detail.is_sent_at_estimated;
    print_field(out, to_word(status), is_estimated ? estimated_sent_time(detail, *time) : to_rfc3339(*time));
  }
}

/// Whether the CRM's record has what the store knows.
std::string record_state(const GiftDetail& detail, const store::CrmSyncState& sync_state) {
  using State = store::CrmSyncStatus;
  switch (sync_state.state) {
    case State::decided:
      return "not written yet";
    case State::written:
      if (!detail.record && !detail.crm_error) return "missing in the CRM, where it was deleted";
      return sync_state.written_version >= detail.gift.transaction.version
                 ? "up to date"
                 : "lacks the last change, which will be written";
    case State::skipped:
      return "none, because there was no match (matching.on_no_match: skip)";
    case State::deleted:
      return "deleted in the CRM; giftsync does not make it again";
    case State::rejected:
      return "refused by the CRM";
  }
  return std::string(to_word(sync_state.state));
}

void print_sync_state(const GiftDetail& detail, std::ostream& out) {
  out << "CRM\n";
  if (!detail.sync_state) {
    print_field(out, "state", "not synced yet");
    if (detail.sync_wait) print_field(out, "waits", detail.sync_wait->last_error);
    return;
  }
  const store::CrmSyncState& sync_state = *detail.sync_state;
  const store::MatchDecision& decision = sync_state.decision;
  print_field(out, "matched to",
              !decision.contact_id.empty() ? "contact " + decision.contact_id
              : !decision.lead_id.empty()  ? "lead " + decision.lead_id
                                           : "no match");
  print_field(out, "linked by", sync_state.linked_by);
  print_field(out, "account", decision.account_id);
  print_field(out, "opportunity", decision.opportunity_id);
  if (!detail.manual_links.empty())
    print_field(out, "but linked", detail.manual_links + ", corrected in the CRM; giftsync keeps this");
  print_field(out, "deal stage", decision.deal_stage);
  print_field(out, "sender", decision.sender_id);
  print_block(out, "why", decision.reason);
  print_block(out, "warnings", decision.warnings);
  print_field(out, "decided", to_rfc3339(sync_state.decided_at));
  print_field(out, "record", record_state(detail, sync_state));
  print_field(out, "task",
              sync_state.task == store::TaskState::none ? "" : std::string(to_word(sync_state.task)));
  print_field(out, "relink",
              sync_state.needs_relink ? "needed: a lookup was refused, or its row was deleted" : "");
  print_field(out, "error", sync_state.error);
  if (detail.sync_wait && detail.sync_wait->attempts > 0) {
    print_field(out, "failed", fmt::format("{} in a row", pluralize(detail.sync_wait->attempts, "attempt")));
    print_field(
        out, "next try",
        to_rfc3339(detail.sync_wait->next_attempt_at) +
            (detail.sync_wait->is_rejected ? fmt::format("; \"giftsyncctl crm retry {}\" tries it now",
                                                         detail.gift.transaction.id.value)
                                           : ""));
  }
}

void print_delivery(const GiftDetail& detail, const store::DeliveryRow& row, std::ostream& out) {
  out << "Mail\n";
  print_field(out, "state",
              fmt::format("{}, {}{}", to_word(row.state), pluralize(row.attempts(), "attempt"),
                          row.number == 1 ? "" : fmt::format(" at {} mails", row.number)));
  print_field(out, "which",
              row.number == 1 ? ""
                              : fmt::format("mail {}, a {}", row.number,
                                            row.kind == MailKind::gift ? "resend" : "reminder"));
  print_field(out, "retries", row.uncertain_retries == 0 ? "" : std::to_string(row.uncertain_retries));
  print_field(out, "last reply", row.last_reply);
  print_field(out, "message id", row.message_id);
  const bool has_next = row.state == DeliveryState::queued || row.state == DeliveryState::uncertain;
  print_field(out, "paused", detail.mail_pause);
  print_field(out, "next try", has_next && detail.mail_pause.empty() ? to_rfc3339(row.next_attempt_at) : "");
  print_field(out, "since", to_rfc3339(row.updated_at));
}

void print_change(const HistoryEntry& entry, std::ostream& out) {
  const store::StatusChange& change = entry.change;
  fmt::print(out, "  {}  {:<11}  change {}, {}, received {}", to_rfc3339(change.occurred_at),
             to_word(change.status), change.id.value, printable(change.source),
             to_rfc3339(change.received_at));
  if (change.premise != Premise::none) fmt::print(out, ", as {}", to_word(change.premise));
  if (!change.event_ids.empty())
    fmt::print(out, ", events {}", printable(fmt::format("{}", fmt::join(change.event_ids, ", "))));
  out << '\n';
  if (!change.audit.empty()) fmt::print(out, "  {:<26}{}\n", "", printable(audit_text(change)));
  if (!entry.conflict.empty()) fmt::print(out, "  {:<26}conflict: {}\n", "", printable(entry.conflict));
}

void print_action(const store::GiftAction& action, std::ostream& out) {
  fmt::print(out, "  {}  {:<11}  by {}{}{}\n", to_rfc3339(action.at), to_word(action.kind),
             printable(action.actor), action.comment.empty() ? "" : ", ", printable(action.comment));
}

/// Changes and admin actions, by time.
void print_history(const GiftDetail& detail, std::ostream& out) {
  out << "History\n";
  if (detail.history.empty() && detail.actions.empty()) out << "  no changes yet\n";
  auto action = detail.actions.begin();
  for (const HistoryEntry& entry : detail.history) {
    for (; action != detail.actions.end() && action->at <= entry.change.occurred_at; ++action)
      print_action(*action, out);
    print_change(entry, out);
  }
  for (; action != detail.actions.end(); ++action) print_action(*action, out);
}

std::string_view next_outcome_condition(const sync::DueOutcome& next, SendMode mode) {
  switch (next.premise) {
    case Premise::unopened:
      return "unless it is opened before";
    case Premise::unclaimed:
      return "unless it is accepted or donated before";
    case Premise::undelivered:
      // The caller mails URLs; giftsync cannot send them again.
      return mode == SendMode::email ? "unless it is sent again before" : "as it was not delivered";
    default:
      return "as it has expired";
  }
}

void print_next_steps(const GiftDetail& detail, std::ostream& out) {
  if (!detail.next && !detail.reminder) return;
  out << "Next\n";
  if (detail.reminder)
    fmt::print(out, "  {}  {:<11}  a mail to the recipient, unless it is opened before\n",
               to_rfc3339(detail.reminder->at), "reminder");
  if (detail.next)
    fmt::print(out, "  {}  {:<11}  {}\n", to_rfc3339(detail.next->at), to_word(detail.next->status),
               next_outcome_condition(*detail.next, detail.gift.request.mode));
}

}  // namespace

void print(const GiftDetail& detail, std::ostream& out) {
  const store::RecipientTransaction& transaction = detail.gift.transaction;
  fmt::print(out, "Gift {}: {}\n", transaction.id.value, to_word(transaction.status));
  print_request(detail, out);
  if (detail.donation) {
    const store::Donation& donation = *detail.donation;
    print_field(out, "donated to",
                donation.charity.empty() ? "a charity that the sender's company chooses"
                : donation.link.empty()  ? donation.charity
                                         : fmt::format("{} ({})", donation.charity, donation.link));
  }
  print_field(out, "code", detail.has_code ? "issued" : "");
  print_times(detail, out);
  print_sync_state(detail, out);
  if (detail.crm_error)
    print_field(out, "in the CRM", "not known; the above is what giftsync wrote last: " + detail.crm_fault);
  if (detail.delivery) print_delivery(detail, *detail.delivery, out);
  print_history(detail, out);
  print_next_steps(detail, out);
}

}  // namespace giftsync::cli
