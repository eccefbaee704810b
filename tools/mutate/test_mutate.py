"""Tests of the mutation run's own parts: python3 tools/mutate/test_mutate.py"""
import sys
import tempfile
import unittest
from pathlib import Path

import build
import changed
import schemata
from excuses import Excuse, excuses_of
from expressions import parse
from functions import functions_of
from operators import number_alternatives
from tokens import Source, Unreadable, without_comments
from verdicts import Results

KERNEL = """
struct Scale final : Op {  // a comment with a (bracket
  Saved x, w;
  Tensor forward(const Tensor& a, const Tensor& b) { x = a; Tensor y = a * b; return y; }
  Gradients backward(const Tensor& dy) override {
    if (wants(0)) dx = dy * w.value();
    for (std::int64_t i = 0; i < n; ++i) out[i] += dy[i];
    return {dx, sum_to(dy, shape)};
  }
};
void helper(int n) { twice(n); }
"""


def mutants_of(text, path="ops/some.cpp"):
    unread = []
    source, sites = schemata.read(path, text, set(), unread)
    return source, schemata.number(source, sites, 1)[0], unread


def texts(text, **more):
    return {(m.before, m.after) for _, mutants in mutants_of(text, **more)[1] for m in mutants}


class Reading(unittest.TestCase):
    def test_template_arguments_are_not_comparisons(self):
        source = Source("f<a, b>(c) < d")
        node = parse(source, 0, len(source.tokens))
        self.assertEqual((node.kind, node.op), ("binary", "<"))
        self.assertEqual(node.children[0].kind, "call")

    def test_precedence(self):
        source = Source("a + b * c == d && !e")
        node = parse(source, 0, len(source.tokens))
        self.assertEqual(node.op, "&&")
        self.assertEqual(node.children[0].children[0].op, "+")

    def test_what_is_no_expression_is_refused(self):
        source = Source("a + ;")
        with self.assertRaises(Unreadable):
            parse(source, 0, len(source.tokens))

    def test_functions_and_members_are_found(self):
        found = {f.name: f for f in functions_of(Source(KERNEL))}
        self.assertEqual(set(found), {"forward", "backward", "helper"})
        self.assertEqual(found["backward"].owner.saved, ["x", "w"])
        self.assertEqual(found["forward"].tensors, ["a", "b"])
        self.assertIn("twice", found["helper"].calls)


