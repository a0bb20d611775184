import type { PluginName } from '../../../admission/plugins.ts';
import { systemClock } from '../../../base/clock.ts';
import { stringifyJson } from '../../../codec/json.ts';
import { parseYaml } from '../../../codec/yaml.ts';
import { type BodyForm, parseBody } from '../../../content/body.ts';
import type { Negotiated } from '../../../content/negotiation.ts';
import { Representation } from '../../../content/representation.ts';
import type { Dialect } from '../../../dialect/dialect.ts';
import { dialects } from '../../../dialect/dialects.ts';
import type { Kind } from '../../../kinds/kind.ts';
import { scopeNamed } from '../../../meta/scope.ts';
import type { Status } from '../../../meta/status-error.ts';
import { parseRequestInfo } from '../../../request/request-info.ts';
import type { UserInfo } from '../../../request/user-info.ts';
import { type KnownEntry, remoteRegistry } from './remote-registry.ts';
import type { Job, JobContext } from './serve-jobs.ts';

/** A whole request that writes: bytes in, bytes out. */
export interface WriteInput {
  readonly dialect: Dialect['name'];
  /** Name of the scope that the request is in. */
  readonly scope: string;
  readonly admissionPlugins: readonly PluginName[];
  /** Names of those that are on. */
  readonly features: ReadonlySet<string>;
  readonly unsafeDeletion: boolean;
  readonly method: string;
  readonly target: string;
  readonly user: UserInfo;
  readonly userAgent: string;
  readonly form: BodyForm;
  readonly body: Uint8Array;
  readonly entry: KnownEntry | undefined;
}

export type WriteOutput =
  | { readonly type: 'object'; readonly status: 200 | 201 | 202; readonly bytes: Uint8Array }
  | { readonly type: 'status'; readonly status: 200 | 201 | 202; readonly body: Status };

/** YAML that is to go on as JSON. */
export interface YamlInput {
  readonly bytes: Uint8Array;
}

export interface YamlOutput {
  readonly json: Uint8Array;
  readonly duplicates: readonly string[];
}

/** An object that is to be shown in another form than the one it is stored in. */
export interface RepresentInput {
  readonly dialect: Dialect['name'];
  readonly bytes: Uint8Array;
  readonly negotiated: Negotiated;
  /** Of the request. */
  readonly target: string;
}

/** Gives the kinds of a dialect, without what only the main thread can do, which no stored kind needs. */
type KindsOf = (dialect: Dialect['name']) => readonly Kind[];

async function write(input: WriteInput, context: JobContext, kindsOf: KindsOf): Promise<WriteOutput> {
  const { dialect: name, admissionPlugins, features, unsafeDeletion, entry, user, userAgent, form } = input;
  const dialect = dialects[name];
  const info = parseRequestInfo(input.method, input.target);
  const { registry, resources } = remoteRegistry({
    dialect,
    kinds: kindsOf(name),
    scope: scopeNamed(input.scope),
    admissionPlugins,
    features,
    unsafeDeletion,
    entry,
    context,
  });
  const served = info.type === 'resource' ? resources.find(info.group, info.version, info.resource) : undefined;
  if (info.type !== 'resource' || !served) throw new Error(`nothing is served at ${input.target}`);
  const reply = await registry.serve({
    info,
    served,
    user,
    userAgent,
    body: parseBody(input.body, form, { info, served }),
    signal: context.signal,
    annotate: (key, value) => context.annotate(key, value),
    warn: (text) => context.warn(text),
    // Said where the write is sent: on the main thread.
    beforeWrite() {},
  });
  switch (reply.type) {
    case 'object':
      return { type: 'object', status: reply.status, bytes: new Uint8Array(reply.bytes) };
    case 'status':
      return { type: 'status', status: reply.status, body: reply.body };
    default:
      throw new Error(`a write is answered by a ${reply.type}`);
  }
}

function yaml({ bytes }: YamlInput): YamlOutput {
  const { value, duplicates } = parseYaml(bytes);
  return { json: new Uint8Array(Buffer.from(stringifyJson(value))), duplicates };
}

function represent(input: RepresentInput, kindsOf: KindsOf): Uint8Array {
  const { representation, presentation, bytes } = presented(input, kindsOf);
  return new Uint8Array(representation.object(bytes, presentation));
}

function presented({ dialect, bytes, negotiated, target }: RepresentInput, kindsOf: KindsOf) {
  const info = parseRequestInfo('GET', target);
  const kind =
    info.type === 'resource'
      ? kindsOf(dialect).find(
          ({ group, version, resource }) =>
            group === info.group && version === info.version && resource === info.resource,
        )
      : undefined;
  const representation = new Representation(dialects[dialect], systemClock);
  const presentation = representation.presentation(negotiated, kind, info.query);
  return { representation, presentation, bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length) };
}

/** The same as an item of a list. */
function listItem(input: RepresentInput, kindsOf: KindsOf): Uint8Array {
  const { representation, presentation, bytes } = presented(input, kindsOf);
  return new Uint8Array(representation.listItem(bytes, presentation));
}

/** By name: what the thread can do with these kinds, made once for each dialect. */
export function jobsOf(make: (dialect: Dialect) => readonly Kind[]): Readonly<Record<string, Job>> {
  const made = new Map<Dialect['name'], readonly Kind[]>();
  const kindsOf: KindsOf = (name) => {
    const known = made.get(name) ?? make(dialects[name]);
    made.set(name, known);
    return known;
  };
  return {
    write: (input, context) => write(input as WriteInput, context, kindsOf),
    yaml: (input) => yaml(input as YamlInput),
    represent: (input) => represent(input as RepresentInput, kindsOf),
    listItem: (input) => listItem(input as RepresentInput, kindsOf),
  };
}
