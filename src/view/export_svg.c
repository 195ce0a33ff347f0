#include "export_svg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "esc.h"

enum { ROW = 17, TOP = 56, BOTTOM = 34, SIDE = 10, CHAR_WIDTH = 7 };

/* The page's own behaviour. Frames are <g class="f"> with their place in data-x and data-w, in
 * parts of the whole; everything drawn follows from these and the zoomed range. */
static const char script[] =
	"(function(){'use strict';\n"
	"var me=document.currentScript,svg=me?me.ownerSVGElement:document.documentElement;\n"
	"var q=function(s){return svg.querySelector(s);};\n"
	"var fs=Array.prototype.slice.call(svg.querySelectorAll('g.f'));\n"
	"var W=+svg.getAttribute('data-width'),S=+svg.getAttribute('data-side'),CW=7;\n"
	"var info=q('.info'),hit=q('.hit'),reset=q('.reset'),find=q('.find');\n"
	"var lo=0,hi=1,term='';\n"
	"fs.forEach(function(g){g.x=+g.getAttribute('data-x');g.w=+g.getAttribute('data-w');\n"
	" g.n=g.getAttribute('data-n');g.d=+g.getAttribute('data-d');\n"
	" g.r=g.querySelector('rect');g.t=g.querySelector('text');g.c=g.r.getAttribute('fill');});"
	"\n"
	"function draw(){var k=(W-2*S)/(hi-lo);fs.forEach(function(g){\n"
	" var a=Math.max(g.x,lo),b=Math.min(g.x+g.w,hi);\n"
	" if(b-a<=1e-12||(b-a)*k<0.1){g.style.display='none';return;}\n"
	" g.style.display='';var x=S+(a-lo)*k,w=(b-a)*k;\n"
	" g.r.setAttribute('x',x.toFixed(1));g.r.setAttribute('width',Math.max(w-0.3,0.2).toFixed("
	"1));\n"
	" g.classList.toggle('p',g.x<lo-1e-12||g.x+g.w>hi+1e-12);\n"
	" var m=Math.floor((w-6)/CW),s='';\n"
	" if(m>=3)s=g.n.length<=m?g.n:g.n.slice(0,m-2)+'..';\n"
	" g.t.setAttribute('x',(x+3).toFixed(1));g.t.textContent=s;});\n"
	" reset.style.display=(lo>0||hi<1)?'':'none';}\n"
	"function zoom(a,b){lo=a;hi=b;draw();search(term);}\n"
	"function search(s){term=s;if(!s){fs.forEach(function(g){g.r.setAttribute('fill',g.c);});\n"
	" hit.textContent='';find.textContent='Search';return;}\n"
	" var re;try{re=new RegExp(s);}catch(e){hit.textContent='bad pattern';return;}\n"
	" var spans=[];fs.forEach(function(g){var m=re.test(g.n);\n"
	" g.r.setAttribute('fill',m?'#e600e6':g.c);\n"
	" var a=Math.max(g.x,lo),b=Math.min(g.x+g.w,hi);if(m&&b>a)spans.push([a,b]);});\n"
	" spans.sort(function(a,b){return a[0]-b[0]||b[1]-a[1];});\n"
	" var "
	"sum=0,end=-1;spans.forEach(function(p){if(p[1]>end){sum+=p[1]-Math.max(p[0],end);end=p[1];"
	"}});\n"
	" hit.textContent='Matched: '+(100*sum/(hi-lo)).toFixed(1)+'%';find.textContent='Reset "
	"search';}\n"
	"svg.addEventListener('click',function(e){var "
	"g=e.target.closest?e.target.closest('g.f'):null;\n"
	" if(g){zoom(g.x,g.x+g.w);return;}\n"
	" if(e.target===reset)zoom(0,1);\n"
	" if(e.target===find)ask();});\n"
	"function ask(){if(term){search('');return;}\n"
	" var s=window.prompt('Search for (regular expression):','');if(s)search(s);}\n"
	"svg.addEventListener('mouseover',function(e){var "
	"g=e.target.closest?e.target.closest('g.f'):null;\n"
	" info.textContent=g?g.querySelector('title').textContent:'';});\n"
	"window.addEventListener('keydown',function(e){\n"
	" if((e.ctrlKey||e.metaKey)&&e.key==='f'){e.preventDefault();ask();}\n"
	" if(e.key==='Escape'){search('');zoom(0,1);}});\n"
	"svg.flame={zoom:zoom,search:search};draw();\n"
	"})();\n";

