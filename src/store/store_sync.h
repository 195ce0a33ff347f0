/* fdatasync off the tick path: a sick disk may hold it for seconds. One request at a time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct store_sync;

struct store_sync *store_sync_new(void); /* NULL: no thread to be had; then nothing is synced */
/* Sync fd's data (and dir_fd's names unless it is -1) as far as written now. false = the last
 * request is not done yet. */
bool store_sync_request(struct store_sync *s, int fd, int dir_fd);
/* The result of the last finished request, once: 0, or a negative errno. */
int store_sync_result(struct store_sync *s);
/* Wait until idle, at most that long; false = still busy. */
bool store_sync_wait(struct store_sync *s, uint64_t most_ns);
void store_sync_free(struct store_sync *s); /* never waits for a stuck disk; NULL is fine */
