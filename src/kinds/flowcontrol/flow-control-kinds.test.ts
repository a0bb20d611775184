import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { orch } from '../../dialect/orch.ts';
import { applyDefaults } from '../../schema/defaults.ts';
import type { Kind } from '../kind.ts';
import { create as createAsSent, read, row, type Sent, update } from '../strategy-fixture.ts';
import { flowControlKinds } from './flow-control-kinds.ts';
import { initialFlowControl } from './initial-configuration.ts';

const [flow, level] = flowControlKinds(orch);
assert.ok(flow && level);

/** As the write path does it: with the defaults of the schema. */
function create(kind: Kind, sent: Sent) {
  const object = read(kind, sent);
  applyDefaults(kind.schema, object);
  return createAsSent(kind, object);
}

type Rows = readonly (readonly [what: string, sent: Sent, errors: readonly string[]])[];

const subject = { kind: 'User', user: { name: 'ann' } };
const resourceRule = { verbs: ['get'], apiGroups: [''], resources: ['pods'], namespaces: ['*'] };
const pathRule = { verbs: ['get'], nonResourceURLs: ['/x'] };
const rule = { subjects: [subject], resourceRules: [resourceRule] };
const flowWith = (more: object): Sent => ({ spec: { priorityLevelConfiguration: { name: 'p' }, ...more } });
const ruled = (more: object): Sent => flowWith({ rules: [{ ...rule, ...more }] });
const at = 'spec.rules[0]';
const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const supportedVerbs = '"create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"';

