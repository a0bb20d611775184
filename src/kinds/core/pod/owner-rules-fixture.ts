import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Kind } from '../../kind.ts';
import { create, filled, type Sent, update } from '../../strategy-fixture.ts';

/** Tables of tests of the kinds that make pods from a template. */

const container = { name: 'c', image: 'img:1' };

/** A template with one container. */
export const template = (spec: Sent = {}, labels: Sent = { app: 'x' }): Sent => ({
  metadata: { labels },
  spec: { containers: [container], ...spec },
});

/** The same with the defaults of templates, as JSON. */
export const fullTemplate = (spec: Sent = {}, labels: Sent = { app: 'x' }): Sent => ({
  metadata: { creationTimestamp: null, labels },
  spec: {
    containers: [
      {
        ...container,
        imagePullPolicy: 'IfNotPresent',
        resources: {},
        terminationMessagePath: '/dev/termination-log',
        terminationMessagePolicy: 'File',
      },
    ],
    dnsPolicy: 'ClusterFirst',
    restartPolicy: 'Always',
    schedulerName: 'default-scheduler',
    securityContext: {},
    terminationGracePeriodSeconds: 30,
    ...spec,
  },
});

export const selector = { matchLabels: { app: 'x' } };

/** What is wrong, and the errors without what follows in the texts. */
type Row = readonly [what: string, sent: Sent, errors: readonly string[]];

export const mismatch =
  'spec.template.metadata.labels: Invalid value: map[string]string{"app":"x"}: `selector` does not match template `labels`';

/** What the kinds refuse alike. */
export const badNumbers: readonly Row[] = ['replicas', 'minReadySeconds'].map((field) => [
  `a negative ${field}`,
  { [field]: -1 },
  [`spec.${field}: Invalid value: -1: must be greater than or equal to 0`],
]);

const emptySelector =
  'v1.LabelSelector{MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement(nil)}';

/** Selectors, as errors of the kind name it: in small letters. */
export const badSelectors = (named: string): readonly Row[] => [
  [
    'an empty selector',
    { selector: {} },
    [`spec.selector: Invalid value: ${emptySelector}: empty selector is invalid for ${named}`],
  ],
  ['a selector of other pods', { selector: { matchLabels: { app: 'y' } } }, [mismatch]],
];

/** Selectors that cannot be read, what is told of them as a whole, and templates that nobody looks at then. */
export const unreadableSelectors = (detail: string): readonly Row[] => {
  const told = (text: string) => `spec.selector: Invalid value: v1.LabelSelector{${text}}${detail && `: ${detail}`}`;
  const ofLabels = (labels: string) =>
    told(`MatchLabels:${labels}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)`);
  return [
    [
      'a selector with an unknown operator',
      {
        selector: { matchExpressions: [{ key: 'a', operator: 'Like' }] },
        template: template({ containers: [] }, { app: 'a b' }),
      },
      [
        'spec.selector.matchExpressions[0].operator: Invalid value: "Like": not a valid selector operator',
        told(
          'MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement{v1.LabelSelectorRequirement{Key:"a", Operator:"Like", Values:[]string(nil)}}',
        ),
      ],
    ],
    [
      'a selector of a value that is no label',
      { selector: { matchLabels: { app: 'a b' } } },
      [
        'spec.selector.matchLabels: Invalid value: "a b": a valid label must be',
        ofLabels('map[string]string{"app":"a b"}'),
      ],
    ],
  ];
};

/** Templates of pods that end; `owner` is the kind in the error. */
export const badTemplates = (owner: string): readonly Row[] => [
  ...['Never', 'OnFailure'].map(
    (restartPolicy): Row => [
      `a template that is restarted: ${restartPolicy}`,
      { template: template({ restartPolicy }) },
      [`spec.template.spec.restartPolicy: Unsupported value: "${restartPolicy}": supported values: "Always"`],
    ],
  ),
  [
    'a template with a deadline',
    { template: template({ activeDeadlineSeconds: 5 }) },
    [`spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ${owner} is not Supported`],
  ],
];

/** Errors in any order, each known by its beginning. */
function sameErrors(errors: readonly string[], expected: readonly string[]): void {
  const message = errors.join('\n');
  assert.equal(errors.length, expected.length, message);
  for (const text of expected)
    assert.ok(
      errors.some((error) => error.startsWith(text)),
      `${text} is not among\n${message}`,
    );
}

/** Objects with these fields of the spec are refused when they are created, and as new states of `valid`. */
export function refusesSpecs(kind: Kind, valid: Sent, rows: readonly Row[]): void {
  for (const [what, spec, errors] of rows) {
    test(`${kind.kind}: ${what} is refused`, () => {
      const sent = filled(kind, { spec: { ...valid, ...spec } });
      sameErrors(create(kind, sent).errors, errors);
      const changed = update(kind, filled(kind, { spec: valid }), sent).errors.filter(
        (error) => !/is immutable|^spec: Forbidden: updates to/.test(error),
      );
      sameErrors(changed, errors);
    });
  }
}

/** New specs of an object with the spec `valid`. */
export function judgesChanges(kind: Kind, valid: Sent, rows: readonly Row[]): void {
  for (const [what, spec, errors] of rows) {
    test(`${kind.kind}: ${errors.length > 0 ? `${what} never changes` : `${what} may change`}`, () => {
      sameErrors(
        update(kind, filled(kind, { spec: valid }), filled(kind, { spec: { ...valid, ...spec } })).errors,
        errors,
      );
    });
  }
}

/** Writes through `status` to an object with the status `old`. */
export function judgesStatuses(kind: Kind, valid: Sent, rows: readonly Row[], old: Sent = {}): void {
  for (const [what, status, errors] of rows) {
    test(`${kind.kind}: a status with ${what} is ${errors.length > 0 ? 'refused' : 'accepted'}`, () => {
      const { object } = create(kind, filled(kind, { spec: valid }));
      object['status'] = old;
      const { object: changed, errors: found } = update(
        kind,
        object,
        { spec: { ...(object['spec'] as Sent), template: template({ hostname: 'other' }) }, status },
        'status',
      );
      sameErrors(found, errors);
      assert.deepEqual(changed['spec'], object['spec']);
    });
  }
}

/** What a least object becomes, as JSON. */
export function fills(kind: Kind, valid: Sent, expected: Sent): void {
  test(`${kind.kind}: defaults, and a status that nobody has written`, () => {
    const { object, errors } = create(kind, filled(kind, { spec: valid, status: {} }));
    assert.deepEqual(errors, []);
    const { spec, status } = JSON.parse(JSON.stringify(object));
    assert.deepEqual({ spec, status }, expected);
    assert.deepEqual(
      JSON.parse(JSON.stringify(create(kind, JSON.parse(JSON.stringify({ spec })) as Sent).object))['spec'],
      spec,
      'defaults of defaults',
    );
  });
}
