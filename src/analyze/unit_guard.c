#include "unit_guard.h"

#include <fnmatch.h>
#include <string.h>

#include "auto.h"
#include "text.h"

bool unit_name_ok(const char *unit)
{
	static const char *const suffixes[] = { ".service", ".timer", ".socket",
						".path",    ".scope", ".mount" };
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:-_.\\@";
	size_t len = strlen(unit);

	if (len < 6 || len > 255 || unit[0] == '.' || unit[0] == '-' || unit[strspn(unit, allowed)])
		return false;
	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++)
		if (text_ends(unit, suffixes[i]) && len > strlen(suffixes[i]))
			return true;
	return false;
}

bool unit_is_protected(const char *unit)
{
	static const char *const patterns[] = {
		"init.scope",
		"systemd-*",
		"dbus*",
		"ssh*",
		"kubelet*",
		"containerd*",
		"docker*",
		"crio*",
		"podman*",
		"NetworkManager*",
		"network*",
		"systemd-networkd*",
		"systemd-resolved*",
		"dhc*",
		"cloud-*",
		"user@*",
		"getty@*",
		"serial-getty@*",
		"polkit*",
		"rsyslog*",
		"auditd*",
		"chrony*",
		"ntp*",
		"nvidia-fabricmanager*",
		"zombiescope*",
		"amazon-ssm-agent*",
		"multipathd*",
		"iscsid*",
		"lvm2-*",
	};
	for (size_t i = 0; i < ARRAY_LEN(patterns); i++)
		if (text_glob(patterns[i], unit))
			return true;
	return false;
}
