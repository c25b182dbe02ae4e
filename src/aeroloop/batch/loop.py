"""A loop of a vehicle and its controller as calls of CasADi functions on one state, and its source text.

    start(params) -> state;   every cycle: calls in order, each (state, params, ...) -> state;   finish -> metrics

The schedule is the same for all flights, so that lanes and GPU threads never diverge. A function may take, by name:
`state`, `params` (numbers of the flight), `table` (a row for the cycle, the same for all flights), `row` (a row of
constants, chosen by the repetition) and `normals` (fresh standard normal numbers of the call's stream).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import casadi as ca

from aeroloop.codegen import batch
from aeroloop.codegen.batch import CUDA, Dialect, Program, lowered

UNIFORM = frozenset({"table", "row"})
"""Inputs that are one number for all flights."""


@dataclass(frozen=True)
class Call:
    """A function called in every `every`-th cycle, from cycle `phase` on and before cycle `until`.

    Its normals have the counter of a cycle `ahead`, so that another call may draw those of its own past.
    """

    function: ca.Function
    every: int = 1
    phase: int = 0
    rows: tuple[tuple[float, ...], ...] = ()
    stream: int = 0
    until: int | None = None
    ahead: int = 0

    @property
    def due(self) -> str:
        """Whether it is called, as a condition in C; empty: always."""
        parts = [f"cycle >= {self.phase}"] if self.phase else []
        if self.every > 1:
            parts.append(f"(cycle - {self.phase}) % {self.every} == 0" if self.phase else f"cycle % {self.every} == 0")
        if self.until is not None:
            parts.append(f"cycle < {self.until}")
        return " && ".join(parts)


@dataclass(frozen=True)
class Lookup:
    """Reads numbers of a table, other ones for each flight: element `index` of the state is a whole number, and the
    table's numbers at that place plus `offsets` become the elements from `into` on. A place outside is the nearest
    one."""

    table: tuple[float, ...]
    index: int
    into: int
    offsets: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Repeat:
    """Calls repeated within a cycle; the number of the repetition chooses their `rows`."""

    count: int
    body: tuple[Call | Lookup | Repeat, ...]


Item = Call | Lookup | Repeat


@dataclass(frozen=True)
class Loop:
    """A whole flight."""

    start: ca.Function
    cycle: tuple[Item, ...]
    finish: ca.Function
    parameters: tuple[str, ...]
    metrics: tuple[str, ...]
    table_columns: int
    steps_per_cycle: int

    @property
    def state_count(self) -> int:
        return int(self.start.numel_out(0))


def source(loop: Loop, dialect: Dialect, entry: str = "") -> str:
    """C, or CUDA, with the entry `aeroloop_batch_run`, or with another `entry` that calls `al_fly`."""
    return _Source(loop, dialect).text(entry or _entry(dialect))


class _Source:
    def __init__(self, loop: Loop, dialect: Dialect) -> None:
        self._loop, self._dialect = loop, dialect
        self._programs: dict[str, Program] = {}
        self._tables: list[str] = []
        self._normals = 1  # C has no empty arrays

    def text(self, entry: str) -> str:
        calls = list(_calls(self._loop.cycle))
        for function in (self._loop.start, self._loop.finish, *(call.function for call in calls)):
            self._programs.setdefault(function.name(), lowered(function))
        fly = self._fly()
        functions = [batch.c_function(program, self._dialect, UNIFORM) for program in self._programs.values()]
        head = ["/* Generated: do not edit. */", '#include "batch_runtime.h"', "", self._sizes()]
        return "\n".join([*head, *functions, *self._tables, fly, entry])

    def _sizes(self) -> str:
        sizes = {
            "STATE": self._loop.state_count,
            "PARAMS": max(len(self._loop.parameters), 1),
            "METRICS": len(self._loop.metrics),
            "COLUMNS": self._loop.table_columns,
            "DRAWN": self._normals,
        }
        return "\n".join(f"#define AL_{name} {size}" for name, size in sizes.items()) + "\n"

    def _fly(self) -> str:
        head = "AL_FN" if self._dialect is CUDA else "static"
        body = self._body(self._loop.cycle, "    ", "0", 0)
        return f"""\
{head} void al_fly(const al_real *params, const uint32_t *flight, const uint32_t *seed, const al_real *table,
                   int cycles, al_real *metrics) {{
  al_real state[AL_SIZE(AL_STATE)], normals[AL_SIZE(AL_DRAWN)];
  (void)normals, (void)flight, (void)seed;
  {self._call(self._loop.start.name(), "0", None)}
  AL_ROLLED
  for (int cycle = 0; cycle < cycles; ++cycle, table += AL_COLUMNS) {{
    AL_TOGETHER
{body}
  }}
  {self._call(self._loop.finish.name(), "0", None)}
}}
"""

    def _body(self, items: tuple[Item, ...], indent: str, index: str, depth: int) -> str:
        lines: list[str] = []
        for item in items:
            if isinstance(item, Repeat):
                counter = f"i{depth}"
                inner = self._body(item.body, indent + "  ", counter, depth + 1)
                head = f"{indent}for (int {counter} = 0; {counter} < {item.count}; ++{counter}) {{"
                lines += [f"{indent}AL_ROLLED", head, inner, f"{indent}}}"]
                continue
            if isinstance(item, Lookup):
                lines.append(indent + self._lookup(item))
                continue
            called = "\n".join(f"{indent}{line}" for line in self._called(item, index, depth))
            if item.due:
                called = f"{indent}if ({item.due}) {{\n{called}\n{indent}}}"
            lines.append(called)
        return "\n".join(lines)

    def _called(self, call: Call, index: str, depth: int) -> list[str]:
        name = call.function.name()
        drawn = dict(self._programs[name].inputs).get("normals", 0)
        if drawn and depth:
            raise ValueError(f"{name}: normal numbers are drawn once a cycle, not in a repetition")
        draws = (drawn + 3) // 4
        self._normals = max(self._normals, 4 * draws)
        counter = f"(uint32_t)(cycle + {call.ahead})" if call.ahead else "(uint32_t)cycle"
        lines = [f"AL_NORMALS(normals, flight, seed, {counter}, {d}, {call.stream}u)" for d in range(draws)]
        return [*lines, self._call(name, index, call)]

    def _call(self, name: str, index: str, call: Call | None) -> str:
        program = self._programs[name]
        arguments = []
        for argument, _ in program.inputs:
            if argument == "row" and call is not None:
                argument = self._table(program, call, index)
            arguments.append(argument)
        arguments += [output.removesuffix("_next") for output, _ in program.outputs]
        return f"{program.name}({', '.join(arguments)});"

    def _lookup(self, item: Lookup) -> str:
        name = f"looked_up_{len(self._tables)}"
        numbers = ", ".join(self._dialect.constant(value) for value in item.table)
        self._tables.append(f"AL_TABLE al_real {name}[] = {{{numbers}}};\n")
        last = len(item.table) - 1 - max(item.offsets)
        reads = " ".join(
            f"AL_AT(state, {item.into + i}) = {name}[place + {offset}];" for i, offset in enumerate(item.offsets)
        )
        return f"AL_EACH_LANE {{ const int32_t place = al_place(AL_AT(state, {item.index}), {last}); {reads} }}"

    def _table(self, program: Program, call: Call, index: str) -> str:
        name, width = f"rows_{len(self._tables)}_{program.name}", len(call.rows[0])
        numbers = ", ".join(self._dialect.constant(value) for row in call.rows for value in row)
        self._tables.append(f"AL_TABLE al_real {name}[] = {{{numbers}}};\n")
        return f"{name} + {width} * {index}"


def _calls(items: tuple[Item, ...]) -> Iterator[Call]:
    for item in items:
        if isinstance(item, Call):
            yield item
        elif isinstance(item, Repeat):
            yield from _calls(item.body)


def _entry(dialect: Dialect) -> str:
    return _CUDA_ENTRY if dialect is CUDA else _C_ENTRY


_C_ENTRY = """\
#include <omp.h>

