"""One peer engine in a process of its own, for bench/experiments/peers/warm.py.

Loads MODEL for the given lengths and prints a line of JSON about itself. Then, for each line
{"ids": [...], "count": n} on stdin, runs once for warmth and n times by the clock, and prints
{"us": [...], "output": [...]}. Inputs are bound beforehand: the clock sees the engine's run alone.
The CPUs are those that the process was started on.
"""

import argparse
import json
import sys
import time

import numpy
from cold import status_bytes


def onnx_runner(options):
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options.threads
    session = onnxruntime.InferenceSession(
        options.model, settings, providers=["CPUExecutionProvider"]
    )

    def prepare(ids):
        binding = session.io_binding()
        binding.bind_cpu_input("input_ids", ids)
        binding.bind_output(session.get_outputs()[0].name)
        return (lambda: session.run_with_iobinding(binding),
                lambda: binding.copy_outputs_to_cpu()[0])

    about = {"version": onnxruntime.__version__, "precision": options.precision,
             "threads": session.get_session_options().intra_op_num_threads}
    return prepare, about


def openvino_runner(options):
    """Compiled for each length by itself: shapes that OpenVINO knows are a little faster."""
    import openvino

    core = openvino.Core()
    requests = {}
    for length in options.lengths:
        model = core.read_model(options.model)
        model.reshape([1, length])
        compiled = core.compile_model(model, "CPU", {
            "INFERENCE_PRECISION_HINT": {"fp32": "f32"}.get(options.precision, options.precision),
            "INFERENCE_NUM_THREADS": options.threads,
            "PERFORMANCE_HINT": "LATENCY",
            "NUM_STREAMS": 1,
        })
        requests[length] = compiled.create_infer_request()

    def prepare(ids):
        request = requests[ids.shape[1]]
        request.set_input_tensor(openvino.Tensor(ids))
        return request.infer, lambda: request.get_output_tensor().data

    # What was taken, not what was asked: a CPU without bf16 computes in fp32 instead.
    taken = compiled.get_property("INFERENCE_PRECISION_HINT")
    name = {"f32": "fp32"}.get(taken.get_type_name(), taken.get_type_name())
    about = {"version": openvino.__version__.split("-")[0], "precision": name,
             "threads": compiled.get_property("INFERENCE_NUM_THREADS")}
    return prepare, about


def answer(prepare, line):
    request = json.loads(line)
    run, output = prepare(numpy.array([request["ids"]], dtype=numpy.int64))
    run()
    times = []
    for _ in range(request["count"]):
        begin = time.perf_counter()
        run()
        times.append((time.perf_counter() - begin) * 1e6)
    return {"us": times, "output": [float(value) for value in output()[0]]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", choices=["onnxruntime", "openvino"], required=True)
    parser.add_argument("--precision", choices=["fp32", "bf16", "int8"], required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--lengths", type=lambda text: [int(part) for part in text.split(",")])
    options = parser.parse_args()
    make = {"onnxruntime": onnx_runner, "openvino": openvino_runner}[options.engine]
    before = status_bytes("VmRSS")  # of Python alone
    prepare, about = make(options)
    print(json.dumps(about | {"before_bytes": before}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(prepare, line)), flush=True)


if __name__ == "__main__":
    main()
