#include "port.h"

int main(void)
{
    port_run();
}