static const char style[] =
	"text{font:12px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#111}\n"
	".title{font-size:17px;font-weight:600}.sub{fill:#555}\n"
	".button{fill:#1a5fb4;cursor:pointer}.button:hover{text-decoration:underline}\n"
	"g.f{cursor:pointer}g.f:hover rect{stroke:#000;stroke-width:.7}\n"
	"g.f text{pointer-events:none}g.p{opacity:.55}\n"
	"@media (prefers-color-scheme:dark){.bg{fill:#16181d}.out{fill:#e6e6e6}.sub{fill:#aaa}"
	".button{fill:#7ab4ff}}\n";

/* The same name has the same colour in every graph. */
static void node_color(const struct export_tree *t, const struct export_node *n, char ret[16])
{
	static const struct {
		uint8_t base[3], spread[3];
	} palette[] = {
		[EXPORT_ROOT] = { { 200, 200, 200 }, { 0, 0, 0 } },
		[EXPORT_COMM] = { { 165, 180, 195 }, { 30, 25, 25 } },
		[EXPORT_USER] = { { 225, 95, 60 }, { 30, 100, 20 } },
		[EXPORT_KERNEL] = { { 235, 150, 50 }, { 20, 50, 30 } },
		[EXPORT_JIT] = { { 95, 185, 90 }, { 40, 40, 40 } },
		[EXPORT_INLINED] = { { 80, 170, 170 }, { 40, 40, 40 } },
		[EXPORT_UNKNOWN] = { { 205, 185, 165 }, { 25, 20, 20 } },
	};
	uint8_t c[3];

	if (t->differential && n->kind != EXPORT_ROOT) {
		double after = t->total ? (double)n->total / (double)t->total : 0;
		double was = t->before_total ? (double)n->before / (double)t->before_total : 0;
		double change = after + was > 0 ? (after - was) / (after > was ? after : was) : 0;
		uint8_t pale = (uint8_t)(235 - 165 * (change < 0 ? -change : change));
		snprintf(ret, 16, "#%02x%02x%02x", change < 0 ? pale : 240, pale,
			 change > 0 ? pale : 240);
		return;
	}
	uint64_t h = hash_bytes(n->name, strlen(n->name));
	for (int i = 0; i < 3; i++, h >>= 16)
		c[i] = (uint8_t)(palette[n->kind].base[i] +
				 (h & 0xffff) * palette[n->kind].spread[i] / 0xffff);
	snprintf(ret, 16, "#%02x%02x%02x", c[0], c[1], c[2]);
}

static void add_escaped(struct buf *out, const char *text)
{
	esc_html(out, text, strlen(text));
}

static void add_count(struct buf *out, uint64_t n)
{
	char digits[32];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			buf_add_char(out, ',');
		buf_add_char(out, digits[i]);
	}
}

