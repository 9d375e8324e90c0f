"""Keys: what they may hold, and the line of what they may not."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from symacct.errors import FileError, KeyFileError, SymacctError
from symacct.grading import Key, Truth, read_key
from symacct.grading.lines import places
from symacct.grading.types import in_language
from tests.grading.conftest import KEY

MLP = Path(__file__).parents[2] / "graphs" / "mlp.py"


def test_a_key_is_read(key: Key) -> None:
    matmul, square = key.questions
    assert key.points == 5
    assert in_language(key.title, "zh") == "矩阵乘法"
    assert (matmul.id, matmul.points, matmul.line, square.line) == ("matmul", 4, 3, 20)
    assert matmul.truth == Truth("formula", "2*B*D*K", "flops", {})
    assert matmul.at == {"B": "1024", "D": "256", "K": "64"}
    assert matmul.wrong == {"B*D*K": "macs_for_flops", "2*B*K": "axis_forgotten"}
    assert matmul.partial == {"macs_for_flops": 0.25}
    assert [in_language(h, "zh") for h in matmul.hints] == ["Each output is a sum.", "每项两次运算。"]
    assert square.truth == Truth("pattern", "n m, m k -> n k", "intensity", {"sizes": {"m": "n", "k": "n"}})
    assert square.accept == ("exact",)


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("points = 4", "pionts = 4", 6, "unknown key 'pionts'.*Did you mean 'points'?"),
        ("points = 4", "points = -1", 6, "'points' is from 0 to 1,000,000, not -1"),
        ("points = 4", 'points = "4"', 6, "'points' is a number, not a text"),
        ("points = 4", "points = true", 6, "'points' is a number, not true or false"),
        ("points = 4", "points = nan", 6, "'points' is from 0"),
        ("points = 4", 'mode = "exakt"', 6, "unknown mode 'exakt'.*Did you mean 'exact'?"),
        ("points = 4", "tolerance = 3", 6, "'tolerance' is from 0 to 0.5, not 3"),
        ('id = "matmul"', "", 3, "this question has no 'id'"),
        ('id = "matmul"', 'id = ""', 4, "an id has 1 to 60 printable characters"),
        ('id = "square"', 'id = "Mat Mul"', 21, "the id 'Mat Mul' is taken by the question of line 3"),
        ('id = "matmul"', 'id = "Student"', 4, "'Student' is no id: in files of answers it means something else"),
        ("points = 4", f"points = {'9' * 400}", 6, "'points' is from 0 to 1,000,000, not 9999"),
        ("points = 4", "points = 1e400", 6, "'points' is from 0 to 1,000,000, not 1E"),
        ('symbols = { n = "side" }', 'symbols = { n = "side", "a b" = "x" }', 23, "'a b' in 'symbols' is no name"),
        ('symbols = { n = "side" }', 'symbols = { n = "side", "" = "x" }', 23, "'' in 'symbols' is no name"),
        ('symbols = { n = "side" }', 'symbols = ["n", "n"]', 23, "'n' stands twice in 'symbols'"),
        ('"Arithmetic intensity of a square product in bf16?"', '" "', 22, "'prompt' is a text"),
        ('"Arithmetic intensity of a square product in bf16?"', "{}", 22, "'prompt' is a text"),
        ('formula = "2*B*D*K"', 'graph = "/etc/passwd"', 8, "a graph is a file that ends in .py or .json"),
        ('formula = "2*B*D*K"', 'graph = "/dev/zero"', 8, "a graph is a file that ends in .py or .json"),
        ('formula = "2*B*D*K"', 'graph = "pipe.json"', 8, "pipe.json holds no graph: it is no file"),
        ('formula = "2*B*D*K"', f'graph = "{"a" * 5000}.json"', 8, "holds no graph"),
        ('formula = "2*B*D*K"', 'graph = "../../none.py"', 8, "there is no file"),
        ('id = "square"', 'id = "matmul"', 21, "the id 'matmul' is taken by the question of line 3"),
        ('formula = "2*B*D*K"', 'formula = "2*B*D*Q"', 8, "the truth does not read: .*Q"),
        ('formula = "2*B*D*K"', 'formula = "2*(B*D"', 8, "the truth does not read"),
        ('unit = "FLOPs"', 'unit = "flopz"', 10, "the unit 'flopz' is not known"),
        ('accept = ["exact"]', 'accept = ["2*n/3"]', 27, r"conventions = \{ name = '2\*n/3' \}, accept = \['name'\]"),
        ('formula = "2*B*D*K"', "", 3, "a question has one truth, .* this one has none"),
        ('formula = "2*B*D*K"', 'formula = "2"\npattern = "a -> a"', 9, "this one has formula, pattern"),
        ('formula = "2*B*D*K"', 'graph = "none.py"', 8, "the truth does not read: there is no file"),
        ('formula = "2*B*D*K"', 'graph = "none.json"', 8, "none.json holds no graph"),
        ('formula = "2*B*D*K"', 'formula = "2*B*D*K"\nof = "bytes"', 9, "'of' belongs to a pattern or a graph"),
        ("at = { B = 1024", "at = { Z = 1024", 9, "'Z' is none of the symbols, B, D, K"),
        ("at = { B = 1024", "at = { B = [1]", 9, "'B' in 'at' is a list"),
        ("macs_for_flops = 0.25", "mac_for_flops = 0.25", 11, "called 'mac_for_flops'.*Did you mean 'macs_for_flops'?"),
        ("macs_for_flops = 0.25", "macs_for_flops = 25", 11, "'partial' is from 0 to 1, not 25"),
        ('"axis_forgotten"', '"axis_lost"', 16, "no mistake or convention is called 'axis_lost'"),
        ('accept = ["exact"]', 'accept = ["exactly"]', 27, "no convention is called 'exactly'.*'exact'"),
        ('accept = ["exact"]', "accept = [1]", 27, "'accept' is a list of texts, and has a number"),
        ('accept = ["exact"]', "accept = 1", 27, "'accept' is a list, not a number"),
        ("symbols = { n", "symbols = { q", 24, "the truth does not read: its sizes n are none of the symbols, q"),
        ('of = "intensity"', 'of = "speed"', 24, "the truth does not read: .*speed"),
        ('{ en = "FLOPs of x @ w?", zh = "x @ w 的运算量？" }', "3", 5, "a text, or a table of texts"),
        ("zh = ", "fr = ", 1, "'title' has the language 'fr'; known: en, zh"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, old: str, new: str, line: int, said: str) -> None:
    assert old in KEY
    file = tmp_path / "key.toml"
    file.write_text(KEY.replace(old, new, 1), encoding="utf-8")
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(KeyFileError, match=said) as wrong:
        read_key(file)
    assert re.match(r"key\.toml, line (\d+): ", str(wrong.value))[1] == str(line)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a key has its questions in tables"),
        ("question = 3", "line 1: a key has its questions"),
        ("question = [{ id = 'a' }]", "line 1: a key has its questions"),
        ("titel = 'x'\n[[question]]\nid = 'a'", "line 1: unknown key 'titel'"),
        ("a = 1\na = 2\nb = 3", "line 2: not TOML: Cannot overwrite a value"),
        ("[[question]\n", "line 1: not TOML"),
        ("a = " + "[" * 5000, "not TOML that is read: nested too deeply"),
        ("a." * 20 + "b = 1", "names nested deeper than 12"),
        ("a = 1" + "0" * 5000, "a number of thousands of digits"),
    ],
)
def test_what_is_no_key(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "key.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SymacctError, match=said):
        read_key(file)


def test_a_key_that_is_no_text(tmp_path: Path) -> None:
    for content, said in ((b"\xff\xfet", "UTF-16"), (b"a = '\xe9'", "line 1: not UTF-8"), (b"a\0b", "binary")):
        (tmp_path / "key.toml").write_bytes(content)
        with pytest.raises(FileError, match=said):
            read_key(tmp_path / "key.toml")
    with pytest.raises(FileError, match="cannot be read: No such file"):
        read_key(tmp_path / "none.toml")


def test_a_truth_may_be_a_graph(tmp_path: Path) -> None:
    import symacct as sa

    (tmp_path / "mlp.py").write_text(MLP.read_text(encoding="utf-8"), encoding="utf-8")
    saved = sa.account("b d, d k -> b k").graph.to_json()
    (tmp_path / "saved.json").write_text(json.dumps(saved), encoding="utf-8")
    (tmp_path / "key.toml").write_text(
        """
        [[question]]
        id = "mlp"
        prompt = "Products of the MLP?"
        symbols = { b = "batch", s = "length", d = "width", f = "hidden" }
        graph = "mlp.py"
        of = "matmul_flops"
        [[question]]
        id = "saved"
        prompt = "?"
        symbols = { b = "", d = "", k = "" }
        graph = "saved.json"
        of = "bytes"
        dtype = "fp32"
        """,
        encoding="utf-8",
    )
    from symacct.grading import Submission, grade

    right = Submission("a", {"mlp": "4bsdf", "saved": "4(bd + dk + bk)"}, "a.md")
    wrong = Submission("b", {"mlp": "2bsdf", "saved": "2(bd + dk + bk)"}, "b.md")
    assert [g.points for g in grade(read_key(tmp_path / "key.toml"), [right, wrong])] == [2, 0]


def test_symbols_may_be_names_alone(tmp_path: Path) -> None:
    (tmp_path / "key.toml").write_text(KEY.replace('symbols = { n = "side" }', 'symbols = ["n"]'), encoding="utf-8")
    assert read_key(tmp_path / "key.toml").questions[1].symbols == {"n": ""}


def test_lines_are_those_of_the_text() -> None:
    text = "\n".join(
        [
            *("title = 't'", "", "[[ question ]] # one", 'id = "a"', 'prompt = """', 'id = "no"', '[[question]]"""'),
            *('"mode" = "exact"', "[question.wrong]", "x = ''", "[[question]]", "at.B = 3"),
        ]
    )
    top, tables = places(text, "question")
    assert top == {"title": 1}
    assert tables == [{"": 3, "id": 4, "prompt": 5, "mode": 8, "wrong": 9}, {"": 11, "at": 12}]
