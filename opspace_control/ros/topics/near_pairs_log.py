# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A warning in the log of pairs that are much nearer than their margin."""

from opspace_control.ros.middleware.endpoints import Part

_LOOK_PERIOD = 0.25  # s, between two looks for pairs that are too near
# Parts of the margin: a nearer pair is logged, and again after it was further than the second.
_VIOLATED, _KEPT = 0.5, 0.9
_MOST_LOGGED = 10  # pairs in a message of the log


class NearPairsLog(Part):
    """Logs each pair that has become much nearer than its margin, once until it is apart."""

    def __init__(self, *common):
        super().__init__(*common)
        self._violated = set()  # pairs of names, until they are apart
        distances = self._controller.distances
        if distances and distances.capacity > 0:
            self._endpoints.repeat(_LOOK_PERIOD, self._look)

    def _look(self):
        pairs = self._controller.urgent_pairs if self._is_active() and self._cycle.known else ()
        margin = self._controller.distances.margin
        near = {pair[:2]: pair.distance for pair in pairs if pair.distance < _KEPT * margin}
        new = [names for names in sorted(near, key=near.get)
               if near[names] < _VIOLATED * margin and names not in self._violated]
        self._violated = self._violated.intersection(near).union(new)
        if new:
            said = [f"'{first}' and '{second}' ({1e3 * near[first, second]:.0f} mm)"
                    for first, second in new[:_MOST_LOGGED]]
            more = f', and {len(new) - len(said)} more' if len(new) > len(said) else ''
            self._logger.warning(
                f'Nearer than half of collision.margin: {", ".join(said)}{more}. The robot moves '
                'until they are further apart. Lower collision.margin, correct shapes that are '
                'too large, or name the pair in may_touch.')
