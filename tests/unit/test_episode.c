#include "episode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "check.h"
#include "timefmt.h"

#define T0 (UINT64_C(1794000000) * NS_PER_S)

struct seen {
	unsigned n;
	char ids[32][32];
	bool trusted[32], injected[32];
	enum event_severity severity[32];
	uint64_t count[32], start[32], end[32];
	char fields[32][2000]; /* "key=value\n" each */
	char text[32][300];
};

struct story {
	struct pattern_set *patterns;
	struct episodes *episodes;
	struct seen seen;
	uint64_t time_ns;
	bool untrusted, injected;
};

static void see(void *arg, const struct rec_event *e, uint64_t order)
{
	struct seen *s = arg;
	size_t n = 0;

	(void)order;
	if (s->n == 32)
		fail_msg("too many events");
	snprintf(s->ids[s->n], sizeof(s->ids[0]), "%s", e->id);
	snprintf(s->text[s->n], sizeof(s->text[0]), "%s", e->text);
	s->trusted[s->n] = e->trusted;
	s->injected[s->n] = e->injected;
	s->severity[s->n] = e->severity;
	s->count[s->n] = e->count;
	s->start[s->n] = e->time_ns;
	s->end[s->n] = e->end_ns;
	s->fields[s->n][0] = '\0';
	for (size_t i = 0; i < e->n_fields && n < sizeof(s->fields[0]); i++)
		n += (size_t)snprintf(s->fields[s->n] + n, sizeof(s->fields[0]) - n, "%s=%s\n",
				      e->fields[i].key, e->fields[i].value);
	s->n++;
}

static struct story *story_new(void)
{
	struct story *s = calloc(1, sizeof(*s));
	if (!s || pattern_set_new(NULL, NULL, &s->patterns, NULL) < 0)
		abort();
	s->episodes = episodes_new(see, &s->seen);
	s->time_ns = T0;
	return s;
}

static void story_free(struct story *s)
{
	episodes_free(s->episodes);
	pattern_set_free(s->patterns);
	free(s);
}

/* The next line, a millisecond later. */
static void tell(struct story *s, const char *text)
{
	struct pattern_hit hit;
	bool matches = pattern_match(s->patterns, text, strlen(text), &hit);
	struct episode_line line = { .hit = matches ? &hit : NULL,
				     .text = text,
				     .len = strlen(text),
				     .clock = EPISODE_WALL_TIME,
				     .time_ns = s->time_ns,
				     .mono_ns = 100000 * NS_PER_S,
				     .trusted = !s->untrusted && !s->injected,
				     .injected = s->injected };
	episodes_line(s->episodes, &line);
	s->time_ns += NS_PER_MS;
}

static void check_field(const struct story *s, unsigned i, const char *pair)
{
	char want[200];
	snprintf(want, sizeof(want), "%s\n", pair);
	if (!strstr(s->seen.fields[i], want))
		fail_msg("%s is not in:\n%s", pair, s->seen.fields[i]);
}

/* The lines, then exactly one event with that id and these fields ("a=b c=d"). */
static void one(const char *const *lines, const char *id, const char *pairs)
{
	struct story *s = story_new();
	char copy[400];

	for (size_t i = 0; lines[i]; i++)
		tell(s, lines[i]);
	episodes_flush(s->episodes);
	if (s->seen.n != 1)
		fail_msg("%s: %u events", lines[0], s->seen.n);
	CHECK_STR(s->seen.ids[0], id);
	CHECK(s->seen.trusted[0]);
	snprintf(copy, sizeof(copy), "%s", pairs);
	for (char *at = copy, *pair; (pair = strsep(&at, " "));)
		if (*pair)
			check_field(s, 0, pair);
	story_free(s);
}

#define ONE(id, pairs, ...) one((const char *const[]){ __VA_ARGS__, NULL }, id, pairs)

