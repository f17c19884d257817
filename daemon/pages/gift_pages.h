// daemon/pages: from a link's token to the gift's page, and from what is posted there to the gift's outcome
// (design 3.5). Looking changes nothing. A decision is made by sync::choose in one transaction, and answered
// with the way back to the page, which then tells what stands: to reload or to post again does no harm. Any
// thread.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "daemon/clock.h"
#include "daemon/http/gift_links.h"
#include "daemon/http/http_message.h"
#include "daemon/pages/gift_page.h"
#include "daemon/pages/guess_limit.h"
#include "daemon/settings/settings.h"
#include "schema/store/store.h"
#include "sync/status_rules.h"

namespace giftsync::daemon {

struct GiftPagesOptions {
  std::string base_url;
  std::string language = "en";
  std::vector<CharitySettings> charities = {};
  std::int64_t few_codes = 20;
  Clock clock = system_now;
  std::function<void()> wake_sync = [] {};
};

class GiftPages {
 public:
  GiftPages(schema::Store& store, const GiftLinks& links, PageFace face, GiftPagesOptions options)
      : store_(store), links_(links), face_(std::move(face)), options_(std::move(options)) {}

  /// The page of the gift that the token opens; 404 for other tokens and for gifts that were sent elsewhere,
  /// 410 for one that a newer link replaced, 429 for a client that tries many. `rest` is what follows
  /// GiftLinks::kPath: a token, or the logo's name.
  HttpResponse answer(const HttpRequest& request, std::string_view rest);

 private:
  struct Visit;
  HttpResponse unknown(const HttpRequest& request, const Words& words);
  HttpResponse logo() const;
  HttpResponse show(const Visit& visit);
  HttpResponse act(const Visit& visit);
  HttpResponse decide(const Visit& visit, schema::Status choice, const schema::HandOut& hand_out);
  HttpResponse donate(const Visit& visit, const std::string& charity);
  GiftPageFacts facts_of(const Visit& visit);
  void add_item(GiftPageFacts& facts, const Visit& visit);
  bool is_old(const schema::RecipientTransaction& seen);
  void watch_codes(const schema::Gift& gift, bool ran_out);

  schema::Store& store_;
  const GiftLinks& links_;
  const PageFace face_;
  const GiftPagesOptions options_;
  GuessLimit guesses_;
  std::mutex mutex_;
  /// Guarded by mutex_: when it was last told that an item's codes run out, and that they have run out.
  std::map<std::pair<schema::GiftId, bool>, schema::UtcMillis> warned_;
};

}  // namespace giftsync::daemon
