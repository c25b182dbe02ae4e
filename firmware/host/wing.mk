# The fixed wing's application on this machine, speaking step packets on standard input and output.
#
#   make -f firmware/host/wing.mk BUILD=... GENERATED=... [SCHEDULER=cooperative]     with sanitizers, for tests
#   make -f firmware/host/wing.mk BUILD=... GENERATED=... wing.host                   what rung sil flies
#
# GENERATED holds the generated files of `python -m aeroloop.families.fixedwing.images`.

FIRMWARE := $(patsubst %/host/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))
BUILD ?= $(FIRMWARE)/build/wing-host
GENERATED ?= $(FIRMWARE)/build/wing-generated
SCHEDULER ?= preemptive
HOST_CC ?= gcc

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wdouble-promotion -Werror
FLAGS := -std=c11 -D_POSIX_C_SOURCE=200809L -O1 -g -ffp-contract=off -fno-omit-frame-pointer \
	-fsanitize=address,undefined -fno-sanitize-recover=all -MMD -MP
SIL_FLAGS := -std=c11 -D_POSIX_C_SOURCE=200809L -O2 -ffp-contract=off
INCLUDES := $(addprefix -I,$(GENERATED) $(addprefix $(FIRMWARE)/,app hal kernel port host wing))
WING := $(filter-out $(FIRMWARE)/wing/host_%.c $(FIRMWARE)/wing/scheduler_%.c,$(wildcard $(FIRMWARE)/wing/*.c))
COMMON := $(WING) $(addprefix $(FIRMWARE)/,app/framing.c app/events.c kernel/kernel.c port/budget.c port/packet.c \
	host/hal.c host/main.c)
SOURCES := $(COMMON) $(FIRMWARE)/wing/scheduler_$(SCHEDULER).c
OBJECTS := $(patsubst $(FIRMWARE)/%.c,$(BUILD)/%.o,$(SOURCES)) \
	$(patsubst $(GENERATED)/%.c,$(BUILD)/generated/%.o,$(wildcard $(GENERATED)/*.c))

$(BUILD)/board: $(OBJECTS)
	$(HOST_CC) $(FLAGS) $^ -lm -o $@

# STAT is left out: what this machine takes says nothing of the board's processor. One call of the compiler, since it is
# built once and kept.
SIL := $(filter-out %/wing/stat.c,$(COMMON)) $(FIRMWARE)/host/no_statistics.c
.PHONY: wing.host wing-cooperative.host
wing.host wing-cooperative.host: %: $(BUILD)/%
$(BUILD)/wing.host: $(SIL) $(FIRMWARE)/wing/scheduler_preemptive.c
$(BUILD)/wing-cooperative.host: $(SIL) $(FIRMWARE)/wing/scheduler_cooperative.c
$(BUILD)/wing.host $(BUILD)/wing-cooperative.host:
	@mkdir -p $(@D)
	$(HOST_CC) $(SIL_FLAGS) $(INCLUDES) $^ $(wildcard $(GENERATED)/*.c) -lm -o $@

$(BUILD)/%.o: $(FIRMWARE)/%.c
	@mkdir -p $(@D)
	$(HOST_CC) $(FLAGS) $(WARNINGS) $(INCLUDES) -c $< -o $@

# Not our writing: what is generated is warned about where it is generated.
$(BUILD)/generated/%.o: $(GENERATED)/%.c
	@mkdir -p $(@D)
	$(HOST_CC) $(FLAGS) $(INCLUDES) -c $< -o $@

-include $(OBJECTS:.o=.d)
