import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cellOf } from '../../../codec/table.ts';
import { decoded, kind, now, podWith, type Sent } from './pod-fixture.ts';

const at = (secondsAgo: number): string => `${new Date(now - secondsAgo * 1000).toISOString().slice(0, 19)}Z`;
const running = (more: Sent = {}): Sent => ({ name: 'app', ready: true, state: { running: {} }, ...more });
const waiting = (reason?: string): Sent => ({
  name: 'app',
  state: { waiting: reason === undefined ? {} : { reason } },
});
const terminated = (fields: Sent): Sent => ({ name: 'app', state: { terminated: fields } });
const init = { name: 'init', image: 'i' };
const sidecar = { name: 'side', image: 's', restartPolicy: 'Always' };
const one = { containers: [{ name: 'app', image: 'a' }] };
const two = {
  containers: [
    { name: 'a', image: 'a' },
    { name: 'b', image: 'b' },
  ],
};
const isTrue = (type: string): Sent => ({ conditions: [{ type, status: 'True' }] });

interface Case {
  readonly what: string;
  readonly spec?: Sent;
  readonly status: Sent;
  readonly metadata?: Sent;
  /** Cells of Ready, Status and Restarts. */
  readonly shows: readonly [string, string, string];
}

const cases: readonly Case[] = [
  { what: 'new', status: { phase: 'Pending' }, shows: ['0/1', 'Pending', '0'] },
  { what: 'running', status: { phase: 'Running', containerStatuses: [running()] }, shows: ['1/1', 'Running', '0'] },
  { what: 'evicted', status: { phase: 'Failed', reason: 'Evicted' }, shows: ['0/1', 'Evicted', '0'] },
  {
    what: 'gated',
    status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }] },
    shows: ['0/1', 'SchedulingGated', '0'],
  },
  {
    what: 'waiting',
    status: { phase: 'Pending', containerStatuses: [waiting('ContainerCreating')] },
    shows: ['0/1', 'ContainerCreating', '0'],
  },
  {
    what: 'crashing',
    status: {
      phase: 'Running',
      containerStatuses: [
        {
          ...waiting('CrashLoopBackOff'),
          restartCount: 3,
          lastState: { terminated: { exitCode: 1, finishedAt: at(300) } },
        },
      ],
    },
    shows: ['0/1', 'CrashLoopBackOff', '3 (5m ago)'],
  },
  {
    what: 'exit code',
    status: { phase: 'Failed', containerStatuses: [terminated({ exitCode: 3 })] },
    shows: ['0/1', 'ExitCode:3', '0'],
  },
  {
    what: 'signal',
    status: { phase: 'Failed', containerStatuses: [terminated({ exitCode: 137, signal: 9 })] },
    shows: ['0/1', 'Signal:9', '0'],
  },
  {
    what: 'completed',
    status: { phase: 'Succeeded', containerStatuses: [terminated({ exitCode: 0, reason: 'Completed' })] },
    shows: ['0/1', 'Completed', '0'],
  },
  {
    what: 'one of two completed, pod ready',
    spec: two,
    status: {
      phase: 'Running',
      containerStatuses: [terminated({ reason: 'Completed' }), running()],
      ...isTrue('Ready'),
    },
    shows: ['1/2', 'Running', '0'],
  },
  {
    what: 'one of two completed, pod not ready',
    spec: two,
    status: { phase: 'Running', containerStatuses: [terminated({ reason: 'Completed' }), running()] },
    shows: ['1/2', 'NotReady', '0'],
  },
  {
    what: 'the first container with something to tell wins',
    spec: two,
    status: { phase: 'Running', containerStatuses: [waiting('ImagePullBackOff'), terminated({ reason: 'Error' })] },
    shows: ['0/2', 'ImagePullBackOff', '0'],
  },
  {
    what: 'init container running',
    spec: { ...one, initContainers: [init, { name: 'second', image: 'i' }] },
    status: {
      phase: 'Pending',
      initContainerStatuses: [terminated({ exitCode: 0 }), { name: 'second', state: { running: {} }, restartCount: 2 }],
      containerStatuses: [{ ...waiting('PodInitializing'), restartCount: 7 }],
    },
    shows: ['0/1', 'Init:1/2', '2'],
  },
  {
    what: 'init container failed',
    spec: { ...one, initContainers: [init] },
    status: { phase: 'Pending', initContainerStatuses: [terminated({ exitCode: 1 })] },
    shows: ['0/1', 'Init:ExitCode:1', '0'],
  },
  {
    what: 'init container waiting',
    spec: { ...one, initContainers: [init] },
    status: { phase: 'Pending', initContainerStatuses: [waiting('CrashLoopBackOff')] },
    shows: ['0/1', 'Init:CrashLoopBackOff', '0'],
  },
  {
    what: 'init container about to start',
    spec: { ...one, initContainers: [init] },
    status: { phase: 'Pending', initContainerStatuses: [waiting('PodInitializing')] },
    shows: ['0/1', 'Init:0/1', '0'],
  },
  {
    what: 'sidecar counts',
    spec: { ...one, initContainers: [init, sidecar] },
    status: {
      phase: 'Running',
      initContainerStatuses: [
        { ...terminated({ exitCode: 0 }), restartCount: 5 },
        { name: 'side', started: true, ready: true, restartCount: 1, state: { running: {} } },
      ],
      containerStatuses: [running({ restartCount: 2 })],
    },
    shows: ['2/2', 'Running', '3'],
  },
  {
    what: 'terminating',
    metadata: { deletionTimestamp: at(0) },
    status: { phase: 'Running', containerStatuses: [running()] },
    shows: ['1/1', 'Terminating', '0'],
  },
  {
    what: 'terminating on a lost node',
    metadata: { deletionTimestamp: at(0) },
    status: { phase: 'Running', reason: 'NodeLost' },
    shows: ['0/1', 'Unknown', '0'],
  },
  {
    what: 'ended, and being deleted',
    metadata: { deletionTimestamp: at(0) },
    status: { phase: 'Failed' },
    shows: ['0/1', 'Failed', '0'],
  },
];

