#include "net_counters.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "auto.h"
#include "ethtool_stats.h"
#include "rec_netdev.h"
#include "rec_netqueue.h"
#include "text.h"

/* The number at the end of a name, and where it begins; false when there is none. */
static bool net_trailing_number(const char *name, size_t len, unsigned *ret, size_t *ret_at)
{
	size_t at = len;
	unsigned value = 0;

	while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9')
		at--;
	if (at == len || len - at > 5)
		return false;
	for (size_t i = at; i < len; i++)
		value = value * 10 + (unsigned)(name[i] - '0');
	*ret = value;
	*ret_at = at;
	return true;
}

static bool net_names_iface(const char *name, const char *iface)
{
	size_t n = strlen(iface);

	for (const char *p = name; (p = strstr(p, iface)); p++) {
		bool left = p == name || p[-1] == '-' || p[-1] == ' ' || p[-1] == ':';
		if (left && (!p[n] || p[n] == '-' || p[n] == ':' || p[n] == '@'))
			return true;
	}
	return false;
}

bool net_queue_of_irq(const char *irq_name, const char *iface, bool owned, unsigned *ret_queue)
{
	size_t len = strcspn(irq_name, "@"), at;

	if (!owned && !net_names_iface(irq_name, iface))
		return false;
	/* receive only, or not about packets */
	static const char *const not_tx[] = { "-rx-",  "input",   "config", "mgmnt",
					      "async", "control", "misc",   "other",
					      "event", "cmd",     "pages",  "adminq" };
	for (size_t i = 0; i < ARRAY_LEN(not_tx); i++)
		if (strstr(irq_name, not_tx[i]) && !strcasestr(irq_name, "tx"))
			return false;
	if (strcmp(irq_name, iface) == 0) { /* one interrupt for everything */
		*ret_queue = 0;
		return true;
	}
	if (!net_trailing_number(irq_name, len, ret_queue, &at) || at == 0)
		return false;
	char before = irq_name[at - 1];
	bool comp = at >= 4 && memcmp(irq_name + at - 4, "comp", 4) == 0;
	bool q = before == 'q' || before == 'Q';
	return before == '-' || before == '.' || comp || q;
}

int net_dev_parse(const char *text, struct tick *ret, struct err *err)
{
	for (const char *line = text; line; line = text_next_line(line)) {
		const char *name = text_skip_blanks(line), *p = name;
		uint64_t v[16];
		unsigned n = 0;
		while (*p && *p != ':' && *p != '\n' && *p != '|' && *p != ' ')
			p++;
		if (*p != ':')
			continue;
		size_t len = (size_t)(p++ - name);
		for (; n < 16; n++) {
			p = text_skip_blanks(p);
			if (text_take_u64(&p, &v[n]) < 0)
				break;
		}
		if (n < 12)
			continue;
		struct rec_netdev *row = tick_add_row(ret, REC_NETDEV);
		if (!row || !(row->iface = arena_strndup(&ret->strings, name, len)))
			return err_set(err, -ENOMEM, "out of memory");
		row->rx_bytes = v[0], row->rx_packets = v[1], row->rx_errors = v[2];
		row->rx_dropped = v[3], row->tx_bytes = v[8], row->tx_packets = v[9];
		row->tx_errors = v[10], row->tx_dropped = v[11];
		row->have = REC_NETDEV_IFACE | REC_NETDEV_RX_PACKETS | REC_NETDEV_TX_PACKETS |
			    REC_NETDEV_RX_BYTES | REC_NETDEV_TX_BYTES | REC_NETDEV_RX_ERRORS |
			    REC_NETDEV_TX_ERRORS | REC_NETDEV_RX_DROPPED | REC_NETDEV_TX_DROPPED;
	}
	return 0;
}

struct net_find {
	struct net_counters *n;
	struct net_device *device;
	const char *interrupts; /* text of /proc/interrupts */
	size_t queues;          /* of all devices */
};

