"""Making a plain model elastic, from its folder to a Trainer that is ready to begin."""

import argparse
import dataclasses
from dataclasses import dataclass

import torch

from . import data, options, order
from .bits import FewBits
from .elder import elder_of
from .folder import ModelFolder
from .head import Vectors
from .method import METHODS, Family, quarter
from .network import Network, Shape, Submodel, Teacher
from .problem import Problem
from .training import Start

_ORDER_ROWS = 1000


@dataclass
class Making:
    """A plain model, its data, and what is made of it."""

    source: ModelFolder
    split: options.Split
    start: Start


def prepare(given: argparse.Namespace, depth_layers: tuple[tuple[int, ...], ...] | None = None) -> Making:
    """Reads model and data. Sorts heads and neurons and chooses the layers of each depth, unless a run that goes on
    has done so: then `depth_layers` are its."""
    method = METHODS[given.method]
    unused = ("--unlabelled" if given.unlabelled else "--teacher" if given.teacher else
              "--words" if given.words is not None else None)
    if unused and not method.asks:
        raise Problem(f"--method {given.method} learns from labels alone, and not from {unused}; leave one out")
    if method.passes == "exits" and given.depth_map not in (None, "prefix"):
        raise Problem(f"--method {given.method} has depths of the first layers; leave --depth-map {given.depth_map} out")
    if given.words is not None:
        method = dataclasses.replace(method, words=given.words)
    torch.set_num_threads(given.threads)
    source = ModelFolder(given.source, pooling=given.pooling)
    if isinstance(source.head, Vectors) and not method.asks:
        raise Problem(f"--method {given.method} learns from labels alone, and {given.source} embeds texts; name "
                      "another")
    plain = source.load().eval()
    shape = plain.shape
    depth = at_most(shape.layers, "layers", "--least-depth", given.least_depth or 1)
    width = at_most(shape.heads, "heads", "--least-width", given.least_width or quarter(shape.heads))
    split = options.split_data(given, source, source.labels(), given.unlabelled)
    teacher = teacher_of(given, source, plain, split)
    network = source.load()
    if depth_layers is None:
        depth_layers = sort_and_choose(given, network, split)
    family = Family(depth_layers, shape.heads, depth, width, only_of(given, depth_layers, shape))
    few_bits = FewBits(source, given.bits, given.bits_every) if given.bits else None
    return Making(source, split, Start(network, teacher, family, method, few_bits))


def teacher_of(given: argparse.Namespace, source: ModelFolder, plain: Network, split: options.Split) -> Teacher:
    """Whom the submodels learn from: the plain model, unless another one is named."""
    device = torch.device(given.device)
    if given.teacher:
        return elder_of(ModelFolder(given.teacher, pooling=given.pooling), source, plain, split.train, device)
    return plain.to(device)


def at_most(most: int, of: str, option: str, value: int) -> int:
    """The value of an option that counts layers or heads, of which the model has `most`."""
    if value > most:
        raise Problem(f"{option} {value}: the model has {most} {of}")
    return value


def only_of(given: argparse.Namespace, depth_layers: tuple[tuple[int, ...], ...], shape: Shape) -> Submodel | None:
    """The submodel that --only names."""
    if given.only is None:
        return None
    depth, _, width = given.only.partition("x")
    if not (depth.isdigit() and width.isdigit() and 1 <= int(depth) <= shape.layers and 1 <= int(width) <= shape.heads):
        raise Problem(f"--only {given.only}: a submodel is written as 1x1 to {shape.layers}x{shape.heads}")
    return Submodel(depth_layers[int(depth) - 1], int(width))


def sort_and_choose(given: argparse.Namespace, network: Network, split: options.Split) -> tuple[tuple[int, ...], ...]:
    """Sorts heads and neurons, and returns the layers of each depth."""
    device = torch.device(given.device)
    judged = split.held_out if len(split.held_out) else split.train
    batches = [batch.to(device) for batch in data.in_order(judged.sample(_ORDER_ROWS), 512)]
    network.eval().to(device)
    order.sort(network, order.scores(network, batches))
    layers = network.shape.layers
    if METHODS[given.method].passes == "exits" or given.depth_map == "prefix":
        made = order.prefix(layers)
    else:
        made = order.nested(network, batches) if given.depth_map == "nested" else order.evenly(layers)
    return tuple(map(tuple, made))
