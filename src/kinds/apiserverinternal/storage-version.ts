import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { duplicate, errorsOfEach, type FieldError, invalid, invalidTexts, required } from '../../meta/field-error.ts';
import { isDns1035Label, isDnsSubdomain, isQualifiedName } from '../../meta/formats.ts';
import { always, type Infer, int64, list, opt, ptr, string, struct, time } from '../../schema/schema.ts';
import { ageColumn, column, nameColumn } from '../columns.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { clearStatus } from '../meta/status-view.ts';
import { typed } from '../typed.ts';

const prefix = 'api.apiserverinternal.v1alpha1';
const versions = list(string(), { listType: 'set', duplicatesAllowed: true });

const serverVersion = struct(`${prefix}.ServerStorageVersion`, 'What a server stores, decodes and serves.', {
  apiServerID: opt(1, string(), 'Identity of the server.'),
  encodingVersion: opt(2, string(), 'The version in which it stores objects.'),
  decodableVersions: opt(3, versions, 'Versions that it decodes.'),
  servedVersions: opt(4, versions, 'Versions that it serves.'),
});

const condition = struct(`${prefix}.StorageVersionCondition`, 'One aspect of the state of an object.', {
  type: always(1, string(), 'Name of the aspect.', { documented: 'required' }),
  status: always(2, string(), '`True`, `False` or `Unknown`.', { documented: 'required' }),
  observedGeneration: opt(3, int64(), 'The `metadata.generation` that the condition is about.'),
  lastTransitionTime: always(4, time(), 'When the status last changed.'),
  reason: always(5, string(), 'Machine-readable reason of the last change.', { documented: 'required' }),
  message: opt(6, string(), 'The reason in words.', { documented: 'required' }),
});

const status = struct(`${prefix}.StorageVersionStatus`, 'What servers store.', {
  storageVersions: opt(1, list(serverVersion, { listType: 'map', mapKeys: ['apiServerID'], duplicatesAllowed: true }), 'What each server reports.'),
  commonEncodingVersion: ptr(2, string(), 'The version in which all servers store objects.'),
  conditions: opt(3, list(condition, { listType: 'map', mapKeys: ['type'], duplicatesAllowed: true }), 'What is known of the state.'),
});

const schema = kindSchema(`${prefix}.StorageVersion`, 'In which versions servers store a resource.', {
  spec: always(2, struct(`${prefix}.StorageVersionSpec`, 'Nothing.', {}), 'Nothing.', { documented: 'required' }),
  status: always(3, status, 'What servers store.', { documented: 'required' }),
});

type Status = Infer<typeof status>;
type ServerVersion = NonNullable<Status['storageVersions']>[number];

const statusOf = (object: ApiObject): Status => typed(schema, object).status ?? {};

function validateName({ metadata: { name = '' } }: ApiObject): FieldError[] {
  const dot = name.lastIndexOf('.');
  const problems =
    dot < 0
      ? ['name must be in the form of <group>.<resource>']
      : [...isDnsSubdomain(name.slice(0, dot)).map((problem) => `the group segment ${problem}`), ...isDns1035Label(name.slice(dot + 1)).map((problem) => `the resource segment ${problem}`)];
  return problems.map((problem) => invalid('metadata.name', name, problem));
}

function validateStatus(object: ApiObject): FieldError[] {
  const { storageVersions = [], commonEncodingVersion, conditions = [] } = statusOf(object);
  const [seen, types] = [new Set<string>(), new Map<string, number>()];
  return [
    ...errorsOfEach(storageVersions, (each, index) => {
      const { apiServerID = '' } = each;
      const path = `status.storageVersions[${index}]`;
      const repeated = seen.has(apiServerID);
      seen.add(apiServerID);
      return [...(repeated ? [duplicate(`${path}.apiServerID`, apiServerID)] : []), ...validateServer(each, path)];
    }),
    ...validateCommon(storageVersions, commonEncodingVersion),
    ...errorsOfEach(conditions, ({ type = '', status: state = '', reason = '', message = '' }, index) => {
      // Published without the name of the list.
      const path = `status[${index}]`;
      const before = types.get(type);
      types.set(type, index);
      return [
        ...(before === undefined ? [] : [invalid(`${path}.type`, type, `the type of the condition is not unique, it also appears in conditions[${before}]`)]),
        ...isQualifiedName(type).map((problem) => invalid(`${path}.type`, type, problem)),
        ...isQualifiedName(state).map((problem) => invalid(`${path}.status`, state, problem)),
        ...(reason === '' ? [required(`${path}.reason`, 'reason cannot be empty')] : []),
        ...(message === '' ? [required(`${path}.message`, 'message cannot be empty')] : []),
      ];
    }),
  ];
}

