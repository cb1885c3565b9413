"""The paper's quantisation by numpy and scikit-learn, beside what a container gives back.

exactness.py check SOURCE FOLDER BITS...   compares FOLDER/BITS of each width with the source
exactness.py coarse SOURCE DIRECTORY       copies a model, its weights rounded to a few values
exactness.py constant SOURCE DIRECTORY     copies a model, layer 0 one value, layer 1 two values
exactness.py large SOURCE DIRECTORY        copies a model, layer 0 so wide that all are outliers
exactness.py selftest                      tries `check` on reconstructions made here, some wrong

SOURCE is a model folder, FOLDER/BITS one that `sti-inspect --export BITS` wrote. Models are
safetensors of f32, f16 or bf16 with BERT's names. Only the first two layers are compared.
"""

import json
import pathlib
import shutil
import sys
import tempfile

import numpy as np

try:
    from sklearn.mixture import GaussianMixture
except ImportError:
    GaussianMixture = None

LAYERS = 2
LOG_DENSITY_LIMIT = -4.0
VARIANCE_FLOOR = 1e-6
MATRICES = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)


def names(layer):
    return [f"bert.encoder.layer.{layer}.{matrix}.weight" for matrix in MATRICES]


# --- safetensors -----------------------------------------------------------------------------


def parts(folder):
    """Header, and the bytes behind it."""
    data = (pathlib.Path(folder) / "model.safetensors").read_bytes()
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), bytearray(data[8 + length :])


def tensor(header, body, name):
    about = header[name]
    begin, end = about["data_offsets"]
    data = bytes(body[begin:end])
    if about["dtype"] == "F32":
        return np.frombuffer(data, "<f4")
    if about["dtype"] == "F16":
        return np.frombuffer(data, "<f2").astype(np.float32)
    if about["dtype"] == "BF16":
        return (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)
    raise SystemExit(f"{name}: type {about['dtype']}")


def layer_weights(model, layer):
    """The six matrices of a layer as one array, row by row."""
    return np.concatenate([tensor(*model, name) for name in names(layer)])


def write_copy(source, target, change):
    """Copies a model; each layer's weights become change(layer, weights), in f16."""
    shutil.copytree(source, target)
    header, body = parts(source)
    for layer in range(LAYERS):
        for name in names(layer):
            if header[name]["dtype"] != "F16":
                raise SystemExit(f"{name}: f16 expected")
            begin, end = header[name]["data_offsets"]
            values = change(layer, tensor(header, body, name).copy())
            body[begin:end] = values.astype("<f2").tobytes()
    text = json.dumps(header).encode()
    path = pathlib.Path(target) / "model.safetensors"
    path.chmod(0o644)
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(body))


# --- the plain reference ---------------------------------------------------------------------


def log_densities(weights):
    column = weights.astype(np.float64).reshape(-1, 1)
    if GaussianMixture is not None:
        return GaussianMixture(n_components=1).fit(column).score_samples(column)
    variance = column.var() + VARIANCE_FLOOR
    distance = column[:, 0] - column.mean()
    return -0.5 * np.log(2 * np.pi * variance) - distance**2 / (2 * variance)


