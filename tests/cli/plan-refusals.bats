# When sti-plan cannot: 4 if the request cannot be met, 3 if files do not belong or are broken.
# Nothing is written either way.
load helpers

is_refused() { # CODE LINE ARGUMENTS...
  local code=$1 line=$2
  shift 2
  echo "an older plan" >old.plan
  refused "$code" "$line" sti-plan "$@" -o old.plan
  same "$(cat old.plan)" "an older plan"
  no_leftovers
}

@test "a target that no submodel meets: exit 4 with the smallest feasible one, which then works" {
  is_refused 4 "sti-plan: no plan meets 0.500 ms: the smallest feasible target is *ms, with 1x2 at 2 bits; the next better, 1x3, needs a target of *ms; raise --target, since no preload is enough" \
    model.sti --profile device.json --target 500us
  smallest=$(sed -E 's/.*target is ([0-9.]+ms).*/\1/' <<<"$stderr")
  works sti-plan -q model.sti --profile device.json --target "$smallest" -o a.plan
}

@test "a target that a preload would meet: exit 4 with the smallest preload, which then works" {
  is_refused 4 "sti-plan: no plan meets 0.800 ms: the smallest feasible target is *ms, with 1x2 at 2 bits; the next better, 1x3, needs a target of *ms; raise --target, or --preload to * bytes" \
    model.sti --profile device.json --target 800us
  smallest=$(sed -E 's/.*--preload to ([0-9]+) bytes.*/\1/' <<<"$stderr")
  works sti-plan -q model.sti --profile device.json --target 800us --preload "$smallest" -o a.plan
  refused 4 "sti-plan: no plan meets 0.800 ms*" \
    sti-plan -q model.sti --profile device.json --target 800us --preload "$((smallest - 1))"
}

@test "the same of a uniform strategy" {
  is_refused 4 "sti-plan: no load-exec plan meets the target: the fastest submodel takes * of 0.500 ms; the smallest feasible target is *ms" \
    model.sti --profile device.json --strategy load-exec --target 500us
}

@test "memory that holds no submodel: exit 4" {
  is_refused 4 "sti-plan: no submodel fits in 1000 bytes of memory; raise --memory to * bytes" \
    model.sti --profile device.json --target 100ms --memory 1kB
  smallest=$(sed -E 's/.*--memory to ([0-9]+) bytes.*/\1/' <<<"$stderr")
  works sti-plan -q model.sti --profile device.json --target 100ms --memory "$smallest" -o a.plan
  refused 4 "sti-plan: no submodel fits in *; raise --memory to $smallest bytes" sti-plan -q \
    model.sti --profile device.json --target 100ms --memory "$((smallest - 1000))"
}

@test "memory that holds no plan of a strategy: the least that does" {
  local strategy
  for strategy in "--strategy stdpl --bits 6" "--strategy preload --bits 6" "--io-budget 100kB --submodel 2x2"; do
    # shellcheck disable=SC2086
    is_refused 4 "sti-plan: *memory asked for*; raise --memory to * bytes" \
      model.sti --profile device.json --target 100ms --memory 1kB $strategy
    smallest=$(sed -E 's/.*--memory to ([0-9]+) bytes.*/\1/' <<<"$stderr")
    # shellcheck disable=SC2086
    works sti-plan -q model.sti --profile device.json --target 100ms --memory "$smallest" $strategy
    # shellcheck disable=SC2086
    refused 4 "sti-plan: *memory asked for*" sti-plan -q model.sti --profile device.json \
      --target 100ms --memory "$((smallest - 5000))" $strategy
  done
}

@test "a target that a noisy profile puts out of reach: what it knows, and what helps" {
  jq '.io[].p99_us = 3000 | .compute[].p99_us = 3000 | .noise = 0.2' device.json >noisy.json
  is_refused 4 "sti-plan: no plan meets 3.000 ms: *; medians are in time, but the profile knows them to within 20.0 % only; raise --target, since no preload is enough; or measure the device again, for longer, or plan by --risk median" \
    model.sti --profile noisy.json --target 3ms
  works sti-plan -q model.sti --profile noisy.json --target 3ms --risk median -o a.plan
  # Not where medians are late too, nor where the profile knows its times.
  is_refused 4 "sti-plan: no plan meets 0.500 ms: *, needs a target of *ms; raise --target, since no preload is enough" \
    model.sti --profile noisy.json --target 500us
  jq '.noise = 0.02' noisy.json >quiet.json
  is_refused 4 "sti-plan: no plan meets 3.000 ms: *, needs a target of *ms; raise --target, since no preload is enough" \
    model.sti --profile quiet.json --target 3ms
}

@test "importance of another model: both digests" {
  make_other_model
  other=$(sti-inspect --json other.sti | jq -r '.model[0:8]')
  mine=$(sti-inspect --json model.sti | jq -r '.model[0:8]')
  refused 3 "sti-plan: model.importance was made for model $mine…, not $other…; run sti-importance on this model" \
    sti-plan other.sti --profile device.json --importance model.importance --target 12ms -o a.plan
  [ ! -e a.plan ]
}

