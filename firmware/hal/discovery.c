/* The STM32F4-Discovery: an 8 MHz crystal, a PLL to 168 MHz, USART2 on PA2/PA3 and USART3 on PD8/PD9. */
#include "hal.h"
#include "interface.h"
#include "irq.h"
#include "target.h"

#define HSE_HZ 8000000u
#define HSI_HZ 16000000u
#define PLL_INPUT_HZ 1000000u
#define PLL_N 336u /* 336 MHz */
#define PLL_P 2u   /* 168 MHz for the core */
#define PLL_Q 7u   /* 48 MHz, which nothing uses yet */
#define CORE_HZ (PLL_INPUT_HZ * PLL_N / PLL_P)
#define APB1_DIVIDER 4u
#define FLASH_WAITS 5u /* RM0090, 3.5.1: 168 MHz at 2.7 to 3.6 V */

/* Several times what the data sheet gives crystal and PLL, counted in loops of a core at 16 MHz. */
#define MOST_LOOKS 200000u

#define FASTEST_LSI_HZ 47000u /* data sheet: 17 to 47 kHz, 32 as a rule */
#define IWDG_DIVIDER 4u
#define RED_LED 14u

static bool comes(const volatile uint32_t *word, uint32_t mask, uint32_t value)
{
    for (uint32_t look = 0; look < MOST_LOOKS; look++) {
        if ((*word & mask) == value)
            return true;
    }
    return false;
}

static bool start_pll(uint32_t source, uint32_t source_hz)
{
    RCC->CR &= ~RCC_CR_PLLON;
    RCC->PLLCFGR = (RCC->PLLCFGR & ~RCC_PLLCFGR_FIELDS) | source_hz / PLL_INPUT_HZ | PLL_N << 6 |
                   (PLL_P / 2u - 1u) << 16 | source | PLL_Q << 24;
    RCC->CR |= RCC_CR_PLLON;
    return comes(&RCC->CR, RCC_CR_PLLRDY, RCC_CR_PLLRDY);
}

static bool run_from_pll(void)
{
    FLASH->ACR = FLASH_WAITS | FLASH_ACR_PREFETCH | FLASH_ACR_INSTRUCTION_CACHE | FLASH_ACR_DATA_CACHE;
    if (!comes(&FLASH->ACR, FLASH_ACR_LATENCY, FLASH_WAITS))
        return false;
    RCC->CFGR = (RCC->CFGR & ~(RCC_CFGR_HPRE | RCC_CFGR_PPRE1 | RCC_CFGR_PPRE2)) | RCC_CFGR_PPRE1_BY_4 |
                RCC_CFGR_PPRE2_BY_2;
    RCC->CFGR = (RCC->CFGR & ~RCC_CFGR_SW) | RCC_CFGR_SW_PLL;
    if (comes(&RCC->CFGR, RCC_CFGR_SWS, RCC_CFGR_SWS_PLL))
        return true;
    RCC->CFGR &= ~(RCC_CFGR_SW | RCC_CFGR_PPRE1 | RCC_CFGR_PPRE2);
    return false;
}

/* The red LED shows that the board does not run on its crystal. */
static void show_fall_back(void)
{
    RCC->AHB1ENR |= RCC_AHB1ENR_GPIOD;
    GPIOD->MODER = (GPIOD->MODER & ~(3u << 2 * RED_LED)) | 1u << 2 * RED_LED;
    GPIOD->BSRR = 1u << RED_LED;
}