const cells = (sent: Sent): Record<string, unknown> => {
  const object = decoded(sent);
  return Object.fromEntries(kind.columns.map(({ name, value }) => [name, cellOf(value, object, now)]));
};

for (const { what, spec = one, status, metadata = {}, shows } of cases) {
  test(`table: ${what}`, () => {
    const row = cells({ ...podWith(spec, metadata), status });
    assert.deepEqual([row['Ready'], row['Status'], row['Restarts']], shows);
  });
}

test('table: columns, and those of wide output', () => {
  const columns = kind.columns.map(({ name, type, format, priority }) => `${name} ${type} ${format} ${priority}`);
  assert.deepEqual(columns, [
    'Name string name 0',
    'Ready string  0',
    'Status string  0',
    'Restarts string  0',
    'Age string  0',
    'IP string  1',
    'Node string  1',
    'Nominated Node string  1',
    'Readiness Gates string  1',
  ]);
});

test('table: cells of absent and of present values', () => {
  const wide = ['IP', 'Node', 'Nominated Node', 'Readiness Gates'];
  const empty = cells(podWith({}));
  assert.deepEqual(
    wide.map((name) => empty[name]),
    ['<none>', '<none>', '<none>', '<none>'],
  );
  const full = cells({
    ...podWith(
      { nodeName: 'n', readinessGates: [{ conditionType: 'a' }, { conditionType: 'b' }] },
      { creationTimestamp: at(7200) },
    ),
    status: { podIPs: [{ ip: '10.0.0.1' }], nominatedNodeName: 'm', ...isTrue('a') },
  });
  assert.deepEqual(
    wide.map((name) => full[name]),
    ['10.0.0.1', 'n', 'm', '1/2'],
  );
  assert.deepEqual([full['Name'], full['Age']], ['web', '120m']);
});

test('table: rows of pods that have ended are marked', () => {
  const reasons = ['Succeeded', 'Failed', 'Running', 'Pending', 'Unknown'].map((phase) =>
    kind.rowConditions?.(decoded({ ...podWith({}), status: { phase } })).map(({ type, reason }) => [type, reason]),
  );
  assert.deepEqual(reasons, [[['Completed', 'Succeeded']], [['Completed', 'Failed']], [], [], []]);
});
