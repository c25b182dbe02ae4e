"""The Discovery board's hardware layer, on registers that are memory, against the reference manual RM0090."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import pytest
from host_build import FIRMWARE, firmware_sources, kept, run

from aeroloop.core.signals import ResetCause
from aeroloop.protocols import interface
from aeroloop.protocols.interface_c import c_header

HERE = Path(__file__).parent
HSE_HZ, HSI_HZ, FASTEST_LSI_HZ = 8e6, 16e6, 47e3
BAUD = 921_600
PERIOD_US = 12_000
BOARD, REFERENCE = 0, 1
CRYSTAL, INTERNAL, SLOW = 0, 1, 2

TIM2, TIM3, IWDG, USART2, USART3 = 0x0000, 0x0400, 0x3000, 0x4400, 0x4800
GPIOA, GPIOD, RCC, FLASH = 0x20000, 0x20C00, 0x23800, 0x23C00
TIM_DIER, TIM_PSC, TIM_ARR = 0x0C, 0x28, 0x2C
USART_SR, USART_DR, USART_BRR, USART_CR1 = 0x00, 0x04, 0x08, 0x0C
GPIO_MODER, GPIO_BSRR, GPIO_AFRL, GPIO_AFRH = 0x00, 0x18, 0x20, 0x24
RCC_CR, RCC_PLLCFGR, RCC_CFGR, RCC_AHB1ENR, RCC_APB1ENR, RCC_CSR = 0x00, 0x04, 0x08, 0x30, 0x40, 0x74
HSERDY, PLLRDY, SWS_PLL = 1 << 17, 1 << 25, 2 << 2
RXNE, TXE, FE, ORE, TXEIE = 1 << 5, 1 << 7, 1 << 1, 1 << 3, 1 << 7
NVIC_ISER, NVIC_ISPR, NVIC_IPR = 0x100, 0x200, 0x400
IRQ_TIM3, IRQ_USART2, IRQ_USART3 = 29, 38, 39
APB_DIVIDERS = {0b100: 2, 0b101: 4, 0b110: 8, 0b111: 16}
RING_B = 1024


class Board:
    """A board whose registers hold what a test put there."""

    def __init__(self, library: ctypes.CDLL, *, crystal: bool = True, pll: bool = True, reset_flags: int = 0) -> None:
        self._library = library
        self._spaces = {
            name: (ctypes.c_uint8 * size).in_dll(library, name)
            for name, size in (("peripherals", 0x24000), ("system_space", 0x1000))
        }
        for space in self._spaces.values():
            ctypes.memset(space, 0, len(space))
        self.set(RCC, RCC_CR, HSERDY * crystal | PLLRDY * pll)
        self.set(RCC, RCC_PLLCFGR, 0x2400_3010)  # as after a reset
        self.set(RCC, RCC_CFGR, SWS_PLL)
        self.set(RCC, RCC_CSR, reset_flags)
        self.cause = ResetCause(library.hal_init())

    @property
    def clock(self) -> int:
        return int(self._library.hal_clock())

    @property
    def ticks_per_us(self) -> int:
        return ctypes.c_uint32.in_dll(self._library, "hal_ticks_per_us").value

    @property
    def times_received(self) -> int:
        return ctypes.c_uint32.in_dll(self._library, "times_received").value

    def __getattr__(self, name: str) -> Callable[..., int]:
        function: Callable[..., int] = getattr(self._library, f"hal_{name}")
        return function

    def get(self, block: int, offset: int) -> int:
        return self._word("peripherals", block + offset).value

    def set(self, block: int, offset: int, value: int) -> None:
        self._word("peripherals", block + offset).value = value

    def system(self, offset: int) -> int:
        return self._word("system_space", offset).value

    def level(self, irq: int) -> int:
        return self._spaces["system_space"][NVIC_IPR + irq]

    def enabled(self, irq: int) -> bool:
        return bool(self.system(NVIC_ISER + 4 * (irq // 32)) >> irq % 32 & 1)

    def only_bit(self, offset: int) -> int:
        """Of a set register: the one interrupt that was named there since it was cleared."""
        words = [self.system(offset + 4 * index) for index in range(3)]
        (irq,) = (32 * index + bit for index, word in enumerate(words) for bit in range(32) if word >> bit & 1)
        self.clear(offset)
        return irq

    def clear(self, offset: int) -> None:
        for index in range(3):
            self._word("system_space", offset + 4 * index).value = 0

    def open(self, line: int) -> None:
        self._library.hal_line_open(line, BAUD, 0x7E, self._library.count_received)

    def receive(self, byte: int, status: int = RXNE) -> None:
        self.set(USART2, USART_SR, status)
        self.set(USART2, USART_DR, byte)
        self._library.hal_line_board_irq()

    def read(self) -> bytes:
        room = ctypes.create_string_buffer(2 * RING_B)
        count = self._library.hal_line_read(BOARD, room, len(room))
        return room.raw[:count]

    def write(self, data: bytes) -> bool:
        return bool(self._library.hal_line_write(BOARD, data, len(data)) & 0xFF)

    def _word(self, space: str, offset: int) -> ctypes.c_uint32:
        return ctypes.c_uint32.from_buffer(self._spaces[space], offset)


@pytest.fixture
def board(library: ctypes.CDLL) -> Board:
    return Board(library)


@pytest.fixture
def library(tmp_path: Path) -> ctypes.CDLL:
    """A copy of its own for each test: a library that is loaded twice keeps its variables."""
    copy = tmp_path / "discovery.so"
    copy.write_bytes((_built() / "discovery.so").read_bytes())
    return ctypes.CDLL(str(copy))


def _built() -> Path:
    def make(folder: Path) -> None:
        (folder / "interface.h").write_text(c_header(interface.TILTROTOR))
        sources = [FIRMWARE / "hal" / f"{name}.c" for name in ("hal", "lines", "discovery")]
        flags = ["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
        places = [f"-I{place}" for place in (FIRMWARE / "hal", FIRMWARE / "kernel", folder)]
        given = ["-include", str(HERE / "registers.h"), str(HERE / "registers.c"), *map(str, sources)]
        run(["cc", *flags, *places, *given, "-o", str(folder / "discovery.so")])

    own = [(HERE / name).read_bytes() for name in ("registers.c", "registers.h")]
    return kept("registers", [*firmware_sources(), *own, c_header(interface.TILTROTOR).encode()], make)


def pll(board: Board, source_hz: float) -> tuple[float, float, float, float]:
    """What goes into the PLL's comparison, its oscillator, and the two clocks that come out (RM0090, 7.3.2)."""
    word = board.get(RCC, RCC_PLLCFGR)
    m, n, p, q = word & 0x3F, word >> 6 & 0x1FF, 2 * ((word >> 16 & 3) + 1), word >> 24 & 0xF
    return source_hz / m, source_hz / m * n, source_hz / m * n / p, source_hz / m * n / q


