/* Runtime of generated batches, for C (lanes) and CUDA: arithmetic that rounds equally on both.

   Sums, products, fused products, quotients and square roots are those of IEEE 754; every other function is made of
   them here, with no call of a library. Nothing may be fused or reordered by a compiler: -ffp-contract=off, -fmad=false.
   No ternary operator: on a loaded value it becomes a masked load, which gcc does not vectorise. With AL_DOUBLE: plain
   double precision and the C library, as the reference in tests and benchmarks. */
#ifndef AEROLOOP_BATCH_RUNTIME_H
#define AEROLOOP_BATCH_RUNTIME_H

#ifdef __CUDACC_RTC__ /* compiled at run time: no headers */
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#else
#include <stdint.h>
#endif

#ifdef __CUDACC__
#define AL_FN static __device__ __forceinline__
#define AL_TABLE static __device__ const
#define AL_DRAW AL_FN
#else
#include <math.h>
#include <string.h>
#define AL_FN static inline __attribute__((always_inline))
#define AL_TABLE static const
#define AL_DRAW static __attribute__((noinline, unused))
#endif

#ifndef AL_LANES
#define AL_LANES 16
#endif
#ifdef __CUDACC__
#define AL_AT(array, i) (array)[i]
#define AL_EACH_LANE
#define AL_SIZE(n) (n)
#define AL_ROLLED _Pragma("unroll 1")
/* The warps of a block go through a cycle together: its code is larger than the instruction cache, and warps at
   different places of it make one another wait for instructions. */
#define AL_TOGETHER __syncthreads();
#define AL_BLOCK 256
#else
#define AL_PRAGMA(text) _Pragma(#text)
#define AL_AT(array, i) (array)[(i) * AL_LANES + al_lane]
#define AL_EACH_LANE AL_PRAGMA(omp simd) for (int al_lane = 0; al_lane < AL_LANES; ++al_lane)
#define AL_SIZE(n) ((n) * AL_LANES)
#define AL_ROLLED
#define AL_TOGETHER
#endif

/* A truth is a mask of ones or zeros. */
#ifdef AL_DOUBLE
typedef double al_real;
typedef int64_t al_mask;
typedef uint64_t al_word;
#define AL_ONE_BITS 0x3ff0000000000000LL
#else
typedef float al_real;
typedef int32_t al_mask;
typedef uint32_t al_word;
#define AL_ONE_BITS 0x3f800000
#endif

AL_FN al_mask al_bits(al_real x) {
  union { al_real real; al_mask bits; } u;
  u.real = x;
  return u.bits;
}
AL_FN al_real al_from_bits(al_mask bits) {
  union { al_real real; al_mask bits; } u;
  u.bits = bits;
  return u.real;
}
AL_FN float al_float_of(uint32_t bits) {
  union { float real; uint32_t bits; } u;
  u.bits = bits;
  return u.real;
}
AL_FN al_mask al_lt(al_real x, al_real y) { return -(al_mask)(x < y); }
AL_FN al_mask al_le(al_real x, al_real y) { return -(al_mask)(x <= y); }
AL_FN al_mask al_eq(al_real x, al_real y) { return -(al_mask)(x == y); }
AL_FN al_mask al_ne(al_real x, al_real y) { return -(al_mask)(x != y); }
AL_FN al_real al_truth(al_mask m) { return al_from_bits(m & AL_ONE_BITS); }
AL_FN al_real al_where(al_mask m, al_real x) { return al_from_bits(m & al_bits(x)); }
AL_FN al_real al_select(al_mask m, al_real x, al_real y) {
  return al_from_bits((m & al_bits(x)) | (~m & al_bits(y)));
}
AL_FN al_real al_min(al_real x, al_real y) { return al_select(al_lt(x, y), x, y); }
AL_FN al_real al_max(al_real x, al_real y) { return al_select(al_lt(y, x), x, y); }

