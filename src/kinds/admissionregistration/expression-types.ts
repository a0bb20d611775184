import type { CelEnvironment } from '../../cel/cel.ts';
import { authorizerType, resourceCheckType } from '../../cel/library/authorizer.ts';
import { boolType, type CelType, dynType, intType, listType, mapType, stringType, structType, timestampType } from '../../cel/type.ts';
import { expressionTypes } from '../../dialect/expression-types.ts';

const strings = listType(stringType);
const texts = mapType(stringType, stringType);

const kindType = structType(expressionTypes.groupVersionKind, { group: stringType, version: stringType, kind: stringType });
const resourceType = structType(expressionTypes.groupVersionResource, { group: stringType, version: stringType, resource: stringType });

/** `request`: an AdmissionRequest without its uid and its objects. Fields that are empty are absent. */
const requestType = structType(expressionTypes.request, {
  kind: kindType,
  resource: resourceType,
  subResource: stringType,
  requestKind: kindType,
  requestResource: resourceType,
  requestSubResource: stringType,
  name: stringType,
  namespace: stringType,
  operation: stringType,
  userInfo: structType(expressionTypes.userInfo, { username: stringType, uid: stringType, groups: strings, extra: mapType(stringType, strings) }),
  dryRun: boolType,
  options: dynType,
});

/** `namespaceObject`: a Namespace without what tracks its writers and owners. */
const namespaceType = structType(expressionTypes.namespace, {
  metadata: structType(expressionTypes.namespaceMetadata, {
    name: stringType,
    generateName: stringType,
    namespace: stringType,
    labels: texts,
    annotations: texts,
    UID: stringType,
    creationTimestamp: timestampType,
    deletionGracePeriodSeconds: intType,
    deletionTimestamp: timestampType,
    generation: intType,
    resourceVersion: stringType,
    finalizers: strings,
  }),
  spec: structType(expressionTypes.namespaceSpec, { finalizers: strings }),
  status: structType(expressionTypes.namespaceStatus, {
    conditions: listType(structType(expressionTypes.namespaceCondition, { status: stringType, type: stringType, lastTransitionTime: timestampType, message: stringType, reason: stringType })),
    phase: stringType,
  }),
});

/** What expressions may use besides the request and its objects. */
interface ExpressionNames {
  readonly params: boolean;
  readonly authorizer: boolean;
  /** Types of the variables of a policy; undefined if expressions cannot use any. */
  readonly variables: Readonly<Record<string, CelType>> | undefined;
}

/** Types of objects, where they are known: expressions are checked against them. */
export interface ObjectTypes {
  readonly object?: CelType;
  readonly params?: CelType;
}

export const expressionEnvironment = ({ params, authorizer, variables }: ExpressionNames, types: ObjectTypes): CelEnvironment => ({
  object: types.object ?? dynType,
  oldObject: types.object ?? dynType,
  request: requestType,
  namespaceObject: namespaceType,
  ...(params && { params: types.params ?? dynType }),
  ...(authorizer && { authorizer: authorizerType, 'authorizer.requestResource': resourceCheckType }),
  ...(variables && { variables: { kind: 'struct', name: expressionTypes.variables, fields: variables, lazy: true } as const }),
});

/** The type as which expressions see a variable of this type: that of objects is known only at evaluation. */
export function typeOfVariable(type: CelType): CelType {
  switch (type.kind) {
    case 'list':
      return listType(typeOfVariable(type.element));
    case 'map':
      return mapType(typeOfVariable(type.key), typeOfVariable(type.value));
    case 'struct':
    case 'opaque':
    case 'optional':
    case 'param':
    case 'type':
      return dynType;
    default:
      return type;
  }
}
