import { always, bool, type Infer, int32, list, mergeList, opt, ptr, string, struct, time } from '../../schema/schema.ts';
import { kindSchema } from '../meta/kind-schema.ts';

/** Schemas of the group: flow schemas sort requests into flows, priority levels say how many of them run. */

const nameOf = (kind: string): string => `api.flowcontrol.v1.${kind}`;
const strings = list(string(), { listType: 'set', duplicatesAllowed: true });

const conditionOf = (kind: string) =>
  struct(nameOf(`${kind}Condition`), 'One aspect of the state of the object.', {
    type: opt(1, string(), 'Name of the aspect.'),
    status: opt(2, string(), '`True`, `False` or `Unknown`.'),
    lastTransitionTime: always(3, time(), 'When the status last changed.'),
    reason: opt(4, string(), 'Machine-readable reason of the last change.'),
    message: opt(5, string(), 'The reason in words.'),
  });

const statusOf = (kind: string) =>
  struct(nameOf(`${kind}Status`), 'The state of the object.', {
    conditions: opt(1, mergeList('type', conditionOf(kind), { duplicatesAllowed: true }), 'Aspects of the state.'),
  });

const userSubject = struct(nameOf('UserSubject'), 'Users by name.', {
  name: always(1, string(), 'Name of the user; `*` is everybody.'),
});
const groupSubject = struct(nameOf('GroupSubject'), 'Users by group.', {
  name: always(1, string(), 'Name of the group; `*` is every group.'),
});
const serviceAccountSubject = struct(nameOf('ServiceAccountSubject'), 'Service accounts by name.', {
  namespace: always(1, string(), 'Namespace of the account.'),
  name: always(2, string(), 'Name of the account; `*` is every one of the namespace.'),
});
const subject = struct(
  nameOf('Subject'),
  'Who makes a request.',
  {
    kind: always(1, string(), '`User`, `Group` or `ServiceAccount`: which of the other fields is set.'),
    user: ptr(2, userSubject, 'A user.'),
    group: ptr(3, groupSubject, 'A group of users.'),
    serviceAccount: ptr(4, serviceAccountSubject, 'A service account.'),
  },
  { documentedUnion: { discriminator: 'kind', fields: ['group', 'serviceAccount', 'user'] } },
);

const resourceRule = struct(nameOf('ResourcePolicyRule'), 'Requests for resources. All of its lists have to match.', {
  verbs: always(1, strings, 'Verbs; `*` alone is every one.', { documented: 'required' }),
  apiGroups: always(2, strings, 'Groups of the resources; an empty name is the core group, `*` alone every group.', { documented: 'required' }),
  resources: always(3, strings, 'Resources, and subresources as `resource/subresource`; `*` alone is all of both.', { documented: 'required' }),
  clusterScope: opt(4, bool(), 'Whether requests without a namespace match.'),
  namespaces: opt(5, strings, 'Namespaces of requests that have one; `*` alone is every one.'),
});
const pathRule = struct(nameOf('NonResourcePolicyRule'), 'Requests for other paths.', {
  verbs: always(1, strings, 'Verbs; `*` alone is every one.', { documented: 'required' }),
  nonResourceURLs: always(6, strings, 'Paths; `/*` at the end stands for everything below, `*` alone is every path.', { documented: 'required' }),
});
const rules = struct(nameOf('PolicyRulesWithSubjects'), 'Requests by who makes them and what they are for.', {
  subjects: always(1, list(subject), 'Who makes the request: one of these.', { documented: 'required' }),
  resourceRules: opt(2, list(resourceRule), 'What the request is for: one of these, or of `nonResourceRules`.'),
  nonResourceRules: opt(3, list(pathRule), 'The same for requests that are for no resource.'),
});

