/* Rust's two manglings: legacy (_ZN...17h<hash>E) and v0 (_R..., RFC 2603). */
#include <stdint.h>
#include <string.h>

#include "buf.h"
#include "demangle.h"
#include "text.h"

enum { RUST_MAX_DEPTH = 64, RUST_MAX_OUT = 4096 };

static bool is_hash(const char *p, size_t len)
{
	if (len != 17 || p[0] != 'h')
		return false;
	return strspn(p + 1, "0123456789abcdef") >= 16;
}

/* "$LT$" → "<", ".." → "::" in a legacy identifier. */
static void legacy_part(struct buf *out, const char *p, size_t len)
{
	static const struct {
		const char *code, *text;
	} codes[] = { { "$SP$", "@" },  { "$BP$", "*" },   { "$RF$", "&" },  { "$LT$", "<" },
		      { "$GT$", ">" },  { "$LP$", "(" },   { "$RP$", ")" },  { "$C$", "," },
		      { "$u20$", " " }, { "$u22$", "\"" }, { "$u27$", "'" }, { "$u2b$", "+" },
		      { "$u3b$", ";" }, { "$u5b$", "[" },  { "$u5d$", "]" }, { "$u7b$", "{" },
		      { "$u7d$", "}" }, { "$u7e$", "~" } };
	const char *end = p + len;

	if (len > 1 && p[0] == '_' && p[1] == '$')
		p++;
	while (p < end) {
		size_t took = 0;
		for (size_t i = 0; *p == '$' && i < sizeof(codes) / sizeof(codes[0]); i++) {
			size_t n = strlen(codes[i].code);
			if ((size_t)(end - p) >= n && memcmp(p, codes[i].code, n) == 0) {
				buf_add_str(out, codes[i].text);
				took = n;
				break;
			}
		}
		if (!took && end - p > 1 && p[0] == '.' && p[1] == '.') {
			buf_add_str(out, "::");
			took = 2;
		}
		if (!took) {
			buf_add_char(out, *p);
			took = 1;
		}
		p += took;
	}
}

static bool legacy(const char *symbol, struct buf *out)
{
	const char *p = symbol + 3; /* _ZN */
	bool hashed = false;

	while (*p && *p != 'E') {
		uint64_t len;
		if (text_take_u64(&p, &len) < 0 || !len || len > strlen(p) || hashed)
			return false;
		hashed = is_hash(p, len);
		if (!hashed) {
			if (out->len)
				buf_add_str(out, "::");
			legacy_part(out, p, len);
		}
		p += len;
	}
	/* without the hash it is C++ */
	return hashed && *p == 'E';
}

struct v0 {
	const char *start, *at, *end; /* start: behind "_R" */
	struct buf *out;
	unsigned depth;
	bool failed, quiet;
};

static void v0_path(struct v0 *v, bool in_value);
static void v0_type(struct v0 *v);

static char v0_next(struct v0 *v)
{
	if (v->at >= v->end) {
		v->failed = true;
		return '\0';
	}
	return *v->at++;
}

static bool v0_take(struct v0 *v, char c)
{
	if (v->at < v->end && *v->at == c) {
		v->at++;
		return true;
	}
	return false;
}

static void v0_put(struct v0 *v, const char *text, size_t len)
{
	if (v->out->len + len > RUST_MAX_OUT)
		v->failed = true;
	else if (!v->quiet)
		buf_add(v->out, text, len);
}

static void v0_puts(struct v0 *v, const char *text)
{
	v0_put(v, text, strlen(text));
}

static uint64_t v0_base62(struct v0 *v)
{
	uint64_t value = 0;

	if (v0_take(v, '_'))
		return 0;
	for (char c = v0_next(v); c != '_' && !v->failed; c = v0_next(v)) {
		unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
				 : c >= 'a' && c <= 'z' ? (unsigned)(c - 'a') + 10
				 : c >= 'A' && c <= 'Z' ? (unsigned)(c - 'A') + 36
							: 99;
		if (digit == 99 || value > UINT64_MAX / 62 - 62) {
			v->failed = true;
			return 0;
		}
		value = value * 62 + digit;
	}
	return value + 1;
}

static uint64_t v0_disambiguator(struct v0 *v)
{
	return v0_take(v, 's') ? v0_base62(v) + 1 : 0;
}

