#!/usr/bin/env python3
"""FlameGraph's stackcollapse-perf.pl itself (STACKCOLLAPSE=its path) beside ours: names and files of all kinds, and the texts of
the peers, with each of its options and byte by byte."""
import glob
import gzip
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
import peer

ZSCOPE = sys.argv[1]
SCRIPT = os.environ.get("STACKCOLLAPSE", "")
OPTIONS = [[], ["--pid"], ["--tid"], ["--kernel"], ["--jit"], ["--all"], ["--addrs"], ["--tid", "--all", "--addrs"]]
NAMES = r"""
box<void (int, char*)>::call(int) const+0x1f
std::function<int (int)>::operator()(int) const+0x3
std::_Function_handler<void (), main::{lambda()#1}>::_M_invoke(std::_Any_data const&)
run(int)::{lambda(long)#2}::operator()(long) const+0x10
{lambda(long)#2}::operator()(long)
a::operator<<(b&, int)
a::operator->(int)+0x5
a::operator[](int (*)(x<y>))
operator new(unsigned long)+0x1
(anonymous namespace)::g(char)+0x1
x::(anonymous namespace)::h::i(x::(anonymous namespace)::j)+0x2
x<(anonymous namespace)::k>::l((anonymous namespace)::m)
decltype(auto) f<int>(int)
void f<&(g(int))>(int)
f(int) [clone .isra.0]
f[abi:cxx11](int)
non-virtual thunk to A::b()
net/http.(*Client).Do+0x1
main.(*T[go.shape.int]).F(0xc000)
main.main.func1
<core::iter::Map<I,F> as core::iter::Iterator>::next::h0123456789abcdef
core::ops::function::FnOnce::call_once{{vtable.shim}}
_ZN3foo3bar17h0123456789abcdefE+0x9
RegExp:[&<>"\']
LazyCompile:*foo /a/b.js:12
Lorg/x/Y;.call(Lorg/z;)V+0x2
"Lorg/x/Y;.q(La;)V
Lnoslash;.call()V
Ljava/io/PrintStream;::print
a->b->c
a->b->
a->->b
a->->
->b
a->[unknown]
[unknown]->a
a_[i]->b_[i]
a_[j]
[unknown]
f+0xabc+0xdef
(comm)
f (x) y
open<(never closed
a b c
x@plt
nf_conntrack_in+0x7f
""".strip("\n").split("\n")
FILES = ["[kernel.kallsyms]", "[kernel.kallsyms].init.text", "[guest.kernel.kallsyms]", "[nf_conntrack]", "[vdso]", "[unknown]",
         "/boot/vmlinux", "vmlinux", "/usr/lib/debug/boot/vmlinux-6.1.0-18-amd64", "/unknown/vmlinux", "/lib/modules/6.1/kernel/net/x.ko",
         "bpf_prog_6deef7357e7b4530_x", "/tmp/perf-12.map", "/proc/1/root/tmp/perf-77.map", "/tmp/perf-.map", "/tmp/perf-12xmap",
         "/root/.debug/jit/x/jitted-12-3.so", "//anon", "inlined", "/usr/bin/a b", "/usr/lib/x.so"]
COMMS = ["app 12/13", "my app 12/13", "java 9", "java-x 9/10", "Xjava 9", "kworker/u4:1+ev 7", "swapper 0/0", "swapper 0", "(sd-pam) 4/4"]


def sample(comm, frames, event="cycles"):
    return f"{comm} [001] 100.000001: 7 {event}: \n" + "".join(f"\t{address:16x} {f}\n" for address, f in frames) + "\n"


def texts(directory):
    """The paths of texts to compare."""
    own = {
        "names": "".join(sample(c, [(0x7f00 + i, f"{n} (/usr/lib/x.so)"), (0x55, "main+0x1 (/bin/a)")])
                         for c in COMMS for i, n in enumerate(NAMES)),
        "files": "".join(sample(c, [(0x7f01, f"{n} ({f})"), (0x55, "main (/bin/a)")])
                         for c in COMMS for f in FILES for n in ("f(int)+0x1", "[unknown]", "La/b;::c->[unknown]->x_[j]")),
        "deleted": sample("app 1/2", [(1, "[unknown] (/usr/bin/x (deleted))"), (2, "main (/x)")]),
        "events": sample("app 1/2", [(1, "f (/x)")]) + sample("app 1/2", [(1, "g (/x)")], "faults") + sample("app 1/2", []),
    }
    for name, text in own.items():
        with open(os.path.join(directory, name + ".txt"), "w") as f:
            f.write(text)
    root = peer.data("flamegraph")
    with gzip.open(os.path.join(root, "example-perf-stacks.txt.gz")) as packed, \
            open(os.path.join(directory, "example-perf-stacks.txt"), "wb") as f:
        shutil.copyfileobj(packed, f)
    return sorted(glob.glob(os.path.join(directory, "*.txt")) + glob.glob(os.path.join(root, "test", "*.txt")))


if not os.path.exists(SCRIPT) or not shutil.which("perl"):
    print("skipped: no perl, or no stackcollapse-perf.pl (STACKCOLLAPSE=its path)")
    sys.exit(77)
cases = peer.Cases()
with tempfile.TemporaryDirectory() as scratch:
    for path in texts(scratch):
        for options in OPTIONS:
            want = peer.run(["perl", SCRIPT, *options, path]).stdout
            for command in ("flame", "export"):
                ours = peer.run([ZSCOPE, command, "--folded", *options, path]).stdout
                a, b = set(ours.splitlines()), set(want.splitlines())
                cases.check(" ".join([command, os.path.basename(path), *options]), want and ours == want,
                            f"ours {sorted(a - b)[:2]}, theirs {sorted(b - a)[:2]}")
cases.finish()
