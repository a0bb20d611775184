import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { limits } from '../../src/base/limits.ts';
import { until, within } from '../../src/base/waits-fixture.ts';
import {
  type Address,
  address,
  addressDefinition,
  addressInTwo,
  addressPath as at,
  webhookForSuite,
} from '../support/addresses.ts';
import { as, everythingRules, Folder, grant, make, user } from '../support/authorization.ts';
import { definitionPath } from '../support/custom-resources.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** Requests that wait for conversion webhooks which hang: others are served meanwhile. */

describe('conversion webhooks that hang', () => {
  const converting = webhookForSuite();
  const held = new AsyncDisposableStack();
  const seats = 24;
  const tenants = Array.from({ length: seats }, (_, index) => `tenant-${index}`);
  const [jane = '', kate = ''] = tenants;
  const names = ['x0', 'x1', 'x2', 'x3'];
  const group = 'hanging.example.com';
  let server: OrchProcess;
  before(async () => {
    const folder = held.use(new Folder());
    const everybody = [...tenants, 'other'];
    server = held.use(
      await OrchProcess.start({
        flags: [
          folder.tokens(Object.fromEntries(everybody.map((name) => [name, []]))),
          `--max-mutating-requests-inflight=${seats}`,
          `--max-requests-inflight=${seats}`,
          // The collector asks as well, for what it watches.
          '--controllers=namespace',
        ],
      }),
    );
    await grant(server, 'everything', everythingRules, everybody.map(user));
    await define(group);
  });
  after(() => held.disposeAsync());

  /** Defines addresses of a group, with some of them. */
  const define = async (each: string): Promise<void> => {
    await make(server, definitionPath(), addressDefinition(each, converting.webhook.conversion()));
    await until(async () => (await server.get(at(each, 'v1'))).status === 200);
    for (const name of names) await make(server, at(each, 'v1'), address(each, name));
  };

  /** Seats in use, but for those of exempt requests. */
  const seatsInUse = async (): Promise<number> => {
    const { text } = await server.get('/metrics');
    const shown = text.matchAll(/^apiserver_flowcontrol_current_executing_seats\{priority_level="(.*?)".*\} (\d+)$/gm);
    return [...shown].reduce((sum, [, level, count]) => (level === 'exempt' ? sum : sum + Number(count)), 0);
  };
  const areWaitedFor = (): Promise<void> =>
    until(async () => converting.webhook.questions.length > 0 && (await seatsInUse()) === 0);

  const hang = (): void => {
    converting.webhook.instead = () => {};
  };
  /** What becomes of work when the webhook recovers after the wait: it drops what it was asked, and answers again. */
  const recovering = async <T>(work: Promise<T>, wait: () => Promise<void>): Promise<T> => {
    let answered = false;
    const settle = (): void => {
      answered = true;
    };
    work.then(settle, settle);
    try {
      await wait();
      assert(!answered, 'it did not wait');
    } finally {
      converting.webhook.instead = undefined;
      converting.webhook.fixture.dropConnections();
    }
    return within(work, 'the webhook answers no more');
  };

  interface Row {
    readonly method?: string;
    readonly path?: string;
    readonly body?: unknown;
    readonly type?: string;
  }
  const two = (name: string) => addressInTwo(group, name);
  const one = at(group, 'v2', 'x0');
  const merge = 'application/merge-patch+json';
  const applied = 'application/apply-patch+yaml';
  const rows: Readonly<Record<string, Row>> = {
    get: { path: one },
    list: {},
    'watch of what is there': { path: `${at(group, 'v2')}?watch=1&timeoutSeconds=1` },
    create: { method: 'POST', body: two('new') },
    'create on the other thread': { method: 'POST', body: two('large'), type: 'application/yaml' },
    update: { method: 'PUT', path: one, body: two('x0') },
    'merge patch': { method: 'PATCH', path: one, body: two('x0'), type: merge },
    apply: { method: 'PATCH', path: `${one}?fieldManager=m&force=1`, body: two('x0'), type: applied },
    delete: { method: 'DELETE', path: one },
    'delete of all': { method: 'DELETE' },
  };
  for (const [what, { method = 'GET', path = at(group, 'v2'), body, type }] of Object.entries(rows)) {
    it(`are waited for without a seat: ${what}`, async () => {
      hang();
      const headers = type === undefined ? undefined : { 'content-type': type };
      const { status, text } = await recovering(
        server.request(method, path, { body, headers, as: as(jane) }),
        areWaitedFor,
      );
      assert.equal(status, 500, text);
      assert.match(text, /conversion webhook for/);
      assert.equal(await seatsInUse(), 0);
    });
  }

  it('are waited for without a seat, and so is the turn to write', async () => {
    const path = at(group, 'v2', 'x1');
    // It is known in this version: what is waited for is the value to be stored.
    await server.get(path);
    hang();
    const writes = [jane, kate].flatMap((name) =>
      Array.from({ length: seats }, () =>
        server.request('PATCH', path, { body: { hostPort: 'b:2' }, headers: { 'content-type': merge }, as: as(name) }),
      ),
    );
    const answers = await recovering(Promise.all(writes), async () => {
      await areWaitedFor();
      const other = await server.get(at(group, 'v1', 'x2'), { as: as('other') });
      assert.equal(other.status, 200);
    });
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
    assert.equal((await server.get<Address>(path)).json.hostPort, 'b:2');
  });

  it('of several definitions and tenants leave seats for others', async () => {
    const groups = ['a.hanging.example.com', 'b.hanging.example.com', 'c.hanging.example.com'] as const;
    for (const each of groups) await define(each);
    hang();
    const reads = tenants.flatMap((name) =>
      groups.flatMap((each) => names.map((object) => server.get(at(each, 'v2', object), { as: as(name) }))),
    );
    const answers = await recovering(Promise.all(reads), async () => {
      const expected = names.length * groups.length;
      await until(
        () => converting.webhook.questions.length === expected,
        () => `${converting.webhook.questions.length} questions instead of ${expected}`,
      );
      for (const name of names) {
        const path = at(groups[0], 'v1', name);
        const headers = { 'content-type': merge };
        assert.equal((await server.get(path, { as: as('other') })).status, 200);
        const written = await server.request('PATCH', path, { body: { host: 'c' }, headers, as: as('other') });
        assert.equal(written.status, 200);
      }
      assert.equal((await server.get(at(groups[0], 'v1'), { as: as('other') })).status, 200);
    });
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [500]);
  });

  it('refuse more requests of a tenant with 429, those of others wait', async () => {
    const own = 'refused.example.com';
    await define(own);
    hang();
    const answered: number[] = [];
    const read = async (name: string, object: string) => {
      const { status, headers } = await server.get(at(own, 'v2', object), { as: as(name) });
      answered.push(status);
      return { status, retryAfter: headers['retry-after'] };
    };
    const refusals = 5;
    const reads = Array.from({ length: limits.webhookWaitsMax / 2 + refusals }, () => read(jane, 'x0'));
    await recovering(Promise.all(reads), async () => {
      await until(() => answered.length === refusals);
      assert.deepEqual(await Promise.race(reads), { status: 429, retryAfter: '1' });
      const stored = await server.get(at(own, 'v1', 'x0'), { as: as(jane) });
      assert.equal(stored.status, 200, 'what needs no webhook is served');
      reads.push(read(kate, 'x1'));
      await until(() => converting.webhook.questions.length === 2, 'the webhook is not asked for another tenant');
      assert.equal(answered.length, refusals);
    });
    assert.equal((await within(reads.at(-1) as (typeof reads)[0], 'no answer')).status, 500);
    assert.deepEqual(new Set(answered), new Set([429, 500]));
  });
});
