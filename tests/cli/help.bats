# -h, --help and --version: to stdout, exit 0, readable on a terminal of 80 columns.
load helpers

@test "-h of every tool fits a terminal of 24 lines, and says a part of --help" {
  for tool in "${tools[@]}"; do
    works "$tool" -h
    like "$output" "*Usage: $tool *Example:*$tool *
$tool --help shows all options."
    [ "${#lines[@]}" -ge 8 ]
    [ "$(wc -l <<<"$output")" -le 24 ]
    same "$(awk 'length > 80' <<<"$output")" ""
    head -n -2 <<<"$output" >short
    "$tool" --help >all
    same "$(diff short all | grep '^<')" ""
    for option in -h --help --quiet --log-json; do
      grep -q -e "  *$option\b" all
      ! grep -q -e "^ .*$option\b" short
    done
  done
}

@test "-h of a subcommand shows what it takes" {
  works sti-importance show -h
  like "$output" "*Usage: sti-importance show FILE \[OTHER\] *--svg FILE*Example:*sti-importance show *"
  works sti-importance merge -h
  like "$output" "*Usage: sti-importance merge PART... *Example:*sti-importance merge *"
}

@test "--help names the values of an option, its range, its default and what it excludes" {
  sti-shard --help | tr -s '\n ' ' ' >text
  grep -q -- '--codebook {gobo,tree} tree: .* \[tree\]' text
  grep -q -- '--threads N layers at once (1 to 256)' text
  grep -q -- '--bits LIST .* (not with --for)' text
  sti-plan --help | grep -q '^Usage: sti-plan MODEL \[OPTIONS\]$'
}

@test "--help of every tool names it, shows an example and fits 80 columns" {
  for tool in "${tools[@]}"; do
    works "$tool" --help
    same "$(awk 'length > 80' <<<"$output")" ""
    like "$output" "*Usage: $tool *--quiet*--verbose*--json*--version*Exit codes:*Example:*$tool *"
    for code in "0  *done" "1  *the machine failed: *" "2  *the options are wrong" \
      "3  *a file is missing, *" "4  *cannot be met, *"; do
      like "$output" "*
  $code
*"
    done
  done
}

@test "--help of a subcommand fits 80 columns" {
  works sti-importance show --help
  same "$(awk 'length > 80' <<<"$output")" ""
  like "$output" "*--svg*"
}

@test "--help tells the options that scripts rely on" {
  sti-shard --help >text
  for option in --bits --codebook --layout --tokenizer --labels --threads --dry-run; do grep -q -- "$option" text; done
  sti-importance --help >text
  for option in --data --metric --text-column --pair-column --label-column show; do grep -q -- "$option" text; done
  sti-profile --help >text
  for option in --lengths --widths --threads --cpus --gap --precision --budget --compute; do grep -q -- "$option" text; done
  sti-plan --help >text
  for option in --target --preload --memory --length --strategy --bits --submodel --width-min \
    --similar --full-accuracy --io-budget --seed --risk --allow-untrained --explain --check \
    --wake --turns --turn-buffer --min-accuracy --guarantee --freq --interpolate --cascade --max-levels; do
    grep -q -- "$option" text
  done
  sti-run --help >text
  for option in --plan --submodel --bits --on-late --io --one-shot --memory --ids --pairs --top \
    --stats --trace --eval --min-accuracy --max-p99 --text-column --pair-column --label-column \
    --max-memory --max-bytes --max-misses --baseline --max-drop --seed; do
    grep -q -- "$option" text
  done
  sti-inspect --help >text
  for option in --json --verify --tokenize --pairs; do grep -q -- "$option" text; done
}

@test "--version of every tool is its name and one version for all" {
  works sti-shard --version
  version=${output#sti-shard }
  like "$version" "[0-9]*.[0-9]*"
  for tool in "${tools[@]}"; do
    works "$tool" --version
    same "$output" "$tool $version"
  done
}
