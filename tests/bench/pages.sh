# scripts/bench --what pages: GET of the pages of many gifts by keep-alive clients, against /-/healthy of the same daemon.
# Sourced by scripts/bench; uses its functions and variables.

readonly gifts_in_request=1000  # limits.max_recipients

# Writes the paths of the redemption pages of gifts 1 to `gifts` to the file `$1`, one a line.
make_links() {
  local first last
  for ((first = 1; first <= gifts; first += gifts_in_request)); do
    last=$((first + gifts_in_request - 1 < gifts ? first + gifts_in_request - 1 : gifts))
    jq -n --argjson first "$first" --argjson last "$last" '{gift_id: 101, recipients: [range($first; $last + 1) |
      {email: "recipient-\(.)@example.com", first_name: env.BENCH_FIRST_NAME, last_name: env.BENCH_LAST_NAME,
       message: env.BENCH_MESSAGE}]}' |
      curl --silent --show-error --fail-with-body --header "Authorization: $BENCH_KEY" \
        --header "Content-Type: application/json" --data-binary @- \
        "http://127.0.0.1:$port/api/v1/webhooks/gift_requests" >links.json ||
      fail "the daemon refused a request: $(head -c 300 links.json)"
    jq -r --arg base "http://127.0.0.1:$port" '.data.recipients[].gift_redemption_url | ltrimstr($base)' links.json
  done >"$1"
  [[ $(grep -c '^/g/' "$1") == "$gifts" ]] || fail "the daemon returned other links than one for each gift"
}

# Gets the paths of the file `$1`.
get_pages() {
  BENCH_PATHS=$1 wrk --threads 2 --connections $clients --duration "$seconds"s --timeout 10s \
    --script "$root/tests/bench/pages.lua" "http://127.0.0.1:$port" | tail -n 1
}

# All rounds are on one daemon and one store: a GET changes nothing. /-/healthy and pages take turns.
pages_turn() {
  local backend=$1 round
  set_up "$backend"
  start_daemon
  make_links "$PWD/links"
  echo /-/healthy >healthy
  wait_until_synced "$backend" 600
  get_pages "$PWD/links" >/dev/null  # warms up
  for ((round = 1; round <= rounds; ++round)); do
    get_pages "$PWD/healthy" >"$work/healthy.$backend.$round.json"
    get_pages "$PWD/links" >"$work/pages.$backend.$round.json"
    jq -se 'all(.faults == 0)' "$work/healthy.$backend.$round.json" "$work/pages.$backend.$round.json" >/dev/null ||
      fail "the daemon refused pages: $(jq -c . "$work/pages.$backend.$round.json")"
    printf '  %s, round %d of %d: pages %s, /-/healthy %s requests/s\n' "$backend" "$round" "$rounds" \
      "$(jq .requests_per_second "$work/pages.$backend.$round.json")" \
      "$(jq .requests_per_second "$work/healthy.$backend.$round.json")" >&2
  done
  stop_daemon
}

bench_pages() {
  local backend
  for backend in "${backends[@]}"; do
    take_turn "$backend" 1 pages_turn
    jq -n --arg backend "$backend" --argjson gifts "$gifts" --slurpfile pages <(cat "$work/pages.$backend."*.json) \
      --slurpfile healthy <(cat "$work/healthy.$backend."*.json) '
      def median: sort_by(.requests_per_second)[(length - 1) / 2 | floor];
      ($pages | median) as $page | ($healthy | median) as $limit |
      {backend: $backend, ratio: ($page.requests_per_second / $limit.requests_per_second * 100 | round / 100),
       requests_per_second: $page.requests_per_second, target: "12,800 requests/s (2 times 6,400)",
       target_requests_per_second: 12800, p50_millis: $page.p50_millis, p99_millis: $page.p99_millis,
       healthy_requests_per_second: $limit.requests_per_second, healthy_p99_millis: $limit.p99_millis, gifts: $gifts,
       rounds: {pages: $pages, healthy: $healthy}}' >"$work/$backend.result.json"
  done
  show_results "Pages of $gifts gifts against /-/healthy, $clients keep-alive clients" "of $seconds s each"
}
