import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { type FieldError, invalid } from '../../meta/field-error.ts';
import { selectable } from '../../meta/selectable-field.ts';
import { cloneJson } from '../../patch/json-value.ts';
import { always, documentedEnum, list, mergeList, opt, string, struct, time } from '../../schema/schema.ts';
import { ageColumn, column, nameColumn } from '../columns.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind, StrategyContext } from '../kind.ts';
import { validateFinalizerNames } from '../meta/finalizer-names.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { statusView } from '../meta/status-view.ts';
import { typed } from '../typed.ts';

const namespaceSpec = struct('api.core.v1.NamespaceSpec', 'What is asked of a namespace.', {
  finalizers: opt(1, list(string()), 'Who empties the namespace before it may go; changed through the finalize subresource only.'),
});

const namespaceCondition = struct('api.core.v1.NamespaceCondition', 'One aspect of the state of a namespace.', {
  type: always(1, string(), 'Name of the aspect.'),
  status: always(2, string(), '`True`, `False` or `Unknown`.'),
  lastTransitionTime: always(4, time(), 'When the status last changed.'),
  reason: opt(5, string(), 'Machine-readable reason of the last change.'),
  message: opt(6, string(), 'The reason in words.'),
});

const namespaceStatus = struct('api.core.v1.NamespaceStatus', 'The state of a namespace.', {
  phase: opt(1, documentedEnum('Active', 'Terminating'), '`Active`, or `Terminating` while it is emptied and deleted.'),
  conditions: opt(2, mergeList('type', namespaceCondition, { duplicatesAllowed: true }), 'What is known about its deletion.'),
});

const schema = kindSchema('api.core.v1.Namespace', 'A scope for names: namespaced objects are in one each.', {
  spec: always(2, namespaceSpec, 'What is asked of the namespace.'),
  status: always(3, namespaceStatus, 'The state of the namespace.'),
});

/** Sets the label with the namespace's name, for selectors (KEP-2161). */
function labelWithName({ metadata }: ApiObject, { dialect }: StrategyContext): void {
  if (metadata.name === undefined) return;
  metadata.labels = { ...metadata.labels, [`${dialect.domain}/metadata.name`]: metadata.name };
}

/** A new namespace is Active and has a finalizer, which the namespace controller removes after deleting the contents. */
function prepareForCreate(object: ApiObject, { dialect }: StrategyContext): void {
  const namespace = typed(schema, object);
  const finalizers = namespace.spec?.finalizers ?? [];
  namespace.status = { phase: 'Active' };
  namespace.spec = {
    ...namespace.spec,
    finalizers: finalizers.includes(dialect.name) ? finalizers : [...finalizers, dialect.name],
  };
}

function putBackFinalizers(object: ApiObject, old: ApiObject): void {
  const namespace = typed(schema, object);
  namespace.spec = { ...namespace.spec };
  const finalizers = typed(schema, old).spec?.finalizers;
  if (finalizers === undefined) delete namespace.spec.finalizers;
  else namespace.spec.finalizers = [...finalizers];
}

function fillDefaults(object: ApiObject, context: StrategyContext): void {
  labelWithName(object, context);
  const namespace = typed(schema, object);
  namespace.status = { ...namespace.status, phase: namespace.status?.phase || 'Active' };
}

const validateSpecFinalizers = (object: ApiObject, { dialect }: StrategyContext): FieldError[] =>
  validateFinalizerNames(typed(schema, object).spec?.finalizers ?? [], dialect, () => 'spec.finalizers');

/** The phase must be Terminating if and only if the namespace has a deletionTimestamp. */
function validateStatus(object: ApiObject): FieldError[] {
  const phase = typed(schema, object).status?.phase ?? '';
  const deleting = object.metadata.deletionTimestamp !== undefined;
  if (phase === (deleting ? 'Terminating' : 'Active')) return [];
  const detail = deleting ? "may only be 'Terminating' if `deletionTimestamp` is not empty" : "may only be 'Active' if `deletionTimestamp` is empty";
  return [invalid('status.Phase', phase, detail)];
}

export const namespace = (_dialect: Dialect): Kind =>
  defineKind({
    kind: 'Namespace',
    deleteReturnsObject: true,
    shortNames: ['ns'],
    scope: 'Cluster',
    schema,
    nameFormat: 'dnsLabel',
    selectableFields: [selectable('status.phase')],
    columns: [nameColumn, column('Status', 'Whether the namespace is active or being deleted.', '.status.phase'), ageColumn],
    strategy: {
      default: fillDefaults,
      completeNew: labelWithName,
      prepareForCreate,
      validateCreate: validateSpecFinalizers,
      prepareForUpdate: putBackFinalizers,
      validateUpdate: (object, _old, context) => validateSpecFinalizers(object, context),
      marksDeletionTimeOnly: true,
      prepareForDelete: (object) => {
        const namespace = typed(schema, object);
        namespace.status = { ...namespace.status, phase: 'Terminating' };
      },
      finalizers: (object) => typed(schema, object).spec?.finalizers ?? [],
    },
    subresources: [
      statusView(validateStatus),
      {
        type: 'view',
        name: 'finalize',
        verbs: ['update'],
        prepareForUpdate: (object, old) => {
          object['status'] = cloneJson(old['status']);
        },
        validateUpdate: (object, _old, { dialect }) => validateFinalizerNames(typed(schema, object).spec?.finalizers ?? [], dialect, (index) => `spec.finalizers[${index}]`),
      },
    ],
    // As in kube-apiserver: a mistyped request must not delete all namespaces.
    withoutVerbs: ['deletecollection'],
  });
