/* vmstat, meminfo, pressure, loadavg, softirqs, softnet, interrupts: text in, rows out. */
#include <errno.h>
#include <string.h>

#include "check.h"
#include "interrupts.h"
#include "loadavg.h"
#include "nic_irq.h"
#include "pressure.h"
#include "proc_meminfo.h"
#include "proc_vmstat.h"
#include "rec_irq.h"
#include "rec_load.h"
#include "rec_meminfo.h"
#include "rec_softirq.h"
#include "rec_softnet.h"
#include "rec_vmstat.h"
#include "softirqs.h"
#include "softnet.h"

TEST(vmstat_adds_up_zones)
{
	AUTO_TICK struct tick t = { 0 };

	CHECK_EQ(proc_vmstat_parse(
			 "nr_free_pages 7\nallocstall_dma 1\nallocstall_normal 2\n"
			 "allocstall_movable 3\npgscan_direct 44\npgscan_direct_throttle 9\n",
			 &t, NULL),
		 0);
	const struct rec_vmstat *v = TICK_ROW(&t, REC_VMSTAT, rec_vmstat, 0);
	CHECK_EQ(v->allocstall, 6);
	CHECK_EQ(v->pgscan_direct, 44);
	CHECK_EQ(v->have, REC_VMSTAT_ALLOCSTALL | REC_VMSTAT_PGSCAN_DIRECT);
	CHECK_EQ(proc_vmstat_parse("", &t, NULL), -ENODATA);
}

TEST(meminfo_is_in_bytes)
{
	AUTO_TICK struct tick t = { 0 };

	CHECK_EQ(proc_meminfo_parse("MemTotal:       100 kB\nPercpu:   7 kB\nCached: kB\n", &t,
				    NULL),
		 0);
	const struct rec_meminfo *m = TICK_ROW(&t, REC_MEMINFO, rec_meminfo, 0);
	CHECK_EQ(m->total, 102400);
	CHECK_EQ(m->percpu, 7168);
	CHECK(!(m->have & REC_MEMINFO_CACHED));
}

TEST(pressure_in_hundredths)
{
	AUTO_TICK struct tick t = { 0 };

	CHECK_EQ(pressure_parse("some avg10=15.08 avg60=1.5 avg300=0.00 total=61230411\n"
				"full avg10=0.91 avg60=0.82 avg300=0.54 total=11052422\n",
				PRESSURE_MEMORY, &t, NULL),
		 0);
	CHECK_EQ(pressure_parse("full avg10=0.01 avg60=0.00", PRESSURE_IRQ, &t, NULL), 0);
	const struct rec_pressure *p = TICK_ROW(&t, REC_PRESSURE, rec_pressure, 0);
	CHECK_EQ(p->resource, PRESSURE_MEMORY);
	CHECK_EQ(p->some_avg10, 1508);
	CHECK_EQ(p->some_avg60, 150);
	CHECK_EQ(p->full_total, 11052422);
	p = TICK_ROW(&t, REC_PRESSURE, rec_pressure, 1);
	CHECK_EQ(p->have,
		 REC_PRESSURE_RESOURCE | REC_PRESSURE_FULL_AVG10 | REC_PRESSURE_FULL_AVG60);
	CHECK_EQ(pressure_parse("none\n", PRESSURE_CPU, &t, NULL), -ENODATA);
}

TEST(loadavg_and_its_last_pid)
{
	AUTO_TICK struct tick t = { 0 };
	uint64_t last;

	CHECK_EQ(loadavg_parse("1.47 0.85 0.40 3/113 9180\n", &t, NULL), 0);
	const struct rec_load *l = TICK_ROW(&t, REC_LOAD, rec_load, 0);
	CHECK_EQ(l->load1_x100, 147);
	CHECK_EQ(l->load15_x100, 40);
	CHECK_EQ(l->tasks, 113);
	CHECK_EQ(loadavg_last_pid("1.47 0.85 0.40 3/113 9180\n", &last), 0);
	CHECK_EQ(last, 9180);
	CHECK_EQ(loadavg_last_pid("1.47 0.85 0.40", &last), -ENODATA);
	CHECK_EQ(loadavg_parse("1.47 x", &t, NULL), -ENODATA);
}

TEST(softirqs_by_core)
{
	AUTO_TICK struct tick t = { 0 };

	CHECK_EQ(softirqs_parse("                    CPU0       CPU2       \n"
				"          HI:          1          2\n"
				"      NET_RX:         30         40\n"
				"      STRANGE:         5          6\n"
				"         RCU:          7\n",
				&t, NULL),
		 0);
	CHECK_EQ(t.rows[REC_SOFTIRQ].len, 2);
	const struct rec_softirq *s = TICK_ROW(&t, REC_SOFTIRQ, rec_softirq, 1);
	CHECK_EQ(s->cpu, 2);
	CHECK_EQ(s->net_rx, 40);
	CHECK(!(s->have & REC_SOFTIRQ_RCU));
	CHECK_EQ(softirqs_parse("junk\n", &(struct tick){ 0 }, NULL), -ENODATA);
}

TEST(softnet_of_offline_hosts)
{
	AUTO_TICK struct tick t = { 0 };

	CHECK_EQ(softnet_parse("0000000d 00000001 00000002 0 0 0 0 0 0 00000003 00000004 00000005 "
			       "00000007 0 0\n",
			       &t, NULL),
		 0);
	const struct rec_softnet *s = TICK_ROW(&t, REC_SOFTNET, rec_softnet, 0);
	CHECK_EQ(s->cpu, 7);
	CHECK_EQ(s->processed, 13);
	CHECK_EQ(s->squeezed, 2);
	CHECK_EQ(s->backlog, 5);
	CHECK_EQ(softnet_parse("zz\n", &(struct tick){ 0 }, NULL), -ENODATA);
}

TEST(interrupts_of_devices_and_kernels)
{
	AUTO_TICK struct tick t = { 0 };

	CHECK_EQ(interrupts_parse(
			 "            CPU0       CPU1       \n"
			 "  34:          0         63  PCI-MSI 65537-edge      eth0-Tx-Rx-0\n"
			 " LOC:      70000      80000   Local timer interrupts\n"
			 " ERR:          5\n",
			 &t, NULL),
		 0);
	CHECK_EQ(t.rows[REC_IRQ].len, 3);
	const struct rec_irq *i = TICK_ROW(&t, REC_IRQ, rec_irq, 0);
	CHECK_EQ(i->irq, 34);
	CHECK_EQ(i->cpu, 1);
	CHECK_EQ(i->count, 63);
	CHECK_STR(i->name, "eth0-Tx-Rx-0");
	i = TICK_ROW(&t, REC_IRQ, rec_irq, 1);
	CHECK(i->irq == (REC_IRQ_NAMED | 'L' | 'O' << 8 | 'C' << 16));
	CHECK_STR(i->name, "Local timer interrupts");
}

TEST(counts_of_one_line)
{
	AUTO_TICK struct tick t = { 0 };

	CHECK_EQ(nic_irq_parse("0,16,0,2\n", 34, &t, NULL), 0);
	CHECK_EQ(t.rows[REC_IRQ].len, 2);
	CHECK_EQ(TICK_ROW(&t, REC_IRQ, rec_irq, 1)->cpu, 3);
	CHECK_EQ(nic_irq_parse("x", 34, &t, NULL), -ENODATA);
}

TEST_MAIN