describe('FlowSchema: errors', () => {
  const rows: Rows = [
    ['without rules', flowWith({}), []],
    ['with all of them', ruled({ nonResourceRules: [pathRule] }), []],
    [
      'no level',
      { spec: {} },
      ['spec.priorityLevelConfiguration.name: Required value: must reference a priority level'],
    ],
    [
      'a level that is no name',
      flowWith({ priorityLevelConfiguration: { name: 'P' } }),
      [`spec.priorityLevelConfiguration.name: Invalid value: "P": ${subdomain}`],
    ],
    [
      'precedence below 1',
      flowWith({ matchingPrecedence: -1 }),
      ['spec.matchingPrecedence: Invalid value: -1: must be a positive value'],
    ],
    [
      'precedence above 10,000',
      flowWith({ matchingPrecedence: 10_001 }),
      ['spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000'],
    ],
    [
      'precedence 1',
      flowWith({ matchingPrecedence: 1 }),
      ["spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1"],
    ],
    [
      'distinguisher',
      flowWith({ distinguisherMethod: { type: 'ByTeam' } }),
      [
        'spec.distinguisherMethod.type: Unsupported value: flowcontrol.FlowDistinguisherMethod{Type:"ByTeam"}: supported values: "ByNamespace", "ByUser"',
      ],
    ],
    [
      'no subjects',
      ruled({ subjects: [] }),
      [`${at}.subjects: Required value: subjects must contain at least one value`],
    ],
    [
      'no rules',
      ruled({ resourceRules: [] }),
      [`${at}: Required value: at least one of resourceRules and nonResourceRules has to be non-empty`],
    ],
    [
      'an unknown subject',
      ruled({ subjects: [{ kind: 'Team' }] }),
      [`${at}.subjects[0].kind: Unsupported value: "Team": supported values: "Group", "ServiceAccount", "User"`],
    ],
    ...(['User', 'Group', 'ServiceAccount'] as const).map((kind): Rows[number] => {
      const field = `${kind[0]?.toLowerCase()}${kind.slice(1)}`;
      return [
        `${kind} without its field`,
        ruled({ subjects: [{ kind }] }),
        [`${at}.subjects[0].${field}: Required value: ${field} is required when subject kind is '${kind}'`],
      ];
    }),
    [
      'other fields',
      ruled({ subjects: [{ ...subject, group: { name: 'g' }, serviceAccount: { name: 'a', namespace: 'n' } }] }),
      [
        `${at}.subjects[0].serviceAccount: Forbidden: serviceAccount is forbidden when subject kind is not 'ServiceAccount'`,
        `${at}.subjects[0].group: Forbidden: group is forbidden when subject kind is not 'Group'`,
      ],
    ],
    [
      'a user without name',
      ruled({ subjects: [{ kind: 'User', user: {} }] }),
      [`${at}.subjects[0].user.name: Required value`],
    ],
    [
      'an account without anything',
      ruled({ subjects: [{ kind: 'ServiceAccount', serviceAccount: {} }] }),
      [
        `${at}.subjects[0].serviceAccount.name: Required value`,
        `${at}.subjects[0].serviceAccount.namespace: Required value: must specify namespace for service account`,
      ],
    ],
    [
      'accounts of a namespace',
      ruled({ subjects: [{ kind: 'ServiceAccount', serviceAccount: { name: '*', namespace: 'n' } }] }),
      [],
    ],
    [
      'an account that is no name',
      ruled({ subjects: [{ kind: 'ServiceAccount', serviceAccount: { name: 'A', namespace: 'N' } }] }),
      [
        `${at}.subjects[0].serviceAccount.name: Invalid value: "A": ${subdomain}`,
        `${at}.subjects[0].serviceAccount.namespace: Invalid value: "N": ${label}`,
      ],
    ],
    [
      'a resource rule without anything',
      ruled({ resourceRules: [{}] }),
      [
        `${at}.resourceRules[0].verbs: Required value: verbs must contain at least one value`,
        `${at}.resourceRules[0].apiGroups: Required value: resource rules must supply at least one api group`,
        `${at}.resourceRules[0].resources: Required value: resource rules must supply at least one resource`,
        `${at}.resourceRules[0].namespaces: Required value: resource rules that are not cluster scoped must supply at least one namespace`,
      ],
    ],
    [
      'a text twice',
      ruled({ resourceRules: [{ ...resourceRule, apiGroups: ['apps', 'apps'], resources: ['pods', 'pods'] }] }),
      [],
    ],
    [
      '* beside others',
      ruled({
        resourceRules: [
          { verbs: ['*', 'get'], apiGroups: ['', '*'], resources: ['*', 'pods'], namespaces: ['*', 'n'] },
        ],
      }),
      [
        `${at}.resourceRules[0].verbs: Invalid value: []string{"*", "get"}: if '*' is present, must not specify other verbs`,
        `${at}.resourceRules[0].apiGroups: Invalid value: []string{"", "*"}: if '*' is present, must not specify other api groups`,
        `${at}.resourceRules[0].resources: Invalid value: []string{"*", "pods"}: if '*' is present, must not specify other resources`,
        `${at}.resourceRules[0].namespaces: Invalid value: []string{"*", "n"}: if '*' is present, must not specify other namespaces`,
      ],
    ],
    [
      'an unknown verb',
      ruled({ resourceRules: [{ ...resourceRule, verbs: ['get', 'fly'] }] }),
      [`${at}.resourceRules[0].verbs: Unsupported value: []string{"get", "fly"}: supported values: ${supportedVerbs}`],
    ],
    ['cluster scope', ruled({ resourceRules: [{ ...resourceRule, namespaces: [], clusterScope: true }] }), []],
    [
      'a namespace that is none',
      ruled({ resourceRules: [{ ...resourceRule, namespaces: ['n', 'N'] }] }),
      [
        `${at}.resourceRules[0].namespaces[1]: Invalid value: "N": each member of this list must be '*' or a DNS-1123 label; ${label}`,
      ],
    ],
    ...(
      [
        ['', 'must not be empty'],
        ['x', 'must start with slash'],
        ['/x y', 'must not contain white-space'],
        ['/x//y', 'must not contain double slash'],
        ['/x*', 'wildcard can only do suffix matching'],
        ['/*/*', 'wildcard can only do suffix matching'],
      ] as const
    ).map(([url, problem]): Rows[number] => [
      `path ${url}`,
      ruled({ nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['/', '/x/*', url] }] }),
      [`${at}.nonResourceRules[0].nonResourceURLs[2]: Invalid value: "${url}": ${problem}`],
    ]),
    [
      'a path rule without anything',
      ruled({ nonResourceRules: [{}] }),
      [
        `${at}.nonResourceRules[0].verbs: Required value: verbs must contain at least one value`,
        `${at}.nonResourceRules[0].nonResourceURLs: Required value: nonResourceURLs must contain at least one value`,
      ],
    ],
    [
      'a fixed one that differs',
      { metadata: { name: 'catch-all' }, ...flowWith({ matchingPrecedence: 7 }) },
      [
        `spec: Invalid value: flowcontrol.FlowSchemaSpec{PriorityLevelConfiguration:flowcontrol.PriorityLevelConfigurationReference{Name:"p"}, MatchingPrecedence:7, DistinguisherMethod:(*flowcontrol.FlowDistinguisherMethod)(nil), Rules:[]flowcontrol.PolicyRulesWithSubjects(nil)}: spec of 'catch-all' must equal the fixed value`,
      ],
    ],
  ];
  for (const [what, sent, errors] of rows) it(what, () => assert.deepEqual(create(flow, sent).errors, errors));

  it('of an update, and of conditions', () => {
    assert.deepEqual(update(flow, flowWith({}), flowWith({ matchingPrecedence: -7 })).errors, [
      'spec.matchingPrecedence: Invalid value: -7: must be a positive value',
    ]);
    const conditions = [{ type: 'A', status: 'True' }, { type: 'A', status: 'True' }, { status: 'True' }];
    assert.deepEqual(update(flow, flowWith({}), { ...flowWith({}), status: { conditions } }, 'status').errors, [
      'status.conditions[1].type: Duplicate value: "A"',
      'status.conditions[2].type: Required value: must not be empty',
    ]);
  });

  it('defaults, and columns', () => {
    for (const sent of [flowWith({}), flowWith({ matchingPrecedence: 0 })]) {
      const { object } = create(flow, sent);
      assert.deepEqual(
        [object['spec'], object['status']],
        [{ priorityLevelConfiguration: { name: 'p' }, matchingPrecedence: 1000 }, {}],
      );
    }
    const shown = {
      Name: 'one',
      PriorityLevel: 'p',
      MatchingPrecedence: 7,
      DistinguisherMethod: '<none>',
      Age: '<unknown>',
      MissingPL: '?',
    };
    assert.deepEqual(row(flow, flowWith({ matchingPrecedence: 7 })), shown);
    const known = {
      ...flowWith({ matchingPrecedence: 7, distinguisherMethod: { type: 'ByUser' } }),
      status: { conditions: [{ type: 'Dangling', status: 'False' }] },
    };
    assert.deepEqual(row(flow, known), { ...shown, DistinguisherMethod: 'ByUser', MissingPL: 'False' });
  });
});