#ifdef AL_DOUBLE
AL_FN al_real al_fma(al_real a, al_real b, al_real c) { return a * b + c; }
AL_FN al_real al_div(al_real a, al_real b) { return a / b; }
AL_FN al_real al_sqrt(al_real x) { return sqrt(x); }
AL_FN al_real al_abs(al_real x) { return fabs(x); }
AL_FN al_real al_sin(al_real x) { return sin(x); }
AL_FN al_real al_cos(al_real x) { return cos(x); }
AL_FN al_real al_atan2(al_real y, al_real x) { return atan2(y, x); }
AL_FN al_real al_exp(al_real x) { return exp(x); }
AL_FN al_real al_expm1(al_real x) { return expm1(x); }
AL_FN al_real al_log(al_real x) { return log(x); }
AL_FN al_real al_floor(al_real x) { return floor(x); }
#else

#ifdef __CUDACC__
AL_FN float al_fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
AL_FN float al_div(float a, float b) { return __fdiv_rn(a, b); }
AL_FN float al_sqrt(float x) { return __fsqrt_rn(x); }
#else
AL_FN float al_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
AL_FN float al_div(float a, float b) { return a / b; }
AL_FN float al_sqrt(float x) { return __builtin_sqrtf(x); }
#endif
AL_FN float al_abs(float x) { return al_from_bits(al_bits(x) & 0x7fffffff); }

/* Added to a number below 2^22, it leaves the nearest integer in the last bits. */
#define AL_ROUNDER 12582912.0f

/* The largest integer not above x, for |x| < 2^22. */
AL_FN float al_floor(float x) {
  const float near = (x + AL_ROUNDER) - AL_ROUNDER;
  return near - al_truth(al_lt(x, near));
}

/* x = quarter * pi/2 + rest, |rest| <= pi/4; pi/2 in three parts. */
AL_FN float al_quarter(float x, int32_t *quarter) {
  const float shifted = al_fma(x, 0.636619772f, AL_ROUNDER);
  const float turns = shifted - AL_ROUNDER;
  *quarter = al_bits(shifted);
  float rest = al_fma(turns, -1.57079601f, x);
  rest = al_fma(turns, -3.13916473e-7f, rest);
  return al_fma(turns, -5.39030253e-15f, rest);
}
AL_FN float al_sin_core(float r, float z) {
  float p = al_fma(z, -1.9515295891e-4f, 8.3321608736e-3f);
  p = al_fma(p, z, -1.6666654611e-1f);
  return al_fma(p * z, r, r);
}
AL_FN float al_cos_core(float z) {
  float p = al_fma(z, 2.443315711809948e-5f, -1.388731625493765e-3f);
  p = al_fma(p, z, 4.166664568298827e-2f);
  p = al_fma(p, z, -0.5f);
  return al_fma(p, z, 1.0f);
}
/* The sine of quarter * pi/2 + r. The mask is that of an even quarter: gcc 13 makes a one-bit integer of -(quarter & 1),
   and has no vector type for it ("no vectype for stmt"), so that the whole function would stay scalar. */
AL_FN float al_sine_of(int32_t quarter, float r) {
  const float z = r * r;
  const float value = al_select((quarter & 1) - 1, al_sin_core(r, z), al_cos_core(z));
  return al_from_bits(al_bits(value) ^ (int32_t)((uint32_t)(quarter & 2) << 30));
}
AL_FN float al_sin(float x) {
  int32_t quarter;
  const float r = al_quarter(x, &quarter);
  return al_sine_of(quarter, r);
}
AL_FN float al_cos(float x) {
  int32_t quarter;
  const float r = al_quarter(x, &quarter);
  return al_sine_of(quarter + 1, r);
}