TEST(a_thousand_lines_of_one_reset_are_one_event)
{
	struct story *s = story_new();
	char line[200];
	tell(s, "ena 0000:00:05.0 eth0: Keep alive watchdog timeout.");
	tell(s, "ena 0000:00:05.0 eth0: Trigger reset is on");
	for (unsigned i = 0; i < 1101; i++) {
		snprintf(line, sizeof(line), "ena 0000:00:05.0 eth0: queue_%u_tx_cnt%u: %u", i / 34,
			 i % 34, i);
		tell(s, line);
	}
	tell(s, "ena 0000:00:05.0: Device reset completed successfully");
	CHECK_EQ(s->seen.n, 1); /* the driver said it is over: no need to wait */
	CHECK_EQ(s->seen.count[0], 1104);
	CHECK_EQ(s->seen.start[0], T0);
	CHECK_EQ(s->seen.end[0], T0 + 1103 * NS_PER_MS);
	check_field(s, 0, "cause=keep-alive");
	check_field(s, 0, "reset=finished");
	episodes_flush(s->episodes);
	CHECK_EQ(s->seen.n, 1);
	story_free(s);
}

TEST(ena_2_17_prints_queue_and_core_the_wrong_way_round)
{
	ONE("net-driver-reset", "queue=5 napi_cpu=39 cause=missed-completions lost=129",
	    "ena 0000:00:05.0 ens5: [1/2] Lost TX completions are above threshold (129 > 128), "
	    "completion timeout: 5000 (msec), 10012 msecs since interrupt, 10012 msecs since napi, "
	    "qid: 5",
	    "ena 0000:00:05.0 ens5: [2/2] qid: 39, napi CPU: 5",
	    "ena 0000:00:05.0 ens5: Resetting the device");
	ONE("net-driver-reset", "queue=5 napi_cpu=39 class=POLL_STARVATION intr_age_ms=6592",
	    "ena 0000:00:05.0 ens5: TX q 5 is paused for too long (threshold 5000000). usecs since "
	    "napi "
	    "6596000. napi scheduled: 1. napi CPU: 39. msecs since interrupt: 6592");
}

