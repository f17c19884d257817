#include "daemon/handlers/balance_handler.h"

#include "daemon/exports/export_values.h"
#include "daemon/http/problem.h"
#include "daemon/validation/gift_request_verdict.h"
#include "platform/json.h"

namespace giftsync::handlers {

http::Reply BalanceHandler::read(const http::HttpRequest& request, std::string_view) {
  const auto handle = [&](const store::ApiKeyOwner& caller) {
    auto limits = budgets_.budgets_of(caller.account.id, caller.account.organization);
    if (is_test_key(caller.key.prefix)) limits = sync::test_limits(std::move(limits));
    const auto used = usage_.find(limits);
    Json budgets = Json::array();
    for (std::size_t i = 0; i < limits.size(); ++i)
      budgets.push_back(validation::budget_json(limits[i], used[i]));
    Json data{{"budgets", std::move(budgets)}};
    exports::add_currency(data, currency_);
    return http::json_response(200, http::json_text({{"data", std::move(data)}}));
  };
  return authenticator_.handle_authenticated(request, Scope::read, handle);
}

}  // namespace giftsync::handlers
