# scripts/bench --what webhooks: webhook messages of one signed change each from 64 keep-alive clients, against a C program
# that writes the same rows in groups; and how long /-/ready takes meanwhile. --what messages: messages of 100 changes from
# 8 clients to two daemons on one PostgreSQL. Sourced by scripts/bench; uses its functions and variables.

readonly bench_gifts=20000  # as in webhook_writes.h
export BENCH_GIFTS=$bench_gifts BENCH_SECRET=0123456789abcdef0123456789abcdef

# A store with gifts and one webhook source; its daemon is started. With a second argument that daemon's port is another one,
# in a folder of its own.
set_up_webhooks() {
  local backend=$1
  set_up "$backend"
  cat >>giftsyncd.yaml <<YAML
sources:
  - name: vendor
    type: webhook
    signature: hmac
    signature_header: X-Signature
    secret: $BENCH_SECRET
    fields: { transaction_id: /id, status: /what, occurred_at: /at }
YAML
  start_daemon  # creates the server secret, which happens for an unused store only
  stop_daemon
  local numbers="WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $bench_gifts)"
  change_store "$backend" "
    INSERT INTO gift_request (id, account_id, mode, gift_id, item_name, item_description, item_cost, shipping_cost,
        carbon_neutral_cost, transaction_fee, sender_email, sender_name, created_at)
      $numbers SELECT i, 1, 'urls', 101, '$BENCH_ITEM_NAME', '', 500, 250, 10, 35, '$BENCH_SENDER_EMAIL', '', 1767225600000
      FROM n;
    INSERT INTO recipient_transaction (id, request_id, position, email, first_name, last_name, message, generation, status,
        sent_at, version)
      $numbers SELECT i, i, 0, 'recipient-' || i || '@example.com', '', '', '', 0, 'sent', 1767225600000, 1 FROM n;
    UPDATE id_block SET next_id = $bench_gifts + 1 WHERE name IN ('gift_request', 'recipient_transaction')"
}

# post_messages PORT CLIENTS CHANGES PROCESS
post_messages() {
  BENCH_CHANGES=$3 BENCH_PROCESS=$4 wrk --threads "$(($2 < 2 ? $2 : 2))" --connections "$2" --duration "${seconds}s" \
    --timeout 20s --script "$root/tests/bench/webhook.lua" "http://127.0.0.1:$1/api/v1/webhooks/status_changes/vendor" |
    tail -n 1
}

# Prints the longest time of /-/ready in milliseconds while process `$1` runs.
slowest_ready() {
  local begun took worst=0
  while kill -0 "$1" 2>/dev/null; do
    begun=${EPOCHREALTIME/./}
    is_ready || { echo 99999; return; }
    took=$(((${EPOCHREALTIME/./} - begun) / 1000))
    ((took <= worst)) || worst=$took
    sleep 0.05
  done
  echo "$worst"
}

webhooks_turn() {
  local backend=$1 round=$2 posting ready stored
  set_up_webhooks "$backend"
  start_daemon
  post_messages "$port" $clients 1 0 >"$work/posted.json" &
  posting=$!
  ready=$(slowest_ready $posting)
  wait $posting
  stop_daemon
  stored=$(query "$backend" "SELECT count(*) FROM change_log")
  jq --argjson ready "$ready" --argjson stored "$stored" '. + {ready_worst_millis: $ready, stored: $stored}' \
    "$work/posted.json" >"$work/daemon.$backend.$round.json"
  jq -e --argjson clients $clients \
    '.faults == 0 and .stored >= .messages and .stored <= .messages + 2 * $clients' "$work/daemon.$backend.$round.json" \
    >/dev/null || fail "the daemon lost, duplicated or refused messages: $(jq -c . "$work/daemon.$backend.$round.json")"
}

webhook_writes_turn() {
  "$work/webhook_writes_$1" --database "$store" --schema "$root/schema/sql/store_001.sql" --seconds "$seconds" \
    --group $clients >"$work/c.$1.$2.json"
}

