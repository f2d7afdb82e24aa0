"""TTIR (op tree of mlirtext) -> textual LLVM IR: lazy tensors, one loop nest per sink."""
import re, struct, math
from ..ttir.reader import parse
from . import codegen

LT = {"i1": "i1", "i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64", "index": "i64",
      "f16": "half", "bf16": "bfloat", "f32": "float", "f64": "double", "f8E5M2": "i8", "f8E4M3FN": "i8"}
def lt(e): return "ptr" if e.startswith("ptr:") else LT[e]
def mt(e): return "i8" if e == "i1" else lt(e)
SZ = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "half": 2, "bfloat": 2, "float": 4, "double": 8, "ptr": 8}
def isf(e): return e in ("f16", "bf16", "f32", "f64")
def bits(e): return {"index": 64, "bf16": 16}.get(e) or int(e[1:])

class V(str):
    """an LLVM operand; lvl = depth of the nest loop it depends on (-1: none)"""
    lvl = -1
def mk(s, lvl=-1):
    v = V(s); v.lvl = lvl
    return v
TRUE, FALSE = V("true"), V("false")
def lv(*ops): return max([getattr(o, "lvl", -1) for o in ops], default=-1)

def fconst(e, x):
    if e == "f32": x = struct.unpack("f", struct.pack("f", x))[0] if math.isfinite(x) and abs(x) < 3.5e38 else x
    if e == "bf16": return "0xR%04X" % (struct.unpack("I", struct.pack("f", x))[0] >> 16)
    if e == "f16": return "0xH%04X" % struct.unpack("H", struct.pack("e", x))[0]
    return "0x%016X" % struct.unpack("Q", struct.pack("d", x))[0]
def const(e, s):
    s = s.strip()
    if isf(e):
        if s.lower().startswith("0x"):
            n = int(s, 16)
            if e == "f64": return "0x%016X" % n
            if e == "f32": return fconst("f64", struct.unpack("f", struct.pack("I", n))[0])
            return ("0xR%04X" if e == "bf16" else "0xH%04X") % n
        return fconst(e, float(s))
    if s in ("true", "false"): return s if e == "i1" else str(int(s == "true"))
    if s.startswith("0x"): s = str(int(s, 16))
    if e == "i1": return "true" if s in ("1", "-1") else "false"
    return s

class Seg:
    def __init__(s, label): s.lines, s.label, s.end = [], label, label
    def add(s, l): s.lines.append(l)
    def lab(s, l): s.lines.append(l + ":"); s.end = l

BIN = {"addi": "add", "subi": "sub", "muli": "mul", "andi": "and", "ori": "or", "xori": "xor", "shli": "shl", "shrsi": "ashr", "shrui": "lshr",
       "addf": "fadd", "subf": "fsub", "mulf": "fmul", "divf": "fdiv", "remf": "frem", "divsi": "sdiv", "divui": "udiv", "remsi": "srem", "remui": "urem"}
