import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { OrchProcess } from '../support/orch-process.ts';

/** However much a request gives reason to warn of, its answer has headers that every client takes. */

let server: OrchProcess;
before(async () => {
  server = await OrchProcess.start();
  assert.equal((await server.post(`${namespace}/configmaps`, named('there'))).status, 201);
});
after(() => server[Symbol.asyncDispose]());

const namespace = '/api/v1/namespaces/default';
const configMap = `${namespace}/configmaps/there`;
const authorization = '/apis/authorization.orch.io/v1';

const odd = (count: number, letters: number): Record<string, number> =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`${'o'.repeat(letters)}${n}`, 1]));
const named = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });
const patchType = (type: string) => ({ 'content-type': `application/${type}` });

type Place = readonly [method: string, path: string, body: (odd: object) => unknown, headers?: Record<string, string>];
const places: Readonly<Record<string, Place>> = {
  'a create': ['POST', `${namespace}/configmaps?dryRun=All`, (more) => ({ ...named('new'), ...more })],
  'a create in YAML': [
    'POST',
    `${namespace}/configmaps?dryRun=All`,
    (more) =>
      Object.entries({ metadata: '{name: new}', ...more })
        .map(([key, value]) => `? ${key}\n: ${value}\n`)
        .join(''),
    patchType('yaml'),
  ],
  'an update': ['PUT', configMap, (more) => ({ ...named('there'), ...more })],
  'a merge patch': ['PATCH', configMap, (more) => more, patchType('merge-patch+json')],
  'a strategic merge patch': ['PATCH', configMap, (more) => more, patchType('strategic-merge-patch+json')],
  'a JSON patch': [
    'PATCH',
    configMap,
    (more) => Object.keys(more).map((key) => ({ op: 'test', path: '/kind', value: 'ConfigMap', [key]: 1 })),
    patchType('json-patch+json'),
  ],
  'an apply': [
    'PATCH',
    `${configMap}?fieldManager=m`,
    (more) => ({ ...named('there'), ...more }),
    patchType('apply-patch+yaml'),
  ],
  'a review': [
    'POST',
    `${authorization}/selfsubjectaccessreviews`,
    (more) => ({ spec: { nonResourceAttributes: { path: '/', verb: 'get' } }, ...more }),
  ],
  'an action': [
    'POST',
    `${namespace}/serviceaccounts/default/token`,
    (more) => ({ spec: { audiences: ['a'], ...more } }),
  ],
  'a refusal': ['POST', `${namespace}/configmaps`, (more) => ({ ...named('No Name'), ...more })],
};

for (const [what, [method, path, body, headers = {}]] of Object.entries(places)) {
  for (const [count, letters] of [
    [2, 3],
    [60, 3],
    [1_900, 10],
    [40, 3_000],
    [1, 20_000],
  ] as const) {
    test(`${what} with ${count} names of ${letters} letters that nobody knows`, async () => {
      const answer = await server.request(method, path, { body: body(odd(count, letters)), headers });
      assert.equal(answer.status < 300, what !== 'a refusal', answer.text.slice(0, 300));
      const header = [answer.headers['warning'] ?? []].flat().join(', ');
      const warnings = header.match(/299 - "(?:[^"\\]|\\.)*"/g) ?? [];
      assert.ok(warnings.length > 0 && warnings.length <= 50, String(warnings.length));
      assert.ok(warnings.join('').length <= 4096, String(warnings.join('').length));
      const isCut = /there are more or longer warnings/.test(warnings.at(-1) ?? '');
      assert.equal(isCut, count > 50 || letters * count > 4096);
    });
  }
}
