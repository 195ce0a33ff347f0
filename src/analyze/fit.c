#include "fit.h"

#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "text.h"

const char *fit_name(enum fit fit)
{
	return fit == FIT_YES ? "yes" : fit == FIT_NO ? "no" : "unknown";
}

static const char *const predicate_kinds[] = {
	"path", "nonempty", "absent",  "grep", "unit",  "dmi",   "pci",
	"virt", "imds",     "cmdline", "cap",  "class", "mount",
};

/* One predicate "kind:argument (remark)"; a bare path is path:. */
static enum probe fit_predicate(const char *text, const struct fit_host *host, char ret_source[160])
{
	char word[300], kind[16];
	const char *colon = strchr(text, ':');
	const char *remark = strstr(text, " (");

	text_copy_n(word, sizeof(word), text, remark ? (size_t)(remark - text) : strlen(text));
	for (size_t n = strlen(word); n && word[n - 1] == ' '; n--)
		word[n - 1] = '\0';
	ret_source[0] = '\0';
	if (remark && strstr(remark, "(optional"))
		return PROBE_UNKNOWN; /* its absence proves nothing */
	if (*word == '/')
		return host->ask(host->arg, "path", word, ret_source);
	if (!colon || !text_copy_n(kind, sizeof(kind), text, (size_t)(colon - text)))
		return PROBE_UNKNOWN;
	bool known = false;
	for (size_t i = 0; i < ARRAY_LEN(predicate_kinds); i++)
		known = known || strcmp(kind, predicate_kinds[i]) == 0;
	if (!known)
		return PROBE_UNKNOWN;
	char *argument = word + (colon - text) + 1;
	if (strcmp(kind, "dmi") != 0 || !strchr(argument, '|'))
		return host->ask(host->arg, kind, argument, ret_source);
	/* dmi:EC2|Azure|GCP */
	enum probe any = PROBE_NO;
	for (char *p = argument, *next; p && any != PROBE_YES; p = next) {
		next = strchr(p, '|');
		if (next)
			*next++ = '\0';
		enum probe r = host->ask(host->arg, kind, p, ret_source);
		any = r == PROBE_NO ? any : r;
	}
	return any;
}

/* Alternatives joined by " | ". */
static enum probe fit_clause(const char *text, size_t len, const struct fit_host *host,
			     char ret_source[160])
{
	char clause[600];
	enum probe any = PROBE_NO;

	text_copy_n(clause, sizeof(clause), text, len);
	for (char *p = clause, *bar; p; p = bar) {
		bar = strstr(p, " | ");
		if (bar) {
			*bar = '\0';
			bar += 3;
		}
		enum probe r = fit_predicate(text_skip_blanks(p), host, ret_source);
		if (r == PROBE_YES)
			return r;
		any = r == PROBE_UNKNOWN ? r : any;
	}
	return any;
}

enum probe fit_needs(const char *needs, const struct fit_host *host, char ret_why[300],
		     char ret_source[160])
{
	enum probe all = PROBE_YES;

	ret_why[0] = '\0';
	if (!*needs || strcmp(needs, "none") == 0)
		return PROBE_UNKNOWN;
	for (const char *p = needs; *p;) {
		const char *amp = strstr(p, " & ");
		size_t n = amp ? (size_t)(amp - p) : strlen(p);
		char source[160];
		enum probe r = fit_clause(p, n, host, source);
		if (r == PROBE_NO) {
			snprintf(ret_why, 300, "%.*s", (int)MIN_OF(n, 280u), p);
			text_copy(ret_source, 160, source);
			return PROBE_NO;
		}
		if (r == PROBE_UNKNOWN)
			all = r;
		else
			text_copy(ret_source, 160, source);
		p += n + (amp ? 3 : 0);
	}
	return all;
}

/* Environments that a row may name beside shapes, and the predicate that tells them. */
static const struct {
	const char *word, *kind, *argument;
} fit_environments[] = {
	{ "aws", "dmi", "Amazon EC2" }, { "gcp", "dmi", "Google" },
	{ "azure", "dmi", "Azure" },    { "vmware", "dmi", "VMware" },
	{ "gpu", "pci", "10de" },       { "metal", "virt", "no" },
	{ "rdma", "pci", "15b3" },      { "hyperv", "dmi", "Microsoft" },
};

struct fit_words {
	bool any, shape_hit, shape_named, environment_yes, environment_unknown, environment_no,
		other;
	bool qualified; /* a remark behind ";" speaks of this very shape */
};

static void fit_read_word(const char *word, const struct fit_host *host, struct fit_words *ret)
{
	enum host_shape shape;
	char source[160];

	if (strcmp(word, "any") == 0) {
		ret->any = true;
		return;
	}
	if (host_shape_parse(word, &shape) == 0) {
		ret->shape_named = true;
		ret->shape_hit = ret->shape_hit || shape == host->shape;
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(fit_environments); i++) {
		if (strcmp(word, fit_environments[i].word) != 0)
			continue;
		enum probe r = host->ask(host->arg, fit_environments[i].kind,
					 fit_environments[i].argument, source);
		*(r == PROBE_YES  ? &ret->environment_yes
		  : r == PROBE_NO ? &ret->environment_no
				  : &ret->environment_unknown) = true;
		return;
	}
	ret->other = true;
}