class Faults(unittest.TestCase):
    def test_each_kind(self):
        made = texts(KERNEL)
        for before, after in [
                ("dy * w.value()", "dy / w.value()"), ("dy * w.value()", "dy"), ("w.value()", "x.value()"),
                ("wants(0)", "!wants(0)"), ("i < n", "i <= n"), ("out[i] += dy[i]", "out[i] = dy[i]"),
                ("dx", "Gradient{}"), ("sum_to(dy, shape)", "dy"), ("x = a", "x = b"), ("x = a;", ""),
                ("return {dx, sum_to(dy, shape)};", "return {sum_to(dy, shape), dx};")]:
            self.assertIn((before, after), made)

    def test_what_is_not_handed_on(self):
        made = texts("Tensor f() { return g({.eps = options.eps, .causal = causal, .n = 3}, options_.width(2)); }")
        self.assertEqual({(before, after) for before, after in made if "unset" in after}, {
            ("options.eps", "gradus::gradus_unset(options).eps"),
            ("options.eps", "gradus::gradus_unset(options.eps)"), ("causal", "gradus::gradus_unset(causal)")})

    def test_what_members_are_made_of(self):
        made = texts("Layer::Layer(int n) : Module(n + 1), rows_{n * 2, k}, empty_() { f(n - 1); }")
        for before, after in [("n + 1", "n - 1"), ("n * 2", "n / 2"), ("n - 1", "n + 1")]:
            self.assertIn((before, after), made)

    def test_forwards_and_guards(self):
        self.assertIn(("a * b", "a / b"), texts(KERNEL))
        self.assertIn(("n > 0", "false"), texts('void f(int n) { require<GraphError>(n > 0, "f: ", n); }'))

    def test_what_is_tried_and_caught(self):
        made = texts("void f() { try { a = b + c; } catch (const Error&) { d = e - f; } g = h * i; }")
        for before, after in [("b + c", "b - c"), ("e - f", "e + f"), ("h * i", "h / i")]:
            self.assertIn((before, after), made)

    def test_which_bear_derivatives(self):
        strict = {m.before for _, mutants in mutants_of(KERNEL)[1] for m in mutants if m.strict}
        self.assertIn("wants(0)", strict)
        self.assertNotIn("a * b", strict)
        for path, expected in [("engine/some.cpp", True), ("train/some.cpp", False)]:
            self.assertEqual({m.strict for _, mutants in mutants_of(KERNEL, path)[1] for m in mutants}, {expected})

    def test_conditions(self):
        def of(text):
            return {after for before, after in texts(text) if before == "n > 0"}

        self.assertEqual(of("void f(int n) { if (n > 0) g(); }"), {"false", "true", "n >= 0"})
        self.assertEqual(of("void f(int n) { while (n > 0) g(); }"), {"false", "n <= 0", "n >= 0"})

    def test_what_is_no_fault_by_its_kind(self):
        made = texts("double f(int n) { return g(transpose(x, 0, 1), static_cast<double>(x.size(0))); }")
        self.assertNotIn(("transpose(x, 0, 1)", "transpose(x, 1, 0)"), made)
        self.assertFalse([after for _, after in made if "static_cast<float>" in after])
        made = texts("Tensor f() { return apply(op::Sum(r), map(x, decltype(v)(a), v - v), std::vector(r)); }")
        for before, after in [("op::Sum(r)", "r"), ("decltype(v)(a)", "a"), ("v - v", "(v) - (v)"),
                              ("std::vector(r)", "r")]:
            self.assertNotIn((before, after), made)
        self.assertIn(("map(x, decltype(v)(a), v - v)", "x"), made)

    def test_what_changes_nothing_is_not_tried(self):
        made = texts("void f() { v.reserve(2 * n); if (std::abs(a - b) < 1e-6) g(c - d); if (n < 2) g(n); }")
        for before, after in [("v.reserve(2 * n);", ""), ("2 * n", "2 / n"), ("a - b", "(b) - (a)"),
                              ("std::abs(a - b) < 1e-6", "std::abs(a - b) <= 1e-6")]:
            self.assertNotIn((before, after), made)
        for before, after in [("a - b", "a + b"), ("std::abs(a - b) < 1e-6", "false"), ("c - d", "(d) - (c)"),
                              ("n < 2", "n <= 2"), ("std::abs(a - b)", "a - b")]:
            self.assertIn((before, after), made)

    def test_a_refusal_at_the_end_stays(self):
        made = texts('int f(int n) { if (n > 0) return n; fail<ValueError>("f: ", n); }')
        self.assertNotIn("", [after for _, after in made])
        self.assertIn("", [after for _, after in texts('void f(int n) { fail<ValueError>("f: ", n); g(n); }')])

    def test_doubles_are_narrowed_in_what_bears_derivatives(self):
        def narrowed(path):
            text = "double f(const Tensor& x) { return static_cast<double>(g(x, 0)) * 2; }"
            return [m for _, mutants in mutants_of(text, path)[1] for m in mutants if m.fault == "narrowed"]

        self.assertEqual(len(narrowed("engine/some.cpp")), 1)
        self.assertEqual(narrowed("io/some.cpp"), [])

    def test_numbers(self):
        self.assertEqual(number_alternatives("2"), ["3", "1"])
        self.assertEqual(number_alternatives("0.5"), ["(0.5 * 1.001)"])


class Writing(unittest.TestCase):
    def test_without_its_mutants_a_source_is_what_it_was(self):
        source, numbered, unread = mutants_of(KERNEL)
        every = {m.id for _, mutants in numbered for m in mutants}
        self.assertEqual(schemata.Writer(source, numbered, every).write(), schemata.INCLUDE + without_comments(KERNEL))
        self.assertEqual(unread, [])

    def test_each_mutant_has_lines_of_its_own(self):
        source, numbered, _ = mutants_of(KERNEL)
        writer = schemata.Writer(source, numbered)
        written = writer.write().split("\n")
        for line, owner in writer.lines.items():
            if owner > 0:
                self.assertIn(f"gradus_mutant == {owner}", written[line - 1])

    def test_errors_name_their_line_and_where_it_was_instantiated(self):
        output = "a.h:7:1:   required from here\nb.h:3:2: error: no\nc.h:1:1: error: no\n"
        self.assertEqual(list(build.stretches(output)), [[("b.h", "3"), ("a.h", "7")], [("c.h", "1")]])


    def test_a_compiler_cache_may_shorten_paths(self):
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder) / "tree"
            (tree / "ops").mkdir(parents=True)
            (tree / "ops/some.cpp").write_text(KERNEL)
            made = build.Tree(tree, tree / "build/mutants", print)
            source = made.sources["ops/some.cpp"]
            source.lines = {7: 3}
            self.assertEqual(made.owners([("../tree/ops/some.cpp", "7")]), [("ops/some.cpp", 3)])


