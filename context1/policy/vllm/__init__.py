"""The policy that samples on a vLLM server; needs neither torch nor transformers."""

from context1.policy.vllm.policy import VllmPolicy

__all__ = ["VllmPolicy"]
