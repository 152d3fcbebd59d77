# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The documentation site: `make docs` has Sphinx build it from these pages and the docstrings."""

import importlib
import inspect
import sys
from pathlib import Path

from docutils.nodes import raw
from docutils.utils.math.latex2mathml import tex2mathml

import opspace_control

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from notebook_pages import write_pages  # noqa: E402

project = 'opspace_control'
copyright = '2026, The opspace_control developers'
release = version = opspace_control.__version__

extensions = ['myst_parser', 'sphinx.ext.autodoc', 'sphinx.ext.napoleon']
exclude_patterns = ['generated/api.md', 'site']
html_theme = 'furo'
html_static_path = ['static']
html_css_files = ['page.css']
html_title = 'opspace_control'
html_math_renderer = 'mathml'
html_show_sphinx = False

# What single backquotes are in docstrings.
default_role = 'code'
myst_enable_extensions = ['dollarmath']
myst_heading_anchors = 3
autodoc_member_order = 'bysource'
add_module_names = False
napoleon_google_docstring = False
napoleon_use_rtype = False

# Public names, as a reader would group them; a name that is left out fails the build.
_GROUPS = {
    'The robot': ('RobotModel', 'RobotState', 'Payload'),
    'Dynamics': ('operational_space', 'hybrid_dynamics', 'hybrid_inertia', 'generalized_jacobian',
                 'disturbance_jacobian', 'momentum', 'center_of_mass', 'PassiveForces',
                 'coriolis_matrices'),
    'Closed chains': ('Closure', 'closed_chain', 'closed_chain_dynamics', 'contact_space',
                      'VirtualLinkage'),
    'Orientation': ('EulerAngles', 'EulerParameters', 'DirectionCosines'),
    'Collision shapes': ('CollisionDescription', 'CollisionModel', 'Shape'),
    'Tasks': (),
    'Control': ('OperationalSpaceController', 'Constraint', 'Grasp', 'GraspForce', 'Plan',
                'plan_motion', 'Playback'),
    'Locomotion': ('Locomotion', 'Stepping', 'Gait', 'legged_tasks'),
    'Errors': (),
}
# By from_urdf and from_urdf_file: what a constructor takes is nobody's concern.
_MADE_OTHERWISE = ('RobotModel',)
_OF_CLASSES = ('   :members:', '   :inherited-members: Exception, object', '')


def write_generated_pages(app):
    """Write the directives of the public names, and the notebooks."""
    folder = HERE / 'generated'
    write_pages(folder / 'notebooks', app.config.execute_notebooks)
    path, text = folder / 'api.md', _api()
    if not path.is_file() or path.read_text() != text:  # else all would be built anew
        path.write_text(text)


def _api():
    """Return directives for every public name."""
    groups = {title: list(names) for title, names in _GROUPS.items()}
    grouped = {name for names in groups.values() for name in names}
    for name in opspace_control.__all__:
        if name not in grouped:
            groups['Errors' if name.endswith('Error') else _group_of(name)].append(name)
    lines = []
    for title, names in groups.items():
        lines += [f'## {title}', '', '```{eval-rst}']
        for name in names:
            value = getattr(opspace_control, name)
            kind = 'class' if inspect.isclass(value) else 'function'
            signature = '()' if name in _MADE_OTHERWISE else ''
            lines.append(f'.. auto{kind}:: {value.__module__}.{name}{signature}')
            lines += _OF_CLASSES if kind == 'class' else ['']
        lines += ['```', '']
    return '\n'.join(lines)


def _group_of(name):
    """Return the group of a name that no group has: that of the room it lives in."""
    room = importlib.import_module(getattr(opspace_control, name).__module__).__name__.split('.')[1]
    return {'model': 'The robot', 'collision': 'The robot', 'dynamics': 'Dynamics',
            'tasks': 'Tasks', 'control': 'Control', 'safety': 'Control'}[room]


class _Properties:
    """
    Keeps napoleon's hands off what has no sections.

    It takes the text before the first colon of a property's docstring for a type.
    """

    def __init__(self, app):
        self._kept = {}
        app.connect('autodoc-process-docstring', self._keep, priority=400)
        app.connect('autodoc-process-docstring', self._restore, priority=600)

    def _keep(self, _app, what, name, _object, _options, lines):
        if what in ('property', 'attribute') and not any('----' in line for line in lines):
            self._kept[name] = list(lines)

    def _restore(self, _app, _what, name, _object, _options, lines):
        lines[:] = self._kept.pop(name, lines)


def _show_math(translator, node):
    """Write a formula as MathML, which browsers draw without any script."""
    block = node.tagname == 'math_block'
    # This raises SkipNode: there is nothing to depart from.
    translator.visit_raw(raw('', str(tex2mathml(node.astext(), as_block=block)), format='html'))


def setup(app):
    """Take part in the build."""
    app.add_config_value('execute_notebooks', True, 'env', (bool,))
    app.connect('builder-inited', write_generated_pages)
    _Properties(app)
    app.add_html_math_renderer('mathml', (_show_math, None), (_show_math, None))
