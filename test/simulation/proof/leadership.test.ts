import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Change } from '../../../src/store/store.ts';
import type { RecordedEvent } from '../../support/audit.ts';
import { termsOf } from './leadership.ts';

const lease = (revision: number, holderIdentity: string): Change => ({
  type: 'create',
  key: '/coordination.orch.io/leases/orch-system/orch-controller-manager',
  revision,
  value: Buffer.from(JSON.stringify({ spec: { holderIdentity } })),
});

const audited = (username: string, requestURI: string, more: Partial<RecordedEvent>): RecordedEvent => ({
  ...{ kind: 'Event', apiVersion: '', level: '', auditID: '', stage: '', sourceIPs: [] },
  ...{ requestReceivedTimestamp: '', stageTimestamp: '', verb: 'create', user: { username }, requestURI, ...more },
});

const candidacy = (holderIdentity: string): RecordedEvent =>
  audited('system:orch-controller-manager', '/apis/coordination.orch.io/v1/namespaces/orch-system/leases', {
    requestObject: { spec: { holderIdentity } },
  });

const write = (revision: number): RecordedEvent =>
  audited('system:serviceaccount:orch-system:service-account-controller', '/api/v1/namespaces/n/serviceaccounts', {
    responseStatus: { code: 201 },
    responseObject: { metadata: { resourceVersion: String(revision) } },
  });

const changes = [lease(2, 'a'), lease(5, 'a'), lease(6, ''), lease(8, 'b')];

test('each controller writes while its server leads, or nobody does', () => {
  const audits = [
    [candidacy('a'), write(4), write(7)],
    [candidacy('b'), write(9)],
  ];
  assert.deepEqual(termsOf(changes, audits), { problems: [], terms: 2, writes: 3 });
});

test('wrong: a write while another server leads', () => {
  const { problems } = termsOf(changes, [[candidacy('a'), write(9)], [candidacy('b')]]);
  assert.match(problems.join(), /server 0: .*service-account-controller .* wrote at 9, while b of another server led/);
});
