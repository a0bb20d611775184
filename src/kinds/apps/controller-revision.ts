import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { type FieldError, invalid, required } from '../../meta/field-error.ts';
import { equalValues } from '../../schema/equal-values.ts';
import { isRecord } from '../../schema/own-property.ts';
import { always, anyValue, int64, ptr } from '../../schema/schema.ts';
import { ageColumn, column, nameColumn, none } from '../columns.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { typed } from '../typed.ts';

const schema = kindSchema('api.apps.v1.ControllerRevision', 'A former state that a controller may go back to; it never changes.', {
  data: ptr(2, anyValue({ name: 'apimachinery.pkg.runtime.RawExtension', documentedAs: 'object', mapType: 'atomic' }), 'The state.'),
  revision: always(3, int64({ minimum: 0 }), 'Number of the state: higher is newer.'),
});

/** Casts a decoded object to its static type. */
export const asControllerRevision = (object: ApiObject) => typed(schema, object);

function validateCreate(object: ApiObject): FieldError[] {
  const data = object['data'] ?? null;
  if (data === null) return [required('data', 'data is mandatory')];
  return isRecord(data) ? [] : [required('data', 'data must be a valid JSON object')];
}

const validateUpdate = (object: ApiObject, old: ApiObject): FieldError[] => (equalValues(object['data'], old['data']) ? [] : [invalid('data', object['data'] ?? null, 'field is immutable')]);

/** The owner that manages the revision: `statefulset.apps/name`. */
function controller({ metadata: { ownerReferences = [] } }: ApiObject): string {
  const owner = ownerReferences.find((each) => each.controller === true);
  if (!owner) return none;
  const [group] = owner.apiVersion.includes('/') ? owner.apiVersion.split('/') : [''];
  return `${owner.kind.toLowerCase()}${group === '' ? '' : `.${group}`}/${owner.name}`;
}

export const controllerRevision = (dialect: Dialect): Kind =>
  defineKind({
    group: dialect.group('apps'),
    kind: 'ControllerRevision',
    schema,
    columns: [nameColumn, column('Controller', 'The owner that manages the revision.', controller), column('Revision', 'Number of the state.', { path: '.revision', absent: 0 }), ageColumn],
    strategy: { validateCreate, validateUpdate },
  });
