# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
A controller as one block of memory, for programs without Python: native/include/opspace.h runs it.

The block has the table of arguments of the controller's cycle, and, with a servo, that of this one,
as the library of kernels takes them, and every array of them; where a table has an address the
block has the offset of the array from its beginning. Who loads the block adds its address to these,
and calls.
"""

from pathlib import Path

import numpy as np

from opspace_control import library
from opspace_control.errors import ControlError
from opspace_control.tasks.joint import JointTask
from opspace_control.tasks.trajectory_law import UNPLANNED

MAGIC = b'OPSPACE2'
_ALIGNMENT = 64  # bytes, of the block and of each part of it: a line of the cache

# What a block begins with. Offsets and sizes are in bytes, from the beginning of the block.
HEADER = np.dtype([
    ('magic', 'S8'),
    ('sources', 'S24'),         # digest of the sources of all kernels, `library.sources_digest`
    ('law', 'S40'),             # the cycle in the library; its name has the layouts of arguments
    ('servo', 'S40'),           # the servo, likewise, empty without one
    ('size', np.int64),         # of the block
    ('table', np.int64),        # offset of both tables of arguments, numbers of 64 bits
    ('entries', np.int64),      # of them
    ('servo_table', np.int64),  # offset of the second one
    ('spans', np.int64),        # offset of the SPAN records
    ('span_count', np.int64),
    ('fields', np.int64),       # offset of the FIELD records
    ('field_count', np.int64),
    ('arrays', np.int64),       # offset of the first array
    ('dt', np.int64),           # offset of the time since the last cycle, s, in the table
    ('work', np.int64),         # offsets of the three numbers of the servo's table
    ('now', np.int64),
    ('number', np.int64),
    ('q', np.int64),            # offset of the positions
    ('v', np.int64),            # of the velocities
    ('tau', np.int64),          # of the joint forces
    ('nq', np.int64),           # numbers of q
    ('nv', np.int64),           # numbers of v and of the joint forces
])

# An array in the block, and its place in the tables.
SPAN = np.dtype([('place', np.int64), ('offset', np.int64), ('size', np.int64)])

# Numbers in the block with a name; the type is that of NumPy: <f8, <i8, |b1, one after the other.
FIELD = np.dtype([
    ('name', 'S104'), ('type', 'S8'), ('offset', np.int64), ('count', np.int64)])


def block_of(controller, servo=None):
    """Return the block of an OperationalSpaceController as it is now: see `make_block`."""
    return make_block(controller, servo)[0]


def make_block(controller, servo=None):
    """
    Return a controller's block as it is now, (size,) of bytes, and where its memory is there.

    The latter is a `BlockMemory`. Without a ``servo``, a `safety.servo.Servo` of the controller,
    the block has the law alone. The trajectory to a goal is planned. A ControlError refuses a goal
    with one before the first cycle: where it begins is not known, and names that are too long or
    those of two arrays.
    """
    for task in controller._pose_tasks:
        task.plan_target(0.0)
        if task._record['trajectory']['stage'] == UNPLANNED:
            raise ControlError(
                f"The trajectory of task '{task.name}' has no beginning yet.", task=task.name,
                cure='Compute a cycle before you save the controller, or clear the goal.')
    header, arrays = np.zeros((), HEADER), []
    header['magic'], header['sources'] = MAGIC, library.sources_digest()
    tables, places, named = [], [], [*_named(controller)]
    calls = [('law', controller._kernel, (
        *controller._arguments, 0.0, controller._q, controller._v, controller._tau))]
    if servo is not None:
        calls.append(('servo', servo.kernel, (servo.data, 0.0, 0.0, 0.0)))
        named += servo.named()
    for name, kernel, arguments in calls:
        own, first = [], len(tables)
        kinds, table, numbers = library.describe(arguments, own)
        header[name] = library.symbol(kernel.name, kinds)
        tables += table
        arrays += [(first + place, array) for place, array in own]
        places += [first + place for place in numbers]
        header['servo_table'] = 8 * first  # from the first table on
    fields = [(name, numbers) for name, numbers in named
              if np.dtype(numbers.dtype).kind in 'fib' and numbers.flags.c_contiguous]
    _check_names([name for name, _ in fields])
    sizes = HEADER.itemsize, 8 * len(tables), SPAN.itemsize * len(arrays), (
        FIELD.itemsize * len(fields))
    _, header['table'], header['spans'], header['fields'], header['arrays'] = _places(sizes)
    memory = BlockMemory([*(array for _, array in arrays), *(numbers for _, numbers in fields)],
                     int(header['arrays']))
    spans = np.array([(place, memory.offset(array), _extent(array)[1] - _extent(array)[0])
                      for place, array in arrays], SPAN)
    numbers = np.array(tables)
    numbers[spans['place']] = spans['offset']
    header['entries'], header['span_count'], header['field_count'] = (
        len(numbers), len(spans), len(fields))
    header['servo_table'] += header['table']
    for name, place in zip(('dt', 'work', 'now', 'number'), places, strict=False):
        header[name] = header['table'] + 8 * place
    for name in ('q', 'v', 'tau'):
        header[name] = memory.offset(getattr(controller, f'_{name}'))
    header['nq'], header['nv'], header['size'] = (
        controller.model.nq, controller.model.nv, memory.end)
    block = np.zeros(memory.end, np.uint8)
    names = np.array([(name, array.dtype.str, memory.offset(array), array.size)
                      for name, array in fields], FIELD)
    for offset, part in ((0, header), (header['table'], numbers), (header['spans'], spans),
                         (header['fields'], names)):
        content = part.tobytes()
        block[offset:offset + len(content)] = np.frombuffer(content, np.uint8)
    memory.copy_into(block)
    return block, memory


def save(controller, path, servo=None):
    """Write the block of a controller to a file; errors are those of `make_block`."""
    Path(path).write_bytes(block_of(controller, servo))


def _check_names(names):
    """Raise a ControlError for a name of two arrays, or longer than a FIELD with a zero behind."""
    most, known = FIELD['name'].itemsize - 1, set()
    for name in names:
        if len(name.encode()) > most:
            raise ControlError(
                f"The name '{name}' has more than the {most} bytes that a block has for it.",
                cure='Give the joint, the task or the sensor a shorter name.')
        if name in known:
            raise ControlError(f"The name '{name}' would be that of two arrays of the block.",
                               cure='Give the task or the sensor another name.')
        known.add(name)


def _named(controller):
    """Yield the name and the numbers of what a program sets between cycles, and what it reads."""
    demand, model = controller._arguments.demand, controller.model
    yield 'posture', demand.posture
    yield from named_numbers('cycle', controller._arguments.cycle)
    for k, name in enumerate(model.dof_names):
        yield from named_numbers(f'posture.{name}', demand.dofs[k:k + 1])
        yield f'v.{name}', controller._v[k:k + 1]
        yield f'tau.{name}', controller._tau[k:k + 1]
        if model.q_index[k] >= 0:
            yield f'q.{name}', controller._q[model.q_index[k]:][:1]
    groups = [task for task in controller.tasks.values() if isinstance(task, JointTask)]
    points = [task for task in controller.tasks.values() if task not in groups]
    for task in groups:
        for k in range(task._record.size):
            yield from named_numbers(f'{task.name}.{k}', task._record[k:k + 1])
    for k, task in enumerate(points):
        yield from named_numbers(task.name, demand.tasks[k:k + 1])
    # A sensor is named like its link by default, and so is the task that controls its force.
    for k, name in enumerate(controller.sensors):
        yield from named_numbers(f'sensor.{name}', demand.sensors[k:k + 1])


def named_numbers(name, records):
    """Yield the name and the numbers of each field of a record, fields of records one by one."""
    for field in records.dtype.names:
        numbers, field_name = records[field], f'{name}.{field}'
        if numbers.dtype.names:
            yield from named_numbers(field_name, numbers)
        else:
            yield field_name, numbers


def _places(sizes):
    """Return where parts of these sizes begin, one after the other, and where they end."""
    places = [0]
    for size in sizes:
        places.append(-(-(places[-1] + size) // _ALIGNMENT) * _ALIGNMENT)
    return places


def _extent(array):
    """Return the addresses of the first byte of an array and of that after the last one."""
    first = last = array.ctypes.data
    if not array.size:
        return first, first
    for n, stride in zip(array.shape, array.strides, strict=True):
        first, last = first + min((n - 1) * stride, 0), last + max((n - 1) * stride, 0)
    return first, last + array.itemsize


class BlockMemory:
    """
    The memory of arrays, some of which may be parts of others, and its place in a block.

    ``parts`` are the addresses of the first byte and of that after the last one, and the offset in
    the block, in the order in which the arrays are given: controllers that are made
    alike have the same layout.
    """

    def __init__(self, arrays, first):
        parts = []  # (first address, last address, which array is in it first)
        for begin, end, k in sorted((*_extent(array), k) for k, array in enumerate(arrays)):
            if parts and begin < parts[-1][1]:
                parts[-1] = (parts[-1][0], max(parts[-1][1], end), min(parts[-1][2], k))
            elif begin < end:
                parts.append((begin, end, k))
        parts.sort(key=lambda part: part[2])
        *offsets, self.end = _places([end - begin for begin, end, _ in parts])
        self.parts = [(begin, end, first + offset)
                      for (begin, end, _), offset in zip(parts, offsets, strict=True)]
        self.end += first
        self._first = first

    def offset(self, array):
        """Return the offset of one of the arrays, or of a part of one."""
        address = array.ctypes.data
        for begin, end, offset in self.parts:
            if begin <= address < end:
                return offset + address - begin
        if array.size:
            raise ValueError('The array is no part of the memory.')
        return self._first

    def copy_into(self, block):
        """Copy all memory to its place in a block."""
        for begin, end, offset in self.parts:
            size = end - begin
            block[offset:offset + size] = np.ctypeslib.as_array(
                (np.ctypeslib.ctypes.c_uint8 * size).from_address(begin))