def reference(weights, widths):
    """Which weights are outliers, and all weights as they should read at each bitwidth."""
    outlier = log_densities(weights) < LOG_DENSITY_LIMIT
    others = np.flatnonzero(~outlier)
    order = others[np.argsort(weights[others], kind="stable")]
    expected = {}
    for bits in widths:
        clusters = 1 << bits
        values = weights.astype(np.float64)
        for j in range(clusters):
            members = order[j * len(order) // clusters : (j + 1) * len(order) // clusters]
            if len(members) > 0:
                values[members] = weights[members].astype(np.float64).mean()
        expected[bits] = values
    return outlier, expected


# --- comparison ------------------------------------------------------------------------------


def faults(weights, given):
    """What is wrong with `given`, reconstructions by bitwidth, as lines of text."""
    outlier, expected = reference(weights, given)
    # A centroid is rounded to f32 once; a mean may be added up in another order.
    tolerance = 1e-6 * weights.std(dtype=np.float64) + np.abs(weights) * 2.0**-23
    found = []
    kept = np.ones(len(weights), bool)
    may_be_kept = np.ones(len(weights), bool)
    for bits, values in given.items():
        wrong = np.flatnonzero(~(np.abs(values - expected[bits]) <= tolerance))
        if len(wrong) > 0:
            i = wrong[0]
            found.append(
                f"{bits} bits: {len(wrong)} weights differ, first {i}: {weights[i]:.9g} "
                f"reads {values[i]:.9g}, expected {expected[bits][i]:.9g}"
            )
        kept &= values == weights
        may_be_kept &= np.abs(expected[bits] - weights) <= tolerance
    # An outlier is kept exactly at every width; of the others only those that are their centroids.
    lost = np.count_nonzero(outlier & ~kept)
    extra = np.count_nonzero(kept & ~may_be_kept)
    if lost > 0:
        found.append(f"{lost} of {np.count_nonzero(outlier)} outliers are not kept exactly")
    if extra > 0:
        found.append(f"{extra} weights are kept exactly that are no outliers")
    return found, np.count_nonzero(outlier)


def check(source, folder, widths):
    model = parts(source)
    exports = {bits: parts(pathlib.Path(folder) / str(bits)) for bits in widths}
    total = 0
    for layer in range(LAYERS):
        weights = layer_weights(model, layer)
        given = {bits: layer_weights(export, layer) for bits, export in exports.items()}
        found, outliers = faults(weights, given)
        total += len(found)
        for line in found:
            print(f"layer {layer}: {line}")
        print(f"layer {layer}: {len(weights)} weights, {outliers} outliers")
    return 1 if total > 0 else 0


# --- models whose layers are corner cases ----------------------------------------------------


def coarse(layer, values):
    """Eleven values in layer 0 and three in layer 1: nearly every weight ties."""
    return np.clip(np.round(values * (40 if layer == 0 else 10)), -5, 5) / 64


def constant(layer, values):
    if layer == 0:
        return np.full_like(values, 0.25)
    return np.where(values > 0, 0.5, -0.0)


def large(layer, values):
    """Above a variance of about 474 even the density at the mean is under e^-4."""
    return values * (40 / values.std() if layer == 0 else 1)


# --- the check, checked ----------------------------------------------------------------------


def selftest():
    rng = np.random.default_rng(7)
    weights = rng.normal(0, 0.05, 4001).astype(np.float16).astype(np.float32)
    weights[::401] *= 7
    outlier, expected = reference(weights, range(2, 7))
    right = {bits: values.astype(np.float32) for bits, values in expected.items()}
    assert np.count_nonzero(outlier) > 0
    assert faults(weights, right)[0] == []

    inner = np.flatnonzero(~outlier & (np.abs(right[6] - weights) > 1e-4))[0]
    extra = {bits: values.copy() for bits, values in right.items()}
    for values in extra.values():
        values[inner] = weights[inner]
    assert any("kept exactly that are no" in line for line in faults(weights, extra)[0])

    lost = {bits: values.copy() for bits, values in right.items()}
    lost[4][np.flatnonzero(outlier)[0]] = 0
    assert any("not kept exactly" in line for line in faults(weights, lost)[0])

    moved = {bits: values.copy() for bits, values in right.items()}
    moved[3][inner] += np.float32(1e-6)
    assert any(line.startswith("3 bits: 1 weights") for line in faults(weights, moved)[0])

    # Equal weights on both sides of a boundary: the one that stands first is in the first cluster.
    ties = np.array([1, 0, 1, 0, 1, 0, 1, 2], np.float32)
    _, tied = reference(ties, [2])
    assert tied[2].tolist() == [0.5, 0, 1, 0, 1, 0.5, 1.5, 1.5]

    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "source"
        write_small_model(source, rng)
        for change in (coarse, constant, large):
            copy = pathlib.Path(folder) / change.__name__
            write_copy(source, copy, change)
            model = parts(copy)
            for layer in range(LAYERS):
                values = layer_weights(model, layer)
                _, expected = reference(values, [2])
                assert faults(values, {2: expected[2].astype(np.float32)})[0] == []
    return 0


def write_small_model(folder, rng):
    """Two layers of hidden size 8."""
    header, body = {}, b""
    for layer in range(LAYERS):
        for name in names(layer):
            data = rng.normal(0, 0.05, (8, 8)).astype("<f2").tobytes()
            offsets = [len(body), len(body) + len(data)]
            header[name] = {"dtype": "F16", "shape": [8, 8], "data_offsets": offsets}
            body += data
    text = json.dumps(header).encode()
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + body)


def main(arguments):
    command = arguments[0]
    if command == "selftest":
        return selftest()
    if command == "check":
        return check(arguments[1], arguments[2], [int(bits) for bits in arguments[3:]])
    changes = {"coarse": coarse, "constant": constant, "large": large}
    write_copy(arguments[1], arguments[2], changes[command])
    return 0


sys.exit(main(sys.argv[1:]))
