# scripts/bench --what changes: the time from the start of `change import` with shuffled, duplicated status changes until the
# daemon's CRM outbox is empty. Sourced by scripts/bench; uses its functions and variables.

# An empty store as `prepared` (SQLite: a file; PostgreSQL: a database); changes to its folder.
create_prepared() {
  local backend=$1
  mkdir -p "$work/prepared"
  cd "$work/prepared"
  if [[ $backend == sqlite ]]; then
    store=$work/prepared/giftsync.db
  else
    psql "$GIFTSYNC_TEST_PG" --quiet --command "CREATE DATABASE prepared"
    store="${GIFTSYNC_TEST_PG/dbname=*/}dbname=prepared"
  fi
  set_up "$backend"
  start_daemon  # creates the server secret, which happens for an unused store only
  stop_daemon
}

drop_prepared() {
  cd "$work"
  [[ $1 == sqlite ]] || psql "$GIFTSYNC_TEST_PG" --quiet --command "DROP DATABASE prepared WITH (FORCE)"
  rm -rf "$work/prepared"
}

# A store with `gifts` gifts, each with its record in the CRM, as `prepared`.
make_prepared() {
  local backend=$1
  create_prepared "$backend"
  local numbers="WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $gifts)"
  change_store "$backend" "
    INSERT INTO gift_request (id, account_id, mode, gift_id, item_name, item_description, item_cost, shipping_cost,
        carbon_neutral_cost, transaction_fee, sender_email, sender_name, created_at)
      $numbers SELECT i, 1, 'urls', 101, '$BENCH_ITEM_NAME', '$BENCH_ITEM_DESCRIPTION', 500, 250, 10, 35,
        '$BENCH_SENDER_EMAIL', '$BENCH_SENDER_NAME', 1767225600000 FROM n;
    INSERT INTO recipient_transaction (id, request_id, position, email, first_name, last_name, message, generation, status,
        sent_at, version)
      $numbers SELECT i, i, 0, 'recipient-' || i || '@example.com', '$BENCH_FIRST_NAME', '$BENCH_LAST_NAME',
        '$BENCH_MESSAGE', 0, 'sent', 1767225600000, 1 FROM n;
    INSERT INTO crm_outbox (transaction_id, mark_seq, next_attempt_at, attempts, lease_owner, lease_until, last_error)
      $numbers SELECT i, 1, 1767225600000, 0, '', 0, '' FROM n;
    UPDATE id_block SET next_id = $gifts + 1 WHERE name IN ('gift_request', 'recipient_transaction')"
  start_daemon
  wait_until_synced "$backend" 900
  stop_daemon
  [[ $backend != sqlite ]] || sqlite3 "$store" "PRAGMA wal_checkpoint(TRUNCATE)" >/dev/null
  cd "$work"
}

change_store() {
  if [[ $1 == sqlite ]]; then
    sqlite3 "$store" "BEGIN; $2; COMMIT"
  else
    psql "$store" --no-psqlrc --quiet --single-transaction --command "$2"
  fi
}

wait_until_synced() {
  local end=$((SECONDS + $2))
  while [[ $(query "$1" "SELECT count(*) FROM (SELECT 1 FROM crm_outbox LIMIT 1) m") != 0 ]]; do
    ((SECONDS < end)) || fail "the daemon had not synced everything after $2 s"
    kill -0 "$daemon" 2>/dev/null || fail "the daemon ended"
    sleep 0.2  # each query takes as long as some hundred gifts
  done
}

# Sets `peak_kib` to the peak memory of process `$1` without starting a process: both cores are busy. Unchanged when the
# process has ended.
read_peak() {
  local key value rest
  while read -r key value rest; do
    [[ $key != VmHWM: ]] || peak_kib=$value
  done <"/proc/$1/status"
}

# A fresh copy of the prepared store, named `$2`.
copy_prepared() {
  if [[ $1 == sqlite ]]; then
    cp "$work/prepared/giftsync.db" "$work/$2.db"
    [[ ! -e $work/prepared/giftsync.secret ]] || cp "$work/prepared/giftsync.secret" "$work/$2.secret"
    store=$work/$2.db
  else
    psql "$GIFTSYNC_TEST_PG" --quiet --command "CREATE DATABASE $2 TEMPLATE prepared"
    store="${GIFTSYNC_TEST_PG/dbname=*/}dbname=$2"
  fi
}

# Starts the daemon on the copy, with the settings of the prepared store.
start_on_copy() {
  cd "$work/prepared"
  sed "s|connection: .* }|connection: \"$store\" }|" giftsyncd.yaml >turn.yaml
  port=$(sed -n 's/.*listen: "127.0.0.1:\([0-9]*\)".*/\1/p' turn.yaml)
  start_daemon turn.yaml
}

drop_copy() {
  if [[ $1 == sqlite ]]; then
    rm -f "$work/$2".db* "$work/$2".secret
  else
    psql "$GIFTSYNC_TEST_PG" --quiet --command "DROP DATABASE $2 WITH (FORCE)"
  fi
}

# Prints what must be equal afterwards: the change log, and the gift records by status.
final_state() {
  query "$1" "SELECT count(*), min(occurred_at), max(occurred_at) FROM change_log"
  query "$1" "SELECT count(*) FROM change_event"
  query "$1" "SELECT status, count(*), sum(opened_at), sum(redeemed_at), sum(refunded_at) FROM recipient_transaction
              GROUP BY status ORDER BY status"
  query "$1" "SELECT recipienttransactionstatus, count(*), min(opened_date_time), max(opened_date_time)
              FROM crm_gift_record GROUP BY recipienttransactionstatus ORDER BY recipienttransactionstatus"
}

