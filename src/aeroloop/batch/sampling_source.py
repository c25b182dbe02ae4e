"""C and CUDA around a loop of rollouts: many noisy rollouts from one state, and the sums of the weighted knots.

    lambda = temperature * geometric mean of (cost - least cost),   w_i = exp(-(cost_i - least cost) / lambda)
    sums: sum w_i, sum w_i^2, sum w_i knot_i

Sums are trees over groups of 256 rollouts, then over groups of their sums: the order depends on the number of rollouts
alone, so that threads, lanes and GPUs give equal bits. The geometric mean is that of the costs above the least one: a
few rollouts that are lost, with costs a million times those of the others, hardly move it. A rollout whose cost is NaN
or beyond `AL_COST_MAX` has weight 0.

Rollout 0 is the plan itself, rollout 1 the feedback alone; the others come in pairs with noise of opposite sign.
"""

from __future__ import annotations

from aeroloop.batch.loop import Loop, source
from aeroloop.codegen.batch import CUDA, Dialect

SUMS = ("cost_least", "log_excess", "finite", "weight", "weight_squares", "cost_plan", "cost_feedback")
"""What a cycle gives before the sums of the weighted knots."""


def sampling_source(loop: Loop, dialect: Dialect) -> str:
    """`loop` has the parameters (noise, plan) and the metrics (cost, knots ...)."""
    return source(loop, dialect, _COMMON + (_CUDA if dialect is CUDA else _C))


_COMMON = """\
#define AL_GROUP 256
#define AL_HEAD 7 /* numbers before the sums of the knots */
#define AL_COST_MAX 1e30f

/* Key of a rollout's noise, and its factors on noise and plan. */
AL_FN uint32_t al_key_of(int i) { return (uint32_t)i >> 1; }
AL_FN al_real al_noise_of(int i) {
  if (i < 2) return 0.0f;
  return (i & 1) ? -1.0f : 1.0f;
}
AL_FN al_real al_plan_of(int i) { return i == 1 ? 0.0f : 1.0f; }

AL_FN al_real al_capped(al_real cost) { return al_select(al_lt(cost, AL_COST_MAX), cost, AL_COST_MAX); }
AL_FN al_real al_weight(al_real cost, const al_real *sums, al_real temperature) {
  const al_real mean = al_div(sums[1], al_max(sums[2] - 1.0f, 1.0f));
  const al_real lambda = temperature * al_exp(mean);
  return al_where(al_lt(cost, AL_COST_MAX), al_exp(-al_div(cost - sums[0], lambda)));
}
/* What the trees add up, by kind: 0 least cost; 1 logarithms of the costs' excess, number of finite ones; 2 weights,
   their squares, weighted knots. `made` is [AL_METRICS][stride], cost first. */
#define AL_ROWS(kind) ((kind) == 0 ? 1 : (kind) == 1 ? 2 : 1 + AL_METRICS)
#define AL_FIRST(kind) ((kind) == 0 ? 0 : (kind) == 1 ? 1 : 3)
AL_FN al_real al_term(int kind, int row, int i, const al_real *made, int stride, const al_real *weight,
                      const al_real *sums) {
  if (kind == 0) return made[i];
  if (kind == 1) {
    const al_mask finite = al_lt(made[i], AL_COST_MAX);
    if (row) return al_truth(finite);
    return al_where(finite & al_lt(sums[0], made[i]), al_log(al_max(made[i] - sums[0], 1e-30f)));
  }
  if (row == 0) return weight[i];
  if (row == 1) return weight[i] * weight[i];
  return weight[i] * made[(int64_t)(row - 1) * stride + i];
}
AL_FN al_real al_joined(int kind, al_real a, al_real b) { return kind == 0 ? al_min(a, b) : a + b; }
/* Where a sum lies in the output: the costs of plan and feedback come between. */
AL_FN int al_sum_at(int kind, int row) { return kind < 2 || row < 2 ? AL_FIRST(kind) + row : AL_HEAD + row - 2; }
#define AL_GROUPS(n) (((n) + AL_GROUP - 1) / AL_GROUP)
"""

