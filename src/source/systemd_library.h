/* libsystemd, loaded when the bus or the journal is first needed. Linked, it and the five libraries
 * that it brings along would cost every command a third of its start, and hosts without systemd
 * would have to install it. */
#pragma once

#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>

#include "err.h"

/* What is called of it: sd_bus_new() is systemd.bus_new(), of the type in its header. */
#define SYSTEMD_LIBRARY_FUNCTIONS(X)     \
	X(bus_add_match_async)           \
	X(bus_call_async)                \
	X(bus_call_method)               \
	X(bus_close_unref)               \
	X(bus_error_free)                \
	X(bus_error_has_name)            \
	X(bus_flush_close_unref)         \
	X(bus_get_fd)                    \
	X(bus_get_property_string)       \
	X(bus_message_append)            \
	X(bus_message_enter_container)   \
	X(bus_message_exit_container)    \
	X(bus_message_get_error)         \
	X(bus_message_get_path)          \
	X(bus_message_new_method_call)   \
	X(bus_message_peek_type)         \
	X(bus_message_read)              \
	X(bus_message_read_array)        \
	X(bus_message_read_basic)        \
	X(bus_message_set_expect_reply)  \
	X(bus_message_skip)              \
	X(bus_message_unref)             \
	X(bus_new)                       \
	X(bus_open_system)               \
	X(bus_path_decode)               \
	X(bus_path_encode)               \
	X(bus_process)                   \
	X(bus_send)                      \
	X(bus_set_address)               \
	X(bus_set_bus_client)            \
	X(bus_set_method_call_timeout)   \
	X(bus_slot_set_destroy_callback) \
	X(bus_slot_set_floating)         \
	X(bus_slot_unref)                \
	X(bus_start)                     \
	X(bus_unref)                     \
	X(bus_wait)                      \
	X(journal_add_match)             \
	X(journal_close)                 \
	X(journal_flush_matches)         \
	X(journal_get_data)              \
	X(journal_get_realtime_usec)     \
	X(journal_next)                  \
	X(journal_open)                  \
	X(journal_open_directory)        \
	X(journal_previous)              \
	X(journal_seek_head)             \
	X(journal_seek_tail)             \
	X(notify)

struct systemd_library {
#define SYSTEMD_LIBRARY_MEMBER(name) __typeof__(&sd_##name) name;
	SYSTEMD_LIBRARY_FUNCTIONS(SYSTEMD_LIBRARY_MEMBER)
#undef SYSTEMD_LIBRARY_MEMBER
};

/* Filled by the first call of systemd_library_load() that returns 0. */
extern struct systemd_library systemd;

/* It stays loaded until the program ends. */
int systemd_library_load(struct err *err);
