# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The report of `opspace check`: facts and findings in one dict."""
