import { bool, list, opt, req, string, struct } from '../../schema/schema.ts';
import { typeMeta } from './type-meta.ts';

const apiResource = struct('apimachinery.pkg.apis.meta.v1.APIResource', 'A resource, and what can be done with it.', {
  name: req(1, string(), 'Plural name, as it stands in paths; `<name>/<subresource>` for a subresource.'),
  singularName: req(6, string(), 'Singular name, for people.'),
  namespaced: req(2, bool(), 'Whether its objects are in namespaces.'),
  group: opt(8, string(), 'API group of its objects; empty for that of the list.'),
  version: opt(9, string(), 'Version of its objects; empty for that of the list.'),
  kind: req(3, string(), 'Kind of its objects.'),
  // In protobuf a message of its own, with the verbs as its only field.
  verbs: { ...req(1, list(string(), { typeUndocumented: true }), 'What can be done with it.'), within: [4] },
  shortNames: opt(5, list(string()), 'Short names that clients may offer.'),
  categories: opt(7, list(string()), 'Names of groups of resources it is part of.'),
  storageVersionHash: opt(10, string(), 'Changes when the form in which its objects are stored does.'),
});

/** Response of `GET /api/v1` and `GET /apis/<group>/<version>`. */
export const apiResourceList = struct('apimachinery.pkg.apis.meta.v1.APIResourceList', 'The resources of one version of a group.', {
  ...typeMeta,
  groupVersion: req(1, string(), 'The group and version, such as `apps/v1`.'),
  resources: req(2, list(apiResource), 'The resources, with their subresources.'),
});