TEST(each_driver_family_gives_its_own_event)
{
	ONE("net-driver-reset", "driver=ixgbe queue=0 cause=hardware-hang tdh=0x93 tdt=0x9d",
	    "ixgbe 0000:03:00.0 enp3s0: Detected Tx Unit Hang\n  Tx Queue             <0>\n"
	    "  TDH, TDT             <93>, <9d>",
	    "ixgbe 0000:03:00.0 enp3s0: tx hang 1 detected on queue 0, resetting adapter",
	    "ixgbe 0000:03:00.0 enp3s0: Reset adapter");
	ONE("net-driver-reset", "driver=i40e queue=31 level=1 stalled_ms=5200",
	    "i40e 0000:08:00.1 eth9: NETDEV WATCHDOG: CPU: 4: transmit queue 31 timed out 5200 ms",
	    "i40e 0000:08:00.1 eth9: tx_timeout: VSI_seid: 396, Q 31, NTC: 0x1cb, HWB: 0x1cb, NTU: "
	    "0x1f5, TAIL: 0x1f5, INT: 0x1",
	    "i40e 0000:08:00.1 eth9: tx_timeout recovery level 1, txqueue 31");
	ONE("net-tx-timeout", "driver=ice queue=14 cause=pfc-storm reset=no",
	    "ice 0000:b1:00.0: Fake Tx hang detected on queue 14, timeout caused by PFC storm");
	ONE("net-tx-timeout", "driver=mlx5_core queue=0 cause=missing-interrupt reset=no",
	    "mlx5_core 0000:01:00.0 eth0: TX timeout detected",
	    "mlx5_core 0000:01:00.0 eth0: TX timeout on queue: 0, SQ: 0x2e9, CQ: 0xa5, SQ Cons: "
	    "0x22ee "
	    "SQ Prod: 0x3290, usecs since last trans: 15570000",
	    "mlx5_core 0000:01:00.0 eth0: Recovered 1 eqes on EQ 0x7");
	ONE("net-driver-reset", "driver=mlx5_core cause=firmware reset=failed",
	    "mlx5_core 0000:65:00.0: poll_health:801:(pid 0): device's health compromised - "
	    "reached miss "
	    "count",
	    "mlx5_core 0000:65:00.0: mlx5_health_try_recover:341:(pid 512): starting health "
	    "recovery "
	    "flow",
	    "mlx5_core 0000:65:00.0: mlx5_health_try_recover:341:(pid 512): health recovery "
	    "failed");
	ONE("net-driver-reset", "driver=bnxt_en cause=firmware",
	    "bnxt_en 0000:45:00.0 eth0: Detected firmware fatal condition, initiating reset");
	ONE("net-tx-timeout", "driver=virtio_net queue=0 reset=no stalled_ms=9800",
	    "virtio_net virtio1 enp1s0: NETDEV WATCHDOG: CPU: 0: transmit queue 0 timed out 9800 "
	    "ms",
	    "virtio_net virtio1 enp1s0: TX timeout on queue: 0, sq: output.0, vq: 0x1, name: "
	    "output.0, "
	    "5120000 usecs ago");
	ONE("net-tx-timeout", "driver=gve queue=3 cause=missing-interrupt reset=no",
	    "gve 0000:00:04.0 ens4: Timeout on tx queue, 3",
	    "gve 0000:00:04.0 ens4: Kicking queue 3");
	ONE("net-driver-reset", "driver=gve queue=3 reset=begun",
	    "gve 0000:00:04.0 ens4: Timeout on tx queue, 3", "gve 0000:00:04.0: Performing reset");
	ONE("net-driver-reset", "driver=iavf cause=host-request",
	    "iavf 0000:00:06.0: Hardware reset detected",
	    "iavf 0000:00:06.0: Hardware came out of reset. Attempting reinit.");
	ONE("net-vf-switch", "direction=from vf=enP30832s1",
	    "hv_netvsc 000d3a7c-1a2b-000d-3a7c-1a2b000d3a7c eth0: Data path switched from VF: "
	    "enP30832s1");
	ONE("net-driver-reset", "driver=mana cause=admin-queue",
	    "mana 7870:00:00.0: HWC: Request timed out!");
	ONE("net-driver-reset", "driver=tg3 cause=netdev-watchdog",
	    "tg3 0000:03:00.0 eth0: transmit timed out, resetting");
	ONE("net-driver-reset", "driver=e1000e reset=begun",
	    "e1000e 0000:00:1f.6 eno1: Detected Hardware Unit Hang:\n  TDH                  <13>",
	    "e1000e 0000:00:1f.6 eno1: Reset adapter unexpectedly");
}

