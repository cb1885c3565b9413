# README.md, the guides and the examples' own pages: every command that they tell a reader to type
# works, with the shipped model in place of the reader's, and a transcript is what its commands
# print on any machine.
load helpers
load pages

# Commands that are tried elsewhere, or nowhere, and why.
declare -gA elsewhere=(
  ['make install PREFIX=/usr/local']="install.bats installs, into a folder of its own"
  ['make install PREFIX=/usr DESTDIR=stage']="install.bats installs so"
  ['make packages && sudo apt install ./build/dist/*_amd64.deb']="packaging/test-packages installs them"
  ['make tarball && tar -xzf build/dist/sti-tools-*-linux-amd64.tar.gz']="packaging/test-tarball unpacks it"
  ['make wheel && pip install build/dist/sti-*_x86_64.whl']="packaging/test-wheel installs it"
  ['cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DSTI_TOOLS=OFF']="install.bats configures so"
  ['cmake --build build && cmake --install build']="takes minutes, and writes to /usr/local"
  ['cc app.c $(pkg-config --cflags --libs sti) -o app']="install.bats types it"
  ['cc -static app.c $(pkg-config --static --cflags --libs sti) -o app']="install.bats types it"
  ['apt-get update && apt-get install -y --no-install-recommends ca-certificates git make']="packaging/test-newcomer types it"
  ['git clone https://git.example.org/sti.git']="packaging/test-newcomer types it"
  ['make -C sti']="packaging/test-newcomer types it"
  ['make tools STI_SOURCE=https://git.example.org/sti.git']="ci-example.bats types it"
  ['make check']="ci-example.bats types it"
  ['make .work/whole.sti']="ci-example.bats types it"
  ['make -f importance.mk MODEL=.work/whole.sti DATA=dev.tsv OUT=model.importance']="ci-example.bats types it"
  ['make check IMPORTANCE=model.importance']="ci-example.bats types it"
  ['cc warm-server.c $(pkg-config --cflags --libs sti) -o warm-server']="as warm-server.bats does"
  ['./warm-server intents.socket model.sti model.plan &']="as warm-server.bats does"
  ['sti-importance plain.sti --data train.tsv --quick --order -o plain.importance']="as shard-sort.bats does"
  ['sti-shard plain-model --sort plain.importance -o sorted.sti']="as shard-sort.bats does"
  ['sti-importance sorted.sti --data train.tsv --metric loss --submodels -o sorted.importance']="as shard-sort.bats does"
  ['sti-importance sentences.sti --data texts.tsv --gains --submodels -o sentences.importance']="as importance-embeddings.bats does"
  ['sti-importance names.sti --data tagged.conll -o names.importance']="as importance-tokens.bats does"
  ['sti-importance names.sti --data tagged.conll --gains --submodels -o names.importance']="as importance-tokens.bats does"
  ['sti-importance names.sti --data texts.tsv --metric kl --quick -o names-kl.importance']="as importance-tokens.bats does"
  ['sti-importance sentences.sti --data sts.tsv --metric spearman --quick -o sts.importance']="as importance-embeddings.bats does"
  ['sti-plan sorted.sti --importance sorted.importance --allow-untrained --profile device.profile --target 200ms']="as shard-sort.bats does"
  ['python3 -m venv venv && venv/bin/pip install -r requirements.txt && . venv/bin/activate']="PyTorch comes from the network"
  ['./fine-tune all-MiniLM-L6-v2 --train train.tsv --dev dev.tsv -o plain']="as elastic-finetune.bats does"
  ['./make-elastic plain --train train.tsv --dev dev.tsv --hours 0.5 -o elastic']="as elastic-finetune.bats does"
  ['./agree elastic --data dev.tsv']="elastic-finetune.bats runs it"
  ['./at-targets plain elastic train.tsv dev.tsv']="elastic-finetune.bats runs it"
  ['sti-shard elastic -o model.sti']="elastic-finetune.bats shards its models"
  ['./tag-by-rule train.tsv >train.conll']="elastic-heads.bats runs it"
  ['./tag-by-rule dev.tsv >dev.conll']="elastic-heads.bats runs it"
  ['./fine-tune all-MiniLM-L6-v2 --head words --train train.conll --dev dev.conll -o tagger']="as elastic-heads.bats does"
  ['./make-elastic tagger --train train.conll --dev dev.conll --unlabelled texts.txt -o elastic-tagger']="as elastic-heads.bats does"
  ['sti-shard elastic-tagger -o tagger.sti && sti-run tagger.sti --eval dev.conll']="as elastic-heads.bats does"
  ['./make-elastic all-MiniLM-L6-v2 --train texts.txt --least-depth 3 --least-width 6 -o elastic']="as elastic-heads.bats does"
  ['sti-shard elastic -o sentences.sti']="elastic-heads.bats shards its models"
  ['./measure model.sti']="as cluster-example.bats does"
  ['./deploy --importance model.importance model/ model.sti']="as cluster-example.bats does"
  ['./run < lines > answers']="as cluster-example.bats does"
  ['./stop']="as cluster-example.bats does"
  ['./warm-server intents.socket ask "wake me up at seven" ".trim 0" "tell me a joke" ".quit"']="as warm-server.bats does"
)

