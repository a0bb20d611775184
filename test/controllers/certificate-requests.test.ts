import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Closable } from '../../src/base/disposable.ts';
import { limits } from '../../src/base/limits.ts';
import { createLogger, silentLogger } from '../../src/base/logger.ts';
import { systemRandom } from '../../src/base/random.ts';
import { type Clock, ManualClock, systemClock } from '../../src/base/time/clock.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { ApiClient, type ApiList, hasReason } from '../../src/client/api-client.ts';
import { authorityOfAll, type CertificateSigning } from '../../src/controllers/certificate-signing.ts';
import { type ControllersContext, chooseControllers, startControllers } from '../../src/controllers/controllers.ts';
import { dialects } from '../../src/dialect/dialects.ts';
import { signerNames } from '../../src/dialect/signer-names.ts';
import { createServer, type Server, type User } from '../../src/library/library.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import type { ClientRequest, Transport } from '../../src/outbound/transport.ts';
import { encodeAlternativeName } from '../../src/pki/alternative-names.ts';
import { makeCertificate } from '../../src/pki/certificate-fixture.ts';
import { ids, makeRequest, relativeName, requestToPem } from '../../src/pki/certificate-request-fixture.ts';
import { objectIdentifier, octetString, sequence, setOf } from '../../src/pki/der.ts';

/**
 * The controllers of certificate requests, each with the identity and the default role of its own service account,
 * beside a server that runs none.
 */

interface Condition {
  readonly type: string;
  readonly reason?: string;
  readonly message?: string;
}
type Request = ApiObject & {
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status?: { readonly certificate?: string; readonly conditions?: readonly Condition[] };
};

const hourMs = 3600_000;
const authority = makeCertificate({ name: 'some-ca', authority: true, notAfter: Date.now() + 100 * hourMs });
const expired = makeCertificate({ name: 'old-ca', authority: true, notAfter: Date.now() - hourMs });
const usages = {
  client: ['digital signature', 'key encipherment', 'client auth'],
  serving: ['digital signature', 'key encipherment', 'server auth'],
};

/** A request in PEM, base64 as in the API. */
function requestFor(organization: string, commonName: string, host?: string): string {
  const names = host === undefined ? [] : [encodeAlternativeName({ type: 'dns', value: host })];
  const extension = sequence(objectIdentifier(ids.alternativeName), octetString(sequence(...names)));
  const wanted = sequence(objectIdentifier(ids.extensionRequest), setOf(sequence(extension)));
  const subject = [relativeName(ids.organization, organization), relativeName(ids.commonName, commonName)];
  const der = makeRequest({ subject, attributes: host === undefined ? [] : [wanted] });
  return Buffer.from(requestToPem(der)).toString('base64');
}

const node = requestFor('system:nodes', 'system:node:n1');
const nodeWithHost = requestFor('system:nodes', 'system:node:n1', 'n1.example');
const jane = requestFor('team', 'jane');

/** Retries come at once: failures are waited out, not slept through. */
const hastyClock: Clock = { ...systemClock, after: (delayMs, run) => systemClock.after(delayMs / 100, run) };

/** Notes the answers to writes. */
class NotedTransport implements Transport {
  readonly #next: Transport;
  /** `METHOD path status`. */
  readonly writes: string[] = [];
  readonly bodies: Readonly<Record<string, unknown>>[] = [];

  constructor(next: Transport) {
    this.#next = next;
  }

  async send(request: ClientRequest) {
    const answer = await this.#next.send(request);
    if (request.method !== 'GET' && !request.target.endsWith('/events')) {
      this.writes.push(`${request.method} ${request.target} ${answer.status}`);
      this.bodies.push(JSON.parse(Buffer.from(request.body ?? '{}').toString()));
    }
    return answer;
  }
}

