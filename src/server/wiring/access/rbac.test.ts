import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { attributesOf } from '../../../admission/attributes-fixture.ts';
import { RbacIndex } from '../../../authz/rbac/rbac-index.ts';
import { makeRole, makeUser, rbacGroup } from '../../../authz/rbac/rbac-objects-fixture.ts';
import { orch } from '../../../dialect/orch.ts';
import type { AdmissionAttributes } from '../../../request/admission.ts';
import { escalationPrevention } from './rbac.ts';

const group = rbacGroup;

/** A write of the role `own` by a user without rights. */
const writeOf = (fields: Partial<AdmissionAttributes>, requestName: string): AdmissionAttributes => ({
  ...attributesOf(),
  info: { group, version: 'v1', resource: 'roles', subresource: '', namespace: 'team', name: requestName },
  name: 'own',
  kind: { group, version: 'v1', kind: 'Role' },
  object: makeRole('team', 'own', { verbs: ['get'], apiGroups: [''], resources: ['secrets'] }),
  old: undefined,
  user: makeUser('jane'),
  ...fields,
});

describe('escalation prevention', () => {
  const asked: string[] = [];
  const index = new RbacIndex(group);
  const guard = escalationPrevention(orch, {
    heldRules: (user, namespace) => index.heldRules(user, namespace),
    roleRules: (kind, name, namespace) => index.roleRules(kind, name, namespace),
    isAllowed({ verb, resource, namespace, name }) {
      asked.push(`${verb} ${resource} ${namespace}/${name}`);
      return false;
    },
  });
  const old = makeRole('team', 'own');

  for (const [what, write, question] of [
    ['a POST names no object', writeOf({}, ''), 'escalate roles team/'],
    ['a PUT or an apply that creates names it', writeOf({}, 'own'), 'escalate roles team/own'],
    ['an update names it', writeOf({ operation: 'update', old }, 'own'), 'escalate roles team/own'],
    ['a dry run is guarded too', writeOf({ dryRun: true }, 'own'), 'escalate roles team/own'],
  ] as const) {
    test(what, async () => {
      asked.length = 0;
      assert.ok(guard.concerns(write));
      await assert.rejects(async () => guard.validate?.(write), { code: 403 });
      assert.deepEqual(asked, [question]);
    });
  }

  test('ignores deletions and other kinds', () => {
    assert.equal(guard.concerns(writeOf({ operation: 'delete', object: undefined, old }, 'own')), false);
    assert.equal(guard.concerns(writeOf({ kind: { group, version: 'v1', kind: 'toString' } }, 'own')), false);
    assert.equal(guard.concerns(writeOf({ kind: { group: '', version: 'v1', kind: 'Role' } }, 'own')), false);
  });
});
