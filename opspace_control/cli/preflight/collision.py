# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Facts about the collision shapes of a robot, with their findings."""

from collections import Counter

from opspace_control.cli.preflight.verdict import failure, ok, warning
from opspace_control.collision import CollisionDescription
from opspace_control.collision.description import collision_file
from opspace_control.collision.exclusion import HOME, REASONS, near_at_home
from opspace_control.collision.fit import GUESSES
from opspace_control.errors import OpspaceError

# A shape that is too fat or too thin by more than this, m, deserves a look.
_FAT, _THIN = 0.05, 0.01
_MARGIN = 0.01  # m, of `DistanceLimits`
# So many of the pairs that overlap are named.
_MOST = 4


def look_at_collision(urdf, given, model, state, findings):
    """
    Return the facts about a file of collision shapes, by default that beside the robot's file.

    None where there is no file. Links of which two shapes overlap at home are a warning, and so are
    shapes that fit badly; what cannot be used of the file is a failure.
    """
    path = given or collision_file(urdf)
    if not given and not path.is_file():
        return None
    try:
        description = CollisionDescription.read(path)
        shapes = description.model(model)
        overlaps = [each for each in shapes.distances(state.q, 0.0) if each.distance < 0.0]
    except OpspaceError as error:
        findings.append(failure(error))
        return None
    facts = description_facts(description, shapes) | {'file': str(path), 'overlaps': [
        [each.first, each.second, each.distance] for each in overlaps]}
    findings += _judged(facts)
    return facts


def fit_beside(urdf, path, model, q, *, anew=False):
    """
    Fit collision shapes and write them to a file, unless it is there; return what is wrong.

    Sentences, without cure; none if the fit is good: the shapes are known and fit, and no pair is
    nearer than the margin of `DistanceLimits` at the positions q (nq,), but for links that two
    joints connect: these pairs are left out. An OpspaceError tells that a package is not
    installed, or what cannot be used of the files.
    """
    if anew or not path.exists():
        description = CollisionDescription.from_urdf_file(urdf)
        description.excluded.update(dict.fromkeys(
            near_at_home(description.model(model), q, _MARGIN), HOME))
        description.write(path, model.name)
    else:
        description = CollisionDescription.read(path)
    shapes = description.model(model)
    near = [each for each in shapes.distances(q, _MARGIN) if each.distance < _MARGIN]
    facts = description_facts(description, shapes) | {'file': str(path), 'overlaps': []}
    return [*description.doubts,
            *(finding['what'] for finding in _judged(facts) if finding['level'] != 'OK'),
            *(f"'{each.first}' and '{each.second}' are {1e3 * each.distance:.0f} mm apart at the "
              'start.' for each in near[:_MOST])]


def description_facts(description, shapes):
    """
    Return facts about a CollisionDescription, a dict; ``shapes`` is the CollisionModel of it.

    Numbers of shapes by kind, of pairs, and of excluded pairs by reason, and errors of fits, m.
    """
    reasons = Counter(description.excluded.values())
    return {
        'pairs': len(shapes.pairs),
        'shapes': dict(Counter(fit.shape.kind.name.lower() for fit in description.fits)),
        'excluded': {reason: reasons[reason] for reason in REASONS if reasons[reason]},
        'guessed': [fit.shape.name for fit in description.fits if fit.source in GUESSES],
        'fits': [{'shape': fit.shape.name, 'kind': fit.shape.kind.name.lower(),
                  'too_fat': fit.too_fat, 'too_thin': fit.too_thin}
                 for fit in sorted(description.fits, key=lambda fit: -fit.too_fat)
                 if fit.too_fat > 0.0 or fit.too_thin > 0.0]}


def summary(facts):
    """Return sentences about `description_facts`, with the largest errors of fits."""
    kinds = ', '.join(f'{count} {kind}' for kind, count in facts['shapes'].items()) or 'none'
    excluded = ', '.join(f'{count} {reason}' for reason, count in facts['excluded'].items())
    text = (f'Collision shapes: {sum(facts["shapes"].values())} ({kinds}), {facts["pairs"]} pairs; '
            f'pairs of links left out: {excluded or "none"}.')
    if facts['fits']:
        fat, thin = (max(fit[error] for fit in facts['fits']) for error in ('too_fat', 'too_thin'))
        text += (f' Fits are too fat by up to {1e3 * fat:.0f} mm, too thin by up to '
                 f'{1e3 * thin:.0f} mm.')
    return text


def _judged(facts):
    for fit in facts['fits']:
        if fit['too_fat'] > _FAT or fit['too_thin'] > _THIN:
            yield warning(
                f"The {fit['kind']} '{fit['shape']}' is too fat by up to "
                f'{1e3 * fit["too_fat"]:.0f} mm, too thin by up to {1e3 * fit["too_thin"]:.0f} mm.',
                f'Divide it by hand in {facts["file"]}, or accept that margin.')
    if facts['guessed']:
        yield warning(f'The shapes of {", ".join(facts["guessed"][:_MOST])} are guessed'
                      f'{_more(facts["guessed"])}.', f'Correct them in {facts["file"]}.')
    if facts['overlaps']:
        pairs = ', '.join(f"'{a}' and '{b}' by {-1e3 * distance:.0f} mm"
                          for a, b, distance in facts['overlaps'][:_MOST])
        yield warning(f'Shapes overlap at home: {pairs}{_more(facts["overlaps"])}.',
                      f'Shrink them, or add their links to excluded_pairs in {facts["file"]}.')
    yield ok(summary(facts))


def _more(items):
    return f', and {len(items) - _MOST} more' if len(items) > _MOST else ''
