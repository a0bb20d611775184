import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { StatusError } from '../../src/meta/status-error.ts';
import { RegistryFixture } from '../../src/registry/registry-fixture.ts';
import type { PatchFormat } from '../../src/registry/write/patch-formats.ts';
import type { AdmissionAttributes } from '../../src/request/admission.ts';

/** No write passes admission by, and admission judges what will be stored against what is stored (CVE-2016-1905, CVE-2021-25735). */

const collection = '/api/v1/namespaces/n/configmaps';
const pods = '/api/v1/namespaces/n/pods';
const container = { name: 'c', image: 'i' };

/** A copy of what admission was shown: plugins see the live objects. */
interface Seen {
  readonly phase: 'mutate' | 'validate';
  readonly operation: string;
  readonly object: string | undefined;
  readonly old: string | undefined;
}

/** A registry whose admission keeps what it sees, and refuses everything from `refuse` on. */
async function observed() {
  const seen: Seen[] = [];
  let refusing = false;
  const note = (phase: Seen['phase'], { operation, object, old }: AdmissionAttributes): void => {
    const text = (value: unknown): string | undefined => (value === undefined ? undefined : JSON.stringify(value));
    seen.push({ phase, operation, object: text(object), old: text(old) });
    if (refusing && phase === 'validate') throw new StatusError('Forbidden', 'refused by the test');
  };
  const fixture = await RegistryFixture.open({
    admission: {
      mutate: (attributes) => note('mutate', attributes),
      validate: (attributes) => note('validate', attributes),
    },
  });
  await fixture.call('POST', collection, { metadata: { name: 'a' }, data: { stored: 'yes', both: 'stored' } });
  await fixture.call('POST', pods, { metadata: { name: 'p' }, spec: { containers: [container] } });
  seen.length = 0;
  return {
    fixture,
    seen,
    refuse() {
      refusing = true;
    },
  };
}

interface Door {
  readonly what: string;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly format?: PatchFormat;
  /** In the object that admission must be shown. */
  readonly result?: RegExp;
}

const doors: readonly Door[] = [
  {
    what: 'create',
    method: 'POST',
    path: collection,
    body: { metadata: { name: 'b' }, data: { new: 'yes' } },
    result: /"new"/,
  },
  {
    what: 'update',
    method: 'PUT',
    path: `${collection}/a`,
    body: { metadata: { name: 'a' }, data: { both: 'sent' } },
    result: /"both":"sent"/,
  },
  {
    what: 'merge patch',
    method: 'PATCH',
    path: `${collection}/a`,
    body: { data: { both: 'sent' } },
    format: 'merge',
    result: /(?=.*"stored":"yes")(?=.*"both":"sent")/,
  },
  {
    what: 'strategic merge patch',
    method: 'PATCH',
    path: `${collection}/a`,
    body: { data: { both: 'sent' } },
    format: 'strategic',
    result: /(?=.*"stored":"yes")(?=.*"both":"sent")/,
  },
  {
    what: 'JSON patch',
    method: 'PATCH',
    path: `${collection}/a`,
    body: [{ op: 'replace', path: '/data/both', value: 'sent' }],
    format: 'json',
    result: /(?=.*"stored":"yes")(?=.*"both":"sent")/,
  },
  {
    what: 'status update',
    method: 'PUT',
    path: `${pods}/p/status`,
    body: { metadata: { name: 'p' }, spec: { containers: [container] }, status: { message: 'sent' } },
    result: /"message":"sent"/,
  },
  { what: 'delete', method: 'DELETE', path: `${collection}/a` },
  { what: 'delete of a collection', method: 'DELETE', path: collection },
];

for (const { what, method, path, body, format, result } of doors) {
  describe(what, () => {
    test('is shown to admission as it will be, beside what is stored', async () => {
      const { fixture, seen } = await observed();
      await using _ = fixture;
      if (format) fixture.patchType = format;
      await fixture.call(method, path, body);
      assert.deepEqual([...new Set(seen.map(({ phase }) => phase))].sort(), ['mutate', 'validate']);
      for (const { object, old } of seen) {
        if (result) assert.match(object ?? '', result);
        else assert.equal(object, undefined);
        if (method === 'POST') assert.equal(old, undefined);
        else assert.doesNotMatch(old ?? '"sent"', /"sent"/, 'the old object is never what the client sent');
        if (method !== 'POST') assert.match(old ?? '', /"uid":/);
      }
    });

    test('is not kept when admission refuses it', async () => {
      const { fixture, refuse } = await observed();
      await using _ = fixture;
      if (format) fixture.patchType = format;
      refuse();
      const before = await fixture.store.head();
      const error = await fixture.refusal(method, path, body);
      assert.equal(error.message, 'refused by the test');
      assert.equal(await fixture.store.head(), before, 'nothing was written');
    });
  });
}
