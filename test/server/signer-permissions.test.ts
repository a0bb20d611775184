import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { kubernetes } from '../../src/dialect/kubernetes.ts';
import { orch } from '../../src/dialect/orch.ts';
import { signerNames } from '../../src/dialect/signer-names.ts';
import { makeCertificate } from '../../src/pki/certificate-fixture.ts';
import { ids, makeRequest, relativeName, requestToPem } from '../../src/pki/certificate-request-fixture.ts';
import { as, Folder } from '../support/authorization.ts';
import { type Answer, OrchProcess } from '../support/orch-process.ts';

/**
 * Permissions on signers (spec sections 2.7 and 2.8), asked by admission: whoever may write a request or a bundle may decide,
 * sign or attest only for signers that a role names. By every way of writing, on trial too.
 */

const signer = 'example.com/a';
const conditions = [{ type: 'Approved', status: 'True', reason: 'Test' }];
const anchor = makeCertificate({ authority: true }).cert;
const otherAnchor = makeCertificate({ authority: true }).cert;
const certificate = Buffer.from(makeCertificate({}).cert).toString('base64');
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const requestOf = (...subject: readonly Buffer[]): string => base64(requestToPem(makeRequest({ subject })));
const request = requestOf(relativeName(ids.commonName, 'someone'));

const verbs = ['approve', 'sign', 'attest'] as const;
type Verb = (typeof verbs)[number];

/** Users of each verb by the signers that they have it for. */
const signers = { named: signer, domain: 'example.com/*', sibling: 'example.com/b', prefix: 'example.com/a*' } as const;
const users = [
  'nobody',
  'everything',
  ...verbs.flatMap((verb) => Object.keys(signers).map((each) => `${verb}-${each}`)),
];

/** What each verb is asked for, as messages put it. */
const refusals: Readonly<Record<Verb, string>> = {
  approve: `user not permitted to approve requests with signerName "${signer}"`,
  sign: `user not permitted to sign requests with signerName "${signer}"`,
  attest: `user not permitted to attest for signerName "${signer}"`,
};

interface Stored {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly spec: object;
}

type Write = (
  path: string,
  changed: object,
  found: Stored,
) => readonly [method: string, path: string, body: unknown, type: string];

/** Ways of writing; `changed` has the fields to set. */
const ways: Readonly<Record<string, Write>> = {
  PUT: (path, changed, found) => ['PUT', path, { ...found, ...changed }, 'application/json'],
  'merge patch': (path, changed) => ['PATCH', path, changed, 'application/merge-patch+json'],
  'JSON patch': (path, changed) => [
    'PATCH',
    path,
    Object.entries(changed).map(([name, value]) => ({ op: 'add', path: `/${name}`, value })),
    'application/json-patch+json',
  ],
  apply: (path, changed, found) => [
    'PATCH',
    `${path}?fieldManager=m&force=true`,
    { ...found, ...changed, metadata: { name: found.metadata.name } },
    'application/apply-patch+yaml',
  ],
};

const dry = (path: string): string => `${path}${path.includes('?') ? '&' : '?'}dryRun=All`;

