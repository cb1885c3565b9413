# sti-profile: what this machine measures, with every field that others build on.
load helpers

@test "a quick profile has all fields, and its numbers make sense" {
  local _
  for _ in 1 2 3; do # where other processes disturb it, a last layer may seem to take all of the end
    works sti-profile -q model.sti -o a.json --budget 1s --lengths 16 --widths 2,12 --threads 1
    profile=$(cat a.json)
    [ "$(jq '.fixed[0].head_us > 0' a.json)" = true ] && break
  done
  holds "$profile" '(.shape | test("^[0-9a-f]{32}$")) and .threads == 1'
  holds "$profile" '(.cpus | test("^[0-9,-]+$")) and (.kernel | length) > 0'
  holds "$profile" '.read_path | IN("uring", "threads", "buffered")'
  holds "$profile" '(.machine | length) > 0'
  holds "$profile" '[.compute[] | [.length, .width]] == [[16, 2], [16, 12]]'
  holds "$profile" 'all(.compute[]; .layer_us > 0 and .p99_us >= .layer_us and has("freq"))'
  holds "$profile" '.compute[1].layer_us > .compute[0].layer_us'
  holds "$profile" '(.io | length) >= 2 and all(.io[]; .bytes > 0 and .load_us > 0 and .p99_us >= .load_us)'
  holds "$profile" '[.fixed[].length] == [16]'
  holds "$profile" 'all(.fixed[]; .embed_us > 0 and .embed_io_us > 0 and .head_us > 0)'
  holds "$profile" 'all(.fixed[]; .embed_p99_us >= .embed_us and .embed_io_p99_us >= .embed_io_us)'
  holds "$profile" 'all(.fixed[]; .head_p99_us >= .head_us)'
  holds "$profile" '.read_bytes >= 4096 and .read_bytes % 4096 == 0 and .read_depth >= 1'
  holds "$profile" '.start_us > 0 and .noise > 0 and .process_bytes > 0'
  holds "$profile" '.thermal | .freq_max >= .freq_min and has("celsius_before") and has("celsius_after")'
  same "$(jq -r .shape a.json)" "$(sti-inspect --json model.sti | jq -r .shape_digest)"
}

@test "the binary spelling holds the same, and a plan is made from it" {
  sti-profile -q model.sti -o a.profile --budget 1s --lengths 16 --widths 2,12
  run ! jq . a.profile
  works sti-plan -q model.sti --profile a.profile --target 10s -o a.plan.json
  same "$(jq .length a.plan.json)" 16
  no_leftovers
}

@test "-o - writes JSON to stdout, --json prints it beside the file" {
  works sti-profile -q model.sti -o - --budget 1s --lengths 16 --widths 12
  holds "$output" '.compute | length == 1'
  works sti-profile -q --json model.sti -o a.profile --budget 1s --lengths 16 --widths 12
  same "$output" "$(sti-inspect --json a.profile)"
}

@test "without -q a summary goes to stderr" {
  run --separate-stderr sti-profile model.sti -o a.profile --budget 1s --lengths 16 --widths 12
  same "$status" 0
  same "$output" ""
  like "$stderr" "*sti-profile: reads * MB/s through *; a layer of 12 slices at 16 tokens takes * on * threads*"
  like "$stderr" "*sti-profile: best read by * at once; a start takes *; medians are known to within * %"
}

@test "smaller reads than any shard are measured: a later turn reads planes" {
  works sti-profile -q model.sti -o a.json --lengths 16 --widths 12 --budget 1us
  holds "$(cat a.json)" '.io == (.io | sort_by(.bytes)) and ([.io[].bytes] | unique | length) == (.io | length)'
  [ "$(jq '.io[0].bytes' a.json)" -lt 12000 ] || fail "smallest read: $(jq -c .io a.json)"
}

@test "a machine that is too noisy for what is asked is named so, in one line" {
  run --separate-stderr sti-profile model.sti -o a.json --lengths 16 --widths 2 --precision 0% --budget 1us
  same "$status" 0
  like "$stderr" "*sti-profile: warning: this machine is too noisy: * of * medians are not known to within 0.0 %, least *; stop other work, or give --budget more time*"
  holds "$(cat a.json)" '.noise > 0'
}

@test "too little time for all widths: the ends and the middle, unless they were asked for" {
  run --separate-stderr sti-profile model.sti -o a.json --lengths 16 --budget 1us
  same "$status" 0
  like "$stderr" "*sti-profile: warning: only widths 2, 7 and 12 are measured*--interpolate*"
  same "$(jq -c '[.compute[].width]' a.json)" "[2,7,12]"
  sti-plan -q model.sti --profile a.json --target 10s --interpolate -o a.plan.json
  run --separate-stderr sti-profile model.sti -o a.json --lengths 16 --widths 2-12 --budget 1us
  same "$(jq '.compute | length' a.json)" 11
}

