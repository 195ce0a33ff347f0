#include "fuzz.h"
#include "owner.h"

/* Any bytes: every string lies inside the path, and the texts can be built. */
static void inside(struct owner_text text, const char *path, size_t len)
{
	if (text.at && (text.at < path || text.at + text.len > path + len))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	const char *path = (const char *)bytes;
	AUTO_BUF struct buf group = { 0 }, label = { 0 };
	struct owner o;

	owner_parse(path, len, &o);
	if (o.kind >= OWNER_KIND_END || !o.parent.len)
		abort();
	inside(o.unit, path, len);
	inside(o.container, path, len);
	inside(o.pod, path, len);
	inside(o.task, path, len);
	owner_group(&group, &o);
	owner_label(&label, &o);
	if (!group.len || !label.len)
		abort();
	return 0;
}
