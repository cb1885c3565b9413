"""Prints what warm.py measured, as Markdown."""

from statistics import median

LOGITS_LIMIT = 1e-3  # of ours in fp32 from ONNX Runtime's fp32, at equal weights
OURS = "sti-run"


def time_of(cell, name):
    row = cell["engines"].get(name)
    return "" if row is None else f"{row['us'] / 1e3:.2f}"


def peer_cell(cell, name):
    """The peer's time, and ours of the same precision over it."""
    text = time_of(cell, name)
    return text + (f" ({cell['ratios'][name]:.2f})" if name in cell["ratios"] else "")


def share_of(cell, name):
    row = cell["engines"].get(name)
    return "" if row is None else f"{row['peak_share']:.0%}"


def print_times(cells):
    ours = [f"{OURS} {kind}" for kind in ("fp32", "bf16", "int8")
            if any(f"{OURS} {kind}" in cell["engines"] for cell in cells)]
    peers = ["ONNX Runtime fp32", "OpenVINO fp32", "OpenVINO bf16", "ONNX Runtime int8"]
    titles = ["model", "m", "l", "threads", ours[0], "of peak", *peers[:2]]
    titles += [*ours[1:], *peers[2:]]
    print("| " + " | ".join(titles) + " |")
    print("|" + "---|" * len(titles))
    for cell in cells:
        row = [f"{cell['model']}, {cell['layers']} layers", str(cell["m"]), str(cell["l"]),
               str(cell["threads"]), time_of(cell, ours[0]), share_of(cell, ours[0])]
        row += [peer_cell(cell, name) for name in peers[:2]]
        row += [time_of(cell, name) for name in ours[1:]]
        row += [peer_cell(cell, name) for name in peers[2:]]
        print("| " + " | ".join(row) + " |")


def verdict(cells, kind, name):
    ratios = sorted(cell[kind][name] for cell in cells if name in cell[kind])
    faster = sum(ratio <= 1 for ratio in ratios)
    return f"{median(ratios):.2f} | {ratios[-1]:.2f} | {faster} of {len(ratios)}"


def print_verdicts(cells):
    print("\n| ours over | inference: median | worst | cells not slower | layer for layer: median "
          "| worst | cells not slower |")
    print("|---|---|---|---|---|---|---|")
    for name in sorted({name for cell in cells for name in cell["ratios"]}):
        print(f"| {name} | {verdict(cells, 'ratios', name)} "
              f"| {verdict(cells, 'layer_ratios', name)} |")
    print("\nLayer for layer: with a last layer of ours that takes as long as the others. It computes")
    print("the first token only, which is all that the label needs; peers compute all tokens.")


def print_shares(cells):
    print("\nShare of the FMA peak that was measured in the same rounds, fp32 of ours, median (and")
    print("lowest) over models, widths and threads: ", end="")
    parts = []
    for length in sorted({cell["l"] for cell in cells}):
        shares = sorted(cell["engines"][f"{OURS} fp32"]["peak_share"] for cell in cells
                        if cell["l"] == length)
        parts.append(f"l = {length}: {median(shares):.0%} ({shares[0]:.0%})")
    print(", ".join(parts) + ".")
    for threads in sorted({cell["threads"] for cell in cells}):
        peaks = sorted(cell["peak_gflops"] for cell in cells if cell["threads"] == threads)
        print(f"Peak with {threads} threads: {peaks[0]:.0f} to {peaks[-1]:.0f} GFLOP/s.")


def print_disturbance(cells):
    """Cores that are all ours have the peak of one times their number."""
    best = max(cell["peak_gflops"] / cell["threads"] for cell in cells)
    low = [cell for cell in cells if cell["peak_gflops"] < 0.85 * best * cell["threads"]]
    if low:
        print(f"Other work took over 15 % of the cores in {len(low)} of {len(cells)} rows (their peak")
        print("is that much lower): trust those little, least of all with 2 threads.")


def print_engines(report):
    print("\n| engine | version | threads asked and taken | largest difference of a logit |")
    print("|---|---|---|---|")
    for name, about in report["engines"].items():
        largest = max(cell["engines"][name]["logits_difference"] for cell in report["cells"]
                      if name in cell["engines"])
        threads = ", ".join(f"{asked}/{taken}" for asked, taken in about["threads"])
        print(f"| {name} | {about['version']} | {threads} | {largest:.1e} |")
    stalls = sorted(row["stall_us"] for cell in report["cells"]
                    for row in cell["engines"].values() if "stall_us" in row)
    print("\nDifferences are from ONNX Runtime fp32. Not counted in the times of sti-run: its wait for")
    print(f"embedding rows, {median(stalls):.0f} us (median); peers have them in memory.")


def print_report(report):
    """Returns the exit status: 1 if what was timed is not the same computation."""
    cells = report["cells"]
    print("Milliseconds of one warm inference, batch 1, true length, all in memory; in brackets the")
    print("time of sti-run of the same precision over the peer's: below 1 ours is faster. sti-run")
    print("decodes its 6-bit shards in every run; peers hold the same weights decoded. Medians of")
    print(f"{report['rounds']} rounds in turns; load average {report['load_begin']} before,")
    print(f"{report['load_end']} after.")
    for note in report["notes"]:
        print(note)
    print()
    print_times(cells)
    if any(cell["ratios"] for cell in cells):
        print_verdicts(cells)
    print_shares(cells)
    print_disturbance(cells)
    print_engines(report)
    worst = max(cell["engines"][f"{OURS} fp32"]["logits_difference"] for cell in cells)
    if not worst <= LOGITS_LIMIT:
        print(f"\nbench-peers: logits of {OURS} fp32 are off by {worst:.1e}, over {LOGITS_LIMIT}: the "
              "engines do not compute the same; mend that before reading the times")
        return 1
    return 0
