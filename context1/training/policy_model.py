"""A causal LM seen as what the losses need: log-probabilities of chosen tokens."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from context1.errors import InputError
from context1.training.logprobs import token_logprobs


class PolicyModel(nn.Module):
    """Wraps any Hugging Face causal LM, with or without LoRA; the parameters stay the model's own."""

    model: Any

    def __init__(self, model: nn.Module) -> None:
        """Raises `InputError` if the model's logits are not its output head times its last hidden state."""
        super().__init__()
        self.model = model
        self._check_head()

    @property
    def inner(self) -> Any:
        """The causal LM itself; LoRA, if any, lives inside its layers."""
        return self.model.get_base_model() if hasattr(self.model, "get_base_model") else self.model

    def forward(
        self, ids_BN: Tensor, where_S: Tensor, targets_S: Tensor, temperature: float = 1.0
    ) -> tuple[Tensor, Tensor]:
        """Log-probability of each target at its position, and the entropy there; fp32 [S].

        Right padding needs no mask: attention is causal and padded positions have no loss.
        """
        hidden_BND = self.inner.get_decoder()(input_ids=ids_BN, use_cache=False).last_hidden_state
        hidden_SD = hidden_BND.flatten(0, 1).index_select(0, where_S)
        return token_logprobs(hidden_SD, self.inner.get_output_embeddings().weight, targets_S, temperature)

    @torch.no_grad()
    def _check_head(self) -> None:
        """Soft-capped or scaled logits, and heads with a bias or an adapter, would be trained wrongly."""
        device = next(self.model.parameters()).device
        ids_BN = torch.arange(4, device=device)[None]
        theirs = torch.log_softmax(self.model(input_ids=ids_BN, use_cache=False).logits.float(), -1)
        ours, _ = self(ids_BN, torch.arange(3, device=device), ids_BN[0, 1:])
        theirs = theirs[0, torch.arange(3), ids_BN[0, 1:]]
        if not torch.allclose(ours, theirs, atol=2e-2, rtol=1e-2):
            raise InputError(
                f"model: {type(self.inner).__name__} does more than multiply its last hidden state by its "
                "output weights (soft cap, scale, bias or adapter on the head); such a head cannot be trained"
            )