def apb1_hz(board: Board, core_hz: float) -> float:
    return core_hz / APB_DIVIDERS[board.get(RCC, RCC_CFGR) >> 10 & 7]


def pin_field(board: Board, port: int, offset: int, pin: int, bits: int) -> int:
    return board.get(port, offset) >> bits * pin & ((1 << bits) - 1)


def test_the_crystal_gives_168_mhz_within_what_the_pll_allows(board: Board) -> None:
    compared_hz, oscillator_hz, core_hz, usb_hz = pll(board, HSE_HZ)
    assert 0.95e6 <= compared_hz <= 2.1e6
    assert 100e6 <= oscillator_hz <= 432e6
    assert (core_hz, usb_hz) == (168e6, 48e6)
    assert board.get(RCC, RCC_PLLCFGR) >> 22 & 1 == 1  # from the crystal
    assert board.get(RCC, RCC_PLLCFGR) >> 28 == 2  # reserved bits as after a reset
    assert board.get(RCC, RCC_CFGR) & 3 == 2  # the core runs from the PLL
    assert apb1_hz(board, core_hz) == 42e6
    assert core_hz / APB_DIVIDERS[board.get(RCC, RCC_CFGR) >> 13 & 7] == 84e6
    assert board.get(FLASH, 0) & 7 == 5  # wait states at 168 MHz and 3.3 V
    assert (board.clock, board.ticks_per_us) == (CRYSTAL, 84)