static void fit_read(const char *fits, const struct fit_host *host, struct fit_words *ret)
{
	const char *remark = strchr(fits, ';');
	size_t len = remark ? (size_t)(remark - fits) : strlen(fits);

	if (remark && host->shape != SHAPE_UNKNOWN)
		ret->qualified = strstr(remark, host_shape_name(host->shape)) != NULL;
	for (size_t at = 0; at < len;) {
		char word[40];
		size_t n = strcspn(fits + at, ",;");
		size_t w = strcspn(fits + at, " (:,;-");
		text_copy_n(word, sizeof(word), fits + at, MIN_OF(w, len - at));
		if (*word)
			fit_read_word(word, host, ret);
		at += n + 1;
		while (at < len && fits[at] == ' ')
			at++;
	}
}

static void fit_judge_row(const struct agent *a, const struct fit_host *host,
			  struct fit_result *ret)
{
	struct fit_words words = { 0 };
	char why[300], source[160] = "";
	enum probe needs = fit_needs(a->needs, host, why, source);

	*ret = (struct fit_result){ .agent = a };
	fit_read(a->fits, host, &words);
	bool shape_unknown = words.shape_named && host->shape == SHAPE_UNKNOWN;
	bool belongs = words.any || words.shape_hit || words.environment_yes;
	if (!belongs && !shape_unknown && !words.environment_unknown && !words.other &&
	    !words.qualified && (words.shape_named || words.environment_no)) {
		ret->fit = FIT_NO;
		snprintf(ret->why, sizeof(ret->why), "belongs on %.200s; this %s is %s", a->fits,
			 host->image ? "image" : "host", host_shape_name(host->shape));
		snprintf(ret->source, sizeof(ret->source), "%s", "knowledge base, column fits");
		return;
	}
	text_copy(ret->source, sizeof(ret->source), source);
	if (needs == PROBE_NO && host->image) {
		snprintf(ret->why, sizeof(ret->why),
			 "needs %.300s, which the image lacks (it may come at boot)", why);
	} else if (needs == PROBE_NO) {
		ret->fit = FIT_NO;
		snprintf(ret->why, sizeof(ret->why), "needs %.300s", why);
	} else if (words.shape_hit || needs == PROBE_YES || words.environment_yes) {
		ret->fit = FIT_YES;
		snprintf(ret->why, sizeof(ret->why), "belongs on %.200s",
			 *a->fits ? a->fits : "any host");
	} else {
		snprintf(ret->why, sizeof(ret->why),
			 "belongs on %.150s, needs %.200s: cannot be told here",
			 *a->fits ? a->fits : "?", *a->needs ? a->needs : "?");
	}
}

void fit_judge(const struct agents *agents, const char *unit, const struct fit_host *host,
	       struct fit_result *ret)
{
	const struct agent *a = agents_next(agents, unit, NULL);

	*ret = (struct fit_result){ 0 };
	if (!a) {
		snprintf(ret->why, sizeof(ret->why), "not in the knowledge base");
		return;
	}
	/* variants of one unit (distributions): one that fits is enough, one that is unknown keeps
	 * it open */
	fit_judge_row(a, host, ret);
	while ((a = agents_next(agents, unit, a))) {
		struct fit_result other;
		fit_judge_row(a, host, &other);
		if (ret->fit != FIT_YES &&
		    (other.fit == FIT_YES || (ret->fit == FIT_NO && other.fit == FIT_UNKNOWN)))
			*ret = other;
	}
}

enum restart_forecast fit_restart(const struct rec_service *u, char ret_words[240])
{
	unsigned long long us = u->restart_us, interval = u->limit_us, burst = u->limit_burst;

	ret_words[0] = '\0';
	if (!u->restart)
		return RESTART_UNKNOWN;
	if (strcmp(u->restart, "no") == 0) {
		snprintf(ret_words, 240, "Restart=no: a failure stays a failure");
		return RESTART_NEVER;
	}
	if (!(u->have & REC_UNIT_RESTART_US) || !(u->have & REC_UNIT_LIMIT))
		return RESTART_UNKNOWN;
	double seconds = (double)us / 1e6, window = (double)interval / 1e6;
	if (interval == 0 || burst == 0) {
		snprintf(ret_words, 240,
			 "Restart=%s with the start limit switched off loops for ever", u->restart);
		return RESTART_ENDLESS;
	}
	/* the limit trips when start number burst + 1 comes before the window is over */
	if (us > interval / burst || us * burst >= interval) {
		snprintf(ret_words, 240,
			 "Restart=%s RestartSec=%gs with StartLimit %llu/%gs can never trip: it "
			 "loops for "
			 "ever and is never listed as failed",
			 u->restart, seconds, burst, window);
		return RESTART_ENDLESS;
	}
	snprintf(ret_words, 240,
		 "Restart=%s RestartSec=%gs with StartLimit %llu/%gs stops only when a run takes "
		 "less than "
		 "%gs",
		 u->restart, seconds, burst, window, window / (double)burst - seconds);
	return RESTART_STOPS;
}
