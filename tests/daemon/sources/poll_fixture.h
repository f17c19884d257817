// A real store and a fake vendor whose feed can be made to fail, polled with an injected clock.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "daemon/sources/poll_step.h"
#include "tests/support/json.h"
#include "tests/support/temporary_store.h"

namespace giftsync::sources {

constexpr UtcMillis kStart{1'800'000'000'000};

/// Serves its events page by page: by cursor, by since-time or by links.
class FakeFeed {
 public:
  struct Event {
    std::int64_t id;
    std::string source_status;
    std::int64_t at_seconds;
  };
  std::vector<Event> events;
  std::size_t page_size = 2;
  bool links_next_page = true;
  std::int64_t since_resolution_millis = 1;      ///< truncates requested times to this unit
  std::deque<HttpGetResponse> queued_responses;  ///< returned first
  std::vector<HttpGetRequest> requests;
  std::function<void()> before_response = [] {};

  HttpGetResponse respond(const HttpGetRequest& request) {
    requests.push_back(request);
    const auto hook = before_response;  // it may replace itself
    hook();
    if (!queued_responses.empty()) {
      const HttpGetResponse queued = queued_responses.front();
      queued_responses.pop_front();
      return queued;
    }
    std::vector<Event> matching = events;
    if (const std::string since = parameter(request.url, "since"); !since.empty()) {
      const auto from = from_rfc3339(since);
      const std::int64_t cut = from->value - from->value % since_resolution_millis;
      std::erase_if(matching, [&](const Event& one) { return one.at_seconds * 1000 < cut; });
    }
    std::string begin_text = parameter(request.url, "after");
    if (begin_text.empty()) begin_text = parameter(request.url, "page");
    const std::size_t begin = begin_text.empty() ? 0 : std::stoul(begin_text);
    nlohmann::json data = nlohmann::json::array();
    std::size_t end = begin;
    for (; end < matching.size() && end < begin + page_size; ++end)
      data.push_back({{"id", matching[end].id},
                      {"what", matching[end].source_status},
                      {"at", matching[end].at_seconds}});
    HttpGetResponse response;
    response.status = 200;
    nlohmann::json document{{"data", data}, {"cursor", std::to_string(end)}};
    if (links_next_page && end < matching.size()) {
      std::string next =
          request.url.substr(0, request.url.find_first_of("?&") + 1) + "page=" + std::to_string(end);
      if (const auto since = parameter(request.url, "since"); !since.empty()) next += "&since=" + since;
      document["next"] = next;
      response.link = "<https://api.example.com/first>; rel=\"first\", <" + next + ">; rel=\"next\"";
    }
    response.body = document.dump();
    response.etag = "\"" + std::to_string(std::hash<std::string>()(response.body)) + "\"";
    for (const std::string& header : request.headers) {
      if (header != "If-None-Match: " + response.etag) continue;
      response = {};
      response.status = 304;
    }
    return response;
  }

  static std::string parameter(const std::string& url, const std::string& name) {
    const std::size_t at = url.find(name + "=");
    if (at == std::string::npos) return {};
    std::string value = url.substr(at + name.size() + 1);
    value.resize(std::min(value.find('&'), value.size()));
    for (std::size_t colon = value.find("%3A"); colon != std::string::npos; colon = value.find("%3A"))
      value.replace(colon, 3, ":");
    return value;
  }
};

inline HttpGetResponse http_status(int code, const std::string& retry_after = "") {
  HttpGetResponse response;
  response.status = code;
  response.retry_after = retry_after;
  return response;
}
inline HttpGetResponse json_page(const std::string& body) {
  HttpGetResponse response = http_status(200);
  response.body = body;
  return response;
}

class PollFixture : public ::testing::Test {
 protected:
  PollFixture() {
    settings_.name = "feed";
    settings_.kind = config::SourceKind::poll;
    settings_.url = "https://api.example.com/events";
    settings_.items = "/data";
    settings_.fields.transaction_id = "/id";
    settings_.fields.status = "/what";
    settings_.fields.occurred_at = "/at";
    settings_.headers = {{"Authorization", config::Secret("Bearer of news")}};
    use_cursor();
    health_monitor_.register_source("feed", "", now_);
  }
  void use_cursor() {
    settings_.cursor_pointer = "/cursor";
    settings_.cursor_parameter = "after";
  }
  void use_since(const std::string& next) {
    settings_.cursor_pointer = settings_.cursor_parameter = "";
    settings_.since = "since";
    settings_.overlap_seconds = 100;
    settings_.next = next;
    settings_.page_size = next.empty() ? 10 : 0;
  }
  PollStats step(const std::string& owner = "one") {
    const CompiledSource source = compile_source(settings_, "inst");
    PollContext context{*store_,
                        ingestor_,
                        health_monitor_,
                        [this](const HttpGetRequest& request, const auto&) { return feed_.respond(request); },
                        [this] { return now_; },
                        [this] { return random_; },
                        owner};
    return poll_step(source, context, [this] { return keep_going_; });
  }
  /// As at a restart or reload of the daemon.
  void restart_daemon() {
    EXPECT_TRUE(reschedule_if_reconfigured(compile_source(settings_, "inst"), *store_, "one", now_));
  }
  /// As the daemon does every few seconds; returns how many waits it ended.
  std::size_t release_implausible_waits() {
    return release_implausible_poll_waits({compile_source(settings_, "inst")}, *store_, now_).size();
  }
  store::SourceSummary source_row() { return store_->sources.list().front(); }
  std::size_t change_count(TransactionId id) { return store_->changes.history(id).size(); }
  void wait(std::int64_t seconds) { now_ = now_ + seconds * 1000; }

  UtcMillis now_ = kStart;
  double random_ = 0.5;
  bool keep_going_ = true;
  config::SourceSettings settings_;
  tests::TemporaryStore store_;
  SourceHealthMonitor health_monitor_{*store_};
  int wake_count_ = 0;
  EventIngestor ingestor_{*store_, health_monitor_, [this] { ++wake_count_; }};
  FakeFeed feed_;
};

constexpr std::int64_t kAt = 1'799'990'000;

/// A page of one event with the given continuation.
inline HttpGetResponse single_event_page(TransactionId id, const std::string& key, const std::string& value) {
  return json_page(R"({"data":[{"id":)" + std::to_string(id.value) + R"(,"what":"opened","at":)" +
                   std::to_string(kAt) + R"(}],")" + key + R"(":")" + value + R"("})");
}

}  // namespace giftsync::sources
