/* The two serial lines: USART2 is the board link, USART3 the reference link. */
#include "hal.h"
#include "irq.h"
#include "target.h"

#define RING_SIZE 1024u /* a power of two: counters run freely and are masked */
#define GARBLED (USART_SR_PE | USART_SR_FE | USART_SR_NF)

typedef struct {
    volatile uint8_t bytes[RING_SIZE];
    volatile uint32_t head; /* of the one that writes */
    volatile uint32_t tail; /* of the one that reads */
} ring_t;

static struct {
    ring_t in, out;
    volatile uint32_t dropped;
    uint8_t end;
    void (*received)(void);
} lines[HAL_LINE_COUNT];

static const uint8_t irqs[HAL_LINE_COUNT] = {[HAL_LINE_BOARD] = IRQ_USART2, [HAL_LINE_REFERENCE] = IRQ_USART3};

static volatile usart_block_t *usart(unsigned line) { return line == HAL_LINE_BOARD ? USART2 : USART3; }

static uint32_t filled(const ring_t *ring) { return ring->head - ring->tail; }

void hal_line_open(unsigned line, uint32_t baud, uint8_t end, void (*received)(void))
{
    lines[line].end = end;
    lines[line].received = received;
    RCC->APB1ENR |= line == HAL_LINE_BOARD ? RCC_APB1ENR_USART2 : RCC_APB1ENR_USART3;
    target_connect_pins(line);
    /* RM0090, 30.3.4: with 16-fold oversampling the register is the divisor in sixteenths, 16 f / (16 baud). */
    usart(line)->BRR = (target_clocks.usart_hz + baud / 2u) / baud;
    usart(line)->CR3 = USART_CR3_EIE;
    irq_enable(irqs[line], LEVEL_DEVICES);
    usart(line)->CR1 = USART_CR1_UE | USART_CR1_TE | USART_CR1_RE | USART_CR1_RXNEIE;
}

size_t hal_line_read(unsigned line, uint8_t *bytes, size_t room)
{
    ring_t *ring = &lines[line].in;
    size_t count = 0;
    while (count < room && ring->tail != ring->head) {
        bytes[count++] = ring->bytes[ring->tail % RING_SIZE];
        ring->tail++;
    }
    return count;
}

bool hal_line_write(unsigned line, const uint8_t *bytes, size_t count)
{
    ring_t *ring = &lines[line].out;
    uint32_t state = hal_lock(); /* tasks of different priority share the line */
    bool fits = count <= RING_SIZE - filled(ring);
    if (fits) {
        for (size_t i = 0; i < count; i++)
            ring->bytes[(ring->head + i) % RING_SIZE] = bytes[i];
        ring->head += (uint32_t)count;
        usart(line)->CR1 |= USART_CR1_TXEIE;
        /* Not every QEMU raises TXE interrupts: pend the first one here. */
        irq_pend(irqs[line]);
    }
    hal_unlock(state);
    return fits;
}

uint32_t hal_line_dropped(unsigned line) { return lines[line].dropped; }

static void take(unsigned line, uint8_t byte)
{
    ring_t *ring = &lines[line].in;
    if (filled(ring) == RING_SIZE) {
        lines[line].dropped++;
        return;
    }
    ring->bytes[ring->head % RING_SIZE] = byte;
    ring->head++;
    if (byte == lines[line].end || filled(ring) == RING_SIZE / 2u)
        lines[line].received();
}

static void serve(unsigned line)
{
    ring_t *out = &lines[line].out;
    uint32_t status = usart(line)->SR;
    if (status & (USART_SR_RXNE | USART_SR_ORE | GARBLED)) {
        uint8_t byte = (uint8_t)usart(line)->DR; /* reading it after the status clears the error flags */
        bool garbled = (status & GARBLED) != 0;
        if (status & USART_SR_ORE)
            lines[line].dropped++; /* the following byte is lost, this one is valid */
        if (garbled)
            lines[line].dropped++;
        else if (status & USART_SR_RXNE)
            take(line, byte);
    }
    while (out->tail != out->head && (usart(line)->SR & USART_SR_TXE)) {
        usart(line)->DR = out->bytes[out->tail % RING_SIZE];
        out->tail++;
    }
    if (out->tail == out->head)
        usart(line)->CR1 &= ~USART_CR1_TXEIE;
}

void hal_line_board_irq(void) { serve(HAL_LINE_BOARD); }

void hal_line_reference_irq(void) { serve(HAL_LINE_REFERENCE); }
