#include "agents.h"
#include "fuzz.h"
#include "rec_units.h"
#include "sock_diag.h"
#include "units_dbus.h"

/* The texts and bytes that units are read from: systemctl show, the knowledge base, netlink, a
 * frame. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	AUTO_REC_UNITS struct rec_unit_set shown = { 0 }, framed = { 0 };
	AUTO_AGENTS struct agents agents = { 0 };
	AUTO_BUF struct buf again = { 0 };
	struct sock_pairs pairs = { 0 };
	char *text = fuzz_text(bytes, len), cgroup[64];
	uint64_t *aligned = calloc(1, len + 8);

	units_show_parse(text, len, &shown, NULL);
	agents_parse(text, len, &agents, NULL);
	agents_next(&agents, "ecs.service", NULL);
	sock_diag_cgroup(text, cgroup, sizeof(cgroup));
	if (aligned) {
		memcpy(aligned, bytes, len);
		sock_diag_parse(aligned, len, &pairs);
	}
	if (rec_units_decode(bytes, len, &framed) == 0) {
		AUTO_REC_UNITS struct rec_unit_set twice = { 0 };
		rec_units_encode(&again, &framed);
		if (rec_units_decode(again.data, again.len, &twice) < 0 ||
		    twice.units.len != framed.units.len)
			abort();
	}
	free(pairs.list.items);
	free(aligned);
	free(text);
	return 0;
}
