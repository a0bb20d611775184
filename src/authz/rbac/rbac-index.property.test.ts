import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Subject } from '../../kinds/rbac/binding.ts';
import type { PolicyRule } from '../../kinds/rbac/policy-rule.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { UserInfo } from '../../request/user-info.ts';
import type { Attributes } from '../authorizer.ts';
import { evaluate } from './naive-evaluator-fixture.ts';
import { RbacIndex, type RbacKind } from './rbac-index.ts';
import { makeBinding, makeRole, makeUser, rbacGroup } from './rbac-objects-fixture.ts';

/** Pseudo-random numbers from a seed (mulberry32). */
class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T;
  }

  /** Sometimes empty. */
  some<T>(values: readonly T[], atMost: number): T[] {
    const count = this.below(12) === 0 ? 0 : 1 + this.below(atMost);
    return Array.from({ length: count }, () => this.pick(values));
  }
}

const namespaces = ['a', 'b'];
const names = ['x', 'y', '', 'x'];
const verbs = ['get', 'get', 'list', '*'];
const groups = ['', '', 'apps', '*'];
const resources = ['pods', 'secrets', 'pods/log', '*/log', '*', 'pods/*'];
const paths = ['/a', '/a/b', '/a/*', '/a*', '*', '/', '/a/b**'];
const roleNames = ['r1', 'r2', 'r3'];
const bindingNames = ['b1', 'b2', 'b3', 'b4', 'b5'];
const roleKinds = ['Role', 'Role', 'ClusterRole', 'ClusterRole', 'ClusterRole', 'ClusterRole', 'Robot'];
const userNames = ['u1', 'u2', 'system:serviceaccount:a:u1', 'system:serviceaccount:b:u2'];
const groupNames = ['g1', 'g2', 'u1'];

function anyRule(dice: Dice): PolicyRule {
  if (dice.below(3) === 0) return { verbs: dice.some(verbs, 2), nonResourceURLs: dice.some(paths, 2) };
  const rule = { verbs: dice.some(verbs, 2), apiGroups: dice.some(groups, 2), resources: dice.some(resources, 2) };
  return dice.below(3) === 0 ? { ...rule, resourceNames: dice.some(names, 2) } : rule;
}

function anySubject(dice: Dice): Subject {
  const kind = dice.pick(['User', 'User', 'Group', 'Group', 'ServiceAccount', 'Robot']);
  if (kind !== 'ServiceAccount') return { kind, name: dice.pick(kind === 'Group' ? groupNames : userNames) };
  const namespace = dice.pick(['', ...namespaces]);
  return { kind, name: dice.pick(['u1', 'u2']), ...(namespace !== '' && { namespace }) };
}

function anyObject(dice: Dice): ApiObject {
  const namespace = dice.pick(['', ...namespaces]);
  if (dice.below(5) < 3) {
    const rules = Array.from({ length: 1 + dice.below(3) }, () => anyRule(dice));
    return makeRole(namespace, dice.pick(roleNames), ...rules);
  }
  const subjects = Array.from({ length: 1 + dice.below(4) }, () => anySubject(dice));
  return makeBinding(
    namespace,
    dice.pick(bindingNames),
    `${dice.pick(roleKinds)}/${dice.pick(roleNames)}`,
    ...subjects,
  );
}

const anyUser = (dice: Dice): UserInfo => makeUser(dice.pick(userNames), ...dice.some(groupNames, 3));

function anyQuestion(dice: Dice): Attributes {
  const verb = dice.pick([...verbs, 'watch']);
  if (dice.below(3) === 0) return { type: 'path', verb, path: dice.pick([...paths, '/a/', '/a/b/c', '/b']) };
  return {
    type: 'resource',
    verb,
    group: dice.pick(['', '', 'apps', 'batch']),
    version: 'v1',
    resource: dice.pick(['pods', 'pods', 'secrets', 'nodes', '*']),
    subresource: dice.pick(['', '', 'log', 'exec', '*']),
    namespace: dice.pick(['', ...namespaces, 'c']),
    name: dice.pick([...names, 'z']),
  };
}

const keyOf = ({ kind, metadata }: ApiObject): string => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;

/** The binding that a reason says allowed the request, or the roles that it says are missing. */
function readReason(reason: string): { allowedBy: string | undefined; missing: readonly string[] } {
  const [, kind, name = ''] = /^RBAC: allowed by (\w+) ("[^"]*") of /.exec(reason) ?? [];
  if (kind) return { allowedBy: `${kind} ${JSON.parse(name).split('/')[0]}`, missing: [] };
  const missing = [...reason.matchAll(/(\w+)\.rbac\S* "(\w+)" not found/g)].map(
    ([, role, title]) => `${role} ${title}`,
  );
  const unknown = [...reason.matchAll(/unsupported role reference kind: "(\w+)"/g)].map(([, title]) => `kind ${title}`);
  return { allowedBy: undefined, missing: [...missing, ...unknown].sort() };
}

const describeMissing = (missing: readonly string[]): readonly string[] =>
  [...new Set(missing.map((each) => (each.startsWith('Robot ') ? 'kind Robot' : each.toLowerCase())))]
    .map((each) => (each === 'kind robot' ? 'kind Robot' : each))
    .sort();

const worlds = 1_000;
const stepsPerWorld = 10;
const questionsPerStep = 10;

test('RBAC: 100,000 decisions while roles and bindings change agree with a literal implementation of the spec', () => {
  let [allowed, refused, incomplete] = [0, 0, 0];
  for (let seed = 0; seed < worlds; seed++) {
    const dice = new Dice(seed);
    const index = new RbacIndex(rbacGroup);
    const stored = new Map<string, ApiObject>();
    for (let i = 0; i < 8; i++) change(dice, index, stored);
    for (let step = 0; step < stepsPerWorld; step++) {
      change(dice, index, stored);
      const objects = [...stored.values()];
      for (let i = 0; i < questionsPerStep; i++) {
        const [question, user] = [anyQuestion(dice), anyUser(dice)];
        const expected = evaluate(objects, question, user);
        const { verdict, reason } = index.authorize(question, user);
        const said = readReason(reason);
        const where = () => JSON.stringify({ seed, step, question, user, objects, expected, verdict, reason });
        if (expected.allowedBy.length > 0) {
          allowed++;
          assert.equal(verdict, 'allow', where());
          assert.ok(expected.allowedBy.includes(said.allowedBy ?? ''), where());
        } else {
          refused++;
          if (expected.missing.length > 0) incomplete++;
          assert.equal(verdict, 'noOpinion', where());
          assert.deepEqual(said.missing, describeMissing(expected.missing), where());
        }
      }
    }
  }
  assert.equal(allowed + refused, worlds * stepsPerWorld * questionsPerStep);
  // The cases cover all kinds of results.
  assert.ok(Math.min(allowed, refused, incomplete) > 10_000, JSON.stringify({ allowed, refused, incomplete }));
});

/** Adds, replaces and removes some objects, in the index and in the reference. */
function change(dice: Dice, index: RbacIndex, stored: Map<string, ApiObject>): void {
  for (let i = dice.below(8); i >= 0; i--) {
    const object = anyObject(dice);
    const kind = object.kind as RbacKind;
    if (dice.below(8) > 0) {
      index.put(kind, object);
      stored.set(keyOf(object), object);
    } else {
      index.remove(kind, object.metadata.namespace ?? '', object.metadata.name ?? '');
      stored.delete(keyOf(object));
    }
  }
}