def test_without_the_crystal_the_inner_oscillator_gives_the_same_clock(library: ctypes.CDLL) -> None:
    board = Board(library, crystal=False)
    assert pll(board, HSI_HZ)[2] == 168e6
    assert board.get(RCC, RCC_PLLCFGR) >> 22 & 1 == 0
    assert (board.clock, board.ticks_per_us) == (INTERNAL, 84)
    assert red_led(board)


def test_without_the_pll_the_board_runs_on_slowly_and_keeps_time(library: ctypes.CDLL) -> None:
    board = Board(library, pll=False)
    assert (board.clock, board.ticks_per_us) == (SLOW, 16)
    assert red_led(board)
    board.tick_start(PERIOD_US, None)
    assert tick_us(board, HSI_HZ) == PERIOD_US
    board.open(BOARD)
    assert board.get(USART2, USART_BRR) == round(HSI_HZ / BAUD)


def red_led(board: Board) -> bool:
    return pin_field(board, GPIOD, GPIO_MODER, 14, 2) == 1 and board.get(GPIOD, GPIO_BSRR) == 1 << 14


def test_no_led_when_all_is_well(board: Board) -> None:
    assert not red_led(board)


@pytest.mark.parametrize(
    ("line", "usart", "irq", "port", "pins", "clock_bit", "port_bit"),
    [(BOARD, USART2, IRQ_USART2, GPIOA, (2, 3), 17, 0), (REFERENCE, USART3, IRQ_USART3, GPIOD, (8, 9), 18, 3)],
)
def test_a_line_runs_at_its_baud_rate_on_its_pins(
    board: Board, line: int, usart: int, irq: int, port: int, pins: tuple[int, int], clock_bit: int, port_bit: int
) -> None:
    board.open(line)
    baud = 42e6 / board.get(usart, USART_BRR)
    assert abs(baud / BAUD - 1) < 0.02
    assert abs(baud / BAUD - 1) == min(abs(42e6 / divisor / BAUD - 1) for divisor in range(16, 100))
    assert board.get(usart, USART_CR1) == 1 << 13 | 1 << 3 | 1 << 2 | 1 << 5  # UE, TE, RE, RXNEIE; 8N1
    assert board.get(RCC, RCC_APB1ENR) >> clock_bit & 1
    assert board.get(RCC, RCC_AHB1ENR) >> port_bit & 1
    for pin in pins:
        alternate = pin_field(board, port, GPIO_AFRL if pin < 8 else GPIO_AFRH, pin % 8, 4)
        assert (pin_field(board, port, GPIO_MODER, pin, 2), alternate) == (2, 7)
    assert board.enabled(irq)


def tick_us(board: Board, timer_hz: float) -> float:
    counts = (board.get(TIM3, TIM_PSC) + 1) * (board.get(TIM3, TIM_ARR) + 1)
    assert board.get(TIM3, TIM_ARR) < 1 << 16
    return counts / timer_hz * 1e6


def test_the_timers_count_what_they_should(board: Board) -> None:
    board.tick_start(PERIOD_US, None)
    assert tick_us(board, 84e6) == PERIOD_US
    assert board.get(TIM3, TIM_DIER) == 1
    assert (board.get(TIM2, TIM_PSC), board.get(TIM2, TIM_ARR)) == (0, 0xFFFF_FFFF)
    assert board.get(RCC, RCC_APB1ENR) & 0b11 == 0b11


def test_time_goes_on_over_the_counters_wrap(board: Board) -> None:
    now_ns = board.now_ns
    now_ns.restype = ctypes.c_uint64  # type: ignore[attr-defined]
    counts = (84, 0xFFFF_FFFF, 83, 84_000_083)
    total, times = 0, []
    for count in counts:
        board.set(TIM2, 0x24, count)
        total += (count - total) % (1 << 32)
        times.append(now_ns())
        assert times[-1] == total * 1000 // 84
    assert times == sorted(times)


