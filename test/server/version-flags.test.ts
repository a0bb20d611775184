import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { defineKind } from '../../src/kinds/define-kind.ts';
import type { Kind } from '../../src/kinds/kind.ts';
import { kindSchema } from '../../src/kinds/meta/kind-schema.ts';
import { renamedFields } from '../../src/kinds/stored-as.ts';
import { opt, string } from '../../src/schema/schema.ts';
import { serverForSuite } from '../support/in-process-server.ts';

/** Versions of one resource that are served, or only stored, or not to be used any more; and that go while others stay. */

const group = 'flags.example';

/** Its only field is called after its version. */
const version = (name: string, more: Partial<Kind> = {}): Kind => ({
  ...defineKind({
    ...{ group, version: name, kind: 'Flag' },
    schema: kindSchema('', '', { [`in${name}`]: opt(0, string(), '') }),
  }),
  ...more,
});
const storedAs = (stored: Kind, name: string, more: Partial<Kind> = {}): Kind => {
  const kind = version(name, more);
  return { ...kind, storedAs: renamedFields(stored, kind, { [`in${name}`]: `in${stored.version}` }) };
};
const path = (name: string): string => `/apis/${group}/${name}/namespaces/default/flags`;
const list = (name: string): string => `/apis/${group}/${name}/flags`;

describe('versions of a resource', { timeout: 120_000 }, () => {
  const running = serverForSuite();
  const versions = async (): Promise<readonly string[]> =>
    ((await running.side.get(`/apis/${group}`)).json.versions ?? []).map((each) => each.version);

  test('one that is not served is unknown to requests, and stored all the same', async () => {
    const { server, side } = running;
    const v1 = version('v1', { served: false });
    const { resource } = await server.resources.addResource(v1);
    assert.equal((await side.get(path('v1'))).status, 404, 'none is served');
    assert.ok([...server.resources.stored()].includes(resource));
    await assert.rejects(server.resources.addResource(v1), /overlap/);
    const added = await server.resources.add(storedAs(v1, 'v2'));
    await side.create(path('v2'), { metadata: { name: 'a' }, inv2: 'text' });
    for (const at of [`${path('v1')}/a`, path('v1'), `/apis/${group}/v1`, `/openapi/v3/apis/${group}/v1`]) {
      assert.equal((await side.get(at)).status, 404, at);
    }
    assert.deepEqual(await versions(), ['v2']);
    const key = [...server.resources.stored()].find(({ kind }) => kind === v1 || kind.group === group);
    const entry = key?.collection.get(added.objectKey('default', 'a'));
    assert.deepEqual(JSON.parse(String(entry?.bytes)).inv1, 'text', 'in the form of the version that is not served');
    server.resources.remove(added.resource);
    assert.equal((await side.get(path('v2'))).status, 404);
    assert.equal([...server.resources.stored()].filter(({ kind }) => kind.group === group).length, 0);
  });

  test('one goes and the others stay; one of its name may come that converts in another way', async () => {
    const { server, side } = running;
    const v1 = version('v1');
    await server.resources.add(v1);
    await server.resources.add(storedAs(v1, 'v2'));
    const v3 = await server.resources.add(storedAs(v1, 'v3'));
    await side.create(path('v1'), { metadata: { name: 'b' }, inv1: 'text' });
    assert.equal((await side.get(`${path('v3')}/b`)).json.inv3, 'text');
    const stop = new AbortController();
    const gone = await side.follow(`${list('v3')}?watch=1`, stop.signal);
    const stays = await side.follow(`${list('v2')}?watch=1`, stop.signal);
    await until(() => gone.includes('ADDED b') && stays.includes('ADDED b'), 'the watches tell nothing');
    assert.throws(
      () => server.resources.removeVersion(server.resources.find(group, 'v1', 'flags') ?? v3),
      /flags are stored as flags.example\/v1/,
    );
    server.resources.removeVersion(v3);
    await until(() => gone.at(-1) === 'ended', 'the watch of the version that went goes on');
    assert.equal((await side.get(`${path('v3')}/b`)).status, 404);
    assert.deepEqual(await versions(), ['v2', 'v1']);
    const kind = version('v3');
    const other = { ...kind, storedAs: renamedFields(v1, kind, {}) };
    await server.resources.add({ ...other, schema: v1.schema });
    assert.equal((await side.get(`${path('v3')}/b`)).json.inv1, 'text', 'as the new one converts');
    await side.create(path('v1'), { metadata: { name: 'c' } });
    await until(() => stays.includes('ADDED c'), 'the watch of a version that stays has ended');
    assert.ok(!stays.includes('ended'));
    stop.abort();
    const resource = server.resources.find(group, 'v1', 'flags')?.resource;
    assert.ok(resource);
    server.resources.remove(resource);
    assert.deepEqual(await versions(), []);
  });
});