for (const dialectName of ['orch', 'kubernetes'] as const) {
  const dialect = dialects[dialectName];
  const signers = signerNames(dialect);
  const path = `/apis/${dialect.group('certificates')}/v1/certificatesigningrequests`;
  const account: User = {
    username: `system:serviceaccount:${dialect.namespaces.system}:certificate-controller`,
    groups: ['system:serviceaccounts', 'system:authenticated'],
  };
  const master: User = { username: 'admin', groups: ['system:masters'] };
  let server: Server;
  let count = 0;

  const client = (): ApiClient => server.client();
  const get = (name: string): Promise<Request> => client().get(`${path}/${name}`);
  const exists = (name: string): Promise<boolean> =>
    get(name).then(
      () => true,
      (error) => {
        if (hasReason(error, 'NotFound')) return false;
        throw error;
      },
    );

  async function create(spec: object, user: User = master): Promise<string> {
    const name = `r${++count}`;
    await server.client(user).create(path, { metadata: { name }, spec });
    return name;
  }

  /** Adds a condition as an administrator. */
  async function decide(name: string, type: 'Approved' | 'Denied' | 'Failed'): Promise<void> {
    const request = await get(name);
    const conditions = [...(request.status?.conditions ?? []), { type, status: 'True', reason: 'Test' }];
    const subresource = type === 'Failed' ? 'status' : 'approval';
    await client().update(`${path}/${name}/${subresource}`, { ...request, status: { ...request.status, conditions } });
  }

  async function issue(name: string, certificate: string): Promise<void> {
    const request = await get(name);
    const status = { ...request.status, certificate: Buffer.from(certificate).toString('base64') };
    await client().update(`${path}/${name}/status`, { ...request, status });
  }

  const certificateOf = async (name: string): Promise<X509Certificate | undefined> => {
    const { certificate } = (await get(name)).status ?? {};
    return certificate === undefined ? undefined : new X509Certificate(Buffer.from(certificate, 'base64'));
  };
  const isIssued = async (name: string): Promise<boolean> => (await certificateOf(name)) !== undefined;
  const conditionOf = async (name: string, type: string): Promise<Condition | undefined> =>
    (await get(name)).status?.conditions?.find((each) => each.type === type);

  const events = async (name: string): Promise<readonly (readonly [unknown, unknown])[]> => {
    const { items } = await client().get<ApiList>('/api/v1/namespaces/default/events');
    const about = items.filter((each) => (each['involvedObject'] as { name?: string }).name === name);
    return about.map((each) => [each['reason'], each['message']] as const);
  };

  const signing: CertificateSigning = {
    authorities: authorityOfAll(() => authority),
    lifetimeMsMax: 24 * hourMs,
  };

  /** Starts a controller with the client of its service account. */
  function start(
    name: string,
    more: Partial<ControllersContext> = {},
    transport = server.transport(account),
  ): Closable {
    return startControllers(chooseControllers([name]), {
      client: new ApiClient(transport, 'controllers'),
      ...{ clock: hastyClock, random: systemRandom, logger: silentLogger, dialect, rootAuthority: '' },
      ...{ certificateSigning: signing, ...more },
    });
  }

  describe(`certificate requests (${dialectName})`, () => {
    before(async () => {
      server = await createServer({ dialect: dialectName, controllers: [] });
      const rbac = `/apis/${dialect.group('rbac.authorization')}/v1`;
      const apiGroup = dialect.group('rbac.authorization');
      for (const [role, resource] of [
        ['requesters', 'certificatesigningrequests'],
        ['selfnodeclient', 'certificatesigningrequests/selfnodeclient'],
        ['nodeclient', 'certificatesigningrequests/nodeclient'],
      ]) {
        const rules = [{ apiGroups: [dialect.group('certificates')], resources: [resource], verbs: ['create'] }];
        await client().create(`${rbac}/clusterroles`, { metadata: { name: role }, rules });
        await client().create(`${rbac}/clusterrolebindings`, {
          metadata: { name: role },
          roleRef: { apiGroup, kind: 'ClusterRole', name: role },
          subjects: [{ apiGroup, kind: 'Group', name: role }],
        });
      }
    });
    after(() => server.close());

    describe('the signers', () => {
      const client = signers.client;
      const wrong = 'usages did not match [client auth digital signature key encipherment]';
      for (const [what, spec, decisions, outcome] of [
        ['a client', { signerName: client, request: jane, usages: usages.client }, ['Approved'], 'issued'],
        ['a node', { signerName: signers.nodeClient, request: node, usages: usages.client }, ['Approved'], 'issued'],
        [
          'a serving node',
          { signerName: signers.nodeServing, request: nodeWithHost, usages: usages.serving },
          ['Approved'],
          'issued',
        ],
        ['nobody has decided', { signerName: client, request: jane, usages: usages.client }, [], 'untouched'],
        ['denied', { signerName: client, request: jane, usages: usages.client }, ['Denied'], 'untouched'],
        ['failed', { signerName: client, request: jane, usages: usages.client }, ['Failed', 'Approved'], 'untouched'],
        [
          'another signer',
          { signerName: 'example.com/mine', request: jane, usages: usages.client },
          ['Approved'],
          'untouched',
        ],
        [
          'a client that serves',
          { signerName: client, request: jane, usages: [...usages.client, 'server auth'] },
          ['Approved'],
          'invalid usage for client certificate: server auth',
        ],
        [
          'a node with a name',
          { signerName: signers.nodeClient, request: nodeWithHost, usages: usages.client },
          ['Approved'],
          'DNS subjectAltNames are not allowed',
        ],
        [
          'a user as a node',
          { signerName: signers.nodeClient, request: jane, usages: usages.client },
          ['Approved'],
          'subject organization is not system:nodes',
        ],
        [
          'a node with other usages',
          { signerName: signers.nodeClient, request: node, usages: ['client auth'] },
          ['Approved'],
          wrong,
        ],
        [
          'a serving node without a name',
          { signerName: signers.nodeServing, request: node, usages: usages.serving },
          ['Approved'],
          'DNS or IP subjectAltName is required',
        ],
      ] as const) {
        it(`${what}: ${outcome}`, async () => {
          const name = await create(spec);
          for (const decision of decisions) await decide(name, decision);
          const before = await get(name);
          const running = start('csrsigning');
          try {
            const last = await create({ signerName: client, request: jane, usages: usages.client });
            await decide(last, 'Approved');
            await until(() => isIssued(last), 'what comes last is issued');
            if (outcome === 'untouched') return assert.deepEqual(await get(name), before);
            if (outcome === 'issued') {
              await until(() => isIssued(name), 'it is issued');
              const issued = await certificateOf(name);
              assert.ok(issued?.verify(authority.certificate.publicKey));
              return;
            }
            await until(async () => (await conditionOf(name, 'Failed')) !== undefined, 'it fails');
            const { reason, message } = (await conditionOf(name, 'Failed')) ?? {};
            assert.deepEqual([reason, message], ['SignerValidationFailure', outcome]);
            assert.equal(await isIssued(name), false);
            await until(async () => (await events(name)).length > 0, 'there is an event');
            assert.deepEqual(await events(name), [['SignerValidationFailure', outcome]]);
          } finally {
            running.close();
          }
        });
      }

      for (const [what, expirationSeconds, hours] of [
        ['none asked for: the longest', undefined, 24],
        ['less than the longest', 10 * 3600, 10],
        ['as long as the longest', 24 * 3600, 24],
        ['more than the longest', 30 * 24 * 3600, 24],
      ] as const) {
        it(`a lifetime, ${what}`, async () => {
          const running = start('csrsigning');
          try {
            const asked = expirationSeconds === undefined ? {} : { expirationSeconds };
            const name = await create({ signerName: client, request: jane, usages: usages.client, ...asked });
            await decide(name, 'Approved');
            await until(() => isIssued(name), 'it is issued');
            const issued = await certificateOf(name);
            const life = Date.parse(issued?.validTo ?? '') - Date.parse(issued?.validFrom ?? '');
            assert.equal(life, hours * hourMs);
          } finally {
            running.close();
          }
        });
      }

      it('an authority that has expired: no request fails, it is said, and the next authority signs', async () => {
        let current = expired;
        let log = '';
        const logger = createLogger({
          format: 'json',
          level: 'info',
          write: (line) => (log += line),
          clock: systemClock,
        });
        const authorities = { ...signing.authorities, client: () => current };
        const running = start('csrsigning', { certificateSigning: { ...signing, authorities }, logger });
        try {
          const spec = { signerName: client, request: jane, usages: usages.client };
          const names = [await create(spec), await create(spec)];
          for (const name of names) await decide(name, 'Approved');
          for (const name of names) {
            await until(
              async () => (await events(name)).some(([reason]) => reason === 'SigningFailed'),
              'an event says so',
            );
            assert.equal(await conditionOf(name, 'Failed'), undefined);
          }
          assert.equal(log.match(/certificates cannot be signed/g)?.length, 1, log);
          assert.match(log, /the authority has expired/);
          current = authority;
          for (const name of names) await until(() => isIssued(name), 'it is signed later');
          assert.doesNotMatch(log, /PRIVATE KEY/);
        } finally {
          running.close();
        }
      });

      it('a signer without an authority signs nothing, and says so', async () => {
        let log = '';
        const logger = createLogger({
          format: 'json',
          level: 'info',
          write: (line) => (log += line),
          clock: systemClock,
        });
        const { nodeClient } = authorityOfAll(() => authority);
        const running = start('csrsigning', {
          certificateSigning: { ...signing, authorities: { nodeClient } },
          logger,
        });
        try {
          const without = await create({ signerName: client, request: jane, usages: usages.client });
          await decide(without, 'Approved');
          const name = await create({ signerName: signers.nodeClient, request: node, usages: usages.client });
          await decide(name, 'Approved');
          await until(() => isIssued(name), 'it is issued');
          assert.equal(await isIssued(without), false);
          const said = log.split('\n').filter((line) => line.includes('a signer has no authority'));
          assert.deepEqual(said.map((line) => JSON.parse(line).signer).sort(), [client, signers.nodeServing].sort());
        } finally {
          running.close();
        }
      });

      it('two at once sign nothing twice', async () => {
        const transports = [1, 2].map(() => new NotedTransport(server.transport(account)));
        const running = transports.map((transport) => start('csrsigning', {}, transport));
        try {
          const spec = { signerName: client, request: jane, usages: usages.client };
          const names = await Promise.all(Array.from({ length: 20 }, () => create(spec)));
          await Promise.all(names.map((name) => decide(name, 'Approved')));
          for (const name of names) await until(() => isIssued(name), 'it is issued');
          const writes = transports.flatMap((transport) => transport.writes);
          for (const name of names) {
            const of = writes.filter((each) => each.includes(`/${name}/`));
            assert.deepEqual(
              of.filter((each) => each.endsWith(' 200')),
              [`PUT ${path}/${name}/status 200`],
            );
            assert.deepEqual(
              of.filter((each) => !/ (200|409)$/.test(each)),
              [],
            );
          }
        } finally {
          for (const each of running) each.close();
        }
      });
    });

    describe('the approver', () => {
      const agent = dialectName === 'orch' ? 'node-agent' : 'kubelet';
      const self = `Auto approving self ${agent} client certificate after SubjectAccessReview.`;
      const any = `Auto approving ${agent} client certificate after SubjectAccessReview.`;
      const spec = { signerName: signers.nodeClient, request: node, usages: usages.client };
      for (const [what, username, groups, message] of [
        ['a node that renews its own', 'system:node:n1', ['selfnodeclient'], self],
        ['a node that may for all', 'system:node:n1', ['nodeclient'], any],
        ['a bootstrap user', 'bootstrap', ['nodeclient'], any],
        ['another that may for itself', 'bootstrap', ['selfnodeclient'], undefined],
        ['another node', 'system:node:n2', ['selfnodeclient'], undefined],
        ['a node that may not', 'system:node:n1', [], undefined],
      ] as const) {
        it(`${what}: ${message ?? 'waits'}`, async () => {
          const running = start('csrapproving');
          try {
            const name = await create(spec, { username, groups: ['requesters', ...groups] });
            if (message === undefined) {
              await until(async () => (await events(name)).length > 0, 'an event says that it waits');
              assert.equal((await events(name))[0]?.[0], 'ApprovalNotPermitted');
              assert.equal(await conditionOf(name, 'Approved'), undefined);
              return;
            }
            await until(async () => (await conditionOf(name, 'Approved')) !== undefined, 'it is approved');
            const { reason, message: said } = (await conditionOf(name, 'Approved')) ?? {};
            assert.deepEqual([reason, said], ['AutoApproved', message]);
          } finally {
            running.close();
          }
        });
      }

      it('asks with all that is known of the sender, and again until it is permitted', async () => {
        const transport = new NotedTransport(server.transport(account));
        const running = start('csrapproving', {}, transport);
        const extra = { 'example.com/a': ['b', 'c'] };
        const groups = ['requesters', 'later', 'system:authenticated'];
        try {
          const name = await create(spec, { username: 'system:node:n1', uid: 'u1', groups, extra });
          const question = () =>
            transport.bodies
              .map((body) => body['spec'] as { uid?: string } | undefined)
              .find((asked) => asked?.uid === 'u1');
          await until(() => question() !== undefined, 'it asks');
          const resource = {
            group: dialect.group('certificates'),
            resource: 'certificatesigningrequests',
            version: '*',
          };
          assert.deepEqual(question(), {
            ...{ user: 'system:node:n1', uid: 'u1', groups, extra },
            resourceAttributes: { ...resource, subresource: 'selfnodeclient', verb: 'create' },
          });
          const apiGroup = dialect.group('rbac.authorization');
          await client().create(`/apis/${apiGroup}/v1/clusterrolebindings`, {
            metadata: { name: 'later' },
            roleRef: { apiGroup, kind: 'ClusterRole', name: 'nodeclient' },
            subjects: [{ apiGroup, kind: 'Group', name: 'later' }],
          });
          await until(async () => (await conditionOf(name, 'Approved')) !== undefined, 'it is approved');
        } finally {
          running.close();
        }
      });

      it('leaves requests of others alone, and asks nothing', async () => {
        const transport = new NotedTransport(server.transport(account));
        const user = { username: 'system:node:n1', groups: ['requesters', 'nodeclient'] };
        const others = [
          await create({ ...spec, signerName: signers.client }, user),
          await create({ ...spec, request: nodeWithHost }, user),
          await create({ ...spec, request: jane }, user),
          await create({ ...spec, usages: ['client auth'] }, user),
          await create({ signerName: signers.nodeServing, request: nodeWithHost, usages: usages.serving }, user),
        ];
        const denied = await create(spec, user);
        await decide(denied, 'Denied');
        const running = start('csrapproving', {}, transport);
        try {
          const last = await create(spec, user);
          await until(async () => (await conditionOf(last, 'Approved')) !== undefined, 'what comes last is approved');
          for (const name of [...others, denied]) assert.equal(await conditionOf(name, 'Approved'), undefined);
          const named = [...others, denied].filter((name) =>
            transport.writes.some((each) => each.includes(`/${name}/`)),
          );
          assert.deepEqual(named, []);
        } finally {
          running.close();
        }
      });
    });

    describe('the cleaner', () => {
      const spec = { signerName: 'example.com/mine', request: jane, usages: usages.client };
      const make = async (...decisions: readonly ('Approved' | 'Denied' | 'Failed')[]): Promise<string> => {
        const name = await create(spec);
        for (const decision of decisions) await decide(name, decision);
        return name;
      };
      const issued = async (notAfter: number): Promise<string> => {
        const name = await make('Approved');
        const { cert } = makeCertificate({ issuer: authority, notBefore: Date.now() - 2 * hourMs, notAfter });
        await issue(name, cert);
        return name;
      };
      let clock: ManualClock;
      const gone = (name: string, what: string): Promise<void> =>
        until(async () => {
          clock.advance(0);
          return !(await exists(name));
        }, `${what} is still there`);

      /** Once this resolves, everything that is due has been deleted. */
      const settled = async (): Promise<void> => gone(await issued(Date.now() - hourMs), 'what is due at once');

      it('deletes what is due when it is due', async () => {
        const names = {
          pending: await make(),
          denied: await make('Denied'),
          failed: await make('Failed'),
          issued: await issued(Date.now() + 50 * hourMs),
          brief: await issued(Date.now() + hourMs / 2),
          approved: await make('Approved'),
        };
        clock = new ManualClock(Date.now());
        const running = start('csrcleaner', { clock });
        const left = async (): Promise<readonly string[]> => {
          const all = Object.entries(names);
          const found = await Promise.all(all.map(async ([what, name]) => ((await exists(name)) ? [what] : [])));
          return found.flat();
        };
        try {
          await settled();
          assert.deepEqual(await left(), Object.keys(names));
          clock.advance(hourMs / 2 + 1000);
          await gone(names.brief, 'what has expired');
          await settled();
          assert.deepEqual(await left(), ['pending', 'denied', 'failed', 'issued', 'approved']);
          clock.advance(hourMs / 2);
          for (const what of ['denied', 'failed', 'issued'] as const) await gone(names[what], what);
          assert.deepEqual(await left(), ['pending', 'approved']);
          clock.advance(23 * hourMs);
          await gone(names.pending, 'pending');
          clock.advance(1000 * hourMs);
          await settled();
          assert.deepEqual(await left(), ['approved']);
        } finally {
          running.close();
        }
        assert.equal(clock.pending, 0);
      });

      it('makes a pass when it starts', async () => {
        const name = await make('Denied');
        clock = new ManualClock(Date.now() + 2 * hourMs);
        const running = start('csrcleaner', { clock });
        try {
          await gone(name, 'what was denied');
        } finally {
          running.close();
        }
      });

      it('notices that the wall clock was set forward', async () => {
        let ahead = 0;
        clock = new (class extends ManualClock {
          override now(): number {
            return super.now() + ahead;
          }
        })(Date.now());
        const name = await make('Denied');
        const running = start('csrcleaner', { clock });
        try {
          await settled();
          ahead = 2 * hourMs;
          clock.advance(limits.controllerTimerMsMax);
          await gone(name, 'what was denied');
        } finally {
          running.close();
        }
      });
    });
  });
}