def test_the_watchdog_waits_as_long_as_it_should(board: Board) -> None:
    timeout_us = 4 * PERIOD_US
    board.watchdog_start(timeout_us)
    divider = 4 << board.get(IWDG, 0x04)
    assert board.get(IWDG, 0x08) / (FASTEST_LSI_HZ / divider) * 1e6 == timeout_us  # never sooner
    board.watchdog_start(3_000_000)
    assert board.get(IWDG, 0x08) == 0xFFF
    board.set(IWDG, 0x00, 0)
    board.watchdog_kick()
    assert board.get(IWDG, 0x00) == 0xAAAA


@pytest.mark.parametrize(
    ("flags", "cause"),
    [
        (1 << 27 | 1 << 26, ResetCause.POWER_ON),
        (1 << 29 | 1 << 26, ResetCause.WATCHDOG),
        (1 << 28 | 1 << 26, ResetCause.COMMANDED),
        (1 << 26, ResetCause.COMMANDED),
    ],
)
def test_the_flags_say_why_it_started(library: ctypes.CDLL, flags: int, cause: ResetCause) -> None:
    board = Board(library, reset_flags=flags)
    assert board.cause == cause
    assert board.get(RCC, RCC_CSR) >> 24 & 1  # and are cleared for the next start


def test_devices_come_before_tasks_and_tasks_in_their_order(board: Board) -> None:
    board.open(BOARD)
    board.open(REFERENCE)
    board.tick_start(PERIOD_US, None)
    board.clear(NVIC_ISER)
    devices = [IRQ_TIM3, IRQ_USART2, IRQ_USART3]
    tasks = []
    for slot in range(14):
        board.task_enable(slot, slot + 1)
        enabled = board.only_bit(NVIC_ISER)
        board.task_pend(slot)
        assert board.only_bit(NVIC_ISPR) == enabled
        tasks.append(enabled)
    levels = [board.level(irq) for irq in tasks]
    assert len({*tasks, *devices}) == 14 + 3
    assert levels == sorted(set(levels))
    assert all(level & 0x0F == 0 for level in levels)  # the part has the upper four bits alone
    assert 0 < max(board.level(irq) for irq in devices) < levels[0]


def test_bytes_are_kept_and_the_end_of_a_frame_is_told(board: Board) -> None:
    board.open(BOARD)
    for byte in b"\x7eab\x7e":
        board.receive(byte)
    assert board.times_received == 2
    assert board.read() == b"\x7eab\x7e"
    assert board.read() == b""


def test_a_garbled_byte_is_counted_and_a_lost_one_too(board: Board) -> None:
    board.open(BOARD)
    board.receive(0x41, RXNE | FE)
    assert (board.read(), board.line_dropped(BOARD)) == (b"", 1)
    board.receive(0x42, RXNE | ORE)
    assert (board.read(), board.line_dropped(BOARD)) == (b"B", 2)
    board.receive(0x43, ORE)
    assert (board.read(), board.line_dropped(BOARD)) == (b"", 3)


def test_a_ring_that_is_full_drops_what_comes_and_was_told_in_time(board: Board) -> None:
    board.open(BOARD)
    for index in range(RING_B + 3):
        board.receive(index % 100)
    assert board.times_received == 1  # when it was half full
    assert board.line_dropped(BOARD) == 3
    assert board.read() == bytes(index % 100 for index in range(RING_B))


def test_a_frame_goes_out_whole_or_not_at_all(board: Board) -> None:
    board.open(BOARD)
    assert board.write(bytes(1000))
    assert board.system(NVIC_ISPR + 4 * (IRQ_USART2 // 32)) >> IRQ_USART2 % 32 & 1
    assert not board.write(bytes(100))
    assert board.write(b"x" * 24)
    board.set(USART2, USART_SR, 0)
    board.line_board_irq()
    assert board.get(USART2, USART_CR1) & TXEIE  # the line is busy: it asks again
    board.set(USART2, USART_SR, TXE)
    board.line_board_irq()
    assert chr(board.get(USART2, USART_DR)) == "x"
    assert not board.get(USART2, USART_CR1) & TXEIE
    assert board.write(bytes(RING_B))
