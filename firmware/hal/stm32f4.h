/* The registers of the STM32F405/407 that this firmware uses, after ST's reference manual RM0090 and Arm's
 * ARMv7-M Architecture Reference Manual. The two bases may be moved: a test maps the registers onto memory.
 */
#ifndef STM32F4_H
#define STM32F4_H

#include <stdint.h>

#ifndef PERIPHERAL_BASE
#define PERIPHERAL_BASE 0x40000000u
#endif
#ifndef SYSTEM_BASE
#define SYSTEM_BASE 0xE000E000u
#endif

#define AT(type, base, offset) ((volatile type *)((uintptr_t)(base) + (offset)))

/* RM0090, 18.4: general-purpose timers. TIM2 counts 32 bits, TIM3 16. */
typedef struct {
    uint32_t CR1, CR2, SMCR, DIER, SR, EGR, CCMR1, CCMR2, CCER, CNT, PSC, ARR;
} timer_block_t;

#define TIM2 AT(timer_block_t, PERIPHERAL_BASE, 0x0000u)
#define TIM3 AT(timer_block_t, PERIPHERAL_BASE, 0x0400u)
#define TIM_CR1_CEN (1u << 0)
#define TIM_CR1_URS (1u << 2)
#define TIM_DIER_UIE (1u << 0)
#define TIM_EGR_UG (1u << 0)

/* RM0090, 30.6: USART. */
typedef struct {
    uint32_t SR, DR, BRR, CR1, CR2, CR3, GTPR;
} usart_block_t;

#define USART2 AT(usart_block_t, PERIPHERAL_BASE, 0x4400u)
#define USART3 AT(usart_block_t, PERIPHERAL_BASE, 0x4800u)
#define USART_SR_PE (1u << 0)
#define USART_SR_FE (1u << 1)
#define USART_SR_NF (1u << 2)
#define USART_SR_ORE (1u << 3)
#define USART_SR_RXNE (1u << 5)
#define USART_SR_TXE (1u << 7)
#define USART_CR1_RE (1u << 2)
#define USART_CR1_TE (1u << 3)
#define USART_CR1_RXNEIE (1u << 5)
#define USART_CR1_TXEIE (1u << 7)
#define USART_CR1_UE (1u << 13)
#define USART_CR3_EIE (1u << 0)

/* RM0090, 21.4: independent watchdog, on its own 32 kHz oscillator. */
typedef struct {
    uint32_t KR, PR, RLR, SR;
} iwdg_block_t;

#define IWDG AT(iwdg_block_t, PERIPHERAL_BASE, 0x3000u)
#define IWDG_KR_UNLOCK 0x5555u
#define IWDG_KR_RELOAD 0xAAAAu
#define IWDG_KR_START 0xCCCCu
#define IWDG_RLR_MOST 0xFFFu

/* RM0090, 5.4: power control. */
typedef struct {
    uint32_t CR, CSR;
} pwr_block_t;

#define PWR AT(pwr_block_t, PERIPHERAL_BASE, 0x7000u)
#define PWR_CR_VOS (1u << 14)

/* RM0090, 8.4: pins. */
typedef struct {
    uint32_t MODER, OTYPER, OSPEEDR, PUPDR, IDR, ODR, BSRR, LCKR, AFR[2];
} gpio_block_t;

#define GPIOA AT(gpio_block_t, PERIPHERAL_BASE, 0x20000u)
#define GPIOD AT(gpio_block_t, PERIPHERAL_BASE, 0x20C00u)

/* RM0090, 7.3: reset and clock control. */
typedef struct {
    uint32_t CR, PLLCFGR, CFGR, CIR, AHB1RSTR, AHB2RSTR, AHB3RSTR, RESERVED_1C, APB1RSTR, APB2RSTR, RESERVED_28[2],
        AHB1ENR, AHB2ENR, AHB3ENR, RESERVED_3C, APB1ENR, APB2ENR, RESERVED_48[2], AHB1LPENR, AHB2LPENR, AHB3LPENR,
        RESERVED_5C, APB1LPENR, APB2LPENR, RESERVED_68[2], BDCR, CSR;
} rcc_block_t;

