import { limits } from '../../base/limits.ts';
import { ConfigurationError, decodeConfiguration } from '../../codec/configuration-document.ts';
import { parseJson } from '../../codec/json.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { groupAuthenticated } from '../../request/user-info.ts';
import { isRecord } from '../../schema/own-property.ts';
import { bool, type Infer, opt, string, struct } from '../../schema/schema.ts';
import { everything, type Policy } from './policy.ts';

interface PolicyFile {
  readonly policies: readonly Policy[];
  /** Number of unversioned (v0) lines, which grant more than they appear to; worth a warning. */
  readonly unversionedLines: number;
}

/** An invalid policy file. The message names the file and the line. */
export class PolicyFileError extends Error {
  constructor(path: string, line: number, cause: unknown) {
    super(`${path}, line ${line}: ${cause instanceof Error ? cause.message : cause}`, { cause });
    this.name = 'PolicyFileError';
  }
}

/**
 * Parses the file of `--authorization-policy-file`: one JSON policy per line; empty lines and lines that start with `#` are
 * ignored. Lines are of kind `Policy` in version `v1beta1`, or in the original form, `v0`, which may omit version and kind.
 * Unlike kube-apiserver it rejects unknown fields: a misspelt field would widen what the line allows. Throws a PolicyFileError.
 * `path` is for messages.
 */
export function parsePolicyFile(content: Uint8Array, path: string, dialect: Dialect): PolicyFile {
  const policies: Policy[] = [];
  let unversionedLines = 0;
  for (const [index, line] of linesOf(content).entries()) {
    if (line.length === 0 || line[0] === numberSign) continue;
    try {
      const { policy, unversioned } = readPolicy(line, dialect);
      policies.push(policy);
      if (unversioned) unversionedLines += 1;
    } catch (error) {
      throw new PolicyFileError(path, index + 1, error);
    }
  }
  return { policies, unversionedLines };
}

const numberSign = 35;
const space = /^[ \t\r\v\f]+|[ \t\r\v\f]+$/g;

/** The lines without surrounding whitespace. */
const linesOf = (content: Uint8Array): readonly Buffer[] =>
  Buffer.from(content)
    .toString('latin1')
    .split('\n')
    .map((line) => Buffer.from(line.replace(space, ''), 'latin1'));

const user = opt(1, string(), 'A user name; `*` is everybody who was authenticated.');
const group = opt(2, string(), 'A group; `*` is everybody who was authenticated.');
const readonly = opt(3, bool(), 'Allows only to read.');
const resource = opt(4, string(), 'A resource with its subresources; `*` is every one.');
const namespace = opt(5, string(), 'A namespace; `*` is every one, and what lies outside of namespaces.');

const v1beta1 = struct('api.abac.v1beta1.Policy', 'Who may do what.', {
  spec: opt(
    1,
    struct('api.abac.v1beta1.PolicySpec', 'Who may do what.', {
      user,
      group,
      readonly,
      apiGroup: opt(6, string(), 'The group of the resource; `*` is every one.'),
      resource,
      namespace,
      nonResourcePath: opt(7, string(), 'A path; with `*` at its end all that begin so.'),
    }),
    'The rule.',
  ),
});
const v0 = struct('api.abac.v0.Policy', 'Who may do what, in the first form.', {
  user,
  group,
  readonly,
  resource,
  namespace,
});

const kind = 'Policy';

interface ReadPolicy {
  readonly policy: Policy;
  readonly unversioned: boolean;
}

function readPolicy(line: Buffer, dialect: Dialect): ReadPolicy {
  if (line.length > limits.abacLineBytesMax) {
    throw new ConfigurationError([`the line is longer than ${limits.abacLineBytesMax} bytes`]);
  }
  const group = `abac.authorization.${dialect.domain}`;
  const apiVersions = [`${group}/v1beta1`, `${group}/v0`];
  const { value, duplicates } = parseJson(line);
  const parsed = { value: isUnversioned(value) ? { kind, ...value, apiVersion: apiVersions[1] } : value, duplicates };
  if (isRecord(parsed.value) && parsed.value['apiVersion'] === apiVersions[1]) {
    return { policy: fromV0(decodeConfiguration(parsed, { kind, apiVersions, schema: v0 })), unversioned: true };
  }
  const { spec } = decodeConfiguration(parsed, { kind, apiVersions, schema: v1beta1 });
  return { policy: { ...nobodys, ...spec }, unversioned: false };
}

/** True for a v0 line. A line with a `spec` is not one but lacks its version: as v0 it would allow everyone everything. */
const isUnversioned = (value: unknown): value is Record<string, unknown> =>
  isRecord(value) && !Object.hasOwn(value, 'apiVersion') && !Object.hasOwn(value, 'spec');

const nobodys: Policy = {
  user: '',
  group: '',
  readonly: false,
  apiGroup: '',
  namespace: '',
  resource: '',
  nonResourcePath: '',
};

/**
 * In v0 an omitted value matches everything: users, namespaces, resources, and all paths if both namespace and resource are
 * omitted.
 */
function fromV0(line: Infer<typeof v0>): Policy {
  const { user = '', group = '', readonly = false, resource = '', namespace = '' } = line;
  return {
    user,
    group: user === '' && group === '' ? groupAuthenticated : group,
    readonly,
    apiGroup: everything,
    namespace: namespace || everything,
    resource: resource || everything,
    nonResourcePath: namespace === '' && resource === '' ? everything : '',
  };
}
