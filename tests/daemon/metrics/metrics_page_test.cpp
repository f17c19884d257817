// What a scrape gets: every metric of the documents and no other, few series however much an installation
// has, and what is in memory while the store does not respond.
#include "daemon/metrics/metrics_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <future>
#include <regex>
#include <set>
#include <sstream>

#include "daemon/metrics/store_gauges.h"
#include "daemon/wiring/database_config.h"
#include "platform/clock.h"
#include "platform/dependency_error.h"
#include "tests/source_folder.h"
#include "tests/support/store_fixture.h"

namespace giftsync::metrics {
namespace {

using std::chrono::milliseconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr UtcMillis kNow{1'800'000'000'000};

http::HttpResponse get(MetricsPage& page, const std::string& path = "/metrics",
                       const std::string& method = "GET") {
  http::HttpRequest request;
  request.method = method;
  request.path = path;
  return page.handle(request);
}

/// The lines that are no comments.
std::vector<std::string> series_of(const std::string& text) {
  std::vector<std::string> series;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && line.front() != '#') series.push_back(line);
  return series;
}

std::set<std::string> names_in(const std::string& text, const std::regex& form) {
  std::set<std::string> names;
  for (auto match = std::sregex_iterator(text.begin(), text.end(), form); match != std::sregex_iterator();
       ++match)
    names.insert((*match)[1]);
  return names;
}

std::vector<Gauge> nothing() {
  return {};
}

// OPS-40
TEST(Metrics, CountsResponsesByGroupAndOutcome) {
  Metrics metrics(kNow);
  metrics.count_response({http::RouteGroup::gift_requests, 201, milliseconds(4)});
  metrics.count_response({http::RouteGroup::gift_requests, 503, milliseconds(300)});
  metrics.count_response({http::RouteGroup::other, 408, {}});
  metrics.count_response({http::RouteGroup::other, 404, milliseconds(1)});
  const std::vector<std::string> series = series_of(metrics.text({}));
  for (const char* line :
       {"giftsync_http_requests_total{code=\"2xx\",group=\"gift_requests\"} 1",
        "giftsync_http_requests_total{code=\"5xx\",group=\"gift_requests\"} 1",
        "giftsync_http_requests_total{code=\"4xx\",group=\"other\"} 2",
        "giftsync_http_requests_total{code=\"2xx\",group=\"console\"} 0",
        "giftsync_http_refusals_total{reason=\"unavailable\"} 1",
        "giftsync_http_refusals_total{reason=\"timeout\"} 1",
        "giftsync_http_refusals_total{reason=\"unauthorized\"} 0",
        "giftsync_http_request_duration_seconds_bucket{group=\"gift_requests\",le=\"0.005\"} 1",
        "giftsync_http_request_duration_seconds_count{group=\"gift_requests\"} 2",
        "giftsync_http_request_duration_seconds_count{group=\"other\"} 1"})
    EXPECT_THAT(series, Contains(line));
}

// OPS-48
TEST(Metrics, SayWhetherTheCertificateInUseIsValid) {
  Metrics metrics(kNow);
  EXPECT_THAT(series_of(metrics.text({})), Not(Contains(HasSubstr("giftsync_certificate_"))));
  const CertificateDates dates{kNow, kNow + kDayMillis};
  const auto valid_at = [&](UtcMillis now) {
    metrics.certificate_in_use(dates, now);
    const std::vector<std::string> series = series_of(metrics.text({}));
    EXPECT_THAT(series, Contains(HasSubstr("giftsync_certificate_expiry_timestamp_seconds 18000")));
    return std::find(series.begin(), series.end(), "giftsync_certificate_valid 1") != series.end();
  };
  EXPECT_TRUE(valid_at(kNow));
  EXPECT_FALSE(valid_at(kNow - 1));
  EXPECT_FALSE(valid_at(kNow + kDayMillis));
}

// OPS-40
TEST(Metrics, CountsWhatABatchDidAndHowLateItWas) {
  Metrics metrics(kNow);
  sync::SyncStepStats stats;
  stats.claimed = 3;
  stats.created = 2;
  stats.failed = 1;
  stats.reached[static_cast<std::size_t>(Status::delivered)] = 2;
  stats.written_since = {kNow - 400, kNow - 20'000};
  metrics.count_batch(stats, kNow);
  metrics.count_failed_batch();
  metrics.count_batch({}, kNow);  // nothing was due: it says nothing about the CRM
  const std::vector<std::string> series = series_of(metrics.text({}));
  for (const char* line :
       {"giftsync_gift_status_changes_total{status=\"delivered\"} 2",
        "giftsync_gift_status_changes_total{status=\"redeemed\"} 0",
        "giftsync_sync_lag_seconds_bucket{le=\"0.5\"} 1", "giftsync_sync_lag_seconds_bucket{le=\"10\"} 1",
        "giftsync_sync_lag_seconds_bucket{le=\"30\"} 2", "giftsync_sync_lag_seconds_sum 20.4",
        "giftsync_crm_records_total{outcome=\"created\"} 2",
        "giftsync_crm_records_total{outcome=\"failed\"} 1",
        "giftsync_crm_batches_total{outcome=\"written\"} 1",
        "giftsync_crm_batches_total{outcome=\"failed\"} 1", "giftsync_crm_up 0"})
    EXPECT_THAT(series, Contains(line));
}

// OPS-40
TEST(MetricsPage, ServesItsPathAlone) {
  const Metrics metrics(kNow);
  MetricsPage page(metrics, nothing, nothing);
  EXPECT_EQ(get(page).status, 200);
  EXPECT_EQ(get(page, "/metrics", "HEAD").status, 200);
  EXPECT_EQ(get(page, "/metrics", "POST").status, 405);
  for (const char* path : {"/", "/-/ready", "/console", "/api/v1/gift_requests", "/metrics/"})
    EXPECT_EQ(get(page, path).status, 404) << path;
}

// OPS-41
TEST(MetricsPage, AStoreThatFailsIsLeftOut) {
  const Metrics metrics(kNow);
  MetricsPage page(
      metrics,
      [] {
        return std::vector<Gauge>{{"giftsync_of_memory", "", {{7}}}};
      },
      []() -> std::vector<Gauge> { throw DependencyError(true, "no connection"); });
  const std::vector<std::string> series = series_of(get(page).body);
  EXPECT_THAT(series, Contains("giftsync_store_up 0"));
  EXPECT_THAT(series, Contains("giftsync_of_memory 7"));
  EXPECT_THAT(series, Contains(HasSubstr("giftsync_http_requests_total")));
}

// OPS-41
TEST(MetricsPage, AStoreThatHangsIsReadByOneThreadAlone) {
  const Metrics metrics(kNow);
  std::promise<void> responds;
  std::atomic<int> readings = 0;
  MetricsPage page(
      metrics, nothing,
      [&, wait = responds.get_future().share()] {
        ++readings;
        wait.wait();
        return std::vector<Gauge>{{"giftsync_of_store", "", {{5}}}};
      },
      milliseconds(20));
  for (int scrape = 0; scrape < 2; ++scrape) {
    const std::vector<std::string> series = series_of(get(page).body);
    EXPECT_THAT(series, Contains("giftsync_store_up 0"));
    EXPECT_THAT(series, Not(Contains("giftsync_of_store 5")));
  }
  EXPECT_EQ(readings, 1);
  responds.set_value();
  // The reading that ended is used by a scrape that waited for it, or the next one reads again.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  std::vector<std::string> series;
  do series = series_of(get(page).body);
  while (!testing::Matches(Contains("giftsync_of_store 5"))(series) &&
         std::chrono::steady_clock::now() < deadline);
  EXPECT_THAT(series, Contains("giftsync_store_up 1"));
}

class StoreMetrics : public tests::StoreFixture {
 protected:
  void SetUp() override {
    StoreFixture::SetUp();
    if (IsSkipped()) return;
    settings_.store.backend =
        dialect() == sql::Dialect::sqlite ? config::StoreBackend::sqlite : config::StoreBackend::postgresql;
    settings_.store.connection = address().connection;
  }

  /// A whole scrape.
  std::string scrape() {
    StoreGauges gauges(settings_, *store_);
    MetricsPage page(
        metrics_,
        [] {
          return std::vector<Gauge>{
              {"giftsync_worker_heartbeat_age_seconds", "", {{0, {{"worker", "sync"}}}}},
              {"giftsync_clock_ahead_seconds", "", {{0}}}};
        },
        [&] { return gauges.read(kNow); });
    return get(page).body;
  }

  config::Settings settings_;
  Metrics metrics_{kNow};
};
INSTANTIATE_TEST_SUITE_P(BackEnds, StoreMetrics,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// OPS-40
TEST_P(StoreMetrics, EachOneIsInTheDocuments) {
  std::ifstream file(std::string(kSourceFolder) + "/docs/operations/monitoring.md");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(names_in(scrape(), std::regex("# TYPE (giftsync_[a-z0-9_]+) ")),
            names_in(page, std::regex(R"(\| `(giftsync_[a-z0-9_]+)` \|)")));
}

// OPS-40
TEST_P(StoreMetrics, AnInstallationWithManySourcesAndAccountsHasFewSeriesAndNamesNoOne) {
  for (int i = 0; i < 200; ++i) {
    const std::string name = "source-" + std::to_string(1000 + i);
    settings_.sources.emplace_back().name = name;
    store_->sources.open(name, "", kNow);
    store::Account account;
    account.email = "person" + std::to_string(i) + "@example.com";
    account.name = "Person " + std::to_string(i);
    const AccountId id = store_->accounts.create(account).value();
    store::Credential key;
    key.account = id;
    key.prefix = "gsk_live_" + std::to_string(1'000'000 + i);
    key.hash = std::to_string(i);
    key.created_at = kNow;
    key.id = store_->credentials.insert(key);
    ASSERT_TRUE(store_->credentials.pause(key, "too many", kNow));
  }
  one_gift();
  const std::string text = scrape();
  const std::vector<std::string> series = series_of(text);
  EXPECT_LE(series.size(), 500u);
  EXPECT_THAT(series, Contains("giftsync_paused_credentials 200"));
  EXPECT_THAT(series, Contains("giftsync_sources{state=\"new\"} 200"));
  EXPECT_THAT(series, Contains("giftsync_source_up{source=\"source-1000\"} 1"));
  EXPECT_THAT(text, Not(HasSubstr("example.com")));
  EXPECT_THAT(text, Not(HasSubstr("erson ")));
  EXPECT_THAT(text, Not(HasSubstr("gsk_live")));
}

// OPS-40
TEST_P(StoreMetrics, SaysWhatWaitsAndForHowLong) {
  one_gift();
  sql("UPDATE mail_outbox SET next_attempt_at = " + std::to_string(kNow.value - 90'000));
  sql("UPDATE crm_outbox SET next_attempt_at = " + std::to_string(kNow.value - 60'000));
  sql("UPDATE recipient_transaction SET due_at = " + std::to_string(kNow.value - 30'000));
  settings_.sources.emplace_back().name = "vendor";
  store_->sources.open("vendor", "", kNow);
  store_->sources.open("removed", "", kNow);
  sql("UPDATE source SET state = 'failing', last_received_at = 1799999000000, refused_in_row = 3");
  ASSERT_TRUE(store_->mail_pauses.begin({kNow, "root", ""}));
  const std::vector<std::string> series = series_of(scrape());
  for (const char* line :
       {"giftsync_mail_outbox_mails{state=\"queued\"} 1", "giftsync_mail_oldest_due_age_seconds 90",
        "giftsync_mail_paused{by=\"admin\"} 1", "giftsync_mail_paused{by=\"relay\"} 0",
        "giftsync_crm_outbox_gifts 1", "giftsync_crm_oldest_due_age_seconds 60", "giftsync_timers_due 1",
        "giftsync_timers_oldest_due_age_seconds 30", "giftsync_sources{state=\"failing\"} 1",
        "giftsync_source_up{source=\"vendor\"} 0", "giftsync_source_refused_in_row{source=\"vendor\"} 3",
        "giftsync_source_last_event_timestamp_seconds{source=\"vendor\"} 1799999000", "giftsync_store_up 1"})
    EXPECT_THAT(series, Contains(line));
  EXPECT_THAT(series, Not(Contains(HasSubstr("removed"))));
  EXPECT_THAT(series, Contains(HasSubstr("giftsync_store_size_bytes ")));
}

// TEST-1, OPS-40
TEST_P(StoreMetrics, LeavesTestGiftsOut) {
  store::NewGiftRequest request = request_for(1);
  request.request.credential_prefix = "gsk_test_abcdefg";
  request.request.is_test = true;
  store_->gifts.create(std::span(&request, 1));
  sql("UPDATE recipient_transaction SET due_at = 5");
  const std::vector<std::string> series = series_of(scrape());
  for (const char* line : {"giftsync_mail_outbox_mails{state=\"queued\"} 0", "giftsync_crm_outbox_gifts 0",
                           "giftsync_mail_oldest_due_age_seconds 0", "giftsync_crm_oldest_due_age_seconds 0",
                           "giftsync_timers_due 0", "giftsync_timers_oldest_due_age_seconds 0"})
    EXPECT_THAT(series, Contains(line));
}

}  // namespace
}  // namespace giftsync::metrics
