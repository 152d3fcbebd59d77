# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Bounds on distances of shapes, held against dense dynamics and finite differences."""

from functools import cache, lru_cache

import numpy as np
import pytest
from ideal_robot import Distances, IdealRobot
from robots import TALOS
from test_contact_forces import FEET, SOLE, Dense, random_posture, standing

from opspace_control import (
    CollisionDescription,
    CollisionModel,
    Constraint,
    Contact,
    ControlError,
    DistanceLimits,
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    PositionTask,
    PostureTask,
    RobotModel,
    RobotState,
    Shape,
)
from opspace_control.cli.robots import demo_robot
from opspace_control.control.limits import limit_data
from opspace_control.share import share_directory
from opspace_control.spatial.rotations import matrix_from_vector

STEP = 1e-3
HANDS = 'l_hand', 'r_hand'
BALLS = [Shape(hand, hand, 'sphere', [0.1]) for hand in HANDS]
BENT = {'l_shoulder_roll': 0.2, 'r_shoulder_roll': -0.2, 'l_elbow': -1.7, 'r_elbow': -1.7}
AHEAD = np.array([1.0, 0.0, 0.0])
CROSSWISE = [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]
# Of tests against dense dynamics: no limit of joints is in the way.
FREE = {'acceleration': np.inf, 'effort_limits': np.inf}


@cache
def robot(name, **options):
    return RobotModel.from_urdf_file(share_directory() / 'urdf' / f'{name}.urdf', **options)


def bent(model, bends=BENT, v=0.0):
    q = model.neutral()
    for joint, angle in bends.items():
        q[model.q_index[model.dof_index(joint)]] = angle
    return RobotState(model, q, np.full(model.nv, v))


def controlled(model, shapes, tasks=(), posture=None, pairs=None, limits=None, **options):
    """Return a controller that keeps the distances of shapes."""
    return OperationalSpaceController(
        model, tasks, posture, limits=limits or JointLimits(model),
        effort_limits=limits and limits.effort_limits,
        distances=DistanceLimits(CollisionModel(model, shapes, pairs), **options))


def moved(controller, state, steps, step=STEP):
    """Yield the state and the efforts of each cycle of an ideal robot."""
    ideal = IdealRobot(controller.model)
    for _ in range(steps):
        tau = controller.compute_torque(state, dt=step)
        yield state, tau
        state = ideal.after(state, tau, step)


@cache
def fitted(name):
    """Return the CollisionDescription of a demo robot, its pairs found with few samples."""
    return CollisionDescription.from_urdf_file(demo_robot(name).path(), samples=50)


def beside(name, shape, **options):
    """Return a controller of a demo robot with a shape in its world, and the state it starts in."""
    model, start = robot(name), demo_robot(name)
    described = fitted(name).model(model)
    state = bent(model, start.start)
    near = {found[:2] for found in described.distances(state.q, 0.012)}
    described = CollisionModel(model, described.shapes, [
        pair for pair in described.pairs if pair not in near])
    return OperationalSpaceController(
        model, posture=PostureTask(target=state.q), limits=JointLimits(model),
        distances=DistanceLimits(described.with_shapes([shape]).without_still_pairs()),
        **options), state


def largest_steps(efforts, model):
    """Return the largest step of an effort in each cycle but the first, in parts of its limit."""
    return (abs(np.diff(efforts, axis=0)) / model.effort_limits).max(axis=1)


@lru_cache(maxsize=2)
def watched(collision):
    """Return the `Distances` of a CollisionModel."""
    return Distances(collision)


def distance(controller, q):
    """Return the distance of the first pair of shapes at the positions q."""
    return watched(controller.distances.collision).at(q)[0].distance


def bound(controller, parting=False):
    """Return the gradient (nv,) of the first near pair's distance, and the bound of ``∇d q̈``."""
    distances = controller._limits.scratch.distances
    return distances.gradient[0], distances.least[int(parting), 0]


