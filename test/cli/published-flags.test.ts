import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { pluginNames } from '../../src/admission/plugins.ts';
import { apiserver } from '../../src/cli/commands/apiserver.ts';
import type { Command } from '../../src/cli/commands/command.ts';
import { controllerManager } from '../../src/cli/commands/controller-manager.ts';
import { up } from '../../src/cli/commands/up.ts';
import { type AbsentPlugins, ignoredPlugins, refusedPlugins } from '../../src/cli/flags/admission-flags.ts';
import type { PublishedFlags } from '../../src/cli/flags/published-flags.ts';
import { runCommandLine } from '../../src/cli/run-command-line.ts';
import { OrchProcess } from '../support/orch-process.ts';
import {
  apiserverFlags,
  controllerManagerFlags,
  type PublishedType,
  publishedPlugins,
} from '../support/published-flags.ts';

/**
 * Command lines that were written for the published programs of version 1.32: each of their flags works, or is taken with
 * a warning, or ends the command with a line that says why.
 */

/** The launcher sees to these. */
const launcher = ['help', 'version'];

const good: Readonly<Record<PublishedType, readonly string[]>> = {
  bool: ['true'],
  int: ['12', '-1'],
  uint: ['12'],
  float: ['0.5', '.5', '1e3', '7'],
  duration: ['1m30s', '0.5h'],
  string: ['a value', ''],
  strings: ['a,b', ''],
  map: ['a=b,c=true', ''],
  gates: ['MemoryManager=true,WatchListClient=false', 'kube:ConsistentListFromCache=T', ''],
  ip: ['10.0.0.1', '::1'],
  quantity: ['512', '1Ki', '3M'],
  level: ['file*=3,other=1', ''],
  versions: ['1.32', 'some=1.32', ''],
};
const bad: Readonly<Record<PublishedType, readonly string[]>> = {
  bool: ['maybe', '2', ''],
  int: ['x', '1.5', ''],
  uint: ['x', '-1', ''],
  float: ['x', '1.2.3', ''],
  duration: ['5', '1x', ''],
  string: [],
  strings: [],
  map: ['a', '=b'],
  gates: ['WatchList', 'WatchList=maybe', '=true', 'Nonsense=true', 'MemoryManager=false'],
  ip: ['10.0.0', ''],
  quantity: ['1Q', ''],
  level: ['file', 'file=high', '=1'],
  versions: ['1', 'v1.32', 'some='],
};
/** Where the type is wider than what the published program takes. */
const narrower: Readonly<Record<string, { readonly good: readonly string[]; readonly bad: readonly string[] }>> = {
  'leader-elect-resource-lock': { good: ['leases'], bad: ['endpoints', ''] },
  'service-cluster-ip-range': {
    good: ['10.0.0.0/16', '10.0.0.0/16,fd00::/108', ''],
    bad: ['10.0.0.0', '10.0.0.0/33', 'a/8', '::/0,::/0,::/0'],
  },
  'cluster-cidr': { good: ['10.0.0.0/16', 'fd00::/64'], bad: ['10.0.0.0', '::/129'] },
  'show-hidden-metrics-for-version': { good: ['1.31'], bad: ['v1.31', '1', ''] },
  'watch-cache-sizes': { good: ['pods#100,leases.coordination#0', ''], bad: ['pods', 'pods#many', '#1'] },
  'disable-http2-serving': { good: ['false'], bad: ['maybe'] },
  'runtime-config': {
    good: [
      'api/all=true',
      'apps/v1=true,v1=1',
      'batch/v1',
      '/v1=',
      'api/beta=false,api/ga=0',
      'batch/v1=F,v1/pods=f',
      '',
    ],
    bad: [
      '=true',
      'apps/v1=maybe',
      'api/all=false',
      'a/v1',
      'api/gamma',
      'apps/v7',
      'v3',
      'apps',
      'v1/a/b',
      'v1/Pods',
      'v1/',
    ],
  },
  'emulated-version': { good: ['1.32', 'some=1.32,other=1.32', ''], bad: ['v1.32', '1', 'some='] },
};
/** Values of flags that must not be ignored, with what helps. */
const refusedValues: Readonly<Record<string, readonly (readonly [flag: string, message: RegExp])[]>> = {
  apiserver: [
    ['--allow-privileged=false', /privileged containers/],
    ['--disable-http2-serving', /HTTP\/2 cannot be switched off/],
    ['--enable-garbage-collector=false', /--controllers/],
    ['--emulated-version=1.31', /1\.32/],
    ['--emulated-version=a=1.32,b=1.31', /1\.32/],
    ['--runtime-config=api/all=false', /invalid key with only api\/all=false/],
    ['--runtime-config=a.example/v1', /unknown api groups a\.example/],
    ['--runtime-config=apps/v7', /group version apps\/v7 that has not been registered/],
  ],
  'controller-manager': [
    ['--enable-garbage-collector=false', /--controllers=\*,-garbage-collector-controller/],
    ['--leader-elect-resource-lock=endpoints', /"endpoints" is not one of leases/],
  ],
};

