# The fixed wing's application on this machine, with sanitizers, speaking step packets on standard input and output.
#
#   make -f firmware/host/wing.mk BUILD=... GENERATED=... [SCHEDULER=cooperative]
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
INCLUDES := $(addprefix -I,$(GENERATED) $(addprefix $(FIRMWARE)/,app hal kernel port host wing))
WING := $(filter-out $(FIRMWARE)/wing/host_%.c $(FIRMWARE)/wing/scheduler_%.c,$(wildcard $(FIRMWARE)/wing/*.c))
SOURCES := $(WING) $(addprefix $(FIRMWARE)/,wing/scheduler_$(SCHEDULER).c app/framing.c app/events.c kernel/kernel.c \
	port/budget.c port/packet.c host/hal.c host/main.c)
OBJECTS := $(patsubst $(FIRMWARE)/%.c,$(BUILD)/%.o,$(SOURCES)) \
	$(patsubst $(GENERATED)/%.c,$(BUILD)/generated/%.o,$(wildcard $(GENERATED)/*.c))

$(BUILD)/board: $(OBJECTS)
	$(HOST_CC) $(FLAGS) $^ -lm -o $@

$(BUILD)/%.o: $(FIRMWARE)/%.c
	@mkdir -p $(@D)
	$(HOST_CC) $(FLAGS) $(WARNINGS) $(INCLUDES) -c $< -o $@

# Not our writing: what is generated is warned about where it is generated.
$(BUILD)/generated/%.o: $(GENERATED)/%.c
	@mkdir -p $(@D)
	$(HOST_CC) $(FLAGS) $(INCLUDES) -c $< -o $@

-include $(OBJECTS:.o=.d)