daemon_changes_turn() {
  local backend=$1 round=$2 begun accepted ended import end rest_kib peak_kib=0
  copy_prepared "$backend" finished
  start_on_copy
  rest_kib=$(memory_kib VmRSS)
  begun=${EPOCHREALTIME/./}
  giftsyncctl --config turn.yaml change import "$work/changes.ndjson" >"$work/import.txt" 2>"$work/import.log" &
  import=$!
  end=$((SECONDS + 1800))
  while kill -0 "$import" 2>/dev/null; do  # its memory is measured while it runs
    if ((SECONDS >= end)); then
      kill "$import"
      fail "change import had not ended after 1800 s"
    fi
    read_peak "$import" 2>/dev/null || true
    sleep 0.2
  done
  wait "$import" || fail "change import: $(tail -n 3 "$work/import.log")"
  accepted=${EPOCHREALTIME/./}
  wait_until_synced "$backend" 1800
  ended=${EPOCHREALTIME/./}
  jq -n --argjson changes "$changes" --argjson begun "$begun" --argjson accepted "$accepted" --argjson ended "$ended" \
    --argjson rest "$rest_kib" --argjson peak "$(memory_kib VmHWM)" --argjson import_kib "$peak_kib" \
    '{seconds: (($ended - $begun) / 1e6), import_seconds: (($accepted - $begun) / 1e6),
      changes_per_second: ($changes / ($ended - $begun) * 1e6 | round), rest_kib: $rest, peak_kib: $peak, import_kib: $import_kib}' \
    >"$work/daemon.$backend.$round.json"
  stop_daemon
  final_state "$backend" >"$work/state.daemon"
  cd "$work"
}

# Writes the same final rows with the C program into another copy; runs after the daemon's turn.
c_changes_turn() {
  local backend=$1 round=$2 finished=$store
  copy_prepared "$backend" fresh
  "$work/final_rows_$backend" changes "$finished" "$store" "$rows_in_commit" >"$work/written.json"
  jq --argjson changes "$changes" '. + {changes_per_second: ($changes / .seconds | round)}' "$work/written.json" \
    >"$work/c.$backend.$round.json"
  final_state "$backend" >"$work/state.c"
  cmp -s "$work/state.daemon" "$work/state.c" || fail "daemon and C program produced different rows: $(diff "$work/state.daemon" "$work/state.c")"
  drop_copy "$backend" fresh
  drop_copy "$backend" finished
}

bench_changes() {
  local backend round
  compile final_rows final_rows
  cd "$work"
  /usr/bin/python3 "$root/tests/bench/status_changes.py" 1 "$gifts" "$changes" >"$work/changes.ndjson"
  for backend in "${backends[@]}"; do
    make_prepared "$backend"
    for ((round = 1; round <= rounds; ++round)); do
      daemon_changes_turn "$backend" "$round"
      c_changes_turn "$backend" "$round"
      printf '  %s, round %d of %d: daemon %s, C program %s changes/s\n' "$backend" "$round" "$rounds" \
        "$(jq .changes_per_second "$work/daemon.$backend.$round.json")" "$(jq .changes_per_second "$work/c.$backend.$round.json")" >&2
    done
    drop_prepared "$backend"
    jq -n --arg backend "$backend" --argjson target 0.5 --slurpfile daemon <(cat "$work/daemon.$backend."*.json) \
      --slurpfile c <(cat "$work/c.$backend."*.json) '
      ($daemon | max_by(.changes_per_second)) as $best | ($c | max_by(.changes_per_second)) as $limit |
      {backend: $backend, ratio: ($best.changes_per_second / $limit.changes_per_second * 100 | round / 100), target: $target,
       c_changes_per_second: $limit.changes_per_second, daemon_changes_per_second: $best.changes_per_second,
       import_share: ($best.import_seconds / $best.seconds * 100 | round / 100),
       rest_mib: ($best.rest_kib / 1024 | round), peak_mib: ($best.peak_kib / 1024 | round),
       import_mib: ($best.import_kib / 1024 | round), rounds: {daemon: $daemon, c: $c}}' >"$work/$backend.result.json"
  done
  jq -s --argjson changes "$changes" --argjson gifts "$gifts" --argjson cores "$(nproc)" --argjson rounds "$rounds" \
    '{changes: $changes, gifts: $gifts, cores: $cores, rounds: $rounds, backends: .}' "${backends[@]/%/.result.json}" >result.json
  if [[ $json ]]; then
    cat result.json
    return
  fi
  jq -r '
    def row($name; value): [$name] + (.backends | map(value | tostring));
    "\(.changes) shuffled, duplicated status changes of \(.gifts) gifts, \(.cores) cores; best of \(.rounds) rounds", "",
    ([row(""; .backend),
      row("daemon / C program"; .ratio),
      row("  required, at least"; .target),
      row("C program, changes/s"; .c_changes_per_second),
      row("daemon, changes/s"; .daemon_changes_per_second),
      row("  share of the import"; .import_share),
      row("daemon at rest, MiB"; .rest_mib),
      row("  peak under load, MiB"; .peak_mib),
      row("import, peak MiB"; .import_mib)][]
     | (.[0] + " " * (28 - (.[0] | length))) + (.[1:] | map(" " * (14 - length) + .) | add))' result.json
}
