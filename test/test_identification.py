# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Friction and inertias are found again: in efforts of robots that are not as their models."""

import numpy as np
import pytest
from identified import recorded_motion, with_friction, with_masses
from robots import robot_file
from samples import sample

from opspace_control import ModelError, Payload, RobotModel, StateError
from opspace_control.control.planning.postures import middle_posture
from opspace_control.identification.description import with_inertias
from opspace_control.identification.fit import identify
from opspace_control.identification.inertia import body_of_parameters, pseudo_inertia
from opspace_control.identification.least_squares import (
    BodyCoordinates,
    conditioning,
    minimise,
    triangle,
)
from opspace_control.identification.regressor import inertial_parameters
from opspace_control.identification.samples import low_pass, motion_samples
from opspace_control.model.bodies import attach_payloads

ROBOTS = {'panda.urdf': ['panda_finger_joint1'], 'ur5_robot.urdf': []}
NOISE = 2e-3  # of the effort limits


def models(file, friction=0.03, masses=0.1):
    """Return a model, and that of the robot as it is."""
    text = robot_file(file).read_text()
    bare = RobotModel.from_urdf(with_friction(text, 0.0), locked_joints=ROBOTS[file])
    truth = RobotModel.from_urdf(
        with_friction(with_masses(text, 1, masses), friction), locked_joints=ROBOTS[file])
    return bare, truth


@pytest.fixture(scope='module', params=ROBOTS)
def found(request):
    """Return a model, that of the robot as it is, and what is identified of that."""
    model, truth = models(request.param)
    samples = motion_samples(model, *recorded_motion(
        model, truth, middle_posture(model), noise=NOISE))
    return model, truth, identify(model, samples, links=None)


class TestArms:

    def test_friction_is_found(self, found):
        """Within 2 % of the Coulomb friction; the viscous, a tenth of it here, within 10 %."""
        model, truth, result = found
        free = model.active
        np.testing.assert_allclose(result.coulomb[free], truth.friction[free], rtol=0.02)
        np.testing.assert_allclose(result.viscous[free], truth.damping[free], rtol=0.1)
        off = abs(result.coulomb - truth.friction) / result.coulomb_deviation
        assert off[free].max() < 4.0
        assert np.isnan(result.coulomb[~free]).all()

    def test_efforts_that_no_fit_has_seen_are_told(self, found):
        """What is left is noise, of which the filter lets two parts in a hundred through."""
        model, _, result = found
        free = model.active
        assert (result.after[free] < 0.2 * result.before[free]).all()
        assert (result.after[free] < NOISE * model.effort_limits[free]).all()
        assert min(result.counts) > 200

    def test_bodies_are_possible_and_near_the_truth(self, found):
        _, truth, result = found
        told = 0
        for body in result.bodies:
            assert np.linalg.eigvalsh(pseudo_inertia(body.after))[0] > 0.0
            node = truth.nodes[truth.frames[truth.frame_index(body.link)]['node']]
            off = np.r_[body.after[0] - node['mass'],
                        body_of_parameters(body.after)[1] - node['center_of_mass']]
            assert (abs(off)[body.identified] < 4.0 * body.deviation[body.identified]).all()
            told += body.identified.sum()
        assert told > 1.5 * len(result.bodies)

    def test_conditioning_is_told(self, found):
        model, _, result = found
        resolution = result.conditioning.resolution
        bodies = 10 * len(result.bodies)
        # The mass of a body that turns about a fixed vertical axis moves nothing.
        assert resolution[0] == pytest.approx(0.0, abs=1e-12)
        assert result.conditioning.rank < result.conditioning.parameters < len(resolution)
        np.testing.assert_allclose(resolution[bodies:][np.tile(model.active, 2)], 1.0, atol=1e-6)
        assert 1.0 < result.conditioning.condition < 1e4


@pytest.mark.parametrize(('file', 'link'), [
    ('panda.urdf', 'panda_hand'), ('ur5_robot.urdf', 'tool0')])
def test_a_payload_is_found(file, link):
    model, truth = models(file, masses=0.0)
    load = Payload.of_box(1.5, (0.1, 0.06, 0.2), (0.02, -0.03, 0.1))
    frame = truth.frames[truth.frame_index(link)]
    nodes = truth.nodes.copy()
    attach_payloads(nodes, truth.nodes, [(frame, load)])
    object.__setattr__(truth, 'nodes', nodes)
    samples = motion_samples(model, *recorded_motion(
        model, truth, middle_posture(model), noise=NOISE))
    result = identify(model, samples, payload=link)
    body, = result.bodies
    mass, center, inertia = body_of_parameters(body.after)
    assert mass == pytest.approx(1.5, abs=0.03)
    np.testing.assert_allclose(center, load.center_of_mass, atol=5e-3)
    assert Payload(mass, center, inertia).mass == mass
    assert body.identified.all()
    np.testing.assert_allclose(result.coulomb[model.active], truth.friction[model.active],
                               rtol=0.03)
    # Known already, it is found no more.
    assert not identify(model, samples, payload=link, nodes=nodes).bodies


