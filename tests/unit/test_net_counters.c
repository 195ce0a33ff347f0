#include "net_counters.h"

#include <string.h>

#include "check.h"
#include "cpu_weight.h"
#include "ethtool_stats.h"
#include "fake_root.h"
#include "kthread_wait.h"
#include "rec_netdev.h"
#include "rec_netqueue.h"

TEST(queues_by_the_names_of_their_interrupts)
{
	static const struct {
		const char *name, *iface;
		bool owned;
		int queue;
	} cases[] = {
		{ "eth0-Tx-Rx-5", "eth0", true, 5 },
		{ "eth0-Tx-Rx-5", "eth0", false, 5 },
		{ "eth0-Tx-Rx-5", "eth1", false, -1 },
		{ "i40e-eth0-TxRx-31", "eth0", true, 31 },
		{ "ice-ens801f0np0-TxRx-14", "ens801f0np0", false, 14 },
		{ "mlx5_comp7@pci:0000:01:00.0", "eth0", true, 7 },
		{ "mlx5_async0@pci:0000:01:00.0", "eth0", true, -1 },
		{ "virtio2-output.0", "eth0", true, 0 },
		{ "virtio2-input.0", "eth0", true, -1 },
		{ "virtio2-config", "eth0", true, -1 },
		{ "ena-mgmnt@pci:0000:00:05.0", "eth0", true, -1 },
		{ "eth0-rx-1", "eth0", true, -1 },
		{ "eth0-tx-1", "eth0", true, 1 },
		{ "mana_q3@pci:7870:00:00.0", "eth0", true, 3 },
		{ "eth0", "eth0", false, 0 },
		{ "eth01-Tx-Rx-5", "eth0", false, -1 },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned queue = 99;
		bool found =
			net_queue_of_irq(cases[i].name, cases[i].iface, cases[i].owned, &queue);
		if (found != (cases[i].queue >= 0) || (found && (int)queue != cases[i].queue))
			fail_msg("%s", cases[i].name);
	}
}

static void put_host(struct fake_root *fake)
{
	fake_root_put(fake, "sys/class/net/eth0/device/msi_irqs/71", "msix\n");
	fake_root_put(fake, "sys/class/net/eth0/device/msi_irqs/70", "msix\n");
	fake_root_put(fake, "sys/class/net/eth0/carrier_changes", "2\n");
	fake_root_put(fake, "sys/class/net/eth0/queues/tx-0/tx_timeout", "0\n");
	fake_root_put(fake, "sys/class/net/eth0/queues/tx-1/tx_timeout", "3\n");
	fake_root_put(fake, "sys/class/net/veth1/carrier_changes", "1\n");
	fake_root_put(
		fake, "proc/interrupts",
		"           CPU0       CPU1\n"
		" 70:          5          0  PCI-MSIX-0000:00:05.0   0-edge      eth0-Tx-Rx-0\n"
		" 71:          0          9  PCI-MSIX-0000:00:05.0   1-edge      eth0-Tx-Rx-1\n");
	fake_root_put(fake, "proc/irq/70/effective_affinity_list", "0\n");
	fake_root_put(fake, "proc/irq/71/effective_affinity_list", "1\n");
	fake_root_put(fake, "sys/kernel/irq/71/per_cpu_count", "0,9\n");
	fake_root_put(
		fake, "proc/net/dev",
		"Inter-|   Receive                                                |  Transmit\n"
		" face |bytes    packets errs drop fifo frame compressed multicast|bytes    "
		"packets "
		"errs drop fifo colls carrier compressed\n"
		"  eth0: 100 10 1 2 0 0 0 0 200 20 3 4 0 0 0 0\n");
}

struct changes {
	unsigned n;
	enum net_change_kind kinds[8];
	uint64_t now[8];
};

static void note_change(void *arg, const struct net_change *c)
{
	struct changes *all = arg;
	all->kinds[all->n] = c->kind;
	all->now[all->n++ % 8] = c->now;
}

TEST(queues_their_interrupts_and_what_changes)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	AUTO_TICK struct tick t = { 0 };
	AUTO_BUF struct buf text = { 0 };
	struct net_counters n;
	struct changes changes = { 0 };
	put_host(&fake);
	CHECK_EQ(net_counters_open(&n, &fake.root, NULL), 0);
	CHECK_EQ(net_counters_read(&n, &text, &t), 0);
	CHECK_EQ(t.rows[REC_NETQUEUE].len, 2);
	const struct rec_netqueue *q = TICK_ROW(&t, REC_NETQUEUE, rec_netqueue, 1);
	CHECK_EQ(q->queue, 1);
	CHECK_EQ(q->irq, 71);
	CHECK_EQ(q->effective_cpu, 1);
	CHECK_EQ(q->irq_count, 9);
	CHECK_EQ(q->tx_timeout, 3);
	CHECK_EQ(t.rows[REC_NETDEV].len, 1);
	const struct rec_netdev *d = TICK_ROW(&t, REC_NETDEV, rec_netdev, 0);
	CHECK_EQ(d->tx_bytes, 200);
	CHECK_EQ(d->tx_timeout, 3);
	CHECK_EQ(d->carrier_changes, 2);
	net_counters_changes(&n, note_change, &changes);
	CHECK_EQ(changes.n, 0);
	fake_root_put(&fake, "sys/class/net/eth0/queues/tx-1/tx_timeout", "4\n");
	fake_root_put(&fake, "proc/irq/71/effective_affinity_list", "0\n");
	fake_root_put(&fake, "sys/class/net/eth0/carrier_changes", "0\n"); /* fell: a reset */
	tick_clear(&t);
	CHECK_EQ(net_counters_read(&n, &text, &t), 0);
	net_counters_changes(&n, note_change, &changes);
	CHECK_EQ(changes.n, 2);
	CHECK_EQ(changes.kinds[0], NET_CHANGE_TX_TIMEOUT);
	CHECK_EQ(changes.now[0], 4);
	CHECK_EQ(changes.kinds[1], NET_CHANGE_AFFINITY);
	net_counters_close(&n);
}

