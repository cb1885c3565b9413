# Wrong usage: exit 2, one line on stderr that says what to do, nothing on stdout.
load helpers

@test "an unknown option" {
  refuses() { refused 2 "$1: no option --no-such-option; see $1 --help" "$@" --no-such-option; }
  refuses sti-shard model -o x.sti
  refuses sti-importance model.sti --data few.tsv -o x.importance
  refuses sti-profile model.sti -o x.profile
  refuses sti-plan model.sti --profile device.json --target 12ms -o x.plan
  refuses sti-run model.sti "$alarm"
  refuses sti-inspect model.sti
  no_leftovers
}

@test "a mistyped option is told the nearest one, whatever else is missing" {
  refuses() { refused 2 "$2: no option ${*: -2:1}; did you mean $1?" "${@:2}"; }
  refuses --target sti-plan --taget 1
  refuses --target sti-plan model.sti --profile device.json --target 12ms --strategy sti --tarqet 12ms
  refuses --dry-run sti-shard model --dry-rnu x
  refuses --output sti-shard model --outputt x.sti
  refuses --metric sti-importance model.sti --data few.tsv --metrix kl
  refuses --svg sti-importance show model.importance --sgv x
  refuses --threads sti-profile model.sti -threads 2
  refuses --min-accuracy sti-run model.sti --min_accuracy 0.5
  refuses --verify sti-inspect model.sti --verfy x
  refused 2 "sti-plan: no option --taget; did you mean --target?" sti-plan model.sti --taget=12ms
  [ ! -e x.sti ]
}

@test "what stands behind -- is no option" {
  refused 2 "sti-inspect: *not expected: *--verfy*; see sti-inspect --help" sti-inspect model.sti -- --verfy
}

@test "nothing at all" {
  for tool in "${tools[@]}"; do
    refused 2 "$tool: *required*; see $tool --help" "$tool"
  done
}

@test "sti-shard: no output, output to stdout" {
  refused 2 "sti-shard: -o FILE is missing; or give --dry-run to see sizes" sti-shard model
  refused 2 "sti-shard: -o -: a container cannot go to stdout" sti-shard model -o -
}

@test "sti-shard: bitwidths that do not exist" {
  refused 2 "sti-shard: --bits: shards have 2 to 6 bits, or 32 for full fidelity, not 7" \
    sti-shard model -o x.sti --bits 2-7
  refused 2 "sti-shard: --bits: *, not 1" sti-shard model -o x.sti --bits 1,32
  refused 2 "sti-shard: *'6-2' is not a list; write 2-6,32*" sti-shard model -o x.sti --bits 6-2
  refused 2 "sti-shard: *'two' is not a list; write 2-6,32*" sti-shard model -o x.sti --bits two
  [ ! -e x.sti ]
}

@test "sti-shard: words that are not among the choices" {
  refused 2 "sti-shard: --codebook: best not in {gobo,tree}; see sti-shard --help" \
    sti-shard model -o x.sti --codebook best
  refused 2 "sti-shard: --layout: heap not in {shard,plane}; see sti-shard --help" \
    sti-shard model -o x.sti --layout heap
  refused 2 "sti-shard: --threads: *; see sti-shard --help" sti-shard model -o x.sti --threads 0
  [ ! -e x.sti ]
}

@test "sti-importance: without --data, without -o, an unknown metric" {
  refused 2 "sti-importance: --data FILE is required; see sti-importance --help" \
    sti-importance model.sti -o x.importance
  refused 2 "sti-importance: -o FILE is required; see sti-importance --help" \
    sti-importance model.sti --data few.tsv
  refused 2 "sti-importance: --metric: luck not in {accuracy,loss,kl,cosine,spearman,f1}; see sti-importance --help" \
    sti-importance model.sti --data few.tsv -o x.importance --metric luck
  [ ! -e x.importance ]
}

@test "sti-profile: without -o, impossible widths and lengths, cores that are not there" {
  refused 2 "sti-profile: -o FILE is required; see sti-profile --help" sti-profile model.sti
  refused 2 "sti-profile: --widths: the model has 1 to 12 slices a layer" \
    sti-profile model.sti -o x.profile --widths 13
  refused 2 "sti-profile: --lengths: an input has at least 3 tokens" \
    sti-profile model.sti -o x.profile --lengths 2
  refused 2 "sti-profile: --cpus: *" sti-profile model.sti -o x.profile --cpus 4000
  refused 2 "sti-profile: 'tape' is not a way to read; choose auto, uring, threads or buffered" \
    sti-profile model.sti -o x.profile --io tape
  [ ! -e x.profile ]
}

