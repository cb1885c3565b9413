# --help and --version: to stdout, exit 0, readable on a terminal of 80 columns.
load helpers

@test "--help of every tool names it, shows an example and fits 80 columns" {
  for tool in "${tools[@]}"; do
    works "$tool" --help
    same "$(awk 'length > 80' <<<"$output")" ""
    like "$output" "*Usage: $tool *--quiet*--verbose*--json*--version*Example:*$tool *"
  done
}

@test "--help of a subcommand fits 80 columns" {
  works sti-importance show --help
  same "$(awk 'length > 80' <<<"$output")" ""
  like "$output" "*--svg*"
}

@test "--help tells the options that scripts rely on" {
  sti-shard --help >text
  for option in --bits --codebook --layout --threads --dry-run; do grep -q -- "$option" text; done
  sti-importance --help >text
  for option in --data --metric --text-column --pair-column --label-column show; do grep -q -- "$option" text; done
  sti-profile --help >text
  for option in --lengths --widths --threads --cpus --gap --precision --budget --compute; do grep -q -- "$option" text; done
  sti-plan --help >text
  for option in --target --preload --memory --length --strategy --bits --submodel --width-min \
    --similar --full-accuracy --io-budget --seed --risk --allow-untrained --explain --check \
    --wake --turns --turn-buffer --min-accuracy --freq --interpolate; do
    grep -q -- "$option" text
  done
  sti-run --help >text
  for option in --plan --submodel --bits --on-late --io --one-shot --memory --ids --pairs --top \
    --stats --trace --eval --min-accuracy --max-p99 --text-column --pair-column --label-column \
    --max-memory --max-bytes --max-misses --baseline --max-drop; do
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