describe('PriorityLevelConfiguration: errors', () => {
  const queued = { type: 'Queue', queuing: {} };
  const levelWith = (limited: object): Sent => ({
    spec: { type: 'Limited', limited: { limitResponse: { type: 'Reject' }, ...limited } },
  });
  const queues = (queuing: object): Sent => levelWith({ limitResponse: { type: 'Queue', queuing } });
  const response = 'spec.limited.limitResponse';
  const rows: Rows = [
    ['one that rejects', levelWith({}), []],
    ['one that queues', levelWith({ limitResponse: queued }), []],
    ['no type', { spec: {} }, ['spec.type: Unsupported value: "": supported values: "Exempt", "Limited"']],
    [
      'no limits',
      { spec: { type: 'Limited' } },
      ['spec.limited: Required value: must not be empty when type is Limited'],
    ],
    [
      'a second exempt level',
      { spec: { type: 'Exempt', exempt: {} } },
      [`spec.type: Invalid value: "Exempt": type must be 'Exempt' if and only if name is 'exempt'`],
    ],
    ['the exempt level without a share', { metadata: { name: 'exempt' }, spec: { type: 'Exempt' } }, []],
    [
      'both',
      { spec: { type: 'Limited', limited: { limitResponse: queued }, exempt: {} } },
      ['spec.exempt: Forbidden: must be nil if the type is Limited'],
    ],
    ['no shares', levelWith({ nominalConcurrencyShares: 0 }), []],
    [
      'negative numbers',
      levelWith({ nominalConcurrencyShares: -1, lendablePercent: -1, borrowingLimitPercent: -1 }),
      [
        'spec.limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer',
        'spec.limited.lendablePercent: Invalid value: -1: must be between 0 and 100, inclusive',
        'spec.limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative integer',
      ],
    ],
    [
      'more than all',
      levelWith({ lendablePercent: 101, borrowingLimitPercent: 101 }),
      ['spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive'],
    ],
    [
      'a response',
      levelWith({ limitResponse: { type: 'Wait' } }),
      [`${response}.type: Unsupported value: "Wait": supported values: "Queue", "Reject"`],
    ],
    [
      'queues of one that rejects',
      levelWith({ limitResponse: { type: 'Reject', queuing: {} } }),
      [`${response}.queuing: Forbidden: must be nil if limited.limitResponse.type is not Limited`],
    ],
    [
      'no queues',
      levelWith({ limitResponse: { type: 'Queue' } }),
      [`${response}.queuing: Required value: must not be empty if limited.limitResponse.type is Limited`],
    ],
    [
      'negative queues',
      queues({ queues: -1, handSize: -1, queueLengthLimit: -1 }),
      [
        `${response}.queuing.queueLengthLimit: Invalid value: -1: must be positive`,
        `${response}.queuing.queues: Invalid value: -1: must be positive`,
        `${response}.queuing.handSize: Invalid value: -1: must be positive`,
      ],
    ],
    [
      'too many queues',
      queues({ queues: 10_000_001, handSize: 1 }),
      [`${response}.queuing.queues: Invalid value: 10000001: must not be greater than 10000000`],
    ],
    [
      'a hand larger than the deck',
      queues({ queues: 4, handSize: 5 }),
      [`${response}.queuing.handSize: Invalid value: 5: should not be greater than queues (4)`],
    ],
    [
      'a hand that no hash can deal',
      queues({ queues: 512, handSize: 8 }),
      [
        `${response}.queuing.handSize: Invalid value: 8: required entropy bits of deckSize 512 and handSize 8 should not be greater than 60`,
      ],
    ],
    ['the largest hand', queues({ queues: 1024, handSize: 6 }), []],
    [
      'the exempt level, without limits of its own',
      {
        metadata: { name: 'exempt' },
        spec: { type: 'Exempt', exempt: { nominalConcurrencyShares: 7, lendablePercent: 8 } },
      },
      [],
    ],
    [
      'the exempt level, limited',
      { metadata: { name: 'exempt' }, ...levelWith({}) },
      [
        `spec.type: Invalid value: "Limited": type must be 'Exempt' if and only if name is 'exempt'`,
        `spec: Invalid value: flowcontrol.PriorityLevelConfigurationSpec{Type:"Limited", Limited:(*flowcontrol.LimitedPriorityLevelConfiguration)(0xc000000000), Exempt:(*flowcontrol.ExemptPriorityLevelConfiguration)(nil)}: spec of 'exempt' except the 'spec.exempt' field must equal the fixed value`,
      ],
    ],
    [
      'the last level, changed',
      { metadata: { name: 'catch-all' }, ...levelWith({ nominalConcurrencyShares: 6 }) },
      [
        `spec: Invalid value: flowcontrol.PriorityLevelConfigurationSpec{Type:"Limited", Limited:(*flowcontrol.LimitedPriorityLevelConfiguration)(0xc000000000), Exempt:(*flowcontrol.ExemptPriorityLevelConfiguration)(nil)}: spec of 'catch-all' must equal the fixed value`,
      ],
    ],
  ];
  for (const [what, sent, errors] of rows) it(what, () => assert.deepEqual(create(level, sent).errors, errors));

  it('defaults, and columns', () => {
    const limited = {
      nominalConcurrencyShares: 30,
      lendablePercent: 0,
      limitResponse: { type: 'Queue', queuing: { queues: 64, handSize: 8, queueLengthLimit: 50 } },
    };
    for (const queuing of [{}, { queues: 0, handSize: 0, queueLengthLimit: 0 }])
      assert.deepEqual(create(level, queues(queuing)).object['spec'], { type: 'Limited', limited });
    const shown = {
      Name: 'one',
      Type: 'Limited',
      NominalConcurrencyShares: 30,
      Queues: 64,
      HandSize: 8,
      QueueLengthLimit: 50,
      Age: '<unknown>',
    };
    assert.deepEqual(row(level, create(level, queues({})).object), shown);
    const none = '<none>';
    assert.deepEqual(row(level, { spec: { type: 'Exempt', exempt: {} } }), {
      ...shown,
      Type: 'Exempt',
      NominalConcurrencyShares: none,
      Queues: none,
      HandSize: none,
      QueueLengthLimit: none,
    });
  });
});

describe('what is there after every start', () => {
  for (const dialect of [orch, kubernetes]) {
    it(`is valid, and complete: ${dialect.name}`, () => {
      const kinds = new Map(flowControlKinds(dialect).map((kind) => [kind.kind, kind]));
      for (const object of initialFlowControl(dialect)) {
        const kind = kinds.get(object.kind);
        assert.ok(kind);
        const made = create(kind, object);
        assert.deepEqual(made.errors, [], `${object.metadata.name}`);
        assert.deepEqual(made.object['spec'], object['spec'], 'defaults add nothing');
      }
    });
  }
});
