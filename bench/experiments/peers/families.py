"""Times ViT and GPT-2 folders in PyTorch or ONNX Runtime, in fp32 on all cores, for bench-families.

Prints one line of JSON: ms an image by the number of images of a pass, or ms to the first and each
further token of a continuation whose keys and values are kept, and the peak of memory in MiB.
"""

import argparse
import json
import os
import resource
import statistics
import tempfile
import time

import torch
from transformers import AutoConfig, DynamicCache, GPT2LMHeadModel, ViTForImageClassification


def median_ms(run, passes):
    run()
    times = []
    for _ in range(passes - 1):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return 1000 * statistics.median(times)


class Pixels(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, pixels):
        return self.model(pixel_values=pixels).logits


class Token(torch.nn.Module):
    """The logits behind ids whose keys and values before them are given, and all keys and values."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, *past):
        cache = DynamicCache()
        for layer in range(len(past) // 2):
            cache.update(past[2 * layer], past[2 * layer + 1], layer)
        out = self.model(input_ids=ids, past_key_values=cache, use_cache=True, logits_to_keep=1)
        kept = [tensor for layer in out.past_key_values.layers for tensor in (layer.keys, layer.values)]
        return (out.logits, *kept)


def session(model, inputs, folder, name):
    import onnxruntime
    path = os.path.join(folder, name + ".onnx")
    torch.onnx.export(model, inputs, path, dynamo=True, external_data=True, verbose=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = os.cpu_count()
    made = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    fed = {said.name: tensor.numpy() for said, tensor in zip(made.get_inputs(), inputs)}
    return lambda: made.run(None, fed)


def images(model, options, onnx, folder):
    size, channels = model.config.image_size, model.config.num_channels
    times = {}
    for batch in options.batches:
        pixels = torch.rand(batch, channels, size, size)
        wrapped = Pixels(model).eval()
        run = session(wrapped, (pixels,), folder, str(batch)) if onnx else lambda: wrapped(pixels)
        times[f"batch {batch}"] = median_ms(run, options.passes) / batch
    return times


def texts(model, options, onnx, folder):
    config = model.config
    ids = torch.randint(config.vocab_size - 1, (1, options.prompt))
    one = torch.randint(config.vocab_size - 1, (1, 1))
    wrapped = Token(model).eval()
    middle = options.prompt + options.made // 2  # tokens before one in the midst of a continuation
    shape = (1, config.n_head, middle, config.n_embd // config.n_head)
    past = [torch.rand(shape) for _ in range(2 * config.n_layer)]
    if onnx:
        runs = {"first": session(wrapped, (ids,), folder, "prompt"), "token": session(wrapped, (one, *past), folder, "token")}
    else:
        runs = {"first": lambda: wrapped(ids), "token": lambda: wrapped(one, *past)}
    return {name: median_ms(run, options.passes) for name, run in runs.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("engine", choices=["PyTorch", "ONNX Runtime"])
    parser.add_argument("folder")
    parser.add_argument("--passes", type=int, required=True)
    parser.add_argument("--prompt", type=int, required=True)
    parser.add_argument("--made", type=int, required=True)
    parser.add_argument("--batches", type=int, nargs="+", required=True)
    options = parser.parse_args()
    torch.set_num_threads(os.cpu_count())
    of_texts = AutoConfig.from_pretrained(options.folder).model_type == "gpt2"
    kind = GPT2LMHeadModel if of_texts else ViTForImageClassification
    model = kind.from_pretrained(options.folder, dtype=torch.float32).eval()
    with torch.no_grad(), tempfile.TemporaryDirectory(dir=os.path.dirname(options.folder)) as folder:
        onnx = options.engine == "ONNX Runtime"
        times = (texts if of_texts else images)(model, options, onnx, folder)
    # Of ONNX Runtime the peak is that of exporting too, which says nothing of it.
    times["rss_mib"] = None if onnx else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(times))


if __name__ == "__main__":
    main()