def approaching(model):
    """Return a controller whose posture lets two shapes collide, and a state."""
    state, goal = bent(model), bent(model)
    shapes = [Shape(hand, hand, 'sphere', [0.25]) for hand in HANDS]
    probe = controlled(model, shapes, influence=1.0)
    probe.compute_torque(state)
    gradient = bound(probe)[0].copy()
    gradient[:model.nv - len(model.joint_names)] = 0.0
    goal = model.integrate(state.q, -gradient / np.linalg.norm(gradient), 1.0)
    return controlled(model, shapes, (), PostureTask(target=goal, kp=40.0, kd=4.0),
                      limits=JointLimits(model, **FREE), influence=1.0, acceleration=0.2), state


@pytest.fixture
def all_count(monkeypatch):
    """Let pairs count that are far from their bounds, too."""
    monkeypatch.setattr(limit_data, 'COUNTED', np.inf)


@pytest.mark.usefixtures('all_count')
class TestBound:
    """Where a pair is near, its row is that of the distance."""

    @pytest.mark.parametrize('floating', [False, True])
    def test_is_that_of_the_braking_law(self, floating):
        """For the rate and the acceleration of the points of the links that are nearest."""
        random, seen, inside = np.random.default_rng(3), 0, 0
        model = robot('dual_arm', floating_base=floating)
        controller = controlled(model, BALLS, influence=0.5)
        for i in range(40):
            margin = (0.01, 0.4)[i % 2]
            controller.distances = controller.distances.changed(margin=margin)
            bends = {name: angle + random.uniform(-0.3, 0.3) for name, angle in BENT.items()}
            state = bent(model, bends)
            state = RobotState(model, model.integrate(
                state.q, random.uniform(-0.2, 0.2, model.nv), 1.0),
                random.uniform(-0.5, 0.5, model.nv))
            controller.compute_torque(state)
            if not controller.near_pairs:
                continue
            seen += 1
            near, (gradient, least) = controller.near_pairs[0], bound(controller)
            h = 1e-4
            before, after = (distance(controller, model.integrate(
                state.q, t * state.v, 1.0)) for t in (-h, h))
            rate, bias = (after - before) / (2.0 * h), 0.0
            assert gradient @ state.v == pytest.approx(rate, abs=1e-6)
            for sign, hand in ((1.0, 'l_hand'), (-1.0, 'r_hand')):
                turning = model.jacobian(state, hand)[3:] @ state.v
                arm = -sign * 0.1 * near.normal
                bias += sign * near.normal @ (model.bias_acceleration(state, hand)[:3]
                                              + np.cross(turning, np.cross(turning, arm)))
            room = near.distance - margin
            fastest = 20.0 * room if room * 400.0 <= 2.0 else np.sqrt(2.0 * (2.0 * room - 0.005))
            slope = 20.0 if room * 400.0 <= 2.0 else 2.0 / fastest
            parts = room < 0.0
            fastest = max(fastest, 0.0)
            assert least == pytest.approx(-100.0 * (fastest + rate) - slope * rate - bias, abs=1e-4)
            least = bound(controller, True)[1]
            if parts:
                inside += 1
                attainable = controller._limits.scratch.distances.attainable[0]
                speed, damping = min(-20.0 * room, 0.1, attainable / 100.0), -120.0 * rate
                assert least == pytest.approx(
                    min(100.0 * speed + damping, max(damping, 0.0) + min(
                        2.0, 0.2 * attainable)) - bias, abs=1e-4)
            else:
                assert least == -np.inf
        assert seen >= 10
        assert inside >= 3

    def test_posture_gives_way_with_least_deviation(self):
        """q̈ = q̈_ref + A⁻¹ ∇d λ: the stationary point of ½|q̈ − q̈_ref|²_A under ``∇d q̈ = least``."""
        model = robot('dual_arm')
        controller, state = approaching(model)
        a = model.forward_dynamics(state, controller.compute_torque(state))
        gradient, least = bound(controller)
        deviation = model.mass_matrix(state) @ (a - controller.posture_acceleration)
        assert gradient @ controller.posture_acceleration < least - 1.0
        assert gradient @ a == pytest.approx(least, abs=1e-6)
        multiplier = deviation @ gradient / (gradient @ gradient)
        assert multiplier > 0.0
        np.testing.assert_allclose(deviation, multiplier * gradient, atol=1e-6)

    def test_of_a_robot_in_free_flight(self):
        controller, state = approaching(
            robot('dual_arm', floating_base=True, passive_joints=('base',)))
        tau = controller.compute_torque(state)
        gradient, least = bound(controller)
        assert (tau[:6] == 0.0).all()
        assert controller.active_limits[0].limit == 'distance'
        assert gradient @ controller.model.forward_dynamics(state, tau) == pytest.approx(
            least, abs=1e-6)

    def test_of_a_robot_that_stands(self):
        """Contact forces have bounds of their own; the base is moved by them."""
        hand = 'gripper_left_base_link'
        model = standing_model()
        random, kept = np.random.default_rng(5), 0
        shapes = [Shape('hand', hand, 'sphere', [0.3]),
                  Shape('torso', 'torso_2_link', 'sphere', [0.3])]
        distances = DistanceLimits(CollisionModel(model, shapes), influence=1.0)
        controller = standing(TALOS, [
            Contact(foot, friction=0.7, sole=SOLE) for foot in FEET],
            [(hand, ('x', 'y', 'z'))], distances=distances)
        for _ in range(15):
            state = random_posture(controller, TALOS, random)
            goal = model.forward_kinematics(state, 'torso_2_link')['torso_2_link']
            controller.tasks['task 0'].set_target(goal)
            # Two millimetres nearer than the margin.
            wide = 0.292 + CollisionModel(model, shapes).distances(state.q)[0].distance
            controller.distances = distances.changed(collision=CollisionModel(
                model, [Shape('hand', hand, 'sphere', [wide]), shapes[1]]))
            tau = controller.compute_torque(state)
            a, _ = Dense.of(controller, state).motion(tau)
            gradient, least = bound(controller)
            assert gradient @ a > least - 2e-3  # bounds of efforts and contact forces come first
            parting = bound(controller, True)[1]
            assert gradient @ a > 0.6 * parting
            kept += gradient @ a < parting
            assert controller.unsolved_limits == 0
        assert kept >= 4


