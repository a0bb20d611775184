import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { as, Folder, grant, make, outcome, refusal, rule, user } from '../support/authorization.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** A pod is bound to a node by `pods/NAME/binding`, and by `bindings`, as there was before. */

const held = new AsyncDisposableStack();
const folder = held.use(new Folder());
let server: OrchProcess;

const place = '/api/v1/namespaces/default';

before(async () => {
  server = held.use(
    await OrchProcess.start({ flags: [folder.tokens({ pods: [], plain: [], both: [], elsewhere: [] })] }),
  );
  await grant(server, 'pods', [rule('create', 'pods/binding')], [user('pods')], 'default');
  await grant(server, 'plain', [rule('create', 'bindings')], [user('plain')], 'default');
  await grant(server, 'both', [rule('create', 'bindings pods/binding')], [user('both')]);
  await grant(server, 'elsewhere', [rule('create update patch', 'pods pods/status')], [user('elsewhere')]);
});
after(() => held.disposeAsync());

interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly managedFields?: readonly { readonly manager: string; readonly subresource?: string }[];
  };
  readonly spec: { readonly nodeName?: string };
  readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

let count = 0;
async function newPod(more: object = {}, metadata: object = {}): Promise<Pod> {
  const name = `p${++count}`;
  const containers = [{ name: 'c', image: 'i' }];
  const pod = { metadata: { name, annotations: { a: '1', b: '1' }, ...metadata }, spec: { containers, ...more } };
  return (await make(server, `${place}/pods`, pod)) as unknown as Pod;
}
const read = async ({ metadata: { name } }: Pod): Promise<Pod> => (await server.get<Pod>(`${place}/pods/${name}`)).json;

const doors: Readonly<Record<string, (pod: Pod) => string>> = {
  'pods/NAME/binding': ({ metadata: { name } }) => `${place}/pods/${name}/binding`,
  bindings: () => `${place}/bindings`,
};
const bindingOf = ({ metadata: { name } }: Pod, metadata: object = {}, target: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Binding',
  metadata: { name, ...metadata },
  target: { kind: 'Node', name: 'node-1', ...target },
});

for (const [door, pathOf] of Object.entries(doors)) {
  describe(`POST ${door}`, () => {
    test('gives the pod its node, annotations and condition', async () => {
      const pod = await newPod();
      const { status, json } = await server.post(pathOf(pod), bindingOf(pod, { annotations: { b: '2', c: '3' } }));
      assert.deepEqual([status, json['kind'], json['status']], [201, 'Status', 'Success']);
      const bound = await read(pod);
      assert.equal(bound.spec.nodeName, 'node-1');
      assert.deepEqual(bound.metadata.annotations, { a: '1', b: '2', c: '3' });
      assert.deepEqual(
        bound.status.conditions?.map(({ type, status }) => `${type} ${status}`),
        ['PodScheduled True'],
      );
      assert.ok(!bound.metadata.managedFields?.some(({ subresource }) => subresource === 'binding'));
    });

    test('in YAML, and without kind and apiVersion', async () => {
      const pod = await newPod();
      const body = `metadata: {name: ${pod.metadata.name}}\ntarget: {name: node-2}\n`;
      const headers = { 'content-type': 'application/yaml' };
      assert.equal((await server.post(pathOf(pod), body, { headers })).status, 201);
      assert.equal((await read(pod)).spec.nodeName, 'node-2');
    });

    test('the uid and version that it names must be those of the pod', async () => {
      const pod = await newPod();
      const { uid, resourceVersion } = pod.metadata;
      for (const wrong of [{ uid: 'other' }, { resourceVersion: '1' }, { uid, resourceVersion: '1' }]) {
        const [status, message] = await outcome(server, 'POST', pathOf(pod), { body: bindingOf(pod, wrong) });
        assert.equal(status, 409);
        assert.match(message ?? '', /^Operation cannot be fulfilled on pods\/binding "p\d+": Precondition failed: /);
      }
      assert.equal((await read(pod)).spec.nodeName, undefined);
      const { status, text } = await server.post(pathOf(pod), bindingOf(pod, { uid, resourceVersion }));
      assert.equal(status, 201, text);
    });

    test('a pod that has a node, waits for gates, or goes, is a conflict', async () => {
      const gated = await newPod({ schedulingGates: [{ name: 'example.com/wait' }] });
      const bound = await newPod({ nodeName: 'node-0' });
      const going = await newPod({}, { finalizers: ['example.com/hold'] });
      await server.delete(`${place}/pods/${going.metadata.name}`);
      for (const [pod, why] of [
        [gated, `pod ${gated.metadata.name} has non-empty .spec.schedulingGates`],
        [bound, `pod ${bound.metadata.name} is already assigned to node "node-0"`],
        [going, `pod ${going.metadata.name} is being deleted, cannot be assigned to a host`],
      ] as const) {
        assert.deepEqual(await outcome(server, 'POST', pathOf(pod), { body: bindingOf(pod) }), [
          409,
          `Operation cannot be fulfilled on pods/binding "${pod.metadata.name}": ${why}`,
        ]);
      }
    });

    test('of many at once one binds', async () => {
      const pod = await newPod();
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, n) => server.post(pathOf(pod), bindingOf(pod, {}, { name: `node-${n}` }))),
      );
      const codes = answers.map(({ status }) => status);
      assert.deepEqual(codes.toSorted(), [201, ...Array.from({ length: 9 }, () => 409)]);
      assert.equal((await read(pod)).spec.nodeName, `node-${codes.indexOf(201)}`);
    });

    test('a dry run binds nothing', async () => {
      const pod = await newPod();
      assert.equal((await server.post(`${pathOf(pod)}?dryRun=All`, bindingOf(pod))).status, 201);
      assert.deepEqual(await read(pod), pod);
    });

    for (const [what, metadata, target, status] of [
      ['of another namespace', { namespace: 'other' }, {}, 400],
      ['without a target', {}, { name: '' }, 422],
      ['to what is no node', {}, { kind: 'Pod' }, 422],
    ] as const) {
      test(`a binding ${what} is refused`, async () => {
        const pod = await newPod();
        const answer = await server.post(pathOf(pod), bindingOf(pod, metadata, target));
        assert.equal(answer.status, status, answer.text);
        assert.equal((await read(pod)).spec.nodeName, undefined);
      });
    }

    test('a pod that is not there is not found', async () => {
      const pod = await newPod();
      await server.delete(`${place}/pods/${pod.metadata.name}`);
      const answer = await outcome(server, 'POST', pathOf(pod), { body: bindingOf(pod) });
      assert.deepEqual(answer, [404, `pods "${pod.metadata.name}" not found`]);
    });

    test('asks for the right to create them, and for no other', async () => {
      const pod = await newPod();
      const [may, may2] = door === 'bindings' ? ['plain', 'pods'] : ['pods', 'plain'];
      const resource = door === 'bindings' ? 'bindings' : 'pods/binding';
      const name = door === 'bindings' ? '' : pod.metadata.name;
      const body = bindingOf(pod);
      for (const by of [may2, 'elsewhere'] as const) {
        const message = refusal({ by, verb: 'create', resource, namespace: 'default', name });
        assert.deepEqual(await outcome(server, 'POST', pathOf(pod), { body, as: as(by) }), [403, message]);
      }
      assert.equal((await outcome(server, 'POST', pathOf(pod), { body, as: as(may) }))[0], 201);
      const other = await newPod();
      const both = { body: bindingOf(other), as: as('both') };
      assert.equal((await outcome(server, 'POST', pathOf(other), both))[0], 201);
    });
  });
}