static int net_add_queue(void *arg, const char *name, unsigned char type)
{
	struct net_find *find = arg;
	uint64_t number;

	(void)type;
	if (!text_starts(name, "tx-") || text_u64(name + 3, &number) < 0 ||
	    find->queues++ >= NET_COUNTERS_MOST_QUEUES)
		return 0;
	struct net_queue *q = calloc(1, sizeof(*q));
	if (!q)
		return -ENOMEM;
	q->queue = (unsigned)number;
	q->affinity_file.fd = q->count_file.fd = q->timeout_file.fd = -1;
	snprintf(q->timeout_path, sizeof(q->timeout_path), "sys/class/net/%s/queues/%s/tx_timeout",
		 find->device->name, name);
	(void)reread_open(&q->timeout_file, find->n->root, q->timeout_path, NULL);
	if (!vec_push(&find->device->queues, q)) {
		reread_close(&q->timeout_file);
		free(q);
		return -ENOMEM;
	}
	return 0;
}

static void net_set_irq(struct net_find *find, unsigned queue, uint64_t irq)
{
	vec_foreach (&find->device->queues, it) {
		struct net_queue *q = *it;
		if (q->queue != queue || q->have_irq)
			continue;
		q->irq = irq;
		q->have_irq = true;
		snprintf(q->affinity_path, sizeof(q->affinity_path),
			 "proc/irq/%" PRIu64 "/effective_affinity_list", irq);
		snprintf(q->count_path, sizeof(q->count_path),
			 "sys/kernel/irq/%" PRIu64 "/per_cpu_count", irq);
		(void)reread_open(&q->affinity_file, find->n->root, q->affinity_path, NULL);
		(void)reread_open(&q->count_file, find->n->root, q->count_path, NULL);
	}
}

static bool net_owns_irq(struct net_find *find, uint64_t irq)
{
	char path[160];

	snprintf(path, sizeof(path), "sys/class/net/%s/device/msi_irqs/%" PRIu64,
		 find->device->name, irq);
	if (root_exists(find->n->root, path))
		return true;
	/* virtio hangs below the PCI device that has the interrupts */
	snprintf(path, sizeof(path), "sys/class/net/%s/device/../msi_irqs/%" PRIu64,
		 find->device->name, irq);
	return root_exists(find->n->root, path);
}

/* Lines of /proc/interrupts: " 39:  5148  0  PCI-MSIX-0000:00:03.0  2-edge  virtio2-output.0". */
static void net_find_irqs(struct net_find *find)
{
	for (const char *line = find->interrupts; line; line = text_next_line(line)) {
		const char *p = text_skip_blanks(line);
		size_t len = text_line_len(line);
		uint64_t irq;
		unsigned queue;
		char name[96];
		if (text_take_u64(&p, &irq) < 0 || *p != ':')
			continue;
		const char *end = line + len, *start = end;
		while (start > p && start[-1] != ' ')
			start--;
		text_copy_n(name, sizeof(name), start, (size_t)(end - start));
		if (net_queue_of_irq(name, find->device->name, net_owns_irq(find, irq), &queue))
			net_set_irq(find, queue, irq);
	}
}

static int net_add_device(void *arg, const char *name, unsigned char type)
{
	struct net_find *find = arg;
	char path[96];

	(void)type;
	snprintf(path, sizeof(path), "sys/class/net/%s/device", name);
	if (strlen(name) >= sizeof(find->device->name) || !root_exists(find->n->root, path) ||
	    find->n->devices.len >= NET_COUNTERS_MOST_DEVICES)
		return 0; /* bridges, veth pairs and tunnels have no queue of their own */
	struct net_device *d = calloc(1, sizeof(*d));
	if (!d || !vec_push(&find->n->devices, d)) {
		free(d);
		return -ENOMEM;
	}
	text_copy(d->name, sizeof(d->name), name);
	snprintf(d->carrier_changes_path, sizeof(d->carrier_changes_path),
		 "sys/class/net/%s/carrier_changes", name);
	(void)reread_open(&d->carrier_changes_file, find->n->root, d->carrier_changes_path, NULL);
	find->device = d;
	snprintf(path, sizeof(path), "sys/class/net/%s/queues", name);
	(void)root_list(find->n->root, path, net_add_queue, find, NULL);
	net_find_irqs(find);
	if (find->n->socket >= 0)
		ethtool_stats_open(find->n->socket, d);
	return 0;
}

