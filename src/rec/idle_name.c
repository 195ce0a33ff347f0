#include "idle_name.h"

#include <string.h>

#include "auto.h"
#include "text.h"

static const char *const idle_names[] = {
	"acpi_idle_do_entry",
	"acpi_idle_enter",
	"acpi_processor_ffh_cstate_enter",
	"acpi_safe_halt",
	"amd_e400_idle",
	"arch_cpu_idle",
	"arch_cpu_idle_enter",
	"cpu_do_idle",
	"cpu_idle_poll",
	"cpu_startup_entry",
	"cpuidle_enter",
	"cpuidle_enter_state",
	"cpuidle_idle_call",
	"default_idle",
	"default_idle_call",
	"do_idle",
	"haltpoll_enter_idle",
	"default_enter_idle",
	"hv_idle",
	"mwait_idle",
	"mwait_idle_with_hints",
	"native_halt",
	"native_safe_halt",
	"poll_idle",
	"psci_cpu_suspend_enter",
	"psci_enter_idle_state",
	"pv_native_safe_halt",
	"snooze_loop",
	"tdx_halt",
	"tdx_safe_halt",
	"xen_safe_halt",
	"xen_arch_cpu_idle",
	"xen_hypercall_sched_op",
	"xen_hypercall_vcpu_op",
	"cpu_bringup_and_idle",
	"pnv_cpu_idle",
	"enabled_wait",
	"psw_idle",
	"cpu_suspend",
};

bool idle_name(const char *function)
{
	for (size_t i = 0; i < ARRAY_LEN(idle_names); i++)
		if (strcmp(function, idle_names[i]) == 0)
			return true;
	/* intel_idle, intel_idle_irq, intel_idle_ibrs, intel_idle_s2idle ... */
	return text_starts(function, "intel_idle") || text_starts(function, "acpi_idle_enter_");
}
