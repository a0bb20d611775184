import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { kubernetes } from '../dialect/kubernetes.ts';
import { orch } from '../dialect/orch.ts';
import { publishedApiVersions } from '../dialect/published-api-versions.ts';
import { kinds } from '../kinds/kinds.ts';
import { checkRuntimeConfig, isEnabledVersion, unknownKeys } from './runtime-config.ts';

const alpha = { group: 'a.example', version: 'v1alpha1', resource: 'things', offByDefault: true } as const;
const beta = { ...alpha, version: 'v2beta3' } as const;
/** Introduced before beta versions were off by default (spec section 9). */
const oldBeta = { group: 'a.example', version: 'v1beta1', resource: 'things' } as const;
const stable = { group: 'a.example', version: 'v1', resource: 'things' } as const;
const core = { group: '', version: 'v1', resource: 'pods' } as const;
const events = { ...core, resource: 'events' } as const;
const all = { alpha, beta, oldBeta, stable, core, events };
type Name = keyof typeof all;
const byDefault: readonly Name[] = ['oldBeta', 'stable', 'core', 'events'];

/** Settings, and the versions that are then served. */
const rows: readonly (readonly [settings: Readonly<Record<string, boolean>>, served: readonly Name[]])[] = [
  [{}, byDefault],
  [{ 'a.example/v1alpha1': true }, ['alpha', ...byDefault]],
  [{ 'a.example/v1alpha1': false }, byDefault],
  [{ 'a.example/v1alpha1/things': true }, ['alpha', ...byDefault]],
  [{ 'a.example/v1alpha1/others': true }, byDefault],
  [{ 'b.example/v1alpha1': true }, byDefault],
  [{ 'a.example/v1': false }, ['oldBeta', 'core', 'events']],
  [{ 'a.example/v1/things': false }, ['oldBeta', 'core', 'events']],
  [{ v1: false }, ['oldBeta', 'stable']],
  [{ 'v1/pods': false }, ['oldBeta', 'stable', 'events']],
  [{ v1: false, 'v1/events': true }, ['oldBeta', 'stable', 'events']],
  [{ 'api/alpha': true }, ['alpha', ...byDefault]],
  [{ 'api/beta': true }, ['beta', ...byDefault]],
  [{ 'api/beta': false }, ['stable', 'core', 'events']],
  [{ 'api/ga': true }, byDefault],
  [{ 'api/ga': false }, ['oldBeta']],
  [{ 'api/all': true }, ['alpha', 'beta', ...byDefault]],
  [{ 'api/all': false, 'a.example/v1': true }, ['stable']],
  [{ 'api/all': false, 'api/ga': true }, ['stable', 'core', 'events']],
  [{ 'api/all': true, 'api/alpha': false }, ['beta', ...byDefault]],
  [{ 'api/alpha': true, 'a.example/v1alpha1': false }, byDefault],
  [{ 'a.example/v1alpha1': true, 'a.example/v1alpha1/things': false }, byDefault],
  [{ 'a.example/v1alpha1': false, 'a.example/v1alpha1/things': true }, ['alpha', ...byDefault]],
  [{ 'api/all': false, 'a.example/v1alpha1/things': true }, ['alpha']],
];

describe('API versions to serve', () => {
  for (const [settings, served] of rows) {
    it(JSON.stringify(settings), () => {
      // The order in which settings are given does not count.
      for (const given of [Object.entries(settings), Object.entries(settings).reverse()]) {
        const config = new Map(given);
        const found = Object.entries(all).flatMap(([name, kind]) => (isEnabledVersion(kind, config) ? [name] : []));
        assert.deepEqual(found, served);
      }
    });
  }

  it('settings of APIs that are not there are named', () => {
    const settings = ['api/all', 'api/beta', 'a.example/v1', 'v1', 'a.example/v3', 'batch/v1', 'v1/cats'];
    const found = unknownKeys(Object.values(all), new Map(settings.map((key) => [key, true])));
    assert.deepEqual(found, settings.slice(4));
  });

  const known = new Map([...Object.entries({ '': ['v1'], 'a.example': ['v1', 'v1alpha1'] })]);
  for (const [key, message] of [
    ['b.example/v1', 'unknown api groups b.example'],
    ['b.example/v1/things', 'unknown api groups b.example'],
    ['api/gamma', 'unknown api groups api'],
    ['toString/v1', 'unknown api groups toString'],
    ['a.example/v2', 'group version a.example/v2 that has not been registered'],
    ['v2', 'group version v2 that has not been registered'],
    ['v2/pods', 'group version v2 that has not been registered'],
    ['a.example', /^invalid key a\.example: /],
    ['a.example/', /^invalid key a\.example\/: /],
    ['a.example/v1/', /^invalid key a\.example\/v1\/: /],
    ['a.example/v1/things/status', /^invalid key a\.example\/v1\/things\/status: /],
    ['v1/pods/status', /^invalid key v1\/pods\/status: /],
    ['a.example/v1/Things', /^invalid key a\.example\/v1\/Things: .*lower-case/],
  ] as const) {
    for (const isOn of [true, false]) {
      it(`${key}=${isOn} is refused`, () =>
        assert.throws(() => checkRuntimeConfig(new Map([[key, isOn]]), known), { message }));
    }
  }
  it('all unknown groups are named, each once', () => {
    const keys = ['b.example/v1', 'v1', 'c.example/v1', 'b.example/v2/things'];
    const config = new Map(keys.map((key) => [key, true]));
    assert.throws(() => checkRuntimeConfig(config, known), { message: 'unknown api groups b.example,c.example' });
  });

  it('a server without any API is refused', () => {
    assert.throws(
      () => checkRuntimeConfig(new Map([['api/all', false]]), known),
      /invalid key with only api\/all=false/,
    );
    checkRuntimeConfig(new Map(Object.entries({ 'api/all': false, 'v1/pods': true })), known);
  });

  for (const dialect of [orch, kubernetes]) {
    it(`${dialect.name}: exactly the built-in versions that are not stable are off by default, and all are published`, () => {
      for (const { kind, group, version, offByDefault = false } of kinds(dialect)) {
        assert.equal(offByDefault, !/^v\d+$/.test(version), `${kind} ${version}`);
        assert.ok(publishedApiVersions(dialect).get(group)?.includes(version), `${group}/${version}`);
      }
    });
  }
});
