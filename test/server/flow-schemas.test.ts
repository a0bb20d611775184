import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { as, Folder, rbacGroup, rbacPath } from '../support/authorization.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** Requests are sorted, and limited, by the FlowSchemas and PriorityLevelConfigurations that are stored. */

const group = '/apis/flowcontrol.apiserver.orch.io/v1';
const flows = `${group}/flowschemas`;
const levels = `${group}/prioritylevelconfigurations`;

interface Flow extends ApiObject {
  readonly status: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
      readonly message: string;
    }[];
  };
}

describe('flow schemas', () => {
  const folder = new Folder();
  let server: OrchProcess;
  before(async () => {
    server = await OrchProcess.start({ flags: [folder.tokens({ jane: ['dev'] })] });
    await send('POST', `${rbacPath}/clusterrolebindings`, 201, {
      metadata: { name: 'jane-views' },
      roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name: 'view' },
      subjects: [{ apiGroup: rbacGroup, kind: 'User', name: 'jane' }],
    });
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  async function send<T = ApiObject>(method: string, path: string, wanted: number, body?: object): Promise<T> {
    const type = method === 'PATCH' ? 'merge-patch+json' : 'json';
    const { status, json } = await server.request<T>(
      method,
      path,
      body && { body, headers: { 'content-type': `application/${type}` } },
    );
    assert.equal(status, wanted, JSON.stringify(json));
    return json;
  }

  const rule = {
    subjects: [{ kind: 'User', user: { name: 'jane' } }],
    resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'], clusterScope: true }],
  };
  const makeFlow = (name: string, level: string) =>
    send('POST', flows, 201, {
      metadata: { name },
      spec: { priorityLevelConfiguration: { name: level }, matchingPrecedence: 50, rules: [rule] },
    });
  const makeLevel = (name: string) =>
    send('POST', levels, 201, {
      metadata: { name },
      spec: { type: 'Limited', limited: { nominalConcurrencyShares: 245, limitResponse: { type: 'Reject' } } },
    });

  /** The schema and level that a request of jane is counted under. */
  async function sortedInto(): Promise<string> {
    const counts = async () => {
      const { text } = await server.request('GET', '/metrics');
      const lines = text.matchAll(
        /^apiserver_flowcontrol_dispatched_requests_total\{priority_level="(.*?)",flow_schema="(.*?)"\} (\d+)$/gm,
      );
      return new Map([...lines].map(([, level, schema, count]) => [`${schema} ${level}`, Number(count)]));
    };
    const before = await counts();
    await server.request('GET', '/api/v1/namespaces/default/configmaps', { as: as('jane') });
    const more = [...(await counts())].filter(
      ([name, count]) => count > (before.get(name) ?? 0) && !name.startsWith('exempt'),
    );
    return more.map(([name]) => name).join();
  }

  const conditionOf = async (name: string) => (await send<Flow>('GET', `${flows}/${name}`, 200)).status.conditions?.[0];

  it('say whether their level is there', async () => {
    await until(async () => (await conditionOf('service-accounts')) !== undefined, 'no condition');
    assert.deepEqual(
      { ...(await conditionOf('service-accounts')), lastTransitionTime: '' },
      {
        type: 'Dangling',
        status: 'False',
        lastTransitionTime: '',
        reason: 'Found',
        message: 'This FlowSchema references the PriorityLevelConfiguration object named "workload-low" and it exists',
      },
    );
    await makeFlow('dangles', 'later');
    await until(async () => (await conditionOf('dangles'))?.status === 'True', 'not said to dangle');
    const { reason, message } = (await conditionOf('dangles')) ?? assert.fail();
    assert.deepEqual(
      [reason, message],
      [
        'NotFound',
        'This FlowSchema references the PriorityLevelConfiguration object named "later" but there is no such object',
      ],
    );
    await makeLevel('later');
    await until(async () => (await conditionOf('dangles'))?.status === 'False', 'still said to dangle');
    for (const path of [`${flows}/dangles`, `${levels}/later`]) await send('DELETE', path, 200);
  });

  it('count for the next request, once their level is there, until they are deleted', async () => {
    const initial = 'global-default global-default';
    assert.equal(await sortedInto(), initial);
    await makeFlow('of-jane', 'small');
    assert.equal(await sortedInto(), initial, 'there is no such level');
    await makeLevel('small');
    assert.equal(await sortedInto(), 'of-jane small');
    await send('DELETE', `${levels}/small`, 200);
    assert.equal(await sortedInto(), initial);
    await send('DELETE', `${flows}/of-jane`, 200);
  });

  it('are named by every answer, with their level', async () => {
    const uidOf = async (path: string) => (await send('GET', path, 200)).metadata.uid;
    for (const [what, path, caller, status, schema, level] of [
      ['a read', '/api/v1/namespaces/default/configmaps', as('jane'), 200, 'global-default', 'global-default'],
      ['a refusal', '/api/v1/namespaces/default/secrets', as('jane'), 403, 'global-default', 'global-default'],
      ['what is exempt', '/api/v1/namespaces', undefined, 200, 'exempt', 'exempt'],
    ] as const) {
      const answer = await server.request('GET', path, caller && { as: caller });
      assert.equal(answer.status, status, what);
      assert.equal(answer.headers['x-orch-pf-flowschema-uid'], await uidOf(`${flows}/${schema}`), what);
      assert.equal(answer.headers['x-orch-pf-prioritylevel-uid'], await uidOf(`${levels}/${level}`), what);
    }
  });

  it('share out the seats anew', async () => {
    const nominal = async (name: string) => {
      const { text } = await server.request('GET', '/metrics');
      const [, seats] =
        new RegExp(`^apiserver_flowcontrol_nominal_limit_seats\\{priority_level="${name}"\\} (\\d+)$`, 'm').exec(
          text,
        ) ?? [];
      return Number(seats);
    };
    const before = await nominal('workload-low');
    await makeLevel('half');
    assert.ok((await nominal('workload-low')) <= before / 2 + 3);
    assert.ok((await nominal('half')) >= before);
    await send('DELETE', `${levels}/half`, 200);
    assert.equal(await nominal('workload-low'), before);
  });

  it('that are mandatory count even while they are deleted', async () => {
    for (const path of [`${flows}/catch-all`, `${levels}/catch-all`, `${flows}/global-default`])
      await send('DELETE', path, 200);
    assert.equal(await sortedInto(), 'catch-all catch-all');
  });
});
