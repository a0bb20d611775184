import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { as, asker, assertGets, Folder, make, outcome } from '../support/authorization.ts';
import { OrchProcess, type RequestOptions } from '../support/orch-process.ts';

/** What the agent of a node may do with devices: with its own slices, and with the claims of its own pods. */

const held = new AsyncDisposableStack();
const folder = held.use(new Folder());
let server: OrchProcess;

const team = '/api/v1/namespaces/team';
const group = '/apis/resource.orch.io/v1beta1';
const slices = `${group}/resourceslices`;
const claims = `${group}/namespaces/team/resourceclaims`;
const [one, two] = ['system:node:n1', 'system:node:n2'];

const sliceOf = (name: string, nodeName: string) => ({
  metadata: { name },
  spec: { nodeName, driver: 'example.com', pool: { name: nodeName, resourceSliceCount: 1, generation: 1 } },
});
const claimOf = (name: string) => ({ metadata: { name }, spec: {} });
const podOf = (name: string, nodeName: string, claim: object) => ({
  metadata: { name },
  spec: { nodeName, containers: [{ name: 'c', image: 'i' }], resourceClaims: [{ name: 'd', ...claim }] },
});

before(async () => {
  const agents = { [one]: ['system:nodes'], [two]: ['system:nodes'] };
  const gate = '--feature-gates=DynamicResourceAllocation=true';
  const flags = [folder.tokens(agents), '--runtime-config=resource.orch.io/v1beta1', gate];
  server = held.use(await OrchProcess.start({ flags }));
  await make(server, '/api/v1/namespaces', { metadata: { name: 'team' } });
  const account = `${team}/serviceaccounts/default`;
  await until(async () => (await server.get(account)).status === 200, 'there is no account for pods');
});
after(() => held.disposeAsync());

const ask = asker(() => server);
const gets = (name: string, rows: Parameters<typeof assertGets>[2]): Promise<void> => assertGets(ask, name, rows);
const patch = (body: object): RequestOptions => ({
  body,
  headers: { 'content-type': 'application/merge-patch+json' },
});
const ofNode = (name: string): string => `${slices}?fieldSelector=spec.nodeName%3D${name}`;
const refused = async (method: string, path: string, options: RequestOptions, why: string): Promise<void> => {
  const [status, message = ''] = await outcome(server, method, path, { ...options, as: as(one) });
  assert.equal(status, 403, `${method} ${path}: ${message}`);
  assert.ok(message.includes(why), message);
};

describe('slices', () => {
  test('a node writes and reads its own', async () => {
    await make(server, slices, sliceOf('theirs', 'n2'));
    await gets(one, [
      ['POST', slices, 201, { body: sliceOf('mine', 'n1') }],
      ['GET', `${slices}/mine`, 200],
      ['PATCH', `${slices}/mine`, 200, patch({ metadata: { labels: { a: 'b' } } })],
      ['GET', ofNode('n1'), 200],
      ['GET', `${ofNode('n1')}&watch=1`, 200],
      ['GET', `${slices}/theirs`, 403],
      ['PATCH', `${slices}/theirs`, 403, patch({ metadata: { labels: { a: 'b' } } })],
      ['DELETE', `${slices}/theirs`, 403],
      ['GET', slices, 403],
      ['GET', ofNode('n2'), 403],
      ['GET', `${slices}?fieldSelector=spec.driver%3Dexample.com`, 403],
      ['DELETE', slices, 403],
      ['DELETE', ofNode('n2'), 403],
    ]);
    const own = 'can only create ResourceSlice with the same NodeName as the requesting node';
    await refused('POST', slices, { body: sliceOf('other', 'n2') }, own);
    await gets(one, [
      ['DELETE', `${slices}/mine`, 200],
      ['POST', slices, 201, { body: sliceOf('again', 'n1') }],
      ['DELETE', ofNode('n1'), 200],
      ['GET', `${slices}/again`, 403],
    ]);
    assert.equal((await server.get(`${slices}/theirs`)).status, 200);
  });
});

describe('claims', () => {
  test('a node reads those of its pods, by name', async () => {
    for (const name of ['mine', 'theirs', 'made']) await make(server, claims, claimOf(name));
    await make(server, `${team}/pods`, podOf('p1', 'n1', { resourceClaimName: 'mine' }));
    await make(server, `${team}/pods`, podOf('p2', 'n2', { resourceClaimName: 'theirs' }));
    await gets(one, [
      ['GET', `${claims}/mine`, 200],
      ['GET', `${claims}/theirs`, 403],
      ['GET', `${claims}/absent`, 403],
      ['GET', claims, 403],
      ['PATCH', `${claims}/mine`, 403, patch({ metadata: { labels: { a: 'b' } } })],
      ['PATCH', `${claims}/mine/status`, 403, patch({})],
      ['DELETE', `${claims}/mine`, 403],
    ]);
    await gets(two, [['GET', `${claims}/theirs`, 200]]);
  });

  test('also those that were made from a template, when the status of the pod says so', async () => {
    await make(server, `${team}/pods`, podOf('p3', 'n1', { resourceClaimTemplateName: 'template' }));
    await gets(one, [['GET', `${claims}/made`, 403]]);
    const status = { resourceClaimStatuses: [{ name: 'd', resourceClaimName: 'made' }] };
    const steal = `${team}/pods/p3/status`;
    await refused('PATCH', steal, patch({ status }), 'cannot update resource claim statues');
    assert.equal((await server.request('PATCH', steal, patch({ status }))).status, 200);
    await gets(one, [['GET', `${claims}/made`, 200]]);
    await gets(two, [['GET', `${claims}/made`, 403]]);
  });
});
