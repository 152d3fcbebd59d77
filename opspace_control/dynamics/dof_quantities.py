# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Quantities of degrees of freedom that users set, by number, array or name."""

from types import MappingProxyType

import numpy as np

from opspace_control.errors import ModelError
from opspace_control.spatial import read_numbers


class DofQuantities:
    """
    Records of a model's dofs, for compiled code, with quantities that users set.

    ``what`` names them in messages; ``lowest`` has lower bounds of quantities other than 0.
    """

    what, lowest = '', MappingProxyType({})

    def __init__(self, model, dtype, **quantities):
        self._model = model
        self._dofs = np.zeros(model.nv, dtype)
        self.set(**quantities)

    @property
    def dofs(self):
        """The records of the dofs, (nv,): a view for compiled code."""
        return self._dofs

    def set(self, **quantities):
        """
        Change quantities of the constructor; what is None or not in a dict stays.

        A ModelError says what is wrong with one; then nothing changes.
        """
        before = self._dofs.copy()
        try:
            for quantity, values in quantities.items():
                if values is not None:
                    self._set(quantity, values)
            self._check()
        except ModelError:
            self._dofs[:] = before
            raise

    def _check(self):
        """Raise a ModelError if the quantities do not fit together."""

    def _set(self, quantity, values):
        """Write one quantity of the dofs; nothing if a value is refused."""
        column, lowest = self._dofs[quantity].copy(), self.lowest.get(quantity, 0.0)
        if isinstance(values, dict):
            for name, value in values.items():
                dofs = self._model.dofs_of(name)
                column[dofs] = self._numbers(f"{quantity} of '{name}'", value, len(dofs), lowest)
        else:
            column[:] = self._numbers(quantity, values, self._model.nv, lowest)
        self._dofs[quantity] = column

    def _numbers(self, what, values, count, lowest):
        """Return one or ``count`` finite numbers of at least ``lowest``, or raise a ModelError."""
        numbers = read_numbers(values)
        if numbers.shape not in {(), (count,)} or not np.isfinite(numbers).all() or (
                numbers < lowest).any():
            kind = {-np.inf: 'finite', 0.0: 'finite, zero or more'}.get(lowest, 'finite, positive')
            raise ModelError(f'{self.what}: {what} is {values!r}.', value=values,
                             cure=f'Give one number or {count}, {kind}.')
        return numbers
