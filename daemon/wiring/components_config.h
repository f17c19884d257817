// wiring: the configuration of the daemon's components, from the settings. Main thread, at the start.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "crm/crm.h"
#include "daemon/config/settings.h"
#include "daemon/mail/gift_mail.h"
#include "daemon/validation/gift_request_body.h"
#include "schema/store/store.h"
#include "sync/access/approval_rules.h"
#include "sync/access/sending_budgets.h"
#include "sync/alert_rules.h"
#include "sync/crm/crm_roles.h"
#include "sync/crm/sync_step.h"
#include "sync/gift/gift_links.h"
#include "sync/gift/lifecycle.h"
#include "sync/mail/delivery_step.h"
#include "sync/request/request_record_step.h"

namespace giftsync::wiring {

/// One for each connection that is used at once.
std::vector<std::unique_ptr<sync::MailTransport>> make_transports(const config::EmailSettings& email);
/// "FILE: ...": SMTP options that do not fit together, such as a password without TLS to another host;
/// nothing would be sent with them.
std::optional<std::string> relay_fault(const config::Settings& settings);

/// Whether mails and pages offer the recipient to get no more gifts (GUARD-5). Links that were sent work in
/// any case.
bool has_stop_link(const config::Settings& settings);

/// Whether users may ask for a sign-in link by mail (SIGN-15).
bool mails_sign_in_links(const config::Settings& settings);

/// Both keep references to `links`, the delivery rules also to `settings`. The caller sets the lease owner.
/// `installation_id` distinguishes this store's mails from others'.
sync::DeliveryRules delivery_rules(const config::Settings& settings, const std::string& installation_id,
                                   const sync::GiftLinks& links);
/// The gift's mail as the settings compose it now.
mail::ReadableMail readable_mail(const config::Settings& settings, const sync::GiftLinks& links,
                                 const store::Gift& gift, const sync::MailIdentity& identity);
/// Changes with every setting that a mail's way depends on, and reveals none of them (MAIL-25). Keyed as
/// erased addresses are: that key stays when the server secret is rotated.
std::string relay_fingerprint(const config::EmailSettings& email, const store::DoNotSend& do_not_send);
sync::SyncRules sync_rules_with_links(const config::Settings& settings, const sync::GiftLinks& links);

/// The terms that gifts mailed by giftsync are stamped with.
sync::LifecycleTerms lifecycle_terms(const config::LifecycleSettings& settings);

sync::SendingBudgetRules sending_budget_rules(const config::SendingSettings& settings);
/// Keeps a reference to `do_not_send`, which knows erased addresses.
store::FrequencyRule frequency_rule(const config::FrequencySettings& settings,
                                    const store::DoNotSend& do_not_send);
/// Which gift requests wait for a person, and how long (GUARD-24).
std::vector<sync::ApprovalRule> approval_rules(const config::SendingApprovalSettings& settings);
/// A warning for each item, account, key and token of the rules that does not exist, or is not usable then: a
/// rule holds nothing of it.
std::vector<std::string> unknown_in_rules(const config::SendingApprovalSettings& settings,
                                          store::Store& store, UtcMillis now);
/// The names of the rules whose credentials are met by this public prefix.
std::set<std::string> rules_naming(const config::SendingApprovalSettings& settings,
                                   const std::string& credential_prefix);
store::HoldTerms hold_terms(const config::SendingApprovalSettings& settings);

/// Which mails admins get about conditions of the status (OPS-43 to OPS-45), and one of them.
sync::AlertRules alert_rules(const config::AlertSettings& settings);
sync::OutgoingMail alert_mail(const config::Settings& settings, const std::string& installation_id,
                              const sync::AlertMail& mail, const std::string& to, UtcMillis now);

/// Whose approvers get mails about request records that wait (CON-31).
sync::ApproverNoticeRules approver_notice_rules(const config::Settings& settings, store::Store& store);
/// The rules for validating and sending the CRM's request records (REQ-36). The result keeps references to
/// all arguments.
sync::RequestRecordRules request_record_rules(const config::Settings& settings, store::Store& store,
                                              crm::Crm& crm);

/// What bodies of gift requests may have.
validation::GiftRequestLimits gift_request_limits(const config::LimitSettings& settings);

/// The permission sets that give roles of the console (SIGN-10).
sync::CrmRoleRules crm_role_rules(const config::ConsoleSettings& settings);

}  // namespace giftsync::wiring
