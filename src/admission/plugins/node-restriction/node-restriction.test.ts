import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { admit, check, type Write } from './node-restriction-fixture.ts';

const token = (bound: object | null | undefined, more: Write = {}): Write => ({
  resource: 'serviceaccounts/token',
  namespace: 'ns',
  name: 'default',
  object: { spec: { audiences: ['a'], ...(bound !== undefined && { boundObjectRef: bound }) } },
  ...more,
});
const bound = { apiVersion: 'v1', kind: 'Pod', name: 'mine', uid: 'uid-mine' };
const unbound = 'node requested token not bound to a pod';

describe('tokens', () => {
  check([
    ['of its own pod', token(bound), ''],
    ['not bound', token(undefined), unbound],
    ['bound to nothing', token(null), unbound],
    ['without a body', token(undefined, { object: {} }), unbound],
    ['bound to a secret', token({ ...bound, kind: 'Secret' }), unbound],
    ['bound to a node', token({ ...bound, kind: 'Node', name: 'n1', uid: 'uid-n1' }), unbound],
    ['of another version', token({ ...bound, apiVersion: 'v2' }), unbound],
    ['of no pod', token({ ...bound, name: '' }), unbound],
    ['without uid', token({ ...bound, uid: '' }), 'node requested token with a pod binding without a uid'],
    ['without any uid', token({ ...bound, uid: undefined }), 'node requested token with a pod binding without a uid'],
    [
      'of a former pod',
      token({ ...bound, uid: 'former' }),
      'the UID in the bound object reference (former) does not match the UID in record. The object might have been deleted and then recreated',
    ],
    [
      "of another node's pod",
      token({ ...bound, name: 'theirs', uid: 'uid-theirs' }),
      'node requested token bound to a pod scheduled on a different node',
    ],
    [
      'of a pod that waits',
      token({ ...bound, name: 'waiting', uid: 'uid-waiting' }),
      'node requested token bound to a pod scheduled on a different node',
    ],
    ['no creation', token(undefined, { operation: 'update', old: {} }), ''],
    ['an account itself is for the authorizer', token(undefined, { resource: 'serviceaccounts' }), ''],
  ]);

  for (const [what, write] of [
    ['of a pod that is gone', token({ ...bound, name: 'gone' })],
    ['of a pod of another namespace', token(bound, { namespace: 'other' })],
  ] as const) {
    it(what, async () => {
      await assert.rejects(admit(write), { reason: 'NotFound', code: 404 });
    });
  }
});

const lease = (write: Write): Write => ({
  resource: 'leases',
  group: 'coordination.orch.io',
  namespace: 'orch-node-lease',
  name: 'n1',
  ...write,
});
const driver = (write: Write): Write => ({ resource: 'csinodes', group: 'storage.orch.io', name: 'n1', ...write });
const slice = (operation: 'create' | 'update' | 'delete', nodeName: string): Write => ({
  operation,
  resource: 'resourceslices',
  group: 'resource.orch.io',
  ...(operation !== 'delete' && { object: { spec: { nodeName } } }),
  old: { spec: { nodeName } },
});
const ownLease = 'can only access node lease with the same name as the requesting node';
const ownDriver = 'can only access CSINode with the same name as the requesting node';

describe("objects that carry the node's name", () => {
  check([
    ['create its lease', lease({}), ''],
    ['renew its lease', lease({ operation: 'update', old: {} }), ''],
    ['delete its lease', lease({ operation: 'delete', old: {} }), ''],
    ["create another's lease", lease({ name: 'n2' }), ownLease],
    ['create a lease of a generated name', lease({ name: '', object: { metadata: { generateName: 'n1' } } }), ownLease],
    ["renew another's lease", lease({ operation: 'update', name: 'n2', old: {} }), ownLease],
    ["delete another's lease", lease({ operation: 'delete', name: 'n2', old: {} }), ownLease],
    [
      'a lease elsewhere',
      lease({ namespace: 'orch-system' }),
      'can only access leases in the "orch-node-lease" system namespace',
    ],
    ['create its drivers', driver({}), ''],
    ['update its drivers', driver({ operation: 'update', old: {} }), ''],
    ["create another's drivers", driver({ name: 'n2' }), ownDriver],
    ["update another's drivers", driver({ operation: 'update', name: 'n2', old: {} }), ownDriver],
    ["delete another's drivers", driver({ operation: 'delete', name: 'n2', old: {} }), ownDriver],
    ['create a slice', slice('create', 'n1'), ''],
    ['delete a slice', slice('delete', 'n1'), ''],
    [
      "create another's slice",
      slice('create', 'n2'),
      'can only create ResourceSlice with the same NodeName as the requesting node',
    ],
    [
      'create a slice of no node',
      slice('create', ''),
      'can only create ResourceSlice with the same NodeName as the requesting node',
    ],
    [
      "delete another's slice",
      slice('delete', 'n2'),
      'can only delete ResourceSlice with the same NodeName as the requesting node',
    ],
    ['which slice is updated is for the authorizer', slice('update', 'n2'), ''],
    ['a lease of another group', { ...lease({ name: 'n2' }), group: 'example.com' }, ''],
    ['another resource', { resource: 'events', namespace: 'ns' }, ''],
  ]);
});

