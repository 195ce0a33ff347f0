/* Numbers as people read them. */
#pragma once

#include <stdint.h>

enum { NUMBERS_MAX = 32 };

const char *numbers_count(char ret[NUMBERS_MAX], uint64_t n);     /* 68,680 */
const char *numbers_mean(char ret[NUMBERS_MAX], double value);    /* -11,070 · 75.52 · 0.0667 */
const char *numbers_bytes(char ret[NUMBERS_MAX], uint64_t bytes); /* 1.5 GB, decimal */
