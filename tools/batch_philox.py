"""Check vectors of Random123's Philox4x32-10, and sources that draw them with the header of a batch, in C and CUDA."""

from __future__ import annotations

ONES = 0xFFFFFFFF
VECTORS = (  # kat_vectors of Random123, philox4x32 with 10 rounds: counter, key, expected
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ONES, ONES, ONES, ONES), (ONES, ONES), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
)
_WORDS = """
  const uint32_t *counter = given + 6 * i, *key = counter + 4;
  const uint32_t key0 = key[0], key1 = key[1];
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  AL_PHILOX_ROUNDS
  made[4 * i] = c0; made[4 * i + 1] = c1; made[4 * i + 2] = c2; made[4 * i + 3] = c3;
"""
C = f"""#include "batch_runtime.h"
int aeroloop_philox(const uint32_t *given, int count, uint32_t *made) {{
  for (int i = 0; i < count; ++i) {{{_WORDS}  }}
  return 0;
}}
"""
"""(counter and key, six words a row; rows; four words a row to fill in) -> 0."""
KERNEL = f"""#include "batch_runtime.h"
extern "C" __global__ void al_philox(const uint32_t *given, int count, uint32_t *made) {{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
{_WORDS}}}
"""
CUDA = f"""{KERNEL}
extern "C" int aeroloop_philox(const uint32_t *given, int count, uint32_t *made) {{
  uint32_t *on_device, *out;
  const size_t in_bytes = 24u * (size_t)count, out_bytes = 16u * (size_t)count;
  if (cudaMalloc((void **)&on_device, in_bytes) || cudaMalloc((void **)&out, out_bytes)) return (int)cudaGetLastError();
  cudaMemcpy(on_device, given, in_bytes, cudaMemcpyHostToDevice);
  al_philox<<<(count + 63) / 64, 64>>>(on_device, count, out);
  cudaMemcpy(made, out, out_bytes, cudaMemcpyDeviceToHost);
  cudaFree(on_device);
  cudaFree(out);
  return (int)cudaGetLastError();
}}
"""
"""The same function, computed by a kernel; its error of CUDA."""