/* What the driver prints for one reset changed with its versions; the event did not. */
TEST(ena_of_every_age_gives_one_event)
{
	ONE("net-driver-reset", "driver=ena queue=4 lost=361 limit=128 cause=missed-completions",
	    "ena 0000:00:05.0 ens5: Found a Tx that wasn't completed on time, qid 4, index 219.",
	    "ena 0000:00:05.0 ens5: The number of lost tx completions is above the threshold (361 "
	    "> "
	    "128). Reset the device",
	    "ena 0000:00:05.0 ens5: Trigger reset is on",
	    "ena 0000:00:05.0: Device reset completed successfully");
	ONE("net-driver-reset",
	    "driver=ena queue=5 cause=suspected-poll-starvation reason=15 driver_version=2.11.0g "
	    "reset=finished napi_age_ms=6596 threshold_ms=5000",
	    "ena 0000:20:03.0 eth0: TX q 5 is paused for too long (threshold 5000000). Time since "
	    "last napi 6596000 usec. napi scheduled: 1",
	    "ena 0000:20:03.0 eth0: napi handler hasn't been called for a long time but is "
	    "scheduled",
	    "ena 0000:20:03.0: Device reset completed successfully, Driver info: Elastic Network "
	    "Adapter (ENA) v2.11.0g");
	ONE("net-driver-reset", "driver=ena cause=keep-alive reason=1 reset=finished",
	    "ena 0000:00:05.0 ens5: Keep alive watchdog timeout, 6012 msecs since last keep alive.",
	    "ena 0000:00:05.0: Device reset completed, status: 0, Driver info: Elastic Network "
	    "Adapter (ENA) v2.13.2g");
	ONE("net-driver-reset", "driver=ena cause=missing-interrupt queue=3",
	    "ena 0000:00:05.0 ens5: Potential MSIX issue on Tx side Queue = 3. Reset the device");
	ONE("net-driver-reset", "driver=ena cause=device-request",
	    "ena 0000:00:05.0 ens5: The device has detected an unhealthy state, reset is "
	    "requested");
	ONE("net-driver-reset", "driver=ena cause=admin-queue",
	    "ena 0000:00:05.0 ens5: ENA admin queue is not in running state!");
	ONE("net-driver-reset", "driver=ena cause=bad-descriptor",
	    "ena 0000:00:05.0 ens5: Invalid req_id 65535 in qid 3",
	    "ena 0000:00:05.0 ens5: Trigger reset is on");
	ONE("net-driver-reset", "driver=ena reset=failed",
	    "ena 0000:00:05.0 ens5: Keep alive watchdog timeout.",
	    "ena 0000:00:05.0: Reset attempt failed. Can not reset the device");
}

TEST(other_families_too)
{
	ONE("net-driver-reset", "iface=eth0 driver=ena queue=3 cause=netdev-watchdog",
	    "NETDEV WATCHDOG: eth0 (ena): transmit queue 3 timed out");
	ONE("net-driver-reset", "iface=enp5s0 driver=igb queue=2 cause=netdev-watchdog",
	    "NETDEV WATCHDOG: enp5s0 (igb): transmit queue 2 timed out 5120 ms",
	    "igb 0000:05:00.0 enp5s0: Reset adapter");
	ONE("net-tx-hang", "driver=igc queue=1 cause=hardware-hang",
	    "igc 0000:02:00.0 enp2s0: Detected Tx Unit Hang\n  Tx Queue             <1>\n"
	    "  TDH                  <4>\n  TDT                  <9>");
	ONE("net-driver-reset", "driver=ixgbe cause=link-loss class=LINK_LOSS",
	    "ixgbe 0000:01:00.1 eth1: initiating reset to clear Tx work after link loss",
	    "ixgbe 0000:01:00.1 eth1: Reset adapter");
	ONE("net-driver-reset", "driver=ice queue=14 iface=ens801f0np0 level=1",
	    "ice 0000:b1:00.0 ens801f0np0: tx_timeout: VSI_num: 6, Q 14, NTC: 0x0, HW_HEAD: 0x0, "
	    "NTU: 0x0, INT: 0x4000001",
	    "ice 0000:b1:00.0 ens801f0np0: tx_timeout recovery level 1, txqueue 14");
	ONE("net-driver-reset", "driver=i40e reset=failed",
	    "i40e 0000:08:00.1 eth9: tx_timeout recovery level 1, txqueue 3",
	    "i40e 0000:08:00.1 eth9: tx_timeout recovery unsuccessful, device is in "
	    "non-recoverable state.");
	ONE("net-driver-reset",
	    "driver=mlx5_core queue=0 irq=103 stalled_ms=15570 outstanding=4002",
	    "mlx5_core 0000:01:00.0 eth0: NETDEV WATCHDOG: CPU: 1: transmit queue 0 timed out "
	    "15570 "
	    "ms",
	    "mlx5_core 0000:01:00.0 eth0: TX timeout detected",
	    "mlx5_core 0000:01:00.0 eth0: TX timeout on queue: 0, SQ: 0x2e9, CQ: 0xa5, SQ Cons: "
	    "0x22ee SQ Prod: 0x3290, usecs since last trans: 15570000",
	    "mlx5_core 0000:01:00.0 eth0: EQ 0x7: Cons = 0x56838, irqn = 0x67");
	ONE("net-driver-reset", "driver=bnxt_en iface=eth0 cause=netdev-watchdog rings_stuck=2",
	    "bnxt_en 0000:45:00.0 eth0: TX timeout detected, starting reset task!",
	    "bnxt_en 0000:45:00.0 eth0: [2]: tx{fw_ring: 2 prod: af cons: 9b}");
	ONE("net-driver-reset", "driver=r8169 iface=enp2s0 queue=0 stalled_ms=5010",
	    "r8169 0000:02:00.0 enp2s0: NETDEV WATCHDOG: CPU: 3: transmit queue 0 timed out 5010 "
	    "ms",
	    "r8169 0000:02:00.0 enp2s0: ASPM disabled on Tx timeout");
	ONE("net-driver-reset", "driver=vmxnet3 iface=ens192",
	    "vmxnet3 0000:0b:00.0 ens192: tx hang", "vmxnet3 0000:0b:00.0 ens192: resetting");
}

