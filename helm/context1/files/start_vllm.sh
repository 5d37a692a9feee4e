#!/bin/sh
# Becomes `vllm serve` with these arguments. What is compiled depends on the image and on the GPU, so each pair has
# its own folder below /compile: pods of a mixed or half-upgraded cluster do not read each other's kernels.
set -eu

gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1) || gpu=
gpu=$(printf '%s' "${gpu:-cpu}" | tr -c 'A-Za-z0-9.' '-')
image=$(printf '%s' "$IMAGE" | sha256sum | cut -c 1-16)
cache=${COMPILE_ROOT:-/compile}/$image-$gpu
mkdir -p "$cache"
echo "compile caches: $cache (image $IMAGE)"

export VLLM_CACHE_ROOT="$cache/vllm"
export TORCHINDUCTOR_CACHE_DIR="$cache/inductor"
export TRITON_CACHE_DIR="$cache/triton"
export FLASHINFER_WORKSPACE_BASE="$cache/flashinfer"
export CUDA_CACHE_PATH="$cache/cuda"
exec vllm serve "$@"