/* Parameters [AL_PARAMS][flights], metrics [AL_METRICS][flights]; the table has a row for each cycle. */
int aeroloop_batch_run(const al_real *params, const uint32_t *flight, const uint32_t *seed, const al_real *table,
                       int cycles, int flights, int threads, al_real *metrics, double *seconds) {
  const double began = omp_get_wtime();
  const int blocks = (flights + AL_LANES - 1) / AL_LANES;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (int block = 0; block < blocks; ++block) {
    al_real own[AL_PARAMS * AL_LANES], made[AL_METRICS * AL_LANES];
    uint32_t numbers[AL_LANES], seeds[AL_LANES];
    for (int lane = 0; lane < AL_LANES; ++lane) {
      int from = block * AL_LANES + lane;
      if (from >= flights) from = flights - 1; /* a block that is not full repeats the last flight */
      for (int i = 0; i < AL_PARAMS; ++i) own[i * AL_LANES + lane] = params[(int64_t)i * flights + from];
      numbers[lane] = flight[from];
      seeds[lane] = seed[from];
    }
    al_fly(own, numbers, seeds, table, cycles, made);
    for (int lane = 0; lane < AL_LANES && block * AL_LANES + lane < flights; ++lane)
      for (int i = 0; i < AL_METRICS; ++i)
        metrics[(int64_t)i * flights + block * AL_LANES + lane] = made[i * AL_LANES + lane];
  }
  *seconds = omp_get_wtime() - began;
  return 0;
}
"""

_CUDA_ENTRY = """\
extern "C" __global__ void __launch_bounds__(AL_BLOCK) al_kernel(const al_real *params, const uint32_t *flight,
                                                      const uint32_t *seed, const al_real *table, int cycles,
                                                      int flights, al_real *metrics) {
  for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < flights; i += (int64_t)gridDim.x * blockDim.x) {
    al_real own[AL_PARAMS], made[AL_METRICS];
    for (int k = 0; k < AL_PARAMS; ++k) own[k] = params[(int64_t)k * flights + i];
    const uint32_t number = flight[i], its_seed = seed[i];
    al_fly(own, &number, &its_seed, table, cycles, made);
    for (int k = 0; k < AL_METRICS; ++k) metrics[(int64_t)k * flights + i] = made[k];
  }
}

