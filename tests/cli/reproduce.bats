# scripts/reproduce: which cells are missing, and what makes cells stale. Nothing is measured here.
load helpers

# A checkout with the scripts and sources that cells depend on, and no results.
setup() {
  cd "$BATS_TEST_TMPDIR"
  mkdir -p copy/docs/measured/paper
  git init -q copy
  cp -r "$repo/scripts" "$repo/schemas" copy/
  mkdir copy/lib copy/cmd
  echo one >copy/lib/a.cpp
  echo two >copy/cmd/b.cpp
  cells=copy/docs/measured/paper/cells.csv
}

reproduce() { python3 copy/scripts/reproduce "$@"; }

# NAME: adds a cell of these sources and this CPU, with nothing but an accuracy.
add_cell() {
  (cd copy/scripts && python3 -B - "$1" <<'END'
import sys
from paper import recipe, store
cells = store.Store(store.REPO / "docs/measured/paper/cells.csv")
key = next(key for key in recipe.all_cells() if "/".join(str(p) for p in key if p != "") == sys.argv[1])
cells.add(key, {"accuracy": 0.5, "submodel": "3x3", "factor": 0.37})
END
  )
}

@test "cells that are there are not missing; those of other sources are" {
  works reproduce --list
  local all=${#lines[@]}
  like "$output" 'sst2/150/load-exec*bert-base/400/ours-5mb*clinc150/200/curve-preload-10*bert-base/onnx-int8'
  add_cell sst2/150/ours-1mb
  add_cell sst2/budget-2-random/3
  works reproduce --list
  same "${#lines[@]}" $((all - 2))
  works reproduce --list --only sst2/150/
  same "${#lines[@]}" 24

  # Results and text are no sources.
  echo changed >copy/docs/measured/paper/README.md
  works reproduce --list
  same "${#lines[@]}" $((all - 2))
  echo changed >copy/lib/a.cpp
  works reproduce --list
  same "${#lines[@]}" "$all"
  # They are measured again, and never stand beside one of other sources.
  add_cell sst2/150/ours-0mb
  same "$(wc -l <$cells)" 2
}

@test "cells of another CPU are measured again" {
  add_cell sst2/150/ours-1mb
  works reproduce --list --only sst2/150/ours-1mb
  same "$output" ""
  sed -i 's/[0-9]* cores/640 cores/' $cells
  works reproduce --list --only sst2/150/ours-1mb
  same "$output" sst2/150/ours-1mb
}

@test "a cell is measured again where fixed work took longer, or was disturbed, or time was stolen" {
  works python3 -B - <<'END'
import sys
sys.path.insert(0, "copy/scripts")
from paper import steady
watch = steady.Watch()
def judged(took_us, stolen=0.0, usual_us=100.0, late=0):
    watch.took_us, watch.stolen, watch.late = took_us, stolen, late
    return watch.disturbance(usual_us, 1000)
print([judged([100.0] * 999 + [900.0]), judged([105.0] * 1000), judged([95.0] * 1000),
       judged([100.0] * 970 + [160.0] * 30), judged([100.0] * 940 + [120.0] * 60),
       judged([100.0] * 1000, stolen=0.01), judged([]), judged([100.0] * 1000, usual_us=None),
       judged([100.0] * 1000, late=20), judged([100.0] * 1000, late=21)])
END
  same "$output" "['', '1.05 times as slow', '0.95 times as slow', 'disturbed 3.0% of the time', 'the core shared 6.0% of the time', '1.0% stolen', 'not watched', 'not watched', '', 'the flash late 21 times']"
}

@test "while work is done the core is watched" {
  works python3 -B - <<'END'
import sys, time
sys.path.insert(0, "copy/scripts")
from paper import steady
with steady.Watch() as watch:
    time.sleep(0.5)
print(watch.process.returncode, watch.median_us() is None or watch.median_us() > 0)
END
  same "$output" "-9 True"
}

@test "tables and pictures are made of the cells, between the marks of README" {
  add_cell sst2/150/ours-1mb
  printf 'Text.\n\n<!-- begin accuracy-sst2 -->\nold\n<!-- end accuracy-sst2 -->\n' \
    >copy/docs/measured/paper/README.md
  git -C copy -c user.name=x -c user.email=x commit -q --allow-empty -m x
  works reproduce --report
  like "$(cat copy/docs/measured/paper/README.md)" 'Text.*- Machine: *| Ours, 1 MB | 50.00 (3x3*'
  ! grep -q old copy/docs/measured/paper/README.md
}

@test "without models and data: skipped, and why" {
  run --separate-stderr reproduce
  same "$status" 77
  like "$stderr" 'reproduce: SKIP: no */shared/models/sst2-minilm-12x12'
}
