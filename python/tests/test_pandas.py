"""Columns of pandas, with and without pyarrow."""

import subprocess
import sys

import pytest

COLUMNS = {
    "nullable integers": "pd.Series([1, 2, None], dtype='Int64')",
    "nullable floats": "pd.Series([1.5, 2, None], dtype='Float64')",
    "strings": "pd.Series(['a', 'b', None])",
    "strings of Python": "pd.Series(['a', 'b', None], dtype=pd.StringDtype('python'))",
    "categories": "pd.Series(['a', 'b', None], dtype='category')",
    "categories of integers": "pd.Series([1, 2, None], dtype='category')",
    "objects, None": "pd.Series(['a', 'b', None], dtype=object)",
    "objects, NaN": "pd.Series(['a', 2.0, float('nan')], dtype=object)",
    "objects, NA": "pd.Series(['a', 2, pd.NA], dtype=object)",
    "index, None": "pd.Index(['a', 'b', None], dtype=object)",
    "index, NaN": "pd.Index(['a', 'b', float('nan')])",
    "array": "pd.array([1, 2, None])",
    "categorical": "pd.Categorical(['a', 'b', None])",
    "categorical of integers": "pd.Categorical([1, 2, None])",
}
#: The items before the null of the other columns are "a" and "b".
BEFORE = {"nullable floats": ["1.5", "2.0"], "objects, NaN": ["a", "2.0"], "objects, NA": ["a", "2"]}


def run(code, pyarrow):
    """Runs code in a process in which pyarrow is installed or not."""
    hidden = "" if pyarrow else "sys.modules['pyarrow'] = None"
    code = f"import sys\n{hidden}\nimport numpy as np\nimport pandas as pd\nimport roughly\n{code}"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize("pyarrow", [True, False], ids=["pyarrow", "no pyarrow"])
def test_nulls_are_errors_with_their_position(pyarrow):
    code = f"""
before = {BEFORE}
for name, column in {{{", ".join(f"{name!r}: {column}" for name, column in COLUMNS.items())}}}.items():
    for create, *arguments in ((roughly.BloomFilter,), (roughly.CuckooFilter,), (roughly.CountMinSketch, 100, 3), (roughly.TopK, 3)):
        for method in ("update", "contains", "query"):
            if hasattr(create, method):
                sketch = create(*arguments)
                try:
                    getattr(sketch, method)(column)
                except ValueError as error:
                    assert str(error) == "the item at position 2 is null", (name, error)
                else:
                    raise AssertionError((name, type(sketch), method))
                if method == "update":
                    expected = type(sketch)(*arguments)
                    # All floats of an Arrow column are checked first.
                    if name != "nullable floats" or not {pyarrow}:
                        expected.update(before.get(name, ["1", "2"] if "integers" in name or name == "array" else ["a", "b"]))
                    assert sketch == expected, (name, type(sketch))
    if "integers" in name or "floats" in name or name == "array":
        for update, element in (
            (lambda: roughly.TDigest().update(column), "item"),
            (lambda: roughly.CountMinSketch(100, 3).update(['a', 'b', 'c'], column), "count"),
            (lambda: roughly.TDigest().update([1, 2, 3], column), "weight"),
            (lambda: roughly.TDigest(window=60_000).update([1, 2, 3], at=column), "time"),
        ):
            try:
                update()
            except ValueError as error:
                # 1.5 is no weight.
                assert str(error) == f"the {{element}} at position 2 is null" or element == "weight" and "must be" in str(error), (name, error)
            except TypeError as error:
                assert any(kind in name for kind in ("floats", "categories", "categorical")), (name, error)
            else:
                raise AssertionError(name)
print("tested")
"""
    assert run(code, pyarrow) == ["tested"]


@pytest.mark.parametrize("pyarrow", [True, False], ids=["pyarrow", "no pyarrow"])
def test_an_index_of_tuples_is_a_type_error(pyarrow):
    code = """
index = pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])
for call in (roughly.TopK(3).update, roughly.BloomFilter().update, roughly.TDigest().update, roughly.TDigest().quantile):
    try:
        call(index)
    except TypeError as error:
        print(error)
"""
    assert run(code, pyarrow) == ["an item must be str, bytes, int or float, not tuple"] * 2 + ["must be real number, not tuple"] * 2


@pytest.mark.parametrize("pyarrow", [True, False], ids=["pyarrow", "no pyarrow"])
def test_the_result_of_value_counts_is_a_warning(pyarrow):
    """Its items are the index."""
    code = """
import warnings
counts = pd.Series(["a", "b", "a"]).value_counts()
for create in (lambda: roughly.BloomFilter(), lambda: roughly.CuckooFilter(), lambda: roughly.CountMinSketch(100, 3), lambda: roughly.TopK(3)):
    for items, expected in ((counts, 1), (counts.rename("n"), 0), (counts.index, 0), (counts.to_dict(), 0)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            create().update(items)
        assert len(caught) == expected and all("update(series.to_dict())" in str(each.message) for each in caught), (items, caught)
top = roughly.TopK(3)
top.update(counts.to_dict())
assert top.items() == [(b"a", 2), (b"b", 1)]
print("tested")
"""
    assert run(code, pyarrow) == ["tested"]


@pytest.mark.parametrize("pyarrow", [True, False], ids=["pyarrow", "no pyarrow"])
def test_items_of_columns_are_exact(pyarrow):
    code = """
big = 2**53 + 1
for column in (
    pd.Series([big, 5], dtype="Int64"), pd.Series([big, 5]), pd.Series([big, 5], dtype="category"), pd.array([big, 5]),
    pd.Index([big, 5]), pd.Series([big, "5"], dtype=object), pd.Series([str(big), "5"]),
):
    sketch = roughly.CountMinSketch(1000, 3)
    sketch.update(column)
    assert sketch.query([big, 5, float(big), "nan"]).tolist() == [1, 1, 0, 0], column
print("tested")
"""
    assert run(code, pyarrow) == ["tested"]