class Changes(unittest.TestCase):
    def test_lines_of_a_diff(self):
        diff = ("--- a/ops/a.cpp\n+++ b/ops/a.cpp\n@@ -3,0 +4,2 @@ f\n+x\n+y\n@@ -9 +11 @@\n-a\n+b\n"
                "@@ -20,2 +21,0 @@\n-c\n-d\n--- a/ops/b.h\n+++ /dev/null\n@@ -1 +0,0 @@\n-e\n")
        self.assertEqual(changed.lines_of(diff), {"ops/a.cpp": {4, 5, 11, 21, 22}})

    def test_since_a_commit(self):
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder)
            changed.git(tree, "init", "-q", "-b", "main")
            (tree / "a.cpp").write_text("one\ntwo\nthree\n")
            changed.git(tree, "add", "a.cpp")
            changed.git(tree, "-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "first")
            self.assertEqual(changed.since(tree), {})
            (tree / "a.cpp").write_text("one\n2\nthree\n")
            (tree / "b.h").write_text("new\n")
            self.assertEqual(changed.since(tree), {"a.cpp": {2}, "b.h": {1, 2}})
            with self.assertRaises(SystemExit):
                changed.since(tree, "unknown")

    def test_mutants_of_touched_lines_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder)
            (tree / "ops").mkdir()
            (tree / "ops/some.cpp").write_text(KERNEL)
            line = KERNEL.split("\n").index("    if (wants(0)) dx = dy * w.value();") + 1
            some = build.Mutated(tree, "ops/some.cpp", set(), 1, [], {line})
            every = build.Mutated(tree, "ops/some.cpp", set(), 1, [])
            self.assertEqual({m.line for m in some.mutants.values()}, {line})
            self.assertEqual(len(some.mutants), sum(m.line == line for m in every.mutants.values()))

    def test_a_source_that_is_mutated_no_more_is_newer_than_its_object(self):
        with tempfile.TemporaryDirectory() as folder:
            tree, target = Path(folder) / "tree", Path(folder) / "target"
            for room in ("ops", "docs"):
                (tree / room).mkdir(parents=True)
            (tree / "ops/a.cpp").write_text("plain")
            build.link_tree(tree, target, Path(folder) / "include", set())
            self.assertTrue((target / "ops/a.cpp").is_symlink())
            build.replace(target / "ops/a.cpp", "mutated")
            build.link_tree(tree, target, Path(folder) / "include", set())
            self.assertFalse((target / "ops/a.cpp").is_symlink())
            self.assertEqual((target / "ops/a.cpp").read_text(), "plain")


EXCUSED = """
int f(int a) {
  a += 1;  // equivalent: nobody looks
  return a;
}
// equivalent: only how fast;
// nothing else
int g(int a) {
  if (a > 0) { a = 2; }
  return a;
}
// equivalent: one statement
int k = 3;
int m = 4;
void loop() {
  // equivalent: as often
  for (int i = 0; i < 3; ++i) {
    m += i;
  }
}
"""


class Excuses(unittest.TestCase):
    def test_lines_and_reasons(self):
        found = [(e.first, e.last, e.why) for e in excuses_of(Source(EXCUSED))]
        self.assertEqual(found, [(3, 3, "nobody looks"), (8, 11, "only how fast; nothing else"),
                                 (13, 13, "one statement"), (17, 17, "as often")])

    def test_mutants_have_theirs(self):
        excused = {m.line for _, mutants in mutants_of(EXCUSED)[1] for m in mutants if m.excuse}
        self.assertEqual(excused, {3, 9, 17})


class Judging(unittest.TestCase):
    def test_a_survivor_with_a_reason_is_equivalent(self):
        excuse = Excuse("ops/a.cpp", 9, 9, 9, "it is there")
        mutant = schemata.Mutant(4, "ops/a.cpp", 9, "x = y;", "deleted", "x = y;", "", excuse=excuse)
        results = Results(dict.fromkeys((4, 5, 6), mutant),
                          {4: ("survived", "3 cases"), 5: ("killed", "a case"), 6: ("killed", "hung")})
        results.judge()
        self.assertEqual(results.verdicts[4], ("equivalent", "it is there"))
        self.assertEqual(results.verdicts[5], ("killed", "a case"))
        self.assertEqual(results.verdicts[6], ("equivalent", "it is there"))
        self.assertTrue(excuse.used)
        self.assertEqual(results.survivors(), [])

    def test_a_table_of_each_kind_of_fault(self):
        mutants = {i: schemata.Mutant(i, "ops/a.cpp", 1, "", fault, "", "")
                   for i, fault in ((1, "sign"), (2, "sign"), (3, "deleted"))}
        results = Results(mutants, {1: ("killed", ""), 2: ("survived", ""), 3: ("equivalent", "")})
        rows = {row.split()[0]: row.split()[1:] for row in results.table("fault", lambda m: m.fault).split("\n")}
        self.assertEqual(rows, {"fault": ["mutants", "killed", "equivalent", "survived", "unreached", "noticed"],
                                "sign": ["2", "1", "1", "50.0%"], "deleted": ["1", "1"],
                                "all": ["3", "1", "1", "1", "50.0%"]})

    def test_how_many_may_survive(self):
        def too_many(strict, killed, survived):
            mutants = {i: schemata.Mutant(i, "a.cpp", 1, "", "", "", "", strict=strict and i == 0)
                       for i in range(killed + survived)}
            return Results(mutants, {i: ("survived" if i < survived else "killed", "") for i in mutants}).too_many()

        self.assertFalse(too_many(False, 97, 3))
        self.assertTrue(too_many(False, 97, 4))
        self.assertTrue(too_many(True, 99, 1))


if __name__ == "__main__":
    sys.exit(unittest.main())
