import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import type { Decision } from '../../request/access.ts';
import type { Attributes, ResourceAttributes } from '../../request/authorization-attributes.ts';
import type { UserInfo } from '../../request/user-info.ts';
import { answerTo, errorsOf, jane } from '../answer-fixture.ts';
import type { Kind } from '../kind.ts';
import { localSubjectAccessReview } from './local-subject-access-review.ts';
import { selfSubjectAccessReview } from './self-subject-access-review.ts';
import { subjectAccessReview } from './subject-access-review.ts';

type Sent = Readonly<Record<string, unknown>>;

const makers = {
  self: selfSubjectAccessReview,
  subject: subjectAccessReview,
  local: localSubjectAccessReview,
} as const;

const kindOf = (name: keyof typeof makers): Kind => makers[name](orch);

const allow: Decision = { verdict: 'allow', reason: 'because' };

/** Runs a review; returns its answer and the attributes that the authorizers received. */
async function review(name: keyof typeof makers, sent: Sent, decision: Decision = allow) {
  const asked: (readonly [UserInfo, Attributes])[] = [];
  const { object } = await answerTo(kindOf(name), sent, {
    authorize: (...question) => {
      asked.push(question);
      return decision;
    },
  });
  const [[user, attributes] = []] = asked;
  assert.ok(user && attributes && asked.length === 1);
  return { object, status: object['status'], user, attributes };
}

const get = { verb: 'get', resource: 'pods' };
const about = (resource: Sent = get, more: Sent = {}): Sent => ({ spec: { resourceAttributes: resource, ...more } });

describe('access reviews (spec section 5.7)', () => {
  it('show what was asked, with the answer', async () => {
    const { object } = await review('self', about());
    assert.deepEqual(object, {
      kind: 'SelfSubjectAccessReview',
      apiVersion: 'authorization.orch.io/v1',
      metadata: { creationTimestamp: null },
      spec: { resourceAttributes: get },
      status: { allowed: true, reason: 'because' },
    });
  });

  for (const [what, decision, status] of [
    ['allowed', allow, { allowed: true, reason: 'because' }],
    ['denied', { verdict: 'deny', reason: 'no' }, { allowed: false, denied: true, reason: 'no' }],
    ['no opinion', { verdict: 'noOpinion', reason: '' }, { allowed: false }],
    [
      'something went wrong',
      { verdict: 'noOpinion', reason: 'why', evaluationError: 'a webhook is down' },
      { allowed: false, reason: 'why', evaluationError: 'a webhook is down' },
    ],
  ] as const) {
    it(`answer: ${what}`, async () => assert.deepEqual((await review('self', about(), decision)).status, status));
  }

  it('do not heed a status that a client writes', async () => {
    const sent = { ...about(), status: { allowed: true } };
    assert.deepEqual((await review('self', sent, { verdict: 'noOpinion', reason: '' })).status, { allowed: false });
  });

  it('ask about everything that was said', async () => {
    const whole = {
      verb: 'list',
      group: 'apps',
      version: 'v1beta1',
      resource: 'things',
      subresource: 'status',
      namespace: 'n',
      name: 'x',
    };
    const { attributes } = await review('self', about(whole));
    assert.deepEqual(attributes, { type: 'resource', ...whole, fieldSelector: undefined, labelSelector: undefined });
  });

  it('ask about every version where none is named', async () => {
    const { attributes } = await review('self', about({ verb: '*', group: '*', resource: '*' }));
    assert.deepEqual(attributes, {
      type: 'resource',
      verb: '*',
      group: '*',
      version: '*',
      resource: '*',
      subresource: '',
      namespace: '',
      name: '',
      fieldSelector: undefined,
      labelSelector: undefined,
    });
  });

  it('ask about paths', async () => {
    const { attributes } = await review('self', { spec: { nonResourceAttributes: { path: '/metrics', verb: 'get' } } });
    assert.deepEqual(attributes, { type: 'path', path: '/metrics', verb: 'get' });
    const { attributes: nothing } = await review('self', { spec: { nonResourceAttributes: {} } });
    assert.deepEqual(nothing, { type: 'path', path: '', verb: '' });
  });

  it('are about the caller, or about whom they name and no more', async () => {
    assert.deepEqual((await review('self', about())).user, jane);
    const named = { user: 'bob', uid: 'u', groups: ['a'], extra: { k: ['v', 'w'] } };
    const bob = { username: 'bob', uid: 'u', groups: ['a'], extra: { k: ['v', 'w'] } };
    assert.deepEqual((await review('subject', about(get, named))).user, bob);
    const groups = (await review('subject', about(get, { groups: ['a'] }))).user;
    assert.deepEqual(groups, { username: '', uid: '', groups: ['a'], extra: {} });
    const local = { ...about({ ...get, namespace: 'n' }, named), metadata: { namespace: 'n' } };
    assert.deepEqual((await review('local', local)).user, bob);
  });
});

