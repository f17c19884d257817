// daemon/handlers: GET {base_url}/api/v1/balance: what is left of the budgets that a gift request of the
// key's account must fit in (HTTP-53).
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "daemon/http/authenticator.h"
#include "daemon/http/http_message.h"
#include "schema/store/gift/sending_usage.h"
#include "sync/access/sending_budgets.h"

namespace giftsync::handlers {

/// Any thread. Throws DependencyError when the store fails. `currency`: of the amounts, may be empty. The
/// arguments must outlive it.
class BalanceHandler {
 public:
  BalanceHandler(sync::SendingBudgets& budgets, store::SendingUsage& usage,
                 http::Authenticator& authenticator, std::string currency = {})
      : budgets_(budgets), usage_(usage), authenticator_(authenticator), currency_(std::move(currency)) {}

  http::Reply read(const http::HttpRequest& request, std::string_view);

 private:
  sync::SendingBudgets& budgets_;
  store::SendingUsage& usage_;
  http::Authenticator& authenticator_;
  const std::string currency_;
};

}  // namespace giftsync::handlers
