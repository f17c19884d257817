// To whom a gift to any address would be matched now (CON-23).
#include "daemon/console/crm_questions.h"
#include "daemon/console/match_answer.h"
#include "daemon/console/pages.h"
#include "platform/text.h"
#include "schema/contact_normalization.h"

namespace giftsync::daemon::console {

http::HttpResponse match_page(const PageCall& call) {
  // The CRM is that of all organizations; and the id that an address leads to finds the gifts to it (CON-16).
  if (call.viewer().organization || call.viewer().is_masked()) return not_found(call);
  const std::string email(platform::trimmed(field(parameters_of(call), "email")));
  const std::string phone(platform::trimmed(field(parameters_of(call), "phone")));
  Data data;
  Data form;
  const bool is_paid = call.console.options.crm.is_paid;
  form.set("method", std::string(is_paid ? "post" : "get"));
  form.set("email", email);
  form.set("phone", phone);
  set_ask(call, "/match", sync::kMaxExplanationLookups, form);
  data.set("form", form);
  const bool is_empty = email.empty() && phone.empty();
  if (is_empty && (parameters_of(call).contains("email") || parameters_of(call).contains("phone")))
    data.set("nothing_given", true);
  if (asks_crm(call) && !is_empty) {
    const schema::crm::MatchFields& fields = call.console.options.crm.rules.match_fields;
    const schema::crm::RecipientMatchKeys keys =
        schema::crm::match_keys_of(email, phone, fields.default_region);
    const auto fault = schema::email_error(email);
    if (!email.empty() && fault) data.set("email_fault", texts().text("odd_email", {{"reason", *fault}}));
    if (keys.has_unusable_phone)
      data.set("phone_fault", texts().text("odd_phone", {{"region", fields.default_region}}));
    const std::string away = ask_crm(call, [&](schema::crm::Crm& crm) {
      set_explanation(call, sync::explain_match(crm.directory(), fields, keys), data);
    });
    set_outcome(call, away, data);
  }
  return page(call, "match", texts().text("match_title"), std::move(data));
}

}  // namespace giftsync::daemon::console
