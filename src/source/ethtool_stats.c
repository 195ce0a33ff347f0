#include "ethtool_stats.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "auto.h"
#include "net_counters.h"
#include "text.h"

enum { ETHTOOL_MOST_KEPT = 256 };

bool ethtool_stat_matters(const char *name)
{
	static const char *const kept[] = {
		"total_resets",
		"suspected_poll_starvation",
		"tx_timeout",
		"wd_expired",
		"interface_down",
		"admin_q_pause",
		"reset_fail",
		"missing_tx_cmpl",
		"missing_intr",
		"os_netdev_wd",
		"missing_admin_interrupt",
		"device_request_reset",
		"missing_first_intr",
		"tx_timeout_count",
		"*_allowance_exceeded",
		"*_tx_missed_tx",
		"*_tx_lost_interrupt",
		"tx_hang*",
		"*tx_timeouts",
		"tx*_recover",
		"link_down_events_phy",
		"*reset_count",
	};

	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		if (text_glob(kept[i], name))
			return true;
	return false;
}

static int ethtool_call(int socket, const char *name, void *data)
{
	struct ifreq request = { 0 };

	text_copy(request.ifr_name, sizeof(request.ifr_name), name);
	request.ifr_data = data;
	return ioctl(socket, SIOCETHTOOL, &request);
}

static size_t ethtool_count(int socket, const char *name)
{
	/* the answer's one number lies behind the struct */
	union {
		struct ethtool_sset_info info;
		uint32_t words[sizeof(struct ethtool_sset_info) / sizeof(uint32_t) + 1];
	} request = { .words = { 0 } };
	uint32_t *len = &request.words[sizeof(struct ethtool_sset_info) / sizeof(uint32_t)];

	request.info.cmd = ETHTOOL_GSSET_INFO;
	request.info.sset_mask = UINT64_C(1) << ETH_SS_STATS;
	if (ethtool_call(socket, name, &request) < 0 || !request.info.sset_mask)
		return 0;
	return *len <= NET_COUNTERS_MOST_STATS ? *len : 0;
}

void ethtool_stats_open(int socket, struct net_device *d)
{
	size_t n = ethtool_count(socket, d->name);

	if (!n)
		return;
	AUTO_FREE struct ethtool_gstrings *names = calloc(1, sizeof(*names) + n * ETH_GSTRING_LEN);
	d->values = calloc(1, sizeof(struct ethtool_stats) + n * sizeof(uint64_t));
	if (!names || !d->values)
		return;
	names->cmd = ETHTOOL_GSTRINGS;
	names->string_set = ETH_SS_STATS;
	names->len = (uint32_t)n;
	if (ethtool_call(socket, d->name, names) < 0 || names->len > n)
		return;
	d->n_driver_stats = n;
	for (size_t i = 0; i < names->len && d->stats.len < ETHTOOL_MOST_KEPT; i++) {
		struct net_stat stat = { .index = i };
		text_copy_n(
			stat.name, sizeof(stat.name),
			(const char *)names->data + i * ETH_GSTRING_LEN,
			strnlen((const char *)names->data + i * ETH_GSTRING_LEN, ETH_GSTRING_LEN));
		if (ethtool_stat_matters(stat.name))
			(void)vec_push(&d->stats, stat);
	}
}

void ethtool_stats_read(int socket, struct net_device *d)
{
	struct ethtool_stats *request = (struct ethtool_stats *)d->values;

	if (!d->stats.len || !request)
		return;
	request->cmd = ETHTOOL_GSTATS;
	request->n_stats = (uint32_t)d->n_driver_stats;
	bool good = ethtool_call(socket, d->name, request) == 0 &&
		    request->n_stats <= d->n_driver_stats;
	vec_foreach (&d->stats, s) {
		s->before = s->value;
		s->known = good && s->index < request->n_stats;
		if (s->known)
			s->value = request->data[s->index];
	}
}
