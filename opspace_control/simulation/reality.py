# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""How a simulated robot differs from its model: friction, masses, and what is measured of it."""

import math
from dataclasses import dataclass, field, fields

import numpy as np

from opspace_control.checks import checked
from opspace_control.errors import SimulationError
from opspace_control.simulation.arguments import joint_values

# The streams of random numbers of a seed.
_MASSES = 1


@dataclass(frozen=True)
class Reality:
    """
    How a simulated robot differs from its URDF, and its measurements from its state.

    Without arguments it does not. The friction of drives is added to that of the URDF, and acts
    whether a drive works or not; a joint that sticks stays where it is. Measured positions are
    rounded after noise is added; noise is white, Gaussian, and the same in each run. A delay is
    rounded up to time steps. Raises a SimulationError for a number that is negative or not finite.
    """

    coulomb_ratio: float = 0.0
    """Coulomb friction of each drive, in parts of its effort limit."""
    viscous_ratio: float = 0.0
    """Viscous friction of each drive, in parts of its effort limit for each rad/s or m/s."""
    coulomb: dict = field(default_factory=dict)
    viscous: dict = field(default_factory=dict)
    """``coulomb`` and ``viscous`` are those of single joints instead, as of `DriveFriction`: N·m or
    N, N·m·s/rad or N·s/m."""
    mass_deviation: float = 0.0
    """Relative standard deviation of the mass of each link. The inertia has the same factor, the
    centre of mass remains. Factors are log-normal with mean 1, so no mass is negative."""
    position_noise: float = 0.0
    velocity_noise: float = 0.0
    """Standard deviation of measured joint velocities, rad/s or m/s; ``position_noise`` is that of
    positions, rad or m."""
    position_resolution: float = 0.0
    """Of the encoders, rad or m: measured joint positions are multiples of it. 0 for none."""
    state_delay: float = 0.0
    command_delay: float = 0.0
    """Time by which drives obey late, s; ``state_delay`` is that by which measured joint states are
    late."""
    base_noise: tuple = (0.0, 0.0, 0.0, 0.0)
    """Standard deviations of the measured state of a floating base: position, m, orientation,
    rad, linear and angular velocity, m/s and rad/s."""
    base_delay: float = 0.0
    """Time by which this state is late, s."""
    seed: int = 0
    """Of masses and noise."""

    def __post_init__(self):
        for each in fields(self):
            value = getattr(self, each.name)
            for numbers in value.values() if isinstance(value, dict) else (value,):
                checked(numbers, f'Reality: {each.name}', SimulationError,
                        np.shape(each.default), lowest=0.0)
        if self.seed != int(self.seed):
            raise SimulationError(f'Reality: seed = {self.seed!r} is not allowed.', value=self.seed,
                                  cure='Give a whole number.')

    def drive_friction(self, limits, names):
        """
        Return Coulomb and viscous friction (n,) of drives, N·m or N, N·m·s/rad or N·s/m.

        ``limits`` (n,) are their effort limits, N·m or N, ``names`` those of joints. A
        SimulationError names an unknown joint, or one without an effort limit to take a part of.
        """
        index = {name: i for i, name in enumerate(names)}
        return tuple(self._friction(kind, limits, index) for kind in ('coulomb', 'viscous'))

    def _friction(self, kind, limits, index):
        ratio, given = getattr(self, f'{kind}_ratio'), getattr(self, kind)
        for name, i in index.items():
            if ratio and limits[i] == math.inf and name not in given:
                raise SimulationError(
                    f"{kind}_ratio: joint '{name}' has no effort limit.", joint=name,
                    cure=f'Give its friction in {kind}, by its name.')
        shares = ratio * np.where(np.isfinite(limits), limits, 0.0)
        return joint_values(given, shares, index, f'{kind} friction')

    def mass_factors(self, count):
        """Return the factors (count,) of the masses and inertias of links."""
        scale = math.sqrt(math.log1p(self.mass_deviation ** 2))
        rng = np.random.default_rng((self.seed, _MASSES))
        return np.exp(scale * rng.standard_normal(count) - 0.5 * scale ** 2)
