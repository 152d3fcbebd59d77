# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Quantities of degrees of freedom that users set, by number, array or name."""

from types import MappingProxyType

import numpy as np

from opspace_control.checks import checked
from opspace_control.errors import ModelError


class DofQuantities:
    """
    Records of a model's dofs, for compiled code, with quantities that users set.

    ``what`` names them in messages; ``allowed`` are, of quantities of another range than 0 or more,
    arguments of `checked`.
    """

    what, allowed = '', MappingProxyType({})

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
        column, allowed = self._dofs[quantity].copy(), self.allowed.get(quantity, {'lowest': 0.0})

        def numbers(what, values, count):
            return checked(values, f'{self.what}: {what}', ModelError, (count,), each=True,
                           **allowed)
        if isinstance(values, dict):
            for name, value in values.items():
                dofs = self._model.dofs_of(name)
                column[dofs] = numbers(f"{quantity} of '{name}'", value, len(dofs))
        else:
            column[:] = numbers(quantity, values, self._model.nv)
        self._dofs[quantity] = column
