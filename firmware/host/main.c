/* board [NS_A_LOOK [RESET_CAUSE [NS_A_PIECE]]]: the application on this machine; step packets on standard streams.
 *
 * A piece takes as long as a look unless it is said. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "host.h"
#include "lockstep_io.h"
#include "port.h"

size_t lockstep_read(uint8_t *bytes, size_t room)
{
    ssize_t count;
    do
        count = read(STDIN_FILENO, bytes, room);
    while (count < 0 && errno == EINTR);
    if (count <= 0)
        exit(count < 0);
    return (size_t)count;
}

bool lockstep_write(const uint8_t *bytes, size_t count)
{
    /* A record is shorter than what a pipe takes in one piece. */
    return write(STDOUT_FILENO, bytes, count) == (ssize_t)count;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        host_ticks_a_look = host_ticks_a_piece = (uint32_t)strtoul(argv[1], NULL, 10);
    if (argc > 2)
        host_reset_cause = (uint8_t)strtoul(argv[2], NULL, 10);
    if (argc > 3)
        host_ticks_a_piece = (uint32_t)strtoul(argv[3], NULL, 10);
    port_run();
}
