import { always, list, opt, ptr, req, type StructSchema, string, struct } from '../../schema/schema.ts';
import { apiResourceList } from './api-resource-list.ts';
import { kindSchema } from './kind-schema.ts';
import { listMeta } from './list-schema.ts';
import { typeMeta } from './type-meta.ts';

const meta = 'apimachinery.pkg.apis.meta.v1';
const aggregated = 'api.apidiscovery.v2';

const serverAddress = struct(`${meta}.ServerAddressByClientCIDR`, 'An address of the server, and who should use it.', {
  clientCIDR: req(1, string(), 'Clients with an address in this range should use it.'),
  serverAddress: req(2, string(), 'Host or host:port of the server.'),
});

/** Response of `GET /api`. */
export const apiVersions = struct(`${meta}.APIVersions`, 'The versions of the core group.', {
  ...typeMeta,
  versions: req(1, list(string()), 'Names of the versions, such as `v1`.'),
  serverAddressByClientCIDRs: req(2, list(serverAddress), 'Addresses of the server.'),
});

const groupVersion = struct(`${meta}.GroupVersionForDiscovery`, 'A version of a group.', {
  groupVersion: always(1, string(), 'The group and version, such as `apps/v1`.'),
  version: always(2, string(), 'The version alone.'),
});

/** Response of `GET /apis/<group>`. */
export const apiGroup = struct(`${meta}.APIGroup`, 'A group of the API, and its versions.', {
  ...typeMeta,
  name: req(1, string(), 'Name of the group.'),
  versions: req(2, list(groupVersion), 'The versions served.'),
  preferredVersion: always(3, groupVersion, 'The version that the server prefers.'),
  serverAddressByClientCIDRs: opt(4, list(serverAddress), 'Addresses of the server.'),
});

/** Response of `GET /apis`. */
export const apiGroupList = struct(`${meta}.APIGroupList`, 'The groups of the API.', {
  ...typeMeta,
  groups: req(1, list(apiGroup), 'The groups.'),
});

const groupVersionKind = struct(`${meta}.GroupVersionKind`, 'A kind in a version of a group.', {
  group: req(1, string(), 'The group; empty for core.'),
  version: req(2, string(), 'The version.'),
  kind: req(3, string(), 'The kind.'),
});

const subresource = struct(`${aggregated}.APISubresourceDiscovery`, 'A subresource, and what can be done with it.', {
  subresource: req(1, string(), 'Name of the subresource.'),
  responseKind: ptr(2, groupVersionKind, 'Kind of its responses.'),
  acceptedTypes: opt(3, list(groupVersionKind), 'Kinds that it also accepts.'),
  verbs: req(4, list(string()), 'What can be done with it.'),
});

const resource = struct(`${aggregated}.APIResourceDiscovery`, 'A resource, and what can be done with it.', {
  resource: req(1, string(), 'Plural name, as it stands in paths.'),
  responseKind: ptr(2, groupVersionKind, 'Kind of its objects.'),
  scope: req(3, string(), '`Cluster` or `Namespaced`.'),
  singularResource: req(4, string(), 'Singular name, for people.'),
  verbs: req(5, list(string()), 'What can be done with it.'),
  shortNames: opt(6, list(string()), 'Short names that clients may offer.'),
  categories: opt(7, list(string()), 'Names of groups of resources it is part of.'),
  subresources: opt(8, list(subresource), 'Its subresources.'),
});

const version = struct(`${aggregated}.APIVersionDiscovery`, 'A version of a group, and its resources.', {
  version: req(1, string(), 'The version.'),
  resources: opt(2, list(resource), 'Its resources.'),
  freshness: opt(3, string(), '`Current`, or `Stale` if the resources may have changed.'),
});

const group = kindSchema(`${aggregated}.APIGroupDiscovery`, 'A group of the API, its versions and their resources.', {
  versions: opt(2, list(version), 'The versions, the preferred one first.'),
});

/** Response of `GET /api` and `GET /apis` for clients that ask for it; the same in `v2beta1`. */
const apiGroupDiscoveryList = struct(`${aggregated}.APIGroupDiscoveryList`, 'All groups of the API with their resources.', {
  ...typeMeta,
  metadata: always(1, listMeta, 'Metadata of the list; empty.'),
  items: req(2, list(group), 'The groups.'),
});

/** Response of `GET /version`. It has no kind. */
export const serverVersion = struct('apimachinery.pkg.version.Info', 'What the server was built from.', {
  major: req(1, string(), 'Major version of the API release.'),
  minor: req(2, string(), 'Minor version of the API release.'),
  gitVersion: req(3, string(), 'The release and the build.'),
  gitCommit: req(4, string(), 'Commit of the source; empty.'),
  gitTreeState: req(5, string(), 'Whether the source had changes; empty.'),
  buildDate: req(6, string(), 'When it was built.'),
  goVersion: req(7, string(), 'Version of Go; empty.'),
  compiler: req(8, string(), 'What compiles the program, and its version.'),
  platform: req(9, string(), 'Operating system and processor.'),
});

/** Schemas of the discovery documents by kind, for formats that need one. */
export const discoveryDocuments: ReadonlyMap<string, StructSchema> = new Map<string, StructSchema>([
  ['APIVersions', apiVersions],
  ['APIGroup', apiGroup],
  ['APIGroupList', apiGroupList],
  ['APIResourceList', apiResourceList],
  ['APIGroupDiscoveryList', apiGroupDiscoveryList],
]);
