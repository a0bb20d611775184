import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { type FieldError, forbidden, invalid, notSupported, required, tooLong } from '../../meta/field-error.ts';
import { isDnsLabel, isDnsSubdomain } from '../../meta/formats.ts';
import { always, type Infer, opt, ptr, string, struct } from '../../schema/schema.ts';
import { ageColumn, column, nameColumn, none } from '../columns.ts';
import { failing } from '../core/pod/validation/field-checks.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { typed } from '../typed.ts';
import { referenceErrors } from './reference-errors.ts';

const parametersReference = struct('api.networking.v1.IngressClassParametersReference', 'Points at the parameters of a controller.', {
  apiGroup: ptr(1, string(), 'Group of the object; absent for the core group.'),
  kind: always(2, string(), 'Kind of the object.'),
  name: always(3, string(), 'Name of the object.'),
  scope: ptr(4, string(), '`Cluster`, or `Namespace` for an object in `namespace`.', { default: 'Cluster' }),
  namespace: ptr(5, string(), 'Namespace of the object. Required in the scope `Namespace`, and forbidden in the other.'),
});

const ingressClassSpec = struct('api.networking.v1.IngressClassSpec', 'Which controller serves ingresses of a class, and how.', {
  controller: opt(1, string(), 'The controller, as a path with a domain such as `example.com/name`. At most 250 characters; cannot change.'),
  parameters: ptr(2, parametersReference, 'Object with further settings for the controller.'),
});

const schema = kindSchema('api.networking.v1.IngressClass', 'A class of ingresses. An annotation makes one the class of ingresses that name none.', {
  spec: always(2, ingressClassSpec, 'The controller and its settings.'),
});

/** Whether ingresses that name no class may get this one. */
export const isDefaultIngressClass = ({ metadata }: ApiObject, { domain }: Dialect): boolean => metadata.annotations?.[`ingressclass.${domain}/is-default-class`] === 'true';

const controllerBytesMax = 250;

function validate(object: ApiObject): FieldError[] {
  const { controller = '', parameters } = typed(schema, object).spec ?? {};
  return [...controllerErrors(controller, 'spec.controller'), ...(parameters ? parametersErrors(parameters, 'spec.parameters') : [])];
}

const controllerOf = (object: ApiObject): string => typed(schema, object).spec?.controller ?? '';

function validateUpdate(object: ApiObject, old: ApiObject): FieldError[] {
  const controller = controllerOf(object);
  return [...(controller === controllerOf(old) ? [] : [invalid('spec.controller', controller, 'field is immutable')]), ...validate(object)];
}

const pathPattern = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
const pathChars = /^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/;

function controllerErrors(controller: string, path: string): FieldError[] {
  if (controller === '') return [required(path)];
  const errors = Buffer.byteLength(controller) > controllerBytesMax ? [tooLong(path, controllerBytesMax)] : [];
  const slash = controller.indexOf('/');
  const [domain, rest] = [controller.slice(0, Math.max(slash, 0)), controller.slice(slash + 1)];
  if (domain === '' || rest === '') return [...errors, invalid(path, controller, 'must be a domain-prefixed path (such as "acme.io/foo")')];
  errors.push(...isDnsSubdomain(domain).map((problem) => invalid(path, domain, problem)));
  if (!pathChars.test(rest)) errors.push(invalid(path, rest, `Invalid path (regex used for validation is '${pathPattern}')`));
  return errors;
}

const scopes = ['Cluster', 'Namespace'];

function parametersErrors(parameters: Infer<typeof parametersReference>, path: string): FieldError[] {
  const { scope, namespace } = parameters;
  const errors = referenceErrors(parameters, path);
  if (scope === undefined) errors.push(required(`${path}.scope`));
  else if (!scopes.includes(scope)) errors.push(notSupported(`${path}.scope`, scope, scopes));
  else if (scope === 'Cluster') errors.push(...(namespace === undefined ? [] : [forbidden(`${path}.namespace`, "`parameters.scope` is set to 'Cluster'")]));
  else if (namespace === undefined) errors.push(required(`${path}.namespace`, "`parameters.scope` is set to 'Namespace'"));
  else errors.push(...failing(isDnsLabel, `${path}.namespace`, namespace));
  return errors;
}

function parametersCell(object: ApiObject): string {
  const { parameters } = typed(schema, object).spec ?? {};
  if (!parameters) return none;
  const { apiGroup, kind = '', name = '' } = parameters;
  return `${kind}${apiGroup === undefined ? '' : `.${apiGroup}`}/${name}`;
}

export const ingressClass = (dialect: Dialect): Kind =>
  defineKind({
    group: dialect.group('networking'),
    kind: 'IngressClass',
    resource: 'ingressclasses',
    scope: 'Cluster',
    schema,
    columns: [
      nameColumn,
      column('Controller', 'Controller that serves ingresses of this class.', '.spec.controller'),
      column('Parameters', 'Object with settings for the controller.', parametersCell),
      ageColumn,
    ],
    strategy: { validateCreate: validate, validateUpdate },
    generation: true,
  });