/* Punycode identifiers (u...) are shown as they are. */
static void v0_identifier(struct v0 *v, const char **ret, size_t *ret_len)
{
	uint64_t len = 0;

	v0_take(v, 'u');
	*ret = "";
	*ret_len = 0;
	if (v->at >= v->end || *v->at < '0' || *v->at > '9') {
		v->failed = true;
		return;
	}
	while (v->at < v->end && *v->at >= '0' && *v->at <= '9' && len < 10000)
		len = len * 10 + (uint64_t)(*v->at++ - '0');
	v0_take(v, '_');
	if (len > (uint64_t)(v->end - v->at)) {
		v->failed = true;
		return;
	}
	*ret = v->at;
	*ret_len = len;
	v->at += len;
}

/* Go on at an earlier place, then come back. */
static void v0_backref(struct v0 *v, void (*parse)(struct v0 *v))
{
	const char *here = v->at - 1;
	uint64_t at = v0_base62(v);
	const char *back = v->at;

	if (v->failed || at >= (uint64_t)(here - v->start)) {
		v->failed = true;
		return;
	}
	v->at = v->start + at;
	parse(v);
	v->at = back;
}

static void v0_path_value(struct v0 *v)
{
	v0_path(v, true);
}

static void v0_lifetime(struct v0 *v)
{
	(void)v0_base62(v);
}

static void v0_const(struct v0 *v)
{
	char type = v0_next(v);

	if (type == 'B') {
		v0_backref(v, v0_const);
		return;
	}
	if (type == 'p') {
		v0_puts(v, "_");
		return;
	}
	if (v0_take(v, 'n'))
		v0_puts(v, "-");
	const char *digits = v->at;
	while (v->at < v->end && *v->at != '_')
		v->at++;
	size_t len = (size_t)(v->at - digits);
	if (type == 'b') {
		v0_puts(v, len == 1 && *digits == '1' ? "true" : "false");
	} else {
		v0_puts(v, "0x");
		v0_put(v, digits, len);
	}
	if (!v0_take(v, '_'))
		v->failed = true;
}

static void v0_generics(struct v0 *v)
{
	v0_puts(v, "<");
	for (bool first = true; !v->failed && !v0_take(v, 'E'); first = false) {
		if (!first)
			v0_puts(v, ", ");
		if (v0_take(v, 'L')) {
			v0_lifetime(v);
			v0_puts(v, "'_");
		} else if (v0_take(v, 'K')) {
			v0_const(v);
		} else {
			v0_type(v);
		}
	}
	v0_puts(v, ">");
}

static void v0_nested(struct v0 *v, bool in_value)
{
	char space = v0_next(v);
	const char *name;
	size_t len;

	v0_path(v, in_value);
	uint64_t number = v0_disambiguator(v);
	v0_identifier(v, &name, &len);
	(void)number;
	if (space >= 'A' && space <= 'Z') {
		v0_puts(v, space == 'C' ? "::{closure" : space == 'S' ? "::{shim" : "::{");
		if (len) {
			v0_puts(v, ":");
			v0_put(v, name, len);
		}
		v0_puts(v, "}");
	} else if (len) {
		v0_puts(v, "::");
		v0_put(v, name, len);
	}
}

/* The path of an impl block itself is not shown. */
static void v0_impl_path(struct v0 *v)
{
	bool quiet = v->quiet;

	(void)v0_disambiguator(v);
	v->quiet = true;
	v0_path(v, false);
	v->quiet = quiet;
}

static void v0_path_of(struct v0 *v, char tag, bool in_value)
{
	const char *name;
	size_t len;

	switch (tag) {
	case 'C':
		(void)v0_disambiguator(v);
		v0_identifier(v, &name, &len);
		v0_put(v, name, len);
		break;
	case 'N':
		v0_nested(v, in_value);
		break;
	case 'M':
	case 'X':
		v0_impl_path(v);
		/* fallthrough */
	case 'Y':
		v0_puts(v, "<");
		v0_type(v);
		if (tag != 'M') {
			v0_puts(v, " as ");
			v0_path(v, false);
		}
		v0_puts(v, ">");
		break;
	case 'I':
		v0_path(v, in_value);
		if (in_value)
			v0_puts(v, "::");
		v0_generics(v);
		break;
	case 'B':
		v0_backref(v, v0_path_value);
		break;
	default:
		v->failed = true;
		break;
	}
}

