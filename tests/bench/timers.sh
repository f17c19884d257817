# scripts/bench --what timers: gifts that are all due to expire when the daemon starts. Sourced by scripts/bench; uses its
# functions and variables, and those of changes.sh.

# A store with `gifts` gifts whose mails arrived, each with its record in the CRM, as `prepared`. They were sent 31 days ago and
# never opened: due since a day. Their refund, on a day of the month after, is due later.
make_store_with_due_gifts() {
  local backend=$1 day=86400000
  local sent=$((${EPOCHREALTIME/./} / 1000 - 31 * day))
  local numbers="WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $gifts)"
  create_prepared "$backend"
  change_store "$backend" "
    INSERT INTO gift_request (id, account_id, mode, gift_id, item_name, item_description, item_cost, shipping_cost,
        carbon_neutral_cost, transaction_fee, sender_email, sender_name, created_at)
      $numbers SELECT i, 1, 'email', 101, '$BENCH_ITEM_NAME', '$BENCH_ITEM_DESCRIPTION', 500, 250, 10, 35,
        '$BENCH_SENDER_EMAIL', '$BENCH_SENDER_NAME', $sent FROM n;
    INSERT INTO recipient_transaction (id, request_id, position, email, first_name, last_name, message, generation, status,
        sent_at, delivered_at, version)
      $numbers SELECT i, i, 0, 'recipient-' || i || '@example.com', '$BENCH_FIRST_NAME', '$BENCH_LAST_NAME',
        '$BENCH_MESSAGE', 0, 'delivered', $sent + i, $sent + i + 1000, 2 FROM n;
    INSERT INTO change_log (id, source, transaction_id, status, occurred_at, received_at, orphaned)
      $numbers SELECT i, 'mailer', i, 'delivered', $sent + i + 1000, $sent + i + 1000, 0 FROM n;
    INSERT INTO mail_outbox (transaction_id, state, attempt, next_attempt_at, message_id, uncertain_retries, last_reply,
        updated_at, lease_owner, lease_until)
      $numbers SELECT i, 'accepted', 1, $sent + i, '', 0, '', $sent + i + 1000, '', 0 FROM n;
    INSERT INTO crm_outbox (transaction_id, mark_seq, next_attempt_at, attempts, lease_owner, lease_until, last_error)
      $numbers SELECT i, 1, $sent, 0, '', 0, '' FROM n;
    UPDATE id_block SET next_id = $gifts + 1 WHERE name IN ('gift_request', 'recipient_transaction', 'status_change')"
  start_daemon
  wait_until_synced "$backend" 900
  stop_daemon
  # The terms come last: with them the daemon's sync would have set the deadlines.
  change_store "$backend" "
    UPDATE gift_request SET terms = 'unopened=30 opened=365 undelivered=7 refund=10 zone=UTC';
    UPDATE recipient_transaction SET due_at = sent_at + 30 * cast($day AS BIGINT)"
  if [[ $backend == sqlite ]]; then
    sqlite3 "$store" "ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)" >/dev/null
  else
    psql "$store" --no-psqlrc --quiet --command "VACUUM ANALYZE gift_request, recipient_transaction, change_log,
      mail_outbox, crm_outbox, crm_sync_state, crm_gift_record"
  fi
  cd "$work"
}

# Prints the seconds from `$2` (microseconds) until `$3` finds no row.
seconds_until_none() {
  local end=$((SECONDS + 900))
  while [[ $(query "$1" "SELECT count(*) FROM ($3 LIMIT 1) waiting") != 0 ]]; do
    ((SECONDS < end)) || fail "not all timers had run after 900 s"
    kill -0 "$daemon" 2>/dev/null || fail "the daemon ended"
    sleep 0.05
  done
  jq -n "(${EPOCHREALTIME/./} - $2) / 1e6"
}

timers_turn() {
  local backend=$1 round=$2 begun now decided folded synced counted
  copy_prepared "$backend" turn
  begun=${EPOCHREALTIME/./}
  now=$((begun / 1000))
  start_on_copy
  decided=$(seconds_until_none "$backend" "$begun" \
    "SELECT 1 FROM recipient_transaction WHERE due_at IS NOT NULL AND due_at <= $now")
  folded=$(seconds_until_none "$backend" "$begun" "SELECT 1 FROM recipient_transaction WHERE status <> 'expired'")
  synced=$(seconds_until_none "$backend" "$begun" "SELECT 1 FROM crm_outbox")
  stop_daemon
  counted=$(query "$backend" "SELECT (SELECT count(*) FROM change_log WHERE source = 'timer' AND status = 'expired') || ' ' ||
    (SELECT count(*) FROM change_log WHERE source = 'timer') || ' ' ||
    (SELECT count(*) FROM crm_gift_record WHERE recipienttransactionstatus = 'expired')")
  [[ $counted == "$gifts $gifts $gifts" ]] || fail "expiries, timers' changes and expired records of $gifts gifts: $counted"
  jq -n --argjson gifts "$gifts" --argjson decided "$decided" --argjson folded "$folded" --argjson synced "$synced" \
    '{gifts: $gifts, decided_seconds: $decided, seconds: $folded, synced_seconds: $synced,
      gifts_per_second: ($gifts / $folded | round), decided_per_second: ($gifts / $decided | round)}' \
    >"$work/daemon.$backend.$round.json"
  drop_copy "$backend" turn
}

bench_timers() {
  local backend round
  for backend in "${backends[@]}"; do
    make_store_with_due_gifts "$backend"
    for ((round = 1; round <= rounds; ++round)); do
      timers_turn "$backend" "$round"
      printf '  %s, round %d of %d: %s gifts/s\n' "$backend" "$round" "$rounds" \
        "$(jq .gifts_per_second "$work/daemon.$backend.$round.json")" >&2
    done
    drop_prepared "$backend"
    jq -n --arg backend "$backend" --slurpfile daemon <(cat "$work/daemon.$backend."*.json) '
      ($daemon | sort_by(.gifts_per_second)[(length - 1) / 2 | floor]) as $middle |
      {backend: $backend, gifts: $middle.gifts, gifts_per_second: $middle.gifts_per_second,
       target: "18,500 gifts/s (50 times 370)", target_gifts_per_second: 18500, seconds: $middle.seconds,
       expiries_per_second: $middle.decided_per_second, seconds_until_expiries: $middle.decided_seconds,
       seconds_until_gift_records: $middle.synced_seconds, rounds: $daemon}' >"$work/$backend.result.json"
  done
  show_results "$gifts gifts that are due to expire, from the start of the daemon until all have their status"
}
