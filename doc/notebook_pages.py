# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Pages of the site from the notebooks in examples/notebooks: their text, code, output and figures.

Notebooks are stored without outputs. A page has those of the code as it is, since its cells are
executed when the page is written.
"""

import contextlib
import io
import json
from pathlib import Path

NOTEBOOKS = sorted((Path(__file__).parents[1] / 'examples' / 'notebooks').glob('*.ipynb'))


def write_pages(folder, execute=True):
    """Write a page for each notebook into a folder, with the figures of its cells beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    for notebook in NOTEBOOKS:
        text = ''.join(page(notebook, folder, execute))
        path = folder / f'{notebook.stem}.md'
        if not path.is_file() or path.read_text() != text:  # else it would be built anew
            path.write_text(text)


def page(notebook, folder, execute=True):
    """
    Yield the Markdown of a notebook, a cell at a time, and save its figures in a folder.

    Parameters
    ----------
    notebook : Path
        An .ipynb file.
    folder : Path
        Of the figures, PNG.
    execute : bool
        Whether the cells are executed; without it there are no outputs and no figures.

    """
    values, figures = {}, 0
    for number, cell in enumerate(json.loads(notebook.read_text())['cells']):
        source = ''.join(cell['source'])
        if cell['cell_type'] == 'markdown':
            yield f'{source}\n\n'
            if number == 0:
                path = f'../../../examples/notebooks/{notebook.name}'
                yield f'This page is a [notebook]({path}).\n\n'
            continue
        yield f'```python\n{source}\n```\n\n'
        if not execute:
            continue
        printed, images = _run(source, f'{notebook.name}, cell {number}', values)
        if printed:
            yield f'```text\n{printed}```\n\n'
        for image in images:
            figures += 1
            name = f'{notebook.stem}-{figures}.png'
            (folder / name).write_bytes(image)
            yield f'![Figure {figures}]({name})\n\n'


def _run(source, name, values):
    """Execute a cell; return what it prints and its figures as PNG."""
    import matplotlib
    matplotlib.use('Agg')
    import matplotlib.pyplot as plt

    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(source, name, 'exec'), values)
    images = []
    for number in plt.get_fignums():
        buffer = io.BytesIO()
        plt.figure(number).savefig(buffer, dpi=90, bbox_inches='tight')
        images.append(buffer.getvalue())
    plt.close('all')
    return printed.getvalue(), images