AL_FN float al_atan2(float y, float x) {
  const float ax = al_abs(x), ay = al_abs(y);
  const al_mask steep = al_lt(ax, ay);
  const float low = al_select(steep, ax, ay), high = al_select(steep, ay, ax);
  const al_mask far_out = al_lt(high * 0.414213562f, low); /* beyond tan(pi/8): from pi/4 on */
  const float above = al_select(far_out, low - high, low);
  const float below = al_max(al_select(far_out, low + high, high), 1.2e-38f);
  const float t = al_div(above, below), z = t * t;
  float p = al_fma(z, 8.05374449538e-2f, -1.38776856032e-1f);
  p = al_fma(p, z, 1.99777106478e-1f);
  p = al_fma(p, z, -3.33329491539e-1f);
  float angle = al_fma(p * z, t, t) + al_where(far_out, 0.785398163f);
  angle = al_select(steep, 1.57079633f - angle, angle);
  angle = al_select(al_bits(x) >> 31, 3.14159265f - angle, angle);
  return al_from_bits(al_bits(angle) | (al_bits(y) & (int32_t)0x80000000));
}

/* exp(x) = (1 + rest) * scale, scale a power of two; below -87 and above 88 as there. */
AL_FN float al_exp_rest(float x, float *scale) {
  x = al_select(al_lt(x, -87.0f), -87.0f, x);
  x = al_select(al_lt(88.0f, x), 88.0f, x);
  const float shifted = al_fma(x, 1.44269504f, AL_ROUNDER);
  const float n = shifted - AL_ROUNDER;
  float r = al_fma(n, -0.693359375f, x);
  r = al_fma(n, 2.12194440e-4f, r);
  float p = al_fma(r, 1.9875691500e-4f, 1.3981999507e-3f);
  p = al_fma(p, r, 8.3334519073e-3f);
  p = al_fma(p, r, 4.1665795894e-2f);
  p = al_fma(p, r, 1.6666665459e-1f);
  p = al_fma(p, r, 5.0000001201e-1f);
  *scale = al_from_bits((int32_t)((uint32_t)(al_bits(shifted) - 0x4b400000 + 127) << 23));
  return al_fma(p * r, r, r);
}
AL_FN float al_exp(float x) {
  float scale;
  const float rest = al_exp_rest(x, &scale);
  return (rest + 1.0f) * scale;
}
AL_FN float al_expm1(float x) {
  float scale;
  const float rest = al_exp_rest(x, &scale);
  return al_fma(rest, scale, scale - 1.0f);
}

/* Of normal numbers; NaN below zero, -infinity at zero. */
AL_FN float al_log(float x) {
  const int32_t bits = al_bits(x), over = bits - 0x3f3504f3; /* sqrt(1/2) */
  const float n = (float)(over >> 23);
  const float f = al_from_bits((over & 0x007fffff) + 0x3f3504f3) - 1.0f;
  const float z = f * f;
  float p = al_fma(f, 7.0376836292e-2f, -1.1514610310e-1f);
  p = al_fma(p, f, 1.1676998740e-1f);
  p = al_fma(p, f, -1.2420140846e-1f);
  p = al_fma(p, f, 1.4249322787e-1f);
  p = al_fma(p, f, -1.6668057665e-1f);
  p = al_fma(p, f, 2.0000714765e-1f);
  p = al_fma(p, f, -2.4999993993e-1f);
  p = al_fma(p, f, 3.3333331174e-1f);
  float tail = (p * f) * z;
  tail = al_fma(n, -2.12194440e-4f, tail);
  tail = al_fma(z, -0.5f, tail);
  float value = al_fma(n, 0.693359375f, f + tail);
  value = al_select(al_eq(x, 0.0f), al_from_bits((int32_t)0xff800000), value);
  return al_from_bits(al_bits(value) | (al_lt(x, 0.0f) & 0x7fc00000) | (al_ne(x, x) & 0x7fc00000));
}
#endif