function validateServer({ apiServerID: id = '', encodingVersion: encoding = '', decodableVersions = [], servedVersions = [] }: ServerVersion, path: string): FieldError[] {
  const decodable = new Set(decodableVersions);
  const version = (value: string, field: string): FieldError[] => {
    const problems = versionProblems(value);
    return problems.length > 0 ? [invalid(field, value, problems.join(','))] : [];
  };
  return [
    ...isDnsSubdomain(id).map((problem) => invalid(`${path}.apiServerID`, id, problem)),
    ...version(encoding, `${path}.encodingVersion`),
    ...errorsOfEach(decodableVersions, (each, index) => version(each, `${path}.decodableVersions[${index}]`)),
    ...(decodable.has(encoding) ? [] : [invalidTexts(`${path}.decodableVersions`, decodableVersions, `decodableVersions must include encodingVersion ${encoding}`)]),
    ...errorsOfEach(servedVersions, (each, index) => {
      const field = `${path}.servedVersions[${index}]`;
      const known = decodable.has(each);
      const problem = `individual served version : ${each} must be included in decodableVersions : [${decodableVersions.join(' ')}]`;
      return [...version(each, field), ...(known ? [] : [invalid(field, each, problem)])];
    }),
  ];
}

const none = 'should be nil if servers do not agree on the same encoding version, or if there is no server reporting the supported versions yet';

function validateCommon(all: readonly ServerVersion[], common: string | undefined): FieldError[] {
  const path = 'status.commonEncodingVersion';
  const first = all[0] && (all[0].encodingVersion ?? '');
  const actual = all.every(({ encodingVersion = '' }) => encodingVersion === first) ? first : undefined;
  if (actual === common) return [];
  if (actual === undefined) return [invalid(path, common, none)];
  return common === undefined ? [invalid(path, null, `the common encoding version is ${actual}`)] : [invalid(path, common, `the actual common encoding version is ${actual}`)];
}

const noVersion =
  "an apiVersion is a DNS-1035 label, which must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character " +
  "(e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion')";

/** What is wrong with the text of a group and a version. */
function versionProblems(text: string): readonly string[] {
  const parts = text.split('/');
  if (parts.length > 2) return [noVersion];
  const [version = '', group] = parts.toReversed();
  const problems = (part: string, value: string, check: (value: string) => readonly string[]) => (value === '' ? ['must be non-empty'] : check(value)).map((problem) => `${part} part: ${problem}`);
  return [...(group === undefined ? [] : problems('group', group, isDnsSubdomain)), ...problems('version', version, isDns1035Label)];
}

/** As in the columns of other lists: three, and how many more there are. */
function shownVersions(object: ApiObject): string {
  const { storageVersions = [] } = statusOf(object);
  if (storageVersions.length === 0) return '<unset>';
  const shown = storageVersions.slice(0, 3).map(({ apiServerID = '', encodingVersion = '' }) => `${apiServerID}=${encodingVersion}`);
  const more = storageVersions.length - shown.length;
  return `${shown.join(',')}${more > 0 ? ` + ${more} more...` : ''}`;
}

/** StorageVersion (KEP-2339). Alpha, and so off by default. */
export const storageVersion = (dialect: Dialect): Kind =>
  defineKind({
    group: dialect.group('internal.apiserver'),
    version: 'v1alpha1',
    kind: 'StorageVersion',
    scope: 'Cluster',
    nameFormat: 'pathSegment',
    schema,
    offByDefault: true,
    columns: [
      nameColumn,
      column('CommonEncodingVersion', 'The version in which all servers store objects.', '.status.commonEncodingVersion', { absent: '<unset>' }),
      column('StorageVersions', 'The version in which each server stores objects.', shownVersions),
      ageColumn,
    ],
    strategy: { prepareForCreate: clearStatus(schema), validateCreate: validateName },
    subresources: [{ type: 'view', name: 'status', verbs: ['get', 'update', 'patch'], fields: ['status'], resetFields: [['spec'], ['metadata']], validateUpdate: validateStatus }],
    unconditionalUpdate: false,
  });
