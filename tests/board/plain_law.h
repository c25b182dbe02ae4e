/* The interface of a generated law, for one written by hand. */
#ifndef LAW_H
#define LAW_H

#define LAW_MEMORY 1

void law_run(const float *sensors, const float *reference, const float *memory, float *command, float *memory_next);

#endif