_C = """\
#include <omp.h>
#include <stdlib.h>

typedef struct {
  int rollouts, stride;
  al_real *made, *weight, *level;
} al_pool;

void aeroloop_sampling_close(al_pool *pool) {
  if (!pool) return;
  free(pool->made), free(pool->weight), free(pool->level), free(pool);
}

al_pool *aeroloop_sampling_open(int rollouts) {
  al_pool *pool = calloc(1, sizeof *pool);
  if (!pool) return 0;
  pool->rollouts = rollouts;
  pool->stride = AL_GROUPS(rollouts) * AL_GROUP;
  pool->made = calloc((size_t)AL_METRICS * pool->stride, sizeof(al_real));
  pool->weight = calloc(pool->stride, sizeof(al_real));
  pool->level = calloc((size_t)(1 + AL_METRICS) * pool->stride, sizeof(al_real));
  if (pool->made && pool->weight && pool->level) return pool;
  aeroloop_sampling_close(pool);
  return 0;
}

static al_real al_tree(int kind, al_real *v) {
  for (int half = AL_GROUP / 2; half; half /= 2)
    for (int j = 0; j < half; ++j) v[j] = al_joined(kind, v[j], v[j + half]);
  return v[0];
}

static void al_reduce(al_pool *pool, int kind, int threads, al_real *sums) {
  int n = pool->rollouts;
  const int rows = AL_ROWS(kind);
  const al_real empty = kind == 0 ? AL_COST_MAX : 0;
  al_real *level = pool->level;
  for (int first = 1; first || n > 1; first = 0) {
    const int groups = AL_GROUPS(n);
#pragma omp parallel for num_threads(threads) if (first)
    for (int row = 0; row < rows; ++row)
      for (int g = 0; g < groups; ++g) {
        al_real v[AL_GROUP];
        for (int j = 0; j < AL_GROUP; ++j) {
          const int i = g * AL_GROUP + j;
          if (i >= n) v[j] = empty;
          else if (first) v[j] = al_term(kind, row, i, pool->made, pool->stride, pool->weight, sums);
          else v[j] = level[(int64_t)row * pool->stride + i];
        }
        level[(int64_t)row * pool->stride + g] = al_tree(kind, v); /* read before: a group writes left of itself */
      }
    n = groups;
  }
  for (int row = 0; row < rows; ++row) sums[al_sum_at(kind, row)] = level[(int64_t)row * pool->stride];
}

int aeroloop_sampling_cycle(al_pool *pool, const al_real *table, int steps, uint32_t seed, al_real temperature,
                            int threads, al_real *sums, double *seconds) {
  const double began = omp_get_wtime();
  const int rollouts = pool->rollouts, blocks = (rollouts + AL_LANES - 1) / AL_LANES;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (int block = 0; block < blocks; ++block) {
    al_real own[AL_PARAMS * AL_LANES], made[AL_METRICS * AL_LANES];
    uint32_t numbers[AL_LANES], seeds[AL_LANES];
    for (int lane = 0; lane < AL_LANES; ++lane) {
      const int i = block * AL_LANES + lane;
      own[lane] = al_noise_of(i), own[AL_LANES + lane] = al_plan_of(i);
      numbers[lane] = al_key_of(i), seeds[lane] = seed;
    }
    al_fly(own, numbers, seeds, table, steps, made);
    for (int lane = 0; lane < AL_LANES && block * AL_LANES + lane < rollouts; ++lane)
      for (int k = 0; k < AL_METRICS; ++k) {
        const al_real value = made[k * AL_LANES + lane];
        pool->made[(int64_t)k * pool->stride + block * AL_LANES + lane] = k ? value : al_capped(value);
      }
  }
  al_reduce(pool, 0, threads, sums);
  al_reduce(pool, 1, threads, sums);
  for (int i = 0; i < rollouts; ++i) pool->weight[i] = al_weight(pool->made[i], sums, temperature);
  al_reduce(pool, 2, threads, sums);
  sums[5] = pool->made[0], sums[6] = pool->made[rollouts > 1];
  *seconds = omp_get_wtime() - began;
  return 0;
}

/* Costs and knots of the last cycle, [AL_METRICS][rollouts], and the weights. */
int aeroloop_sampling_read(al_pool *pool, al_real *made, al_real *weight) {
  const size_t bytes = sizeof(al_real) * pool->rollouts;
  for (int k = 0; k < AL_METRICS; ++k)
    memcpy(made + (int64_t)k * pool->rollouts, pool->made + (int64_t)k * pool->stride, bytes);
  memcpy(weight, pool->weight, bytes);
  return 0;
}
"""