target_clocks_t target_start_clocks(void)
{
    RCC->APB1ENR |= RCC_APB1ENR_PWR;
    PWR->CR |= PWR_CR_VOS; /* full core voltage, or 168 MHz is too fast */
    RCC->CR |= RCC_CR_HSEON;
    bool crystal = comes(&RCC->CR, RCC_CR_HSERDY, RCC_CR_HSERDY);
    bool pll = crystal ? start_pll(RCC_PLLCFGR_SRC_HSE, HSE_HZ) : start_pll(0, HSI_HZ);
    bool fast = pll && run_from_pll();
    if (!crystal || !fast)
        show_fall_back();
    if (!fast) /* the core stays on what it started with */
        return (target_clocks_t){.clock = HAL_CLOCK_SLOW, .timer_hz = HSI_HZ, .usart_hz = HSI_HZ};
    return (target_clocks_t){
        .clock = crystal ? HAL_CLOCK_CRYSTAL : HAL_CLOCK_INTERNAL,
        .timer_hz = 2u * CORE_HZ / APB1_DIVIDER, /* RM0090, 7.2: twice the bus clock where the bus is divided */
        .usart_hz = CORE_HZ / APB1_DIVIDER,
    };
}

static void connect(volatile gpio_block_t *port, unsigned pin)
{
    port->AFR[pin / 8u] = (port->AFR[pin / 8u] & ~(15u << 4 * (pin % 8u))) | 7u << 4 * (pin % 8u);
    port->PUPDR = (port->PUPDR & ~(3u << 2 * pin)) | 1u << 2 * pin; /* pull-up: an open line is idle */
    port->OSPEEDR = (port->OSPEEDR & ~(3u << 2 * pin)) | 2u << 2 * pin;
    port->MODER = (port->MODER & ~(3u << 2 * pin)) | 2u << 2 * pin;
}

void target_connect_pins(unsigned line)
{
    bool board = line == HAL_LINE_BOARD;
    RCC->AHB1ENR |= board ? RCC_AHB1ENR_GPIOA : RCC_AHB1ENR_GPIOD;
    connect(board ? GPIOA : GPIOD, board ? 2u : 8u);
    connect(board ? GPIOA : GPIOD, board ? 3u : 9u);
}

/* The flags show a watchdog reset; a software reset may be a request or follow a fault, which only hal_reset
   records. The button and a debugger count as commanded. */
uint8_t target_reset_cause(int remembered)
{
    uint32_t flags = RCC->CSR;
    RCC->CSR |= RCC_CSR_RMVF;
    if (flags & RCC_CSR_IWDGRST)
        return RESET_CAUSE_WATCHDOG;
    if (flags & RCC_CSR_PORRST)
        return RESET_CAUSE_POWER_ON;
    return (flags & RCC_CSR_SFTRST) && remembered >= 0 ? (uint8_t)remembered : RESET_CAUSE_COMMANDED;
}

void target_tick_start(uint32_t period_us)
{
    RCC->APB1ENR |= RCC_APB1ENR_TIM3;
    TIM3->CR1 = TIM_CR1_URS; /* or the update below would count as the first tick */
    TIM3->PSC = hal_ticks_per_us - 1u;
    TIM3->ARR = period_us - 1u;
    TIM3->EGR = TIM_EGR_UG;
    TIM3->SR = 0;
    TIM3->DIER = TIM_DIER_UIE;
    TIM3->CR1 = TIM_CR1_URS | TIM_CR1_CEN;
}

/* Never before its time, whatever the oscillator: a slow law is reported as an overrun, not as a hang. */
void target_watchdog_start(uint32_t timeout_us)
{
    uint32_t reload = (uint32_t)((uint64_t)timeout_us * (FASTEST_LSI_HZ / IWDG_DIVIDER) / 1000000u);
    IWDG->KR = IWDG_KR_START;
    IWDG->KR = IWDG_KR_UNLOCK;
    IWDG->PR = 0; /* by 4 */
    IWDG->RLR = reload < IWDG_RLR_MOST ? reload : IWDG_RLR_MOST;
    (void)comes(&IWDG->SR, 3u, 0u);
    IWDG->KR = IWDG_KR_RELOAD;
}

void target_watchdog_kick(void) { IWDG->KR = IWDG_KR_RELOAD; }
