# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""README and documentation: size, links, and numbers that stand in more than one place."""

import re
from pathlib import Path

import pytest
import yaml

import opspace_control

ROOT = Path(__file__).parents[1]
DOC, README = ROOT / 'doc', ROOT / 'README.md'
KINDS = ('tutorials', 'how_to', 'reference', 'explanation', 'measurements', 'decisions')
PAGES = [README, ROOT / 'CONTRIBUTING.md', ROOT / 'SECURITY.md', ROOT / 'CHANGELOG.md', *sorted(
    page for page in DOC.glob('**/*.md')
    if page.relative_to(DOC).parts[0] not in ('generated', 'site'))]


def offences(found):
    """Return what `found` finds in pages, by the page, without those where it finds nothing."""
    return {str(page.relative_to(ROOT)): what for page in PAGES if (what := found(page))}


def table(page, name):
    """Return the lines of the table between the marks of this name."""
    begin, end = f'<!-- {name}:begin -->', f'<!-- {name}:end -->'
    text = page.read_text().split(begin)[1].split(end)[0]
    return [line for line in text.splitlines() if line.startswith('|')]


def anchors(page):
    """Return the anchors of the headings of a page, as GitHub and MyST make them."""
    return {re.sub(r'[^\w\- ]', '', heading.lower()).strip().replace(' ', '-')
            for heading in re.findall(r'^#+ (.*)$', page.read_text(), re.MULTILINE)}


def test_readme_is_of_one_screen_or_two():
    assert len(README.read_bytes()) <= 8000


def test_headline_figures_are_those_of_the_performance_page():
    """Write them anew with: opspace bench --write."""
    headline = table(README, 'headline')
    assert len(headline) == 7
    assert set(headline) <= set(table(DOC / 'measurements' / 'performance.md', 'performance'))


def test_links_have_a_target():
    def without_target(page):
        text = re.sub(r'^```.*?^```$', '', page.read_text(), flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r'\]\((?!https?://)([^)\s]+)\)', text):
            path, _, anchor = target.partition('#')
            other = (page.parent / path).resolve() if path else page
            if not other.exists() or (anchor and anchor not in anchors(other)):
                yield target
    assert offences(lambda page: [*without_target(page)]) == {}


def test_lines_are_short():
    """Rows of tables cannot be broken."""
    assert offences(lambda page: [line for line in page.read_text().splitlines()
                                  if len(line) > 120 and not line.startswith('|')]) == {}


def test_no_riddle_is_left():
    """Sentences that readers did not understand, and words that went with them."""
    def riddles(page):
        text = ' '.join(re.sub(r'`[^`\n]+`', '', page.read_text()).split())
        return [riddle for riddle in (
            'freedom is left', 'posture advises', 'advised', 'unit masses', 'and leaves (',
            'hardware sees', 'had no cycle', 'age of the last joint state', 'carries beyond',
            'stood at', 'somebody', 'nobody', 'whoever') if riddle in text]
    assert offences(riddles) == {}


def test_every_page_is_of_a_kind():
    assert {page.parent.name for page in DOC.glob('*/*.md')} - {'generated', 'site'} == set(KINDS)
    assert {page.name for page in DOC.glob('*.md')} == {'index.md', 'gallery.md'}


def test_citation_is_of_this_version():
    citation = yaml.safe_load((ROOT / 'CITATION.cff').read_text())
    assert citation['version'] == opspace_control.__version__
    assert citation['license'] in (ROOT / 'setup.cfg').read_text()


@pytest.mark.parametrize('form', sorted((ROOT / '.github' / 'ISSUE_TEMPLATE').glob('[!c]*.yml')),
                         ids=lambda form: form.stem)
def test_issue_forms_have_what_github_wants(form):
    content = yaml.safe_load(form.read_text())
    assert all(isinstance(content[key], str) for key in ('name', 'description'))
    fields = [part for part in content['body'] if part['type'] != 'markdown']
    assert fields and all(part['attributes']['label'] for part in fields)
    assert len({part['id'] for part in fields}) == len(fields)