# A process with a sanitizer takes several times the memory.
if is_sanitized; then
  elsewhere['sti-run --model a=model.sti,model.plan --model b=model.sti --memory 24MiB < named.txt']="as run-models.bats does"
fi

pages() { (cd "$repo" && printf '%s\n' README.md docs/guide/*.md examples/*/README.md); }

# All commands of a page, one a line: PAGE.
all_commands_of() {
  commands_of "$repo/$1"
  commands_in_text_of "$repo/$1"
}

# A folder with all that a reader has who comes to a page; each page gets a copy.
setup_file() {
  make_fixtures
  mkdir "$BATS_FILE_TMPDIR/reader"
  cd "$BATS_FILE_TMPDIR/reader"
  cp "$fixtures"/model.{sti,importance,plan} .
  { head -n 1 "$fixtures/few.tsv" && tail -n 10 "$fixtures/few.tsv"; } >dev.tsv
  cp model.importance loss.importance
  cp model.importance kl.importance
  ln -s "$repo/examples" examples
  ln -s "$example/model" my-model
  cp -r "$example/model" my-sentence-model # its encoder, as sentence-transformers would save it
  mkdir my-sentence-model/1_Pooling
  echo '[{"type": "models.Transformer", "path": ""}, {"type": "models.Pooling", "path": "1_Pooling"}]' \
    >my-sentence-model/modules.json
  echo '{"pooling_mode": "mean"}' >my-sentence-model/1_Pooling/config.json
  cp -r "$repo/tests/data/spans-bert" my-token-model
  ln -s "$repo/tests/data/vit-tiny" my-vit
  ln -s "$repo/tests/data/gpt2-tiny" my-gpt2
  mkdir photos
  cp "$repo/tests/fuzz/corpus/image/rgb.png" photos
  printf '%s\n' "Anna B-PER" "lives O" "in O" "Berlin B-LOC" >tagged.conll
  head -n 3 dev.tsv | cut -f 1 >lines
  tail -n 3 dev.tsv | cut -f 1 >dialogue.txt
  for _ in 1 2 3 4 5 6 7 8 9; do tr "\n" " " <dialogue.txt; done >pages.txt
  echo "$alarm" >line.txt
  awk '{ print (NR % 2 ? "a" : "b") "\t" $0 }' dialogue.txt >named.txt
  sti-run -q model.sti --eval dev.tsv --json >full.json
  mkdir cola # whose sets have four columns and no header
  tail -n +2 dev.tsv | awk -F '\t' '{ print "clinc\t" $2 "\t*\t" $1 }' >cola/dev.tsv
  jq '.streams = [{streams: 1, bytes_per_us: 80}, {streams: 4, bytes_per_us: 300}]' \
    "$example/odroid.profile.json" >p
  jq '{devices: [{name: "pi-1", kind: "pi", profile: .}, {name: "pi-2", kind: "pi"}],
    links: [{from: "pi", to: "pi", bits_per_s: 1e8, delay_us: 500}]}' p >cluster.json
  head -n 3 dev.tsv >two.tsv
  sti-importance -q model.sti --data two.tsv --metric loss --submodels --gains --cascade \
    --alphas 0.5 -o i
  # A short measurement in place of a good one, and a journal that ends.
  mkdir bin
  printf '#!/bin/sh\ncase "$1" in images.sti | gpt2.sti) set -- "$@" --widths 2 ;; *) set -- "$@" --widths 12 ;; esac