/* A place in a table from a whole number, at least 0 and at most `last`; NaN is place 0. */
AL_FN int32_t al_place(al_real x, int32_t last) {
  x = al_select(al_lt((al_real)0, x), x, (al_real)0);
  return (int32_t)al_select(al_lt((al_real)last, x), (al_real)last, x);
}

/* Philox4x32-10 (Salmon et al. 2011, Random123), rounds written out: an inner loop would not be vectorised. */
AL_FN uint32_t al_mul_high(uint32_t a, uint32_t b) { return (uint32_t)(((uint64_t)a * b) >> 32); }
#define AL_PHILOX_ROUND(k)                                                                          \
  {                                                                                                 \
    const uint32_t high0 = al_mul_high(0xD2511F53u, c0), low0 = 0xD2511F53u * c0;                   \
    const uint32_t high1 = al_mul_high(0xCD9E8D57u, c2), low1 = 0xCD9E8D57u * c2;                   \
    c0 = high1 ^ c1 ^ (key0 + (k) * 0x9E3779B9u);                                                   \
    c1 = low1;                                                                                      \
    c2 = high0 ^ c3 ^ (key1 + (k) * 0xBB67AE85u);                                                   \
    c3 = low0;                                                                                      \
  }
#define AL_PHILOX_ROUNDS                                                                            \
  AL_PHILOX_ROUND(0u) AL_PHILOX_ROUND(1u) AL_PHILOX_ROUND(2u) AL_PHILOX_ROUND(3u)                   \
  AL_PHILOX_ROUND(4u) AL_PHILOX_ROUND(5u) AL_PHILOX_ROUND(6u) AL_PHILOX_ROUND(7u)                   \
  AL_PHILOX_ROUND(8u) AL_PHILOX_ROUND(9u)

/* Box-Muller, from the upper 23 bits of two words: strictly between 0 and 1, so that the logarithm is finite. */
AL_FN float al_unit(uint32_t bits) { return ((float)(int32_t)(bits >> 9) + 0.5f) * 1.1920929e-7f; }
#ifdef AL_DOUBLE
AL_FN al_real al_radius(uint32_t bits) { return sqrt(-2.0 * log((double)al_unit(bits))); }
AL_FN al_real al_wave(uint32_t bits, int32_t quarter) {
  return sin((double)al_unit(bits) * 6.283185307179586 + quarter * 1.5707963267948966);
}
#else
AL_FN al_real al_radius(uint32_t bits) { return al_sqrt(-2.0f * al_log(al_unit(bits))); }
AL_FN al_real al_wave(uint32_t bits, int32_t ahead) {
  int32_t quarter;
  const float r = al_quarter(al_unit(bits) * 6.28318531f, &quarter);
  return al_sine_of(quarter + ahead, r);
}
#endif

/* Four standard normal numbers of one key (flight, seed) and counter (step, draw, stream, 0) at normals[4 draw ...].
   One function for all calls on a processor: written out at each of them, the loop would not fit its cache of code. */
AL_DRAW void al_normals(al_real *normals, const uint32_t *flight, const uint32_t *seed, uint32_t step, uint32_t draw,
                        uint32_t stream) {
  AL_EACH_LANE {
    const uint32_t key0 = AL_AT(flight, 0), key1 = AL_AT(seed, 0);
    uint32_t c0 = step, c1 = draw, c2 = stream, c3 = 0u;
    AL_PHILOX_ROUNDS
    const al_real radius0 = al_radius(c0), radius1 = al_radius(c2);
    AL_AT(normals, 4 * draw + 0) = radius0 * al_wave(c1, 1);
    AL_AT(normals, 4 * draw + 1) = radius0 * al_wave(c1, 0);
    AL_AT(normals, 4 * draw + 2) = radius1 * al_wave(c3, 1);
    AL_AT(normals, 4 * draw + 3) = radius1 * al_wave(c3, 0);
  }
}
#define AL_NORMALS(normals, flight, seed, step, draw, stream) al_normals(normals, flight, seed, step, draw, stream);

#endif