interface Program {
  readonly command: Command;
  readonly published: Readonly<Record<string, PublishedType>>;
  /** Makes the command end after it has warned, with this message. */
  readonly ending: { readonly flag: string; readonly message: RegExp };
}

const programs: Readonly<Record<string, Program>> = {
  up: {
    command: up(),
    published: apiserverFlags,
    ending: { flag: '--storage-backend=etcd3', message: /needs --etcd-servers/ },
  },
  apiserver: {
    command: apiserver(),
    published: apiserverFlags,
    ending: { flag: '--storage-backend=etcd3', message: /needs --etcd-servers/ },
  },
  'controller-manager': {
    command: controllerManager,
    published: controllerManagerFlags,
    ending: { flag: '--leader-elect-retry-period=1h', message: /--kubeconfig is missing/ },
  },
};

async function run(...args: readonly string[]): Promise<{ readonly code: number; readonly lines: readonly string[] }> {
  let err = '';
  const terminal = { out: () => {}, err: (text: string) => (err += text), interactive: false };
  const code = await runCommandLine(args, terminal);
  return { code, lines: err.trimEnd().split('\n') };
}

const ignoredNames = ({ ignored }: PublishedFlags): string[] => ignored.flatMap(({ flags }) => Object.keys(flags));
const refusedNames = ({ refused }: PublishedFlags): string[] => refused.flatMap(({ flags = {} }) => Object.keys(flags));