describe('what is wrong with an access review', () => {
  const both = { resourceAttributes: get, nonResourceAttributes: { path: '/x' } };
  const one = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
  const combined =
    'spec.nonResourceAttributes: Invalid value: authorization.NonResourceAttributes{Path:"/x", Verb:""}: cannot be specified in combination with resourceAttributes';
  const somebody = 'spec.user: Invalid value: "": at least one of user or group must be specified';
  const local = (spec: Sent, metadata: Sent = {}): Sent => ({
    spec: { user: 'bob', ...spec },
    metadata: { namespace: 'n', ...metadata },
  });
  const here = { resourceAttributes: { ...get, namespace: 'n' } };
  for (const [name, sent, errors] of [
    ['self', about(), []],
    ['self', {}, [`spec.resourceAttributes: Invalid value: "null": ${one}`]],
    ['self', { spec: both }, [combined]],
    ['self', { ...about(), metadata: { managedFields: [{ manager: 'm' }] } }, []],
    ['self', { ...about(), metadata: { creationTimestamp: null } }, []],
    [
      'self',
      { ...about(), metadata: { name: 'x' } },
      [
        'metadata: Invalid value: v1.ObjectMeta{Name:"x", GenerateName:"", Namespace:"", SelfLink:"", UID:"", ResourceVersion:"", Generation:0, CreationTimestamp:time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC), DeletionTimestamp:<nil>, DeletionGracePeriodSeconds:(*int64)(nil), Labels:map[string]string(nil), Annotations:map[string]string(nil), OwnerReferences:[]v1.OwnerReference(nil), Finalizers:[]string(nil), ManagedFields:[]v1.ManagedFieldsEntry(nil)}: must be empty',
      ],
    ],
    [
      'self',
      { ...about(), metadata: { labels: { a: 'b' } } },
      [
        'metadata: Invalid value: v1.ObjectMeta{Name:"", GenerateName:"", Namespace:"", SelfLink:"", UID:"", ResourceVersion:"", Generation:0, CreationTimestamp:time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC), DeletionTimestamp:<nil>, DeletionGracePeriodSeconds:(*int64)(nil), Labels:map[string]string{"a":"b"}, Annotations:map[string]string(nil), OwnerReferences:[]v1.OwnerReference(nil), Finalizers:[]string(nil), ManagedFields:[]v1.ManagedFieldsEntry(nil)}: must be empty',
      ],
    ],
    ['subject', about(get, { user: 'bob' }), []],
    ['subject', about(get, { groups: ['dev'] }), []],
    ['subject', about(), [somebody]],
    ['subject', about(get, { user: '', groups: [] }), [somebody]],
    ['subject', { spec: both }, [combined, somebody]],
    [
      'subject',
      about({ ...get, fieldSelector: {} }),
      [
        somebody,
        'spec.resourceAttributes.fieldSelector.requirements: Required value: when spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required',
      ],
    ],
    [
      'subject',
      { ...about(get, { user: 'bob' }), metadata: { namespace: 'n' } },
      [
        'metadata: Invalid value: v1.ObjectMeta{Name:"", GenerateName:"", Namespace:"n", SelfLink:"", UID:"", ResourceVersion:"", Generation:0, CreationTimestamp:time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC), DeletionTimestamp:<nil>, DeletionGracePeriodSeconds:(*int64)(nil), Labels:map[string]string(nil), Annotations:map[string]string(nil), OwnerReferences:[]v1.OwnerReference(nil), Finalizers:[]string(nil), ManagedFields:[]v1.ManagedFieldsEntry(nil)}: must be empty',
      ],
    ],
    ['local', local(here), []],
    ['local', local({ ...here, user: '' }), [somebody]],
    [
      'local',
      local(here, { name: 'x' }),
      [
        'metadata: Invalid value: v1.ObjectMeta{Name:"x", GenerateName:"", Namespace:"n", SelfLink:"", UID:"", ResourceVersion:"", Generation:0, CreationTimestamp:time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC), DeletionTimestamp:<nil>, DeletionGracePeriodSeconds:(*int64)(nil), Labels:map[string]string(nil), Annotations:map[string]string(nil), OwnerReferences:[]v1.OwnerReference(nil), Finalizers:[]string(nil), ManagedFields:[]v1.ManagedFieldsEntry(nil)}: must be empty except for namespace',
      ],
    ],
    [
      'local',
      local({ resourceAttributes: get }),
      ['spec.resourceAttributes.namespace: Invalid value: "": must match metadata.namespace'],
    ],
    [
      'local',
      local({ resourceAttributes: { ...get, namespace: 'm' } }),
      ['spec.resourceAttributes.namespace: Invalid value: "m": must match metadata.namespace'],
    ],
    [
      'local',
      local({ nonResourceAttributes: { path: '/x' } }),
      [
        'spec.nonResourceAttributes: Invalid value: authorization.NonResourceAttributes{Path:"/x", Verb:""}: disallowed on this kind of request',
      ],
    ],
  ] as const) {
    it(`${name} ${JSON.stringify(sent)}`, () => assert.deepEqual(errorsOf(kindOf(name), sent), errors));
  }
});

