#include "lab_kmsg.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "auto.h"
#include "episode.h"

int lab_kmsg_line(enum lab_kmsg_level level, const char *text, struct err *err)
{
	char record[400];
	int n = snprintf(record, sizeof(record), "<%d>" EPISODE_LAB_MARK "%s\n",
			 KMSG_USER_FACILITY << 3 | (int)level, text);
	/* One write per open: the kernel drops more than 10 lines in 5 s of one open file, in
	 * silence. */
	AUTO_CLOSE int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);

	if (n >= (int)sizeof(record))
		return err_set(err, -ENAMETOOLONG, "a line too long for the kernel's log");
	return fd < 0 || write(fd, record, (size_t)n) != n ? err_path(err, -errno, "/dev/kmsg") : 0;
}