static void v0_path(struct v0 *v, bool in_value)
{
	if (v->failed || ++v->depth > RUST_MAX_DEPTH) {
		v->failed = true;
		return;
	}
	char tag = v0_next(v);
	if (!v->failed)
		v0_path_of(v, tag, in_value);
	v->depth--;
}

static const char *basic_type(char tag)
{
	static const char *const names[26] = {
		"i8",    "bool", "char", "f64", "str",  "f32",  NULL,  "u8", "isize",
		"usize", NULL,   "i32",  "u32", "i128", "u128", "_",   NULL, NULL,
		"i16",   "u16",  "()",   "...", NULL,   "i64",  "u64", "!",
	};
	return tag >= 'a' && tag <= 'z' ? names[tag - 'a'] : NULL;
}

static void v0_list(struct v0 *v, const char *open, const char *close)
{
	v0_puts(v, open);
	for (bool first = true; !v->failed && !v0_take(v, 'E'); first = false) {
		if (!first)
			v0_puts(v, ", ");
		v0_type(v);
	}
	v0_puts(v, close);
}

static void v0_fn(struct v0 *v)
{
	const char *abi;
	size_t len;

	if (v0_take(v, 'G'))
		(void)v0_base62(v);
	if (v0_take(v, 'U'))
		v0_puts(v, "unsafe ");
	if (v0_take(v, 'K') && !v0_take(v, 'C'))
		v0_identifier(v, &abi, &len);
	v0_list(v, "fn(", ")");
	if (v0_take(v, 'u'))
		return;
	v0_puts(v, " -> ");
	v0_type(v);
}

static void v0_dyn(struct v0 *v)
{
	const char *name;
	size_t len;

	v0_puts(v, "dyn ");
	if (v0_take(v, 'G'))
		(void)v0_base62(v);
	for (bool first = true; !v->failed && !v0_take(v, 'E'); first = false) {
		if (!first)
			v0_puts(v, " + ");
		v0_path(v, false);
		while (v0_take(v, 'p')) {
			v0_identifier(v, &name, &len);
			v0_puts(v, "<");
			v0_put(v, name, len);
			v0_puts(v, " = ");
			v0_type(v);
			v0_puts(v, ">");
		}
	}
	if (v0_take(v, 'L'))
		v0_lifetime(v);
}

static void v0_compound(struct v0 *v, char tag)
{
	switch (tag) {
	case 'R':
	case 'Q':
		v0_puts(v, "&");
		if (v0_take(v, 'L'))
			v0_lifetime(v);
		if (tag == 'Q')
			v0_puts(v, "mut ");
		v0_type(v);
		break;
	case 'P':
	case 'O':
		v0_puts(v, tag == 'P' ? "*const " : "*mut ");
		v0_type(v);
		break;
	case 'A':
	case 'S':
		v0_puts(v, "[");
		v0_type(v);
		if (tag == 'A') {
			v0_puts(v, "; ");
			v0_const(v);
		}
		v0_puts(v, "]");
		break;
	case 'T':
		v0_list(v, "(", ")");
		break;
	case 'F':
		v0_fn(v);
		break;
	case 'D':
		v0_dyn(v);
		break;
	case 'B':
		v0_backref(v, v0_type);
		break;
	default:
		v->at--;
		v0_path(v, false);
		break;
	}
}

static void v0_type(struct v0 *v)
{
	if (v->failed || ++v->depth > RUST_MAX_DEPTH) {
		v->failed = true;
		return;
	}
	char tag = v0_next(v);
	const char *basic = basic_type(tag);
	if (basic)
		v0_puts(v, basic);
	else if (!v->failed)
		v0_compound(v, tag);
	v->depth--;
}

static bool v0(const char *symbol, struct buf *out)
{
	struct v0 v = { .start = symbol + 2, .at = symbol + 2, .out = out };

	v.end = v.start + strcspn(v.start, ".$"); /* ".llvm.123" and other suffixes */
	if (v.at < v.end && *v.at >= '0' && *v.at <= '9')
		return false; /* a version that is not known */
	v0_path(&v, true);
	return !v.failed && out->len && !out->failed;
}

bool demangle_rust(const char *symbol, char *ret, size_t size)
{
	AUTO_BUF struct buf out = { 0 };
	bool done = false;

	if (text_starts(symbol, "_ZN"))
		done = legacy(symbol, &out);
	else if (text_starts(symbol, "_R"))
		done = v0(symbol, &out);
	if (done)
		text_copy(ret, size, buf_str(&out));
	return done;
}