@test "-v says how fast the device reads in which shape" {
  run --separate-stderr sti-profile -v model.sti -o a.json --lengths 16 --widths 2 --budget 1us
  same "$status" 0
  like "$stderr" "*reads of 4 KiB,  1 at once: * MB/s*reads of 64 KiB,  1 at once: * MB/s*"
}

@test "--io buffered is what the profile then says" {
  works sti-profile -q model.sti -o a.json --budget 1s --lengths 16 --widths 12 --io buffered
  same "$(jq -r .read_path a.json)" buffered
}

@test "a length beyond the model's positions becomes the longest" {
  works sti-profile -q model.sti -o a.json --budget 1s --lengths 16,500 --widths 2
  same "$(jq -c '[.compute[].length]' a.json)" "[16,128]"
}

@test "--batches measures passes of several inputs, which plans for a cluster count on" {
  works sti-profile -q model.sti -o a.json --budget 20ms --lengths 16,32 --widths 2,12 --batches 1,2,4
  profile=$(cat a.json)
  holds "$profile" '[.compute[] | [.length, .width]] == [[16, 2], [16, 12], [32, 2], [32, 12]]'
  holds "$profile" '[.batches[].batch] == [2, 4]'
  holds "$profile" '. as $p | all(.batches[]; [.compute[] | [.length, .width, .freq]] ==
    [$p.compute[] | [.length, .width, .freq]] and [.fixed[].length] == [16, 32])'
  holds "$profile" 'all(.batches[].fixed[]; .embed_us > 0 and .embed_io_us > 0)'
  works sti-inspect a.json
  like "$output" "*passes of 2 inputs*16 x 2*32 x 12*passes of 4 inputs*16 x 2*32 x 12*"
  jq '{devices: [{name: "b1", kind: "board", profile: .}, {name: "b2", kind: "board"}],
    links: [{from: "board", to: "board", bits_per_s: 1e9, delay_us: 200}]}' a.json >cluster.json
  works sti-plan -q model.sti --cluster cluster.json --microbatch 4 -o c.json
  same "$(jq .microbatch c.json)" 4
  works sti-profile -q model.sti -o b.profile --budget 20ms --lengths 16 --widths 12 --batches 3
  works sti-profile merge a.json b.profile -o -
  holds "$output" '[.batches[].batch] == [2, 3, 4]'
}

@test "--batches that no profile has, or that no memory holds, are refused" {
  refused 2 "sti-profile: --batches: a pass has 1 to 256 inputs" \
    sti-profile model.sti -o a.profile --batches 0,4
  refused 2 "sti-profile: --batches: a pass has 1 to 256 inputs" \
    sti-profile model.sti -o a.profile --batches 257
  refused 2 "sti-profile: --batches: a profile has at most 16 numbers of inputs beside 1" \
    sti-profile model.sti -o a.profile --batches 1-18
  [ ! -e a.profile ]
}

# BITS SUBMODEL: what a device has room for, as BITS.sti.
hold() {
  sti-plan -q model.sti --profile device.json --strategy stdpl --bits "$1" --submodel "$2" -o "$1.plan"
  sti-shard -q model --for "$1.plan" -o "$1.sti"
}

@test "a device without room for the model profiles two of its layers" {
  hold 6 2x12
  works sti-profile -q 6.sti -o a.json --budget 20ms --lengths 16 --batches 1,4 --compute auto
  profile=$(cat a.json)
  same "$(jq -r .shape a.json)" "$(sti-inspect --json model.sti | jq -r .shape_digest)"
  holds "$profile" '(.compute | length) == 3 and (.batches[0].compute | length) == 3'
  holds "$profile" '.process_bytes > 0 and .start_us > 0 and (.io | length) > 0'
  works sti-plan -q model.sti --profile a.json --target 10s --submodel 6x12 -o a.plan
  same "$(sti-inspect --json a.plan | jq '.layers | length')" 6
  hold 3 3x12
  sti-shard -q model --for 6.plan,3.plan -o both.sti
  works sti-profile -q both.sti -o b.json --budget 20ms --lengths 16 --widths 12
  same "$(jq -c '[.decode[].bits]' b.json)" "[3]"
}