@test "sti-plan: without a target, and quantities without sense" {
  refused 2 "sti-plan: --target TIME is required, or --submodel NxM, or --min-accuracy A" \
    sti-plan model.sti --profile device.json
  refused 2 "sti-plan: *'12' is not a time; write 200ms, 0.2s or 200us*" \
    sti-plan model.sti --profile device.json --target 12
  refused 2 "sti-plan: *'-1ms' is not a time; write 200ms, 0.2s or 200us*" \
    sti-plan model.sti --profile device.json --target=-1ms
  refused 2 "sti-plan: *'1 cup' is not a size; write 1MiB, 1MB or 1048576*" \
    sti-plan model.sti --profile device.json --target 12ms --preload "1 cup"
  refused 2 "sti-plan: *'120%' is not a share; write 20% or 0.2*" \
    sti-plan model.sti --profile device.json --target 12ms --similar 120%
  refused 2 "sti-plan: *'5by3' is not a submodel; write layers x width as 5x3*" \
    sti-plan model.sti --profile device.json --submodel 5by3
  refused 2 "sti-plan: *--strategy: luck not in *" \
    sti-plan model.sti --profile device.json --target 12ms --strategy luck
  refused 2 "sti-plan: --profile FILE is required, or --cluster FILE; see sti-plan --help" \
    sti-plan model.sti --target 12ms
  refused 2 "sti-plan: --check takes no --output: it judges a plan as it is; drop one" \
    sti-plan model.sti --profile device.json --check model.plan -o x.plan
  refused 2 "sti-plan: the target is not a positive time; use --target 200ms" \
    sti-plan model.sti --profile device.json --target 0ms -o x.plan
  [ ! -e x.plan ]
}

@test "sti-plan: a length, width or submodel that model or profile do not have" {
  refused 2 "sti-plan: no profiled length holds 128 tokens, the profile has 64; *" \
    sti-plan model.sti --profile device.json --target 12ms --length 128
  refused 2 "sti-plan: length 129 is more than the model's 128 positions; ask for a shorter one" \
    sti-plan model.sti --profile device.json --target 12ms --length 129
  refused 2 "sti-plan: submodel 7x12 does not fit a model of 6x12; ask for a smaller one" \
    sti-plan model.sti --profile device.json --submodel 7x12
  refused 2 "sti-plan: *no 7 bits*" \
    sti-plan model.sti --profile device.json --target 12ms --bits 7
}

@test "sti-run: options that contradict each other" {
  refused 2 "sti-run: --submodel and --bits choose what --plan has chosen already; drop one" \
    sti-run model.sti --plan model.plan --bits 2 "$alarm"
  refused 2 "sti-run: --submodel and --bits choose what --plan has chosen already; drop one" \
    sti-run model.sti --plan model.plan --submodel 2x2 "$alarm"
  refused 2 "sti-run: --min-accuracy goes with --eval; add it, or drop --min-accuracy" \
    sti-run model.sti --min-accuracy 0.9 "$alarm"
  refused 2 "sti-run: --eval takes no TEXT: *; drop one" sti-run model.sti --eval few.tsv "$alarm"
  refused 2 "sti-run: --max-misses goes with --eval; add it, or drop --max-misses" \
    sti-run model.sti --max-misses 0 "$alarm"
  refused 2 "sti-run: *--max-misses*" sti-run model.sti --eval few.tsv --max-misses=-1
  refused 2 "sti-run: --max-drop goes with --baseline; add it, or drop --max-drop" \
    sti-run model.sti --eval few.tsv --max-drop 1%
  refused 2 "sti-run: --baseline and --eval cannot both be stdin; name a file" \
    sti-run model.sti --eval - --baseline -
  refused 2 "sti-run: --label-column goes with --eval; add it, or drop --label-column" \
    sti-run model.sti --label-column intent "$alarm"
  refused 2 "sti-run: text, pair and label are different columns; give each its own" \
    sti-run model.sti --eval few.tsv --text-column a --label-column a
  refused 2 "sti-run: --ids and --pairs do not go together" sti-run model.sti --ids --pairs "$alarm"
}

@test "sti-run: what the model does not have" {
  refused 2 "sti-run: submodel 6x13 is not inside the model's 6x12" \
    sti-run model.sti --submodel 6x13 "$alarm"
  refused 2 "sti-run: the model has no 7-bit shards" sti-run model.sti --bits 7 "$alarm"
  refused 2 "sti-run: 'tape' is not a way to read; choose auto, uring, threads or buffered" \
    sti-run model.sti --io tape "$alarm"
}

@test "a missing file is exit 3 in all tools, as the manual says" {
  refused 3 "sti-shard: none: *" sti-shard none -o x.sti
  refused 3 "sti-importance: none.sti: no such file" sti-importance none.sti --data dev.tsv -o x.importance
  refused 3 "sti-profile: none.sti: no such file" sti-profile none.sti -o x.profile
  refused 3 "sti-plan: none.sti: no such file" sti-plan none.sti --profile device.json --target 12ms
  refused 3 "sti-run: none.sti: no such file" sti-run none.sti "$alarm"
  refused 3 "sti-inspect: none.sti: *" sti-inspect none.sti
  like "$(grep -A 1 '^3$' "$repo/docs/man/every-tool.h2m")" "*a file is missing*"
}
