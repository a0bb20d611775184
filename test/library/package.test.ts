import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { makeRequest, requestToPem } from '../../src/pki/certificate-request-fixture.ts';
import { build } from '../../tools/build.ts';
import { writeDeclarations } from '../../tools/declarations.ts';
import { readSources } from '../../tools/source-tree.ts';

/** The package as npm packs it, in a project that has nothing else. */

const root = resolve(import.meta.dirname, '../..');
const packed = ['package.json', 'README.md', 'tsconfig.json', 'bin', 'src'];
let area: string;
/** Where the project is that uses the package. */
let project: string;

/** What a program wrote. Fails with its words where it does not end well, or not at all. */
function run(program: string, args: readonly string[], cwd: string): string {
  const { status, signal, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    timeout: 300_000,
  });
  assert.equal(error, undefined);
  assert.equal(status, 0, `${program} ${args.join(' ')}: ${signal ?? status}\n${stdout}\n${stderr}`);
  return stdout;
}

const put = (name: string, text: string): void => writeFileSync(join(project, name), text);

const certificateRequest = Buffer.from(requestToPem(makeRequest())).toString('base64');

const consumer = `
import assert from 'node:assert/strict';
import { workerData } from 'node:worker_threads';

const signals = ['SIGTERM', 'SIGINT', 'uncaughtException', 'unhandledRejection', 'exit'] as const;
const listeners = () => signals.map((name) => process.listenerCount(name));
/** Without the standard streams, which a program gets by itself. */
const open = () => process.getActiveResourcesInfo().filter((name) => name !== 'PipeWrap').sort();
const atFirst = { listeners: listeners(), open: open(), worker: workerData };

const { createServer, hasReason, ManualClock, seededRandom } = await import('orch');
import type { ApiList, ApiObject, Environment, ServerOptions } from 'orch';

assert.deepEqual({ listeners: listeners(), open: open(), worker: workerData }, atFirst, 'loading does something');

const path = '/api/v1/namespaces/default/configmaps';
const named = (name: string): Partial<ApiObject> => ({ metadata: { name } });

async function use(options: ServerOptions, environment: Partial<Environment> = {}): Promise<readonly string[]> {
  await using server = await createServer(options, environment);
  const client = server.client();
  await client.create(path, named('a'));
  const { items, metadata } = await client.get<ApiList>(path);
  const names = items.map(({ metadata: { name } }) => String(name));
  const stop = new AbortController();
  const target = path + '?watch=true&resourceVersion=' + metadata.resourceVersion;
  const changes = client.watch(target, { signal: stop.signal });
  const first = changes.next();
  await client.create(path, named('b'));
  const { value } = await first;
  names.push(value?.type + ' ' + (value?.type === 'ADDED' ? value.object.metadata.name : ''));
  await changes.return?.();
  await client.delete(path + '/a');
  // Read by a parser that is loaded with the first one.
  const group = options.dialect === 'kubernetes' ? 'certificates.k8s.io' : 'certificates.orch.io';
  const spec = { request: '${certificateRequest}', signerName: 'example.com/a', usages: ['any'] };
  await client.create('/apis/' + group + '/v1/certificatesigningrequests', { ...named('r'), spec });
  await assert.rejects(client.get(path + '/a'), (error: unknown) => hasReason(error, 'NotFound'));
  const listening = await server.listen({ port: 0 });
  assert.equal(new URL(listening.url).port, String(listening.port));
  assert.match(server.kubeconfig(), /client-key-data/);
  return names.filter((name) => !name.startsWith('orch-'));
}

const controllers = { controllers: [] };
const all = await Promise.all([
  use({ ...controllers, storage: { backend: 'memory' } }),
  use({ ...controllers, storage: { backend: 'sqlite', file: process.argv[2] + '/a.db' }, dialect: 'kubernetes' }),
  use({ ...controllers }, { random: seededRandom(1), clock: new ManualClock() }),
]);
assert.deepEqual(listeners(), atFirst.listeners, 'somebody listens for signals');
assert.deepEqual(open(), atFirst.open, 'something is left open');
process.stdout.write(JSON.stringify(all));
`;

