# bench/experiments/reproduce: which cells are missing, and what makes cells stale. Nothing is measured here.
load helpers

# A checkout with the scripts and sources that cells depend on, and no results.
setup() {
  cd "$BATS_TEST_TMPDIR"
  mkdir -p copy/docs/measured/paper
  git init -q copy
  cp -r "$repo/schemas" copy/
  mkdir copy/bench
  cp -r "$repo/bench/experiments" copy/bench/
  mkdir copy/lib copy/cmd
  echo one >copy/lib/a.cpp
  echo two >copy/cmd/b.cpp
  recorded=copy/docs/measured/paper/cells.csv
  cells=copy/build/paper/cells.csv
  echo build/ >copy/.gitignore
}

reproduce() { python3 copy/bench/experiments/reproduce "$@"; }

# NAME [FILE]: adds a cell of these sources and this CPU, with nothing but an accuracy, to those that
# were measured or to another file.
add_cell() {
  (cd copy/bench/experiments && python3 -B - "$1" "$PWD/../../../${2:-$cells}" <<'END'
import sys
from paper import recipe, store
import pathlib
cells = store.Store(pathlib.Path(sys.argv[2]))
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

@test "an input is disturbed where the core was paused or shared, or the flash late, and only then" {
  works python3 -B - <<'END'
import sys
sys.path.insert(0, "copy/bench/experiments")
from paper import steady
watch = steady.Watch()
# Every 2 ms work of 5 us, at 1.0 to 1.998 s; woken 3 ms late at 1.2, and 6 us of work at 1.4 s.
times = [(1 + i / 500, 3000.0 if i == 100 else 20.0, 6.0 if i == 200 else 5.0) for i in range(500)]
watch.judge(times, [(1.6, 1000.0), (1.6005, 100.0)])
inputs = [(1.0, 1.19), (1.19, 1.2), (1.202, 1.21), (1.204, 1.3), (1.39, 1.397), (1.39, 1.399),
          (1.401, 1.5), (1.403, 1.5), (1.5, 1.59), (1.59, 1.7), (1.6008, 1.7), (1.602, 1.9)]
print("".join("-D"[watch.has_disturbed(*times)] for times in inputs), watch.median_us())
print([round(watch.share_disturbed(*times), 3) for times in [(1.0, 1.19), (1.1, 1.25), (1.201, 1.301),
       (1.399, 1.401), (1.1, 1.7)]])
watch.judge([], [(1.6, 1000.0)])
print(watch.has_disturbed(1.0, 2.0), watch.median_us())
print([steady.has_drifted(slower) for slower in (None, 0.93, 0.95, 1.05, 1.07)])
END
  same "$output" "-DD--DD--DD- 5.0
[0.0, 0.02, 0.02, 1.0, 0.013]
None None
[False, True, False, False, True]"
}

@test "while work is done the core is watched" {
  [ -x "${STI_BIN%/*}/bench/core-watch" ] || skip "no benchmarks in this build"
  STI_BUILD=${STI_BIN%/*} works python3 -B - <<'END'
import sys, time
sys.path.insert(0, "copy/bench/experiments")
from paper import steady
with steady.Watch() as watch:
    begin = time.monotonic()
    time.sleep(0.5)
    end = time.monotonic()
# Without real-time priority nothing is seen, and nothing is said of inputs.
print({0: len(watch.work_us) > 50, 77: watch.has_disturbed(begin, end) is None}[
    watch.process.returncode])
END
  same "$output" True
}

@test "tables and pictures are made of the cells, between the marks of README" {
  add_cell sst2/150/ours-1mb
  printf 'Text.\n\n<!-- begin accuracy-sst2 -->\nold\n<!-- end accuracy-sst2 -->\n' \
    >copy/docs/measured/paper/README.md
  git -C copy -c user.name=x -c user.email=x commit -q --allow-empty -m x
  run -0 reproduce --report
  like "$(cat copy/build/paper/report/README.md)" 'Text.*- Machine: *| Ours, 1 MB | 50.00 (3x3*'
  run ! grep -q old copy/build/paper/report/README.md
  grep -q old copy/docs/measured/paper/README.md
  # Of the recorded cells, whatever they are of, only where that is asked for.
  add_cell sst2/150/ours-1mb $recorded
  sed -i 's/3x3,,0.5,/3x3,,0.25,/; s/[0-9]* cores/640 cores/' $recorded
  run -0 reproduce --report --record
  like "$(cat copy/docs/measured/paper/README.md)" 'Text.*- Machine: *640 cores*| Ours, 1 MB | 25.00 (3x3*'
}

@test "what was measured replaces what is recorded with --record alone, and once all of it is there" {
  printf 'Text.\n\n<!-- begin accuracy-sst2 -->\nold\n<!-- end accuracy-sst2 -->\n' \
    >copy/docs/measured/paper/README.md
  git -C copy -c user.name=x -c user.email=x commit -q --allow-empty -m x
  add_cell sst2/150/ours-1mb $recorded
  sed -i 's/[0-9]* cores/640 cores/' $recorded
  cp $recorded before.csv
  (cd copy/bench/experiments && python3 -B - <<'END'
from paper import recipe, store
cells = store.Store(store.REPO / "build/paper/cells.csv")
for key in recipe.all_cells():
    cells.cells[tuple(map(str, key))] = dict.fromkeys(store.COLUMNS, "1") | cells.own | {
        "date": "2026-11-27", "submodel": "3x3", "accuracy": "0.75", "p50_ms": "", "p99_ms": "", "correct_bits": "f",
        } | dict(zip(store.KEY, map(str, key)))
cells.write_to(cells.path)
END
  )
  run -0 reproduce --only sst2/150/ours
  like "$output" '| cell | number | recorded | here | ratio | within its spread |*
| sst2/150/ours-0mb | - | not recorded | 3x3 | - | - |
| sst2/150/ours-1mb | accuracy, % | 50.00 | 75.00 | 1.500 | - |*'
  cmp before.csv $recorded
  grep -q old copy/docs/measured/paper/README.md
  run -0 reproduce --record
  cmp $cells $recorded
  like "$(cat copy/docs/measured/paper/README.md)" 'Text.*| Ours, 1 MB | 75.00 (3x3*'
  # One that is missing is measured first, which needs models.
  cp before.csv $recorded
  sed -i '/^sst2,150,ours-1mb,/d' $cells
  run -77 reproduce --record
  cmp before.csv $recorded
  run -2 reproduce --record --only sst2
  like "$output" "*--record takes all cells; --only measures some"
}

@test "a cell beside the recorded one: the ratio, and whether it is within what that one varies by" {
  works python3 -B - <<'END'
import sys
sys.path.insert(0, "copy/bench/experiments")
from paper import beside
def cell(p50, p99, factor, accuracy="", bits="", submodel="3x3"):
    return {"p50_ms": p50, "p99_ms": p99, "factor": factor, "accuracy": accuracy, "correct_bits": bits,
            "submodel": submodel, "load_ms": "", "parameter_bytes": ""}
recorded = cell("10", "11", "0.5", "0.5", "ff00")
for here in (cell("5.4", "9", "0.25", "0.5", "ff00"), cell("5.6", "9", "0.25", "0.125", "c000"),
             cell("", "", "0.5", submodel="none")):
    print(list(beside.rows_of("a", here, recorded)))
END
  same "$output" "[['a', 'p50, ms of the device', '20.00', '21.60', '1.080', 'yes'], ['a', 'accuracy, %', '50.00', '50.00', '1.000', 'yes']]
[['a', 'p50, ms of the device', '20.00', '22.40', '1.120', 'no'], ['a', 'accuracy, %', '50.00', '12.50', '0.250', 'no']]
[['a', 'submodel', '3x3', 'none', '-', 'no']]"
}

@test "without models and data: skipped, and why" {
  run --separate-stderr reproduce
  same "$status" 77
  like "$stderr" 'reproduce: SKIP: no */shared/models/sst2-minilm-12x12'
}