bench_webhooks() {
  local backend round
  compile webhook_writes
  for backend in "${backends[@]}"; do
    for ((round = 1; round <= rounds; ++round)); do
      take_turn "$backend" "$round" webhooks_turn
      take_turn "$backend" "$round" webhook_writes_turn
      printf '  %s, round %d of %d: daemon %s, C program %s messages/s\n' "$backend" "$round" "$rounds" \
        "$(jq .messages_per_second "$work/daemon.$backend.$round.json")" \
        "$(jq .requests_per_second "$work/c.$backend.$round.json")" >&2
    done
    jq -n --arg backend "$backend" --slurpfile daemon <(cat "$work/daemon.$backend."*.json) \
      --slurpfile c <(cat "$work/c.$backend."*.json) '
      def median: sort | .[(length - 1) / 2 | floor];
      ($daemon | map(.messages_per_second) | median) as $rate | ($c | map(.requests_per_second) | median) as $limit |
      {backend: $backend, ratio: ($rate / $limit * 100 | round / 100), target: 0.6, messages_per_second: $rate,
       c_messages_per_second: $limit, p99_millis: ($daemon | map(.p99_millis) | median),
       ready_worst_millis: ($daemon | map(.ready_worst_millis) | max), rounds: {daemon: $daemon, c: $c}}' \
      >"$work/$backend.result.json"
  done
  show_results "Webhook messages, 1 signed change each, $clients keep-alive clients" "of $seconds s each"
}

# Both daemons of the turn: the second one has a copy of the settings with another port.
messages_turn() {
  local backend=$1 round=$2 first second other_port stored
  set_up_webhooks "$backend"
  other_port=$(free_port)
  sed "s|$port|$other_port|g" giftsyncd.yaml >other.yaml
  start_daemon
  giftsyncd --config other.yaml >"$work/other.log" 2>&1 </dev/null &
  other_daemon=$!
  local first_port=$port
  port=$other_port
  until is_ready; do kill -0 "$other_daemon" 2>/dev/null || fail "the second daemon ended: $(tail -n 3 "$work/other.log")"; done
  port=$first_port
  post_messages "$port" 4 100 0 >"$work/first.json" &
  first=$!
  post_messages "$other_port" 4 100 1 >"$work/second.json" &
  second=$!
  wait $first $second
  kill -TERM "$other_daemon"
  wait "$other_daemon" || fail "the second daemon did not stop cleanly"
  other_daemon=
  stop_daemon
  stored=$(query "$backend" "SELECT count(*) FROM change_log")
  jq -s --argjson stored "$stored" '{messages_per_second: (map(.messages_per_second) | add),
    worst_millis: (map(.worst_millis) | max), faults: (map(.faults) | add), messages: (map(.messages) | add),
    stored: $stored}' "$work/first.json" "$work/second.json" >"$work/daemon.$backend.$round.json"
  jq -e '.faults == 0 and .stored >= .messages * 100' "$work/daemon.$backend.$round.json" >/dev/null ||
    fail "the daemons lost or refused messages: $(jq -c . "$work/daemon.$backend.$round.json")"
}

bench_messages() {
  local round backend=postgresql
  backends=(postgresql)
  for ((round = 1; round <= rounds; ++round)); do
    take_turn $backend "$round" messages_turn
    printf '  round %d of %d: %s messages/s, worst %s ms\n' "$round" "$rounds" \
      "$(jq .messages_per_second "$work/daemon.$backend.$round.json")" \
      "$(jq .worst_millis "$work/daemon.$backend.$round.json")" >&2
  done
  jq -s 'def median: sort | .[(length - 1) / 2 | floor];
    {backend: "postgresql", messages_per_second: (map(.messages_per_second) | median), target_messages_per_second: 150,
     worst_millis: (map(.worst_millis) | max), target_worst_millis: 1000, rounds: .}' \
    "$work/daemon.$backend."*.json >"$work/$backend.result.json"
  show_results "Messages of 100 changes, 8 clients, two daemons" "of $seconds s each"
}
