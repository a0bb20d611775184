import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import type { ApiObject, ObjectMeta } from '../../src/meta/api-object.ts';
import { AdmissionWebhook, patchOf, ruleFor, webhookFor } from '../support/admission-webhook.ts';
import { ConversionWebhook } from '../support/conversion-webhook.ts';
import { definitionOf, definitionPath, versionOf } from '../support/custom-resources.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** What admission webhooks are told of metadata that the server sets: names, uids, states. */

const group = 'admissionregistration.orch.io/v1';
const widgets = 'reviewed.example.com';
const rules = [
  ruleFor('*', 'configmaps namespaces namespaces/status'),
  { ...ruleFor('*', 'widgets'), apiGroups: [widgets], apiVersions: ['v2'] },
];
const maps = '/api/v1/namespaces/default/configmaps';
const places = {
  v1: `/apis/${widgets}/v1/namespaces/default/widgets`,
  v2: `/apis/${widgets}/v2/namespaces/default/widgets`,
};
const ours = { matchLabels: { reviewed: 'yes' } };

const configMap = (metadata: object, data: object = {}): object => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', data },
  metadata: { labels: { reviewed: 'yes' }, ...metadata },
});

describe('metadata in admission reviews', () => {
  let server: OrchProcess;
  let mutating: AdmissionWebhook;
  let validating: AdmissionWebhook;
  let converting: ConversionWebhook;
  before(async () => {
    mutating = await AdmissionWebhook.start();
    validating = await AdmissionWebhook.start();
    converting = await ConversionWebhook.start();
    server = await OrchProcess.start();
    for (const [kind, webhook] of [
      ['MutatingWebhookConfiguration', mutating],
      ['ValidatingWebhookConfiguration', validating],
    ] as const) {
      const body = {
        ...{ apiVersion: group, kind, metadata: { name: 'reviews' } },
        webhooks: [webhookFor(webhook, { rules, objectSelector: ours })],
      };
      await send('POST', `/apis/${group}/${kind.toLowerCase()}s`, body, 201);
    }
    const conversion = converting.conversion();
    const size = { size: { type: 'integer' } };
    const versions = [versionOf(size), versionOf(size, { name: 'v2', storage: false })];
    const definition = definitionOf({ group: widgets, versions });
    await send('POST', definitionPath(), { ...definition, spec: { ...definition.spec, conversion } }, 201);
    await until(async () => (await server.get(places.v2)).status === 200, 'the kind is served');
  });
  after(async () => {
    for (const each of [server, mutating, validating, converting]) await each[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    mutating.reset();
    validating.reset();
  });

  async function send(method: string, path: string, body: object, wanted: number, type = 'json'): Promise<ApiObject> {
    const headers = { 'content-type': `application/${type}` };
    const { status, json } = await server.request<ApiObject>(method, path, { body, headers });
    assert.equal(status, wanted, JSON.stringify(json));
    return json;
  }

  /** What the last review of a webhook says, besides the objects. */
  function reviewed({ asked }: AdmissionWebhook) {
    const { request } = asked.at(-1) ?? assert.fail('there was no review');
    const [object, old] = [request.object?.metadata, request.oldObject?.metadata];
    return { name: request.name, object: object as ObjectMeta, old: old as ObjectMeta };
  }

  it('a generated name, the uid and the time of creation are given after mutation', async () => {
    const { metadata } = await send('POST', maps, configMap({ generateName: 'made-' }), 201);
    const before = reviewed(mutating);
    assert.deepEqual(
      [before.name, before.object.name, before.object.generateName, before.object.uid, before.object.creationTimestamp],
      [undefined, undefined, 'made-', undefined, null],
    );
    const after = reviewed(validating);
    assert.match(metadata.name ?? '', /^made-.{5}$/);
    assert.deepEqual(
      [after.name, after.object.name, after.object.uid, after.object.creationTimestamp],
      [metadata.name, metadata.name, metadata.uid, metadata.creationTimestamp],
    );
  });

  it('a webhook may choose another name, unless the path says it', async () => {
    mutating.judge = () => patchOf({ op: 'add', path: '/metadata/name', value: 'chosen' });
    const { metadata } = await send('POST', maps, configMap({ generateName: 'made-' }), 201);
    assert.equal(metadata.name, 'chosen');
    assert.equal(reviewed(validating).name, 'chosen');
    await send('POST', maps, configMap({ generateName: 'made-' }), 409);
    await send('POST', maps, configMap({ name: 'sent' }), 409);
    await send('PATCH', `${maps}/sent?fieldManager=test`, configMap({ name: 'sent' }), 400, 'apply-patch+yaml');
    mutating.judge = () => patchOf({ op: 'replace', path: '/metadata/name', value: 'renamed' });
    assert.equal((await send('POST', maps, configMap({ name: 'sent' }), 201)).metadata.name, 'renamed');
    assert.equal((await server.get(`${maps}/sent`)).status, 404);
  });

  it('a webhook may not choose another namespace', async () => {
    await send('POST', maps, configMap({ name: 'placed' }), 201);
    mutating.judge = () => patchOf({ op: 'replace', path: '/metadata/namespace', value: 'other' });
    await send('POST', maps, configMap({ name: 'placed-too' }), 400);
    await send('PATCH', `${maps}/placed`, { data: { a: '2' } }, 400, 'merge-patch+json');
    const namespace = {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'placeless', labels: { reviewed: 'yes' } },
    };
    mutating.judge = () => patchOf({ op: 'add', path: '/metadata/namespace', value: 'other' });
    assert.equal((await send('POST', '/api/v1/namespaces', namespace, 201)).metadata.namespace, undefined);
  });

  it('what follows from a generated name is there', async () => {
    const namespace = {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { generateName: 'n-', labels: { reviewed: 'yes' } },
    };
    const { metadata } = await send('POST', '/api/v1/namespaces', namespace, 201);
    assert.equal(reviewed(mutating).object.labels?.['orch.io/metadata.name'], undefined);
    for (const shown of [metadata, reviewed(validating).object]) {
      assert.equal(shown.labels?.['orch.io/metadata.name'], metadata.name);
    }
  });

  const updates: readonly (readonly [what: string, method: string, type: string, isVersioned: boolean])[] = [
    ['an update with a resourceVersion', 'PUT', 'json', true],
    ['an update without one', 'PUT', 'json', false],
    ['a patch', 'PATCH', 'merge-patch+json', true],
    ['an apply', 'PATCH', 'apply-patch+yaml', true],
  ];
  for (const [at, [what, method, type, isVersioned]] of updates.entries()) {
    it(`${what}: the state that it replaces is known`, async () => {
      const made = await send('POST', maps, configMap({ name: `state-${at}` }), 201);
      const { resourceVersion } = made.metadata;
      const sent = configMap(
        { name: `state-${at}`, ...(method === 'PUT' && isVersioned && { resourceVersion }) },
        { at: '2' },
      );
      const query = method === 'PATCH' ? '?fieldManager=test' : '';
      const updated = await send(method, `${maps}/state-${at}${query}`, sent, 200, type);
      assert.notEqual(updated.metadata.resourceVersion, resourceVersion);
      for (const webhook of [mutating, validating])
        assert.equal(reviewed(webhook).old.resourceVersion, resourceVersion);
      assert.equal(reviewed(mutating).object.resourceVersion, isVersioned ? resourceVersion : undefined);
      assert.equal(reviewed(validating).object.resourceVersion, resourceVersion);
    });
  }

  it('a status has one, too', async () => {
    const namespace = {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'stated', labels: { reviewed: 'yes' } },
    };
    const { metadata } = await send('POST', '/api/v1/namespaces', namespace, 201);
    const condition = { type: 'T', status: 'True' };
    const patch = { status: { conditions: [condition] } };
    await send('PATCH', '/api/v1/namespaces/stated/status', patch, 200, 'merge-patch+json');
    assert.equal(reviewed(validating).object.resourceVersion, metadata.resourceVersion);
  });

  it('a webhook that wants another state is told of a conflict, and nothing is written', async () => {
    const made = await send('POST', maps, configMap({ name: 'raced' }), 201);
    mutating.judge = () => patchOf({ op: 'add', path: '/metadata/resourceVersion', value: '1' });
    await send('PATCH', `${maps}/raced`, { data: { a: '2' } }, 409, 'merge-patch+json');
    const { json } = await server.get<ApiObject>(`${maps}/raced`);
    assert.deepEqual(json, made);
  });

  it('objects that are converted keep theirs', async () => {
    const body = { apiVersion: `${widgets}/v1`, kind: 'Widget', metadata: { name: 'w', labels: { reviewed: 'yes' } } };
    const { metadata } = await send('POST', places.v1, { ...body, size: 1 }, 201);
    await send('PATCH', `${places.v1}/w`, { size: 2 }, 200, 'merge-patch+json');
    const [request] = validating.asked.slice(-1).map((each) => each.request);
    assert.equal(request?.object?.apiVersion, `${widgets}/v2`);
    const { object, old } = reviewed(validating);
    assert.deepEqual(
      [object.resourceVersion, old.resourceVersion],
      [metadata.resourceVersion, metadata.resourceVersion],
    );
  });

  it('the deletion of a collection is of no name', async () => {
    const labels = { reviewed: 'yes', deleted: 'together' };
    await send('POST', maps, configMap({ name: 'gone', labels }), 201);
    validating.reset();
    await send('DELETE', `${maps}?labelSelector=deleted%3Dtogether`, {}, 200);
    const { name, old } = reviewed(validating);
    assert.deepEqual([name, old.name], [undefined, 'gone']);
  });
});