static double share_of(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static void add_title(struct buf *out, const struct export_tree *t, const struct export_node *n)
{
	buf_add_str(out, "<title>");
	add_escaped(out, n->name);
	buf_add_str(out, " (");
	add_count(out, n->total);
	buf_addf(out, " %s, %.2f%%", t->unit ? t->unit : "samples",
		 100 * share_of(n->total, t->total));
	if (t->differential)
		buf_addf(out, "; before %.2f%%", 100 * share_of(n->before, t->before_total));
	buf_add_str(out, ")</title>");
}

struct svg_place {
	uint32_t node;
	uint64_t start; /* in the tree's unit */
};

struct svg_draw {
	struct buf *out;
	const struct export_tree *t;
	double scale; /* pixels per unit */
	double least; /* pixels */
	unsigned height;
};

static void draw_node(const struct svg_draw *d, const struct svg_place *p)
{
	const struct export_node *n = &d->t->nodes.items[p->node];
	double x = SIDE + (double)p->start * d->scale, w = (double)n->total * d->scale;
	unsigned y = d->height - BOTTOM - (n->depth + 1) * ROW;
	size_t room = w > 6 ? (size_t)((w - 6) / CHAR_WIDTH) : 0, len = strlen(n->name);
	char color[16];

	node_color(d->t, n, color);
	buf_addf(d->out, "<g class=\"f\" data-x=\"%.9f\" data-w=\"%.9f\" data-d=\"%u\" data-n=\"",
		 share_of(p->start, d->t->total), share_of(n->total, d->t->total), n->depth);
	add_escaped(d->out, n->name);
	buf_add_str(d->out, "\">");
	add_title(d->out, d->t, n);
	buf_addf(d->out,
		 "<rect x=\"%.1f\" y=\"%u\" width=\"%.1f\" height=\"%d\" fill=\"%s\" rx=\"1.5\"/>"
		 "<text x=\"%.1f\" y=\"%u\">",
		 x, y, w > 0.5 ? w - 0.3 : w, ROW - 1, color, x + 3, y + 12);
	if (room >= 3) {
		/* a cut inside a UTF-8 sequence is repaired by the escaper */
		esc_html(d->out, n->name, len <= room ? len : room - 2);
		if (len > room)
			buf_add_str(d->out, "..");
	}
	buf_add_str(d->out, "</text></g>\n");
}

/* Parents before children, without recursion: stacks are a thousand deep when they want to be. */
static void draw_tree(const struct svg_draw *d)
{
	VEC(struct svg_place) todo = { 0 };

	(void)vec_push(&todo, ((struct svg_place){ 0, 0 }));
	while (todo.len) {
		struct svg_place p = todo.items[--todo.len];
		const struct export_node *n = &d->t->nodes.items[p.node];
		if ((double)n->total * d->scale < d->least)
			continue;
		draw_node(d, &p);
		uint64_t start = p.start;
		for (uint32_t c = n->first_child; c; c = d->t->nodes.items[c].next_sibling) {
			if (!vec_push(&todo, ((struct svg_place){ c, start })))
				d->out->failed = true;
			start += d->t->nodes.items[c].total;
		}
	}
	vec_free(&todo);
}

/* Rows that are drawn at all: nothing is deeper than the deepest wide frame. */
static unsigned visible_depth(const struct export_tree *t, double scale, double least)
{
	unsigned depth = 0;
	vec_foreach (&t->nodes, n)
		if ((double)n->total * scale >= least && n->depth > depth)
			depth = n->depth;
	return depth;
}

void export_svg(struct buf *out, const struct export_tree *tree, const struct svg_options *o)
{
	unsigned width = o->width ? o->width : 1200;
	struct svg_draw d = { .out = out, .t = tree };

	d.least = o->min_width > 0 ? o->min_width : 0.1;
	d.scale = tree->total ? (width - 2.0 * SIDE) / (double)tree->total : 0;
	d.height = TOP + BOTTOM + (visible_depth(tree, d.scale, d.least) + 1) * ROW;
	buf_addf(out,
		 "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%u\" "
		 "height=\"%u\" "
		 "viewBox=\"0 0 %u %u\" data-width=\"%u\" data-side=\"%d\">\n<style>%s</style>\n"
		 "<rect class=\"bg\" width=\"100%%\" height=\"100%%\" fill=\"#fbfbf8\"/>\n",
		 width, d.height, width, d.height, width, SIDE, style);
	buf_addf(out, "<text class=\"title out\" x=\"%d\" y=\"24\">", SIDE);
	add_escaped(out, o->title ? o->title : "Flame graph");
	buf_addf(out, "</text>\n<text class=\"sub\" x=\"%d\" y=\"43\">", SIDE);
	add_escaped(out, o->subtitle ? o->subtitle : "");
	buf_addf(out,
		 "</text>\n<text class=\"button find\" x=\"%u\" y=\"24\" "
		 "text-anchor=\"end\">Search</text>"
		 "<text class=\"button reset\" x=\"%u\" y=\"43\" text-anchor=\"end\" "
		 "style=\"display:none\">Reset zoom</text>\n"
		 "<text class=\"info out\" x=\"%d\" y=\"%u\"></text>"
		 "<text class=\"hit out\" x=\"%u\" y=\"%u\" text-anchor=\"end\"></text>\n",
		 width - SIDE, width - SIDE, SIDE, d.height - 12, width - SIDE, d.height - 12);
	if (tree->nodes.len && tree->total)
		draw_tree(&d);
	else
		buf_addf(out, "<text class=\"out\" x=\"%d\" y=\"%d\">no samples</text>\n", SIDE,
			 TOP);
	buf_addf(out, "<script><![CDATA[\n%s]]></script>\n</svg>\n", script);
}

/* --- the page --- */

struct html_row {
	const char *name;
	uint64_t self, total;
};

static int row_compare(const void *a, const void *b)
{
	const struct html_row *x = a, *y = b;

	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Is a function of that name among the callers? Then its total is counted already. */
static bool node_recursive(const struct export_tree *t, const struct export_node *n)
{
	for (uint32_t at = n->parent; at; at = t->nodes.items[at].parent)
		if (t->nodes.items[at].name == n->name)
			return true;
	return false;
}

static void html_table(struct buf *out, const struct export_tree *t)
{
	AUTO_MAP_U64 struct map_u64 at = { 0 };
	VEC(struct html_row) rows = { 0 };
	enum { ROWS = 30 };

	vec_foreach (&t->nodes, n) {
		if (n->kind == EXPORT_ROOT || n->kind == EXPORT_COMM)
			continue;
		bool fresh;
		uint64_t *row = map_u64_put(&at, (uintptr_t)n->name, &fresh);
		if (!row)
			break;
		if (fresh) {
			*row = rows.len;
			if (!vec_push(&rows, ((struct html_row){ .name = n->name })))
				break;
		}
		rows.items[*row].self += n->self;
		if (!node_recursive(t, n))
			rows.items[*row].total += n->total;
	}
	vec_sort(&rows, row_compare);
	buf_add_str(out, "<table><thead><tr><th>self</th><th>total</th><th>function</th></tr></"
			 "thead><tbody>\n");
	for (size_t i = 0; i < rows.len && i < ROWS && rows.items[i].self; i++) {
		buf_addf(out, "<tr><td>%.2f %%</td><td>%.2f %%</td><td><code>",
			 100 * share_of(rows.items[i].self, t->total),
			 100 * share_of(rows.items[i].total, t->total));
		add_escaped(out, rows.items[i].name);
		buf_add_str(out, "</code></td></tr>\n");
	}
	buf_add_str(out, "</tbody></table>\n");
	vec_free(&rows);
}

void export_html(struct buf *out, const struct export_tree *tree, const struct svg_options *o)
{
	buf_add_str(out,
		    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
		    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		    "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
		    "<meta name=\"viewport\" content=\"width=device-width\"><title>");
	add_escaped(out, o->title ? o->title : "Flame graph");
	buf_add_str(
		out,
		"</title>\n<style>body{margin:0;font:14px system-ui,sans-serif;background:#fbfbf8;"
		"color:#111}svg{width:100%;height:auto}table{border-collapse:collapse;margin:1em "
		"10px}"
		"td,th{padding:2px 12px;text-align:left;border-bottom:1px solid #8883}"
		"td:nth-child(-n+2){text-align:right;font-variant-numeric:tabular-nums}"
		"@media (prefers-color-scheme:dark){body{background:#16181d;color:#e6e6e6}}"
		"</style></head><body>\n");
	export_svg(out, tree, o);
	html_table(out, tree);
	buf_add_str(out, "</body></html>\n");
}

static void json_node_head(struct buf *out, const struct export_tree *t,
			   const struct export_node *n)
{
	buf_add_str(out, "{\"name\":\"");
	esc_json(out, n->name, strlen(n->name));
	buf_addf(out, "\",\"value\":%llu,\"self\":%llu", (unsigned long long)n->total,
		 (unsigned long long)n->self);
	if (t->differential)
		buf_addf(out, ",\"before\":%llu", (unsigned long long)n->before);
}

/* By hand: stacks are deeper than the writer's nesting. */
void export_tree_json(struct json *j, const char *key, const struct export_tree *t)
{
	AUTO_BUF struct buf out = { 0 };
	uint32_t at = 0;

	if (!t->nodes.len) {
		json_null(j, key);
		return;
	}
	for (bool done = false; !done;) {
		const struct export_node *n = &t->nodes.items[at];
		json_node_head(&out, t, n);
		if (n->first_child) {
			buf_add_str(&out, ",\"children\":[");
			at = n->first_child;
			continue;
		}
		buf_add_char(&out, '}');
		while (at && !t->nodes.items[at].next_sibling) {
			at = t->nodes.items[at].parent;
			buf_add_str(&out, "]}");
		}
		done = at == 0;
		if (!done) {
			buf_add_char(&out, ',');
			at = t->nodes.items[at].next_sibling;
		}
	}
	json_raw(j, key, buf_str(&out), out.len);
}
