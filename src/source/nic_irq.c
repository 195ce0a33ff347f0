#include "nic_irq.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rec_irq.h"
#include "scan.h"
#include "text.h"

int nic_irq_parse(const char *text, uint64_t irq, struct tick *ret, struct err *err)
{
	const char *p = text;
	uint64_t count;

	if (!scan_is_digit(*p))
		return err_set(err, -ENODATA, "/sys/kernel/irq: no counts");
	for (uint64_t cpu = 0; scan_is_digit(*p); cpu++) {
		p = scan_u64(p, &count);
		if (*p == ',')
			p++;
		if (!count)
			continue;
		struct rec_irq *row = tick_add_row(ret, REC_IRQ);
		if (!row)
			return err_set(err, -ENOMEM, "out of memory");
		row->irq = irq;
		row->cpu = cpu;
		row->count = count;
		row->have = REC_IRQ_IRQ | REC_IRQ_CPU | REC_IRQ_COUNT;
	}
	return 0;
}

struct nic_irq_find {
	struct nic_irq *into;
	const struct root *root;
};

static bool nic_irq_known(const struct nic_irq *n, uint64_t irq)
{
	vec_foreach (&n->lines, it)
		if ((*it)->irq == irq)
			return true;
	return false;
}

static int nic_irq_add(void *arg, const char *name, unsigned char type)
{
	struct nic_irq_find *find = arg;
	uint64_t irq;

	(void)type;
	if (text_u64(name, &irq) < 0 || nic_irq_known(find->into, irq))
		return 0;
	if (find->into->lines.len >= NIC_IRQ_MOST)
		return 1;
	struct nic_irq_line *line = calloc(1, sizeof(*line));
	if (!line)
		return -ENOMEM;
	line->irq = irq;
	snprintf(line->path, sizeof(line->path), "sys/kernel/irq/%llu/per_cpu_count",
		 (unsigned long long)irq);
	if (reread_open(&line->file, find->root, line->path, NULL) < 0 ||
	    !vec_push(&find->into->lines, line)) {
		reread_close(&line->file);
		free(line);
	}
	return 0;
}

static int nic_irq_device(void *arg, const char *name, unsigned char type)
{
	struct nic_irq_find *find = arg;
	/* virtio devices hang below the PCI device that owns the interrupts */
	static const char *const places[] = { "sys/class/net/%s/device/msi_irqs",
					      "sys/class/net/%s/device/../msi_irqs" };
	char path[400];

	(void)type;
	for (unsigned i = 0; i < 2; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		if (snprintf(path, sizeof(path), places[i], name) >= (int)sizeof(path))
			continue;
#pragma GCC diagnostic pop
		int r = root_list(find->root, path, nic_irq_add, find, NULL);
		if (r >= 0)
			return r;
	}
	return 0;
}

int nic_irq_open(struct nic_irq *n, const struct root *root, struct err *err)
{
	struct nic_irq_find find = { n, root };

	int r = root_list(root, "sys/class/net", nic_irq_device, &find, err);
	if (r < 0)
		return r;
	return n->lines.len ? 0 : err_set(err, -ENODATA, "no network device with own interrupts");
}

int nic_irq_read(struct nic_irq *n, struct buf *text, struct tick *ret, struct err *err)
{
	int result = 0;

	/* a line that is gone (the interface was renewed) is found again by the next open */
	vec_foreach (&n->lines, it) {
		int r = reread_text(&(*it)->file, text, err);
		if (r == 0)
			r = nic_irq_parse(buf_str(text), (*it)->irq, ret, err);
		if (r == -ENOMEM)
			result = r;
	}
	return result;
}

void nic_irq_close(struct nic_irq *n)
{
	vec_foreach (&n->lines, it) {
		reread_close(&(*it)->file);
		free(*it);
	}
	vec_free(&n->lines);
}