for (const [name, { command, published, ending }] of Object.entries(programs)) {
  const own = Object.keys(command.flags);
  const ignored = ignoredNames(command.published);
  const refused = refusedNames(command.published);

  describe(`orch ${name}`, () => {
    test('has one class for every published flag, and none for others', () => {
      const classed = [...ignored, ...refused, ...own.filter((flag) => Object.hasOwn(published, flag)), ...launcher];
      assert.deepEqual(
        classed.filter((flag, index) => classed.indexOf(flag) !== index),
        [],
        'in two classes',
      );
      assert.deepEqual(classed.sort(), Object.keys(published).sort());
    });

    for (const flag of ignored) {
      const type = published[flag] ?? 'string';
      const taken = narrower[flag]?.good ?? good[type];
      const wrong = narrower[flag]?.bad ?? bad[type];
      test(`--${flag} is taken with one warning, its value checked`, async () => {
        const spellings = taken.flatMap((value) => [
          [`--${flag}=${value}`],
          ...(type !== 'bool' ? [[`--${flag}`, value]] : value === 'true' ? [[`--${flag}`]] : []),
          [`--${flag.replaceAll('-', '_')}=${value}`, `--${flag}=${value}`],
        ]);
        assert.ok(spellings.length > 0);
        for (const spelling of spellings) {
          const { code, lines } = await run(name, ...spelling, '--logging-format=json', ending.flag);
          assert.deepEqual([code, lines.length], [1, 2], lines.join('\n'));
          const warning = JSON.parse(lines[0] ?? '');
          assert.deepEqual([warning.level, warning.flag], ['warn', `--${flag}`]);
          assert.ok(warning.because.length > 10);
          assert.match(lines[1] ?? '', ending.message);
        }
        for (const value of wrong) {
          const { code, lines } = await run(name, `--${flag}=${value}`, ending.flag);
          assert.deepEqual([code, lines.length], [1, 1], value);
          assert.ok(
            lines.every((line) => line.startsWith(`orch ${name}: --${flag}: `)),
            lines.join(),
          );
        }
      });
    }

    for (const flag of refused) {
      test(`--${flag} is refused, and the line says why`, async () => {
        for (const spelling of [[`--${flag}=1`], [`--${flag}`], [`--${flag}`, 'x']]) {
          const { code, lines } = await run(name, ...spelling);
          assert.deepEqual([code, lines.length], [1, 1]);
          assert.match(lines[0] ?? '', new RegExp(`^orch ${name}: --${flag}: is refused: .{20,}$`));
        }
      });
    }

    for (const [flag, message] of refusedValues[name === 'up' ? 'apiserver' : name] ?? []) {
      test(`${flag} is refused`, async () => {
        const { code, lines } = await run(name, flag, ending.flag);
        assert.deepEqual([code, lines.length], [1, 1]);
        assert.match(lines[0] ?? '', new RegExp(`^orch ${name}: ${flag.split('=')[0]}: `));
        assert.match(lines[0] ?? '', message);
      });
    }

    test('a switch leaves the next argument alone', async () => {
      const switches = ignored.filter((flag) => published[flag] === 'bool' && !narrower[flag]);
      for (const flag of switches) {
        const { lines } = await run(name, `--${flag}`, 'true');
        assert.match(lines[0] ?? '', /unexpected argument "true"/);
      }
    });

    test('--help does not list what changes nothing', async () => {
      let out = '';
      await runCommandLine([name, '--help'], { out: (text) => (out += text), err: () => {}, interactive: false });
      assert.match(out, /docs\/OPERATIONS\.md/);
      for (const flag of [...ignored, ...refused]) assert.doesNotMatch(out, new RegExp(`^ {2}--${flag}[=[]`, 'm'));
    });

    test('--version prints the version, whatever else is asked', async () => {
      for (const flag of ['--version', '--version=true', '--version=raw']) {
        let out = '';
        const terminal = { out: (text: string) => (out += text), err: () => {}, interactive: false };
        assert.equal(await runCommandLine([name, '--secure-port=x', flag], terminal), 0);
        assert.match(out, /^orch \d/);
      }
    });
  });
}

describe('admission plugins of published servers', () => {
  const named = (groups: readonly AbsentPlugins[]) => groups.flatMap(({ plugins }) => plugins);
  const ignored = named(ignoredPlugins);
  const refused = named(refusedPlugins);

  test('have one class each', () => {
    assert.deepEqual([...pluginNames, ...ignored, ...refused].sort(), publishedPlugins);
  });

  for (const [name, { ending }] of Object.entries(programs).filter(([each]) => each !== 'controller-manager')) {
    for (const plugin of publishedPlugins) {
      test(`orch ${name}: ${plugin} may be disabled`, async () => {
        const { code, lines } = await run(name, `--disable-admission-plugins=${plugin}`, ending.flag);
        assert.deepEqual([code, lines.length], [1, 1], lines.join('\n'));
        assert.match(lines[0] ?? '', ending.message);
      });
    }

    for (const plugin of ignored) {
      test(`orch ${name}: ${plugin} is enabled with one warning`, async () => {
        const flag = `--enable-admission-plugins=${plugin}`;
        const { code, lines } = await run(
          name,
          `${flag},NodeRestriction,${plugin}`,
          '--logging-format=json',
          ending.flag,
        );
        assert.deepEqual([code, lines.length], [1, 2], lines.join('\n'));
        const warning = JSON.parse(lines[0] ?? '');
        assert.deepEqual([warning.level, warning.flag], ['warn', flag]);
        assert.ok(warning.because.length > 10);
        assert.match(lines[1] ?? '', ending.message);
      });
    }

    for (const plugin of refused) {
      test(`orch ${name}: to enable ${plugin} is refused, and the line says why`, async () => {
        const { code, lines } = await run(name, `--enable-admission-plugins=NodeRestriction,${plugin}`, ending.flag);
        assert.deepEqual([code, lines.length], [1, 1]);
        assert.match(
          lines[0] ?? '',
          new RegExp(`^orch ${name}: --enable-admission-plugins: ${plugin} is refused: .{20,}$`),
        );
      });
    }
  }
});

