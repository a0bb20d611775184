import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { defaultPlugins, pluginNames } from '../../admission/plugins.ts';
import { systemRandom } from '../../base/random.ts';
import { systemClock } from '../../base/time/clock.ts';
import { ensureAuthority } from '../../pki/ca.ts';
import { defaultFeatures } from '../../server/wiring/features.ts';
import { UsageError } from '../usage-error.ts';
import { parseFlags } from './flags.ts';
import { serverFlags } from './server-flags.ts';
import { readServerOptions, readServingPair } from './server-options.ts';

let directory: string;
const at = (name: string): string => join(directory, name);

before(() => {
  directory = mkdtempSync(join(tmpdir(), 'options-'));
  for (const name of ['a', 'b']) {
    const files = { certificate: at(`${name}.crt`), key: at(`${name}.key`) };
    ensureAuthority(files, name, { clock: systemClock, random: systemRandom });
  }
  writeFileSync(at('bundle.pem'), readFileSync(at('a.crt'), 'utf8') + readFileSync(at('b.crt'), 'utf8'));
  writeFileSync(at('tokens.csv'), 's3cret,jane,1,"dev,ops"\n');
  writeFileSync(at('bad.csv'), 's3cret,jane,1\ns3cret\n');
  writeFileSync(at('empty'), '');
});
after(() => rmSync(directory, { recursive: true }));

/** Expands `@name` to a file of the test. */
const flags = (args: readonly string[]) =>
  parseFlags(serverFlags, [`--data-dir=${at('data')}`, ...args.map((arg) => arg.replace('@', `${directory}/`))]);
const read = (...args: readonly string[]) => readServerOptions(flags(args));

describe('without flags', () => {
  type Options = ReturnType<typeof read>;
  const rows: readonly (readonly [what: string, of: (options: Options) => unknown, value: unknown])[] = [
    ['the dialect', ({ dialect }) => dialect.name, 'orch'],
    ['the store', ({ storage }) => storage.backend, 'sqlite'],
    ['the address', ({ listen }) => listen, { address: '127.0.0.1', port: 6443 }],
    ['the address for others', ({ external }) => external?.host, '127.0.0.1'],
    ['requests at once', ({ requests }) => requests.inFlightMax, { reads: 400, writes: 200 }],
    ['the time of a request', ({ requests }) => requests.timeoutMs, 60_000],
    ['the time of a watch', ({ requests }) => requests.watchMsMin, 1_800_000],
    ['anonymous requests', ({ authentication }) => authentication.anonymous, true],
    ['bootstrap tokens', ({ authentication }) => authentication.bootstrapTokens, false],
    ['tokens of a file', ({ authentication }) => authentication.staticTokens, []],
    [
      'authorizers',
      ({ authorization: { chain } }) => chain.type === 'specs' && chain.specs.map(({ type }) => type),
      ['Node', 'RBAC'],
    ],
    ['the grace of /livez', ({ livezGraceMs }) => livezGraceMs, 0],
    ['the delay of a shutdown', ({ shutdownDelayMs }) => shutdownDelayMs, 0],
    ['the life of events', ({ timesToLiveMs }) => timesToLiveMs.event, 3600_000],
    ['features', ({ features }) => features, defaultFeatures],
    ['APIs', ({ runtimeConfig }) => runtimeConfig, new Map()],
    ['admission plugins', ({ admissionPlugins }) => admissionPlugins, defaultPlugins],
  ];
  for (const [what, of, value] of rows) it(`${what}: as documented`, () => assert.deepEqual(of(read()), value));

  it('the data is in the data directory, for its owner alone', () => {
    assert.deepEqual(read().storage, { backend: 'sqlite', file: at('data/orch.db') });
    assert.equal(statSync(at('data')).mode & 0o777, 0o700);
    assert.equal(readServingPair(flags([])), undefined);
  });
});

it('flags set the configuration', () => {
  const options = read(
    '--dialect=kubernetes',
    '--bind-address=::',
    '--secure-port=0',
    '--anonymous-auth=false',
    '--livez-grace-period=10s',
    '--shutdown-delay-duration=1m10s',
    '--event-ttl=720h',
    '--feature-gates=APIResponseCompression=false',
    '--runtime-config=v1,v1/pods=1,/v1/events=0',
    '--runtime-config=v1/pods=F',
    '--client-ca-file=@bundle.pem',
    '--token-auth-file=@tokens.csv',
    '--sqlite-file=@x.db',
  );
  assert.equal(options.dialect.name, 'kubernetes');
  assert.deepEqual(options.listen, { address: '::', port: 0 });
  assert.deepEqual([options.livezGraceMs, options.shutdownDelayMs], [10_000, 70_000]);
  assert.deepEqual(options.timesToLiveMs, { event: 30 * 24 * 3600_000 });
  assert.deepEqual(options.features, { ...defaultFeatures, APIResponseCompression: false });
  assert.deepEqual(Object.fromEntries(options.runtimeConfig), { v1: true, 'v1/pods': false, 'v1/events': false });
  assert.deepEqual(options.storage, { backend: 'sqlite', file: at('x.db') });
  const { anonymous, clientAuthorities, staticTokens } = options.authentication;
  assert.equal(anonymous, false);
  assert.equal(clientAuthorities?.file?.content.toString().match(/BEGIN CERTIFICATE/g)?.length, 2);
  assert.deepEqual(
    staticTokens.map(({ token, user }) => [token, user.username, user.uid, ...user.groups]),
    [['s3cret', 'jane', '1', 'dev', 'ops']],
  );
});