int net_counters_open(struct net_counters *n, const struct root *root, struct err *err)
{
	AUTO_BUF struct buf interrupts = { 0 };
	struct net_find find = { .n = n };

	*n = (struct net_counters){ .root = root, .socket = -1, .net_dev = { .fd = -1 } };
	/* device ioctls work on any family; this one a hardened service may open */
	if (root->live)
		n->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	(void)reread_open(&n->net_dev, root, "proc/net/dev", NULL);
	(void)root_read(root, "proc/interrupts", ROOT_FILE_CAP, &interrupts, NULL);
	find.interrupts = buf_str(&interrupts);
	return root_list(root, "sys/class/net", net_add_device, &find, err);
}

static bool net_read_u64(struct reread *file, struct buf *text, uint64_t *ret)
{
	const char *p;

	if (file->fd < 0 || reread_text(file, text, NULL) < 0)
		return false;
	p = buf_str(text);
	return text_take_u64(&p, ret) == 0;
}

static int net_read_queue(struct net_device *d, struct net_queue *q, struct buf *text,
			  struct tick *ret)
{
	struct rec_netqueue *row = tick_add_row(ret, REC_NETQUEUE);
	uint64_t sum = 0, n;

	if (!row || !(row->iface = arena_strdup(&ret->strings, d->name)))
		return -ENOMEM;
	row->queue = q->queue;
	row->have = REC_NETQUEUE_IFACE | REC_NETQUEUE_QUEUE;
	q->timeouts_before = q->timeouts;
	q->cpu_before = q->cpu;
	q->have_timeouts = net_read_u64(&q->timeout_file, text, &q->timeouts);
	if (q->have_timeouts) {
		row->tx_timeout = q->timeouts;
		row->have |= REC_NETQUEUE_TX_TIMEOUT;
	}
	if (!q->have_irq)
		return 0;
	row->irq = q->irq;
	row->have |= REC_NETQUEUE_IRQ;
	q->have_cpu = net_read_u64(&q->affinity_file, text, &q->cpu);
	if (q->have_cpu) {
		row->effective_cpu = q->cpu;
		row->have |= REC_NETQUEUE_EFFECTIVE_CPU;
	}
	if (q->count_file.fd >= 0 && reread_text(&q->count_file, text, NULL) == 0) {
		for (const char *p = buf_str(text); text_take_u64(&p, &n) == 0; p += *p == ',')
			sum += n;
		row->irq_count = sum;
		row->have |= REC_NETQUEUE_IRQ_COUNT;
	}
	return 0;
}

static struct rec_netdev *net_row(struct tick *t, const char *name)
{
	for (size_t i = 0; i < t->rows[REC_NETDEV].len; i++) {
		struct rec_netdev *row = TICK_ROW(t, REC_NETDEV, rec_netdev, i);
		if (strcmp(row->iface, name) == 0)
			return row;
	}
	return NULL;
}

