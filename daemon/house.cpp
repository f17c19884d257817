#include "daemon/house.h"

#include <spdlog/spdlog.h>

#include "daemon/clock.h"
#include "daemon/crm_of_settings.h"
#include "daemon/crypto/link_token.h"
#include "daemon/crypto/random.h"
#include "daemon/gift_writer.h"
#include "daemon/http/crm_send_door.h"
#include "daemon/http/gift_api.h"
#include "daemon/http/http_front.h"
#include "daemon/http/request_log.h"
#include "daemon/http/request_record_api.h"
#include "daemon/http/router.h"
#include "daemon/http/sso_metadata.h"
#include "daemon/life_of_settings.h"
#include "daemon/loops/loop.h"
#include "daemon/machine_name.h"
#include "daemon/mail/delivery_step.h"
#include "daemon/note_limit.h"
#include "daemon/options_of_settings.h"
#include "daemon/pages/gift_pages.h"
#include "daemon/ready_database.h"
#include "daemon/request_rules.h"
#include "daemon/secret_of_store.h"
#include "daemon/sources/source_room.h"
#include "daemon/sync_room.h"
#include "schema/answer_watch.h"
#include "schema/broken_world.h"
#include "schema/store/store.h"
#include "sync/false_waits.h"
#include "sync/lifecycle_rules.h"
#include "sync/lifecycle_step.h"
#include "sync/own_ids.h"
#include "sync/request_step.h"

namespace giftsync::daemon {
namespace {

constexpr std::int64_t kStopGraceMillis = 10'000;
constexpr std::int64_t kHousekeepingPaceMillis = 15'000;
constexpr std::int64_t kTimerPaceMillis = 1'000;
constexpr std::size_t kMostNotesForgotten = 1'000;
constexpr std::int64_t kIdempotencyLifeMillis = 8 * schema::kDayMillis;
/// A mail may take as long as its lease; everything else is done in seconds.
constexpr std::int64_t kLongestSilenceMillis = 180'000;
constexpr std::int64_t kLongestUnansweredMillis = 10'000;

void log_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) spdlog::warn("{}", note);
}

}  // namespace

/// In the order in which they are built; destroyed the other way round.
struct House::Rooms {
  Rooms(const Settings& given, TimerClock& given_timer_clock);
  /// Loops are asked to end, doors are closed, loops are awaited; also when a later step of opening failed.
  ~Rooms();

  Answers who_answers();
  void open_doors();
  void tell_of_pause();
  void start_loops();
  void break_old_leases();
  void start_ids();
  void keep_ids_free();
  bool deliver(Loop& loop);
  bool see_to_requests();
  bool look_at_deadlines();
  bool keep_house(Loop& loop);
  void end_false_waits();
  void forget_request_notes(Loop& loop);

  const Settings settings;
  TimerClock& timer_clock;
  schema::Store store;
  schema::AnswerWatch answers{{}};  ///< from here on; a migration may take long
  const LinkSigner signer;
  const std::unique_ptr<schema::Crm> crm;
  const std::unique_ptr<MailTransport> transport;
  const GiftLinks links;
  DeliveryRules delivery_rules;
  sync::RequestRules request_rules;
  SyncRoom sync;
  GiftWriter writer;
  KeyGate gate;
  GiftApi api;
  GiftPages pages;
  const std::string installation;  ///< the store's own name, in the ids of its mails
  SourceRoom sources;
  CrmSendDoor crm_door;
  RequestRecordApi records;
  RequestLog request_log{system_now};
  Router router;
  std::string owner;
  NoteLimit delivery_notes;  ///< each its loop's own
  NoteLimit request_notes;
  NoteLimit house_notes;
  std::unique_ptr<HttpFront> front;
  std::unique_ptr<HttpFront> admin_front;  ///< only with server.admin_listen
  std::unique_ptr<Loop> delivery_loop;
  std::unique_ptr<Loop> housekeeping_loop;
  std::unique_ptr<Loop> timer_loop;
  std::unique_ptr<Loop> request_loop;  ///< only with requests.enabled

