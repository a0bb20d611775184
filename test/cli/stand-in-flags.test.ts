import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { standInApiserver } from '../../src/cli/commands/stand-in-apiserver.ts';
import { standInEtcd } from '../../src/cli/commands/stand-in-etcd.ts';
import { runCommandLine } from '../../src/cli/run-command-line.ts';
import { apiserverFlags, type PublishedType } from '../support/published-flags.ts';

/**
 * Environment libraries give what stands in for a published program the flags of that program: each of them is taken, its
 * value checked by its type, and the log says which change nothing.
 */

const good: Readonly<Record<PublishedType, readonly string[]>> = {
  bool: ['true', 'F'],
  int: ['12'],
  uint: ['12'],
  float: ['0.5'],
  duration: ['1m30s'],
  string: ['a value', ''],
  strings: ['a,b', ''],
  map: ['a=b', ''],
  gates: ['WatchListClient=false', ''],
  ip: ['10.0.0.1'],
  quantity: ['512'],
  level: ['file*=3'],
  versions: ['1.32', ''],
};
const bad: Partial<Readonly<Record<PublishedType, string>>> = {
  bool: 'maybe',
  int: 'x',
  uint: '-1',
  float: 'x',
  duration: '5',
  ip: '10.0.0',
  quantity: '1Q',
  level: 'file',
};
/** Where the type is wider than what the published program takes. */
const narrower: Readonly<Record<string, readonly string[]>> = {
  'allow-metric-labels': ["a,b='c'", ''],
  'endpoint-reconciler-type': ['lease'],
  'runtime-config': ['apps/v1=true', ''],
  'service-cluster-ip-range': ['10.0.0.0/24'],
  'service-node-port-range': ['30000-32767'],
  'show-hidden-metrics-for-version': ['1.31'],
  'watch-cache-sizes': ['pods#100'],
};

/** Ends the start when the flags have been read. */
const ending = ['--etcd-servers=http://127.0.0.1:1', '--tls-private-key-file=/none/key'];

async function run(...args: readonly string[]): Promise<{ readonly code: number; readonly lines: readonly string[] }> {
  let err = '';
  const code = await runCommandLine(args, { out: () => {}, err: (text) => (err += text), interactive: false });
  return { code, lines: err.trimEnd().split('\n') };
}

describe('kube-apiserver', () => {
  const withoutEffect = standInApiserver.published.ignored.flatMap(({ flags }) => Object.keys(flags));
  const own = new Set(Object.keys(standInApiserver.flags));

  for (const flag of Object.keys(apiserverFlags)) {
    if (flag === 'help' || flag === 'version') continue;
    test(`--${flag} is known`, () => assert.ok(own.has(flag) || withoutEffect.includes(flag)));
  }
  test('nothing else is', () => {
    const ours = [...own, ...withoutEffect].filter((flag) => !Object.hasOwn(apiserverFlags, flag));
    assert.deepEqual(ours, []);
  });

  for (const flag of withoutEffect) {
    const type = apiserverFlags[flag] ?? 'string';
    test(`--${flag} is taken with one line in the log, whether its value follows = or a space`, async () => {
      for (const value of narrower[flag] ?? good[type]) {
        const spellings = [[`--${flag}=${value}`], type === 'bool' ? [`--${flag}`] : [`--${flag}`, value]];
        for (const spelling of spellings) {
          const { code, lines } = await run('stand-in-apiserver', ...spelling, ...ending);
          assert.equal(code, 1);
          assert.match(lines.at(-1) ?? '', /^Error: --tls-private-key-file needs --tls-cert-file$/);
          const warned = lines.slice(0, -1).map((line) => JSON.parse(line));
          assert.deepEqual(
            warned.map((each) => [each.level, each.flag]),
            value === '' ? [] : [['warn', `--${flag}`]],
          );
        }
      }
      const wrong = bad[type];
      if (wrong === undefined) return;
      const { code, lines } = await run('stand-in-apiserver', `--${flag}=${wrong}`, ...ending);
      assert.deepEqual([code, lines.length], [1, 1]);
      assert.match(lines[0] ?? '', new RegExp(`^Error: invalid argument ".*" for "--${flag}" flag: `));
    });
  }

  for (const [flag, type] of Object.entries(apiserverFlags)) {
    if (!own.has(flag) || !['string', 'strings', 'map', 'gates'].includes(type)) continue;
    test(`--${flag} with nothing is as good as not given`, async () => {
      const [last = ''] = (await run('stand-in-apiserver', `--${flag}=`, ...ending)).lines.slice(-1);
      assert.match(last, flag === 'tls-private-key-file' ? /needs/ : /^Error: --tls-private-key-file needs/);
    });
  }
});

describe('etcd', () => {
  // Of etcd 3.5; libraries ask by --help whether a release has it.
  for (const flag of [
    'data-dir',
    'wal-dir',
    'listen-peer-urls',
    'unsafe-no-fsync',
    'initial-cluster',
    'snapshot-count',
  ]) {
    test(`-${flag} is taken, with one dash and two`, async () => {
      const value = flag === 'snapshot-count' ? '5' : 'true';
      for (const spelling of [`-${flag}=${value}`, `--${flag}=${value}`]) {
        const { code, lines } = await run('stand-in-etcd', spelling, '--listen-client-urls=x');
        assert.deepEqual([code, lines.length], [1, 1], lines.join('\n'));
        assert.match(lines[0] ?? '', /is not of the form http/);
      }
      if (flag === 'unsafe-no-fsync') return;
      const { lines } = await run('stand-in-etcd', `-${flag}`, value, '-listen-client-urls', 'x');
      assert.match(lines[0] ?? '', /is not of the form http/);
    });
  }

  test('every flag has one class', () => {
    const names = [
      ...Object.keys(standInEtcd.flags),
      ...standInEtcd.published.ignored.flatMap(({ flags }) => Object.keys(flags)),
    ];
    assert.equal(new Set(names).size, names.length);
    assert.ok(names.length > 100);
  });
});
