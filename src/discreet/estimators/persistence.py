"""Fitted models as JSON: coefficients, bounds and statement; nothing in a file is ever run."""

from __future__ import annotations

import base64
import dataclasses
import json
import math
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import estimators, penalties, solvers
from discreet.curator import RowBounds
from discreet.estimators.statement import Look, Statement
from discreet.inference import Inference
from discreet.privacy import Budget

__all__ = ["load", "save"]

FORMAT = "discreet model"
VERSION = 1
KINDS = {"f8": np.dtype("<f8"), "i8": np.dtype("<i8")}
INFERRED = ("estimate", "error", "privacy", "degrees")
BOUNDS = tuple(f.name for f in dataclasses.fields(RowBounds))
HOMES: dict[str, Any] = {"penalty": penalties, "solver": solvers}


class FittedText:
    """The event of a model that was loaded: its text alone.

    Examples
    --------
    >>> FittedText("GaussianDpEvent(noise_multiplier=2.0)")
    GaussianDpEvent(noise_multiplier=2.0)
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def to_standard(self, kind: str) -> Any:
        """Refused: a file holds no event that could be priced again."""
        raise ValueError(
            f"to_standard({kind!r}) needs the event itself, and a loaded model has its text; read privacy_.epsilon, "
            "or convert before saving"
        )


# plain values ----------------------------------------------------------------------------------------------------
def packed(array: NDArray[Any]) -> dict[str, Any]:
    """An array as JSON: base64 of its 8-byte numbers, only the non-zero ones where most are zero.

    >>> unpacked(packed(np.array([1.0, 2.5])), "coef")
    array([1. , 2.5])
    """
    kind = "i8" if array.dtype.kind in "iu" else "f8"
    flat = np.ascontiguousarray(array, dtype=KINDS[kind]).ravel()
    at = np.flatnonzero(flat)
    out: dict[str, Any] = {"kind": kind, "shape": list(array.shape)}
    if flat.size >= 16 and at.size < flat.size // 4:
        out["places"] = _text(at.astype(KINDS["i8"]))
        flat = flat[at]
    out["base64"] = _text(flat)
    return out


def _text(array: NDArray[Any]) -> str:
    return base64.b64encode(array.tobytes()).decode("ascii")


def _numbers(text: Any, kind: str, name: str, size: int | None = None) -> NDArray[Any]:
    try:
        raw = base64.b64decode(text, validate=True)
    except (TypeError, ValueError):
        raise ValueError(f"{name} of this file is not base64; the file is damaged, save the model again") from None
    if len(raw) % 8 or (size is not None and len(raw) != 8 * size):
        raise ValueError(f"{name} of this file has {len(raw)} bytes, which is not what its shape asks for")
    return np.frombuffer(raw, dtype=KINDS[kind]).astype(KINDS[kind].newbyteorder("="))


def unpacked(stored: Any, name: str, most: int = 2**31) -> NDArray[Any]:
    """The array of :func:`packed`, its sizes checked before any memory is taken."""
    shape = stored.get("shape") if isinstance(stored, dict) else None
    if not isinstance(shape, list) or not all(type(s) is int and s >= 0 for s in shape) or math.prod(shape) > most:
        raise ValueError(f"{name} of this file has shape {shape!r}, which is no shape below {most} numbers")
    if stored.get("kind") not in KINDS:
        raise ValueError(f"{name} of this file has kind {stored.get('kind')!r}; known are {sorted(KINDS)}")
    size, kind = math.prod(shape), stored["kind"]
    if "places" in stored:
        at = _numbers(stored["places"], "i8", name)
        if at.size and (at.min() < 0 or at.max() >= size):
            raise ValueError(f"{name} of this file has entries outside its shape {shape}")
        flat = np.zeros(size, dtype=KINDS[kind].newbyteorder("="))
        flat[at] = _numbers(stored["base64"], kind, name, at.size)
    else:
        flat = _numbers(stored["base64"], kind, name, size)
    if not np.isfinite(flat).all():
        raise ValueError(f"{name} of this file holds NaN or infinity, which no fit releases")
    return flat.reshape(shape)


def _plain(value: Any) -> Any:
    """A parameter as JSON."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return {"array": packed(value)} if value.dtype.kind in "iuf" else {"list": value.tolist()}
    if isinstance(value, RowBounds):
        return {"bounds": {name: _plain(getattr(value, name)) for name in BOUNDS}}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        kept = {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value) if f.init}
        return {"object": type(value).__name__, "fields": kept}
    if isinstance(value, (tuple, list)):
        return {"tuple" if isinstance(value, tuple) else "list": [_plain(v) for v in value]}
    if isinstance(value, dict):
        return {"dict": [[_plain(k), _plain(v)] for k, v in value.items()]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return {"dropped": type(value).__name__}


def _restored(value: Any, name: str) -> Any:
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return unpacked(value["array"], name)
    if "tuple" in value:
        return tuple(_restored(v, name) for v in value["tuple"])
    if "list" in value:
        return [_restored(v, name) for v in value["list"]]
    if "dict" in value:
        return {_restored(k, name): _restored(v, name) for k, v in value["dict"]}
    if "bounds" in value:
        return RowBounds(**{k: _restored(v, name) for k, v in value["bounds"].items() if k in BOUNDS})
    if "object" in value:
        cls = _class(value["object"], name)
        return cls(**{k: _restored(v, name) for k, v in value["fields"].items()})
    return None  # dropped: an object that is not ours, such as a generator


def _class(name: Any, role: str) -> Any:
    home = HOMES.get(role)
    if home is None or name not in home.__all__:
        raise ValueError(f"{role} of this file is a {name!r}, which this version of discreet doesn't know")
    return getattr(home, name)


# models ----------------------------------------------------------------------------------------------------------
def save(model: Any, path: str | PathLike[str]) -> None:
    """Write a fitted model; see ``model.save``.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this package.
    path : str or path
        Where to; an older file is replaced.

    Notes
    -----
    *Privacy.* Guarantee: none beyond the fit's: only released values are written.  Neighbours: the fit's.
    Public: the file.  Bounded by: a fitted model holds no data.  Proof: ``proofs/composition.md`` (post-processing).
    """
    name = type(model).__name__
    if name not in estimators.__all__ or type(model) is not getattr(estimators, name):
        raise TypeError(f"{name} is not an estimator of this package; save its coef_ and privacy_.to_dict() yourself")
    fitted = {
        "coef": packed(np.asarray(model.coef_)),
        "intercept": packed(np.asarray(model.intercept_)),
        "n_iter": int(model.n_iter_),
        "n_features": int(model.n_features_in_),
        "bounds": _plain(model.bounds_),
    }
    for key in ("classes_", "feature_names_in_"):
        if hasattr(model, key):
            values = getattr(model, key)
            fitted[key] = {"dtype": values.dtype.str, "values": values.tolist()}
    if hasattr(model, "inference_"):
        found = model.inference_
        fitted["inference"] = {name: packed(getattr(found, name)) for name in INFERRED} | {"n_rows": int(found.n_rows)}
    if hasattr(model, "reach_"):
        fitted["reach"] = float(model.reach_)
    whole = {
        "format": FORMAT,
        "version": VERSION,
        "class": name,
        "parameters": {k: _plain(v) for k, v in model.get_params(deep=False).items()},
        "fitted": fitted,
        "privacy": model.privacy_.to_dict(),
        "statement": str(model.privacy_),
    }
    Path(path).write_text(json.dumps(whole, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def load(path: str | PathLike[str]) -> Any:
    """Read a model that ``model.save`` wrote: it predicts as it did, and its statement says what it said.

    Parameters
    ----------
    path : str or path
        The file.  It is read as data: a file from a stranger can be wrong, but it can't run anything.

    Returns
    -------
    estimator
        The fitted model; its event is kept as text.

    Examples
    --------
    >>> import tempfile, os
    >>> from discreet import LogisticRegression
    >>> X = np.linspace(-1, 1, 200).reshape(-1, 1)
    >>> model = LogisticRegression(bounds=(-1, 1)).fit(X, X[:, 0] > 0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "m.json"))
    ...     again = load(os.path.join(folder, "m.json"))
    >>> bool((again.predict(X) == model.predict(X)).all()), again.privacy_.epsilon == model.privacy_.epsilon
    (True, True)
    """
    try:
        stored = json.loads(Path(path).read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{str(path)!r} is not JSON ({error}); give a file that model.save wrote") from None
    if not isinstance(stored, dict) or stored.get("format") != FORMAT:
        raise ValueError(f"{str(path)!r} is not a saved model of discreet")
    if stored.get("version") != VERSION:
        raise ValueError(f"version {stored.get('version')!r} of the format is not {VERSION}; load it with that release")
    if stored.get("class") not in estimators.__all__:
        raise ValueError(
            f"class {stored.get('class')!r} is not an estimator; known are {', '.join(estimators.__all__)}"
        )
    try:
        return _model(stored)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{str(path)!r} lacks a part of a saved model or holds a wrong one: {error}") from None


def _model(stored: dict[str, Any]) -> Any:
    cls = getattr(estimators, stored["class"])
    model = cls(**{k: _restored(v, k) for k, v in stored["parameters"].items()})
    fitted, privacy = stored["fitted"], stored["privacy"]
    model.coef_, intercept = unpacked(fitted["coef"], "coef"), unpacked(fitted["intercept"], "intercept")
    model.intercept_ = float(intercept) if intercept.ndim == 0 else intercept
    model.n_iter_, model.n_features_in_ = int(fitted["n_iter"]), int(fitted["n_features"])
    model.bounds_ = _restored(fitted["bounds"], "bounds")
    for key in ("classes_", "feature_names_in_"):
        if key in fitted:
            kind = fitted[key]["dtype"]
            text = np.dtype("O") if kind in ("|O", "O") else np.dtype(kind)
            setattr(model, key, np.asarray(fitted[key]["values"], dtype=text))
    if "inference" in fitted:
        kept = fitted["inference"]
        arrays = {name: unpacked(kept[name], f"inference.{name}") for name in INFERRED}
        model.inference_ = Inference(**arrays, n_rows=int(kept["n_rows"]))
    if "reach" in fitted:
        model.reach_ = float(fitted["reach"])
    _check(model)
    budget = Budget(privacy["promised_epsilon"], privacy["delta"], neighbors=privacy["neighbors"])
    looks = [Look(k["thing"], k["status"], k["note"]) for k in privacy["looks"]]
    model.privacy_ = Statement(
        budget, privacy["event"], privacy["solver"], looks, bool(privacy["seeded"]), float(privacy["planned_epsilon"]),
        privacy.get("rows_per_person"),
    )  # fmt: skip
    model.dp_event_ = FittedText(privacy["event"])
    return model


def _check(model: Any) -> None:
    """Every size fits every other."""
    p, n_classes = model.n_features_in_, len(getattr(model, "classes_", ()))
    shape: tuple[int, ...] = (p,)
    if n_classes:
        shape = (1 if n_classes == 2 else n_classes, p)
    if model.coef_.shape != shape or np.shape(model.intercept_) != shape[:-1]:
        raise ValueError(f"coef has shape {model.coef_.shape} where {p} features and its classes ask for {shape}")
    if len(getattr(model, "feature_names_in_", range(p))) != p:
        raise ValueError(f"feature_names_in_ must have {p} names")
    found = getattr(model, "inference_", None)
    if found is not None and any(getattr(found, k).shape not in ((p,), (p + 1,)) for k in INFERRED):
        raise ValueError(f"inference has other sizes than {p} features and an intercept")
    if found is not None and len({len(getattr(found, k)) for k in INFERRED}) > 1:
        raise ValueError("inference has arrays of different sizes")
    if not isinstance(model.bounds_, RowBounds):
        raise ValueError("bounds must be row bounds")
    for name in ("low", "high", "centre", "scale"):
        value = getattr(model.bounds_, name)
        if value is not None and np.size(value) not in (1, p):
            raise ValueError(f"bounds.{name} has {np.size(value)} entries for {p} features")
