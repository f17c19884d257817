# scripts/bench --what peers: gift requests of the daemon beside what one would script instead: fastify with better-sqlite3 or
# pg, the usual way (one transaction for each request) and tuned (one for all that wait). Sourced by scripts/bench; uses its
# functions and variables. The peers write the same rows into the same tables, and neither mail nor sync anything.

readonly peers=$root/build/peers

# Fetches the packages, and compiles better-sqlite3 once (a minute or two) with the machine's node headers where it has them.
install_peers() {
  command -v npm >/dev/null || fail "npm is missing; scripts/install-packages installs it"
  mkdir -p "$peers"
  cmp --silent "$root/tests/bench/peers/package-lock.json" "$peers/installed.json" || rm -rf "$peers/node_modules" "$peers/installed.json"
  cp "$root/tests/bench/peers/"*.{mjs,json} "$peers"
  [[ ! -e $peers/installed.json ]] || return 0
  local prefix gyp log=$peers/npm.log headers=()
  (cd "$peers" && npm ci --ignore-scripts --no-audit --no-fund) >"$log" 2>&1 || fail "npm ci failed: $(tail -n 3 "$log")"
  prefix=$(node -p 'require("path").dirname(require("path").dirname(process.execPath))')
  [[ ! -e $prefix/include/node/node.h ]] || headers=("--nodedir=$prefix")
  gyp=$(find "$(npm root --global)" /usr/share/nodejs /usr/share/node_modules -path '*node-gyp/bin/node-gyp.js' -print -quit 2>/dev/null)
  [[ -n $gyp ]] || fail "npm's node-gyp was not found; better-sqlite3 cannot be compiled"
  echo "  compiling better-sqlite3" >&2
  # What counts is that the result loads: node-gyp may fail when it cleans up.
  (cd "$peers/node_modules/better-sqlite3" && node "$gyp" rebuild --release "${headers[@]}") >>"$log" 2>&1 || true
  (cd "$peers" && node --input-type=module --eval 'new (await import("better-sqlite3")).default(":memory:")') >>"$log" 2>&1 ||
    fail "better-sqlite3 cannot be compiled: $(tail -n 3 "$log")"
  cp "$peers/package-lock.json" "$peers/installed.json"
}

# The turn of fastify in the way `$way`, on a store of its own.
peer_turn() {
  local backend=$1 round=$2 result stored
  set_up "$backend"
  NODE_ENV=production node "$peers/server.mjs" "$backend" "$way" "$store" "$port" >"$work/daemon.log" 2>&1 </dev/null &
  daemon=$!
  for ((i = 0; i < 200; ++i)); do
    ! grep -q ready "$work/daemon.log" || break
    kill -0 "$daemon" 2>/dev/null || fail "the peer ended"
    sleep 0.05
  done
  post_gifts $warm_up_seconds >warm-up.json
  result=$(post_gifts "$seconds")
  kill -TERM "$daemon"
  wait "$daemon" || true
  daemon=
  stored=$(query "$backend" "SELECT count(*) FROM mail_outbox")
  jq -s --argjson stored "$stored" '.[1] + {acknowledged: (map(.requests) | add), stored: $stored, faults: (map(.faults) | add)}' \
    warm-up.json <(echo "$result") >"$work/$way.$backend.$round.json"
  check_daemon_turn "$work/$way.$backend.$round.json"
}

bench_peers() {
  local backend round way
  install_peers
  for backend in "${backends[@]}"; do
    for ((round = 1; round <= rounds; ++round)); do
      take_turn "$backend" "$round" daemon_turn
      check_daemon_turn "$work/daemon.$backend.$round.json"
      for way in usual tuned; do take_turn "$backend" "$round" peer_turn; done
      printf '  %s, round %d of %d: daemon %s, fastify %s, tuned %s requests/s\n' "$backend" "$round" "$rounds" \
        "$(jq .requests_per_second "$work/daemon.$backend.$round.json")" "$(jq .requests_per_second "$work/usual.$backend.$round.json")" \
        "$(jq .requests_per_second "$work/tuned.$backend.$round.json")" >&2
    done
    # The median, so that one lucky round decides nothing.
    jq -n --arg backend "$backend" --slurpfile daemon <(cat "$work/daemon.$backend."*.json) \
      --slurpfile usual <(cat "$work/usual.$backend."*.json) --slurpfile tuned <(cat "$work/tuned.$backend."*.json) '
      def median: sort_by(.requests_per_second) | .[length / 2 | floor];
      def ratio($a; $b): $a.requests_per_second / $b.requests_per_second * 100 | round / 100;
      ($daemon | median) as $d | ($usual | median) as $u | ($tuned | median) as $t |
      {backend: $backend, usual_ratio: ratio($d; $u), usual_target: 10, tuned_ratio: ratio($d; $t), tuned_target: 1.5,
       daemon: $d, usual: $u, tuned: $t, rounds: {daemon: $daemon, usual: $usual, tuned: $tuned}}' >"$work/$backend.result.json"
  done
  jq -s --argjson clients $clients --argjson rounds "$rounds" --argjson seconds "$seconds" --arg node "$(node --version)" \
    '{clients: $clients, rounds: $rounds, seconds: $seconds, node: $node, backends: .}' \
    "${backends[@]/%/.result.json}" >result.json
  if [[ $json ]]; then
    cat result.json
    return
  fi
  jq -r '
    def row($name; value): [$name] + (.backends | map(value | tostring));
    def latency: "\(.p50_millis), \(.p99_millis)";
    "Gift requests, 1 recipient, \(.clients) keep-alive clients, node \(.node); median of \(.rounds) rounds of \(.seconds) s each", "",
    ([row(""; .backend),
      row("daemon, requests/s"; .daemon.requests_per_second),
      row("fastify, 1 transaction each"; .usual.requests_per_second),
      row("fastify, batched"; .tuned.requests_per_second),
      row("daemon / usual"; .usual_ratio),
      row("  required, at least"; .usual_target),
      row("daemon / batched"; .tuned_ratio),
      row("  required, at least"; .tuned_target),
      row("p50, p99, ms: daemon"; .daemon | latency),
      row("  usual"; .usual | latency),
      row("  batched"; .tuned | latency)][]
     | (.[0] + " " * (30 - (.[0] | length))) + (.[1:] | map(" " * (14 - length) + .) | add))' result.json
}
