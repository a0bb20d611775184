import type { Dialect } from '../../dialect/dialect.ts';
import type { GroupVersionKind } from '../../kinds/kind.ts';
import { apiResourceList } from '../../kinds/meta/api-resource-list.ts';
import { apiGroup, apiGroupList, apiVersions, serverVersion } from '../../kinds/meta/discovery-documents.ts';
import { jwksPath, openidConfigurationPath } from '../../request/issuer-paths.ts';
import type { StructSchema } from '../../schema/schema.ts';
import { capital, groupTag, inCamelCase, versionNames } from './operation-names.ts';
import type { Operation } from './operations.ts';

/*
 * Operations that answer what the server is and serves, not objects. As in the documents of kube-apiserver, their paths end
 * with a slash.
 */

type Reading = Pick<Operation, 'id' | 'tag' | 'description'> & Partial<Operation>;

/** `answer`: undefined for text. */
const reading = (path: string, answer: StructSchema | undefined, rest: Reading): Operation => ({
  path: `/${path}/`,
  method: 'get',
  parameters: [],
  body: undefined,
  responses: { 200: answer ? { struct: answer.name } : 'text' },
  streams: false,
  protobuf: true,
  ...rest,
});

const fixed = (mediaType: string) => ({ protobuf: false, fixedTypes: [mediaType] });

/** Operations at the root, each by the path of its document: `api`. `issuer`: whether tokens can be verified by others. */
export function rootOperations(issuer: boolean): ReadonlyMap<string, Operation> {
  const all = [
    reading('api', apiVersions, {
      id: 'getCoreAPIVersions',
      tag: 'core',
      description: 'list the versions of the core group',
    }),
    reading('apis', apiGroupList, {
      id: 'getAPIVersions',
      tag: 'apis',
      description: 'list the groups and their versions',
    }),
    reading('version', serverVersion, {
      ...{ id: 'getCodeVersion', tag: 'version', description: 'read the version of the server' },
      ...fixed('application/json'),
    }),
    ...(issuer ? issuerOperations() : []),
  ];
  return new Map(all.map((operation) => [operation.path.slice(1, -1), operation]));
}

const issuerOperations = (): readonly Operation[] => [
  reading(openidConfigurationPath.slice(1), undefined, {
    id: 'getServiceAccountIssuerOpenIDConfiguration',
    tag: inCamelCase(openidConfigurationPath.split('/')[1] ?? ''),
    description: 'read how tokens of service accounts are verified',
    ...fixed('application/json'),
  }),
  reading(jwksPath.slice(1), undefined, {
    id: 'getServiceAccountIssuerOpenIDKeyset',
    tag: 'openid',
    description: 'read the public keys of tokens of service accounts',
    ...fixed('application/jwk-set+json'),
  }),
];

/** The operation on a group itself, which is not core: its versions. */
export function groupOperation(group: string, dialect: Dialect): Operation {
  const tag = groupTag(group, dialect);
  return reading(`apis/${group}`, apiGroup, {
    ...{ id: `get${capital(tag)}APIGroup`, tag, description: 'list the versions of this group' },
  });
}

/** The operation on a group version itself: its resources. */
export function versionOperation(of: Pick<GroupVersionKind, 'group' | 'version'>, dialect: Dialect): Operation {
  const { group, version } = of;
  const { id, tag } = versionNames(of, dialect);
  return reading(group === '' ? `api/${version}` : `apis/${group}/${version}`, apiResourceList, {
    ...{ id: id('get', 'APIResources'), tag, description: 'list the resources of this version' },
  });
}
