# scripts/bench --what keys: gift requests with an Idempotency-Key of their own each, in a store with many stored keys, against
# the same requests without keys in a copy of the same store. Sourced by scripts/bench; uses its functions and variables, and
# those of changes.sh.

# A store with `keys` keys of the account, as `prepared`. The keys are random, as clients make them: they are all over the
# index. None is as old as those that the daemon deletes.
make_store_with_keys() {
  local backend=$1 now=$((${EPOCHREALTIME/./} / 1000)) key series fast=
  if [[ $backend == sqlite ]]; then
    key="lower(hex(randomblob(16)))"
    series="WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $keys)"
    fast="PRAGMA cache_size = -1000000;"
  else
    key="md5(i::text)"
    series="WITH n (i) AS (SELECT generate_series(1::bigint, $keys))"
  fi
  create_prepared "$backend"
  change_store "$backend" "$fast
    INSERT INTO gift_request_idempotency (account_id, mode, key, body_hash, request_id, warnings, created_at)
      $series SELECT 1, 'email', $key, '$(printf 'a%.0s' {1..64})', i, '', $now - i * 6 * 86400000 / $keys FROM n;
    UPDATE id_block SET next_id = $keys + 1 WHERE name = 'gift_request'"
  if [[ $backend == sqlite ]]; then
    sqlite3 "$store" "PRAGMA wal_checkpoint(TRUNCATE)" >/dev/null
  else
    psql "$store" --no-psqlrc --quiet --command "VACUUM ANALYZE gift_request_idempotency"
  fi
  cd "$work"
}

# One turn in a copy of the prepared store; `$3` is `with` or `without` keys.
keys_turn() {
  local backend=$1 round=$2 way=$3 result stored known
  copy_prepared "$backend" turn
  start_on_copy
  [[ $way == without ]] || export BENCH_KEYS=$((2 * round))
  post_gifts $warm_up_seconds >"$work/warm-up.json"
  [[ $way == without ]] || export BENCH_KEYS=$((2 * round + 1))
  result=$(post_gifts "$seconds")
  unset BENCH_KEYS
  stop_daemon
  stored=$(query "$backend" "SELECT count(*) FROM gift_request")
  known=$(query "$backend" "SELECT count(*) FROM gift_request_idempotency")
  jq -s --argjson stored "$stored" --argjson keys $((known - keys)) \
    '.[1] + {acknowledged: (map(.requests) | add), stored: $stored, keys: $keys, faults: (map(.faults) | add)}' \
    "$work/warm-up.json" <(echo "$result") >"$work/$way.$backend.$round.json"
  check_daemon_turn "$work/$way.$backend.$round.json"
  jq -e --arg way "$way" '.keys == (if $way == "with" then .stored else 0 end)' "$work/$way.$backend.$round.json" >/dev/null ||
    fail "the daemon stored other keys than requests: $(jq -c . "$work/$way.$backend.$round.json")"
  drop_copy "$backend" turn
  rm -rf "$work/prepared/outbox"
}

bench_keys() {
  local backend round ways
  for backend in "${backends[@]}"; do
    make_store_with_keys "$backend"
    for ((round = 1; round <= rounds; ++round)); do
      # The one that goes first takes turns too: the machine may become slower or faster meanwhile.
      ways=(with without)
      ((round % 2 == 1)) || ways=(without with)
      keys_turn "$backend" "$round" "${ways[0]}"
      keys_turn "$backend" "$round" "${ways[1]}"
      printf '  %s, round %d of %d: with keys %s, without %s requests/s\n' "$backend" "$round" "$rounds" \
        "$(jq .requests_per_second "$work/with.$backend.$round.json")" \
        "$(jq .requests_per_second "$work/without.$backend.$round.json")" >&2
    done
    drop_prepared "$backend"
    jq -n --arg backend "$backend" --argjson keys "$keys" --slurpfile with <(cat "$work/with.$backend."*.json) \
      --slurpfile without <(cat "$work/without.$backend."*.json) '
      def median: sort_by(.requests_per_second)[(length - 1) / 2 | floor];
      ($with | median) as $keyed | ($without | median) as $plain |
      {backend: $backend, ratio: ($keyed.requests_per_second / $plain.requests_per_second * 100 | round / 100), target: 0.9,
       stored_keys: $keys, requests_per_second: $keyed.requests_per_second,
       requests_per_second_without_keys: $plain.requests_per_second, p99_millis: $keyed.p99_millis,
       p99_millis_without_keys: $plain.p99_millis, rounds: {with: $with, without: $without}}' >"$work/$backend.result.json"
  done
  show_results "Gift requests with an Idempotency-Key each, $clients keep-alive clients" "of $seconds s each"
}
