/* parser LONGEST_DATA < stream: the frame parser alone, for fuzzing.
 *
 * Writes each good frame's data, encoded again, and at the end the counters, ten u32.
 */
#include <stdio.h>
#include <stdlib.h>

#include "framing.h"

static counters_t counters;
static deframer_t deframer;

static void take(uint8_t byte)
{
    size_t size = deframer_take(&deframer, byte, &counters);
    if (size == 0)
        return;
    uint8_t frame[LONGEST_FRAME];
    size_t count = frame_encode(deframer.data, size, frame);
    counters.frames_out++;
    counters.bytes_out += (uint32_t)count;
    fwrite(frame, 1, count, stdout);
}

int main(int argc, char **argv)
{
    static uint8_t chunk[65536];
    deframer_init(&deframer, argc > 1 ? strtoul(argv[1], NULL, 10) : LONGEST_DATA);
    size_t count;
    while ((count = fread(chunk, 1, sizeof chunk, stdin)) > 0)
        for (size_t i = 0; i < count; i++)
            take(chunk[i]);
    fwrite(&counters, sizeof counters, 1, stdout);
    return 0;
}
