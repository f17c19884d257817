// sync: one step of one connection of MailDelivery. Included by delivery_step.cpp and delivery_run.cpp only.
#pragma once

#include <optional>
#include <vector>

#include "sync/mail/delivery_step.h"

namespace giftsync::sync {

class DeliveryRun {
 public:
  DeliveryRun(MailDelivery& delivery, const MailDelivery::Connection& connection)
      : delivery_(delivery),
        connection_(connection),
        transport_(connection.transport),
        policy_(policy_of(delivery.rules_, connection)),
        in_flight_(delivery.in_flight_[connection.number]) {}
  DeliveryStats run();

 private:
  static DeliveryPolicy policy_of(const DeliveryRules& rules, const MailDelivery::Connection& connection) {
    DeliveryPolicy policy = rules.policy;
    policy.may_give_up = policy.may_give_up && connection.may_give_up;
    return policy;
  }
  struct PreparedMail {
    ClaimedMail claimed;
    OutgoingMail mail;
  };
  struct EndedAttempt {
    const ClaimedMail& mail;
    std::int64_t number = 0;
    SendResult result;
    std::int64_t refusals_before = 0;  ///< RelayHealth::refusals() when it began
  };
  /// What attempts that ended together show of the relay.
  struct Findings {
    bool has_suspects = false;
    std::int64_t refusals = 0;
    bool has_paused = false;   ///< a pause began, and no later attempt ended it
    bool has_resumed = false;  ///< the stored pause has ended
    std::vector<SuspectMail> of_one_recipient;
  };

  SendPermission permission();
  bool is_paused_by_admin();
  /// Whether another mail may begin: the step goes on, and no admin has paused mail.
  bool may_continue();
  void deliver();
  std::vector<ClaimedMail> take(std::size_t count);
  void deliver_group(std::vector<ClaimedMail> group);
  std::vector<PreparedMail> prepare(std::vector<ClaimedMail> group);
  void send(const std::vector<PreparedMail>& group);
  std::optional<SendResult> resolve_abandoned(const ClaimedMail& mail);
  void record(const std::vector<EndedAttempt>& attempts);
  void record_one(const EndedAttempt& attempt, Findings& findings);
  void record_suspect(const EndedAttempt& attempt, Findings& findings);
  void record_fault(const EndedAttempt& attempt, store::DeliveryOutcome outcome, Findings& findings);
  void record_working(const EndedAttempt& attempt, Findings& findings);
  void retry_for_one_recipient(const std::vector<SuspectMail>& suspects);
  void store_pause();
  void add_outcome(const ClaimedMail& mail, store::DeliveryOutcome outcome);
  std::vector<bool> write(const std::vector<AttemptWriter::Sending>& started);
  void note_written(const std::vector<bool>& has_started);
  void release(const std::vector<PreparedMail>& group);
  void remove_stale_markers();

  MailDelivery& delivery_;
  const MailDelivery::Connection& connection_;
  MailTransport& transport_;
  const DeliveryPolicy policy_;
  DeliveryStats stats_;
  MailDelivery::InFlight& in_flight_;
  bool is_test_ = false;    ///< until one mail decides
  bool has_ended_ = false;  ///< a fault, or the test's decision
};

}  // namespace giftsync::sync