@test "a container of one layer, of narrow ones or of one stage is refused, and says what to give" {
  local advice="give the whole model, or what sti-shard --for makes for a plan of two layers or more, as wide as the model and at the same bits"
  for submodel in 1x12 3x4; do
    hold 6 $submodel
    refused 4 "sti-profile: 6.sti: holds no two layers with all their slices at the same bits; $advice" \
      sti-profile 6.sti -o a.profile
  done
  jq '{devices: [{name: "b1", kind: "board", profile: .}, {name: "b2", kind: "board"}],
    links: [{from: "board", to: "board", bits_per_s: 1e9, delay_us: 200}]}' device.json >cluster.json
  sti-plan -q model.sti --cluster cluster.json -o c.plan
  for device in b1 b2; do
    sti-shard -q model --for c.plan --stage $device -o $device.sti
    refused 4 "sti-profile: $device.sti: has one stage of a model alone, and lacks its text or its head; $advice" \
      sti-profile $device.sti -o a.profile
  done
  [ ! -e a.profile ]
}

@test "a model that is not there: exit 3, nothing written" {
  refused 3 "sti-profile: none.sti: no such file" sti-profile none.sti -o a.profile
  [ ! -e a.profile ]
  no_leftovers
}

# KHZ SLOWER LENGTH: the shared device at this clock, so much slower, at one length.
write_clock() {
  jq --argjson khz "$1" --argjson slower "$2" --argjson length "$3" '
    .compute[] |= (.freq = $khz | .length = $length | .layer_us *= $slower)
    | .fixed[].length = $length | .io[].load_us *= $slower' device.json
}

@test "merge joins clocks, and plans are made for each" {
  write_clock 900000 2 64 >slow.json
  write_clock 1800000 1 64 >fast.json
  works sti-profile merge slow.json fast.json -o both.profile
  same "$output" ""
  works sti-profile merge --json fast.json slow.json -o both.json
  same "$(sti-inspect --json both.json)" "$(sti-inspect --json both.profile)"
  holds "$output" '[.compute[].freq] | unique == [900000, 1800000]'
  holds "$output" '.io[-1].load_us == 3840 and (.compute | length) == 22'
  works sti-plan -q model.sti --profile both.profile --freq 900000,1800000 --target 30ms -o a.json
  holds "$(cat a.json)" '[.freq, .variants[].freq] == [1800000, 900000]'
}

@test "merge joins lengths that were measured apart" {
  write_clock 0 1 64 >long.json
  write_clock 0 0.5 32 >short.json
  works sti-profile merge long.json short.json -o -
  holds "$output" '[.compute[].length] | unique == [32, 64]'
  holds "$output" '[.fixed[].length] == [32, 64]'
}

# STATUS MESSAGE ARGUMENT...
refuses() {
  run --separate-stderr sti-profile "${@:3}"
  same "$status" "$1"
  like "$stderr" "$2"
}

@test "profiles that do not go together, and options that merge has not, are refused" {
  jq '.kernel = "native-avx2-fp32"' device.json >kernel.json
  refuses 3 "*kernel.json: has another kernel (native-avx2-fp32, not none) than device.json" \
    merge device.json kernel.json -o a.json
  jq '.shape = "00112233445566778899aabbccddeeff"' device.json >shape.json
  refuses 3 "*shape.json: has another model shape (*, not none) than device.json" \
    merge device.json shape.json -o a.json
  write_clock 900000 1 64 >clock.json
  refuses 3 "*device.json: does not say its clock, and clock.json does" \
    merge clock.json device.json -o a.json
  jq '.compute[0].layer_us = -1' device.json >damaged.json
  refuses 3 "*damaged.json: compute\[0\].layer_us is negative*" merge device.json damaged.json -o a.json
  refuses 3 "*none.json*" merge device.json none.json -o a.json
  cp device.json own.json
  refuses 2 "*-o: own.json is one of the profiles*" merge own.json -o own.json
  refuses 2 "*-o FILE is required*" merge device.json
  refuses 2 "*merge takes no --threads*" merge device.json -o a.json --threads 1
  refuses 2 "*MODEL is required*" -o a.json
  refuses 2 "*-o FILE is required*" model.sti
  [ ! -e a.json ]
}

@test "--clocks says where clocks cannot be set, before it measures" {
  [ ! -e /sys/devices/system/cpu/cpu0/cpufreq ] || skip "this system scales clocks"
  refuses 4 "sti-profile: --clocks: */cpufreq/scaling_max_freq: the clock cannot be set (this system does not scale it); *" \
    model.sti -o a.json --clocks 900000,1800000
  [ ! -e a.json ]
}