  void wake_loops() {
    sync.wake();
    if (delivery_loop) delivery_loop->wake();
  }
};

House::Rooms::Rooms(const Settings& given, TimerClock& given_timer_clock)
    : settings(given),
      timer_clock(given_timer_clock),
      store(ready_database(settings)),
      signer(secret_of_store(settings, store)),
      crm(make_crm(settings)),
      transport(make_transport(settings.email)),
      links(settings.server.base_url, signer),
      sync(store, *crm, sync_rules_with(settings, links),
           [this](const schema::BrokenWorld& fault) { return sync_fault_words(settings, fault); }),
      writer(store.gifts),
      gate(store.accounts, system_now, settings.limits.requests_per_minute),
      api(store, writer, gate, links, api_options(settings.limits), system_now, [this] { wake_loops(); }),
      pages(store, links, face_of(settings.pages),
            {settings.server.base_url, settings.pages.language, settings.pages.charities,
             settings.catalogue.few_codes, system_now, [this] { sync.wake(); }}),
      installation(store.settle_fact("installation", random_hex(8))),
      sources(
          settings.sources, installation, store, [this] { sync.wake(); },
          static_cast<std::size_t>(settings.limits.body_bytes)),
      crm_door(store, *crm, api, api_options(settings.limits), settings.limits.requests_per_minute,
               system_now, crm_has_users(settings)),
      records(
          store, *crm, gate, links, settings.requests, static_cast<std::size_t>(settings.limits.body_bytes),
          [this] { return store.requests.now(); },
          [this] {
            if (request_loop) request_loop->wake();
          }),
      router(
          who_answers(),
          [this] {
            // One more who waits would be no wiser.
            if (schema::oldest_transaction_millis() > kLongestUnansweredMillis) return false;
            store.check_writable();
            return true;
          },
          request_log, system_now) {
  store.gifts.stamp_with(
      sync::stamp_of(lifecycle_terms(settings.lifecycle), settings.lifecycle.expire_unopened_link_days));
  delivery_rules = daemon::delivery_rules(settings, installation, links);
  request_rules = daemon::request_rules(settings, store, *crm);
  start_ids();
}

/// The table of routes says what for (http/routes.h).
Answers House::Rooms::who_answers() {
  using Request = const HttpRequest&;
  using Named = std::string_view;
  using schema::SendMode;
  return {
      .send_by_email = [this](Request request, Named) { return api.create(request, SendMode::email); },
      .read_request = [this](Request request, Named id) { return api.read(request, id); },
      .page = [this](Request request, Named token) { return pages.answer(request, token); },
      .hand_out_urls = [this](Request request, Named) { return api.create(request, SendMode::urls); },
      .send_from_crm = [this](Request request, Named) { return crm_door.answer(request); },
      .metadata = [this](Request, Named connection) { return metadata_answer(settings.sso, connection); },
      .status_changes = [this](Request request, Named source) { return sources.answer(request, source); },
      .make_record = [this](Request request, Named) { return records.create(request); },
      .read_record = [this](Request request, Named number) { return records.read(request, number); },
      .approve_record =
          [this](Request request, Named number) {
            return records.decide(request, number, sync::RequestAct::approve);
          },
      .reject_record =
          [this](Request request, Named number) {
            return records.decide(request, number, sync::RequestAct::reject);
          },
  };
}

/// Own ids begin where the settings say and above whatever the CRM already has (design 3.1).
void House::Rooms::start_ids() {
  constexpr const char* kLookedUpTo = "transaction_ids_looked_up_to";
  const schema::TransactionId looked_up_to{std::atoll(store.fact(kLookedUpTo).value_or("0").c_str())};
  const sync::FirstOwnId first =
      sync::first_own_id(store.gifts, *crm, {settings.store.first_transaction_id}, looked_up_to);
  store.gifts.start_transaction_ids_at(first.id);
  if (first.looked_up_to != looked_up_to)
    store.set_fact(kLookedUpTo, std::to_string(first.looked_up_to.value));
  keep_ids_free();
}