describe('the documents', () => {
  const text = readFileSync(new URL('../../docs/OPERATIONS.md', import.meta.url), 'utf8');
  const section = text.slice(text.indexOf('### Flags of published servers'), text.indexOf('\n## Files'));
  /** The flags of a row; `--x-*` is all of a program that begin so. */
  const rows = section
    .split('\n')
    .filter((line) => line.startsWith('| `--'))
    .map((line) => {
      const [, cell = '', because = ''] = line.split('|').map((part) => part.trim());
      return { because, flags: [...cell.matchAll(/`--([^`]+)`/g)].map(([, flag = '']) => flag) };
    });
  for (const [name, { published: table }, all] of [
    ['apiserver', apiserver(), Object.keys(apiserverFlags)],
    ['controller-manager', controllerManager, Object.keys(controllerManagerFlags)],
  ] as const) {
    const expand = (flag: string): readonly string[] =>
      flag.endsWith('*') ? all.filter((each) => each.startsWith(flag.slice(0, -1))) : [flag];
    const groups = [
      ...table.ignored.map(({ because, flags }) => ({ because, flags: Object.keys(flags) })),
      ...table.refused.map(({ because, flags = {}, values = {} }) => ({
        because,
        flags: [...Object.keys(flags), ...Object.entries(values).map(([flag, value]) => `${flag}=${value.shown}`)],
      })),
    ];
    for (const { because, flags } of groups) {
      test(`${name}: ${because}`, () => {
        const shown = rows.filter((row) => row.because === because).map((row) => row.flags.flatMap(expand).sort());
        assert.ok(
          shown.some((each) => isDeepStrictEqual(each, flags.toSorted())),
          `no row has ${flags.join(', ')}; there are: ${shown.join(' | ')}`,
        );
      });
    }
  }

  for (const { because, plugins } of [...ignoredPlugins, ...refusedPlugins]) {
    test(`plugins: ${because}`, () => {
      assert.ok(section.includes(`| ${plugins.map((each) => `\`${each}\``).join(', ')} | ${because} |`));
    });
  }

  test('have no row that the tables lack', () => {
    const tables = [apiserver(), controllerManager].flatMap(({ published }) => [
      ...published.ignored,
      ...published.refused,
    ]);
    assert.equal(rows.length, tables.length);
  });
});

describe('a server', () => {
  test('starts by the command line of another, and logs in the format that it asks for', async () => {
    const flags = [
      '--allow-privileged=true',
      '--authorization-mode=Node,RBAC',
      '--enable-admission-plugins=NodeRestriction',
      '--enable-bootstrap-token-auth=true',
      '--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname',
      '--profiling=false',
      '--proxy-client-cert-file=/etc/pki/proxy.crt',
      '--service-cluster-ip-range=10.96.0.0/12',
      '--profiling=true',
      '--logging-format=json',
    ];
    await using server = await OrchProcess.start({ flags });
    const warned = server.log
      .split('\n')
      .filter((line) => line.startsWith('{') && line.includes('a flag changes nothing here'))
      .map((line) => JSON.parse(line).flag);
    assert.deepEqual(warned.sort(), ['--allow-privileged', '--profiling', '--proxy-client-cert-file']);
  });
});