exec "%s" "$@" --budget 1ms\n' "$STI_BIN/sti-profile" >bin/sti-profile
  printf '#!/bin/sh\ncat line.txt\n' >bin/journalctl
  chmod +x bin/*
}

# PAGE: goes to a reader's folder of its own, where the page's examples lie too.
sit_down_with() {
  cp -r "$BATS_FILE_TMPDIR/reader" "$BATS_TEST_TMPDIR/${1//\//-}"
  cd "$BATS_TEST_TMPDIR/${1//\//-}"
  case "$1" in examples/*) cp "$repo/${1%/*}"/*.* . ;; esac
}

# Blanks out what rounding may change from one instruction set to the next: a label's score.
without_scores() { sed -E 's/^([^\t]+)\t[0-9.]+\t/\1\tscore\t/'; }

# PAGE: what its transcript shows is what the commands print.
transcript_holds() {
  blocks_of console "$repo/$1" >shown
  [ -s shown ] || return 0
  # A command begins with "$ ", and goes on after a line that ends in a backslash.
  awk -v commands=commands -v expected=expected '
    /^\$ / { sub(/^\$ /, ""); typed = 1 }
    { print >(typed ? commands : expected) }
    !/\\$/ { typed = 0 }' shown
  bash -e commands >printed 2>&1
  same "$(without_lateness <printed | without_scores)" "$(without_scores <expected)"
}

# PAGE: its transcript holds and its commands work, one after the other.
page_works() {
  local command status
  sit_down_with "$1"
  transcript_holds "$1"
  all_commands_of "$1" >commands
  while IFS= read -r command <&4; do
    [ -z "${elsewhere[$command]:-}" ] || continue
    status=0 # those that read a text are told a dialogue
    PATH="$PWD/bin:$PATH" bash -euo pipefail -c "$command" <dialogue.txt >said 2>&1 || status=$?
    same "$1: $command: $status: $([ $status -eq 0 ] || cat said)" "$1: $command: 0: "
  done 4<commands
}

@test "README's transcript is what its commands print, and its other commands work" {
  page_works README.md
  same "$(blocks_of console "$repo/README.md" | grep -c '^\$ sti-')" 4
}

@test "the commands of the guides and of the examples' pages work" {
  for page in $(pages); do
    [ "$page" = README.md ] || page_works "$page"
  done
}

@test "a command that is not tried here stands in a page, and none stands where nobody looks" {
  for page in $(pages); do all_commands_of "$page"; done >all
  for command in "${!elsewhere[@]}"; do
    grep -qxF -e "$command" all || { echo "in no page: $command"; return 1; }
  done
  for page in $(pages); do
    kind='c|cmake|console|sh'
    awk -v page="$page" -v kinds="^($kind)$" '
      /^```/ { open = !open; known = substr($0, 4) ~ kinds }
      (open && !known || !open && /^    /) && /^ *(sti-[a-z]+|make|cmake|cc) / {
        print page ":" NR ": a command outside of a block sh: " $0 }' "$repo/$page"
  done >found
  same "$(cat found)" ""
}

@test "an option that a page names is one of a tool, or of an example" {
  for tool in "${tools[@]}"; do "$tool" --help; done >help
  for job in merge show; do sti-importance $job --help; done >>help
  grep -hoE -- '"--[a-z-]+"' "$repo"/examples/elastic-finetune/{*,elastic/*.py} | tr -d '"' >>help
  grep -oE -- '--[a-z][a-z0-9-]+' help | sort -u >options
  # Blocks sh have those of other programs too; they are typed above.
  for page in $(pages); do
    awk '/^```/ { open = !open; typed = open && $0 == "```sh" } !typed' "$repo/$page" |
      { grep -oE -- '--[a-z][a-z0-9-]+' || true; } | sort -u | comm -23 - options | sed "s|^|$page: |"
  done >unknown
  same "$(cat unknown)" ""
}

@test "what README and the guides say that make can make, it can" {
  (cd "$repo" && grep -ohP '(^|`)make \K[a-z][a-z0-9-]*' README.md CONTRIBUTING.md docs/guide/*.md) |
    sort -u >named
  grep -qx demo named
  same "$(grep -oP '^[a-z][a-z0-9-]*(?=:)' "$repo/Makefile" | sort -u | comm -23 named -)" ""
}
