import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { type FieldError, invalid } from '../../meta/field-error.ts';
import { equalValues } from '../../schema/equal-values.ts';
import { shownAsGo } from '../../schema/go-text.ts';
import type { StructSchema } from '../../schema/schema.ts';
import { ageColumn, column, nameColumn, none } from '../columns.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind, Subresource } from '../kind.ts';
import { clearStatus } from '../meta/status-view.ts';
import { flowConditionErrors, flowSchemaErrors } from './flow-schema-errors.ts';
import { type FlowCondition, type FlowSchemaSpec, flowSchema, flowSchemaSpec, type LevelSpec, levelSpec, priorityLevelConfiguration } from './flow-schemas.ts';
import { initialFlowControl, mandatoryFlows, mandatoryLevels } from './initial-configuration.ts';
import { levelErrors } from './priority-level-errors.ts';

const nameOf = ({ metadata: { name = '' } }: ApiObject): string => name;
const flowOf = (object: ApiObject): FlowSchemaSpec => (object['spec'] ?? {}) as FlowSchemaSpec;
const levelOf = (object: ApiObject): LevelSpec => (object['spec'] ?? {}) as LevelSpec;

const conditionsOf = (object: ApiObject): readonly FlowCondition[] => ((object['status'] ?? {}) as { readonly conditions?: readonly FlowCondition[] }).conditions ?? [];

const statusErrors = (object: ApiObject): readonly FieldError[] => flowConditionErrors(conditionsOf(object));

const differs = (object: ApiObject, spec: unknown, of: StructSchema, detail: string): FieldError[] =>
  equalValues(object['spec'], spec) ? [] : [shownAsGo(invalid('spec', object['spec'], detail), of)];

function validateFlow(object: ApiObject): readonly FieldError[] {
  const name = nameOf(object);
  const fixed = Object.hasOwn(mandatoryFlows, name) ? differs(object, mandatoryFlows[name], flowSchemaSpec, `spec of '${name}' must equal the fixed value`) : [];
  return [...flowSchemaErrors(name, flowOf(object)), ...fixed, ...statusErrors(object)];
}

function validateLevel(object: ApiObject): readonly FieldError[] {
  const name = nameOf(object);
  return [...levelErrors(name, levelOf(object)), ...fixedLevelErrors(object, name), ...statusErrors(object)];
}

/** Administrators may say what the exempt level leaves to others, and nothing else of the levels that must be there. */
function fixedLevelErrors(object: ApiObject, name: string): FieldError[] {
  const fixed = Object.hasOwn(mandatoryLevels, name) ? mandatoryLevels[name] : undefined;
  if (!fixed) return [];
  if (fixed.type !== 'Exempt') return differs(object, fixed, levelSpec, `spec of '${name}' must equal the fixed value`);
  const { exempt } = levelOf(object);
  const allowed = { ...fixed, exempt };
  if (!exempt) delete (allowed as { exempt?: unknown }).exempt;
  return differs(object, allowed, levelSpec, `spec of '${name}' except the 'spec.exempt' field must equal the fixed value`);
}

/** Zero is no precedence: it stands for the default, as in a field that is absent. */
function defaultFlow(object: ApiObject): void {
  const spec = object['spec'] as { matchingPrecedence?: number } | undefined;
  if (spec?.matchingPrecedence === 0) spec.matchingPrecedence = 1000;
}

function defaultLevel(object: ApiObject): void {
  const { queuing } = levelOf(object).limited?.limitResponse ?? {};
  if (!queuing) return;
  queuing.queues ||= 64;
  queuing.handSize ||= 8;
  queuing.queueLengthLimit ||= 50;
}

const status = (validateUpdate: (object: ApiObject) => readonly FieldError[]): Subresource => ({
  type: 'view',
  name: 'status',
  verbs: ['get', 'update', 'patch'],
  fields: ['status'],
  validateUpdate,
});

const orNone = { absent: none } as const;

/** FlowSchema and PriorityLevelConfiguration: which requests wait for which (KEP-1040). */
export function flowControlKinds(dialect: Dialect): readonly Kind[] {
  const initialObjects = (kind: string) => initialFlowControl(dialect).filter((object) => object.kind === kind);
  const shared = { group: dialect.group('flowcontrol.apiserver'), scope: 'Cluster', generation: true } as const;
  return [
    defineKind({
      ...shared,
      kind: 'FlowSchema',
      initialObjects: initialObjects('FlowSchema'),
      keptObjects: Object.keys(mandatoryFlows),
      schema: flowSchema,
      columns: [
        nameColumn,
        column('PriorityLevel', 'Priority level of the requests.', '.spec.priorityLevelConfiguration.name'),
        column('MatchingPrecedence', 'Of the schemas that match a request the one with the lowest number counts.', '.spec.matchingPrecedence'),
        column('DistinguisherMethod', 'What tells flows apart.', '.spec.distinguisherMethod.type', { absent: none }),
        ageColumn,
        column('MissingPL', 'Whether there is no such priority level.', (object) => conditionsOf(object).find(({ type }) => type === 'Dangling')?.status ?? '?'),
      ],
      strategy: { default: defaultFlow, prepareForCreate: clearStatus(flowSchema), validateCreate: validateFlow, validateUpdate: validateFlow },
      subresources: [status(statusErrors)],
    }),
    defineKind({
      ...shared,
      kind: 'PriorityLevelConfiguration',
      initialObjects: initialObjects('PriorityLevelConfiguration'),
      keptObjects: Object.keys(mandatoryLevels),
      schema: priorityLevelConfiguration,
      columns: [
        nameColumn,
        column('Type', 'Whether requests are limited.', '.spec.type'),
        column('NominalConcurrencyShares', 'Share of the level in the seats of the server.', '.spec.limited.nominalConcurrencyShares', orNone),
        column('Queues', 'Number of queues.', '.spec.limited.limitResponse.queuing.queues', orNone),
        column('HandSize', 'Number of queues of one flow.', '.spec.limited.limitResponse.queuing.handSize', orNone),
        column('QueueLengthLimit', 'Requests that may wait in a queue.', '.spec.limited.limitResponse.queuing.queueLengthLimit', orNone),
        ageColumn,
      ],
      strategy: { default: defaultLevel, prepareForCreate: clearStatus(priorityLevelConfiguration), validateCreate: validateLevel, validateUpdate: validateLevel },
      subresources: [status(statusErrors)],
    }),
  ];
}
