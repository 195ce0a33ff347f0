#include "core_times_kernel.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "auto.h"
#include "bpf_types.h"
#include "btf_slice.h"
#include "tick_path.h"
/* generated */
#include "core_times.skel.h"

enum {
	CORE_TIMES_TICK_NS = 10000000, /* USER_HZ */
	CORE_TIMES_MOST_CPUS = 8192
};

struct core_times_kernel {
	struct core_times_bpf *skel;
	int read_fd;
	unsigned n_cpus;
	struct core_times_rec *cores; /* the map's own memory */
	size_t map_len;
};

/* In the order of the kernel's enum cpu_usage_stat, which has never changed but at its end. */
enum {
	KIND_USER,
	KIND_NICE,
	KIND_SYSTEM,
	KIND_SOFTIRQ,
	KIND_IRQ,
	KIND_STEAL = 7,
	KIND_GUEST,
	KIND_GUEST_NICE
};

EVERY_TICK void core_times_row(const struct core_times_rec *rec, unsigned cpu, struct rec_cpu *ret)
{
	uint64_t asleep_ns = rec->idles && rec->now_ns > rec->idle_since_ns
				     ? rec->now_ns - rec->idle_since_ns
				     : 0;
	/* the sleep that goes on: waiting for a disk, if anybody of this core does just now */
	uint64_t idle_ns = rec->idle_ns + (rec->waiting > 0 ? 0 : asleep_ns);
	uint64_t iowait_ns = rec->iowait_ns + (rec->waiting > 0 ? asleep_ns : 0);

	*ret = (struct rec_cpu){
		.have = (REC_CPU_GUEST_NICE << 1) - 1,
		.cpu = cpu,
		.usr = rec->times_ns[KIND_USER] / CORE_TIMES_TICK_NS,
		.nice = rec->times_ns[KIND_NICE] / CORE_TIMES_TICK_NS,
		.sys = rec->times_ns[KIND_SYSTEM] / CORE_TIMES_TICK_NS,
		.idle = idle_ns / CORE_TIMES_TICK_NS,
		.iowait = iowait_ns / CORE_TIMES_TICK_NS,
		.irq = rec->times_ns[KIND_IRQ] / CORE_TIMES_TICK_NS,
		.softirq = rec->times_ns[KIND_SOFTIRQ] / CORE_TIMES_TICK_NS,
		.steal = rec->times_ns[KIND_STEAL] / CORE_TIMES_TICK_NS,
		.guest = rec->times_ns[KIND_GUEST] / CORE_TIMES_TICK_NS,
		.guest_nice = rec->times_ns[KIND_GUEST_NICE] / CORE_TIMES_TICK_NS,
	};
}

/* The system call itself: libbpf's way to it touches a page more in every tick. */
EVERY_TICK static int core_times_run(const struct core_times_kernel *k, int program_fd)
{
	union bpf_attr attr = { .test = { .prog_fd = (uint32_t)program_fd } };

	for (unsigned at = 0; at < k->n_cpus; at += CORE_TIMES_BATCH) {
		k->skel->bss->first = at;
		if (syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attr, sizeof(attr.test)) < 0)
			return -errno;
	}
	return 0;
}

/* How far a core's other variables lie from its run queue. */
static int core_times_distances(struct core_times_kernel *k, const struct root *root,
				struct err *err)
{
	enum { QUEUE, STAT, SCHED, END };
	struct btf_slice_find found[END] = {
		[QUEUE] = { .name = "runqueues", .what = BTF_SLICE_VARIABLE },
		[STAT] = { .name = "kernel_cpustat", .what = BTF_SLICE_VARIABLE },
		[SCHED] = { .name = "tick_cpu_sched", .what = BTF_SLICE_VARIABLE },
	};
	int r = bpf_types_find(root, found, END, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < END; i++)
		if (!found[i].placed)
			return err_set(err, -EOPNOTSUPP, "BTF: no place of %s", found[i].name);
	k->skel->rodata->to_cpustat = (int64_t)found[STAT].offset - found[QUEUE].offset;
	k->skel->rodata->to_tick_sched = (int64_t)found[SCHED].offset - found[QUEUE].offset;
	k->skel->rodata->n_cpus = k->n_cpus;
	return 0;
}

static int core_times_load(struct core_times_kernel *k, const struct root *root, struct err *err)
{
	AUTO(bpf_types_close) struct bpf_types types = bpf_types_open();
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = bpf_types_path(&types));

	k->skel = core_times_bpf__open_opts(&opts);
	if (!k->skel)
		return err_set(err, -errno, "BPF: %s", strerror(errno));
	int r = core_times_distances(k, root, err);
	if (r == 0)
		r = bpf_types_fill(&types, root, k->skel->obj, err);
	if (r < 0)
		return r;
	r = bpf_map__set_max_entries(k->skel->maps.cores, k->n_cpus);
	if (r == 0)
		r = core_times_bpf__load(k->skel);
	return r < 0 ? err_set(err, r, "BPF: %s", strerror(-r)) : 0;
}

static int core_times_map(struct core_times_kernel *k, struct err *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	k->map_len = (k->n_cpus * sizeof(*k->cores) + page - 1) / page * page;
	void *map = mmap(NULL, k->map_len, PROT_READ | PROT_WRITE, MAP_SHARED,
			 bpf_map__fd(k->skel->maps.cores), 0);
	if (map == MAP_FAILED)
		return err_set(err, -errno, "BPF map: %s", strerror(errno));
	k->cores = map;
	return 0;
}

int core_times_kernel_open(const struct root *root, unsigned n_cpus, struct core_times_kernel **ret,
			   struct err *err)
{
	if (!root->live)
		return err_set(err, -EOPNOTSUPP, "not this host");
	if (!n_cpus || n_cpus > CORE_TIMES_MOST_CPUS)
		return err_set(err, -EOPNOTSUPP, "%u cores", n_cpus);
	struct core_times_kernel *k = calloc(1, sizeof(*k));
	if (!k)
		return err_set(err, -ENOMEM, "out of memory");
	k->n_cpus = n_cpus;
	int r = core_times_load(k, root, err);
	if (r == 0)
		r = core_times_map(k, err);
	if (r == 0) {
		k->read_fd = bpf_program__fd(k->skel->progs.read_cores);
		r = core_times_run(k, bpf_program__fd(k->skel->progs.find_cores));
		if (r < 0)
			err_set(err, r, "BPF: %s", strerror(-r));
	}
	if (r < 0) {
		core_times_kernel_close(k);
		return r;
	}
	*ret = k;
	return 0;
}

void core_times_kernel_close(struct core_times_kernel *k)
{
	if (!k)
		return;
	if (k->cores)
		munmap(k->cores, k->map_len);
	core_times_bpf__destroy(k->skel);
	free(k);
}

EVERY_TICK int core_times_kernel_read(struct core_times_kernel *k,
				      const struct core_times_rec **ret)
{
	int r = core_times_run(k, k->read_fd);

	*ret = k->cores;
	return r;
}
