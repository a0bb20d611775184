import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { admit, check, owner, type Write } from './node-restriction-fixture.ts';

const mirror = {
  name: 'm',
  annotations: { 'orch.io/config.mirror': 'x' },
  ownerReferences: [owner],
};
const create = (metadata: object, spec: object, more: object = {}): Write => ({
  operation: 'create',
  resource: 'pods',
  namespace: 'ns',
  name: 'm',
  object: { metadata, spec: { nodeName: 'n1', containers: [{ name: 'c' }], ...spec }, ...more },
});
const owned = (change: object): Write => create({ ...mirror, ownerReferences: [{ ...owner, ...change }] }, {});
const mounting = (volume: object): Write => create(mirror, { volumes: [{ name: 'v', ...volume }] });

const notReferring = (what: string): string => `node "n1" can not create pods that reference ${what}`;
const ownOwner = 'node "n1" can only create pods with an owner reference set to itself';

describe('creation of pods', () => {
  check([
    ['a mirror pod', create(mirror, {}), ''],
    ['with any annotation', create({ ...mirror, annotations: { 'orch.io/config.mirror': '' } }, {}), ''],
    [
      'no mirror pod',
      create({ ...mirror, annotations: { 'other/config.mirror': 'x' } }, {}),
      'pod does not have "orch.io/config.mirror" annotation, node "n1" can only create mirror pods',
    ],
    [
      'without annotations',
      create({ name: 'm' }, {}),
      'pod does not have "orch.io/config.mirror" annotation, node "n1" can only create mirror pods',
    ],
    [
      'on another node',
      create(mirror, { nodeName: 'n2' }),
      'node "n1" can only create pods with spec.nodeName set to itself',
    ],
    ['on no node', create(mirror, { nodeName: '' }), 'node "n1" can only create pods with spec.nodeName set to itself'],
    ['without owner', create({ ...mirror, ownerReferences: [] }, {}), ownOwner],
    ['without any owners', create({ ...mirror, ownerReferences: undefined }, {}), ownOwner],
    [
      'with two owners',
      create({ ...mirror, ownerReferences: [owner, owner] }, {}),
      'node "n1" can only create pods with a single owner reference set to itself',
    ],
    ['owned by a node of another version', owned({ apiVersion: 'v2' }), ownOwner],
    ['owned by something else', owned({ kind: 'Pod' }), ownOwner],
    ['owned by another node', owned({ name: 'n2' }), ownOwner],
    [
      'owned, not controlled',
      owned({ controller: false }),
      'node "n1" can only create pods with a controller owner reference set to itself',
    ],
    [
      'not said whether controlled',
      owned({ controller: undefined }),
      'node "n1" can only create pods with a controller owner reference set to itself',
    ],
    [
      'holding up the deletion of the node',
      owned({ blockOwnerDeletion: true }),
      'node "n1" must not set blockOwnerDeletion on an owner reference',
    ],
    ['not holding it up', owned({ blockOwnerDeletion: false }), ''],
    ['owned by a former node', owned({ uid: 'former' }), 'node n1 UID mismatch: expected former got uid-n1'],
    ['with an account', create(mirror, { serviceAccountName: 'default' }), notReferring('a service account')],
    ['with a pull secret', create(mirror, { imagePullSecrets: [{ name: 's' }] }), notReferring('secrets')],
    ['with a nameless pull secret', create(mirror, { imagePullSecrets: [{}] }), ''],
    ['with a secret as a volume', mounting({ secret: { secretName: 's' } }), notReferring('secrets')],
    [
      'with a projected secret',
      mounting({ projected: { sources: [{ secret: { name: 's' } }] } }),
      notReferring('secrets'),
    ],
    ['with the secret of a driver', mounting({ rbd: { secretRef: { name: 's' } } }), notReferring('secrets')],
    [
      'with a secret in the environment',
      create(mirror, {
        containers: [{ name: 'c', env: [{ name: 'E', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] }],
      }),
      notReferring('secrets'),
    ],
    [
      'with a secret as the environment of an init container',
      create(mirror, { initContainers: [{ name: 'i', envFrom: [{ secretRef: { name: 's' } }] }] }),
      notReferring('secrets'),
    ],
    ['with a config map', mounting({ configMap: { name: 's' } }), notReferring('configmaps')],
    [
      'with a config map as the environment of an ephemeral container',
      create(mirror, { ephemeralContainers: [{ name: 'i', envFrom: [{ configMapRef: { name: 's' } }] }] }),
      notReferring('configmaps'),
    ],
    [
      'with a trust bundle',
      mounting({ projected: { sources: [{ downwardAPI: {} }, { clusterTrustBundle: { path: 'p' } }] } }),
      notReferring('clustertrustbundles'),
    ],
    [
      'with a volume claim',
      mounting({ persistentVolumeClaim: { claimName: 'c' } }),
      notReferring('persistentvolumeclaims'),
    ],
    ['with an empty directory', mounting({ emptyDir: {} }), ''],
    [
      'with a resource claim',
      create(mirror, { resourceClaims: [{ name: 'r', resourceClaimName: 'r' }] }),
      notReferring('resourceclaims'),
    ],
    [
      'with the resource claim of a template',
      create(mirror, { resourceClaims: [{ name: 'r', resourceClaimTemplateName: 'r' }] }),
      notReferring('resourceclaims'),
    ],
    [
      'with a claim in its status',
      create(mirror, {}, { status: { resourceClaimStatuses: [{ name: 'r', resourceClaimName: 'c' }] } }),
      notReferring('resourceclaims'),
    ],
  ]);

  it('on a node that is not registered', async () => {
    const write = create({ ...mirror, ownerReferences: [{ ...owner, name: 'n9' }] }, { nodeName: 'n9' });
    await assert.rejects(admit(write, { username: 'system:node:n9' }), {
      reason: 'NotFound',
      message: 'node "n9" not found',
    });
  });
});

const podWrite = (write: Write): Write => ({ resource: 'pods', namespace: 'ns', name: 'mine', ...write });
const mine = { metadata: { name: 'mine', labels: { a: 'b', e: '' } }, spec: { nodeName: 'n1' } };
const status = (object: object, old: object = mine): Write =>
  podWrite({ operation: 'update', resource: 'pods/status', object, old });
const claimed = (...statuses: readonly object[]) => ({ ...mine, status: { resourceClaimStatuses: statuses } });
const otherClaims = 'node "n1" cannot update resource claim statues';

describe('other writes of pods', () => {
  check([
    ['delete nothing', podWrite({ operation: 'delete' }), 'the object is missing'],
    ['status of nothing', podWrite({ operation: 'update', resource: 'pods/status' }), 'the object is missing'],
    ['delete its own', podWrite({ operation: 'delete', old: mine }), ''],
    [
      "delete another node's",
      podWrite({ operation: 'delete', old: { spec: { nodeName: 'n2' } } }),
      'node "n1" can only delete pods with spec.nodeName set to itself',
    ],
    [
      'delete one that waits',
      podWrite({ operation: 'delete', old: { spec: {} } }),
      'node "n1" can only delete pods with spec.nodeName set to itself',
    ],
    [
      'update',
      podWrite({ operation: 'update', object: mine, old: mine }),
      'unexpected operation "UPDATE", node "n1" can only create and delete mirror pods',
    ],
    [
      'patch',
      podWrite({ operation: 'update', object: mine, old: mine }),
      'unexpected operation "UPDATE", node "n1" can only create and delete mirror pods',
    ],
    ['status of its own', status({ ...mine, status: { phase: 'Running' } }), ''],
    ['status by a patch', { ...status({ ...mine, status: { phase: 'Running' } }), operation: 'update' }, ''],
    [
      "status of another node's",
      status(mine, { ...mine, spec: { nodeName: 'n2' } }),
      'node "n1" can only update pod status for pods with spec.nodeName set to itself',
    ],
    [
      'a label through the status',
      status({ ...mine, metadata: { labels: { a: 'c', e: '' } } }),
      'node "n1" cannot update labels through pod status',
    ],
    [
      'without a label of no value',
      status({ ...mine, metadata: { labels: { a: 'b' } } }),
      'node "n1" cannot update labels through pod status',
    ],
    [
      'another label in its place',
      status({ ...mine, metadata: { labels: { a: 'b', f: '' } } }),
      'node "n1" cannot update labels through pod status',
    ],
    [
      'the first label',
      status({ metadata: { labels: { a: '' } } }, { spec: { nodeName: 'n1' } }),
      'node "n1" cannot update labels through pod status',
    ],
    [
      'the same claims',
      status(claimed({ name: 'a', resourceClaimName: 'x' }), claimed({ name: 'a', resourceClaimName: 'x' })),
      '',
    ],
    [
      'another claim',
      status(claimed({ name: 'a', resourceClaimName: 'y' }), claimed({ name: 'a', resourceClaimName: 'x' })),
      otherClaims,
    ],
    ['one claim more', status(claimed({ name: 'a' }, { name: 'b' }), claimed({ name: 'a' })), otherClaims],
    ['the first claim', status(claimed({ name: 'a', resourceClaimName: 'x' })), otherClaims],
    ['no claim any more', status(mine, claimed({ name: 'a' })), otherClaims],
    [
      'create a status',
      podWrite({ operation: 'create', resource: 'pods/status', object: mine }),
      'unexpected operation "CREATE"',
    ],
    ['evict its own', podWrite({ resource: 'pods/eviction' }), ''],
    [
      'evict one named in the body',
      podWrite({ resource: 'pods/eviction', name: '', object: { metadata: { name: 'mine' } } }),
      '',
    ],
    [
      'the path counts, not the body',
      podWrite({ resource: 'pods/eviction', name: 'theirs', object: { metadata: { name: 'mine' } } }),
      'node n1 can only evict pods with spec.nodeName set to itself',
    ],
    [
      "evict another node's",
      podWrite({ resource: 'pods/eviction', name: 'theirs' }),
      'node n1 can only evict pods with spec.nodeName set to itself',
    ],
    [
      'evict one that waits',
      podWrite({ resource: 'pods/eviction', name: 'waiting' }),
      'node n1 can only evict pods with spec.nodeName set to itself',
    ],
    [
      'evict none',
      podWrite({ resource: 'pods/eviction', name: '', object: { metadata: {} } }),
      'could not determine pod from request data',
    ],
    ['update an eviction', podWrite({ operation: 'update', resource: 'pods/eviction' }), 'unexpected operation UPDATE'],
    [
      'bind',
      podWrite({ resource: 'pods/binding' }),
      "unexpected pod subresource \"binding\", only 'status' and 'eviction' are allowed",
    ],
    [
      'add a container',
      podWrite({ operation: 'update', resource: 'pods/ephemeralcontainers', object: mine, old: mine }),
      "unexpected pod subresource \"ephemeralcontainers\", only 'status' and 'eviction' are allowed",
    ],
  ]);

  it('evict a pod that does not exist', async () => {
    await assert.rejects(admit(podWrite({ resource: 'pods/eviction', name: 'gone' })), {
      reason: 'NotFound',
      message: 'pod "gone" not found',
    });
  });
});
