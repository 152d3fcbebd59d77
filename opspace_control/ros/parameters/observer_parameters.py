# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the controller node: of the observer of external efforts, and of collisions."""

from opspace_control.ros.parameters.parameter_table import changeable

OBSERVER = (
    changeable('observer.rate', 'double', 50.0,
        'Rate of the observer of external efforts: a constant one is found to 63 % after 1 / rate. '
        'More follows faster, with more noise. 0: none.', '1/s', 0.0, 1e4),
    changeable('observer.limit', 'double', 2.0,
        'Greatest external effort of a joint, in parts of its effort limit, or twice its threshold '
        'if that is more. 0: no bound.', '', 0.0, 1e6),
    changeable('observer.threshold', 'double', 0.0,
        'External effort of any joint beyond which there is a collision. A constant effort of x '
        'thresholds is found after ln(x / (x - 1)) / observer.rate and a period: by default 14 ms '
        'for x = 2, 36 ms for 1.2. 0: never.', 'N·m or N', 0.0, 1e6),
    changeable('observer.reaction', 'string', 'none',
        'What a collision does: it is logged only; the robot is held in position; or it complies, '
        'damped, its weight compensated. It ends with ~/hold.',
        choices=('none', 'stop', 'comply')),
)
