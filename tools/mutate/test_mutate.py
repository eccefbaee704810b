"""Tests of tools/mutate/run.py and tools/plant.py: python3 tools/mutate/test_mutate.py"""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import build
import changed
import run
import schemata
from expressions import parse
from functions import functions_of
from tokens import Source, Unreadable, without_comments

TOOLS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TOOLS))
import plant  # noqa: E402

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
void Other::method() { twice(1); }
"""


def mutants_of(text, path="ops/some.cpp"):
    unread = []
    source, sites = schemata.read(path, text, unread)
    return source, schemata.number(source, sites, 1), unread


def texts(text, path="ops/some.cpp"):
    return {(m.before, m.after) for _, mutants in mutants_of(text, path)[1] for m in mutants}


class Reading(unittest.TestCase):
    def test_template_arguments_are_not_comparisons(self):
        source = Source("f<a, b>(c) < d")
        node = parse(source, 0, len(source.tokens))
        self.assertEqual((node.kind, node.op, node.children[0].kind), ("binary", "<", "call"))

    def test_multiplication_binds_before_comparison(self):
        source = Source("a + b * c == d && !e")
        node = parse(source, 0, len(source.tokens))
        self.assertEqual((node.op, node.children[0].children[0].op), ("&&", "+"))

    def test_an_incomplete_expression_is_refused(self):
        source = Source("a + ;")
        with self.assertRaises(Unreadable):
            parse(source, 0, len(source.tokens))

    def test_functions_are_found_with_their_classes(self):
        found = {f.full_name(): f for f in functions_of(Source(KERNEL))}
        self.assertEqual(set(found), {"Scale::forward", "Scale::backward", "helper", "Other::method"})
        self.assertEqual(found["Scale::backward"].owner.saved, ["x", "w"])
        self.assertEqual(found["Scale::forward"].tensors, ["a", "b"])


class Mutants(unittest.TestCase):
    def test_each_kind_is_made(self):
        made = texts(KERNEL)
        for pair in [
                ("dy * w.value()", "dy / w.value()"), ("dy * w.value()", "dy"), ("w.value()", "x.value()"),
                ("wants(0)", "!wants(0)"), ("i < n", "i <= n"), ("out[i] += dy[i]", "out[i] = dy[i]"),
                ("dx", "Gradient{}"), ("sum_to(dy, shape)", "dy"), ("x = a", "x = b"), ("x = a;", ""),
                ("a * b", "a / b"), ("return {dx, sum_to(dy, shape)};", "return {sum_to(dy, shape), dx};")]:
            self.assertIn(pair, made)

    def test_options_are_not_passed_on(self):
        made = texts("Tensor f() { return g({.eps = options.eps, .causal = causal, .n = 3}, options_.width(2)); }")
        self.assertEqual({(before, after) for before, after in made if "unset" in after}, {
            ("options.eps", "gradus::gradus_unset(options).eps"),
            ("options.eps", "gradus::gradus_unset(options.eps)"), ("causal", "gradus::gradus_unset(causal)")})

    def test_initializers_guards_and_catch_blocks_are_mutated(self):
        self.assertIn(("n * 2", "n / 2"), texts("Layer::Layer(int n) : Module(n + 1), rows_{n * 2, k} { f(n); }"))
        self.assertIn(("n > 0", "false"), texts('void f(int n) { require<GraphError>(n > 0, "f: ", n); }'))
        self.assertIn(("e - f", "e + f"), texts("void f() { try { a(); } catch (const Error&) { d = e - f; } }"))

    def test_mutants_that_cost_only_time_or_memory_are_not_made(self):
        made = texts("void f() { v.reserve(2 * n); const memory::Scratch<float> rows(2 * n); prefetch(p + 1); "
                     "const auto grain = 4 * n; if (wants(1)) g(x.contiguous(), x.clone(), x.detach()); }")
        self.assertIn(("x.detach()", "x"), made)
        self.assertFalse([before for before, _ in made if "2 * n" in before or "p + 1" in before or "4 * n" in before])
        for pair in [("wants(1)", "true"), ("x.contiguous()", "x"), ("x.clone()", "x")]:
            self.assertNotIn(pair, made)

    def test_equivalent_mutants_are_not_made(self):
        made = texts("double f(int n) { if (std::abs(a - b) < 1e-6) g(op::Sum(r), transpose(x, 0, 1)); "
                     "return static_cast<double>(x.size(0)); }")
        for pair in [("a - b", "(b) - (a)"), ("std::abs(a - b) < 1e-6", "std::abs(a - b) <= 1e-6"),
                     ("op::Sum(r)", "r"), ("transpose(x, 0, 1)", "transpose(x, 1, 0)")]:
            self.assertNotIn(pair, made)
        self.assertFalse([after for _, after in made if "static_cast<float>" in after])

    def test_doubles_are_narrowed_only_in_computations(self):
        text = "double f(const Tensor& x) { return static_cast<double>(g(x, 0)) * 2; }"
        for path, expected in [("engine/some.cpp", True), ("io/some.cpp", False)]:
            self.assertEqual(any("static_cast<float>" in after for _, after in texts(text, path)), expected)


class Writing(unittest.TestCase):
    def test_without_its_mutants_a_source_is_unchanged(self):
        source, numbered, unread = mutants_of(KERNEL)
        every = {m.id for _, mutants in numbered for m in mutants}
        self.assertEqual(schemata.Writer(source, numbered, every).write(), schemata.INCLUDE + without_comments(KERNEL))
        self.assertEqual(unread, [])

    def test_each_mutant_has_its_own_lines(self):
        source, numbered, _ = mutants_of(KERNEL)
        writer = schemata.Writer(source, numbered)
        written = writer.write().split("\n")
        for line, owner in writer.lines.items():
            if owner > 0:
                self.assertIn(f"gradus_mutant == {owner}", written[line - 1])

    def test_errors_name_their_line_and_their_instantiation(self):
        output = "a.h:7:1:   required from here\nb.h:3:2: error: no\nc.h:1:1: error: no\n"
        self.assertEqual(list(build.stretches(output)), [[("b.h", "3"), ("a.h", "7")], [("c.h", "1")]])

    def test_a_source_without_mutants_is_restored_as_a_newer_file(self):
        with tempfile.TemporaryDirectory() as folder:
            root, target = Path(folder) / "root", Path(folder) / "target"
            (root / "ops").mkdir(parents=True)
            (root / "ops/a.cpp").write_text("plain")
            (root / "gradus.h").write_text("")
            target.mkdir()
            build.link_tree(root, target, set())
            self.assertTrue((target / "ops/a.cpp").is_symlink())
            build.replace(target / "ops/a.cpp", "mutated")
            build.link_tree(root, target, set())
            self.assertFalse((target / "ops/a.cpp").is_symlink())
            self.assertEqual((target / "ops/a.cpp").read_text(), "plain")


class Changes(unittest.TestCase):
    def test_lines_of_a_diff(self):
        diff = ("--- a/ops/a.cpp\n+++ b/ops/a.cpp\n@@ -3,0 +4,2 @@ f\n+x\n+y\n@@ -9 +11 @@\n-a\n+b\n"
                "@@ -20,2 +21,0 @@\n-c\n-d\n--- a/ops/b.h\n+++ /dev/null\n@@ -1 +0,0 @@\n-e\n")
        self.assertEqual(changed.lines_of(diff), {"ops/a.cpp": {4, 5, 11, 21, 22}})

    def test_uncommitted_edits_and_new_files_count_as_changed(self):
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
            self.assertIn("unknown", changed.since(tree, "unknown"))

    def test_only_changed_lines_are_mutated(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "ops").mkdir()
            (root / "ops/some.cpp").write_text(KERNEL)
            line = KERNEL.split("\n").index("    if (wants(0)) dx = dy * w.value();") + 1
            some = build.Mutated(root, "ops/some.cpp", 1, [], {line})
            self.assertEqual({m.line for m in some.mutants.values()}, {line})

    def test_a_sample_is_evenly_spaced(self):
        mutants = dict.fromkeys(range(1, 11))
        self.assertEqual(list(run.sampled(mutants, 3)), [1, 4, 7])
        self.assertEqual(run.sampled(mutants, None), mutants)
        self.assertEqual(run.sampled(mutants, 99), mutants)

    def test_misuse_exits_with_2_and_one_line(self):
        for words in (["--sample", "0"], ["--mutant", "x"], ["no-such-commit"], ["--all", "HEAD"], ["--jobs", "0"]):
            self.assertEqual(outcome_of("mutate/run.py", *words), (2, "", 1), words)


class Planting(unittest.TestCase):
    def test_a_bug_is_planted_where_its_text_occurs_once_in_its_function(self):
        def planted(function, before):
            return plant.planted(KERNEL, plant.Bug(1, "ops/some.cpp", function, before, "thrice(", "ops", ""))

        self.assertEqual(planted("helper", "twice("), KERNEL.replace("twice(n)", "thrice(n)"))
        self.assertEqual(planted("Other::method", "twice("), KERNEL.replace("twice(1)", "thrice(1)"))
        for function, before in [("missing", "twice("), ("helper", "gone"), ("Scale::backward", "dx")]:
            self.assertIsNone(planted(function, before))

    def test_misuse_exits_with_2_and_one_line(self):
        for words in (["--sample"], ["--only", "no such text"]):
            self.assertEqual(outcome_of("plant.py", *words), (2, "", 1), words)


def outcome_of(tool, *words):
    done = subprocess.run([sys.executable, TOOLS / tool, *words], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr.count("\n")


if __name__ == "__main__":
    unittest.main()
