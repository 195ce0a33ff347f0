#include "kallsyms.h"

#include <errno.h>
#include <string.h>

#include "auto.h"
#include "text.h"

enum {
	KALLSYMS_CAP = 64 << 20,
	KALLSYMS_MAX_MODULES = 4096,
	KALLSYMS_MAX_FUNCTION = 1 << 18, /* where nothing follows, a name does not reach further */
};

static const char kernel_itself[] = "[kernel.kallsyms]";

static uint32_t module_of(struct kallsyms *k, const char *name, size_t len)
{
	/* a module's symbols stand together: the last one first */
	for (size_t i = k->modules.len; i-- > 0;)
		if (strlen(k->modules.items[i]) == len &&
		    memcmp(k->modules.items[i], name, len) == 0)
			return (uint32_t)i;
	if (k->modules.len >= KALLSYMS_MAX_MODULES)
		return 0;
	char *copy = strndup(name, len);
	if (!copy || !vec_push(&k->modules, copy)) {
		free(copy);
		return 0;
	}
	return (uint32_t)k->modules.len - 1;
}

/* "ffffffff81000000 T name\t[module]" */
static void parse_line(struct kallsyms *k, const char *line, size_t len, bool *saw_address)
{
	const char *p = line, *end = line + len;
	uint64_t address;

	if (text_take_hex(&p, &address) < 0 || end - p < 4 || *p != ' ')
		return;
	char type = p[1];
	const char *name = p + 3, *name_end = name;
	while (name_end < end && *name_end != '\t' && *name_end != ' ')
		name_end++;
	if (address)
		*saw_address = true;
	/* code only; absolute symbols (A) are per-cpu offsets */
	if (!address || !strchr("tTwW", type))
		return;
	uint32_t group = 0;
	const char *open = memchr(name_end, '[', (size_t)(end - name_end));
	const char *close = open ? memchr(open, ']', (size_t)(end - open)) : NULL;
	if (close)
		group = module_of(k, open, (size_t)(close + 1 - open));
	symtab_add(&k->table, address, 0, name, (size_t)(name_end - name),
		   type == 'T' || type == 'W', group);
}

int kallsyms_parse(const char *text, struct kallsyms *ret, struct err *err)
{
	struct kallsyms k = { 0 };
	bool saw_address = false;

	module_of(&k, kernel_itself, strlen(kernel_itself));
	for (const char *line = text; line; line = text_next_line(line))
		parse_line(&k, line, text_line_len(line), &saw_address);
	if (!k.table.entries.len) {
		kallsyms_free(&k);
		if (!saw_address && *text)
			return err_set(
				err, -EACCES,
				"/proc/kallsyms: addresses are hidden (kernel.kptr_restrict, "
				"or CAP_SYSLOG is missing)");
		return err_set(err, -ENODATA, "/proc/kallsyms: no symbols");
	}
	symtab_finish(&k.table);
	symtab_fill_sizes(&k.table, KALLSYMS_MAX_FUNCTION);
	*ret = k;
	return 0;
}

int kallsyms_read(const struct root *root, struct kallsyms *ret, struct err *err)
{
	AUTO_BUF struct buf text = { 0 };
	int r = root_read(root, "proc/kallsyms", KALLSYMS_CAP, &text, err);
	return r < 0 ? r : kallsyms_parse(buf_str(&text), ret, err);
}

int kallsyms_open(const struct root *root, struct kallsyms *ret, struct err *err)
{
	struct kallsyms k = { 0 };

	if (!root->live || ksym_ask_open(&k.ask, NULL) < 0)
		return kallsyms_read(root, ret, err);
	module_of(&k, kernel_itself, strlen(kernel_itself));
	*ret = k;
	return 0;
}

static void add(struct kallsyms *k, uint64_t start, uint32_t len, const char *name,
		const char *module)
{
	const struct symtab_entry *have = symtab_find(&k->table, start);

	if (have && have->start == start && strcmp(symtab_name(&k->table, have), name) == 0)
		return;
	if (!symtab_add(&k->table, start, len, name, strlen(name), 2,
			module_of(k, module, strlen(module))))
		return;
	/* few: move the new entry to its place */
	size_t last = k->table.entries.len - 1, at = symtab_behind(&k->table, last, start);
	struct symtab_entry entry = k->table.entries.items[last];
	memmove(&k->table.entries.items[at + 1], &k->table.entries.items[at],
		(last - at) * sizeof(entry));
	k->table.entries.items[at] = entry;
	if (at > 0 && k->table.entries.items[at - 1].start == start)
		k->table.entries.items[at - 1].size = 0;
}

void kallsyms_add(struct kallsyms *k, uint64_t start, uint32_t len, const char *name, bool bpf)
{
	add(k, start, len, name, bpf ? "[bpf]" : kernel_itself);
}

/* Ask the kernel and remember the whole function. */
static void ask(struct kallsyms *k, uint64_t address)
{
	struct ksym sym;

	if (ksym_ask(k->ask, address, &sym) < 0 || sym.offset >= sym.size || sym.offset > address)
		return;
	add(k, address - sym.offset, (uint32_t)MIN_OF(sym.size, (uint64_t)KALLSYMS_MAX_FUNCTION),
	    sym.name, sym.module[0] ? sym.module : kernel_itself);
}

const char *kallsyms_find(struct kallsyms *k, uint64_t address, uint64_t *ret_start,
			  const char **ret_module)
{
	const struct symtab_entry *e = symtab_find(&k->table, address);

	if (!e && k->ask) {
		ask(k, address);
		e = symtab_find(&k->table, address);
	}
	if (!e)
		return NULL;
	*ret_start = e->start;
	*ret_module = k->modules.items[e->group];
	return symtab_name(&k->table, e);
}

void kallsyms_free(struct kallsyms *k)
{
	symtab_free(&k->table);
	ksym_ask_close(k->ask);
	k->ask = NULL;
	vec_foreach (&k->modules, module)
		free(*module);
	vec_free(&k->modules);
}
