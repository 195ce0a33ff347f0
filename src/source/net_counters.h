/* Network devices and their queues, once a second: Tx timeouts per queue, carrier changes, the
 * interrupt of each queue and the core it goes to at this second, and the driver's own statistics
 * (ethtool). Resets show here even when the kernel prints them only once per boot. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "root.h"
#include "tick.h"
#include "vec.h"

enum {
	NET_COUNTERS_MOST_DEVICES = 64,
	NET_COUNTERS_MOST_QUEUES = 1024, /* of all devices */
	NET_COUNTERS_MOST_STATS = 65536,
};

/* A driver statistic that tells of trouble. */
struct net_stat {
	char name[32];
	uint64_t value;
	uint64_t before; /* at the reading before; net_counters_changes compares */
	size_t index;    /* among the driver's statistics */
	bool known;
};

struct net_queue {
	unsigned queue;
	bool have_irq;
	uint64_t irq;
	bool have_cpu, have_timeouts;
	uint64_t cpu, cpu_before, timeouts, timeouts_before;
	struct reread timeout_file, affinity_file, count_file;
	char timeout_path[96], affinity_path[64], count_path[64];
};

struct net_device {
	char name[16];
	bool have_carrier_changes;
	uint64_t carrier_changes, carrier_changes_before;
	struct reread carrier_changes_file;
	char carrier_changes_path[64];
	VEC(struct net_queue *) queues;
	VEC(struct net_stat) stats;
	size_t n_driver_stats;
	uint64_t *values; /* ETHTOOL_GSTATS, in its own layout */
};

struct net_counters {
	const struct root *root;
	int socket; /* -1 = no ethtool statistics */
	struct reread net_dev;
	VEC(struct net_device *) devices;
	bool primed; /* there is a reading before */
};

enum net_change_kind {
	NET_CHANGE_TX_TIMEOUT, /* queue */
	NET_CHANGE_CARRIER,
	NET_CHANGE_STAT,     /* stat */
	NET_CHANGE_AFFINITY, /* queue: its interrupt moved to another core */
};

struct net_change {
	enum net_change_kind kind;
	const struct net_device *device;
	const struct net_queue *queue;
	const struct net_stat *stat;
	uint64_t before, now;
};

/* Find devices, queues and interrupts; call again after net_counters_close from time to time. */
int net_counters_open(struct net_counters *n, const struct root *root, struct err *err);
/* Adds REC_NETDEV and REC_NETQUEUE rows. A device that is gone gives none. */
int net_counters_read(struct net_counters *n, struct buf *text, struct tick *ret);
/* What grew or moved between the last two readings. A counter that fell was reset: no change. */
void net_counters_changes(const struct net_counters *n,
			  void (*each)(void *arg, const struct net_change *change), void *arg);
void net_counters_close(struct net_counters *n);

/* Which Tx queue an interrupt's name stands for: "eth0-Tx-Rx-5", "i40e-eth0-TxRx-3",
 * "mlx5_comp7@pci:0000:01:00.0", "virtio2-output.0". False when it is none (receive only, admin,
 * config). owned: the interrupt is in the device's msi_irqs, else the name must hold the
 * interface. Pure. */
bool net_queue_of_irq(const char *irq_name, const char *iface, bool owned, unsigned *ret_queue);
/* The text of /proc/net/dev into REC_NETDEV rows, one per device. Pure. */
int net_dev_parse(const char *text, struct tick *ret, struct err *err);