#ifndef __CUDACC_RTC__
/* As the entry of the C library; `threads` is ignored, `seconds` is the time of the kernel. Returns CUDA's error. */
extern "C" int aeroloop_batch_run(const al_real *params, const uint32_t *flight, const uint32_t *seed,
                                  const al_real *table, int cycles, int flights, int threads, al_real *metrics,
                                  double *seconds) {
  (void)threads;
  const size_t sizes[5] = {sizeof(al_real) * AL_PARAMS * flights, sizeof(uint32_t) * flights,
                           sizeof(uint32_t) * flights, sizeof(al_real) * AL_COLUMNS * cycles,
                           sizeof(al_real) * AL_METRICS * flights};
  const void *from[4] = {params, flight, seed, table};
  void *on[5] = {0, 0, 0, 0, 0};
  cudaError_t error = cudaSuccess;
  for (int k = 0; k < 5 && error == cudaSuccess; ++k) error = cudaMalloc(&on[k], sizes[k] + 1);
  for (int k = 0; k < 4 && error == cudaSuccess; ++k)
    error = cudaMemcpy(on[k], from[k], sizes[k], cudaMemcpyHostToDevice);
  if (error == cudaSuccess) {
    cudaEvent_t began, ended;
    cudaEventCreate(&began);
    cudaEventCreate(&ended);
    cudaEventRecord(began);
    al_kernel<<<(flights + AL_BLOCK - 1) / AL_BLOCK, AL_BLOCK>>>(
        (const al_real *)on[0], (const uint32_t *)on[1], (const uint32_t *)on[2], (const al_real *)on[3], cycles,
        flights, (al_real *)on[4]);
    error = cudaGetLastError();
    cudaEventRecord(ended);
    if (error == cudaSuccess) error = cudaEventSynchronize(ended);
    float ms = 0.0f;
    cudaEventElapsedTime(&ms, began, ended);
    *seconds = ms / 1000.0;
    cudaEventDestroy(began);
    cudaEventDestroy(ended);
  }
  if (error == cudaSuccess) error = cudaMemcpy(metrics, on[4], sizes[4], cudaMemcpyDeviceToHost);
  for (int k = 0; k < 5; ++k) cudaFree(on[k]);
  return (int)error;
}
#endif
"""
