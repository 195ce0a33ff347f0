#include "rec_cpu.h"

#include "auto.h"

#define CPU_TIME(member, help) REC_FIELD(rec_cpu, member, REC_U64, REC_TICKS, REC_COUNTER, help)

static const struct rec_field fields[] = {
	REC_FIELD(rec_cpu, cpu, REC_U64, REC_ID, REC_KEY, "core number"),
	CPU_TIME(usr, "time in user mode, guest included"),
	CPU_TIME(nice, "time in user mode at low priority"),
	CPU_TIME(sys, "time in the kernel"),
	REC_FIELD(rec_cpu, idle, REC_U64, REC_TICKS, REC_COUNTER | REC_BALANCE, "idle time"),
	CPU_TIME(iowait, "idle time while a task waited for I/O"),
	CPU_TIME(irq, "time in hardware interrupts"),
	CPU_TIME(softirq, "time in soft interrupts"),
	CPU_TIME(steal, "time the hypervisor gave to others"),
	CPU_TIME(guest, "time running guests"),
	CPU_TIME(guest_nice, "time running low-priority guests"),
};

const struct rec_desc rec_cpu_desc = {
	.kind = REC_CPU,
	.name = "cpu",
	.size = sizeof(struct rec_cpu),
	.fields = fields,
	.n_fields = ARRAY_LEN(fields),
};
