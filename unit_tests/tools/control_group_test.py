#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs in a control group that has less memory, or fewer processors, than the machine.

    control_group_test.py STRATA_INFO THERMAL

What is shown and chosen by default is what the group allows; a problem that does not fit it goes through slices in place of
being killed, with the results of one that fits. Ends with 77 where no control groups can be made (it takes root).
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path('/sys/fs/cgroup')
MEMORY = 192 << 20


class NoGroups(Exception):
    """Nothing to test here."""


class Group:
    """A control group below that of this process, of either version; NoGroups where there can be none."""

    def __init__(self, controller, settings_1, settings_2):
        try:
            self.make(controller, settings_1, settings_2)
        except (OSError, StopIteration) as error:
            raise NoGroups(str(error)) from error

    def make(self, controller, settings_1, settings_2):
        line = next(line for line in pathlib.Path('/proc/self/cgroup').read_text().splitlines()
                    if controller in line.split(':')[1].split(',') or line.startswith('0::'))
        _, controllers, path = line.split(':', 2)
        mount = ROOT / controller if controllers else ROOT
        self.folder = (mount / path.strip('/')) / ('strata-test-%d' % os.getpid())
        self.folder.mkdir()
        try:
            for name, value in (settings_1 if controllers else settings_2).items():
                (self.folder / name).write_text(value)
        except OSError:
            self.folder.rmdir()
            raise

    def run(self, command):
        return subprocess.run(command, check=False, capture_output=True, text=True,
                              preexec_fn=lambda: (self.folder / 'cgroup.procs').write_text(str(os.getpid())))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.rmdir()


def results(folder, command, run):
    report = pathlib.Path(folder) / 'report.json'
    finished = run(command + ['--json', str(report)])
    assert finished.returncode == 0, 'status %d: %s' % (finished.returncode, finished.stderr)
    one, = json.loads(report.read_text())['runs']
    return {figure['name']: figure['value'] for figure in one['results']}, one['notes']


def test_memory(info, thermal):
    limits = ({'memory.limit_in_bytes': str(MEMORY)}, {'memory.max': str(MEMORY), 'memory.swap.max': '0'})
    with Group('memory', *limits) as group, tempfile.TemporaryDirectory() as folder:
        host = json.loads(group.run([info, '--json']).stdout)['devices'][0]
        assert host['capacity'] == MEMORY, host
        command = [thermal, '--quiet', '--device', 'serial', '-m', 'box:56x56x56', '--tolerance', '1e-3']
        inside, notes = results(folder, command, group.run)
        assert any('goes through it in slices' in note for note in notes), notes
        outside, _ = results(folder, command, lambda given: subprocess.run(given, check=False, capture_output=True,
                                                                           text=True))
        for name in ('least temperature', 'mean temperature', 'greatest temperature', 'volume'):
            assert inside[name] == outside[name], (name, inside[name], outside[name])


def test_processors(info):
    limits = ({'cpu.cfs_period_us': '100000', 'cpu.cfs_quota_us': '100000'}, {'cpu.max': '100000 100000'})
    with Group('cpu', *limits) as group:
        devices = json.loads(group.run([info, '--json']).stdout)['devices']
        threads = next(device for device in devices if device['name'] == 'Threads')
        assert threads['threads'] == 1, threads


def main():
    info, thermal = sys.argv[1:]
    try:
        test_memory(info, thermal)
        test_processors(info)
    except NoGroups as error:
        print('no control groups can be made here: %s' % error)
        return 77
    return 0


if __name__ == '__main__':
    sys.exit(main())
