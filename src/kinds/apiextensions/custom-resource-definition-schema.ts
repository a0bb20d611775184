import { always, bool, bytes, int32, list, opt, ptr, req, type StructSchema, string, struct, time } from '../../schema/schema.ts';
import { kindSchema } from '../meta/kind-schema.ts';

const names = struct('apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionNames', 'Names of a custom resource.', {
  plural: always(1, string(), 'Plural name, lower case: the path segment, and the first part of the name of the definition.'),
  singular: opt(2, string(), 'Singular name, lower case. Default: `kind` in lower case.'),
  shortNames: opt(3, list(string()), 'Short names for command lines, lower case.'),
  kind: always(4, string(), 'Name of the kind, in CamelCase.'),
  listKind: opt(5, string(), 'Kind of lists. Default: `kind` followed by `List`.'),
  categories: opt(6, list(string()), 'Groups of resources that it belongs to, such as `all`.'),
});

const scaleSubresource = struct('apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceSubresourceScale', 'Where the values of a Scale are in an object.', {
  specReplicasPath: always(1, string(), 'JSON path of the wanted number of replicas, below `.spec`.'),
  statusReplicasPath: always(2, string(), 'JSON path of the actual number of replicas, below `.status`.'),
  labelSelectorPath: ptr(3, string(), 'JSON path of a label selector in text form, below `.spec` or `.status`.'),
});

const statusSubresource = struct('apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceSubresourceStatus', 'The status is written through an endpoint of its own.', {});

const subresources = struct('apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceSubresources', 'Subresources of a custom resource.', {
  status: ptr(1, statusSubresource, 'Serves `status`: the main endpoint does not change it, and it changes nothing else.'),
  scale: ptr(2, scaleSubresource, 'Serves `scale`, a Scale of the group autoscaling.'),
});

const column = struct('apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceColumnDefinition', 'A column of tables.', {
  name: always(1, string(), 'Title of the column.'),
  type: always(2, string(), 'Type of the cells: `string`, `integer`, `number`, `boolean` or `date`.'),
  format: opt(3, string(), 'Format of the cells: `name` for what identifies the object.'),
  description: opt(4, string(), 'What the column shows.'),
  priority: opt(5, int32(), '0 is always shown, larger ones only in wide output.'),
  jsonPath: always(6, string(), 'JSON path of the value.'),
});

const selectableField = struct('apiextensions-apiserver.pkg.apis.apiextensions.v1.SelectableField', 'A field that field selectors may name.', {
  jsonPath: always(1, string(), 'JSON path of a string, boolean or integer, without arrays and filters.'),
});

/** `properties` is the schema of JSON schemas. */
const versionSchema = (properties: StructSchema) => {
  const validation = struct('apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceValidation', 'What objects of a version look like.', {
    openAPIV3Schema: ptr(1, properties, 'A structural schema: for validation, pruning, defaults and merging.'),
  });
  return struct('apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionVersion', 'A version of a custom resource.', {
    name: always(1, string(), 'Name of the version: `v1`, `v1beta1`. Discovery lists versions in the order of stability and age.'),
    served: always(2, bool(), 'Clients are served in this version.'),
    storage: always(3, bool(), 'Objects are written to the store in this version; true of exactly one.'),
    deprecated: opt(7, bool(), 'Clients of this version are warned.'),
    deprecationWarning: ptr(8, string(), 'Replaces the standard warning.'),
    schema: ptr(4, validation, 'The schema of this version.'),
    subresources: ptr(5, subresources, 'Subresources of this version.'),
    additionalPrinterColumns: opt(6, list(column), 'Columns of tables. Default: the age.'),
    selectableFields: opt(9, list(selectableField), 'Fields that field selectors may name; at most 8.'),
  });
};

const serviceReference = struct('apiextensions-apiserver.pkg.apis.apiextensions.v1.ServiceReference', 'A Service.', {
  namespace: always(1, string(), 'Namespace of the Service.'),
  name: always(2, string(), 'Name of the Service.'),
  path: ptr(3, string(), 'Path of the URL.'),
  port: ptr(4, int32(), 'Port of the Service. Default: 443.', { default: 443 }),
});

const clientConfig = struct('apiextensions-apiserver.pkg.apis.apiextensions.v1.WebhookClientConfig', 'How to connect to a webhook: by `url` or by `service`.', {
  url: ptr(3, string(), 'The URL, with scheme https and without user, query and fragment.'),
  service: ptr(1, serviceReference, 'The Service.'),
  caBundle: opt(2, bytes(), 'PEM blocks of the authorities that verify the certificate of the webhook. Default: those of the system.'),
});

const webhook = struct('apiextensions-apiserver.pkg.apis.apiextensions.v1.WebhookConversion', 'A webhook that converts objects.', {
  clientConfig: ptr(2, clientConfig, 'How to connect to it.'),
  conversionReviewVersions: always(3, list(string()), 'Versions of ConversionReview that it understands, the preferred one first.', { documented: 'required' }),
});

const conversion = struct('apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceConversion', 'How objects are converted between versions.', {
  strategy: always(1, string(), '`None`: only apiVersion changes. `Webhook`: a webhook converts.'),
  webhook: ptr(2, webhook, 'The webhook.'),
});

const condition = struct('apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionCondition', 'One aspect of the state of a definition.', {
  type: always(1, string(), 'Name of the aspect: `NamesAccepted`, `Established`, `Terminating`, `NonStructuralSchema`, ...'),
  status: always(2, string(), '`True`, `False` or `Unknown`.'),
  lastTransitionTime: always(3, time(), 'When the status last changed.'),
  reason: opt(4, string(), 'Machine-readable reason of the last change.'),
  message: opt(5, string(), 'The reason in words.'),
});

const status = struct('apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionStatus', 'The state of a definition.', {
  conditions: always(1, list(condition, { listType: 'map', mapKeys: ['type'], duplicatesAllowed: true }), 'What is known about it.'),
  acceptedNames: always(2, names, 'The names that are in use.'),
  storedVersions: always(3, list(string()), 'Versions in which objects may have been stored. One that is here cannot be removed from the definition.'),
});

/** Schema of CustomResourceDefinition. `properties` is the schema of JSON schemas. */
export const definitionSchema = (properties: StructSchema) => {
  const spec = struct('apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionSpec', 'What a custom resource is.', {
    group: always(1, string(), 'API group; never changes.'),
    names: always(3, names, 'Its names.', { documented: 'required' }),
    scope: always(4, string(), '`Cluster` or `Namespaced`; never changes.'),
    versions: always(7, list(versionSchema(properties)), 'Its versions.', { documented: 'required' }),
    conversion: ptr(9, conversion, 'How objects are converted between them. Default: strategy `None`.'),
    preserveUnknownFields: opt(10, bool(), 'Deprecated: must be false.', { deprecated: true }),
  });
  return kindSchema('apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition', 'Defines a kind at run time.', {
    spec: req(2, spec, 'What it is.', { presence: 'always' }),
    status: always(3, status, 'The state of the definition.'),
  });
};
