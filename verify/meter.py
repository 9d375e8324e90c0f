"""How many bytes torch has alive at once: storages counted as they come and go."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Meter(TorchDispatchMode):
    """Counts the bytes of storages made inside, and the most that were alive; `known` tensors count nothing."""

    def __init__(self, known: Iterable[Any] = ()) -> None:
        super().__init__()
        self.alive = {t.untyped_storage()._cdata: 0 for t in known}
        self.now = self.peak = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = function(*args, **(kwargs or {}))
        for leaf in tree_leaves(out):
            if hasattr(leaf, "untyped_storage"):
                self._see(leaf.untyped_storage())
        return out

    def _see(self, storage: Any) -> None:
        key = storage._cdata
        if key not in self.alive:
            self.alive[key] = storage.nbytes()
            self.now += storage.nbytes()
            self.peak = max(self.peak, self.now)
            weakref.finalize(storage, self._gone, key)

    def _gone(self, key: int) -> None:
        self.now -= self.alive.pop(key)