describe('selectors in access reviews (KEP-4601)', () => {
  const at = 'spec.resourceAttributes';
  const selecting = (selectors: Sent): Sent => about({ verb: 'list', resource: 'pods', ...selectors });
  const requirement = (key: string, operator: string, ...values: readonly string[]): Sent => ({
    key,
    operator,
    values,
  });
  const fields = (...requirements: readonly Sent[]): Sent => ({ fieldSelector: { requirements } });
  const labels = (...requirements: readonly Sent[]): Sent => ({ labelSelector: { requirements } });
  const among = (key: string, ...values: readonly string[]) => ({ operator: 'in', key, values: new Set(values) });

  for (const [what, selectors, errors] of [
    ['fields', fields(requirement('a', 'In', 'b')), []],
    ['text', { fieldSelector: { rawSelector: 'a=b' }, labelSelector: { rawSelector: 'a in (b,c)' } }, []],
    ['text that cannot be read', { fieldSelector: { rawSelector: '!' }, labelSelector: { rawSelector: '!!' } }, []],
    [
      'operators of newer clients',
      { ...fields(requirement('a', 'Like')), ...labels(requirement('a', 'Like', 'b')) },
      [],
    ],
    [
      'neither',
      { fieldSelector: {}, labelSelector: {} },
      [
        `${at}.fieldSelector.requirements: Required value: when ${at}.fieldSelector is specified, requirements or rawSelector is required`,
        `${at}.labelSelector.requirements: Required value: when ${at}.labelSelector is specified, requirements or rawSelector is required`,
      ],
    ],
    [
      'both',
      { fieldSelector: { rawSelector: 'a=b', requirements: [requirement('a', 'In', 'b')] } },
      [`${at}.fieldSelector.rawSelector: Invalid value: "a=b": may not specified at the same time as requirements`],
    ],
    [
      'values that are missing, and values that are too many',
      { ...fields(requirement('a', 'NotIn')), ...labels(requirement('b', 'Exists', 'c')) },
      [
        `${at}.fieldSelector.requirements[0].values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`,
        `${at}.labelSelector.requirements[0].values: Forbidden: may not be specified when \`operator\` is 'Exists' or 'DoesNotExist'`,
      ],
    ],
    [
      'no key',
      fields(requirement('a', 'Exists'), requirement('', 'Exists')),
      [`${at}.fieldSelector.requirements[1].key: Required value: must be specified`],
    ],
  ] as const) {
    it(what, () => assert.deepEqual(errorsOf(kindOf('self'), selecting(selectors)), errors));
  }

  it('names and values of labels are checked', () => {
    const [key = '', value = '', ...more] = errorsOf(
      kindOf('self'),
      selecting(labels(requirement('-', 'In', 'ok', '-'))),
    );
    assert.match(key, /labelSelector\.requirements\[0\]\.key: Invalid value: "-"/);
    assert.match(value, /labelSelector\.requirements\[0\]\.values\[1\]: Invalid value: "-"/);
    assert.deepEqual(more, []);
  });

  const partly = (field: string): string => `${at}.${field} partially ignored due to parse error`;
  const ignored = (field: string): string => `${at}.${field} ignored due to parse error`;
  for (const [what, selectors, expected, problems] of [
    [
      'fields',
      fields(requirement('a', 'In', 'b'), requirement('c', 'NotIn', 'd')),
      [[among('a', 'b'), { ...among('c', 'd'), operator: 'notin' }], undefined],
      [],
    ],
    ['text of fields', { fieldSelector: { rawSelector: 'a=b' } }, [[among('a', 'b')], undefined], []],
    [
      'fields of several values',
      fields(requirement('a', 'In', 'b', 'c')),
      [undefined, undefined],
      [ignored('fieldSelector')],
    ],
    [
      'fields that exist',
      fields(requirement('a', 'Exists'), requirement('b', 'In', 'c')),
      [[among('b', 'c')], undefined],
      [partly('fieldSelector')],
    ],
    [
      'fields of unknown operators',
      fields(requirement('a', 'Like', 'b')),
      [undefined, undefined],
      [ignored('fieldSelector')],
    ],
    [
      'text of fields that cannot be read',
      { fieldSelector: { rawSelector: 'a' } },
      [undefined, undefined],
      [ignored('fieldSelector')],
    ],
    [
      'labels',
      labels(
        requirement('a', 'In', 'b', 'c'),
        requirement('d', 'NotIn', 'e'),
        requirement('f', 'Exists'),
        requirement('g', 'DoesNotExist'),
      ),
      [
        undefined,
        [
          among('a', 'b', 'c'),
          { ...among('d', 'e'), operator: 'notin' },
          { operator: 'exists', key: 'f' },
          { operator: 'absent', key: 'g' },
        ],
      ],
      [],
    ],
    ['text of labels', { labelSelector: { rawSelector: 'a in (b,c)' } }, [undefined, [among('a', 'b', 'c')]], []],
    [
      'labels of unknown operators',
      labels(requirement('a', 'Like', 'b'), requirement('c', 'In', 'd')),
      [undefined, [among('c', 'd')]],
      [partly('labelSelector')],
    ],
    [
      'text of labels that cannot be read',
      { labelSelector: { rawSelector: 'a=-' } },
      [undefined, undefined],
      [ignored('labelSelector')],
    ],
    [
      'both unreadable',
      { fieldSelector: { rawSelector: 'a' }, labelSelector: { rawSelector: '(' } },
      [undefined, undefined],
      [ignored('fieldSelector'), ignored('labelSelector')],
    ],
  ] as const) {
    it(`are asked about: ${what}`, async () => {
      const { attributes, status } = await review('self', selecting(selectors));
      const { fieldSelector, labelSelector } = attributes as ResourceAttributes;
      assert.deepEqual([fieldSelector, labelSelector], expected);
      const { evaluationError } = status as { evaluationError?: string };
      assert.equal(evaluationError, problems.length > 0 ? problems.join('; ') : undefined);
    });
  }

  it('what cannot be read is told beside what went wrong', async () => {
    const failed = { verdict: 'noOpinion', reason: '', evaluationError: 'down' } as const;
    const { status } = await review('self', selecting({ fieldSelector: { rawSelector: 'a' } }), failed);
    assert.deepEqual(status, { allowed: false, evaluationError: `down; ${ignored('fieldSelector')}` });
  });
});
