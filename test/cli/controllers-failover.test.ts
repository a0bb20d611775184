import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { parseTime } from '../../src/meta/time.ts';
import { makeCertificate } from '../../src/pki/certificate-fixture.ts';
import { ids, makeRequest, relativeName, requestToPem } from '../../src/pki/certificate-request-fixture.ts';
import { etcdMissing, startEtcd } from '../../src/store/drivers/etcd/etcd-process-fixture.ts';
import { rbacPath, roleRef, user } from '../support/authorization.ts';
import { AuthorizationWebhook } from '../support/authorization-webhook.ts';
import type { Command } from '../support/command.ts';
import { ControllersApart } from '../support/controllers-apart.ts';
import { OrchProcess } from '../support/orch-process.ts';

/**
 * Two programs with controllers of which one leads. Each works as a user of its own, without service accounts, so that a
 * webhook in front of RBAC, which has no opinion, sees which of the two asked for what.
 */
let webhook: AuthorizationWebhook;
let apart: ControllersApart;
before(async () => {
  webhook = await AuthorizationWebhook.start();
  apart = await ControllersApart.start(...webhook.flagsBeforeRbac(), '--authorization-webhook-version=v1', '--v=3');
  for (const name of programs) {
    await apart.make(`${rbacPath}/clusterrolebindings`, {
      metadata: { name },
      roleRef: roleRef('ClusterRole', 'cluster-admin'),
      subjects: [user(name)],
    });
  }
});
after(async () => {
  await apart[Symbol.asyncDispose]();
  await webhook[Symbol.asyncDispose]();
});

const programs = ['first', 'second'] as const;
type Program = (typeof programs)[number];

let running: AsyncDisposableStack;
beforeEach(async () => {
  running = new AsyncDisposableStack();
  await apart.send('DELETE', lease);
});
afterEach(() => running.disposeAsync());

const namespaces = '/api/v1/namespaces';
const lease = '/apis/coordination.orch.io/v1/namespaces/orch-system/leases/orch-controller-manager';

interface LeaseSpec {
  readonly holderIdentity: string;
  readonly acquireTime: string;
  readonly renewTime: string;
  readonly leaseTransitions: number;
  readonly leaseDurationSeconds: number;
}
const leaseSpec = async (): Promise<LeaseSpec> => (await apart.get<{ spec: LeaseSpec }>(lease)).spec;

const short = ['lease-duration=3s', 'renew-deadline=2s', 'retry-period=200ms'];
const endless = ['lease-duration=1h', 'renew-deadline=30m', 'retry-period=200ms'];

const ofNamespaces = ['--controllers=serviceaccount,root-ca-cert-publisher'];
function start(program: Program, timing: readonly string[], more: readonly string[] = ofNamespaces): Command {
  return running.use(apart.managerAs(program, ...timing.map((each) => `--leader-elect-${each}`), ...more));
}

const leads = (program: Command): Promise<unknown> => program.prints(/"controllers run"/);

let made = 0;
/** New namespaces. */
async function makeNamespaces(count: number): Promise<readonly string[]> {
  const names = Array.from({ length: count }, () => `n${made++}`);
  for (const name of names) await apart.make(namespaces, { metadata: { name } });
  return names;
}

const objectsOf = (name: string): readonly string[] =>
  ['serviceaccounts/default', 'configmaps/orch-root-ca.crt'].map((each) => `${namespaces}/${name}/${each}`);
async function looksAfter(names: readonly string[]): Promise<void> {
  for (const path of names.flatMap(objectsOf)) await apart.has(path);
}

/** Writes that a program asked for, but for those of leading. */
const writesOf = (program: Program, from = 0): readonly string[] =>
  webhook.questions.slice(from).flatMap(({ spec }) => {
    const { verb, resource, namespace } = spec.resourceAttributes ?? {};
    const isWork = !['get', 'list', 'watch', undefined].includes(verb as string) && resource !== 'leases';
    return spec.user === program && isWork && resource !== 'events' ? [`${verb} ${namespace}/${resource}`] : [];
  });