void House::Rooms::keep_ids_free() {
  while (const auto id = sync::first_id_above_strangers(store.gifts, *crm)) {
    store.gifts.start_transaction_ids_at(*id);
    spdlog::info(
        "the CRM has gift records that giftsync does not know, with ids that ours would soon come to; "
        "new gifts have ids from {} on",
        id->value);
  }
}

void House::Rooms::open_doors() {
  const bool one_door = settings.server.admin_listen.empty();
  front = std::make_unique<HttpFront>(front_options(settings, settings.server.listen),
                                      [this, one_door](const HttpRequest& request) {
                                        return router.answer(request, {true, one_door});
                                      });
  if (!one_door) {
    admin_front = std::make_unique<HttpFront>(front_options(settings, settings.server.admin_listen),
                                              [this](const HttpRequest& request) {
                                                return router.answer(request, {false, true});
                                              });
  }
}

/// Nobody else can listen where this daemon does, so whoever held leases under its name is dead.
void House::Rooms::break_old_leases() {
  owner = machine_name() + " " + front->listens_on();
  store.deliveries.break_leases(owner);
  store.deliveries.cut_leases(kSendingLeaseMillis);
  delivery_rules.owner = owner;
}

/// The log of the daemon before may be far away.
void House::Rooms::tell_of_pause() {
  const std::optional<schema::DeliveryPause> pause = store.deliveries.pause();
  if (!pause) return;
  spdlog::warn("the outbox has been resting since {}, {} failures, next try {}: {}",
               schema::to_rfc3339(pause->since), pause->failures, schema::to_rfc3339(pause->until),
               pause->reason);
}

void House::Rooms::start_loops() {
  end_false_waits();
  tell_of_pause();
  const auto give_way = [this] { return writer.is_crowded(); };
  sync.start(owner, give_way);
  delivery_loop =
      std::make_unique<Loop>(Loop::Work{"delivery", 500, [this](Loop& loop) { return deliver(loop); },
                                        [this] { store.deliveries.break_leases(owner); }, give_way});
  timer_loop = std::make_unique<Loop>(
      Loop::Work{"timers", kTimerPaceMillis, [this](Loop&) { return look_at_deadlines(); }, [] {}, give_way});
  housekeeping_loop = std::make_unique<Loop>(
      Loop::Work{"housekeeping", kHousekeepingPaceMillis, [this](Loop& loop) { return keep_house(loop); }});
  if (settings.requests.enabled) {
    crm->note_open_requests();  // whatever was restored or loaded past the triggers
    request_loop = std::make_unique<Loop>(
        Loop::Work{"requests", 500, [this](Loop&) { return see_to_requests(); }, [] {}, give_way});
  }
  sources.start_polls(owner);
}

bool House::Rooms::see_to_requests() {
  const sync::RequestReport report = sync::request_step(store, *crm, request_rules, store.requests.now());
  log_notes(request_notes.lines(report.notes, system_now()));
  if (report.sent > 0) {
    spdlog::info("requests: {} sent", report.sent);
    wake_loops();
  }
  return report.more;
}

bool House::Rooms::look_at_deadlines() {
  const std::optional<schema::UtcMillis> now = timer_clock.now();
  if (!now) return false;
  const sync::LifecycleReport report = sync::lifecycle_step(store, *now);
  if (report.expired + report.refunded + report.reminded > 0) {
    spdlog::info("timers: {} gifts expired, {} refunded, {} reminders", report.expired, report.refunded,
                 report.reminded);
    wake_loops();
  }
  return report.more;
}