export const flowSchemaSpec = struct(nameOf('FlowSchemaSpec'), 'Which requests belong to the flows, and what is done with them.', {
  priorityLevelConfiguration: always(
    1,
    struct(nameOf('PriorityLevelConfigurationReference'), 'A priority level by name.', {
      name: always(1, string(), 'Name of the priority level.'),
    }),
    'The priority level of the requests.',
    { documented: 'required' },
  ),
  matchingPrecedence: always(2, int32(), 'Of the schemas that match a request the one with the lowest number counts: 1 to 10,000.', { default: 1000, documented: 'optional' }),
  distinguisherMethod: ptr(
    3,
    struct(nameOf('FlowDistinguisherMethod'), 'What tells flows apart.', {
      type: always(1, string(), '`ByUser` or `ByNamespace`.'),
    }),
    'What tells the flows of the schema apart. Without it there is one.',
  ),
  rules: opt(4, list(rules), 'Requests match that one of these matches.'),
});

export const flowSchema = kindSchema(nameOf('FlowSchema'), 'Sorts requests into flows, and gives them a priority level.', {
  spec: always(2, flowSchemaSpec, 'Which requests, and their priority level.'),
  status: always(3, statusOf('FlowSchema'), 'Whether the priority level is there.'),
});

const queuing = struct(nameOf('QueuingConfiguration'), 'How requests wait.', {
  queues: always(1, int32(), 'Number of queues.', { default: 64, documented: 'optional' }),
  handSize: always(2, int32(), 'Number of queues of one flow: a request goes to the shortest of them.', { default: 8, documented: 'optional' }),
  queueLengthLimit: always(3, int32(), 'Requests that may wait in a queue.', { default: 50, documented: 'optional' }),
});
const limitResponse = struct(
  nameOf('LimitResponse'),
  'What is done with requests that cannot run at once.',
  {
    type: always(1, string(), '`Queue` or `Reject`.'),
    queuing: ptr(2, queuing, 'How they wait, with `Queue`.'),
  },
  { documentedUnion: { discriminator: 'type', fields: ['queuing'] } },
);

const shares = 'Share of the level in the seats of the server, relative to those of the other levels.';
const lendable = 'Percent of the seats that other levels may borrow: 0 to 100.';

const limited = struct(nameOf('LimitedPriorityLevelConfiguration'), 'Limits of a level.', {
  nominalConcurrencyShares: ptr(1, int32(), shares, { default: 30 }),
  limitResponse: always(2, limitResponse, 'What is done with requests that cannot run at once.'),
  lendablePercent: ptr(3, int32(), lendable, { default: 0 }),
  borrowingLimitPercent: ptr(4, int32(), 'Seats that the level may borrow of others, in percent of its own. Default: any number.'),
});
const exempt = struct(nameOf('ExemptPriorityLevelConfiguration'), 'Seats that a level without limits leaves to others.', {
  nominalConcurrencyShares: ptr(1, int32(), shares, { default: 0 }),
  lendablePercent: ptr(2, int32(), lendable, { default: 0 }),
});

export const levelSpec = struct(
  nameOf('PriorityLevelConfigurationSpec'),
  'Whether, and how, requests are limited.',
  {
    type: always(1, string(), '`Limited` or `Exempt`.'),
    limited: ptr(2, limited, 'The limits, with `Limited`.'),
    exempt: ptr(3, exempt, 'What an exempt level leaves to others.'),
  },
  { documentedUnion: { discriminator: 'type', fields: ['exempt', 'limited'] } },
);

export const priorityLevelConfiguration = kindSchema(nameOf('PriorityLevelConfiguration'), 'How many requests of a priority run at once, and what the others do.', {
  spec: always(2, levelSpec, 'Whether, and how, requests are limited.'),
  status: always(3, statusOf('PriorityLevelConfiguration'), 'The state of the level.'),
});

export type FlowSchemaSpec = Infer<typeof flowSchemaSpec>;
export type FlowRules = Infer<typeof rules>;
export type FlowSubject = Infer<typeof subject>;
export type ResourceRule = Infer<typeof resourceRule>;
export type PathRule = Infer<typeof pathRule>;
export type LevelSpec = Infer<typeof levelSpec>;
export type LimitedLevel = Infer<typeof limited>;
export type Queuing = Infer<typeof queuing>;
export type FlowCondition = Infer<ReturnType<typeof conditionOf>>;