TEST(statistics_that_tell_of_trouble)
{
	CHECK(ethtool_stat_matters("total_resets"));
	CHECK(ethtool_stat_matters("bw_in_allowance_exceeded"));
	CHECK(ethtool_stat_matters("queue_5_tx_missed_tx"));
	CHECK(!ethtool_stat_matters("queue_5_tx_bytes"));
}

static void note_starved(void *arg, const struct kthread *k)
{
	(void)k;
	++*(unsigned *)arg;
}

TEST(a_thread_that_waits_a_second_without_running_is_starved)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	AUTO_BUF struct buf text = { 0 };
	struct kthread_wait k;
	unsigned starved = 0;

	fake_root_put(&fake, "proc/2/task/2/children", "17 18 ");
	fake_root_put(&fake, "proc/17/comm", "ksoftirqd/0\n");
	fake_root_put(&fake, "proc/17/schedstat", "100 1000 5\n");
	fake_root_put(&fake, "proc/18/comm", "kcompactd0\n");
	fake_root_put(&fake, "proc/18/schedstat", "100 1000 5\n");
	CHECK_EQ(kthread_wait_open(&k, &fake.root, NULL), 0);
	CHECK_EQ(k.list.len, 2);
	CHECK(k.list.items[0]->matters && !k.list.items[1]->matters);
	for (unsigned i = 0; i < KTHREAD_TURNS; i++)
		kthread_wait_read(&k, &text, 1000000000, note_starved, &starved);
	CHECK_EQ(starved, 0);
	/* many short waits that add up are no starvation */
	fake_root_put(&fake, "proc/17/schedstat", "200 3000001000 105\n");
	kthread_wait_read(&k, &text, 1000000000, note_starved, &starved);
	CHECK_EQ(starved, 0);
	/* one long one is, told once */
	fake_root_put(&fake, "proc/17/schedstat", "300 4500001000 106\n");
	kthread_wait_read(&k, &text, 1000000000, note_starved, &starved);
	CHECK_EQ(starved, 1);
	CHECK_EQ(k.list.items[0]->starved_ns, 1500000000);
	kthread_wait_read(&k, &text, 1000000000, note_starved, &starved);
	CHECK_EQ(starved, 1);
	/* any other thread, within its turn */
	fake_root_put(&fake, "proc/18/schedstat", "300 2000001000 6\n");
	for (unsigned i = 0; i < KTHREAD_TURNS; i++)
		kthread_wait_read(&k, &text, 1000000000, note_starved, &starved);
	CHECK_EQ(starved, 2);
	/* threads come and go */
	fake_root_put(&fake, "proc/2/task/2/children", "17 19 ");
	fake_root_put(&fake, "proc/19/comm", "kworker/0:1\n");
	fake_root_put(&fake, "proc/19/schedstat", "1 1 1\n");
	CHECK_EQ(kthread_wait_search(&k, NULL), 0);
	CHECK_EQ(k.list.len, 2);
	CHECK_EQ(k.list.items[0]->pid, 17);
	CHECK_EQ(k.list.items[1]->pid, 19);
	kthread_wait_close(&k);
}

TEST(kernel_threads_are_kthreadds_children)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	struct kthread_wait k;

	fake_root_put(&fake, "proc/13/comm", "ksoftirqd/0\n");
	fake_root_put(&fake, "proc/13/stat", "13 (ksoftirqd/0) R 2 0 0\n");
	fake_root_put(&fake, "proc/14/comm", "ksoftirqd/1\n"); /* only called so */
	fake_root_put(&fake, "proc/14/stat", "14 (ksoftirqd/1) R 1 0 0\n");
	CHECK_EQ(kthread_wait_open(&k, &fake.root, NULL), 0);
	CHECK_EQ(k.list.len, 1);
	CHECK_EQ(k.list.items[0]->pid, 13);
	kthread_wait_close(&k);
}

TEST(pods_against_system_services)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	struct cpu_weight w;
	CHECK(!cpu_weight_read(&fake.root, &w));
	fake_root_put(&fake, "sys/fs/cgroup/kubepods.slice/cpu.weight", "2500\n");
	fake_root_put(&fake, "sys/fs/cgroup/system.slice/cpu.weight", "100\n");
	CHECK(cpu_weight_read(&fake.root, &w));
	CHECK_NEAR(w.ratio, 25.0, 0.01);
}

TEST_MAIN