/** Each object was asked for once, by whichever program. */
function assertOnce(names: readonly string[]): void {
  const asked = programs.flatMap((program) => writesOf(program));
  for (const name of names) {
    for (const resource of ['serviceaccounts', 'configmaps']) {
      assert.equal(asked.filter((each) => each === `create ${name}/${resource}`).length, 1, `${name} ${resource}`);
    }
  }
}

const changesOfLeaders = async (): Promise<readonly string[]> => {
  const query = 'fieldSelector=involvedObject.kind%3DLease%2Creason%3DLeaderElection';
  const { items } = await apart.get<{ items: readonly { message: string; firstTimestamp: string }[] }>(
    `${namespaces}/orch-system/events?${query}`,
  );
  return items.map(({ message }) => message);
};

describe('two programs with controllers', () => {
  it('one leads; when it is killed the other follows once the lease has run out, and does nothing twice', async () => {
    const first = start('first', short);
    await leads(first);
    const early = await makeNamespaces(3);
    await looksAfter(early);
    const second = start('second', short);
    await second.prints(/"waits for the lease"/);
    const early2 = await makeNamespaces(3);
    await looksAfter(early2);
    assert.deepEqual(writesOf('second'), [], 'the one that waits does nothing');
    first.signal('SIGKILL');
    await first.exit();
    const left = await leaseSpec();
    const late = await makeNamespaces(3);
    await looksAfter(late);
    await leads(second);
    const taken = await leaseSpec();
    const pausedMs = (parseTime(taken.acquireTime) ?? 0) - (parseTime(left.renewTime) ?? 0);
    assert.ok(pausedMs >= 3_000, `the lease was taken ${pausedMs} ms after its renewal`);
    assert.notEqual(taken.holderIdentity, left.holderIdentity);
    assert.equal(taken.leaseTransitions, left.leaseTransitions + 1);
    assert.equal(taken.leaseDurationSeconds, 3);
    assertOnce([...early, ...early2, ...late]);
    const changes = await changesOfLeaders();
    for (const { holderIdentity } of [left, taken]) assert.ok(changes.includes(`${holderIdentity} became leader`));
  });

  it('a certificate is signed once, whoever leads when it is asked for and approved', async () => {
    const authority = makeCertificate({ name: 'signing', authority: true });
    const signing = [
      `--cluster-signing-cert-file=${apart.folder.write('signing.crt', authority.cert)}`,
      `--cluster-signing-key-file=${apart.folder.write('signing.key', authority.key)}`,
      '--controllers=csrsigning,csrapproving',
    ];
    const first = start('first', short, signing);
    await leads(first);
    const second = start('second', short, signing);
    await second.prints(/"waits for the lease"/);
    const path = '/apis/certificates.orch.io/v1/certificatesigningrequests';
    const request = Buffer.from(
      requestToPem(makeRequest({ subject: [relativeName(ids.commonName, 'somebody')] })),
    ).toString('base64');
    const spec = { request, signerName: 'orch.io/apiserver-client', usages: ['client auth'] };
    const ask = async (name: string): Promise<void> => {
      await apart.make(path, { metadata: { name }, spec });
      await apart.patch(`${path}/${name}/approval`, { status: { conditions: [{ type: 'Approved', status: 'True' }] } });
    };
    const certificateOf = async (name: string): Promise<string | undefined> =>
      (await apart.get<{ status: { certificate?: string } }>(`${path}/${name}`)).status.certificate;
    const isSigned = (name: string): Promise<void> =>
      until(async () => (await certificateOf(name)) !== undefined, `${name} is not signed`);
    const names = ['early-0', 'early-1', 'late-0', 'late-1'];
    for (const name of names.slice(0, 2)) await ask(name);
    for (const name of names.slice(0, 2)) await isSigned(name);
    const early = await certificateOf('early-0');
    first.signal('SIGKILL');
    await first.exit();
    for (const name of names.slice(2)) await ask(name);
    for (const name of names.slice(2)) await isSigned(name);
    assert.equal(await certificateOf('early-0'), early, 'it is not signed anew');
    const signed = webhook.questions.flatMap(({ spec: { resourceAttributes = {} } }) => {
      const { verb, resource, subresource, name } = resourceAttributes;
      return `${verb} ${resource}/${subresource}` === 'update certificatesigningrequests/status' ? [name] : [];
    });
    assert.deepEqual(signed.toSorted(), names);
  });

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`the lease is given back at ${signal}: the other need not wait for its end`, async () => {
      const first = start('first', endless);
      await leads(first);
      const { holderIdentity } = await leaseSpec();
      const early = await makeNamespaces(2);
      await looksAfter(early);
      const second = start('second', endless);
      await second.prints(/"waits for the lease"/);
      first.signal(signal);
      assert.equal(await first.exit(), 0);
      await leads(second);
      const late = await makeNamespaces(2);
      await looksAfter(late);
      assertOnce([...early, ...late]);
      const changes = await changesOfLeaders();
      assert.ok(changes.includes(`${holderIdentity} stopped leading`), changes.join());
    });
  }

  it('a leader that was paused for longer than its lease writes nothing when it goes on, and ends', async () => {
    const first = start('first', short);
    await leads(first);
    await looksAfter(await makeNamespaces(2));
    const second = start('second', short);
    await second.prints(/"waits for the lease"/);
    first.signal('SIGSTOP');
    await leads(second);
    const [, ...meanwhile] = await makeNamespaces(20);
    await looksAfter(meanwhile);
    const from = webhook.questions.length;
    // What it has seen and not done is much: these objects are deleted and made again behind its back.
    for (const path of meanwhile.flatMap(objectsOf)) await apart.remove(path);
    first.signal('SIGCONT');
    assert.equal(await first.exit(), 1);
    assert.match(first.err, /the lease was lost; the controllers have stopped/);
    await looksAfter(meanwhile);
    assert.deepEqual(writesOf('first', from), []);
    const { holderIdentity } = await leaseSpec();
    assert.ok((await changesOfLeaders()).includes(`${holderIdentity} became leader`), 'the second leads on');
  });
});