for (const dialect of [orch, kubernetes]) {
  describe(`permissions on signers (${dialect.name})`, () => {
    const held = new AsyncDisposableStack();
    let server: OrchProcess;
    const group = dialect.group('certificates');
    const rbac = dialect.group('rbac.authorization');
    const requests = `/apis/${group}/v1/certificatesigningrequests`;
    const bundles = `/apis/${group}/v1alpha1/clustertrustbundles`;
    const clientSigner = signerNames(dialect).client;
    let made = 0;

    async function start(...flags: readonly string[]): Promise<OrchProcess> {
      const folder = held.use(new Folder());
      const tokens = folder.tokens(Object.fromEntries(users.map((name) => [name, ['writers']])));
      const api = `--runtime-config=${group}/v1alpha1=true`;
      const started = held.use(
        await OrchProcess.start({
          flags: [`--dialect=${dialect.name}`, '--controllers=namespace', tokens, api, ...flags],
        }),
      );
      const grant = async (name: string, subject: object, rules: readonly object[]): Promise<void> => {
        const path = `/apis/${rbac}/v1`;
        const roleRef = { apiGroup: rbac, kind: 'ClusterRole', name };
        const subjects = [{ apiGroup: rbac, ...subject }];
        for (const [collection, object] of [
          ['clusterroles', { metadata: { name }, rules }],
          ['clusterrolebindings', { metadata: { name }, roleRef, subjects }],
        ] as const) {
          const { status, text } = await started.post(`${path}/${collection}`, object);
          assert.equal(status, 201, text);
        }
      };
      const on = (verbs: readonly string[], resources: readonly string[], resourceNames?: readonly string[]) => ({
        apiGroups: [group],
        verbs,
        resources,
        ...(resourceNames && { resourceNames }),
      });
      // All may write everything that has a signer.
      const resources = ['', '/approval', '/status'].map((view) => `certificatesigningrequests${view}`);
      const write = on(['get', 'create', 'update', 'patch', 'delete'], [...resources, 'clustertrustbundles']);
      await grant('writers', { kind: 'Group', name: 'writers' }, [write]);
      await grant('everything', { kind: 'User', name: 'everything' }, [on([...verbs], ['signers'])]);
      for (const verb of verbs) {
        for (const [which, name] of Object.entries(signers)) {
          await grant(`${verb}-${which}`, { kind: 'User', name: `${verb}-${which}` }, [
            on([verb], ['signers'], [name]),
          ]);
        }
      }
      return started;
    }

    before(async () => {
      server = await start();
    });
    after(() => held.disposeAsync());

    async function must<T>(answer: Promise<Answer<T>>): Promise<T> {
      const { status, text, json } = await answer;
      assert.ok(status === 200 || status === 201, text);
      return json;
    }

    const newRequest = (on: OrchProcess): Promise<Stored> =>
      must(
        on.post<Stored>(requests, {
          apiVersion: `${group}/v1`,
          kind: 'CertificateSigningRequest',
          metadata: { name: `r${made++}` },
          spec: { signerName: signer, request, usages: ['client auth'] },
        }),
      );

    const bundleOf = (name: string, trustBundle: string) => ({
      apiVersion: `${group}/v1alpha1`,
      kind: 'ClusterTrustBundle',
      metadata: { name },
      spec: { signerName: signer, trustBundle },
    });

    /** A new object for each verb, the path that guards it, and what is changed there. */
    const guarded: Readonly<
      Record<Verb, (on: OrchProcess) => Promise<readonly [path: string, changed: object, found: Stored]>>
    > = {
      async approve(on) {
        const found = await newRequest(on);
        return [`${requests}/${found.metadata.name}/approval`, { status: { conditions } }, found];
      },
      async sign(on) {
        const { metadata } = await newRequest(on);
        const path = `${requests}/${metadata.name}`;
        const found = await must(
          on.request<Stored>('PATCH', `${path}/approval`, {
            body: { status: { conditions } },
            headers: { 'content-type': 'application/merge-patch+json' },
          }),
        );
        return [`${path}/status`, { status: { conditions, certificate } }, found];
      },
      async attest(on) {
        const name = `example.com:a:b${made++}`;
        const found = await must(on.post<Stored>(bundles, bundleOf(name, anchor)));
        return [`${bundles}/${name}`, { spec: { signerName: signer, trustBundle: otherAnchor } }, found];
      },
    };

    const send = (
      on: OrchProcess,
      name: string,
      [method, path, body, type]: ReturnType<Write>,
    ): Promise<Answer<Stored>> =>
      on.request<Stored>(method, path, { body, headers: { 'content-type': type }, as: as(name) });

    const mainPath = (path: string): string => path.replace(/\/(approval|status)$/, '');

    for (const verb of verbs) {
      for (const [way, write] of Object.entries(ways)) {
        it(`${verb} by ${way}: with the signer or its domain, and with nothing else`, async () => {
          for (const name of users) {
            const [path, changed, found] = await guarded[verb](server);
            const isAllowed = ['everything', `${verb}-named`, `${verb}-domain`].includes(name);
            const version = async (): Promise<string> =>
              (await must(server.get<Stored>(mainPath(path)))).metadata.resourceVersion;
            const [method, target, body, type] = write(path, changed, found);
            const expected = isAllowed ? 200 : 403;
            const trial = await send(server, name, [method, dry(target), body, type]);
            assert.equal(trial.status, expected, `${name}, on trial: ${trial.text}`);
            assert.equal(await version(), found.metadata.resourceVersion, `${name}: the trial has changed it`);
            const { status, text, json } = await send(server, name, [method, target, body, type]);
            assert.equal(status, expected, `${name}: ${text}`);
            assert.equal((await version()) === found.metadata.resourceVersion, !isAllowed, name);
            if (isAllowed) continue;
            const resource = path.startsWith(bundles) ? 'clustertrustbundles' : 'certificatesigningrequests';
            assert.equal(
              (json as unknown as { message: string }).message,
              `${resource}.${group} "${found.metadata.name}" is forbidden: ${refusals[verb]}`,
            );
          }
        });
      }
    }

    it('a bundle of a signer is created by those who may attest, by POST and by apply', async () => {
      for (const name of users) {
        const isAllowed = ['everything', 'attest-named', 'attest-domain'].includes(name);
        const posted = bundleOf(`example.com:a:post-${name}`, anchor);
        const applied = bundleOf(`example.com:a:apply-${name}`, anchor);
        for (const { metadata, write } of [
          { ...posted, write: ['POST', bundles, posted, 'application/json'] },
          {
            ...applied,
            write: [
              'PATCH',
              `${bundles}/${applied.metadata.name}?fieldManager=m`,
              applied,
              'application/apply-patch+yaml',
            ],
          },
        ] as const) {
          const [method, path, body, type] = write;
          for (const target of [dry(path), path]) {
            const { status, text } = await send(server, name, [method, target, body, type]);
            assert.equal(status, isAllowed ? 201 : 403, `${name} ${method}: ${text}`);
          }
          assert.equal((await server.get(`${bundles}/${metadata.name}`)).status, isAllowed ? 200 : 404);
        }
      }
    });

    it('a large write, which is done on another thread, needs the same', async () => {
      const large = anchor.padEnd(256 * 1024, '\n');
      const { name, requested } = {
        name: `r${made++}`,
        requested: requestOf(relativeName(ids.organization, 'system:masters')),
      };
      const annotations = { 'example.com/large': 'x'.repeat(200 * 1024) };
      const create = {
        metadata: { name, annotations },
        spec: { signerName: clientSigner, request: requested, usages: ['client auth'] },
      };
      assert.equal((await server.post(requests, create, { as: as('everything') })).status, 403);
      for (const user of ['attest-sibling', 'attest-domain']) {
        const body = bundleOf(`example.com:a:large-${user}`, large);
        const { status, text } = await server.post(bundles, body, { as: as(user) });
        assert.equal(status, user === 'attest-domain' ? 201 : 403, text);
      }
      const path = `${bundles}/example.com:a:large-attest-domain`;
      const headers = { 'content-type': 'application/merge-patch+json' };
      for (const [user, metadata, expected] of [
        ['attest-sibling', { labels: { a: 'b' } }, 403],
        ['attest-sibling', { finalizers: ['example.com/held'] }, 200],
        ['attest-domain', { labels: { a: 'b' } }, 200],
      ] as const) {
        const { status, text } = await server.request('PATCH', path, { body: { metadata }, headers, as: as(user) });
        assert.equal(status, expected, `${user}: ${text.slice(0, 500)}`);
      }
    });

    it('a bundle without a signer, finalizers, owners and deletion need no permission to attest; labels do', async () => {
      const nobody = (method: string, path: string, body?: unknown): Promise<Answer> =>
        server.request(method, path, { body, as: as('nobody'), headers: { 'content-type': type } });
      let type = 'application/json';
      const { spec: _spec, ...plain } = bundleOf('plain', anchor);
      assert.equal((await nobody('POST', bundles, { ...plain, spec: { trustBundle: anchor } })).status, 201);
      const [path, , { metadata }] = await guarded.attest(server);
      type = 'application/merge-patch+json';
      const patch = async (metadata: object): Promise<number> => (await nobody('PATCH', path, { metadata })).status;
      assert.equal(await patch({ finalizers: ['example.com/held'] }), 200);
      const owner = {
        apiVersion: 'v1',
        kind: 'Namespace',
        name: 'default',
        uid: '00000000-0000-4000-8000-000000000000',
      };
      assert.equal(await patch({ ownerReferences: [owner] }), 200);
      assert.equal(await patch({ labels: { a: 'b' } }), 403);
      assert.equal(await patch({ labels: { a: 'b' }, finalizers: null }), 403);
      assert.equal(await patch({ finalizers: null, ownerReferences: null }), 200);
      type = 'application/json';
      assert.equal((await nobody('DELETE', path)).status, 200, metadata.name);
    });

    it('an update of a status needs permission only if it changes the certificate or conditions', async () => {
      const [path, , { metadata }] = await guarded.sign(server);
      const patch = async (body: object): Promise<number> =>
        (await send(server, 'nobody', ['PATCH', path, body, 'application/merge-patch+json'])).status;
      assert.equal(await patch({ status: { conditions } }), 200, metadata.name);
      assert.equal(await patch({ status: { conditions: [...conditions, { type: 'Failed', status: 'True' }] } }), 403);
      assert.equal(await patch({ status: { certificate } }), 403);
    });

    it('nobody requests a client certificate of the masters', async () => {
      const masters = requestOf(relativeName(ids.organization, 'system:masters'));
      const object = (signerName: string, name: string) => ({
        apiVersion: `${group}/v1`,
        kind: 'CertificateSigningRequest',
        metadata: { name },
        spec: { signerName, request: masters, usages: ['client auth'] },
      });
      const refused = object(clientSigner, 'masters');
      const writes: readonly ReturnType<Write>[] = [
        ['POST', requests, refused, 'application/json'],
        ['PATCH', `${requests}/masters?fieldManager=m`, refused, 'application/apply-patch+yaml'],
      ];
      for (const [method, path, body, type] of writes) {
        for (const target of [path, dry(path)]) {
          for (const who of [undefined, as('everything')]) {
            const headers = { 'content-type': type };
            const { status, json } = await server.request<{ message: string }>(method, target, {
              body,
              headers,
              as: who,
            });
            assert.deepEqual(
              [status, json.message],
              [
                403,
                `certificatesigningrequests.${group} "masters" is forbidden: use of ${clientSigner} signer with system:masters group is not allowed`,
              ],
            );
          }
        }
      }
      assert.equal((await server.post(requests, object(signer, 'masters-of-another'))).status, 201);
    });

    it('with the plugins off, writing is enough', async () => {
      const plugins = [
        'CertificateApproval',
        'CertificateSigning',
        'CertificateSubjectRestriction',
        'ClusterTrustBundleAttest',
      ];
      const open = await start(`--disable-admission-plugins=${plugins.join(',')}`);
      for (const verb of verbs) {
        const [path, changed, found] = await guarded[verb](open);
        const { status, text } = await send(open, 'nobody', ['PATCH', path, changed, 'application/merge-patch+json']);
        assert.equal(status, 200, `${verb} ${found.metadata.name}: ${text}`);
      }
      const masters = requestOf(relativeName(ids.organization, 'system:masters'));
      const { status, text } = await open.post(requests, {
        metadata: { name: 'masters' },
        spec: { signerName: clientSigner, request: masters, usages: ['client auth'] },
      });
      assert.equal(status, 201, text);
    });
  });
}
