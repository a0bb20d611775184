import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { kubernetes } from '../dialect/kubernetes.ts';
import { orch } from '../dialect/orch.ts';
import { kinds } from '../kinds/kinds.ts';
import { isEnabledVersion, requireServed, unknownKeys } from './runtime-config.ts';

const alpha = { group: 'a.example', version: 'v1alpha1', resource: 'things', offByDefault: true } as const;
const beta = { ...alpha, version: 'v2beta3' } as const;
const stable = { group: 'a.example', version: 'v1', resource: 'things' } as const;
const core = { group: '', version: 'v1', resource: 'pods' } as const;
const all = [alpha, beta, stable, core];

/** Settings, and the versions beyond the default ones that are then served. */
const rows: readonly (readonly [settings: Readonly<Record<string, boolean>>, served: readonly string[]])[] = [
  [{}, []],
  [{ 'a.example/v1alpha1': true }, ['v1alpha1']],
  [{ 'a.example/v1alpha1': false }, []],
  [{ 'a.example/v1alpha1/things': true }, ['v1alpha1']],
  [{ 'a.example/v1alpha1/others': true }, []],
  [{ 'b.example/v1alpha1': true }, []],
  [{ 'api/alpha': true }, ['v1alpha1']],
  [{ 'api/beta': true }, ['v2beta3']],
  [{ 'api/ga': true }, []],
  [{ 'api/all': true }, ['v1alpha1', 'v2beta3']],
  [{ 'api/all': true, 'api/alpha': false }, ['v2beta3']],
  [{ 'api/alpha': true, 'a.example/v1alpha1': false }, []],
  [{ 'a.example/v1alpha1': true, 'a.example/v1alpha1/things': false }, []],
  [{ 'a.example/v1alpha1': false, 'a.example/v1alpha1/things': true }, ['v1alpha1']],
];

describe('API versions to serve', () => {
  for (const [settings, served] of rows) {
    it(JSON.stringify(settings), () => {
      const config = new Map(Object.entries(settings));
      const found = all.filter((kind) => isEnabledVersion(kind, config)).map(({ version }) => version);
      assert.deepEqual(found, [...served, 'v1', 'v1']);
      requireServed(all, config);
    });
  }

  for (const key of ['api/all', 'api/ga', 'a.example/v1', 'a.example/v1/things', 'v1', 'v1/pods']) {
    it(`${key}=false is refused`, () =>
      assert.throws(() => requireServed(all, new Map([[key, false]])), {
        message: `${key}=false: APIs cannot be switched off: forbid their use by roles`,
      }));
  }

  it('settings of APIs that are not there are named', () => {
    const settings = ['api/all', 'api/beta', 'a.example/v1', 'v1', 'a.example/v3', 'batch/v1', 'v1/cats', 'api/gamma'];
    assert.deepEqual(unknownKeys(all, new Map(settings.map((key) => [key, true]))), settings.slice(4));
  });

  for (const dialect of [orch, kubernetes]) {
    it(`${dialect.name}: exactly the built-in versions that are not stable are off by default`, () => {
      for (const { kind, version, offByDefault = false } of kinds(dialect)) {
        assert.equal(offByDefault, !/^v\d+$/.test(version), `${kind} ${version}`);
      }
    });
  }
});
