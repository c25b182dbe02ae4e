# The application on this machine, with sanitizers, speaking step packets on standard input and output.
#
#   make -f firmware/host/host.mk BUILD=... GENERATED=...
#
# GENERATED holds the generated files (law.c, law.h, config.h, interface.h, image.h).

FIRMWARE := $(patsubst %/host/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))
BUILD ?= $(FIRMWARE)/build/host
GENERATED ?= $(FIRMWARE)/build/generated
HOST_CC ?= gcc

HOST_WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wdouble-promotion -Werror
HOST_FLAGS := -std=c11 -D_POSIX_C_SOURCE=200809L -O1 -g -ffp-contract=off -fno-omit-frame-pointer \
	-fsanitize=address,undefined -fno-sanitize-recover=all
HOST_INCLUDES := $(addprefix -I,$(GENERATED) $(addprefix $(FIRMWARE)/,app hal kernel port host))
HOST_SOURCES := $(wildcard $(FIRMWARE)/app/*.c) \
	$(addprefix $(FIRMWARE)/,kernel/kernel.c port/lockstep.c port/packet.c host/hal.c host/main.c)
HOST_OBJECTS := $(patsubst $(FIRMWARE)/%.c,$(BUILD)/%.o,$(HOST_SOURCES)) $(BUILD)/law.o

.PHONY: host
host: $(BUILD)/board

$(BUILD)/board: $(HOST_OBJECTS)
	$(HOST_CC) $(HOST_FLAGS) $^ -lm -o $@

$(BUILD)/%.o: $(FIRMWARE)/%.c $(wildcard $(FIRMWARE)/*/*.h $(GENERATED)/*.h)
	@mkdir -p $(@D)
	$(HOST_CC) $(HOST_FLAGS) $(HOST_WARNINGS) $(HOST_INCLUDES) -c $< -o $@

# Not our writing: CasADi's C is warned about where it is generated.
$(BUILD)/law.o: $(GENERATED)/law.c $(wildcard $(GENERATED)/*.h)
	@mkdir -p $(@D)
	$(HOST_CC) $(HOST_FLAGS) $(HOST_INCLUDES) -c $< -o $@

# The frame parser alone, for fuzzing: once with sanitizers, once counting which of its lines and branches ran.
PARSER := $(addprefix $(FIRMWARE)/,app/framing.c host/parser.c)

.PHONY: parser
parser: $(BUILD)/parser $(BUILD)/parser-coverage

$(BUILD)/parser: HOW := $(HOST_FLAGS)
$(BUILD)/parser-coverage: HOW := -std=c11 -O0 --coverage
$(BUILD)/parser $(BUILD)/parser-coverage: $(PARSER) $(wildcard $(FIRMWARE)/*/*.h $(GENERATED)/*.h)
	@mkdir -p $(@D)
	cd $(BUILD) && $(HOST_CC) $(HOW) $(HOST_WARNINGS) $(HOST_INCLUDES) $(PARSER) -o $@
