/* How a slice is run. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "census_impl.h"

static void pull(const struct census_program *p)
{
	unsigned zero = 0;

	if (!p->mapped)
		bpf_map_lookup_elem(p->state_fd, &zero, p->ctl);
}

static void push(const struct census_program *p)
{
	unsigned zero = 0;

	if (!p->mapped)
		bpf_map_update_elem(p->state_fd, &zero, p->ctl, 0);
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int attach(struct census_program *p, struct err *err)
{
	if (p->link)
		return 0;
	p->link = bpf_program__attach(p->program);
	if (!p->link)
		return err_set(err, -errno, "attaching to sys_enter: %s", strerror(errno));
	return 0;
}

int census_slice(struct census *c, enum census_job job, struct err *err)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	struct census_program *p = &c->programs[job];
	unsigned ran = p->ctl->ran;
	uint64_t before, took;
	int r = 0;

	p->ctl->own_pid = (unsigned)getpid();
	if (c->variant == CENSUS_TRIGGER) {
		r = attach(p, err);
		if (r < 0)
			return r;
	}
	before = thread_cpu_ns();
	p->ctl->armed = 1; /* from here on the next system call is it */
	push(p);
	if (c->variant == CENSUS_TRIGGER)
		syscall(SYS_getppid);
	else
		r = bpf_prog_test_run_opts(bpf_program__fd(p->program), &run);
	took = thread_cpu_ns() - before;
	pull(p);
	if (r < 0 && c->variant == CENSUS_RUN) {
		c->variant = CENSUS_TRIGGER; /* no test run for raw tracepoints before 5.10 */
		return census_slice(c, job, err);
	}
	if (r < 0)
		return err_set(err, r, "running the census program: %s", strerror(-r));
	if (p->ctl->ran == ran)
		return err_set(err, -EIO, "the census program did not run");
	c->slices++;
	c->kernel_ns += took;
	if (took > c->longest_slice_ns)
		c->longest_slice_ns = took;
	return 0;
}

int census_set_targets(struct census *c, enum census_job job, const struct census_target *targets,
		       unsigned n, struct err *err)
{
	for (unsigned i = 0; i < n; i++)
		if (bpf_map_update_elem(c->programs[job].targets_fd, &i, &targets[i], 0) < 0)
			return err_set(err, -errno, "giving the census its targets: %s",
				       strerror(errno));
	return 0;
}
