"""The embedder's MiniLM, which comes as ONNX with int8 weights, as a PyTorch model that can be trained."""

from __future__ import annotations

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from transformers import BertConfig, BertForSequenceClassification

from context1.search.minilm import minilm_files

LAYERS, WIDTH, HEADS, INNER, VOCABULARY = 6, 384, 12, 1536, 30522


def cross_encoder() -> BertForSequenceClassification:
    """MiniLM with a new head that gives one score a pair. Raises ValueError if a weight was not found."""
    config = BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=INNER,
        num_labels=1,
    )
    model = BertForSequenceClassification(config)
    result = model.bert.load_state_dict(_weights(), strict=False)
    missing = [name for name in result.missing_keys if not name.startswith("pooler.")]
    if missing or result.unexpected_keys:
        raise ValueError(f"MiniLM's ONNX file is of another layout: {missing or result.unexpected_keys}")
    return model


def _weights() -> dict[str, torch.Tensor]:
    """Initialisers by their PyTorch names; a matrix is named after the bias that is added to its product."""
    graph = onnx.load(minilm_files()[0]).graph
    values = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    for node in graph.node:  # int8 -> float -> times scale
        if node.op_type == "Cast" and node.input[0] in values:
            values[node.output[0]] = values[node.input[0]].astype(np.float32)
        elif node.op_type == "Mul" and all(name in values for name in node.input):
            values[node.output[0]] = values[node.input[0]] * values[node.input[1]]
    products = {node.output[0]: node.input[1] for node in graph.node if node.op_type == "MatMul"}
    found = {name: value for name, value in values.items() if name.endswith((".weight", ".bias"))}
    for node in graph.node:
        for product, bias in (tuple(node.input), tuple(node.input)[::-1]) if node.op_type == "Add" else ():
            if product in products and bias.endswith(".bias"):
                found[bias.removesuffix("bias") + "weight"] = values[products[product]].T
    return {name.removeprefix("inner."): torch.tensor(np.array(value)) for name, value in found.items()}
