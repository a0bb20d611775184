import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ApiObject } from '../../meta/api-object.ts';
import { StatusError } from '../../meta/status-error.ts';
import type { ResourceAttributes } from '../../request/authorization-attributes.ts';
import { attributesOf } from '../attributes-fixture.ts';
import { admissionChain } from '../chain.ts';
import { policyParameters } from './policy-parameters.ts';

const group = 'admissionregistration.orch.io';
const user = { username: 'ann', uid: '7', groups: ['devs', 'ops'], extra: { b: ['1'], a: ['2', '3'] } };
const shownUser = '&{ann 7 [devs ops] map[a:[2 3] b:[1]]}';

type Write = NonNullable<Parameters<typeof attributesOf>[0]>;

interface Setting {
  /** `resource namespace/name` that may be read. */
  readonly allowed?: readonly string[];
  readonly policy?: object;
  readonly masters?: boolean;
}

interface Admitted {
  readonly asked: readonly string[];
  /** The message of the refusal; '' if there is none. */
  readonly refusal: string;
}

async function admit(write: Write, { allowed = [], policy, masters = false }: Setting = {}): Promise<Admitted> {
  const asked: string[] = [];
  const plugin = policyParameters({
    group,
    authorize: ({ verb, group: of, version, resource, namespace, name }: ResourceAttributes) => {
      const question = `${verb} ${of}/${version} ${resource} ${namespace}/${name}`;
      asked.push(question);
      return { verdict: allowed.includes(question) ? 'allow' : 'noOpinion', reason: '' };
    },
    resourcesOf: (apiVersion, kind) =>
      `${apiVersion} ${kind}` === 'rules.example.com/v1 Limit' ? [{ resource: 'limits' }] : [],
    policy: (resource, name) =>
      policy && name === 'p' ? ({ kind: resource, spec: policy } as unknown as ApiObject) : undefined,
  });
  const attributes = attributesOf({ group, ...write });
  try {
    await admissionChain([plugin]).validate(masters ? attributes : { ...attributes, user });
    return { asked, refusal: '' };
  } catch (error) {
    assert.ok(error instanceof StatusError);
    assert.equal(error.reason, 'Invalid');
    return { asked, refusal: error.message };
  }
}

const paramKind = { apiVersion: 'rules.example.com/v1', kind: 'Limit' };
const onKind = 'get rules.example.com/v1 limits */*';

for (const [policies, bindings] of [
  ['validatingadmissionpolicies', 'validatingadmissionpolicybindings'],
  ['mutatingadmissionpolicies', 'mutatingadmissionpolicybindings'],
] as const) {
  describe(policies, () => {
    const refusal = (kind: string, apiVersion: string): string =>
      `Any.${group} "x" is invalid: spec.paramKind: Forbidden: user ${shownUser} must have "get" permission on all objects of the referenced paramKind (kind=${kind}, apiVersion=${apiVersion})`;
    const rows: readonly (readonly [what: string, write: Write, setting: Setting, expected: Admitted])[] = [
      ['without a paramKind', { object: { spec: {} } }, {}, { asked: [], refusal: '' }],
      ['without a spec', {}, {}, { asked: [], refusal: '' }],
      ['of an administrator', { object: { spec: { paramKind } } }, { masters: true }, { asked: [], refusal: '' }],
      [
        'refused',
        { object: { spec: { paramKind } } },
        {},
        { asked: [onKind], refusal: refusal('Limit', 'rules.example.com/v1') },
      ],
      ['allowed', { object: { spec: { paramKind } } }, { allowed: [onKind] }, { asked: [onKind], refusal: '' }],
      [
        'of a kind that is not served',
        { object: { spec: { paramKind: { apiVersion: 'v1', kind: 'Nothing' } } } },
        {},
        { asked: ['get /v1 * */*'], refusal: refusal('Nothing', 'v1') },
      ],
      [
        'an update that changes something else',
        { operation: 'update', object: { spec: { paramKind } }, old: { spec: { paramKind: { ...paramKind } } } },
        {},
        { asked: [], refusal: '' },
      ],
      [
        'an update of the paramKind',
        { operation: 'update', object: { spec: { paramKind } }, old: { spec: {} } },
        {},
        { asked: [onKind], refusal: refusal('Limit', 'rules.example.com/v1') },
      ],
      [
        'an update of the status',
        { operation: 'update', resource: `${policies}/status`, object: { spec: { paramKind } }, old: {} },
        {},
        { asked: [], refusal: '' },
      ],
      ['a deletion', { operation: 'delete', old: { spec: { paramKind } } }, {}, { asked: [], refusal: '' }],
      ['in another group', { group: 'example.com', object: { spec: { paramKind } } }, {}, { asked: [], refusal: '' }],
    ];
    for (const [what, write, setting, expected] of rows) {
      it(what, async () => assert.deepEqual(await admit({ resource: policies, ...write }, setting), expected));
    }
  });

  describe(bindings, () => {
    const refusal = `Any.${group} "x" is invalid: spec.paramRef: Forbidden: user ${shownUser} does not have "get" permission on the object referenced by paramRef`;
    const spec = { policyName: 'p', paramRef: { name: 'l', namespace: 'n' } };
    const onObject = 'get rules.example.com/v1 limits n/l';
    const rows: readonly (readonly [what: string, write: Write, setting: Setting, expected: Admitted])[] = [
      ['without a paramRef', { object: { spec: { policyName: 'p' } } }, {}, { asked: [], refusal: '' }],
      ['of an administrator', { object: { spec } }, { masters: true }, { asked: [], refusal: '' }],
      ['refused', { object: { spec } }, { policy: { paramKind } }, { asked: [onObject], refusal }],
      [
        'allowed',
        { object: { spec } },
        { policy: { paramKind }, allowed: [onObject] },
        { asked: [onObject], refusal: '' },
      ],
      [
        'by labels, in the namespace of the request',
        { object: { spec: { policyName: 'p', paramRef: { selector: {} } } } },
        { policy: { paramKind } },
        { asked: ['get rules.example.com/v1 limits /'], refusal },
      ],
      ['to no policy', { object: { spec } }, {}, { asked: ['get */* * n/l'], refusal }],
      ['to a policy without a paramKind', { object: { spec } }, { policy: {} }, { asked: ['get */* * n/l'], refusal }],
      [
        'an update that changes something else',
        { operation: 'update', object: { spec }, old: { spec: { ...spec, validationActions: ['Deny'] } } },
        {},
        { asked: [], refusal: '' },
      ],
      [
        'an update of the policy',
        { operation: 'update', object: { spec }, old: { spec: { ...spec, policyName: 'q' } } },
        { policy: { paramKind } },
        { asked: [onObject], refusal },
      ],
      [
        'an update of the reference',
        { operation: 'update', object: { spec }, old: { spec: { ...spec, paramRef: { name: 'other' } } } },
        { policy: { paramKind } },
        { asked: [onObject], refusal },
      ],
    ];
    for (const [what, write, setting, expected] of rows) {
      it(what, async () => assert.deepEqual(await admit({ resource: bindings, ...write }, setting), expected));
    }
  });
}
