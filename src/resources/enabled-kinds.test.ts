import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { orch } from '../dialect/orch.ts';
import { alphaOf, gadget } from '../kinds/gated-kind-fixture.ts';
import type { Kind } from '../kinds/kind.ts';
import { kinds } from '../kinds/kinds.ts';
import { enabledKinds } from './enabled-kinds.ts';

/** `Kind version` of each kind that remains; in parentheses if it is not served. */
function enabled(all: readonly Kind[], settings: Readonly<Record<string, boolean>>, ...features: readonly string[]) {
  const left = enabledKinds(all, { features: new Set(features), runtimeConfig: new Map(Object.entries(settings)) });
  return left.map(({ kind, version, served }) => {
    const name = `${kind} ${version}`;
    return served === false ? `(${name})` : name;
  });
}

describe('kinds that remain', () => {
  const stable: Kind = { ...gadget, version: 'v1' };
  const { gate, ...alpha } = alphaOf(stable);
  const early: Kind = { ...alpha, offByDefault: true };
  const alone: Kind = { ...stable, version: 'v1alpha1', offByDefault: true };
  const review: Kind | undefined = kinds(orch).find(
    ({ kind, version }) => kind === 'SelfSubjectReview' && version === 'v1',
  );
  assert.ok(review);
  const group = gadget.group;
  const rows: readonly (readonly [string, readonly Kind[], Readonly<Record<string, boolean>>, readonly string[]])[] = [
    ['on by default', [stable], {}, ['Gadget v1']],
    ['switched off, but stored: the server works with its objects', [stable], { 'api/all': false }, ['(Gadget v1)']],
    ['off by default: nobody has such objects', [alone], {}, []],
    ['off by default, switched on', [alone], { [`${group}/v1alpha1`]: true }, ['Gadget v1alpha1']],
    ['switched off and never stored', [review], { 'api/ga': false }, []],
    ['a form of a stored kind', [stable, early], {}, ['Gadget v1']],
    ['a form whose stored kind is off', [alone, { ...early, version: 'v1beta1' }], {}, []],
    [
      'only the form',
      [stable, early],
      { 'api/ga': false, 'api/alpha': true },
      ['(Gadget v1)', `Gadget ${early.version}`],
    ],
  ];
  for (const [why, all, settings, left] of rows) it(why, () => assert.deepEqual(enabled(all, settings), left));

  it('a kind whose gate is off is not there, stored or not', () => {
    assert.equal(gate, 'Gadgets');
    const gated: Kind = { ...stable, gate };
    assert.deepEqual(enabled([gated], {}), []);
    assert.deepEqual(enabled([gated], { 'api/all': true }), []);
    assert.deepEqual(enabled([gated], { 'api/all': false }, 'Gadgets'), ['(Gadget v1)']);
    assert.deepEqual(enabled([gated], {}, 'Gadgets'), ['Gadget v1']);
  });
});
