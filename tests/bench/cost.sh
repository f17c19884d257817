# scripts/bench --what cost: the processor time of the daemon's threads for each unit of work, beside that of another build in
# the same run. Clients share the processors, so throughput varies by a third from run to run; processor time does not.
# Sourced by scripts/bench; uses its functions and variables, and those of keys.sh, pages.sh and webhooks.sh.

IFS=, read -ra cost_paths <<<"$paths"
readonly cost_target=1.03 cost_changes=100000
gifts=2000  # for pages
builds=(now)
[[ -z $before ]] || builds=(before now)

# Prints "SERVING WORKERS": the nanoseconds that the daemon's threads have used, of those that read, handle, write and answer
# requests, and of all others. The threads have names; those of the pools never end.
processor_nanos() {
  local task serving=0 others=0 name nanos
  for task in "/proc/$daemon/task/"*; do
    name=$(<"$task/comm")
    read -r nanos _ <"$task/schedstat"
    case $name in
      listener | *endpoints | pages | console | sign-ins | readiness | liveness | responses | handshakes | writer)
        serving=$((serving + nanos)) ;;
      *) others=$((others + nanos)) ;;
    esac
  done
  echo "$serving $others"
}

# The processor time of the programs that have ended, in clock ticks of 10 ms.
children_nanos() {
  local stat fields
  stat=$(<"/proc/$$/stat")
  read -ra fields <<<"${stat##*) }"
  echo $(((fields[13] + fields[14]) * 10000000))
}

# Does the work of path `$1` for `$2` seconds; prints how many units were done as JSON. `$3`: a number that no other call has.
do_work() {
  case $1 in
    requests) post_gifts "$2" ;;
    keys) BENCH_KEYS=$3 post_gifts "$2" ;;
    webhooks) (seconds=$2; post_messages "$port" $clients 1 "$3") | jq -c '. + {requests: .messages}' ;;
    pages) (seconds=$2; get_pages "$PWD/links") ;;
    changes)
      local begun
      begun=$(children_nanos)
      giftsyncctl --config giftsyncd.yaml change import changes.ndjson >import.log 2>&1 || fail "change import: $(<import.log)"
      echo "{\"requests\": $cost_changes, \"faults\": 0, \"import_nanos\": $(($(children_nanos) - begun))}"
      wait_until_synced "$backend" 600 >&2
      ;;
  esac
}

# Sets `cost_path` and `cost_build` apart: take_turn passes back end and round only.
cost_turn() {
  local backend=$1 round=$2 counts before_work after_work children
  case $cost_path in
    webhooks | changes) set_up_webhooks "$backend" ;;
    *) set_up "$backend" ;;
  esac
  [[ -z $settings || $cost_build == before ]] || cat "$settings" >>giftsyncd.yaml
  start_daemon
  [[ $cost_path != pages ]] || { make_links "$PWD/links"; wait_until_synced "$backend" 600; }
  if [[ $cost_path == changes ]]; then
    /usr/bin/python3 "$root/tests/bench/status_changes.py" 1 $bench_gifts $cost_changes >changes.ndjson
  else
    do_work "$cost_path" $warm_up_seconds 6 >/dev/null
  fi
  before_work=$(processor_nanos)
  do_work "$cost_path" "$seconds" 7 >work.json
  counts=$(<work.json)
  children=$(jq '.import_nanos // 0' work.json)
  after_work=$(processor_nanos)
  jq -e '.faults == 0' <<<"$counts" >/dev/null || fail "$cost_path: the daemon refused requests: $counts"
  jq -nc --argjson units "$(jq .requests <<<"$counts")" --argjson serving $((${after_work% *} - ${before_work% *})) \
    --argjson workers $((${after_work#* } - ${before_work#* })) --argjson imported "$children" --arg path "$cost_path" \
    'def micros: . / $units / 10 | round / 100;
     {units: $units, micros: ((if $path == "changes" then $imported else $serving end) | micros), workers_micros: ($workers | micros)}' \
    >"$work/cost.$cost_path.$cost_build.$backend.$round.json"
  stop_daemon
}

bench_cost() {
  local backend round order cost_path cost_build own=$root/build/release/bin
  for backend in "${backends[@]}"; do
    for ((round = 1; round <= rounds; ++round)); do
      for cost_path in "${cost_paths[@]}"; do
        # The one that goes first takes turns too.
        order=("${builds[@]}")
        ((round % 2 == 1 || ${#builds[@]} == 1)) || order=(now before)
        for cost_build in "${order[@]}"; do
          PATH=$([[ $cost_build == now ]] && echo "$own" || echo "$before"):$PATH take_turn "$backend" "$round" cost_turn
          printf '  %s, round %d of %d, %s, %s: %s\n' "$backend" "$round" "$rounds" "$cost_path" "$cost_build" \
            "$(jq -c . "$work/cost.$cost_path.$cost_build.$backend.$round.json")" >&2
        done
      done
    done
    for cost_path in "${cost_paths[@]}"; do
      jq -nc --arg path "$cost_path" --argjson target $cost_target \
        --slurpfile now <(cat "$work/cost.$cost_path.now.$backend."*.json) \
        --slurpfile before <(cat "$work/cost.$cost_path.before.$backend."*.json 2>/dev/null || true) '
        def median(field): map(field) | sort | .[(length - 1) / 2 | floor];
        {($path): ({micros: ($now | median(.micros)), workers_micros: ($now | median(.workers_micros))} +
          if $before == [] then {} else
            ($before | median(.micros)) as $former |
            {before: $former, workers_before: ($before | median(.workers_micros)),
             ratio: (($now | median(.micros)) / $former * 100 | round / 100), target: $target} end)}'
    done | jq -s --arg backend "$backend" '{backend: $backend} + add' >"$work/$backend.result.json"
  done
  show_results "Processor time of the daemon's listener, handlers, responses and writer, microseconds a unit; workers apart" \
    "of $seconds s each"
}