bool House::Rooms::deliver(Loop& loop) {
  const auto wanted = [&loop] { return loop.alive_and_wanted(); };
  delivery_rules.policy.may_give_up = timer_clock.now().has_value();
  const DeliveryReport report = delivery_step(store, *transport, delivery_rules, system_now, wanted);
  log_notes(delivery_notes.lines(report.notes, system_now()));
  for (const std::string& one : report.news) spdlog::info("{}", one);
  if (report.accepted > 0) {
    spdlog::debug("delivery: {} mails handed over", report.accepted);
    sync.wake();
  }
  return report.more;
}

/// Also while the daemon runs: the clock may be put right at any time.
void House::Rooms::end_false_waits() {
  const schema::UtcMillis now = system_now();
  std::vector<std::string> notes;
  if (const std::string words = in_words(sync::end_false_waits(store, now, store.requests.now()));
      !words.empty())
    notes.push_back(words);
  for (const std::string& source : sources.end_false_waits(now))
    notes.push_back("source " + source +
                    ": it would wait longer than it ever has to, for the time of a clock " +
                    "that was ahead; it is asked now");
  log_notes(house_notes.lines(notes, now));
}

bool House::Rooms::keep_house(Loop& loop) {
  end_false_waits();
  store.changes.release_held(system_now());
  gate.write_uses();
  request_log.catch_up();
  router.catch_up();
  // A call that is repeated after its key is forgotten sends a second gift.
  if (const auto now = timer_clock.now()) {
    store.gifts.prune_idempotency(*now - kIdempotencyLifeMillis);
    store.requests.prune_makings(*now - kIdempotencyLifeMillis);
  }
  if (!settings.requests.enabled && crm->has_requests()) forget_request_notes(loop);
  sources.keep_house(system_now(), [&loop] { return loop.alive_and_wanted(); });
  keep_ids_free();
  return false;
}

/// Nobody looks at them: requests are not in use. Once they are, every open request is looked at.
void House::Rooms::forget_request_notes(Loop& loop) {
  while (loop.alive_and_wanted()) {
    std::vector<std::int64_t> notes;
    for (const schema::RequestNote& note : crm->request_notes(kMostNotesForgotten)) notes.push_back(note.id);
    if (notes.empty()) return;
    crm->settle_request_notes(notes);
  }
}

House::House(const Settings& settings, TimerClock& timer_clock)
    : rooms_(std::make_unique<Rooms>(settings, timer_clock)) {
  rooms_->open_doors();
  rooms_->break_old_leases();
  rooms_->start_loops();
  rooms_->front->start();
  if (rooms_->admin_front) rooms_->admin_front->start();
}

House::~House() = default;

House::Rooms::~Rooms() {
  for (const auto* loop : {&request_loop, &timer_loop, &delivery_loop, &housekeeping_loop}) {
    if (*loop) (*loop)->request_stop();
  }
  sync.request_stop();
  sources.request_stop();
  if (front) front->stop(kStopGraceMillis);
  if (admin_front) admin_front->stop(kStopGraceMillis);
  sources.stop();
  request_loop.reset();  // it wakes the others
  timer_loop.reset();    // likewise
  delivery_loop.reset();
  housekeeping_loop.reset();
  sync.stop();  // the others wake it
  try {
    gate.write_uses();
  } catch (const schema::BrokenWorld& fault) {
    spdlog::warn("the last uses of API keys were not written down: {}", fault.what());
  }
}

std::vector<std::string> House::listens_on() const {
  std::vector<std::string> addresses{rooms_->front->listens_on()};
  if (rooms_->admin_front) addresses.push_back(rooms_->admin_front->listens_on());
  return addresses;
}

bool House::loops_alive() const {
  for (const auto* loop : {rooms_->delivery_loop.get(), rooms_->housekeeping_loop.get(),
                           rooms_->timer_loop.get(), rooms_->request_loop.get()}) {
    if (loop && loop->silent_millis() > kLongestSilenceMillis) return false;
  }
  return rooms_->sync.alive(kLongestSilenceMillis) && rooms_->sources.alive(kLongestSilenceMillis);
}

}  // namespace giftsync::daemon