/** A test of a project of its own, typed. */
const tests = `
import assert from 'node:assert/strict';
import https from 'node:https';
import { startTestServer, type ClientTls, type TestServerOptions } from 'orch/testing';

const get = (url: string, tls: ClientTls) =>
  new Promise<number | undefined>((resolve, reject) => {
    https
      .get(url, { ...tls, agent: false }, (response) => resolve(response.resume().statusCode))
      .on('error', reject);
  });
const definition = (dialect: string) => \`
apiVersion: apiextensions.\${dialect}.io/v1
kind: CustomResourceDefinition
metadata: { name: widgets.example.org }
spec:
  { group: example.org, scope: Cluster, names: { plural: widgets, kind: Widget },
    versions: [{ name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object } } }] }
\`;
const options: TestServerOptions = { definitions: [definition('k8s')], dialect: 'kubernetes', flags: { v: undefined } };
const all = await Promise.all([startTestServer(options), startTestServer({ definitions: definition('orch') })]);
for (const server of all) {
  const path = server.url + '/apis/example.org/v1/widgets';
  assert.equal(await get(path, server.tls), 200);
  assert.equal(await get(path, server.addUser('jane', { groups: ['people'] }).tls), 403);
  assert.match(server.kubeconfig, /client-key-data/);
  await server.stop();
  await server.stop();
}
await assert.rejects(startTestServer({ flags: ['--secure-prot=1'] }), /did you mean --secure-port/);
// Whoever does not stop it is not kept.
await startTestServer();
process.stdout.write('tested');
`;

/** The same without types. */
const plainTests = `
import { test } from 'node:test';
import assert from 'node:assert';
import { startTestServer } from 'orch/testing';
test('a server', async () => {
  await using server = await startTestServer();
  assert.match(server.addUser('jane').kubeconfig, /certificate-authority-data/);
});
`;

/** What `orch up` of the package writes from its start to its end, in order or, after this, by force. */
async function startOnce(flags: readonly string[] = [], env: NodeJS.ProcessEnv = {}, killed?: () => Promise<void>) {
  const all = ['up', '--data-dir', join(area, 'data'), '--secure-port', '0', ...flags];
  const path = `${dirname(process.execPath)}:${process.env['PATH']}`;
  const child = spawn(join(project, 'node_modules/orch/bin/orch'), all, {
    env: { ...process.env, PATH: path, ...env },
  });
  const exited = once(child, 'exit');
  try {
    const written = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) child[name].on('data', (text) => (written[name] += text));
    await until(() => written.stdout.includes('listens on') || child.exitCode !== null);
    await killed?.();
    child.kill(killed ? 'SIGKILL' : 'SIGTERM');
    assert.deepEqual(await exited, killed ? [null, 'SIGKILL'] : [0, null], written.stderr);
    return written;
  } finally {
    child.kill('SIGKILL');
    await exited;
  }
}

