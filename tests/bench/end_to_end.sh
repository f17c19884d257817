# scripts/bench --what end_to_end: the time from the first POST until the last mail is in its file and the last gift record is in
# the managed CRM. Sourced by scripts/bench; uses its functions and variables.

# An empty store of the name `$2`, in its own folder.
make_store() {
  mkdir "$work/$2"
  cd "$work/$2"
  if [[ $1 == sqlite ]]; then
    store=$work/$2/giftsync.db
  else
    psql "$GIFTSYNC_TEST_PG" --quiet --command "CREATE DATABASE $2"
    store="${GIFTSYNC_TEST_PG/dbname=*/}dbname=$2"
  fi
  set_up "$1"
}

drop_store() {
  cd "$work"
  rm -r "${work:?}/$2"
  [[ $1 == sqlite ]] || psql "$GIFTSYNC_TEST_PG" --quiet --command "DROP DATABASE $2 WITH (FORCE)"
}

# Fails after `$2` seconds.
wait_until_done() {
  local end=$((SECONDS + $2)) left
  while :; do
    left=$(query "$1" "SELECT (SELECT count(*) FROM (SELECT 1 FROM crm_outbox LIMIT 1) m) +
                              (SELECT count(*) FROM (SELECT 1 FROM mail_outbox WHERE state <> 'accepted' LIMIT 1) m)")
    [[ $left != 0 ]] || break
    ((SECONDS < end)) || fail "mails or gift records were missing after $2 s"
    kill -0 "$daemon" 2>/dev/null || fail "the daemon ended"
    sleep 0.2
  done
}

# Posts `gifts` requests; `$work/posted.json` has wrk's result. wrk's threads stop by themselves, wrk itself at a signal.
post_all() {
  local client end=$((SECONDS + 600))
  BENCH_REQUESTS=$gifts wrk --threads 2 --connections $clients --duration 1200s --timeout 10s \
    --script "$root/tests/bench/gift_request.lua" "http://127.0.0.1:$port/api/v1/gift_requests" >"$work/wrk.txt" &
  client=$!
  until (($(query "$1" "SELECT count(*) FROM gift_request") >= gifts)); do
    ((SECONDS < end)) || fail "not all gifts were requested after 600 s"
    kill -0 "$client" 2>/dev/null || fail "wrk: $(<"$work/wrk.txt")"
    sleep 0.2
  done
  kill -INT "$client"
  wait "$client" || fail "wrk: $(<"$work/wrk.txt")"
  tail -n 1 "$work/wrk.txt" >"$work/posted.json"
}

end_to_end_daemon_turn() {
  local backend=$1 round=$2 begun posted ended stored mails rest_kib
  make_store "$backend" finished
  start_daemon
  rest_kib=$(memory_kib VmRSS)
  begun=${EPOCHREALTIME/./}
  post_all "$backend"
  posted=${EPOCHREALTIME/./}
  wait_until_done "$backend" 1800
  ended=${EPOCHREALTIME/./}
  stored=$(query "$backend" "SELECT count(*) FROM recipient_transaction")
  mails=$(find outbox -name '*.eml' | wc -l)
  [[ $mails == "$stored" && $(query "$backend" "SELECT count(*) FROM crm_gift_record") == "$stored" ]] ||
    fail "of $stored gifts there are $mails mails"
  jq -n --argjson gifts "$stored" --argjson begun "$begun" --argjson posted "$posted" --argjson ended "$ended" \
    --argjson rest "$rest_kib" --argjson peak "$(memory_kib VmHWM)" --slurpfile http "$work/posted.json" '
    {gifts: $gifts, seconds: (($ended - $begun) / 1e6), post_seconds: (($posted - $begun) / 1e6), faults: $http[0].faults,
     gifts_per_second: ($gifts / ($ended - $begun) * 1e6 | round), rest_kib: $rest, peak_kib: $peak}' \
    >"$work/daemon.$backend.$round.json"
  jq -e '.faults == 0' "$work/daemon.$backend.$round.json" >/dev/null || fail "the daemon refused requests"
  stop_daemon
}

# Writes the same rows and files into an empty store; runs after the daemon's turn.
end_to_end_c_turn() {
  local backend=$1 round=$2 finished=$store
  make_store "$backend" fresh
  mkdir mails
  "$work/final_rows_$backend" requests "$finished" "$store" "$rows_in_commit" "$work/finished/outbox" "$work/fresh/mails" \
    >"$work/written.json"
  jq '. + {gifts_per_second: (.gifts / .seconds | round)}' "$work/written.json" >"$work/c.$backend.$round.json"
  jq -e --slurpfile daemon "$work/daemon.$backend.$round.json" '.gifts == $daemon[0].gifts and .mails == .gifts' \
    "$work/c.$backend.$round.json" >/dev/null || fail "the C program wrote other rows or mails than the daemon"
  drop_store "$backend" fresh
  drop_store "$backend" finished
}

bench_end_to_end() {
  local backend round
  compile final_rows final_rows
  for backend in "${backends[@]}"; do
    for ((round = 1; round <= rounds; ++round)); do
      end_to_end_daemon_turn "$backend" "$round"
      end_to_end_c_turn "$backend" "$round"
      printf '  %s, round %d of %d: daemon %s, C program %s gifts/s\n' "$backend" "$round" "$rounds" \
        "$(jq .gifts_per_second "$work/daemon.$backend.$round.json")" "$(jq .gifts_per_second "$work/c.$backend.$round.json")" >&2
    done
    jq -n --arg backend "$backend" --argjson target 0.4 --slurpfile daemon <(cat "$work/daemon.$backend."*.json) \
      --slurpfile c <(cat "$work/c.$backend."*.json) '
      ($daemon | max_by(.gifts_per_second)) as $best | ($c | max_by(.gifts_per_second)) as $limit |
      {backend: $backend, ratio: ($best.gifts_per_second / $limit.gifts_per_second * 100 | round / 100), target: $target,
       gifts: $best.gifts, c_gifts_per_second: $limit.gifts_per_second, daemon_gifts_per_second: $best.gifts_per_second,
       seconds: $best.seconds, post_seconds: $best.post_seconds,
       c_row_share: ($limit.row_seconds / $limit.seconds * 100 | round / 100),
       rest_mib: ($daemon | map(.rest_kib) | min / 1024 * 10 | round / 10),
       peak_mib: ($daemon | map(.peak_kib) | max / 1024 * 10 | round / 10), rounds: {daemon: $daemon, c: $c}}' \
      >"$work/$backend.result.json"
  done
  cd "$work"
  jq -s --argjson cores "$(nproc)" --argjson rounds "$rounds" '{cores: $cores, rounds: $rounds, backends: .}' \
    "${backends[@]/%/.result.json}" >result.json
  if [[ $json ]]; then
    cat result.json
    return
  fi
  jq -r '
    def row($name; value): [$name] + (.backends | map(value | tostring));
    "\(.backends[0].gifts) gifts from the first POST to the last mail and record, \(.cores) cores; best of \(.rounds) rounds", "",
    ([row(""; .backend),
      row("daemon / C program"; .ratio),
      row("  required, at least"; .target),
      row("C program, gifts/s"; .c_gifts_per_second),
      row("  share of the rows"; .c_row_share),
      row("daemon, gifts/s"; .daemon_gifts_per_second),
      row("  seconds"; .seconds),
      row("  until the last answer"; .post_seconds),
      row("memory at rest, MiB"; .rest_mib),
      row("  peak, MiB"; .peak_mib)][]
     | (.[0] + " " * (28 - (.[0] | length))) + (.[1:] | map(" " * (14 - length) + .) | add))' result.json
}