def test_friction_alone():
    model, truth = models('panda.urdf', masses=0.0)
    samples = motion_samples(model, *recorded_motion(
        model, truth, middle_posture(model), noise=NOISE))
    result = identify(model, samples, friction=[truth.friction, truth.damping])
    free = model.active
    assert not result.bodies
    np.testing.assert_allclose(result.coulomb[free], truth.friction[free], rtol=0.02)
    # It was known before.
    np.testing.assert_allclose(result.after[free], result.before[free], rtol=0.1)
    # Without friction in the efforts none is found, and it is never negative.
    model, truth = models('panda.urdf', friction=0.0, masses=0.0)
    samples = motion_samples(model, *recorded_motion(
        model, truth, middle_posture(model), noise=NOISE))
    result = identify(model, samples)
    assert (result.coulomb[free] >= 0.0).all()
    assert (result.coulomb[free] < 1e-3 * model.effort_limits[free]).all()


def test_a_urdf_gets_the_inertias_of_bodies(found):
    """All that is welded to a link is in it; comments and other elements stay."""
    model, _, result = found
    file = 'panda.urdf' if 'panda' in model.name else 'ur5_robot.urdf'
    text = robot_file(file).read_text().replace('</robot>', '<!-- kept --></robot>')
    changed = with_inertias(text, model, result.bodies)
    assert '<!-- kept -->' in changed
    written = RobotModel.from_urdf(changed, locked_joints=ROBOTS[file])
    bodies = [model.frames[model.frame_index(body.link)]['node'] for body in result.bodies]
    np.testing.assert_allclose(inertial_parameters(written.nodes, bodies),
                               np.concatenate([body.after for body in result.bodies]), atol=1e-7)
    np.testing.assert_array_equal(written.upper_position_limits, model.upper_position_limits)
    with pytest.raises(ModelError):
        with_inertias('<robot', model, result.bodies)
    with pytest.raises(ModelError, match=result.bodies[0].link):
        with_inertias('<robot name="other"/>', model, result.bodies)


def test_what_does_not_influence_efforts_stays():
    """Of a body whose regressor is zero, and of parameters a fit of which would be negative."""
    body = BodyCoordinates.around(np.r_[2.0, 0.1, 0.2, 0.3, 1.0, 0, 1.0, 0, 0, 1.0], np.ones(10))
    A = np.zeros((50, 12))
    A[:, 10:] = np.random.default_rng(0).uniform(1.0, 2.0, (50, 2))
    found = minimise(triangle(A, A[:, 10] - 0.5 * A[:, 11]), [body])
    np.testing.assert_allclose(found.x, 0.0, atol=1e-9)
    np.testing.assert_allclose(found.theta[:10], body.start)
    assert found.theta[11] == 0.0
    assert found.theta[10] > 0.0
    condition = conditioning(triangle(A, A[:, 10]))
    assert (condition.parameters, condition.rank) == (2, 2)


def test_a_filter_of_no_delay():
    """A slow sine, and its derivatives, go through; a fast one does not."""
    t = np.arange(0.0, 10.0, 1e-3)
    slow, fast = (np.sin(2.0 * np.pi * f * t)[:, None] for f in (0.5, 100.0))
    middle = slice(1000, -1000)
    x, rate, second = (values[middle, 0] for values in low_pass(slow + fast, 1e-3, 10.0))
    np.testing.assert_allclose(x, slow[middle, 0], atol=1e-4)
    np.testing.assert_allclose(rate, np.pi * np.cos(np.pi * t[middle]), atol=1e-2)
    np.testing.assert_allclose(second, -np.pi**2 * slow[middle, 0], atol=0.01)


def test_slow_and_unknown_efforts_are_left_out():
    model = sample('planar_3r').model
    t = np.arange(0.0, 8.0, 2e-3)
    q = np.stack([np.sin(t), 0.01 * np.sin(t), np.sin(t)], axis=1)
    efforts = np.zeros((len(t), 3))
    efforts[:, 2] = np.nan
    samples = motion_samples(model, t, q, efforts, slow=0.1)
    assert not samples.usable[:, 1:].any()
    slow = abs(samples.v[:, 0]) < 0.1
    assert slow.any()
    assert not samples.usable[slow, 0].any()
    assert samples.usable[:, 0].mean() > 0.8
    assert samples.validation.mean() == pytest.approx(0.25, abs=0.01)
    with pytest.raises(StateError, match='fast enough'):
        identify(model, motion_samples(model, t, 0.0 * q, efforts))


def test_what_is_refused():
    model, t = sample('planar_3r').model, np.arange(0.0, 8.0, 0.01)
    q = np.sin(t)[:, None] * np.ones(3)
    samples = motion_samples(model, t, q, q)
    with pytest.raises(ModelError, match='no_link'):
        identify(model, samples, links=['no_link'])
    with pytest.raises(StateError, match='never moves'):
        identify(model, samples, payload=model.root_link)
    for wrong in ((t, q[:, :2], q), (t[:50], q[:50], q[:50])):
        with pytest.raises(StateError):
            motion_samples(model, *wrong)
    floating = sample('planar_3r', True).model
    with pytest.raises(StateError, match='quaternion'):
        motion_samples(floating, t, np.zeros((len(t), 10)), np.zeros((len(t), 9)))