test('bindings without a name are refused', async () => {
  const body = { target: { name: 'node-1' } };
  assert.deepEqual(await outcome(server, 'POST', `${place}/bindings`, { body }), [
    400,
    'a Binding must have the name of what it is for',
  ]);
});

test('bindings can only be created, in a namespace', async () => {
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
    const { status, headers } = await server.request(method, `${place}/bindings`, {
      body: method === 'GET' ? undefined : {},
    });
    assert.deepEqual([status, headers['allow']], [405, 'POST'], method);
  }
  for (const [method, path] of [
    ['POST', '/api/v1/bindings'],
    ['GET', '/api/v1/bindings'],
    ['GET', `${place}/bindings/p1`],
    ['GET', '/api/v1/watch/bindings'],
  ] as const) {
    assert.equal((await server.request(method, path, method === 'POST' ? { body: {} } : {})).status, 404, path);
  }
});

test('discovery says so', async () => {
  const { json } = await server.get<{ resources: readonly { readonly name: string }[] }>('/api/v1');
  assert.deepEqual(
    json.resources.find(({ name }) => name === 'bindings'),
    { name: 'bindings', singularName: 'binding', namespaced: true, kind: 'Binding', verbs: ['create'] },
  );
});

describe('what is answered and not stored', () => {
  const form = (as: string): string => `application/json;as=${as};g=meta.k8s.io;v=v1`;
  const ofWidget = { kind: 'SelfSubjectAccessReview', spec: { nonResourceAttributes: { path: '/', verb: 'get' } } };
  const rows: Readonly<Record<string, (pod: Pod) => readonly [path: string, body: object, kind: string]>> = {
    'a binding': (pod) => [`${place}/pods/${pod.metadata.name}/binding`, bindingOf(pod), 'Status'],
    'an eviction': ({ metadata: { name } }) => [
      `${place}/pods/${name}/eviction`,
      { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } },
      'Status',
    ],
    'a review': () => ['/apis/authorization.orch.io/v1/selfsubjectaccessreviews', ofWidget, 'SelfSubjectAccessReview'],
    'a token': () => [`${place}/serviceaccounts/default/token`, { spec: {} }, 'TokenRequest'],
  };
  for (const [what, requestOf] of Object.entries(rows)) {
    test(`${what} is no table`, async () => {
      const [path, body, kind] = requestOf(await newPod());
      const headers = { accept: form('Table') };
      const refused = await server.post(`${path}?dryRun=All`, body, { headers });
      assert.equal(refused.status, 406, refused.text);
      const accept = `${form('Table')},application/json`;
      const answer = await server.post<{ kind: string }>(`${path}?dryRun=All`, body, { headers: { accept } });
      assert.equal(answer.status, 201, answer.text);
      assert.equal(answer.json.kind, kind);
    });
  }

  test('a Status has no metadata to be shown alone', async () => {
    const pod = await newPod();
    const path = `${place}/pods/${pod.metadata.name}/binding?dryRun=All`;
    const headers = { accept: form('PartialObjectMetadata') };
    const answer = await server.post<{ kind: string }>(path, bindingOf(pod), { headers });
    assert.equal(answer.status, 201, answer.text);
    assert.equal(answer.json.kind, 'Status');
  });

  test('a view of an object that is neither its status nor its scale is no table', async () => {
    const { metadata } = await newPod();
    const headers = { accept: form('Table') };
    for (const [below, status] of [
      ['', 200],
      ['/status', 200],
      ['/ephemeralcontainers', 406],
    ] as const)
      assert.equal((await server.get(`${place}/pods/${metadata.name}${below}`, { headers })).status, status, below);
  });
});