_CUDA = """\
#include <stdlib.h>
#include <string.h>

typedef struct {
  int rollouts, stride;
  al_real *made, *weight, *level[2], *table, *sums; /* on the device, kept from cycle to cycle */
  al_real *table_pinned, *sums_pinned;
  cudaStream_t stream;
  cudaEvent_t began, ended;
} al_pool;

#define AL_STEPS_MAX 256

__global__ void __launch_bounds__(AL_BLOCK) al_rollouts(const al_real *table, int steps, uint32_t seed, int rollouts,
                                                        int stride, al_real *made) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rollouts) return;
  const al_real own[AL_PARAMS] = {al_noise_of(i), al_plan_of(i)};
  const uint32_t number = al_key_of(i);
  al_real out[AL_METRICS];
  al_fly(own, &number, &seed, table, steps, out);
  made[i] = al_capped(out[0]);
  for (int k = 1; k < AL_METRICS; ++k) made[(int64_t)k * stride + i] = out[k];
}

__global__ void al_tree(int kind, int first, int n, int stride, const al_real *made, const al_real *weight,
                        const al_real *from, al_real *to, al_real *sums) {
  __shared__ al_real v[AL_GROUP];
  const int j = threadIdx.x, i = blockIdx.x * AL_GROUP + j, row = blockIdx.y;
  if (i >= n) v[j] = kind == 0 ? AL_COST_MAX : 0;
  else v[j] = first ? al_term(kind, row, i, made, stride, weight, sums) : from[(int64_t)row * stride + i];
  __syncthreads();
  for (int half = AL_GROUP / 2; half; half /= 2) {
    if (j < half) v[j] = al_joined(kind, v[j], v[j + half]);
    __syncthreads();
  }
  if (j) return;
  if (gridDim.x == 1) sums[al_sum_at(kind, row)] = v[0];
  else to[(int64_t)row * stride + blockIdx.x] = v[0];
}

__global__ void al_weigh(const al_real *made, int rollouts, al_real temperature, al_real *sums, al_real *weight) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rollouts) weight[i] = al_weight(made[i], sums, temperature);
  if (i == 0) sums[5] = made[0], sums[6] = made[rollouts > 1];
}

extern "C" void aeroloop_sampling_close(al_pool *pool) {
  if (!pool) return;
  cudaFree(pool->made), cudaFree(pool->weight), cudaFree(pool->level[0]), cudaFree(pool->level[1]);
  cudaFree(pool->table), cudaFree(pool->sums), cudaFreeHost(pool->table_pinned), cudaFreeHost(pool->sums_pinned);
  if (pool->stream) cudaStreamDestroy(pool->stream), cudaEventDestroy(pool->began), cudaEventDestroy(pool->ended);
  free(pool);
}

extern "C" al_pool *aeroloop_sampling_open(int rollouts) {
  al_pool *pool = (al_pool *)calloc(1, sizeof *pool);
  if (!pool) return 0;
  pool->rollouts = rollouts;
  pool->stride = AL_GROUPS(rollouts) * AL_GROUP;
  const size_t real = sizeof(al_real), rows = 1 + AL_METRICS, sums = real * (AL_HEAD + AL_METRICS);
  const size_t table = real * AL_COLUMNS * AL_STEPS_MAX;
  cudaError_t error = cudaMalloc((void **)&pool->made, real * AL_METRICS * pool->stride);
  if (!error) error = cudaMalloc((void **)&pool->weight, real * pool->stride);
  for (int k = 0; k < 2 && !error; ++k) error = cudaMalloc((void **)&pool->level[k], real * rows * pool->stride);
  if (!error) error = cudaMalloc((void **)&pool->table, table);
  if (!error) error = cudaMalloc((void **)&pool->sums, sums);
  if (!error) error = cudaMallocHost((void **)&pool->table_pinned, table);
  if (!error) error = cudaMallocHost((void **)&pool->sums_pinned, sums);
  if (!error) error = cudaStreamCreate(&pool->stream);
  if (!error) error = cudaEventCreate(&pool->began);
  if (!error) error = cudaEventCreate(&pool->ended);
  if (!error) return pool;
  aeroloop_sampling_close(pool);
  return 0;
}

static void al_reduce(al_pool *pool, int kind) {
  int n = pool->rollouts, from = 0;
  for (int first = 1; first || n > 1; first = 0, from = 1 - from) {
    const int groups = AL_GROUPS(n);
    al_tree<<<dim3(groups, AL_ROWS(kind)), AL_GROUP, 0, pool->stream>>>(
        kind, first, n, pool->stride, pool->made, pool->weight, pool->level[from], pool->level[1 - from], pool->sums);
    n = groups;
  }
}

/* As the entry of the C library; `threads` is ignored, `seconds` is the time of all kernels. Returns CUDA's error. */
extern "C" int aeroloop_sampling_cycle(al_pool *pool, const al_real *table, int steps, uint32_t seed,
                                       al_real temperature, int threads, al_real *sums, double *seconds) {
  (void)threads;
  if (steps > AL_STEPS_MAX) return 1; /* cudaErrorInvalidValue */
  const size_t bytes = sizeof(al_real) * AL_COLUMNS * steps, out = sizeof(al_real) * (AL_HEAD + AL_METRICS - 1);
  const int n = pool->rollouts, blocks = (n + AL_BLOCK - 1) / AL_BLOCK;
  memcpy(pool->table_pinned, table, bytes);
  cudaEventRecord(pool->began, pool->stream);
  cudaMemcpyAsync(pool->table, pool->table_pinned, bytes, cudaMemcpyHostToDevice, pool->stream);
  al_rollouts<<<blocks, AL_BLOCK, 0, pool->stream>>>(pool->table, steps, seed, n, pool->stride, pool->made);
  al_reduce(pool, 0);
  al_reduce(pool, 1);
  al_weigh<<<blocks, AL_BLOCK, 0, pool->stream>>>(pool->made, n, temperature, pool->sums, pool->weight);
  al_reduce(pool, 2);
  cudaMemcpyAsync(pool->sums_pinned, pool->sums, out, cudaMemcpyDeviceToHost, pool->stream);
  cudaEventRecord(pool->ended, pool->stream);
  cudaError_t error = cudaStreamSynchronize(pool->stream);
  if (!error) error = cudaGetLastError();
  float ms = 0.0f;
  if (!error) error = cudaEventElapsedTime(&ms, pool->began, pool->ended);
  *seconds = ms / 1000.0;
  memcpy(sums, pool->sums_pinned, out);
  return (int)error;
}

extern "C" int aeroloop_sampling_read(al_pool *pool, al_real *made, al_real *weight) {
  cudaError_t error = cudaMemcpy2D(made, sizeof(al_real) * pool->rollouts, pool->made, sizeof(al_real) * pool->stride,
                                   sizeof(al_real) * pool->rollouts, AL_METRICS, cudaMemcpyDeviceToHost);
  if (!error) error = cudaMemcpy(weight, pool->weight, sizeof(al_real) * pool->rollouts, cudaMemcpyDeviceToHost);
  return (int)error;
}
"""