INTR2 = {"maxsi": "smax", "minsi": "smin", "maxui": "umax", "minui": "umin", "maxnumf": "maxnum", "minnumf": "minnum", "maximumf": "maximum", "minimumf": "minimum"}
CAST = {"extsi": "sext", "extui": "zext", "trunci": "trunc", "sitofp": "sitofp", "uitofp": "uitofp", "fptosi": "fptosi", "fptoui": "fptoui", "bitcast": "bitcast"}
ICMP = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"]
FCMP = ["false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true"]
INTR1 = {"sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "absf": "fabs", "trunc": "trunc", "round": "round", "roundeven": "roundeven", "rint": "rint"}
LIBM = {"exp", "exp2", "log", "log2", "log10", "log1p", "expm1", "sin", "cos", "tan", "erf", "tanh", "sinh", "cosh", "asin", "acos", "atan", "cbrt", "pow", "atan2"}
COSTLY = {"arith.divf", "arith.remf", "arith.divsi", "arith.remsi", "arith.divui", "arith.remui", "tt.extern_elementwise", "tt.precise_divf", "tt.precise_sqrt"}
STRUCT = {"tt.splat", "tt.make_range", "tt.broadcast", "tt.expand_dims", "tt.addptr", "tt.load", "tt.trans", "tt.reshape", "tt.join", "tt.split", "tt.cat",
          "tt.bitcast", "tt.fp_to_fp", "tt.int_to_ptr", "tt.ptr_to_int", "tt.clampf", "tt.mulhiui", "tt.extern_elementwise", "tt.precise_divf", "tt.precise_sqrt", "tt.gather"}
def lazy(op): return op.name in STRUCT or op.name.startswith(("arith.", "math."))
WRITES = {"tt.store", "tt.atomic_rmw", "tt.atomic_cas", "tt.call"}
FAST = {"arith.addf": (0.0, "fadd"), "arith.mulf": (1.0, "fmul"), "arith.addi": (0, "add"), "arith.muli": (1, "mul"), "arith.ori": (0, 0), "arith.andi": (-1, 0),
        "arith.xori": (0, 0), "arith.maxsi": ("smin", 0), "arith.minsi": ("smax", 0), "arith.maxui": (0, 0), "arith.minui": (-1, 0),
        "arith.maximumf": (-math.inf, 0), "arith.minimumf": (math.inf, 0)}

class Lower:
    def __init__(self, vw=64, veclib=None, contract=False, narrow=True, parallel=True, lanes=64, force=False, fdiv=True):
        self.force, self.fdiv = force, fdiv
        self.vw, self.veclib, self.contract, self.narrow, self.parallel, self.lanes = vw, veclib or {}, contract, narrow, parallel, lanes
        self.n, self.decl, self.md, self.allocas, self.attrs = 0, {}, [], [], {}

    # ---- emission
    def lab(self): self.n += 1; return f"L{self.n}"
    def tmp(self): self.n += 1; return f"%t{self.n}"
    def emit(self, rhs, *ops):
        l = lv(*ops); s = self.segs[min(l + 1, len(self.segs) - 1)]
        v = mk(self.tmp(), l); s.add(f"  {v} = {rhs}")
        return v
    def intr(self, name, t, *a, n=None):
        f = f"llvm.{name}.{ {'float':'f32','double':'f64','half':'f16','bfloat':'bf16'}.get(t, t) }"
        self.decl[f] = f"declare {t} @{f}({', '.join([t] * len(a))})"
        return self.emit(f"call {t} @{f}({', '.join(t + ' ' + x for x in a)})", *a)
    def group(self):
        self.md.append("distinct !{}"); return f"!{len(self.md) - 1}"
    def loopmd(self, grp, vec=True):
        k = len(self.md); self.md.append(None); items = [f"!{k}"]
        if grp: self.md.append('!{!"llvm.loop.parallel_accesses", %s}' % grp); items.append(f"!{len(self.md) - 1}")
        if vec and self.force: self.md.append('!{!"llvm.loop.vectorize.enable", i1 true}'); items.append(f"!{len(self.md) - 1}")
        self.md[k] = "distinct !{%s}" % ", ".join(items)
        return f"!{k}"
    def acc(self): return f", !llvm.access.group {self.grp}" if self.grp and self.parallel else ""
    def alloca(self, e, n):
        v = mk(self.tmp()); self.allocas.append(f"  {v} = alloca [{n} x {mt(e)}], align 64"); return v
    def ld(self, e, p, lvl=-1):
        r = self.emit(f"load {mt(e)}, ptr {p}{self.acc()}", p, mk("", lvl))
        return self.emit(f"trunc i8 {r} to i1", r) if e == "i1" else r
    def st(self, e, v, p):
        if e == "i1": v = self.emit(f"zext i1 {v} to i8", v)
        self.segs[-1].add(f"  store {mt(e)} {v}, ptr {p}{self.acc()}")
    def gep(self, e, base, i, it="i32"): return self.emit(f"getelementptr inbounds {mt(e)}, ptr {base}, {it} {i}", base, i)

    # ---- pointwise operators on LLVM scalars
    def pw(self, op, a):
        nm = op.name.split(".", 1)[1]; e = op.res[0].ty.elem; t = lt(e); ae = op.args[0].ty.elem if op.args else None; at = lt(ae) if ae else None
        if nm in BIN:
            o, x, y = BIN[nm], a[0], a[1]
            if nm == "andi":
                if "false" in (x, y): return mk("false", lv(x, y)) if e == "i1" else FALSE
                if x == "true": return mk(y, lv(x, y))
                if y == "true": return mk(x, lv(x, y))
            if nm in ("divsi", "divui", "remsi", "remui") and bits(e) <= 32 and self.fdiv and not re.match(r"-?[1-9]\d*$", y):   # exact through double, vectorises
                g = "s" if nm[3] == "s" else "u"; X = self.emit(f"{g}itofp {t} {x} to double", x); Y = self.emit(f"{g}itofp {t} {y} to double", y)
                q = self.emit(f"fdiv double {X}, {Y}", X, Y); q = self.emit(f"fpto{g}i double {q} to {t}", q); q = self.emit(f"freeze {t} {q}", q)
                if nm[:3] == "div": return q
                q = self.emit(f"mul {t} {q}, {y}", q, y); return self.emit(f"sub {t} {x}, {q}", x, q)
            if nm in ("divsi", "divui", "remsi", "remui") and not re.match(r"-?[1-9]\d*$", y):   # x86 traps on /0 and MIN/-1
                z = self.emit(f"icmp eq {t} {y}, 0", y); y = self.emit(f"select i1 {z}, {t} 1, {t} {y}", z, y)
            fl = " nsw" if nm in ("addi", "subi", "muli") and op.res[0] in self.idx else ""
            if o[0] == "f" and self.contract: fl = " contract"
            if self.fm and o in ("fadd", "fmul"): fl = " reassoc"
            return self.emit(f"{o}{fl} {t} {x}, {y}", x, y)
        if nm in INTR2: return self.intr(INTR2[nm], t, *a)
        if nm == "cmpi": return self.emit(f"icmp {ICMP[int(op.attrs['predicate'].split()[0])]} {at} {a[0]}, {a[1]}", *a)
        if nm == "cmpf": return self.emit(f"fcmp {FCMP[int(op.attrs['predicate'].split()[0])]} {at} {a[0]}, {a[1]}", *a)
        if nm == "select":
            if a[0] in ("true", "false"): r = a[1] if a[0] == "true" else a[2]; return mk(r, lv(a[0], r))
            return self.emit(f"select i1 {a[0]}, {t} {a[1]}, {t} {a[2]}", *a)
        if nm in CAST:
            if at == t: return a[0]
            if a[0] in ("true", "false"): a = [mk("1" if a[0] == "true" else "0", a[0].lvl)] ; at = "i1"; a[0] = mk("true" if a[0] == "1" else "false", a[0].lvl)
            return self.emit(f"{CAST[nm]} {at} {a[0]} to {t}", a[0])
        if nm in ("extf", "truncf", "fp_to_fp"):
            return a[0] if at == t else self.emit(f"{'fpext' if SZ[t] > SZ[at] else 'fptrunc'} {at} {a[0]} to {t}", a[0])
        if nm == "index_cast": 
            return a[0] if at == t else self.emit(f"{'sext' if SZ[t] > SZ[at] else 'trunc'} {at} {a[0]} to {t}", a[0])
        if nm == "negf": return self.emit(f"fneg {t} {a[0]}", a[0])
        if nm == "addptr":
            pe = op.res[0].ty.elem[4:]
            return self.emit(f"getelementptr {mt(pe)}, ptr {a[0]}, {lt(op.args[1].ty.elem)} {a[1]}", *a)
        if nm == "ptr_to_int": return self.emit(f"ptrtoint ptr {a[0]} to {t}", a[0])
        if nm == "int_to_ptr": return self.emit(f"inttoptr {at} {a[0]} to ptr", a[0])
        if nm == "absi": return self.emit_abs(t, a[0])
        if nm in INTR1 or nm == "precise_sqrt": return self.intr(INTR1.get(nm, "sqrt"), t, a[0])
        if nm == "precise_divf": return self.emit(f"fdiv {t} {a[0]}, {a[1]}", *a)
        if nm == "rsqrt":
            r = self.intr("sqrt", t, a[0]); return self.emit(f"fdiv {t} {const(e, '1.0')}, {r}", r)
        if nm == "fma": return self.intr("fma", t, *a)
        if nm == "clampf": return self.intr("minnum", t, self.intr("maxnum", t, a[0], a[1]), a[2])
        if nm in ("mulhiui", "mulsi_extended", "mului_extended"):
            w = "i%d" % (2 * bits(e)); x = self.emit(f"zext {t} {a[0]} to {w}", a[0]); y = self.emit(f"zext {t} {a[1]} to {w}", a[1])
            r = self.emit(f"mul {w} {x}, {y}", x, y); r = self.emit(f"lshr {w} {r}, {bits(e)}", r); return self.emit(f"trunc {w} {r} to {t}", r)
        fn = op.attrs["symbol"].strip('"') if nm == "extern_elementwise" else nm
        if fn in LIBM or nm == "extern_elementwise":
            if t in ("half", "bfloat"):
                r = self.libm(fn, "float", *[self.emit(f"fpext {t} {x} to float", x) for x in a]); return self.emit(f"fptrunc float {r} to {t}", r)
            return self.libm(fn, t, *a)
        raise NotImplementedError(op.name)
    def emit_abs(self, t, x):
        self.decl["abs" + t] = f"declare {t} @llvm.abs.{t}({t}, i1)"
        return self.emit(f"call {t} @llvm.abs.{t}({t} {x}, i1 false)", x)
    def libm(self, fn, t, *a):
        f = fn + ("f" if t == "float" else "")
        self.decl[f] = f"declare {t} @{f}({', '.join([t] * len(a))}) #1"
        at = ""
        vs = self.veclib.get(f)
        if vs:
            for w, nm in vs: self.decl[nm] = f"declare <{w} x {t}> @{nm}({', '.join([f'<{w} x {t}>'] * len(a))})"; self.used.add(nm)
            k = self.attrs.setdefault(f, (len(self.attrs) + 2, '"vector-function-abi-variant"="' + ",".join(f"_ZGV_LLVM_N{w}{'v' * len(a)}_{f}({nm})" for w, nm in vs) + '"'))
            at = f" #{k[0]}"
        return self.emit(f"call {t} @{f}({', '.join(t + ' ' + x for x in a)}){at}", *a)

    # ---- lazy evaluation of element idx of a tensor value
    def scalar(self, v):
        return self.sc[v]
    def lin(self, idx, shape):
        runs = []                       # [operand, nbits, (base, bitpos) or None]
        for i, d in zip(idx, shape):
            if d == 1: continue
            nb = d.bit_length() - 1; dl = self.bits_of.get(i)
            if dl and runs and runs[-1][2] and runs[-1][2][0] == dl[0] and runs[-1][2][1] == dl[1] + nb: runs[-1] = [None, runs[-1][1] + nb, dl]
            else: runs.append([i, nb, dl])
        r = None
        for i, nb, dl in runs:
            if i is None:
                base, p = dl; i = base
                if p: i = self.emit(f"lshr i32 {i}, {p}", i)
                if p + nb < self.base_bits[base]: i = self.emit(f"and i32 {i}, {(1 << nb) - 1}", i)
            if r is None or r == "0": r = i
            else:
                r = self.emit(f"mul nuw nsw i32 {r}, {1 << nb}", r)
                if i != "0": r = self.emit(f"add nuw nsw i32 {r}, {i}", r, i)
        return r if r is not None else V("0")
    def delin(self, l, shape):
        if l not in self.base_bits:
            n = 1
            for d in shape: n *= d
            self.base_bits[l] = n.bit_length() - 1
        out, p = [], 0
        for d in reversed(shape):
            if d == 1: out.append(V("0")); continue
            nb = d.bit_length() - 1; x = self.emit(f"lshr i32 {l}, {p}", l) if p else l
            if p + nb < self.base_bits[l]: x = self.emit(f"and i32 {x}, {d - 1}", x)
            if x is not l: self.bits_of[x] = (l, p)
            p += nb; out.append(x)
        return tuple(reversed(out))
    def ev(self, v, idx):
        if v.ty.shape is None: return self.scalar(v)
        k = (v, idx)
        r = self.decided.get(k) or self.memo.get(k)
        if r is None: r = self.memo[k] = self._ev(v, idx)
        return r
    def _ev(self, v, idx):
        e = v.ty.elem
        if v in self.buf: 
            return self.ld(e, self.gep(e, self.buf[v], self.lin(idx, v.ty.shape)))
        if v in self.induct:
            init, phi, op = self.induct[v]; x = self.ev(init, idx)
            return self.pw(op, [x, phi])
        op = v.op; n = op.name; A = op.args
        if n == "arith.constant":
            s = op.attrs["value"]; m = re.match(r"dense<(.*)> : ", s); 
            assert not m[1].startswith("["), s
            return V(const(e, m[1]))
        if n == "tt.splat": return self.sc[A[0]]
        if n == "tt.make_range":
            s = int(op.attrs["start"].split()[0])
            return idx[0] if s == 0 else self.emit(f"add nuw nsw i32 {idx[0]}, {s}", idx[0])
        if n == "tt.expand_dims":
            ax = int(op.attrs["axis"].split()[0]); return self.ev(A[0], idx[:ax] + idx[ax + 1:])
        if n == "tt.broadcast": return self.ev(A[0], tuple(V("0") if d == 1 else i for d, i in zip(A[0].ty.shape, idx)))
        if n == "tt.trans":
            o = [int(x) for x in op.attrs["order"].split(":")[1].rstrip(">").split(",")]
            src = [None] * len(o)
            for i, k in enumerate(o): src[k] = idx[i]
            return self.ev(A[0], tuple(src))
        if n == "tt.reshape":
            l = self.lin(idx, v.ty.shape); return self.ev(A[0], self.delin(l, A[0].ty.shape))
        if n == "tt.join":
            x, y = self.ev(A[0], idx[:-1]), self.ev(A[1], idx[:-1]); c = self.emit(f"icmp eq i32 {idx[-1]}, 0", idx[-1])
            return self.emit(f"select i1 {c}, {lt(e)} {x}, {lt(e)} {y}", c, x, y)
        if n == "tt.split": return self.ev(A[0], idx + (V(str(v.n)),))
        if n == "tt.cat":
            h = A[0].ty.shape[0]; c = self.emit(f"icmp ult i32 {idx[0]}, {h}", idx[0]); j = self.emit(f"and i32 {idx[0]}, {h - 1}", idx[0])
            x, y = self.ev(A[0], (j,) + idx[1:]), self.ev(A[1], (j,) + idx[1:]); return self.emit(f"select i1 {c}, {lt(e)} {x}, {lt(e)} {y}", c, x, y)
        if n == "tt.gather":
            ax = int(op.attrs["axis"].split()[0]); j = self.ev(A[1], idx)
            if lt(A[1].ty.elem) != "i32": j = self.emit(f"trunc {lt(A[1].ty.elem)} {j} to i32", j)
            return self.ev(A[0], idx[:ax] + (j,) + idx[ax + 1:])
        if n == "tt.load": return self.load(op, e, [self.ev(a, idx) for a in A])
        return self.pw(op, [self.ev(a, idx) for a in A])
    def load(self, op, e, a):
        t = lt(e); z = const(e, "0") if not e.startswith("ptr") else "null"
        other = a[2] if len(a) > 2 else V(z)
        m = a[1] if len(a) > 1 else TRUE
        if m == "true": return self.ld(e, a[0], lv(m))
        if m == "false": return mk(other, lv(m, other))
        l = lv(*a); s = self.segs[min(l + 1, len(self.segs) - 1)]
        yes, join, pre = self.lab(), self.lab(), s.end
        s.add(f"  br i1 {m}, label %{yes}, label %{join}"); s.lab(yes)
        p = mk(a[0], l); r = self.ld(e, p); 
        s.add(f"  br label %{join}"); s.lab(join)
        v = mk(self.tmp(), l); s.add(f"  {v} = phi {t} [ {r}, %{yes} ], [ {other}, %{pre} ]")
        return v

    # ---- affine analysis of index expressions, mask splitting
    def affine(self, v, idx):
        """(coef {iv:int}, [(scale, scalar V)], const) or None"""
        if v.ty.shape is None: return {}, [(1, self.sc[v], v.ty.elem)], 0
        if v in self.buf or v in self.induct or v.op is None: return None
        op = v.op; n = op.name; A = op.args
        if n == "tt.make_range":
            c = int(op.attrs["start"].split()[0]); i = idx[0]
            if i in self.ivaff: k, t, c2 = self.ivaff[i]; return k, t, c + c2
            if re.match(r"\d+$", i): return {}, [], c + int(i)
            return {i: 1}, [], c
        if n == "arith.constant":
            s = op.attrs["value"]; m = re.match(r"dense<(-?\d+)> : ", s); return ({}, [], int(m[1])) if m else None
        if n == "tt.splat":
            o = A[0].op
            if o is not None and o.name == "arith.constant" and re.match(r"-?\d+ : ", o.attrs["value"]): return {}, [], int(o.attrs["value"].split()[0])
            return {}, [(1, self.sc[A[0]], A[0].ty.elem)], 0
        if n == "tt.expand_dims": ax = int(op.attrs["axis"].split()[0]); return self.affine(A[0], idx[:ax] + idx[ax + 1:])
        if n == "tt.broadcast": return self.affine(A[0], tuple(V("0") if d == 1 else i for d, i in zip(A[0].ty.shape, idx)))
        if n == "arith.extsi": return self.affine(A[0], idx)
        if n in ("arith.addi", "arith.subi", "arith.muli"):
            x, y = self.affine(A[0], idx), self.affine(A[1], idx)
            if x is None or y is None: return None
            if n == "arith.muli":
                if y[0] or y[1]: x, y = y, x
                if y[0] or y[1]: return None
                return {k: c * y[2] for k, c in x[0].items()}, [(s * y[2], t, e) for s, t, e in x[1]], x[2] * y[2]
            g = 1 if n == "arith.addi" else -1; k = dict(x[0])
            for i, c in y[0].items(): k[i] = k.get(i, 0) + g * c
            return {i: c for i, c in k.items() if c}, x[1] + [(g * s, t, e) for s, t, e in y[1]], x[2] + g * y[2]
        return None
    def parts(self, v, idx, out):
        if v.ty.shape is None or v in self.buf or v.op is None: return
        n = v.op.name; A = v.op.args
        if n == "arith.andi":
            for a in A: self.parts(a, idx, out)
        elif n == "tt.expand_dims": ax = int(v.op.attrs["axis"].split()[0]); self.parts(A[0], idx[:ax] + idx[ax + 1:], out)
        elif n == "tt.broadcast": self.parts(A[0], tuple(V("0") if d == 1 else i for d, i in zip(A[0].ty.shape, idx)), out)
        elif n == "arith.cmpi":
            p = ICMP[int(v.op.attrs["predicate"].split()[0])]
            if p in ("slt", "sle", "sgt", "sge"):
                x, y = self.affine(A[0], idx), self.affine(A[1], idx)
                if x is None or y is None: return
                if p[1] == "g": x, y = y, x
                k = dict(x[0])
                for i, c in y[0].items(): k[i] = k.get(i, 0) - c
                k = {i: c for i, c in k.items() if c}
                if len(k) != 1: return
                (i, c), = k.items()
                if c != 1 or i.lvl < 0: return
                # i < bound
                out.setdefault(i, []).append(((v, idx), [(-s, t, e) for s, t, e in x[1]] + y[1], y[2] - x[2] + (p[2] == "e")))
    def bound(self, terms, c, size):
        r = V(str(c))
        for s, t, e in terms:
            if lt(e) != "i64": t = self.emit(f"sext {lt(e)} {t} to i64", t)
            if s != 1: t = self.emit(f"mul i64 {t}, {s}", t)
            r = self.emit(f"add i64 {r}, {t}", r, t)
        r = self.intr("smin", "i64", self.intr("smax", "i64", r, V("0")), V(str(size)))
        return self.emit(f"trunc i64 {r} to i32", r)
    def loads(self, v, idx, out, seen):
        if (v, idx) in seen or v.ty.shape is None or v in self.buf: return
        seen.add((v, idx))
        if v in self.induct: return self.loads(self.induct[v][0], idx, out, seen)
        op = v.op; n = op.name; A = op.args
        if n in ("tt.trans", "tt.reshape", "tt.join", "tt.split", "tt.cat", "tt.gather"): 
            if n == "tt.trans":
                o = [int(x) for x in op.attrs["order"].split(":")[1].rstrip(">").split(",")]; src = [None] * len(o)
                for i, k in enumerate(o): src[k] = idx[i]
                self.loads(A[0], tuple(src), out, seen)
            return
        if n == "tt.expand_dims": ax = int(op.attrs["axis"].split()[0]); return self.loads(A[0], idx[:ax] + idx[ax + 1:], out, seen)
        if n == "tt.broadcast": return self.loads(A[0], tuple(V("0") if d == 1 else i for d, i in zip(A[0].ty.shape, idx)), out, seen)
        if n == "tt.load" and len(A) > 1: self.parts(A[1], idx, out)
        if n == "arith.select": self.parts(A[0], idx, out)
        for a in A: self.loads(a, idx, out, seen)

    # ---- loop nests
    def nest(self, shape, vals, body, store_mask=None, par=True, carried=(), mapidx=None):
        """vals: tensors evaluated by body at idx (to find masks to split on)"""
        dims = [d for d in range(len(shape)) if shape[d] != 1]
        if not dims: dims = [len(shape) - 1] if shape else []
        bounds, done = None, 0
        while bounds is None or done < len(combos):
            ivs = [mk(f"%i{self.n}_{k}", k) for k in range(len(dims))]; self.n += 1
            idx = tuple(ivs[dims.index(d)] if d in dims else V("0") for d in range(len(shape)))
            own, out = {}, {}
            if self.narrow:
                self.dry = True; eidx = mapidx(idx) if mapidx else idx; self.dry = False
                if store_mask is not None: self.parts(store_mask, eidx, own)
                else:
                    seen = set()
                    for v in vals: self.loads(v, eidx, out, seen)
            if bounds is None:
                bounds = {}
                for k, d in enumerate(dims):
                    if ivs[k] in own:
                        b = None
                        for key, terms, c in own[ivs[k]]: x = self.bound(terms, c, shape[d]); b = x if b is None else self.intr("smin", "i32", b, x)
                        bounds[k] = b
                    elif ivs[k] in out: bounds[k] = self.bound(*out[ivs[k]][0][1:], shape[d])
                combos = [[]]
                for k in range(len(dims)): combos = [c + [x] for c in combos for x in ((None,) if k not in bounds else (True,) if ivs[k] in own else (True, False))]
            if not bounds and len(dims) >= 3 and mapidx is None or self.flat_only and not bounds and len(dims) >= 3:
                n = 1
                for d in shape: n *= d
                iv = mk(f"%i{self.n}_f", 0); self.n += 1
                return self.run_nest([iv], [("0", str(n))], {}, lambda acc: body(self.delin(iv, shape), acc), carried, par)
            dec, rng = {}, []
            for k, x in enumerate(combos[done]):
                n = str(shape[dims[k]])
                if x is None: rng.append(("0", n)); continue
                rng.append(("0", bounds[k]) if x else (bounds[k], n))
                for key, _, _ in (own[ivs[k]] if ivs[k] in own else out[ivs[k]][:1]): dec[key] = mk("true" if x else "false", k)
            carried = self.run_nest(ivs, rng, dec, lambda acc: body(idx, acc), carried, par)
            done += 1
        return carried
    dry = False; flat_only = True
    def run_nest(self, ivs, ranges, decided, body, carried, par):
        n = len(ivs); out = self.segs[-1]
        segs = [Seg(self.lab()) for _ in range(n + 1)]
        save = self.segs, self.memo, self.decided, self.grp
        self.segs, self.memo, self.decided = segs, {}, decided
        self.grp = self.group() if par else None
        accs = [(t, init, mk(self.tmp(), n - 1)) for t, init in carried]
        new = body([a[2] for a in accs]) or []
        grp = self.grp
        self.segs, self.memo, self.decided, self.grp = save
        out.add(f"  br label %{segs[0].label}")
        tails, guards = [], []
        for k in range(n):
            s, (lo, hi) = segs[k], ranges[k]
            out.lab(s.label) if k == 0 else None
            out.lines += s.lines; 
            ex = self.lab(); h = segs[k + 1].label; cst = re.match(r"\d+$", lo) and re.match(r"\d+$", hi) and int(lo) < int(hi)
            if cst: out.add(f"  br label %{h}")
            else: g = self.tmp(); out.add(f"  {g} = icmp slt i32 {lo}, {hi}"); out.add(f"  br i1 {g}, label %{h}, label %{ex}")
            nx = self.tmp(); out.add(f"{h}:")
            tails.append((k, ex, h, nx, hi, s.end, cst)); out.add(None); guards.append(len(out.lines) - 1)
        out.lines += segs[n].lines
        if n == 0: out.end = segs[0].end; return [(t, v) for (t, _, _), v in zip(accs, new)]
        end = segs[n].end; res = []
        for k, ex, h, nx, hi, pre, cst in reversed(tails):
            phis = [f"  {ivs[k]} = phi i32 [ {ranges[k][0]}, %{pre} ], [ {nx}, %{end} ]"]
            if k == n - 1: phis += [f"  {v} = phi {t} [ {init}, %{pre} ], [ {w}, %{end} ]" for (t, init, v), w in zip(accs, new)]
            out.lines[guards[k]] = "\n".join(phis)
            c = self.tmp()
            md = self.loopmd(grp if self.parallel else None, par) if k == n - 1 else self.loopmd(None, False)
            out.add(f"  {nx} = add nuw nsw i32 {ivs[k]}, 1"); out.add(f"  {c} = icmp slt i32 {nx}, {hi}")
            out.add(f"  br i1 {c}, label %{h}, label %{ex}, !llvm.loop {md}"); out.add(f"{ex}:")
            if k == n - 1 and accs:
                assert n == 1
                for (t, init, v), w in zip(accs, new):
                    x = self.tmp(); out.add(f"  {x} = phi {t} [ {w}, %{end} ]" + ("" if cst else f", [ {init}, %{pre} ]")); res.append((t, V(x)))
            end = ex
        out.end = end
        return res
    def raw(self, lo, hi, body, step=1, carried=(), it="i32"):
        s = self.segs[-1]; h, ex = self.lab(), self.lab(); iv = V(self.tmp()); pre = s.end
        g = self.tmp(); s.add(f"  {g} = icmp slt {it} {lo}, {hi}"); s.add(f"  br i1 {g}, label %{h}, label %{ex}"); s.lab(h)
        s.add(None); at = len(s.lines) - 1
        accs = [(t, i, V(self.tmp())) for t, i in carried]
        new = body(iv, [a[2] for a in accs]) or []
        nx, c = self.tmp(), self.tmp(); s.add(f"  {nx} = add nsw {it} {iv}, {step}"); s.add(f"  {c} = icmp slt {it} {nx}, {hi}")
        s.lines[at] = "\n".join([f"  {iv} = phi {it} [ {lo}, %{pre} ], [ {nx}, %{s.end} ]"] + [f"  {v} = phi {t} [ {i}, %{pre} ], [ {w}, %{s.end} ]" for (t, i, v), w in zip(accs, new)])
        s.add(f"  br i1 {c}, label %{h}, label %{ex}"); e = s.end; s.lab(ex)
        res = []
        for (t, i, v), w in zip(accs, new): x = self.tmp(); s.add(f"  {x} = phi {t} [ {w}, %{e} ], [ {i}, %{pre} ]"); res.append(V(x))
        return res

    # ---- analysis
    def analyse(self, func):
        ops = []
        def walk(b):
            for o in b.ops:
                ops.append(o)
                for r in o.regions:
                    for x in r: walk(x)
        for b in func.regions[0]: walk(b)
        self.idx = set()
        work = [o.args[1] for o in ops if o.name == "tt.addptr"]
        while work:
            v = work.pop()
            if v in self.idx or v.op is None: continue
            n = v.op.name
            if n in ("arith.addi", "arith.subi", "arith.muli", "arith.extsi", "tt.splat", "tt.broadcast", "tt.expand_dims"):
                self.idx.add(v); work += v.op.args
        exp = {}
        for o in ops:
            for r in o.res:
                exp[r] = lazy(o) and (o.name in COSTLY or o.name.startswith("math.") and o.name.split(".")[1] not in ("absf", "fma", "floor", "ceil") or any(exp.get(a) for a in o.args))
        self.mark, sinks, S0, wt = set(), {}, {}, {}
        for o in reversed(ops):
            if lazy(o):
                for r in o.res:
                    S0[r] = set()
                    for u, i in r.uses: S0[r] |= S0.get(u.res[0], set()) if lazy(u) and u.res[0].ty.shape is not None else {u}
        for o in ops:
            for r in o.res:
                wt[r] = 1 + sum(wt.get(x, 0) for x in set(o.args)) if lazy(o) and r.ty.shape is not None else 0
                if wt[r] > 24 and len(S0[r]) > 1 and len(r.uses) > 1: self.mark.add(r); wt[r] = 0
        writes = [o for o in ops if o.name in WRITES]
        def depth_loops(b):
            r = []
            while b.parent is not None and b.parent.name != "tt.func":
                if b.parent.name in ("scf.for", "scf.while"): r.append(b.parent)
                b = b.parent.blk
            return r
        # groups of adjacent stores of the same shape fused in one nest
        self.fuse, last = {}, {}
        def grp(b):
            cur = []
            for o in b.ops:
                if o.name == "tt.store" and o.args[0].ty.shape is not None:
                    if cur and cur[0].args[0].ty.shape == o.args[0].ty.shape and (cur[0].args[2:] == o.args[2:]): cur.append(o)
                    else: cur = [o]
                    self.fuse[o] = cur
                elif not lazy(o) or o.name == "tt.load": cur = []
                for r in o.regions:
                    for x in r: grp(x)
        for b in func.regions[0]: grp(b)
        pos = lambda o: self.fuse[o][-1].pos if o in self.fuse else o.pos
        for o in reversed(ops):
            if not lazy(o): continue
            for r in o.res:
                if r.ty.shape is None: continue
                S = set(); dl = depth_loops(o.blk)
                for u, i in r.uses:
                    if lazy(u) and u.res[0].ty.shape is not None and u.name != "tt.unsplat":
                        for x in u.res: S |= {("m", u)} if x in self.mark else sinks[x]
                    else: S.add(("s", self.fuse[u][-1] if u in self.fuse else u))
                sinks[r] = S
                deeper = any(set(depth_loops(u.blk)) - set(dl) for _, u in S)
                bc = any(u.name == "tt.broadcast" and any(d == 1 and any(z > 1 for z in r.ty.shape[k + 1:]) and u.res[0].ty.shape[k] > 1 for k, d in enumerate(r.ty.shape)) or u.name == "tt.gather" and i == 0 for u, i in r.uses)
                if exp[r] and (len(S) > 1 or deeper or bc): self.mark.add(r)
                if o.name == "tt.load":
                    for k, u in S:
                        for w in writes:
                            if o.pos < w.pos < u.pos and self.fuse.get(w, [w])[-1] is not u: self.mark.add(r)
                        for l in set(depth_loops(u.blk)) - set(dl):
                            if any(l in depth_loops(w.blk) for w in writes): self.mark.add(r)
        self.ops = ops

    # ---- statements
    def run(self, module, entry=None):
        funcs = [o for o in module.regions[0][0].ops if o.name == "tt.func"]
        f = funcs[0]; self.used, self.lanes_done, self.bits_of, self.base_bits = set(), set(), {}, {}
        self.analyse(f)
        self.sc, self.buf, self.induct, self.memo, self.decided, self.ivaff, self.grp, self.fm = {}, {}, {}, {}, {}, {}, None, False
        name = self.name
        blocks = f.regions[0]; args = blocks[0].args
        s = Seg("body"); self.segs = [s]
        off, loads = 0, []
        for k, a in enumerate(args):
            t = mt(a.ty.elem); off = (off + SZ[t] - 1) // SZ[t] * SZ[t]
            loads.append(f"  %pa{k} = getelementptr i8, ptr %args, i64 {off}\n  %a{k}{'' if t == lt(a.ty.elem) else 'm'} = load {t}, ptr %pa{k}" + ("" if t == lt(a.ty.elem) else f"\n  %a{k} = trunc i8 %a{k}m to i1"))
            self.sc[a] = V(f"%a{k}"); off += SZ[t]
        self.argtypes = [a.ty.elem for a in args]; self.argsize = off
        self.blocks = {b.label: (self.lab(), b) for b in blocks}
        for i, b in enumerate(blocks):
            if i:
                l, _ = self.blocks[b.label]; s.lab(l); s.add(None); b_at = len(s.lines) - 1
                for a in b.args: self.sc[a] = V(self.tmp())
                self.blocks[b.label] = (l, b, b_at)
            self.block(b)
        # phis of cf blocks
        for b in blocks[1:]:
            inc = self.cf.get(b.label, [])
            s.lines[self.blocks[b.label][2]] = "\n".join(f"  {self.sc[a]} = phi {lt(a.ty.elem)} " + ", ".join(f"[ {vals[k]}, %{pre} ]" for pre, vals in inc) for k, a in enumerate(b.args)) or None
        lines = [l for l in s.lines if l]
        text = [f"define i32 @{name}(ptr noalias readonly %args, i64 %lo, i64 %hi, i32 %gx, i32 %gy, i32 %gz) #0 {{", "entry:"] + self.allocas + loads
        text += ["  %any = icmp slt i64 %lo, %hi", "  br i1 %any, label %pid, label %exit", "pid:",
                 "  %p = phi i64 [ %lo, %entry ], [ %pn, %next ]", "  %gx64 = zext i32 %gx to i64", "  %gy64 = zext i32 %gy to i64",
                 "  %px64 = urem i64 %p, %gx64", "  %pq = udiv i64 %p, %gx64", "  %py64 = urem i64 %pq, %gy64", "  %pz64 = udiv i64 %pq, %gy64",
                 "  %pidx = trunc i64 %px64 to i32", "  %pidy = trunc i64 %py64 to i32", "  %pidz = trunc i64 %pz64 to i32", "  br label %body", "body:"]
        text += lines + ["next:", "  %pn = add i64 %p, 1", "  %more = icmp slt i64 %pn, %hi", "  br i1 %more, label %pid, label %exit", "exit:", "  ret i32 0", "}"]
        text += list(self.decl.values())
        if self.used: text.append("@llvm.compiler.used = appending global [%d x ptr] [%s], section \"llvm.metadata\"" % (len(self.used), ", ".join(f"ptr @{u}" for u in sorted(self.used))))
        text.append('attributes #0 = { noinline nounwind "no-trapping-math"="true" %s }' % (f'"prefer-vector-width"="{self.vw * 8}"'))
        text.append("attributes #1 = { nounwind willreturn memory(none) }")
        text += [f"attributes #{k} = {{ {a} }}" for k, a in self.attrs.values()]
        text += [f"!{k} = {m}" for k, m in enumerate(self.md)]
        return "\n".join(text) + "\n"
    cf = None
    def block(self, b):
        if self.cf is None: self.cf = {}
        for o in b.ops: r = self.stmt(o)
        return r
    def materialise(self, v):
        e = v.ty.elem; p = self.alloca(e, v.ty.size)
        self.fill(p, v); self.buf[v] = p
    def fill(self, p, v, shape=None):
        e = v.ty.elem
        def body(idx, acc): self.st(e, self.ev(v, idx), self.gep(e, p, self.lin(idx, v.ty.shape)))
        self.nest(v.ty.shape, [v], body)
    def stmt(self, o):
        n = o.name; s = self.segs[-1]
        if lazy(o):
            if o.res[0].ty.shape is not None:
                for r in o.res:
                    if r in self.mark: self.materialise(r)
                return
            a = [self.ev(x, ()) if x.ty.shape == () else self.sc[x] for x in o.args]
            if n == "arith.constant":
                self.sc[o.res[0]] = V(const(o.res[0].ty.elem, o.attrs["value"].rpartition(" : ")[0] or o.attrs["value"]))
            elif n == "tt.load": self.sc[o.res[0]] = self.load(o, o.res[0].ty.elem, a)
            else: self.sc[o.res[0]] = self.pw(o, a)
        elif n == "tt.get_program_id": self.sc[o.res[0]] = V("%pid" + "xyz"[int(o.attrs["axis"].split()[0])])
        elif n == "tt.get_num_programs": self.sc[o.res[0]] = V("%g" + "xyz"[int(o.attrs["axis"].split()[0])])
        elif n == "tt.unsplat": self.sc[o.res[0]] = self.ev(o.args[0], tuple(V("0") for _ in o.args[0].ty.shape))
        elif n == "tt.store": self.store(o)
        elif n == "tt.reduce": self.reduce(o)
        elif n == "tt.scan": self.scan(o)
        elif n == "tt.dot": self.dot(o)
        elif n in ("tt.atomic_rmw", "tt.atomic_cas"): self.atomic(o)
        elif n == "scf.for": self.for_(o)
        elif n == "scf.while": self.while_(o)
        elif n == "scf.if": self.if_(o)
        elif n in ("scf.yield", "scf.condition", "tt.reduce.return", "tt.scan.return"): return o
        elif n == "tt.return": s.add("  br label %next")
        elif n == "cf.br": self.jump(s, o.succ[0], o.args); s.add(f"  br label %{self.blocks[o.succ[0]][0]}")
        elif n == "cf.cond_br":
            sg = [int(x) for x in o.attrs["operandSegmentSizes"].split(":")[1].rstrip(">").split(",")]
            self.jump(s, o.succ[0], o.args[1:1 + sg[1]]); self.jump(s, o.succ[1], o.args[1 + sg[1]:])
            s.add(f"  br i1 {self.sc[o.args[0]]}, label %{self.blocks[o.succ[0]][0]}, label %{self.blocks[o.succ[1]][0]}")
        elif n in ("tt.assert", "tt.print", "ttg.barrier", "gpu.barrier", "llvm.intr.assume"): pass
        else: raise NotImplementedError(n)
    def jump(self, s, l, args): self.cf.setdefault(l, []).append((s.end, [self.sc[a] for a in args]))
    def store(self, o):
        if o.args[0].ty.shape is None:
            p, v = self.sc[o.args[0]], self.sc[o.args[1]]
            if len(o.args) > 2: return self.when(self.sc[o.args[2]], lambda: self.st(o.args[1].ty.elem, v, p))
            return self.st(o.args[1].ty.elem, v, p)
        g = self.fuse[o]
        if g[-1] is not o: return
        mask = o.args[2] if len(o.args) > 2 else None
        def body(idx, acc):
            m = self.ev(mask, idx) if mask is not None else TRUE
            pv = [(x.args[1].ty.elem, self.ev(x.args[0], idx), self.ev(x.args[1], idx)) for x in g]
            def do():
                for e, p, v in pv: self.st(e, v, p)
            if m == "true": do()
            elif m != "false": self.when(m, do)
        self.nest(o.args[0].ty.shape, [x.args[1] for x in g], body, mask)
    def when(self, m, f):
        s = self.segs[-1]; y, j = self.lab(), self.lab()
        s.add(f"  br i1 {m}, label %{y}, label %{j}"); s.lab(y); r = f(); s.add(f"  br label %{j}"); s.lab(j)
        return r
    def region(self, blk, a):
        for x, v in zip(blk.args, a): self.sc[x] = v
        for o in blk.ops:
            if o.name.endswith(".return"): return [self.sc[x] for x in o.args]
            if o.name == "arith.constant": self.stmt(o)
            else: self.sc[o.res[0]] = self.pw(o, [self.sc[x] for x in o.args])
    def reduce(self, o):
        ax = int(o.attrs["axis"].split()[0]); src = o.args; shape = src[0].ty.shape; r = len(shape); N = shape[ax]
        blk = o.regions[0][0]; es = [v.ty.elem for v in src]; outshape = shape[:ax] + shape[ax + 1:]; nout = 1
        for d in outshape: nout *= d
        scalar = o.res[0].ty.shape is None
        bufs = None if scalar else [self.alloca(e, nout) for e in es]
        if N <= 8 and not scalar:
            def small(idx, acc):
                acc = None
                for j in range(N):
                    vs = [self.ev(v, idx[:ax] + (V(str(j)),) + idx[ax:]) for v in src]; acc = vs if acc is None else self.region(blk, acc + vs)
                for e, p, v in zip(es, bufs, acc): self.st(e, v, self.gep(e, p, self.lin(idx, outshape)))
            self.nest(outshape, src, small, mapidx=lambda i: i[:ax] + (V("0"),) + i[ax:])
            for v, p in zip(o.res, bufs): self.buf[v] = p
            return
        body = [x for x in blk.ops]
        one = len(src) == 1 and len(body) == 2 and body[0].name in FAST and body[0].name
        if ax == r - 1 and one:
            ident, f = FAST[one]; e = es[0]; t = lt(e)
            if isinstance(ident, str): ident = {"smin": -2 ** (bits(e) - 1), "smax": 2 ** (bits(e) - 1) - 1}[ident]
            ident = V(const(e, str(ident)) if not isf(e) else fconst(e, float(ident)))
            def one_row(pre):
                def bd(idx, acc):
                    x = self.ev(src[0], pre + idx); self.fm = True; y = self.region(blk, [acc[0], x]); self.fm = False; return y
                return self.nest((N,), src, bd, carried=[(t, ident)], mapidx=lambda i: pre + i)[0][1]
            return self.rows(outshape, (), one_row, o, bufs, es)
        if ax == r - 1:
            W = min(N, self.lanes); L = [self.alloca(e, W) for e in es]; J = N // W
            def row(pre):
                def at(j): return lambda idx: pre + (self.laneidx(j, W, idx[0]),)
                def first(idx, acc):
                    vs = [self.ev(v, at(V("0"))(idx)) for v in src]
                    for e, p, v in zip(es, L, vs): self.st(e, v, self.gep(e, p, idx[0]))
                self.nest((W,), src, first, mapidx=at(V("0")))
                def step(j, _):
                    def b2(idx, acc):
                        vs = [self.ev(v, at(j)(idx)) for v in src]
                        old = [self.ld(e, self.gep(e, p, idx[0])) for e, p in zip(es, L)]
                        for e, p, v in zip(es, L, self.region(blk, old + vs)): self.st(e, v, self.gep(e, p, idx[0]))
                    self.nest((W,), src, b2, mapidx=at(j))
                if J > 1: self.raw(V("1"), V(str(J)), step)
                h = W // 2
                while h:
                    def fold(idx, acc):
                        a = [self.ld(e, self.gep(e, p, idx[0])) for e, p in zip(es, L)]; k = self.emit(f"add i32 {idx[0]}, {h}", idx[0])
                        b = [self.ld(e, self.gep(e, p, k)) for e, p in zip(es, L)]
                        for e, p, v in zip(es, L, self.region(blk, a + b)): self.st(e, v, self.gep(e, p, idx[0]))
                    self.nest((h,), [], fold); h //= 2
                return [self.ld(e, p) for e, p in zip(es, L)]
            return self.rows(outshape, (), row, o, bufs, es)
        at = lambda j: (lambda idx: idx[:ax] + (j,) + idx[ax:])
        def first(idx, acc):
            vs = [self.ev(v, at(V("0"))(idx)) for v in src]
            for e, p, v in zip(es, bufs, vs): self.st(e, v, self.gep(e, p, self.lin(idx, outshape)))
        self.nest(outshape, src, first, mapidx=at(V("0")))
        def step(j, _):
            def b2(idx, acc):
                vs = [self.ev(v, at(j)(idx)) for v in src]; l = self.lin(idx, outshape)
                old = [self.ld(e, self.gep(e, p, l)) for e, p in zip(es, bufs)]
                for e, p, v in zip(es, bufs, self.region(blk, old + vs)): self.st(e, v, self.gep(e, p, l))
            self.nest(outshape, src, b2, mapidx=at(j))
        self.ivaff_raw(step, 1, N)
        for v, p in zip(o.res, bufs): self.buf[v] = p
    def ivaff_raw(self, step, lo, hi):
        def f(j, _):
            self.ivaff[j] = ({}, [(1, j, "i32")], 0); step(j, _)
        self.raw(V(str(lo)), V(str(hi)), f)
    def laneidx(self, j, W, l):
        if j == "0": return l
        v = mk("%lane" + l[1:], l.lvl); self.ivaff[v] = ({l: 1}, [(W, j, "i32")], 0)
        if not self.dry and v not in self.lanes_done:
            self.lanes_done.add(v)
            b = self.emit(f"mul nuw nsw i32 {j}, {W}", j); self.segs[v.lvl + 1].add(f"  {v} = add nuw nsw i32 {b}, {l}")
        return v
    def rows(self, outshape, pre, f, o, bufs, es):
        """raw loops over the outer dimensions"""
        if len(pre) == len(outshape):
            r = f(tuple(pre)); r = r if isinstance(r, list) else [r]
            if bufs is None:
                for v, x in zip(o.res, r): self.sc[v] = mk(x)
            else:
                l = self.lin(pre, outshape)
                for e, p, x in zip(es, bufs, r): self.st(e, x, self.gep(e, p, l))
        elif outshape[len(pre)] == 1: self.rows(outshape, pre + (V("0"),), f, o, bufs, es)
        else:
            self.ivaff_raw(lambda j, _: self.rows(outshape, pre + (j,), f, o, bufs, es), 0, outshape[len(pre)])
        if not pre and bufs is not None:
            for v, p in zip(o.res, bufs): self.buf[v] = p
    def scan(self, o):
        ax = int(o.attrs["axis"].split()[0]); rev = o.attrs["reverse"] == "true"; src = o.args; shape = src[0].ty.shape; r = len(shape); N = shape[ax]
        blk = o.regions[0][0]; es = [v.ty.elem for v in src]; bufs = [self.alloca(e, src[0].ty.size) for e in es]
        if ax == r - 1:
            def row(pre, *_):
                # element 0, then a sequential loop carrying the accumulators
                j0 = V(str(N - 1) if rev else "0"); a0 = [self.ev(v, pre + (j0,)) for v in src]; self.memo = {}
                for e, p, x in zip(es, bufs, a0): self.st(e, x, self.gep(e, p, self.lin(pre + (j0,), shape)))
                def step(i, acc):
                    self.memo = {}
                    j = self.emit(f"sub i32 {N - 1}, {i}", i) if rev else i
                    x = [self.ev(v, pre + (j,)) for v in src]; y = self.region(blk, list(acc) + x)
                    for e, p, v in zip(es, bufs, y): self.st(e, v, self.gep(e, p, self.lin(pre + (j,), shape)))
                    self.memo = {}
                    return y
                self.raw(V("1"), V(str(N)), step, carried=[(lt(e), a) for e, a in zip(es, a0)])
                return []
            self.rows(shape[:-1], (), row, o, None, es)
        else:
            out = shape[:ax] + shape[ax + 1:]; at = lambda j: (lambda idx: idx[:ax] + (j,) + idx[ax:])
            def lay(j, prev):
                def b(idx, acc):
                    i = at(j)(idx); vs = [self.ev(v, i) for v in src]
                    if prev is not None: vs = self.region(blk, [self.ld(e, self.gep(e, p, self.lin(at(prev)(idx), shape))) for e, p in zip(es, bufs)] + vs)
                    for e, p, v in zip(es, bufs, vs): self.st(e, v, self.gep(e, p, self.lin(i, shape)))
                self.nest(out, src, b, mapidx=at(j))
            lay(V(str(N - 1) if rev else "0"), None)
            def step(i, _):
                j = self.emit(f"sub i32 {N - 1}, {i}", i) if rev else i
                lay(j, self.emit(f"{'add' if rev else 'sub'} i32 {j}, 1", j))
            self.raw(V("1"), V(str(N)), step)
        for v, p in zip(o.res, bufs): self.buf[v] = p
    def dot(self, o):
        A, B, C = o.args; sh = o.res[0].ty.shape; e = o.res[0].ty.elem; t = lt(e); assert len(sh) == 2
        (M, N), K = sh, A.ty.shape[1]
        def pack(x):
            if x in self.buf and x.ty.elem == e: return self.buf[x]
            p = self.alloca(e, x.ty.size); xe = lt(x.ty.elem)
            def body(idx, acc):
                v = self.ev(x, idx)
                if xe != t: v = self.emit(f"{'fpext' if isf(e) else 'sext'} {xe} {v} to {t}", v)
                self.st(e, v, self.gep(e, p, self.lin(idx, x.ty.shape)))
            self.nest(x.ty.shape, [x], body); return p
        pa, pb = pack(A), pack(B)
        pc = self.inplace.get(o) if hasattr(self, "inplace") else None
        if pc is None: pc = self.alloca(e, M * N); self.fill(pc, C)
        w = min(N, self.vw // SZ[t]); nv = 2 if N >= 2 * w else 1; mr = min(M, {64: 8, 32: 4}.get(self.vw, 4)); vt = f"<{w} x {t}>"
        al = f"align {min(64, SZ[t] * w)}"
        def vadd(base, i): return self.gep(e, base, i)
        ins = f"llvm.fma.v{w}{e}"
        if isf(e): self.decl[ins] = f"declare {vt} @{ins}({vt}, {vt}, {vt})"
        def mloop(m0, _):
            def nloop(n0, _):
                ps = []
                for r in range(mr):
                    row = self.emit(f"add i32 {m0}, {r}", m0); l = self.emit(f"mul i32 {row}, {N}", row); l = self.emit(f"add i32 {l}, {n0}", l)
                    ps += [vadd(pc, self.emit(f"add i32 {l}, {q * w}", l)) for q in range(nv)]
                acc0 = [self.emit(f"load {vt}, ptr {p}, {al}", p) for p in ps]
                def kloop(k, acc):
                    kb = self.emit(f"mul i32 {k}, {N}", k); kb = self.emit(f"add i32 {kb}, {n0}", kb)
                    bv = []
                    for q in range(nv): p = vadd(pb, self.emit(f"add i32 {kb}, {q * w}", kb)); bv.append(self.emit(f"load {vt}, ptr {p}, {al}", p))
                    out = []
                    for r in range(mr):
                        row = self.emit(f"add i32 {m0}, {r}", m0); l = self.emit(f"mul i32 {row}, {K}", row); l = self.emit(f"add i32 {l}, {k}", l)
                        p = vadd(pa, l); x = self.emit(f"load {t}, ptr {p}", p)
                        x = self.emit(f"insertelement {vt} poison, {t} {x}, i32 0", x); x = self.emit(f"shufflevector {vt} {x}, {vt} poison, <{w} x i32> zeroinitializer", x)
                        for q in range(nv):
                            c = acc[r * nv + q]
                            if isf(e): out.append(self.emit(f"call {vt} @{ins}({vt} {x}, {vt} {bv[q]}, {vt} {c})", x))
                            else: y = self.emit(f"mul {vt} {x}, {bv[q]}", x); out.append(self.emit(f"add {vt} {y}, {c}", y))
                    return out
                res = self.raw(V("0"), V(str(K)), kloop, carried=[(vt, a) for a in acc0])
                for p, v in zip(ps, res): self.segs[-1].add(f"  store {vt} {v}, ptr {p}, {al}")
            self.raw(V("0"), V(str(N)), nloop, step=w * nv)
        self.raw(V("0"), V(str(M)), mloop, step=mr)
        self.buf[o.res[0]] = pc
    RMW = {1: "and", 2: "or", 3: "xor", 4: "add", 5: "fadd", 6: "max", 7: "min", 8: "umax", 9: "umin", 10: "xchg"}
    def atomic(self, o):
        e = o.args[1].ty.elem; t = lt(e); used = bool(o.res[0].uses); rmw = o.name == "tt.atomic_rmw"
        def one(p, v, c=None):
            if rmw: return self.emit(f"atomicrmw {self.RMW[int(o.attrs['atomic_rmw_op'].split()[0])]} ptr {p}, {t} {v} acq_rel, align {SZ[t]}", p, v, mk("", self.depth))
            r = self.emit(f"cmpxchg ptr {p}, {t} {v}, {t} {c} acq_rel monotonic, align {SZ[t]}", p, v, c, mk("", self.depth)); return self.emit(f"extractvalue {{ {t}, i1 }} {r}, 0", r)
        if o.args[0].ty.shape is None:
            self.depth = -1; a = [self.sc[x] for x in o.args]
            if rmw and len(a) > 2 and a[2] != "true":
                tmp = self.alloca(e, 1); self.st(e, V("0") if not isf(e) else V("0.0"), tmp)
                self.when(a[2], lambda: self.st(e, one(a[0], a[1]), tmp)); self.sc[o.res[0]] = self.ld(e, tmp)
            else: self.sc[o.res[0]] = one(*a[:2]) if rmw else one(*a)
            return
        shape = o.res[0].ty.shape; buf = self.alloca(e, o.res[0].ty.size) if used else None
        mask = o.args[2] if rmw and len(o.args) > 2 else None
        self.depth = len([d for d in shape if d != 1]) - 1
        def body(idx, acc):
            a = [self.ev(x, idx) for x in o.args]
            def do():
                r = one(*a[:2]) if rmw else one(*a)
                if used: self.st(e, r, self.gep(e, buf, self.lin(idx, shape)))
            if mask is None or a[2] == "true": do()
            elif a[2] != "false": self.when(a[2], do)
        self.nest(shape, o.args[1:2], body, mask, par=False)
        if used: self.buf[o.res[0]] = buf

    # ---- control flow
    def touches(self, v, S, seen):
        if v in S: return True
        if v in seen or v.op is None or v in self.buf or not lazy(v.op): return False
        seen.add(v); return any(self.touches(a, S, seen) for a in v.op.args)
    def ident(self, v, S):
        """v reads the buffers of S at its own index only"""
        if v in S or v.op is None or not lazy(v.op) or v in self.mark: return True
        if v.op.name in ("tt.expand_dims", "tt.broadcast", "tt.trans", "tt.reshape", "tt.join", "tt.split", "tt.cat", "tt.gather"): return not self.touches(v, S, set())
        return all(self.ident(a, S) for a in v.op.args)
    def for_(self, o):
        lo, hi, st = [self.sc[a] for a in o.args[:3]]; it = lt(o.args[0].ty.elem); inits = o.args[3:]
        b = o.regions[0][0]; iv, args = b.args[0], b.args[1:]; y = b.ops[-1]; assert y.name == "scf.yield"
        s = self.segs[-1]; sc, bufs = [], {}
        if not hasattr(self, "inplace"): self.inplace = {}
        for k, (a, i) in enumerate(zip(args, inits)):
            yv = y.args[k]
            if a.ty.shape is None: sc.append((k, a, lt(a.ty.elem), self.sc[i], None)); continue
            if yv is a: self.alias(a, i); continue
            d = yv.op
            if d is not None and d.name in ("tt.addptr", "arith.addi") and d.args[0] is a and d.blk is b:
                inc = d.args[1]; u = self.uniform(inc)
                if u is not None:
                    e = inc.ty.elem; self.idx.add(yv); phi = V(self.tmp()); self.induct[a] = (i, phi, d); sc.append((k, a, lt(e), V("0"), (phi, u, e))); continue
            p = self.alloca(a.ty.elem, a.ty.size); self.fill(p, i); self.buf[a] = p; bufs[k] = p
            if d is not None and d.name == "tt.dot" and d.args[2] is a and len(a.uses) == 1 and d.blk is b and len(yv.uses) == 1: self.inplace[d] = p
        h, bd, ex = self.lab(), self.lab(), self.lab(); pre = s.end; i = V(self.tmp()); self.sc[iv] = i; self.ivaff[i] = ({}, [(1, i, o.args[0].ty.elem)], 0)
        s.add(f"  br label %{h}"); s.lab(h); s.add(None); at = len(s.lines) - 1
        phis = []
        for k, a, t, init, ind in sc:
            v = ind[0] if ind else V(self.tmp()); phis.append(v)
            if not ind: self.sc[a] = v
        c = self.tmp(); s.add(f"  {c} = icmp slt {it} {i}, {hi}"); s.add(f"  br i1 {c}, label %{bd}, label %{ex}"); s.lab(bd)
        for x in b.ops[:-1]: self.stmt(x)
        new = []
        for k, a, t, init, ind in sc:
            new.append(self.emit(f"add nsw {t} {ind[0]}, {self.uniform_emit(ind[1], ind[2])}", ind[0]) if ind else self.sc[y.args[k]])
        self.update([(args[k], bufs[k], y.args[k]) for k in bufs if not (y.args[k].op is not None and self.inplace.get(y.args[k].op) == bufs[k])])
        nx = self.emit(f"add nsw {it} {i}, {st}", i)
        s.add(f"  br label %{h}")
        s.lines[at] = "\n".join([f"  {i} = phi {it} [ {lo}, %{pre} ], [ {nx}, %{s.end} ]"] + [f"  {v} = phi {t} [ {init}, %{pre} ], [ {w}, %{s.end} ]" for (k, a, t, init, ind), v, w in zip(sc, phis, new)])
        s.lab(ex)
        for (k, a, t, init, ind), v in zip(sc, phis):
            if ind: self.induct[o.res[k]] = self.induct[a]
            else: self.sc[o.res[k]] = v
        for k, p in bufs.items(): self.buf[o.res[k]] = p
        for k, a in enumerate(args):
            if y.args[k] is a and a.ty.shape is not None: self.alias(o.res[k], inits[k])
    def alias(self, a, i):
        class _O: pass
        op = _O(); op.name, op.args, op.attrs, op.res, op.blk = "tt.broadcast", [i], {}, [a], None; a.op = op
    def uniform(self, v):
        if v.ty.shape is None: return v
        if v.op is not None and v.op.name in ("tt.splat",): return v.op.args[0]
        if v.op is not None and v.op.name in ("tt.broadcast", "tt.expand_dims", "arith.extsi"): return self.uniform(v.op.args[0])
        if v.op is not None and v.op.name == "arith.constant": return v
        return None
    def uniform_emit(self, u, e):
        if u.ty.shape is not None: return self.ev(u, ())
        x = self.sc[u]
        return x if u.ty.elem == e else self.emit(f"sext {lt(u.ty.elem)} {x} to {lt(e)}", x)
    def update(self, items):
        """items: (block arg, its buffer, new value): write new values over the old ones"""
        S = {a for a, _, _ in items}
        ok = all(self.ident(v, S) for _, _, v in items) and len({v.ty.shape for _, _, v in items}) == 1
        if not items: return
        if ok:
            sh = items[0][2].ty.shape
            def body(idx, acc):
                vs = [self.ev(v, idx) for _, _, v in items]; l = self.lin(idx, sh)
                for (a, p, v), x in zip(items, vs): self.st(v.ty.elem, x, self.gep(v.ty.elem, p, l))
            return self.nest(sh, [v for _, _, v in items], body)
        tmps = []
        for a, p, v in items:
            if v in self.buf and v not in S: tmps.append(self.buf[v]); continue
            t = self.alloca(v.ty.elem, v.ty.size); self.fill(t, v); tmps.append(t)
        for (a, p, v), t in zip(items, tmps):
            self.copy(p, t, v)
    def copy(self, p, t, v):
        self.segs[-1].add(f"  call void @llvm.memcpy.p0.p0.i64(ptr align 64 {p}, ptr align 64 {t}, i64 {v.ty.size * SZ[mt(v.ty.elem)]}, i1 false)")
        self.decl["memcpy"] = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
    def if_(self, o):
        s = self.segs[-1]; y, n, j = self.lab(), self.lab(), self.lab(); bufs = {}
        for k, r in enumerate(o.res):
            if r.ty.shape is not None: bufs[k] = self.alloca(r.ty.elem, r.ty.size)
        s.add(f"  br i1 {self.sc[o.args[0]]}, label %{y}, label %{n}"); inc = []
        for l, reg in ((y, o.regions[0]), (n, o.regions[1] if len(o.regions) > 1 else [])):
            s.lab(l); vals = []
            if reg and reg[0].ops:
                yl = self.block(reg[0])
                for k, v in enumerate(yl.args if yl is not None else ()):
                    if k in bufs: self.fill(bufs[k], v); vals.append(None)
                    else: vals.append(self.sc[v])
            inc.append((s.end, vals)); s.add(f"  br label %{j}")
        s.lab(j)
        for k, r in enumerate(o.res):
            if k in bufs: self.buf[r] = bufs[k]
            else: x = V(self.tmp()); s.add(f"  {x} = phi {lt(r.ty.elem)} " + ", ".join(f"[ {v[k]}, %{p} ]" for p, v in inc)); self.sc[r] = x
    def while_(self, o):
        s = self.segs[-1]; before, after = o.regions[0][0], o.regions[1][0]; bufs = {}
        for k, (a, i) in enumerate(zip(before.args, o.args)):
            if a.ty.shape is not None: p = self.alloca(a.ty.elem, a.ty.size); self.fill(p, i); self.buf[a] = p; bufs[k] = p
        h, bd, ex = self.lab(), self.lab(), self.lab(); pre = s.end; s.add(f"  br label %{h}"); s.lab(h); s.add(None); at = len(s.lines) - 1
        for a in before.args:
            if a.ty.shape is None: self.sc[a] = V(self.tmp())
        cond = self.block(before)
        for k, (v, a) in enumerate(zip(cond.args[1:], after.args)):
            r = o.res[k]
            if a.ty.shape is None: self.sc[a] = self.sc[r] = self.sc[v]
            else: p = self.alloca(a.ty.elem, a.ty.size); self.fill(p, v); self.buf[a] = self.buf[r] = p
        s.add(f"  br i1 {self.sc[cond.args[0]]}, label %{bd}, label %{ex}"); s.lab(bd)
        y = self.block(after)
        self.update([(before.args[k], p, y.args[k]) for k, p in bufs.items()])
        s.add(f"  br label %{h}")
        s.lines[at] = "\n".join(f"  {self.sc[a]} = phi {lt(a.ty.elem)} [ {self.sc[i]}, %{pre} ], [ {self.sc[v]}, %{s.end} ]" for a, i, v in zip(before.args, o.args, y.args) if a.ty.shape is None) or None
        s.lab(ex)

def lower(text, symbol):
    lowering = Lower(vw=codegen.vector_bytes())
    lowering.name = symbol
    return lowering.run(parse(text))