TEST(an_impossible_age_is_not_believed)
{
	struct story *s = story_new();
	tell(s,
	     "ice 0000:b1:00.0 ens801f0np0: NETDEV WATCHDOG: CPU: 9: transmit queue 14 timed out "
	     "80692736 ms");
	episodes_flush(s->episodes);
	check_field(s, 0, "bogus_age_ms=80692736");
	CHECK(!strstr(s->seen.fields[0], "stall_ms="));
	story_free(s);
}

TEST(lines_of_different_trust_never_meet)
{
	struct story *s = story_new();
	tell(s, "ena 0000:00:05.0 eth0: Keep alive watchdog timeout.");
	s->untrusted = true;
	tell(s, "ena 0000:00:05.0 eth0: Trigger reset is on");
	tell(s, "ena 0000:00:05.0: Device reset completed successfully");
	s->injected = true;
	tell(s, "ena 0000:00:05.0 eth0: Trigger reset is on");
	episodes_flush(s->episodes);
	CHECK_EQ(s->seen.n, 3);
	CHECK(!s->seen.trusted[0] && !s->seen.injected[0]);
	CHECK(strstr(s->seen.fields[0], "cause=not-stated"));
	CHECK(s->seen.trusted[1]);
	CHECK_EQ(s->seen.count[1], 1);
	CHECK(s->seen.injected[2] && !s->seen.trusted[2]);
	story_free(s);
}

TEST(a_task_name_that_no_task_can_have_is_not_trusted)
{
	struct story *s = story_new();
	tell(s, "cgroup /a/very/long/name/that/somebody/made/up/to/look/like/a/kernel/line/indeed "
		"invoked "
		"oom-killer: gfp_mask=0xcc0, order=0, oom_score_adj=0");
	episodes_flush(s->episodes);
	CHECK_EQ(s->seen.n, 1);
	CHECK(!s->seen.trusted[0]);
	story_free(s);
}

TEST(quiet_episodes_end_by_themselves)
{
	struct story *s = story_new();
	tell(s, "r8125 0000:22:04.0 eth4: NETDEV WATCHDOG: CPU: 3: transmit queue 0 timed out 5010 "
		"ms");
	episodes_advance(s->episodes, T0 + 5 * NS_PER_S);
	CHECK_EQ(s->seen.n, 0);
	episodes_advance(s->episodes, T0 + 13 * NS_PER_S);
	CHECK_EQ(s->seen.n, 1);
	story_free(s);
}

TEST(more_open_episodes_than_fit_are_emitted_not_lost)
{
	struct story *s = story_new();
	char line[160];
	for (unsigned i = 0; i < 90; i++) {
		snprintf(line, sizeof(line),
			 "workqueue: func_%u hogged CPU for >10000us 4 times, consider "
			 "switching to WQ_UNBOUND",
			 i);
		s->seen.n = 0;
		tell(s, line);
		if (i >= 64)
			CHECK_EQ(s->seen.n, 1);
	}
	story_free(s);
}

TEST_MAIN
