"""Cuts a BERT model folder to its first m slices and writes it as fp32.onnx and int8.onnx.

What bench/experiments/peers/warm.py compares on: the same numbers that sti-run computes with, if the folder
is one that `sti-inspect --export 6` wrote. A slice is one head and its share of the feed-forward
network (spec/terms.md); biases of the hidden dimension belong to all slices and stay whole.
The only input is `input_ids` [1, length]: one sequence at its true length needs no mask.
"""

import argparse
import os

import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from transformers import AutoModel, BertForSequenceClassification


class IdsToLogits(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids):
        return self.model(input_ids=input_ids).logits


class IdsToVector(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids):
        rows = self.model(input_ids=input_ids).last_hidden_state
        return torch.nn.functional.normalize(rows.mean(dim=1), dim=1)


def keep(linear, outs=None, ins=None):
    """Leaves the first `outs` outputs and `ins` inputs of a linear map."""
    weight = linear.weight.data
    outs = weight.shape[0] if outs is None else outs
    ins = weight.shape[1] if ins is None else ins
    linear.weight = torch.nn.Parameter(weight[:outs, :ins].contiguous())
    linear.bias = torch.nn.Parameter(linear.bias.data[:outs].contiguous())
    linear.out_features, linear.in_features = outs, ins


def cut(model, width):
    config = model.config
    head = config.hidden_size // config.num_attention_heads
    ffn = config.intermediate_size // config.num_attention_heads
    for layer in model.bert.encoder.layer:
        own = layer.attention.self
        for linear in (own.query, own.key, own.value):
            keep(linear, outs=width * head)
        own.num_attention_heads, own.all_head_size = width, width * head
        keep(layer.attention.output.dense, ins=width * head)
        keep(layer.intermediate.dense, outs=width * ffn)
        keep(layer.output.dense, ins=width * ffn)


def export(folder, width, out):
    model = BertForSequenceClassification.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    cut(model, width)
    write(IdsToLogits(model), "logits", out)


def export_sentences(folder, out):
    """Writes the encoder of a folder, which gives the mean of all tokens, of unit length."""
    write(IdsToVector(AutoModel.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager")).eval(), "vector", out)


def write(module, output, out):
    """Writes a module from ids to a row a text as fp32.onnx and int8.onnx into the folder `out`."""
    os.makedirs(out, exist_ok=True)
    fp32 = os.path.join(out, "fp32.onnx")
    torch.onnx.export(
        module,
        (torch.zeros(1, 16, dtype=torch.long),),
        fp32,
        input_names=["input_ids"],
        output_names=[output],
        dynamic_axes={"input_ids": {1: "length"}},
        opset_version=17,
        dynamo=False,
    )
    int8 = os.path.join(out, "int8.onnx")
    quantize_dynamic(fp32, int8, weight_type=QuantType.QInt8, per_channel=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", required=True)
    parser.add_argument("--widths", required=True, help="such as 3,6,12")
    parser.add_argument("--out", required=True, help="each width goes to OUT/mWIDTH")
    options = parser.parse_args()
    for width in options.widths.split(","):
        export(options.folder, int(width), os.path.join(options.out, "m" + width))


if __name__ == "__main__":
    main()