#define RCC AT(rcc_block_t, PERIPHERAL_BASE, 0x23800u)
#define RCC_CR_HSEON (1u << 16)
#define RCC_CR_HSERDY (1u << 17)
#define RCC_CR_PLLON (1u << 24)
#define RCC_CR_PLLRDY (1u << 25)
#define RCC_PLLCFGR_FIELDS 0x0F437FFFu /* the bits between them keep their reset values */
#define RCC_PLLCFGR_SRC_HSE (1u << 22)
#define RCC_CFGR_SW (3u << 0)
#define RCC_CFGR_SW_PLL (2u << 0)
#define RCC_CFGR_SWS (3u << 2)
#define RCC_CFGR_SWS_PLL (2u << 2)
#define RCC_CFGR_HPRE (15u << 4)
#define RCC_CFGR_PPRE1 (7u << 10)
#define RCC_CFGR_PPRE1_BY_4 (5u << 10)
#define RCC_CFGR_PPRE2 (7u << 13)
#define RCC_CFGR_PPRE2_BY_2 (4u << 13)
#define RCC_AHB1ENR_GPIOA (1u << 0)
#define RCC_AHB1ENR_GPIOD (1u << 3)
#define RCC_APB1ENR_TIM2 (1u << 0)
#define RCC_APB1ENR_TIM3 (1u << 1)
#define RCC_APB1ENR_USART2 (1u << 17)
#define RCC_APB1ENR_USART3 (1u << 18)
#define RCC_APB1ENR_PWR (1u << 28)
#define RCC_CSR_RMVF (1u << 24)
#define RCC_CSR_PORRST (1u << 27)
#define RCC_CSR_SFTRST (1u << 28)
#define RCC_CSR_IWDGRST (1u << 29)

/* RM0090, 3.9: flash interface. */
typedef struct {
    uint32_t ACR;
} flash_block_t;

#define FLASH AT(flash_block_t, PERIPHERAL_BASE, 0x23C00u)
#define FLASH_ACR_LATENCY (7u << 0)
#define FLASH_ACR_PREFETCH (1u << 8)
#define FLASH_ACR_INSTRUCTION_CACHE (1u << 9)
#define FLASH_ACR_DATA_CACHE (1u << 10)

/* ARMv7-M, B3: system control space. */
typedef struct {
    uint32_t CSR, RVR, CVR;
} systick_block_t;

#define SYSTICK AT(systick_block_t, SYSTEM_BASE, 0x010u)
#define SYSTICK_CSR_ENABLE (1u << 0)
#define SYSTICK_CSR_TICKINT (1u << 1)
#define SYSTICK_CSR_CORE_CLOCK (1u << 2)
#define NVIC_ISER AT(uint32_t, SYSTEM_BASE, 0x100u)
#define NVIC_ISPR AT(uint32_t, SYSTEM_BASE, 0x200u)
#define NVIC_IPR AT(uint8_t, SYSTEM_BASE, 0x400u)
#define SCB_SHPR_SYSTICK (*AT(uint8_t, SYSTEM_BASE, 0xD23u))
#define SCB_AIRCR (*AT(uint32_t, SYSTEM_BASE, 0xD0Cu))
#define SCB_CPACR (*AT(uint32_t, SYSTEM_BASE, 0xD88u))
#define FPU_FPCCR (*AT(uint32_t, SYSTEM_BASE, 0xF34u))
#define FPU_FPDSCR (*AT(uint32_t, SYSTEM_BASE, 0xF3Cu))
#define SCB_AIRCR_KEY (0x05FAu << 16)
#define SCB_AIRCR_SYSRESETREQ (1u << 2)
#define SCB_CPACR_FPU (15u << 20)
#define FPU_FPCCR_ASPEN (1u << 31)
#define FPU_FPCCR_LSPEN (1u << 30)

/* RM0090, 12.2: places in the vector table. */
enum { IRQ_TIM2 = 28, IRQ_TIM3 = 29, IRQ_USART2 = 38, IRQ_USART3 = 39, IRQ_COUNT = 82 };

/* The part implements the upper four bits of a priority; a smaller number is more urgent. */
#define PRIORITY_BITS(level) ((uint8_t)((level) << 4))
enum { LEVEL_WATCHDOG = 0, LEVEL_DEVICES = 1, LEVEL_TASKS = 2, LEVEL_COUNT = 16 };

/* Task slots on interrupts of devices that no board of ours uses: CAN, I2C and TIM8. */
#define TASK_SLOTS(X)                                                                                              \
    X(0, 19) X(1, 20) X(2, 21) X(3, 22) X(4, 63) X(5, 64) X(6, 65) X(7, 66) X(8, 31) X(9, 32) X(10, 33) X(11, 34)  \
    X(12, 72) X(13, 73) X(14, 45) X(15, 46)

#endif