describe('two servers with their controllers on one etcd', { skip: etcdMissing }, () => {
  it('one of them leads; when it is killed the other follows, and nothing is done twice', async () => {
    await using held = new AsyncDisposableStack();
    const etcd = await startEtcd();
    held.defer(() => etcd.stop());
    const flags = [`--etcd-servers=${etcd.endpoint}`, '--etcd-prefix=/failover', '--logging-format=json', '--v=3'];
    const one = held.use(await OrchProcess.start({ flags }));
    await until(() => one.log.includes('controllers run'), 'the first does not lead');
    const two = held.use(await OrchProcess.start({ flags }));
    await until(() => two.log.includes('waits for the lease'), 'the second does not wait');
    const watch = two.watch('/api/v1/serviceaccounts?watch=1');
    held.defer(() => watch.close());
    const there = async (name: string): Promise<boolean> =>
      (await two.get(`${namespaces}/${name}/serviceaccounts/default`)).status === 200;
    for (let at = 0; at < 6; at++) {
      if (at === 3) await one.kill();
      const name = `e${at}`;
      assert.equal((await two.post(namespaces, { metadata: { name } })).status, 201);
      if (at !== 3) await until(() => there(name), `nobody looks after ${name}`);
    }
    await until(() => there('e3'), 'nobody looks after e3');
    const seen = (): readonly string[] =>
      watch.events
        .filter(({ object }) => /^e\d$/.test(String(object.metadata['namespace'])))
        .map(({ type, object }) => `${type} ${object.metadata['namespace']}`)
        .sort();
    await until(() => seen().includes('ADDED e5'), 'the watch does not see the last');
    assert.deepEqual(
      seen(),
      ['e0', 'e1', 'e2', 'e3', 'e4', 'e5'].map((name) => `ADDED ${name}`),
    );
    for (const { log } of [one, two]) {
      assert.doesNotMatch(log, /"verb":"POST","URI":"[^"]*serviceaccounts.*"resp":409/);
    }
  });
});
