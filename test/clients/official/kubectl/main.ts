import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** The script of ../README.md with a release of the command line, which the first argument names. */

const program = process.argv[2] ?? 'kubectl';
const namespace = process.env['NAMESPACE'] ?? '';
const name = 'settings';
/** Its own, because what it has learnt of servers is kept there by address. */
const home = mkdtempSync(join(tmpdir(), 'kubectl-home-'));
const env = { ...process.env, HOME: home };
const waitMsMax = 30_000;
const pagedObjects = 250;

interface Result {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

interface Shown {
  readonly metadata: {
    readonly uid: string;
    readonly resourceVersion: string;
    readonly managedFields?: readonly { readonly manager: string; readonly operation: string }[];
  };
  readonly data: Readonly<Record<string, string>>;
}

function run(args: readonly string[], input = ''): Promise<Result> {
  return new Promise((resolve) => {
    const options = { env, timeout: waitMsMax, maxBuffer: 64 * 1024 * 1024 };
    const child = execFile(program, ['--namespace', namespace, ...args], options, (error, out, err) =>
      resolve({ code: error ? Number(error.code ?? 1) : 0, out, err }),
    );
    child.stdin?.on('error', () => {}); // the command may end before it has read everything
    child.stdin?.end(input);
  });
}

async function prints(args: readonly string[], input?: string): Promise<string> {
  const { code, out, err } = await run(args, input);
  process.stderr.write(err);
  assert.equal(code, 0, `${args.join(' ')}: ${err}`);
  return out;
}

async function shows<T = Shown>(args: readonly string[], object?: unknown): Promise<T> {
  return JSON.parse(await prints([...args, '-o', 'json'], object === undefined ? undefined : JSON.stringify(object)));
}

/** As it is sent: release 1.27 asks who it is in versions that a server of 1.32 has switched off. */
async function answer<T>(path: string, object: unknown, flags: readonly string[] = []): Promise<T> {
  return JSON.parse(await prints([...flags, 'create', '--raw', path, '-f', '-'], JSON.stringify(object)));
}

async function refused(pattern: RegExp, args: readonly string[], object?: unknown): Promise<void> {
  const { code, err } = await run(args, object === undefined ? undefined : JSON.stringify(object));
  assert.equal(code, 1, args.join(' '));
  assert.match(err, pattern);
}

const configMap = (
  name: string,
  { data = {}, labels = {} }: { readonly data?: object; readonly labels?: object } = {},
) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels }, data });

let uid = '';
let stale: Shown | undefined;

const steps: readonly (readonly [name: string, run: () => Promise<string | undefined>])[] = [
  ['discovery', discovery],
  ['create', create],
  ['get', get],
  ['update', update],
  ['conflict', conflict],
  ['patch', patch],
  ['apply', apply],
  ['list', list],
  ['pagination', pagination],
  ['watch', watch],
  ['token-request', tokenRequest],
  ['access-review', accessReview],
  ['ready-for-restart', async () => undefined],
  ['restart', restart],
  ['delete', remove],
  ['errors', errors],
];

async function discovery(): Promise<undefined> {
  interface Versions {
    readonly serverVersion: { readonly major: string; readonly minor: string };
  }
  const { serverVersion } = await shows<Versions>(['version']);
  assert.equal(`${serverVersion.major}.${serverVersion.minor}`, '1.32');
  const resources = (group: string) => prints(['api-resources', `--api-group=${group}`, '--no-headers']);
  assert.match(await resources('coordination.k8s.io'), /^leases +coordination\.k8s\.io\/v1 +true +Lease$/m);
  assert.match(await resources(''), /^configmaps +cm +v1 +true +ConfigMap$/m);
}

async function create(): Promise<undefined> {
  const created = await shows(['create', 'configmap', name, '--from-literal=colour=red', '--from-literal=size=small']);
  assert.deepEqual(created.data, { colour: 'red', size: 'small' });
  assert.ok(created.metadata.resourceVersion);
  uid = created.metadata.uid;
  assert.ok(uid);
}

async function get(): Promise<undefined> {
  const object = await shows(['get', 'configmap', name]);
  assert.equal(object.metadata.uid, uid);
  assert.deepEqual(object.data, { colour: 'red', size: 'small' });
}

async function update(): Promise<undefined> {
  const object = await shows(['get', 'configmap', name]);
  stale = object;
  const updated = await shows(['replace', '-f', '-'], { ...object, data: { ...object.data, colour: 'blue' } });
  assert.equal(updated.data['colour'], 'blue');
  assert.equal(updated.metadata.uid, uid);
  assert.notEqual(updated.metadata.resourceVersion, object.metadata.resourceVersion);
}

async function conflict(): Promise<undefined> {
  await refused(/\(Conflict\)/, ['replace', '-f', '-'], { ...stale, data: { colour: 'green' } });
  assert.equal((await shows(['get', 'configmap', name])).data['colour'], 'blue');
}

async function patch(): Promise<undefined> {
  const merge = JSON.stringify({ data: { shape: 'round', size: null } });
  const patched = await shows(['patch', 'configmap', name, '--type=merge', `--patch=${merge}`]);
  assert.deepEqual(patched.data, { colour: 'blue', shape: 'round' });
  await prints(['create', 'serviceaccount', 'patched']);
  interface Account {
    readonly secrets: readonly { readonly name: string }[];
  }
  const addSecret = (secret: string) => {
    const strategic = JSON.stringify({ secrets: [{ name: secret }] });
    return shows<Account>(['patch', 'serviceaccount', 'patched', '--type=strategic', `--patch=${strategic}`]);
  };
  await addSecret('one');
  const { secrets } = await addSecret('two');
  assert.deepEqual(secrets.map((each) => each.name).sort(), ['one', 'two']);
}

