#include "whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "auto.h"

int whole_file_write(const char *path, unsigned mode, const struct buf *text, struct err *err)
{
	AUTO_BUF struct buf temporary = { 0 };
	size_t done = 0;

	buf_addf(&temporary, "%s.%d.tmp", path, (int)getpid());
	AUTO_CLOSE int fd =
		open(buf_str(&temporary), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (fd < 0)
		return err_path(err, -errno, buf_str(&temporary));
	while (done < text->len) {
		ssize_t n = write(fd, text->data + done, text->len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int code = -errno;
			unlink(buf_str(&temporary));
			return err_path(err, code, path);
		}
		done += (size_t)n;
	}
	if (rename(buf_str(&temporary), path) < 0) {
		int code = -errno;
		unlink(buf_str(&temporary));
		return err_path(err, code, path);
	}
	return 0;
}