def standing_model():
    from test_contact_forces import robot as standing_robot
    return standing_robot(TALOS)[0]


def swapped(speed=np.inf, **options):
    """Return a dual arm whose hands have each other's place as their goal, and its state."""
    model = robot('dual_arm')
    tasks = [PositionTask(hand, name=hand, max_linear_velocity=speed) for hand in HANDS]
    controller = controlled(model, BALLS, tasks, **options)
    state = bent(model)
    places = model.forward_kinematics(state, HANDS)
    for hand, other in (HANDS, HANDS[::-1]):
        controller.tasks[hand].set_target(places[other][:3, 3])
    return controller, state


class TestMotion:
    """What becomes of goals that distances stand against."""

    @pytest.mark.parametrize('acceleration', [0.5, 2.0, 8.0])
    def test_hands_swap_places(self, acceleration):
        controller, state = swapped(acceleration=acceleration)
        least = 1.0
        for now, _ in moved(controller, state, 4000):
            least = min(least, distance(controller, now.q))
        assert least > 0.0099
        for hand in HANDS:
            assert np.linalg.norm(controller.tasks[hand].error[:3]) < 1e-3

    def test_pairs_that_have_to_brake_come_before_those_that_are_nearer(self):
        """Where not all near pairs have a row, the robot moves as if they had."""
        model = robot('dual_arm')
        places = model.forward_kinematics(bent(model), ['torso'])['torso'][:3, 3]
        still = [Shape('torso', 'torso', 'sphere', [0.1]), *(
            Shape(f'ball {k}', None, 'sphere', [0.02], places + 0.14 * np.array(
                [np.cos(angle), np.sin(angle), 0.0]))
            for k, angle in enumerate(np.linspace(0.0, 6.0, 10)))]
        pairs = [HANDS, *(('torso', shape.name) for shape in still[1:])]
        courses, nearer = [], 0
        for capacity in (4, 64):
            tasks = [PositionTask(hand, name=hand) for hand in HANDS]
            controller = controlled(model, [*BALLS, *still], tasks, pairs=pairs, capacity=capacity)
            state, course = bent(model), []
            goals = model.forward_kinematics(state, HANDS)
            for hand, other in (HANDS, HANDS[::-1]):
                controller.tasks[hand].set_target(goals[other][:3, 3])
            for _, tau in moved(controller, state, 700):
                course.append(tau)
                named = {pair.first: pair.distance for pair in controller.near_pairs}
                nearer += capacity == 4 and named.get('l_hand', 0.0) > named.get('torso', 1.0)
            courses.append(np.array(course))
        assert nearer > 50
        np.testing.assert_allclose(*courses, atol=1e-6)

    def test_pairs_that_do_not_count_change_nothing(self, request):
        """Far from their bounds they have no rows: efforts are those of all near pairs."""
        courses = []
        for _ in range(2):
            controller, state = swapped(0.3)
            courses.append(np.array([tau for _, tau in moved(controller, state, 1200)]))
            assert controller.active_limits
            request.getfixturevalue('all_count')
        np.testing.assert_allclose(*courses, atol=1e-6)

    def test_they_would_collide_without(self):
        controller, state = swapped(capacity=0)
        assert min(distance(controller, now.q) for now, _ in moved(controller, state, 1000)) < 0.0

    def test_pressed_for_good_they_come_to_rest(self):
        model = robot('dual_arm')
        controller = controlled(model, BALLS, [PositionTask(hand, name=hand) for hand in HANDS])
        state = bent(model)
        middle = np.mean([place[:3, 3] for place in model.forward_kinematics(
            state, HANDS).values()], axis=0)
        for hand in HANDS:
            controller.tasks[hand].set_target(middle)
        least, last, steps = 1.0, None, []
        for k, (now, tau) in enumerate(moved(controller, state, 5000)):
            least = min(least, distance(controller, now.q))
            if k >= 4000:
                steps.append(0.0 if last is None else abs(tau - last).max())
                last = tau
        assert least > 0.0099
        assert abs(now.v).max() < 0.02
        assert max(steps) < 0.02
        assert [limit for limit in controller.active_limits if limit.limit == 'distance'] == [
            ('l_hand and r_hand', 'distance', -1)]
        assert controller.residual_accelerations

    @pytest.mark.parametrize('step', [1e-3, 2.5e-4])
    def test_flat_hands_that_are_pressed_together_come_to_rest(self, step):
        """Nearest points of faces jump; without `features` the wrists shake at 1 rad/s."""
        model = robot('dual_arm')
        shapes = [Shape(hand, hand, 'box', [0.1, 0.04, 0.16]) for hand in HANDS]
        controller = controlled(model, shapes, [PositionTask(hand, name=hand) for hand in HANDS])
        state = bent(model)
        for hand, place in model.forward_kinematics(state, HANDS).items():
            controller.tasks[hand].set_target(place[:3, 3] * [1.0, 0.0, 1.0])
        least, speed = 1.0, 0.0
        for k, (now, _) in enumerate(moved(controller, state, round(4.0 / step), step)):
            least = min([least, *(pair.distance for pair in controller.near_pairs)])
            if k * step > 3.5:
                speed = max(speed, abs(now.v).max())
        assert least > 0.0095
        assert speed < 0.05

    @pytest.mark.parametrize(('cylinder', 'box'), [
        (([0.04, 0.2], [0.0, 0.0, 0.0], np.eye(3)), [0.2, 0.04, 0.1]),
        (([0.05, 0.04], [0.03, 0.0, 0.02], [[1, 0, 0], [0, 0, -1], [0, 1, 0]]), [0.2, 0.04, 0.2])],
        ids=['generator', 'cap'])
    def test_a_cylinder_that_is_pressed_against_a_box_comes_to_rest(self, cylinder, box):
        """With corners of an inscribed box efforts step by 45 to 80 times their limits."""
        model = robot('dual_arm')
        size, position, rotation = cylinder
        controller = controlled(model, [
            Shape('cylinder', 'l_hand', 'cylinder', size, position, rotation),
            Shape('box', 'r_hand', 'box', box)], [PositionTask(hand, name=hand) for hand in HANDS])
        state = bent(model)
        for hand, place in model.forward_kinematics(state, HANDS).items():
            controller.tasks[hand].set_target(place[:3, 3] * [1.0, 0.0, 1.0])
        least, efforts = 1.0, []
        for k, (_, tau) in enumerate(moved(controller, state, 4000)):
            least = min([least, *(pair.distance for pair in controller.near_pairs)])
            if k >= 3500:
                efforts.append(tau.copy())
        assert least > 0.009
        assert largest_steps(efforts, model).sum() < 0.1

    @pytest.mark.parametrize('kind', ['cylinder', 'capsule'])
    def test_rounded_hands_that_are_pressed_together_come_to_rest(self, kind):
        """Their lines are nearly parallel: without points beside the nearest efforts alternate."""
        model = robot('dual_arm')
        state = bent(model)
        places = model.forward_kinematics(state, HANDS)
        controller = controlled(model, [
            Shape(hand, hand, kind, [0.05, 0.2], rotation=places[hand][:3, :3].T)
            for hand in HANDS], [PositionTask(hand, name=hand) for hand in HANDS])
        for side, (hand, place) in zip((0.5, -0.5), places.items(), strict=True):
            controller.tasks[hand].set_target(
                place[:3, 3] * [1.0, 0.0, 1.0] + side * 1e-3 * AHEAD)
        least, efforts, speed = 1.0, [], 0.0
        for k, (now, tau) in enumerate(moved(controller, state, 4000)):
            least = min([least, *(pair.distance for pair in controller.near_pairs)])
            if k >= 2000:
                efforts.append(tau.copy())
                speed = max(speed, abs(now.v).max())
        assert least > 0.0099
        assert speed < 0.05
        assert largest_steps(efforts, model).sum() < 0.02  # 0.36 and more without

    def test_shapes_that_overlap_part_slowly(self):
        model = robot('dual_arm')
        state = bent(model)
        wide = distance(controlled(model, BALLS), state.q) + 0.2
        shapes = [Shape(hand, hand, 'sphere', [0.5 * wide + 0.02]) for hand in HANDS]
        controller = controlled(model, shapes, posture=PostureTask(kp=0.0, kd=0.0))
        courses = np.array([distance(controller, now.q) for now, _ in moved(
            controller, state, 1500)])
        assert courses[0] == pytest.approx(-0.04, abs=1e-9)
        speed = np.diff(courses) / STEP
        assert speed.min() > -1e-6
        assert speed[courses[1:] < 0.009].max() < 0.101
        assert courses[-1] > 0.0099

    @pytest.mark.parametrize(('kind', 'size', 'offset'), [
        ('box', [0.3, 0.3, 0.3], [-0.02, -0.03, -0.13]), ('sphere', [0.08], [0.0, 0.0, 0.1])])
    def test_a_pair_that_no_joint_parts_leaves_the_others_their_bounds(self, kind, size, offset):
        """A pedestal in the first link, which turns about it; a hand is pressed against a wall."""
        model = robot('dual_arm')
        state = bent(model)
        places = model.forward_kinematics(state, ['l_hand', 'torso_yaw_link'])
        hand, place = (places[link][:3, 3] for link in ('l_hand', 'torso_yaw_link'))
        shapes = [BALLS[0], Shape('hip', 'torso_yaw_link', 'cylinder', [0.11, 0.08], [0, 0, 0.04]),
                  Shape('chest', 'torso_pitch_link', 'cylinder', [0.07, 0.2], rotation=CROSSWISE),
                  Shape('wall', None, 'box', [0.04, 1.5, 1.5], hand + 0.2 * AHEAD),
                  Shape('pedestal', None, kind, size, place + offset)]
        controller = controlled(model, shapes, [PositionTask('l_hand', name='hand')], pairs=[
            ('l_hand', 'wall'), ('hip', 'pedestal'), ('chest', 'pedestal')])
        controller.tasks['hand'].set_target(hand + 0.4 * AHEAD)
        least = 1.0
        for now, _ in moved(controller, state, 2000):
            least = min(least, distance(controller, now.q))
        assert least > 0.0099
        assert distance(controller, now.q) < 0.0101
        assert abs(now.v).max() < 0.1
        assert controller.active_limits[-1].name == 'l_hand and wall'

    @pytest.mark.parametrize(('name', 'shape', 'leaves'), [
        ('dual_arm', Shape('e', None, 'sphere', [0.08], [0.247, 0.316, 1.111]), True),
        ('arm_7r', Shape('e', None, 'sphere', [0.173], [0.1, 0.1, 0.68]), True),
        ('arm_7r', Shape('e', None, 'sphere', [0.173], [0.1, 0.045, 0.68]), False),
        ('dual_arm', Shape('e', None, 'box', [0.04, 1.5, 1.5], [0.176, 0.3, 1.1]), False)])
    def test_an_obstacle_in_several_links(self, name, shape, leaves):
        """They part, slowly; where all ways out contradict each other, they rest as they are."""
        controller, state = beside(name, shape)
        model, collision = controller.model, controller.distances.collision
        before = {found[:2]: found.distance for found in collision.distances(state.q, 0.01)}
        assert sum(found < 0.0 for found in before.values()) >= 2
        efforts, near = [], Distances(collision, 0.01)
        for now, tau in moved(controller, state, 7000):
            efforts.append(tau)
            assert (abs(now.v) < 1.05 * model.velocity_limits).all()
            for found in near.at(now.q):
                assert found.distance > min(before.get(found[:2], 0.01), 0.01) - 1e-3
        left = [found for found in collision.distances(now.q, 0.0099) if found.distance < 0.0099]
        assert bool(left) != leaves
        assert abs(now.v).max() < 0.05
        assert largest_steps(efforts[-1000:], model).sum() < 0.02  # 350 before, at most

    def test_the_posture_does_not_keep_a_link_in_an_obstacle(self):
        """
        The torso has a narrow way out, past arms at their margins: it stayed 84 mm deep.

        The constraint is open.
        """
        controller, state = beside('dual_arm', Shape(
            'e', None, 'box', [0.38, 0.1, 0.1], [0.015, -0.09, 1.2],
            matrix_from_vector(np.array([0.0, 0.0, 2.4]))), constraints=[Constraint('l_hand')])
        depths, efforts = [], []
        for now, tau in moved(controller, state, 6000):
            efforts.append(tau)
            depths.append(-min(found.distance for found in controller.urgent_pairs))
            assert abs(now.v).max() < 0.8
        assert depths[0] > 0.15
        assert max(np.diff(depths)) < 1e-5
        assert depths[-1] < 0.05
        assert largest_steps(efforts, controller.model).max() < 0.1

    def test_joints_stay_within_limits_where_the_world_closes_on_an_arm(self):
        """Two walls, 2 cm apart in the end, leave the hand no place: it went at 6.9 times them."""
        model = robot('dual_arm')
        state = bent(model, demo_robot('dual_arm').start)
        described = demo_robot('dual_arm').collision().model(model)
        hand = model.forward_kinematics(state, ['l_hand'])['l_hand'][:3, 3]
        aside, gap = np.eye(3)[1], 0.35
        walls = {side: Shape(f'wall {side}', None, 'box', [1.0, 0.1, 1.0],
                             hand + side * gap * aside) for side in (1, -1)}
        tasks = [PoseTask(name, name=name) for name in HANDS]
        controller = OperationalSpaceController(
            model, tasks, PostureTask(target=state.q), limits=JointLimits(model),
            distances=DistanceLimits(described.with_shapes(walls.values()).without_still_pairs()))
        efforts = []
        for now, tau in moved(controller, state, 10000):
            efforts.append(tau)
            assert (abs(now.v) < 1.05 * model.velocity_limits).all()
            assert controller.unsolved_limits == 0
            speed = 0.1 if gap > 0.06 else 0.0
            gap -= speed * STEP
            for side, wall in walls.items():
                controller.move_shape(wall.name, hand + side * gap * aside,
                                      twist=[*(-side * speed * aside), 0.0, 0.0, 0.0])
        deepest = min(found.distance for found in controller.near_pairs)
        assert deepest < 0.0
        assert largest_steps(efforts[-1000:], model).sum() < 0.1

    def test_the_world_pushes_the_arm_away(self):
        model = robot('dual_arm')
        state = bent(model)
        place = model.forward_kinematics(state, ['l_hand'])['l_hand'][:3, 3]
        shapes = [BALLS[0], Shape('ball', None, 'sphere', [0.1], place + 0.3 * np.eye(3)[0])]
        controller = controlled(model, shapes)
        controller.move_shape('ball', twist=[-0.2, 0.0, 0.0, 0.0, 0.0, 0.0])
        least, parted = 1.0, 0.0
        for now, _ in moved(controller, state, 1500):
            least = min(least, controller.near_pairs[0].distance if controller.near_pairs else 1.0)
            hand = model.forward_kinematics(now, ['l_hand'])['l_hand'][:3, 3]
            parted = np.linalg.norm(hand - place)
        assert least > 0.0098
        assert parted > 0.1

    @pytest.mark.parametrize('aside', [0.02, 0.0])
    def test_goal_behind_an_obstacle_is_reached_by_sliding_along_it(self, aside):
        """A ball is in the straight way to the goal of the hand, not quite or exactly."""
        model = robot('dual_arm')
        state = bent(model)
        place = model.forward_kinematics(state, ['l_hand'])['l_hand'][:3, 3]
        down = -np.eye(3)[2]
        ball = Shape('ball', None, 'sphere', [0.08], place + 0.3 * down + [0.0, aside, 0.0])
        controller = controlled(model, [Shape('l_hand', 'l_hand', 'sphere', [0.04]), ball],
                                [PositionTask('l_hand', name='hand')])
        controller.tasks['hand'].set_target(place + 0.5 * down)
        least = min(distance(controller, now.q) for now, _ in moved(controller, state, 5000))
        assert 0.0099 < least < 0.013
        np.testing.assert_allclose(controller.tasks['hand'].error[:3], 0.0, atol=1e-3)

    def test_floor_of_a_free_flyer(self):
        """A half-space below, and a goal in it."""
        model = robot('dual_arm')
        state = bent(model)
        place = model.forward_kinematics(state, ['l_hand'])['l_hand'][:3, 3]
        shapes = [BALLS[0], Shape('table', None, 'half_space', [], place - [0.0, 0.0, 0.25])]
        controller = controlled(model, shapes, [PositionTask('l_hand', name='hand')])
        controller.tasks['hand'].set_target(place - [0.0, 0.0, 0.5])
        for now, _ in moved(controller, state, 3000):
            assert distance(controller, now.q) > 0.0099
        assert distance(controller, now.q) < 0.0101
        np.testing.assert_allclose(controller.tasks['hand'].error[:2], 0.0, atol=1e-3)


