# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The view in a browser: it opens, the robot is there, and a mouse steers it."""

import io
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')
pytest.importorskip('viser', reason='viser is not installed')
pytest.importorskip('playwright', reason='playwright is not installed')

import ros_nodes
from PIL import Image
from playwright.sync_api import sync_playwright
from test_view import GOAL, TEXT, Stage
from viewer import Viewer
from viser.transforms import SO3

from opspace_control.model.topology import depth_first
from opspace_control.model.urdf import read_urdf
from opspace_control.view.camera import camera

CHROMIUM = shutil.which('chromium') or shutil.which('chromium-browser')
if CHROMIUM is None:
    pytest.skip('Chromium is not installed (Debian: apt install chromium)',
                allow_module_level=True)
# Pictures without a graphics card, and without a user's sandbox, which root has not.
FLAGS = ('--no-sandbox', '--no-proxy-server', '--use-angle=swiftshader',
         '--enable-unsafe-swiftshader')
SIZE = {'width': 1000, 'height': 700}
# Pixels drawn for one of the page. The scene is looked at in cells of 20 of the page's pixels, and
# drawing all of them took ten times as much CPU time as everything else.
DENSITY = 0.25
PATIENCE = 60_000  # ms: software pictures on a busy machine
REFERENCE = Path(__file__).parent / 'view_dual_arm.png'
GALLERY = Path(__file__).parents[1] / 'doc' / 'gallery' / 'view.png'
CELLS = (50, 35)    # of the coarse picture
SEEN = slice(16, 31)  # its columns with the robot: no panel, no notices
FOV = np.radians(75.0)  # of the page's camera, from top to bottom


@pytest.fixture(scope='module')
def stage():
    with ros_nodes.network() as network:
        yield Stage(network)


@pytest.fixture(scope='module')
def page(stage):
    with sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        page = browser.new_page(viewport=SIZE)
        page.set_default_timeout(PATIENCE)
        page.goto(f'{stage.url}?fixedDpr={DENSITY}')
        page.get_by_role('tab', name='Tasks').wait_for()
        page.get_by_text('Active.').wait_for()
        yield page
        browser.close()


def seen(page):
    """Return the page's part with the robot, in grey and coarse."""
    return np.asarray(Image.open(io.BytesIO(page.screenshot())).convert('L').resize(
        CELLS, Image.Resampling.BOX), dtype=float)[:, SEEN]


def test_page_shows_the_robot(page):
    coarse = seen(page)
    if os.environ.get('OPSPACE_UPDATE_PICTURES'):
        Image.fromarray(coarse.astype(np.uint8)).save(REFERENCE)
        for notice in page.get_by_role('alert').get_by_role('button').all():
            notice.click()  # of the missing graphics card
        page.wait_for_timeout(1000.0)
        page.screenshot(path=GALLERY)
    reference = np.asarray(Image.open(REFERENCE), dtype=float)
    for _ in range(60):  # a busy machine takes its time to draw
        if likeness(coarse, reference) > 0.9:
            break
        page.wait_for_timeout(1000.0)
        coarse = seen(page)
    assert likeness(coarse, reference) > 0.9


def likeness(picture, other):
    """
    Return the correlation of two pictures, NaN if one of them is blank.

    Another version of the page may have other lights and shadows, not another robot.
    """
    return np.corrcoef(picture.ravel(), other.ravel())[0, 1]


def test_mouse_drags_a_handle_and_the_hand_arrives(stage, page):
    viewer = Viewer(stage.url)
    viewer.expect(lambda: viewer.nodes.get(GOAL, {}).get('visible'))
    before = np.array(viewer.nodes[GOAL]['position'])
    turn = SO3(np.array(viewer.nodes[GOAL]['wxyz']))
    arm = turn @ np.array([0.0, 0.0, 0.7 * viewer.nodes[GOAL]['scale']])  # the blue arrow
    start, ahead = on_screen(before + arm), on_screen(before + 1.6 * arm)
    page.mouse.move(*start)
    stage.network.spin(0.5)
    page.mouse.down()
    page.mouse.move(*ahead, steps=8)
    page.mouse.up()
    viewer.expect(lambda: np.linalg.norm(viewer.nodes[GOAL]['position'] - before) > 0.02)
    viewer.look(1.0)
    goal = np.array(viewer.nodes[GOAL]['position'])
    moved = goal - before
    # Along the arrow.
    assert moved @ arm > 0.98 * np.linalg.norm(moved) * np.linalg.norm(arm)
    stage.network.expect(lambda: np.linalg.norm(stage.hand() - goal) < 1e-3, 240.0)
    viewer.close()


def test_slider_changes_the_parameter(stage, page):
    before = stage.value('left_hand.kp')
    page.get_by_role('slider').first.focus()
    for _ in range(3):
        page.keyboard.press('ArrowRight')
    stage.network.expect(lambda: stage.value('left_hand.kp') == before + 3.0, 240.0)


def on_screen(point):
    """Return where a point of the world, m, is on the page, in pixels."""
    _, joints = depth_first(read_urdf(TEXT))
    origins = {joints[0].parent: np.zeros(3)}
    for joint in joints:  # none of them is turned in this robot
        origins[joint.child] = origins[joint.parent] + joint.position
    corners = np.array(list(origins.values()))
    eye, target = camera(corners.min(axis=0), corners.max(axis=0))
    forward = (target - eye) / np.linalg.norm(target - eye)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    seen = point - eye
    scale = SIZE['height'] / 2.0 / np.tan(FOV / 2.0) / (seen @ forward)
    return (SIZE['width'] / 2.0 + scale * (seen @ right),
            SIZE['height'] / 2.0 - scale * (seen @ np.cross(right, forward)))