@test "a profile of another shape" {
  jq '.shape = "0123456789abcdef0123456789abcdef"' device.json >other.json
  mine=$(sti-inspect --json model.sti | jq -r '.shape_digest[0:8]')
  is_refused 3 "sti-plan: other.json was made for model shape 01234567…, not $mine…; run sti-profile on this model" \
    model.sti --profile other.json --target 12ms
}

@test "a profile of a retrained model of the same shape serves" {
  make_other_model
  shape=$(sti-inspect --json model.sti | jq -r .shape_digest)
  jq --arg shape "$shape" '.shape = $shape' device.json >shaped.json
  works sti-plan -q other.sti --profile shaped.json --target 12ms -o a.plan
}

@test "times in a profile that are no times: file and field are named" {
  jq '.compute[3].layer_us = -5' device.json >bad.json
  is_refused 3 "sti-plan: bad.json: compute[[]3].layer_us is negative; correct it or run sti-profile again" \
    model.sti --profile bad.json --target 12ms
  jq '.io[1].load_us = -1' device.json >bad.json
  is_refused 3 "sti-plan: bad.json: io[[]1].load_us is negative; correct it or run sti-profile again" \
    model.sti --profile bad.json --target 12ms
  jq '.compute[0].layer_us = 1e308' device.json >bad.json
  is_refused 3 "sti-plan: bad.json: compute[[]0].layer_us is above 10^9, which is seventeen minutes; correct it *" \
    model.sti --profile bad.json --target 12ms
  jq '.threads = 257' device.json >bad.json
  is_refused 3 "sti-plan: bad.json: threads is above 256; correct it *" \
    model.sti --profile bad.json --target 12ms
  refused 3 "sti-inspect: bad.json: threads is above 256; correct it *" sti-inspect --verify bad.json
  jq '.io_series = [{median_us: 1, p99_us: 2}]' device.json >bad.json
  refused 3 "sti-inspect: bad.json: one of io_series and compute_series is missing; correct it *" \
    sti-inspect --verify bad.json
  { cat device.json && printf '\0garbage'; } >bad.json
  is_refused 3 "sti-plan: bad.json: not well-formed JSON, which has no NUL byte; correct it*" \
    model.sti --profile bad.json --target 12ms
  jq '.compute[0].layer_us = "fast"' device.json >bad.json
  is_refused 3 "sti-plan: bad.json: compute[[]0]: layer_us is not a finite number; correct it *" \
    model.sti --profile bad.json --target 12ms
  jq 'del(.compute[0].width)' device.json >bad.json
  is_refused 3 "sti-plan: bad.json: compute[[]0]: width is missing; correct it *" \
    model.sti --profile bad.json --target 12ms
  sed 's/"load_us": 120/"load_us": NaN/' device.json >bad.json
  is_refused 3 "sti-plan: bad.json: not well-formed JSON at byte *; *" \
    model.sti --profile bad.json --target 12ms
  sed 's/"load_us": 120/"load_us": 1e999/' device.json >bad.json
  is_refused 3 "sti-plan: bad.json: *" model.sti --profile bad.json --target 12ms
}

@test "a profile that lacks a part" {
  jq '.compute = []' device.json >bad.json
  is_refused 3 "sti-plan: *compute*" model.sti --profile bad.json --target 12ms
  jq '.io = []' device.json >bad.json
  is_refused 3 "sti-plan: *io*" model.sti --profile bad.json --target 12ms
  jq 'del(.io)' device.json >bad.json
  is_refused 3 "sti-plan: bad.json: io is missing; *" model.sti --profile bad.json --target 12ms
}

@test "files in each other's places" {
  is_refused 3 "sti-plan: model.plan: neither JSON nor a binary * file; give one of these" \
    model.sti --profile model.plan --target 12ms
  is_refused 3 "sti-plan: dev.tsv: neither JSON nor a binary * file; give one of these" \
    model.sti --profile device.json --importance dev.tsv --target 12ms
  is_refused 3 "sti-plan: device.json: not a shard container; make one with sti-shard" \
    device.json --profile device.json --target 12ms
  is_refused 3 "sti-plan: none.json: no such file" model.sti --profile none.json --target 12ms
}

@test "damaged importance" {
  cp model.importance bad.importance
  flip bad.importance 100
  is_refused 3 "sti-plan: bad.importance: the payload does not match its checksum; the file is damaged, make it again" \
    model.sti --profile device.json --importance bad.importance --target 12ms
}

@test "importance in JSON with a row too few" {
  sti-importance show --json model.importance | jq 'del(.scores[5])' >bad.json
  is_refused 3 "sti-plan: bad.json: *scores*" \
    model.sti --profile device.json --importance bad.json --target 12ms
}
