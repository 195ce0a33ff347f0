#include "interrupts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "rec_irq.h"
#include "scan.h"
#include "vec.h"

struct interrupts_cell {
	uint64_t cpu, count;
};

struct interrupts_table {
	VEC(struct interrupts_cell) cells; /* of the present line; cpu from the head line */
};

enum { INTERRUPTS_MOST_CPUS = 65536 };

static int interrupts_head(const char *p, struct interrupts_table *table)
{
	for (p = scan_blanks(p); strncmp(p, "CPU", 3) == 0; p = scan_blanks(p)) {
		struct interrupts_cell cell = { 0 };
		if (!scan_is_digit(p[3]))
			return -EBADMSG;
		p = scan_u64(p + 3, &cell.cpu);
		if (table->cells.len >= INTERRUPTS_MOST_CPUS || !vec_push(&table->cells, cell))
			return -ENOMEM;
	}
	return table->cells.len ? 0 : -ENODATA;
}

/* "  34:" or " LOC:"; NULL when the line has no such label. */
static const char *interrupts_label(const char *p, uint64_t *ret)
{
	uint64_t id = 0;

	p = scan_blanks(p);
	if (scan_is_digit(*p)) {
		p = scan_u64(p, ret);
		return *p == ':' && *ret < REC_IRQ_NAMED ? p + 1 : NULL;
	}
	unsigned n = 0;
	for (; n < 4 && *p >= '0' && *p <= 'Z' && *p != ':'; n++, p++)
		id |= (uint64_t)(unsigned char)*p << (8 * n);
	if (!n || *p != ':')
		return NULL;
	*ret = REC_IRQ_NAMED | id;
	return p + 1;
}

/* What stands behind the counts: "PCI-MSI 65537-edge   eth0-Tx-Rx-0", or a description. Devices
 * come behind the trigger; everything before it is the chip's business. */
static const char *interrupts_name(const char *p, uint64_t irq, size_t *ret_len)
{
	size_t len = strcspn(p, "\n");

	if (irq < REC_IRQ_NAMED) {
		static const char *const triggers[] = { "-edge ", "-level ", "-fasteoi ", " Edge ",
							" Level " };
		for (size_t i = 0; i < ARRAY_LEN(triggers); i++) {
			const char *at = memmem(p, len, triggers[i], strlen(triggers[i]));
			if (!at)
				continue;
			const char *name = scan_blanks(at + strlen(triggers[i]));
			*ret_len = len - (size_t)(name - p);
			return name;
		}
	}
	*ret_len = len;
	return p;
}

static int interrupts_add(struct interrupts_table *table, uint64_t irq, const char *rest,
			  struct tick *t)
{
	size_t len;
	const char *text = interrupts_name(scan_blanks(rest), irq, &len);
	const char *name = NULL;

	vec_foreach (&table->cells, cell) {
		if (!cell->count)
			continue;
		if (!name)
			name = arena_strndup(&t->strings, text, MIN_OF(len, (size_t)64));
		struct rec_irq *row = name ? tick_add_row(t, REC_IRQ) : NULL;
		if (!row)
			return -ENOMEM;
		*row = (struct rec_irq){
			.irq = irq, .cpu = cell->cpu, .count = cell->count, .name = name
		};
		row->have = REC_IRQ_IRQ | REC_IRQ_CPU | REC_IRQ_COUNT | REC_IRQ_NAME;
	}
	return 0;
}

int interrupts_parse(const char *text, struct tick *ret, struct err *err)
{
	struct interrupts_table table = { 0 };
	int r = interrupts_head(text, &table);

	if (r < 0)
		err_set(err, r, "/proc/interrupts: no line of cores");
	for (const char *line = scan_line(text); r == 0 && *line; line = scan_line(line)) {
		uint64_t irq;
		const char *p = interrupts_label(line, &irq);
		size_t n = 0;
		for (; p && n < table.cells.len; n++)
			p = scan_next_u64(p, &table.cells.items[n].count);
		/* ERR and MIS have one number for all cores: no core took them */
		if (p && n == table.cells.len)
			r = interrupts_add(&table, irq, p, ret);
	}
	vec_free(&table.cells);
	return r;
}