it('--etcd-servers alone moves the store to etcd', () => {
  assert.deepEqual(read('--etcd-servers=http://127.0.0.1:2379,http://[::1]:2379', '--etcd-prefix=/x/y/').storage, {
    backend: 'etcd3',
    endpoints: ['http://127.0.0.1:2379', 'http://[::1]:2379'],
    prefix: '/x/y',
    compactionMs: 300_000,
  });
});

it('--etcd-servers-overrides keeps resources elsewhere', () => {
  const { storage } = read(
    '--etcd-servers=http://a:1',
    '--etcd-servers-overrides=/events#http://b:1;http://c:1/,coordination.k8s.io/leases#https://d:1',
    '--etcd-servers-overrides=apps/*#unix:///run/kine.sock',
  );
  assert.ok(storage.backend === 'etcd3');
  assert.deepEqual(storage.endpoints, ['http://a:1']);
  assert.deepEqual(storage.overrides, [
    { group: '', resource: 'events', endpoints: ['http://b:1', 'http://c:1/'] },
    { group: 'coordination.k8s.io', resource: 'leases', endpoints: ['https://d:1'] },
    { group: 'apps', resource: '*', endpoints: ['unix:///run/kine.sock'] },
  ]);
});

it('etcd over TLS', () => {
  const pair = ['--etcd-certfile=@a.crt', '--etcd-keyfile=@a.key', '--etcd-cafile=@bundle.pem'];
  const { storage } = read('--storage-backend=etcd3', '--etcd-servers=https://e:2379', ...pair);
  assert.ok(storage.backend === 'etcd3');
  assert.deepEqual(storage.tls?.client, {
    certificate: readFileSync(at('a.crt'), 'utf8'),
    key: readFileSync(at('a.key'), 'utf8'),
    files: { certificate: at('a.crt'), key: at('a.key') },
  });
  assert.match(storage.tls?.authorities ?? '', /BEGIN CERTIFICATE/);
  assert.equal(storage.prefix, '/registry');
});

it('the order of admission plugins does not depend on the order of the flags', () => {
  const plugins = (...args: readonly string[]) => read(...args).admissionPlugins;
  const owners = 'OwnerReferencesPermissionEnforcement';
  assert.deepEqual(
    plugins(`--enable-admission-plugins=${owners},NamespaceLifecycle`),
    pluginNames.filter((name) => name === owners || defaultPlugins.includes(name)),
  );
  const disabled: readonly string[] = ['ServiceAccount', 'NodeRestriction'];
  assert.deepEqual(
    plugins(`--disable-admission-plugins=${disabled[0]},${owners}`, `--disable-admission-plugins=${disabled[1]}`),
    defaultPlugins.filter((name) => !disabled.includes(name)),
  );
});

it('a serving pair', () => {
  const pair = readServingPair(flags(['--tls-cert-file=@a.crt', '--tls-private-key-file=@a.key']));
  assert.equal(pair?.certificate, readFileSync(at('a.crt'), 'utf8'));
});

