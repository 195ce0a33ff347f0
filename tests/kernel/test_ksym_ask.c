/* The kernel's answers, one address at a time, against its own list of all symbols. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "ksym_ask.h"

enum { EVERY = 97, SKIPPED = 77 };

struct line {
	unsigned long long address;
	char type, name[512];
};

static bool next_line(FILE *f, struct line *ret)
{
	char text[1024];

	while (fgets(text, sizeof(text), f))
		if (sscanf(text, "%llx %c %511s", &ret->address, &ret->type, ret->name) == 3)
			return true;
	return false;
}

int main(void)
{
	struct ksym_ask *ask;
	struct err err = { 0 };
	struct line line;
	struct ksym sym;
	unsigned asked = 0, same = 0, at = 0;
	FILE *f = fopen("/proc/kallsyms", "re");

	if (ksym_ask_open(&ask, &err) < 0) {
		printf("skipped: %s\n", err.text);
		return SKIPPED;
	}
	while (f && next_line(f, &line)) {
		if (!strchr("tT", line.type) || !line.address || ++at % EVERY)
			continue;
		int r = ksym_ask(ask, line.address, &sym);
		asked++;
		/* of several names for one place either may be told */
		same += r == 0 && sym.offset == 0 && strcmp(sym.name, line.name) == 0;
		if (r < 0 && r != -ENOENT) {
			printf("%s: %s\n", line.name, strerror(-r));
			return 1;
		}
	}
	if (f)
		fclose(f);
	if (!asked) {
		printf("skipped: /proc/kallsyms shows no addresses\n");
		return SKIPPED;
	}
	printf("%u of %u symbols have the same name\n", same, asked);
	int r = ksym_ask(ask, 0x1000, &sym);
	ksym_ask_close(ask);
	return same >= asked * 95 / 100 && r == -ENOENT ? 0 : 1;
}
