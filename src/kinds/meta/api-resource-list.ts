import { boolean, list, optional, required, string, struct } from '../../schema/schema.ts';
import { typeMeta } from './type-meta.ts';

const apiResource = struct('apimachinery.pkg.apis.meta.v1.APIResource', 'A resource, and what can be done with it.', {
  name: required(1, string(), 'Plural name, as it stands in paths; `<name>/<subresource>` for a subresource.'),
  singularName: required(6, string(), 'Singular name, for people.'),
  namespaced: required(2, boolean(), 'Whether its objects are in namespaces.'),
  group: optional(8, string(), 'API group of its objects; empty for that of the list.'),
  version: optional(9, string(), 'Version of its objects; empty for that of the list.'),
  kind: required(3, string(), 'Kind of its objects.'),
  verbs: required(4, list(string()), 'What can be done with it.'),
  shortNames: optional(5, list(string()), 'Short names that clients may offer.'),
  categories: optional(7, list(string()), 'Names of groups of resources it is part of.'),
  storageVersionHash: optional(10, string(), 'Changes when the form in which its objects are stored does.'),
});

/** What `GET /api/v1` and `GET /apis/<group>/<version>` answer. */
export const apiResourceList = struct(
  'apimachinery.pkg.apis.meta.v1.APIResourceList',
  'The resources of one version of a group.',
  {
    ...typeMeta,
    groupVersion: required(1, string(), 'The group and version, such as `apps/v1`.'),
    resources: required(2, list(apiResource), 'The resources, with their subresources.'),
  },
);
