#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pairs of programs that share a folder, a name, and a time: none damages or loses a file of the other.

    shared_folder_test.py DYNAMICS THERMAL CONVERT [--pairs N] [--seed S]

Each pair is two of strata-dynamics, strata-thermal and strata-mesh-convert in one new folder, with the same names of
results, checkpoints and reports; some are killed on their way, some have a limit of file sizes. Afterwards

- who ended well has all its files, whole, and where both wrote the same name, one of the two is there;
- who was refused says which process on which host to wait for;
- nobody ended by a signal that it was not sent, and files of the user stay as they were;
- a run after the pair has every name to itself, and leaves neither locks nor partial files.
"""
import argparse
import json
import os
import pathlib
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

OWN = {'out.e.part': 'mine', 'report.json.part': 'mine', 'out.pvd.1.partial': 'mine', 'checkpoint.1.partial': 'mine'}
REFUSED = re.compile(r'process \d+ on \S+ writes it; wait for its end')
STEPS = 40


def dynamics(programs, draw, _):
    every = draw.choice([5, 10, 20])
    command = [programs.dynamics, '--quiet', '--device', 'serial', '-m', 'box:2x2x%d' % draw.randint(2, 9), '-v',
               'all=0.01,0,0', '-f', 'x>=max', '--steps', str(STEPS), '--output-every', str(every),
               '--output', draw.choice(['out.e', 'out.pvd', 'out.vtu', 'out.csv'])]
    if draw.random() < 0.6:
        command += ['--checkpoint', str(every), '--checkpoint-file', 'checkpoint']
    return command


def thermal(programs, draw, _):
    return [programs.thermal, '--quiet', '--device', 'serial', '-m', 'box:2x2x%d' % draw.randint(2, 9), '--transient',
            '0.1:%d' % draw.randint(2, 12), '--initial', '1', '-b', 'z_min=0',
            '--output', draw.choice(['out.e', 'out.pvd', 'out.vtu', 'out.csv'])]


def convert(programs, draw, folder):
    return [programs.convert, str(folder / 'mesh.inp'), draw.choice(['out.e', 'out.vtk'])]


# One hexahedron for strata-mesh-convert.
MESH = '''*NODE
1,0,0,0
2,1,0,0
3,1,1,0
4,0,1,0
5,0,0,1
6,1,0,1
7,1,1,1
8,0,1,1
*ELEMENT,TYPE=C3D8
1,1,2,3,4,5,6,7,8
'''


class Run:
    """A program of a pair, started."""

    def __init__(self, command, folder, draw):
        self.command = command
        self.log = tempfile.TemporaryFile('w+')
        self.limit = draw.choice([2000, 20000]) if draw.random() < 0.1 else None
        self.kill_after = draw.uniform(0, 0.08) if draw.random() < 0.2 else None
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=self.log,
                                        preexec_fn=self.prepare)
        self.begun = time.monotonic()

    def prepare(self):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if self.limit:
            resource.setrlimit(resource.RLIMIT_FSIZE, (self.limit, self.limit))

    def kill_in_time(self):
        if self.kill_after is None:
            return
        time.sleep(max(0.0, self.kill_after - (time.monotonic() - self.begun)))
        self.process.kill()

    def end(self):
        self.status = self.process.wait(timeout=120)
        self.log.seek(0)
        self.errors = self.log.read()
        return self

    def option(self, name):
        if name in self.command:
            return self.command[self.command.index(name) + 1]
        return self.command[2] if name == '--output' and 'convert' in self.command[0] else None


def whole(path):
    """Raises unless the file is whole, by its format."""
    data = path.read_bytes()
    if path.suffix == '.json':
        json.loads(data)
    elif path.suffix == '.pvd':
        for entry in xml.etree.ElementTree.fromstring(data).iter('DataSet'):
            whole(path.parent / entry.get('file'))
    elif path.suffix == '.vtu':
        assert data.endswith(b'</AppendedData>\n</VTKFile>\n'), 'cut short'
        head = data[:data.index(b'<AppendedData')]
        sizes = [int(offset) for offset in re.findall(rb'offset="(\d+)"', head)]
        begin = data.index(b'encoding="raw">\n_') + len(b'encoding="raw">\n_') + sizes[-1]
        last, = struct.unpack_from('=Q', data, begin)
        assert data[begin + 8 + last:] == b'\n</AppendedData>\n</VTKFile>\n', 'of another length than its arrays'
    elif path.suffix == '.e':
        assert data[:4] == b'CDF\2', 'no Exodus II file'
        assert len(data) % 4 == 0 and struct.unpack_from('>i', data, 4)[0] >= 0, 'cut short'
    elif path.suffix == '.csv':
        rows = data.decode().split('\n')
        assert rows[-1] == '' and len({row.count(',') for row in rows[:-1]}) == 1, 'cut short'
    elif path.suffix == '.vtk':
        assert data.endswith(b'\n') and b'CELL_DATA' in data, 'cut short'
    elif path.name == 'checkpoint':
        sizes = struct.unpack_from('=QQQQ', data)
        assert len(data) == 40 + sizes[2] + sizes[3], 'cut short'


def check(runs, folder, programs):
    for run in runs:
        killed = run.kill_after is not None and run.status == -signal.SIGKILL
        assert killed or run.status >= 0, 'ended by signal %d' % -run.status
        if run.status > 0:
            refused = REFUSED.search(run.errors)
            limited = run.limit and 'ulimit -f' in run.errors
            taken = 'cannot be read' in run.errors or 'cannot go on with' in run.errors
            assert refused or limited or taken, 'failed without a reason that is known'
        if run.status == 0:
            for name in ('--output', '--json'):
                if run.option(name):
                    assert (folder / run.option(name)).exists(), 'lost ' + run.option(name)
            if run.option('--checkpoint-file'):
                assert (folder / 'checkpoint').exists(), 'lost the checkpoint'
    for path in folder.iterdir():
        if path.suffix not in ('.partial', '.lock', '.part'):
            whole(path)
    for name, text in OWN.items():
        assert (folder / name).read_text() == text, name + ' was the user\'s'
    # What was written last can be gone on with, and who comes next has all names.
    for run in runs:
        if '--json' not in run.command:
            continue
        command = list(run.command)
        if '--restart' in command:
            del command[command.index('--restart'):command.index('--restart') + 2]
        next_one = subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                  check=False)
        assert next_one.returncode == 0, 'the next one: ' + next_one.stderr
    used = {run.option(name) for run in runs if '--json' in run.command
            for name in ('--output', '--json', '--checkpoint-file')}
    left = [path.name for path in folder.iterdir() if path.suffix in ('.partial', '.lock') and
            path.name not in OWN and any(name and path.name.startswith(name) for name in used)]
    assert not left, 'left behind: ' + ', '.join(left)


def pair(programs, draw, count):
    with tempfile.TemporaryDirectory(prefix='strata-folder-') as name:
        folder = pathlib.Path(name)
        for own, text in OWN.items():
            (folder / own).write_text(text)
        (folder / 'mesh.inp').write_text(MESH)
        makers = draw.choice([(dynamics, dynamics), (dynamics, dynamics), (thermal, thermal), (dynamics, thermal),
                              (convert, dynamics), (convert, convert)])
        commands = [maker(programs, draw, folder) for maker in makers]
        if draw.random() < 0.5:
            commands[1] = list(commands[0])  # the same one twice, also as two restarts from one checkpoint
            if '--checkpoint' in commands[0] and draw.random() < 0.5:
                subprocess.run(commands[0] + ['--steps', str(STEPS // 2)], cwd=folder, check=True,
                               stdout=subprocess.DEVNULL)
                for command in commands:
                    command += ['--restart', 'checkpoint']
        for command in commands:
            if 'convert' not in command[0]:
                command += ['--json', 'report.json']
        runs = []
        for command in commands:
            runs.append(Run(command, folder, draw))
            time.sleep(draw.choice([0, 0, 0.01, 0.03]))
        for run in runs:
            run.kill_in_time()
        for run in runs:
            run.end()
        try:
            check(runs, folder, programs)
        except (AssertionError, ValueError, OSError, xml.etree.ElementTree.ParseError, struct.error) as error:
            print('pair %d: %s' % (count, error))
            for run in runs:
                print('  %s\n    status %s, limit %s, killed after %s\n    %s' %
                      (' '.join(run.command), run.status, run.limit, run.kill_after, run.errors.strip()))
            print('  ' + ' '.join(sorted(os.listdir(folder))))
            return None
        return [run.status for run in runs]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('dynamics')
    parser.add_argument('thermal')
    parser.add_argument('convert')
    parser.add_argument('--pairs', type=int, default=20)
    parser.add_argument('--seed', type=int, default=int.from_bytes(os.urandom(4), 'big'))
    programs = parser.parse_args()
    for name in ('dynamics', 'thermal', 'convert'):
        setattr(programs, name, os.path.abspath(getattr(programs, name)))
    draw = random.Random(programs.seed)
    statuses = [pair(programs, draw, count) for count in range(programs.pairs)]
    failed = statuses.count(None)
    ended = [status for both in statuses if both for status in both]
    print('%d pairs (seed %d): %d damaged or lost files or worse; of %d programs %d ended well, %d were refused or '
          'limited, %d were killed' % (programs.pairs, programs.seed, failed, len(ended), ended.count(0),
                                       sum(status > 0 for status in ended), sum(status < 0 for status in ended)))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