const claim = (object: object, more: Write = {}): Write => ({
  operation: 'update',
  resource: 'persistentvolumeclaims/status',
  namespace: 'ns',
  object: { metadata: { name: 'x', labels: { a: 'b' } }, spec: { volumeName: 'v' }, ...object },
  old: {
    metadata: { name: 'x', labels: { a: 'b' }, resourceVersion: '7' },
    spec: { volumeName: 'v' },
    status: { phase: 'Bound' },
  },
  ...more,
});
const fixed = 'node "n1" is not allowed to update fields other than status.quantity and status.conditions';

describe('claims', () => {
  check([
    [
      'report a resize',
      claim({
        status: {
          phase: 'Bound',
          capacity: { storage: '2Gi' },
          conditions: [{ type: 'Resizing' }],
          allocatedResources: { storage: '2Gi' },
          allocatedResourceStatuses: { storage: 'NodeResizePending' },
        },
      }),
      '',
    ],
    [
      'with the fields that the writer owns',
      claim({ metadata: { name: 'x', labels: { a: 'b' }, managedFields: [{}] }, status: { phase: 'Bound' } }),
      '',
    ],
    ['another phase', claim({ status: { phase: 'Lost' } }), fixed],
    ['another label', claim({ metadata: { name: 'x' }, status: { phase: 'Bound' } }), fixed],
    ['another volume', claim({ spec: { volumeName: 'w' }, status: { phase: 'Bound' } }), fixed],
    ['status of nothing', { operation: 'update', resource: 'persistentvolumeclaims/status' }, 'the object is missing'],
    ['create a status', claim({}, { operation: 'create' }), 'unexpected operation "CREATE"'],
    ['the claim itself', claim({}, { resource: 'persistentvolumeclaims' }), 'may only update PVC status'],
    ['delete', claim({}, { operation: 'delete', resource: 'persistentvolumeclaims' }), 'may only update PVC status'],
  ]);
});

const signing = (request: string, signerName: string, more: Write = {}): Write => ({
  resource: 'certificatesigningrequests',
  group: 'certificates.orch.io',
  object: { spec: { request, signerName } },
  ...more,
});
const serving = 'orch.io/node-agent-serving';
const client = 'orch.io/apiserver-client-node-agent';
const ownName = 'can only create a node CSR with CN=system:node:n1';

describe('certificate requests', () => {
  check([
    ['to serve', signing('n1', serving), ''],
    ['as a client', signing('n1', client), ''],
    ['to serve as another node', signing('n2', serving), ownName],
    ['as another node', signing('n2', client), ownName],
    ['as somebody', signing('jane', client), ownName],
    ['as nobody', signing('none', client), ownName],
    ['unreadable', signing('?', client), 'unable to parse csr: not a request'],
    ['nothing', signing('', serving), 'unable to parse csr: not a request'],
    ['for another signer', signing('n2', 'orch.io/apiserver-client'), ''],
    ['updates are for the authorizer', signing('n2', client, { operation: 'update', old: {} }), ''],
  ]);
});

describe('certificate requests where names are not checked', () => {
  const setting = { checksRequestedNames: false };
  check(
    [
      ['as another node', signing('n2', client), ''],
      ['to serve as somebody', signing('jane', serving), ''],
      ['unreadable', signing('?', client), ''],
      ['other objects', { resource: 'nodes', name: 'n2' }, 'node "n1" is not allowed to modify node "n2"'],
    ],
    setting,
  );
});

describe('who is limited', () => {
  const foreign: Write = { resource: 'nodes', name: 'n2' };
  const unknown = 'could not determine node from user "system:node:"';
  check([['a node', foreign, 'node "n1" is not allowed to modify node "n2"']]);
  check([['a node among other groups', foreign, 'node "n1" is not allowed to modify node "n2"']], {
    groups: ['system:authenticated', 'system:nodes', 'system:masters'],
  });
  check([['somebody else', foreign, '']], { username: 'jane' });
  check([['a name without the group', foreign, '']], { groups: ['system:authenticated'] });
  check([['the group without a name', foreign, '']], { username: 'kubelet' });
  check(
    [
      ['nobody knows which node: nodes', foreign, unknown],
      ['nobody knows which node: anything', { resource: 'events', namespace: 'ns' }, unknown],
    ],
    { username: 'system:node:' },
  );
  check([['a connection is for the authorizer', { operation: 'connect', resource: 'nodes/proxy', name: 'n2' }, '']]);
  check([['in a dry run too', { ...foreign, dryRun: true }, 'node "n1" is not allowed to modify node "n2"']]);
});