const sources = readSources(root, ['src']).filter(({ path }) => !/(?:\.test|-fixture)\.ts$/.test(path));
const logMethod = /\.(?:error|warn|info|debug)\(/;
const logCall = /^(?! *(?:\*|\/)).*\b[lL]ogger\.(?:error|warn|info|debug)\(/;

describe('the package in another project', () => {
  before(async () => {
    area = mkdtempSync(join(tmpdir(), 'orch-package-'));
    const source = join(area, 'source');
    project = join(area, 'project');
    for (const name of packed) cpSync(join(root, name), join(source, name), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(source, 'node_modules'));
    await build(source);
    writeDeclarations(source);
    run('npm', ['pack', '--ignore-scripts', '--pack-destination', area], source);
    const [archive = ''] = readdirSync(area).filter((name) => name.endsWith('.tgz'));
    const installed = join(project, 'node_modules/orch');
    mkdirSync(installed, { recursive: true });
    run('tar', ['-xzf', join(area, archive), '--strip-components=1', '-C', installed], area);
    symlinkSync(join(root, 'node_modules/@types'), join(project, 'node_modules/@types'));
    // A dependency that is not in the bundle, which npm installs beside it.
    symlinkSync(join(root, 'node_modules/yaml'), join(project, 'node_modules/yaml'));
    put('package.json', JSON.stringify({ type: 'module' }));
    put('consumer.ts', consumer);
    put('tests.ts', tests);
    put('plain.mjs', plainTests);
  });

  after(() => rmSync(area, { recursive: true, force: true }));

  it('has types that are whole', () => {
    const compilerOptions = {
      ...{ target: 'esnext', module: 'nodenext', lib: ['esnext'], types: ['node'], strict: true, noEmit: true },
      ...{ skipLibCheck: false, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
    };
    put('tsconfig.json', JSON.stringify({ compilerOptions, files: ['consumer.ts', 'tests.ts'] }));
    run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', '.'], project);
  });

  it('runs servers, and leaves nothing open', () => {
    const flags = ['--disable-warning=ExperimentalWarning', 'consumer.ts', project];
    const said = JSON.parse(run(process.execPath, flags, project)) as readonly (readonly string[])[];
    for (const names of said) assert.deepEqual(names, ['a', 'ADDED b']);
    assert.equal(said.length, 3);
  });

  it('starts servers for tests, typed and in plain JavaScript', () => {
    const flags = ['--disable-warning=ExperimentalWarning'];
    assert.equal(run(process.execPath, [...flags, 'tests.ts'], project), 'tested');
    // A runner inside of another one would do nothing.
    const alone = ['-u', 'NODE_TEST_CONTEXT', process.execPath, ...flags, '--test', '--test-reporter=tap', 'plain.mjs'];
    assert.match(run('env', alone, project), /^# pass 1$/m);
  });

  it('still has its command', () => {
    const flags = ['--disable-warning=ExperimentalWarning', join(project, 'node_modules/orch/dist/orch.js'), 'version'];
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    assert.ok(run(process.execPath, flags, project).includes(version));
  });

  it('knows where in the sources each line of its log is written', () => {
    const table = readFileSync(join(project, 'node_modules/orch/dist/log-places.json'), 'utf8');
    const files = Object.values(JSON.parse(table) as Record<string, Record<string, string>>);
    const known = new Set(files.flatMap((places) => Object.values(places)));
    const calls = sources.flatMap(({ path, text }) =>
      text.split('\n').flatMap((line, at) => (logCall.test(line) ? [`${basename(path)}:${at + 1}`] : [])),
    );
    assert.ok(calls.length > 50);
    assert.deepEqual(
      calls.filter((place) => !known.has(place)),
      [],
    );
  });

  it('names the sources in its log', async () => {
    const { stderr } = await startOnce(['-v=4']);
    const lines = stderr.split('\n').slice(0, -1);
    const places = new Set(lines.map((line) => /^[EWI]\d{4} \S+ +\d+ (\S+)\] /.exec(line)?.[1] ?? line));
    assert.ok(places.size > 1, stderr);
    for (const place of places) {
      const [file = '', number = ''] = place.split(':');
      const named = sources.filter(({ path }) => basename(path) === file);
      assert.ok(
        named.some(({ text }) => logMethod.test(text.split('\n')[Number(number) - 1] ?? '')),
        place,
      );
    }
  });

  it('compiles nothing again that was compiled before', async () => {
    const cache = join(project, 'node_modules/orch/dist/.compile-cache');
    rmSync(cache, { recursive: true, force: true });
    let [seen, unchanged] = [0, 0];
    const isKept = (): boolean => {
      const before = seen;
      seen = existsSync(cache) ? readdirSync(cache, { recursive: true }).length : 0;
      unchanged = seen === before ? unchanged + 1 : 0;
      return seen > 6 && unchanged > 50;
    };
    // It need not end in order.
    await startOnce([], {}, () => until(isKept, 'nothing is kept'));
    const { stdout, stderr } = await startOnce([], { NODE_DEBUG_NATIVE: 'CODE_CACHE,COMPILE_CACHE' });
    const said = `${stdout}\n${stderr}`;
    const ours = [...said.matchAll(/V8 code cache for ESM \S+\/dist\/(\S+) was (\w+)/g)];
    const names = ours.map(([, name = '']) => name.replace(/^.*-/, '')).sort();
    for (const name of ['main.js', 'server.js', 'shell.js']) assert.ok(names.includes(name), names.join());
    for (const [, name = '', result = ''] of ours) assert.equal(result, 'accepted', name);
    // Those of Node.js come compiled for its default flags. The first of each is that of the main thread.
    for (const name of ['net', 'tls', 'crypto', 'https', 'http', 'worker_threads', 'cluster', 'dns']) {
      const [, result] = new RegExp(`Code cache of ${name} \\(\\w+\\) is (\\w+)`).exec(said) ?? [];
      assert.equal(result, 'accepted', name);
    }
  });
});