/* Total resets where the driver counts them; ENA without it takes the interface down per reset. */
static bool net_resets(const struct net_device *d, uint64_t *ret)
{
	static const char *const names[] = { "total_resets", "interface_down" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		vec_foreach (&d->stats, s)
			if (s->known && strcmp(s->name, names[i]) == 0) {
				*ret = s->value;
				return true;
			}
	return false;
}

static int net_read_device(struct net_counters *n, struct net_device *d, struct buf *text,
			   struct tick *ret)
{
	uint64_t timeouts = 0;
	bool have_timeouts = false;
	int r = 0;

	vec_foreach (&d->queues, it) {
		if (r == 0)
			r = net_read_queue(d, *it, text, ret);
		timeouts += (*it)->have_timeouts ? (*it)->timeouts : 0;
		have_timeouts |= (*it)->have_timeouts;
	}
	d->carrier_changes_before = d->carrier_changes;
	d->have_carrier_changes = net_read_u64(&d->carrier_changes_file, text, &d->carrier_changes);
	if (n->socket >= 0)
		ethtool_stats_read(n->socket, d);
	struct rec_netdev *row = net_row(ret, d->name);
	if (!row)
		return r;
	if (have_timeouts) {
		row->tx_timeout = timeouts;
		row->have |= REC_NETDEV_TX_TIMEOUT;
	}
	if (d->have_carrier_changes) {
		row->carrier_changes = d->carrier_changes;
		row->have |= REC_NETDEV_CARRIER_CHANGES;
	}
	if (net_resets(d, &row->resets))
		row->have |= REC_NETDEV_RESETS;
	return r;
}

/* Pods bring hundreds of virtual devices: only those with queues of their own are kept. */
static void net_drop_virtual(const struct net_counters *n, struct tick *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->rows[REC_NETDEV].len; i++) {
		const struct rec_netdev *row = TICK_ROW(t, REC_NETDEV, rec_netdev, i);
		bool known = false;
		vec_foreach (&n->devices, it)
			known |= strcmp((*it)->name, row->iface) == 0;
		if (known)
			*TICK_ROW(t, REC_NETDEV, rec_netdev, kept++) = *row;
	}
	t->rows[REC_NETDEV].len = kept;
}

int net_counters_read(struct net_counters *n, struct buf *text, struct tick *ret)
{
	int r = 0;
	bool was_empty = !n->primed;

	if (n->net_dev.fd >= 0 && reread_text(&n->net_dev, text, NULL) == 0)
		r = net_dev_parse(buf_str(text), ret, NULL);
	net_drop_virtual(n, ret);
	vec_foreach (&n->devices, it)
		if (r == 0)
			r = net_read_device(n, *it, text, ret);
	n->primed = true;
	if (was_empty) /* the first reading is what the others are compared with */
		vec_foreach (&n->devices, it) {
			(*it)->carrier_changes_before = (*it)->carrier_changes;
			vec_foreach (&(*it)->queues, q) {
				(*q)->timeouts_before = (*q)->timeouts;
				(*q)->cpu_before = (*q)->cpu;
			}
			vec_foreach (&(*it)->stats, s)
				s->before = s->value;
		}
	return r;
}

void net_counters_changes(const struct net_counters *n,
			  void (*each)(void *arg, const struct net_change *change), void *arg)
{
	vec_foreach (&n->devices, it) {
		const struct net_device *d = *it;
		struct net_change c = { .device = d };
		vec_foreach (&d->queues, q) {
			c.queue = *q;
			c.kind = NET_CHANGE_TX_TIMEOUT;
			c.before = (*q)->timeouts_before;
			c.now = (*q)->timeouts;
			if ((*q)->have_timeouts && c.now > c.before)
				each(arg, &c);
			c.kind = NET_CHANGE_AFFINITY;
			c.before = (*q)->cpu_before;
			c.now = (*q)->cpu;
			if ((*q)->have_cpu && c.now != c.before)
				each(arg, &c);
		}
		c.queue = NULL;
		c.kind = NET_CHANGE_CARRIER;
		c.before = d->carrier_changes_before;
		c.now = d->carrier_changes;
		if (d->have_carrier_changes && c.now > c.before)
			each(arg, &c);
		c.kind = NET_CHANGE_STAT;
		vec_foreach (&d->stats, s) {
			c.stat = s;
			c.before = s->before;
			c.now = s->value;
			if (s->known && c.now > c.before)
				each(arg, &c);
		}
	}
}

void net_counters_close(struct net_counters *n)
{
	vec_foreach (&n->devices, it) {
		struct net_device *d = *it;
		vec_foreach (&d->queues, q) {
			reread_close(&(*q)->timeout_file);
			reread_close(&(*q)->affinity_file);
			reread_close(&(*q)->count_file);
			free(*q);
		}
		reread_close(&d->carrier_changes_file);
		vec_free(&d->queues);
		vec_free(&d->stats);
		free(d->values);
		free(d);
	}
	vec_free(&n->devices);
	reread_close(&n->net_dev);
	if (n->socket >= 0)
		close(n->socket);
	n->socket = -1;
	n->primed = false;
}