class TestBeside:
    """Distances that do not matter change nothing."""

    def test_far_pairs_change_no_bit(self):
        model, torques = robot('dual_arm'), []
        for shapes in ([], [Shape(hand, hand, 'sphere', [0.01]) for hand in HANDS]):
            controller = controlled(model, shapes, [PositionTask('l_hand', name='hand')],
                                    influence=0.05)
            state = bent(model)
            place = model.forward_kinematics(state, ['l_hand'])['l_hand'][:3, 3]
            controller.tasks['hand'].set_target(place + 0.1)
            torques.append([tau for _, tau in moved(controller, state, 300)])
        np.testing.assert_array_equal(*torques)

    def test_of_more_pairs_than_there_is_room_for_the_nearest_count(self):
        controller, state = swapped(capacity=1)
        assert [len(controller.near_pairs) for _ in moved(controller, state, 300)][-1] == 1

    @pytest.mark.parametrize(('wrong', 'word'), [
        ({'margin': -0.1}, 'margin'), ({'influence': 0.0}, 'influence'),
        ({'influence': 0.01}, 'beyond'), ({'acceleration': np.nan}, 'acceleration'),
        ({'acceleration': np.inf}, 'acceleration'), ({'repulsion': np.inf}, 'repulsion'),
        ({'parting_speed': -1.0}, 'parting_speed'), ({'capacity': -1}, 'capacity'),
        ({'capacity': 1.5}, 'capacity')])
    def test_a_number_that_cannot_be_used_is_named(self, wrong, word):
        with pytest.raises(ControlError, match=word):
            DistanceLimits(CollisionModel(robot('dual_arm'), BALLS), **wrong)

    def test_what_does_not_fit_is_refused(self):
        model, other = robot('dual_arm'), robot('planar_3r')
        distances = DistanceLimits(CollisionModel(model, BALLS))
        with pytest.raises(ControlError, match='same model'):
            OperationalSpaceController(other, limits=JointLimits(other), distances=distances)
        with pytest.raises(ControlError, match='JointLimits'):
            OperationalSpaceController(model, distances=distances)
        with pytest.raises(ControlError, match='CollisionModel'):
            DistanceLimits(BALLS)

    def test_numbers_change(self):
        """The margin grows from 10 to 50 mm while hands are pressed against each other."""
        controller, state = swapped()
        middle = np.mean([task.target[:3] for task in controller.tasks.values()], axis=0)
        for task in controller.tasks.values():
            task.set_target(middle)
        *_, (now, _) = moved(controller, state, 2000)
        assert distance(controller, now.q) == pytest.approx(0.01, abs=2e-4)
        controller.distances = controller.distances.changed(margin=0.05, influence=0.4)
        *_, (now, _) = moved(controller, RobotState(controller.model, now.q, now.v), 2000)
        assert distance(controller, now.q) == pytest.approx(0.05, abs=2e-4)
        assert controller.distances.margin == 0.05
        other = DistanceLimits(CollisionModel(controller.model, BALLS), capacity=3)
        with pytest.raises(ControlError, match=r'room for 3 near pairs.*capacity=64'):
            controller.distances = other
        foreign = DistanceLimits(CollisionModel(robot('dual_arm', floating_base=True), BALLS))
        for wrong in (foreign, None):
            with pytest.raises(ControlError, match='same model'):
                controller.distances = wrong
        with pytest.raises(ControlError, match='margin'):
            controller.distances.changed(margin=-1.0)
        with pytest.raises(ControlError, match='without limits'):
            OperationalSpaceController(controller.model).distances = other

    @pytest.mark.parametrize('speed', [0.5, 3.0])
    def test_brakes_from_any_speed(self, speed):
        """The bound of what comes fast from far begins far below zero, and there is way to stop."""
        model = robot('dual_arm')
        state = bent(model)
        hand = model.forward_kinematics(state, HANDS)['l_hand'][:3, 3]
        ahead, twist = np.array([1.0, 0.0, 0.0]), [-speed, *[0.0] * 5]
        controller = controlled(
            model, [BALLS[0], Shape('ball', None, 'sphere', [0.1], hand + 4.0 * ahead)],
            influence=0.3)
        bounds = []
        for place in np.arange(4.0, 0.2, -1e-3 * speed):
            controller.move_shape('ball', hand + place * ahead, twist=twist)
            controller.compute_torque(state, dt=STEP)
            if controller._limits.collision.count[0]:
                share = controller._limits.collision.near[0]['bound_share']
                bounds.append((place - 0.2, bound(controller)[1], share))
        distances, least, shares = np.transpose(bounds)
        way = speed ** 2 / (2.0 * controller.distances.acceleration)
        assert distances[0] > way
        assert least[0] < -100.0
        assert shares[0] < 0.2
        assert least[-1] > 0.0
        # It rises from there without a step.
        full = (shares > 0.99) & (distances > 0.5 * way)
        assert abs(np.diff(least[full])).max() < 2.0
