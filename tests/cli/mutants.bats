# scripts/mutants: the kinds of change that are about what one feature leaves to the next.
load helpers

@test "assignments, early returns, sums, levels and twins are changed, and declarations are not" {
  works python3 -B - "$repo/scripts/mutants" <<'END'
import importlib.machinery, importlib.util, sys
loader = importlib.machinery.SourceFileLoader("mutants", sys.argv[1])
mutants = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutants", loader))
loader.exec_module(mutants)
lines = """  run.wake_us = 0;
  double wake_us = 0;
  const auto at = places[k];
  if (report.fallback) return;
  refused_.reset();
  need.bytes += words;
  answer->level = levels[level - 1].rule;
  times.layer_us = 3;
""".splitlines(keepends=True)
for number, new in mutants.mutants_of_state(lines):
    print(number, new.strip())
END
  same "$output" "1 ;
1 run.wake_us += 0;
3 const auto at = places[k - 1];
3 const auto at = places[k + 1];
4 ;
5 ;
6 need.bytes = words;
7 ;
7 answer->level += levels[level - 1].rule;
7 answer->level = levels[level].rule;
8 ;
8 times.layer_us += 3;
8 times.layer_p99_us = 3;"
}
