#include "numbers.h"

#include <inttypes.h>
#include <stdio.h>

const char *numbers_count(char ret[NUMBERS_MAX], uint64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n), at = 0;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			ret[at++] = ',';
		ret[at++] = digits[i];
	}
	ret[at] = '\0';
	return ret;
}

const char *numbers_mean(char ret[NUMBERS_MAX], double value)
{
	double size = value < 0 ? -value : value;
	char digits[NUMBERS_MAX];

	if (size >= 1000 && size < 1e15)
		snprintf(ret, NUMBERS_MAX, "%s%s", value < 0 ? "-" : "",
			 numbers_count(digits, (uint64_t)(size + 0.5)));
	else
		snprintf(ret, NUMBERS_MAX, "%.4g", value);
	return ret;
}

const char *numbers_bytes(char ret[NUMBERS_MAX], uint64_t bytes)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB" };
	double value = (double)bytes;
	unsigned unit = 0;

	while (value >= 1000 && unit < 5) {
		value /= 1000;
		unit++;
	}
	snprintf(ret, NUMBERS_MAX, unit && value < 100 ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return ret;
}