async function apply(): Promise<undefined> {
  const as = (manager: string) => ['apply', '--server-side', `--field-manager=${manager}`, '-f', '-'];
  await prints(as('first'), JSON.stringify(configMap('applied', { data: { colour: 'red' } })));
  const { metadata } = await shows(['get', 'configmap', 'applied', '--show-managed-fields']);
  const managers = metadata.managedFields?.map(({ manager, operation }) => `${manager} ${operation}`);
  assert.deepEqual(managers, ['first Apply']);
  const blue = configMap('applied', { data: { colour: 'blue' } });
  await refused(/conflict with "first": \.data\.colour/, as('second'), blue);
  const forced = await shows([...as('second'), '--force-conflicts'], blue);
  assert.equal(forced.data['colour'], 'blue');
}

async function list(): Promise<undefined> {
  const items = ['front', 'front', 'back'].map((tier, at) => configMap(`list-${at}`, { labels: { tier } }));
  await prints(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  const names = await prints(['get', 'configmaps', '-l', 'tier=front', '-o', 'name']);
  assert.deepEqual(names.trim().split('\n'), ['configmap/list-0', 'configmap/list-1']);
}

/** The log of requests says how many pages there were. */
async function pagination(): Promise<undefined> {
  const items = Array.from({ length: pagedObjects }, (_, at) => configMap(`page-${at}`, { labels: { paged: 'true' } }));
  await prints(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  const args = ['get', 'configmaps', '-l', 'paged=true', '--chunk-size=100', '-o', 'name', '-v=6'];
  const { out, err } = await run(args);
  assert.equal(err.match(/GET.*limit=100/g)?.length, 3, err);
  const names = out.trim().split('\n');
  assert.equal(names.length, pagedObjects);
  assert.equal(new Set(names).size, pagedObjects);
}

async function watch(): Promise<undefined> {
  const format = 'jsonpath={.type} {.object.metadata.name} {.object.data.colour}{"\\n"}';
  const flags = ['--watch-only', '--output-watch-events', '-o', format];
  const child = spawn(program, ['--namespace', namespace, 'get', 'configmaps', ...flags], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    await changes(child);
  } finally {
    child.kill();
  }
}

/** The watch begins some time after its process: an object is changed until it tells of it. */
async function changes(watching: ChildProcess): Promise<undefined> {
  let out = '';
  watching.stdout?.on('data', (chunk) => {
    out += chunk;
  });
  const signal = AbortSignal.timeout(waitMsMax);
  const set = (name: string, colour: string) =>
    prints(['apply', '-f', '-'], JSON.stringify(configMap(name, { data: { colour } })));
  for (let at = 0; !out.includes('sentinel'); at++) {
    signal.throwIfAborted();
    await set('sentinel', String(at));
  }
  await set('watched', 'red');
  await set('watched', 'blue');
  await prints(['delete', 'configmap', 'watched']);
  const told = () => out.match(/^\w+ watched \w+$/gm)?.join();
  while (told() !== 'ADDED watched red,MODIFIED watched blue,DELETED watched blue') {
    signal.throwIfAborted();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function tokenRequest(): Promise<undefined> {
  await prints(['create', 'serviceaccount', 'robot']);
  const token = (await prints(['create', 'token', 'robot'])).trim();
  interface Connection {
    readonly clusters: readonly { readonly name: string }[];
  }
  const config = await shows<Connection>(['config', 'view', '--raw']);
  const connection = join(home, 'robot');
  const users = [{ name: 'robot', user: { token } }];
  writeFileSync(connection, JSON.stringify({ ...config, users }));
  const cluster = config.clusters[0]?.name ?? '';
  const as = [`--kubeconfig=${connection}`, `--cluster=${cluster}`, '--user=robot'];
  interface Review {
    readonly status: { readonly userInfo: { readonly username: string } };
  }
  const kind = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const review = await answer<Review>('/apis/authentication.k8s.io/v1/selfsubjectreviews', kind, as);
  assert.equal(review.status.userInfo.username, `system:serviceaccount:${namespace}:robot`);
}

async function accessReview(): Promise<undefined> {
  assert.equal(await prints(['auth', 'can-i', 'get', 'configmaps']), 'yes\n');
  interface Review {
    readonly status: { readonly allowed: boolean };
  }
  const spec = { user: 'stranger', resourceAttributes: { namespace, verb: 'get', resource: 'configmaps' } };
  const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec };
  const { status } = await answer<Review>('/apis/authorization.k8s.io/v1/subjectaccessreviews', review);
  assert.equal(status.allowed, false);
}

async function restart(): Promise<string> {
  const restarted = /^restarted (.+)$/.exec(await readLine())?.[1];
  assert.ok(restarted);
  await prints(['get', 'configmap', restarted]);
  return 'a watch that outlives its connection';
}

async function remove(): Promise<undefined> {
  await prints(['delete', 'configmap', name]);
  await refused(/\(NotFound\)/, ['get', 'configmap', name]);
}

async function errors(): Promise<undefined> {
  await refused(/is invalid: metadata\.name: Invalid value/, ['create', 'configmap', 'Not_A_Name']);
}

async function readLine(): Promise<string> {
  for await (const line of createInterface({ input: process.stdin })) return line;
  throw new Error('standard input ended');
}

for (const [step, run] of steps) {
  try {
    const missing = await run();
    const note = missing === undefined ? {} : { note: `not in this client: ${missing}` };
    process.stdout.write(`${JSON.stringify({ step, ok: true, ...note })}\n`);
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    process.stdout.write(`${JSON.stringify({ step, ok: false, error: text })}\n`);
    process.exitCode = 1;
    break;
  }
}
rmSync(home, { recursive: true, force: true });