describe('flags that conflict, or name invalid files', () => {
  for (const [args, message] of [
    [['--bind-address=localhost'], /^--bind-address: "localhost" is not an IP address$/],
    [['--client-ca-file=@none'], /^--client-ca-file: .*\/none cannot be read: ENOENT/],
    [['--client-ca-file=@empty'], /^--client-ca-file: .*\/empty has no PEM block/],
    [['--token-auth-file=@none'], /^--token-auth-file: .*\/none cannot be read/],
    [['--token-auth-file=@bad.csv'], /^--token-auth-file: .*\/bad\.csv:2: 1 columns/],
    [['--tls-cert-file=@a.crt'], /^--tls-cert-file needs --tls-private-key-file$/],
    [['--tls-private-key-file=@a.key'], /^--tls-private-key-file needs --tls-cert-file$/],
    [['--tls-cert-file=@a.crt', '--tls-private-key-file=@b.key'], /^--tls-cert-file: .*does not belong to the key/],
    [['--tls-cert-file=@a.crt', '--tls-private-key-file=@empty'], /^--tls-cert-file: .*\/empty is not a private key/],
    [['--storage-backend=etcd3'], /^--storage-backend=etcd3 needs --etcd-servers$/],
    [
      ['--storage-backend=sqlite', '--etcd-servers=http://e:1'],
      /^--etcd-servers goes with --storage-backend=etcd3 only$/,
    ],
    [
      ['--etcd-servers-overrides=/events#http://e:1'],
      /^--etcd-servers-overrides goes with --storage-backend=etcd3 only$/,
    ],
    [
      ['--storage-backend=etcd3', '--etcd-servers-overrides=/events#http://e:1'],
      /^--storage-backend=etcd3 needs --etcd-servers$/,
    ],
    ...['events#http://e:1', '/events', '/events#', '/#http://e:1', '/a/b#http://e:1', '/events#http://e:1#', '#'].map(
      (text): [string[], RegExp] => [
        ['--etcd-servers=http://e:1', `--etcd-servers-overrides=${text}`],
        /^--etcd-servers-overrides: ".+" must be of format: group\/resource#servers, where servers are URLs, semicolon separated$/,
      ],
    ),
    [
      ['--etcd-servers=http://e:1', '--etcd-servers-overrides=@events#http://jane:secret@e:1'],
      /^--etcd-servers-overrides: "\/.+\/events#http:\/\/\.\.\.@e:1" must be of format/,
    ],
    [
      ['--etcd-servers=http://e:1', '--etcd-servers-overrides=/events#http://e:2;e:3'],
      /^--etcd-servers-overrides: "e:3" is not of the form https:\/\/HOST:PORT or unix:\/\/\/PATH$/,
    ],
    [
      ['--etcd-servers=http://e:1', '--etcd-servers-overrides=/events#http://e:2;'],
      /^--etcd-servers-overrides: "" is not/,
    ],
    [
      ['--etcd-servers=http://e:1', '--etcd-servers-overrides=/events#http://e:2,'],
      /"\/events#http:\/\/e:2," has an empty item$/,
    ],
    [['--etcd-cafile=@a.crt'], /^--etcd-cafile goes with --storage-backend=etcd3 only$/],
    [['--etcd-servers=http://e:1', '--sqlite-file=x'], /^--sqlite-file goes with --storage-backend=sqlite only$/],
    [['--etcd-servers=e:2379'], /^--etcd-servers: "e:2379" is not of the form https:\/\/HOST:PORT or unix:\/\/\/PATH$/],
    [['--etcd-servers=unix://kine.sock'], /is not of the form/],
    [['--etcd-servers=http://e:1/path'], /^--etcd-servers: .* is not of the form/],
    [['--etcd-servers=http://e:1', '--etcd-prefix=/'], /^--etcd-prefix: must not be empty$/],
    [['--etcd-servers=http://e:1', '--etcd-certfile=@a.crt'], /^--etcd-certfile needs --etcd-keyfile$/],
    [['--data-dir=@empty'], /^--data-dir: the directory .* cannot be made: there is a file in its place$/],
    [
      ['--enable-admission-plugins=Nonsense'],
      /^--enable-admission-plugins: "Nonsense" is not one of \w+, [\w, ]+, nor published$/,
    ],
    [['--disable-admission-plugins=ServiceAccount,None'], /^--disable-admission-plugins: "None" is not one of /],
    [
      ['--enable-admission-plugins=LimitRanger', '--disable-admission-plugins=LimitRanger'],
      /^--enable-admission-plugins and --disable-admission-plugins both name LimitRanger$/,
    ],
    [
      ['--enable-admission-plugins=ServiceAccount', '--disable-admission-plugins=NamespaceLifecycle,ServiceAccount'],
      /^--enable-admission-plugins and --disable-admission-plugins both name ServiceAccount$/,
    ],
    [
      ['--feature-gates=Nonsense=true'],
      /^--feature-gates: unrecognized feature gate: Nonsense; known: AllowUnsafeMalformedObjectDeletion, APIResponseCompression, /,
    ],
    [['--runtime-config=/v2=false'], /^--runtime-config: group version v2 that has not been registered$/],
    [
      ['--runtime-config=rbac.authorization.orch.io/v2=false'],
      /^--runtime-config: group version rbac.authorization.orch.io\/v2 that has not been registered$/,
    ],
  ] as const) {
    it(args.join(' '), () => {
      const attempt = () => {
        const values = flags(args);
        readServerOptions(values);
        readServingPair(values);
      };
      assert.throws(attempt, (error) => {
        assert.ok(error instanceof UsageError);
        assert.match(error.message, message);
        return true;
      });
    });
  }
});
