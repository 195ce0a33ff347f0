/* Which unit names a cure may be asked for, and which it must not touch. */
#pragma once

#include <stdbool.h>

/* Names that systemd accepts and nothing else: letters, digits, :-_.\@ and a unit suffix. */
bool unit_name_ok(const char *unit);
/* Units whose loss takes the node away (pid 1, sshd, kubelet, network ...). */
bool unit_is_protected(const char *unit);
