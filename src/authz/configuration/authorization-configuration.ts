import { isAbsolute } from 'node:path';
import type { Files } from '../../base/files.ts';
import { limits } from '../../base/limits.ts';
import { parseDuration } from '../../base/time/duration.ts';
import type { Cel } from '../../cel/cel.ts';
import { readConfiguration, requireNoErrors } from '../../codec/configuration-document.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { duplicate, type FieldError, invalid, notSupported, required } from '../../meta/field-error.ts';
import { isDnsSubdomain } from '../../meta/formats.ts';
import { type Infer, list, opt, ptr, string, struct } from '../../schema/schema.ts';
import { compileMatchConditions, type MatchConditions } from '../webhook/match-conditions.ts';
import {
  type AuthorizerSpec,
  type AuthorizerType,
  authorizerTypes,
  type WebhookConnection,
} from './authorizer-spec.ts';

export interface ReadAuthorizationOptions {
  readonly dialect: Dialect;
  /** Access to the connection files. */
  readonly files: Files;
  /** Called only if the document has match conditions. */
  readonly loadCel: () => Promise<Pick<Cel, 'compile'>>;
}

/**
 * Reads an AuthorizationConfiguration (spec section 5.7) in YAML or JSON, version `v1`, `v1beta1` or `v1alpha1` (all with the
 * same fields). Connection files must exist but are not read. Rejects with an error that names every invalid field.
 */
export async function readAuthorizationConfiguration(
  bytes: Uint8Array,
  { dialect, files, loadCel }: ReadAuthorizationOptions,
): Promise<readonly AuthorizerSpec[]> {
  const group = dialect.group('apiserver.config');
  const { authorizers = [] } = readConfiguration(bytes, {
    kind: 'AuthorizationConfiguration',
    apiVersions: ['v1', 'v1beta1', 'v1alpha1'].map((version) => `${group}/${version}`),
    schema: authorizationConfiguration,
  });
  const hasConditions = authorizers.some(({ webhook }) => (webhook?.matchConditions ?? []).length > 0);
  const reader = new SpecReader(hasConditions ? await loadCel() : undefined, files);
  const specs = reader.chain(authorizers);
  requireNoErrors(reader.errors);
  return specs;
}

/** `ptr` keeps the difference between an absent duration and an empty one, which is invalid. */
const duration = (number: number, description: string) => ptr(number, string(), description);

const webhookConfiguration = struct('api.apiserver.v1.WebhookConfiguration', 'How a webhook is asked.', {
  authorizedTTL: duration(1, 'How long it is remembered that something is allowed.'),
  unauthorizedTTL: duration(2, 'How long it is remembered that something is not allowed.'),
  timeout: duration(3, 'What a round trip may take.'),
  subjectAccessReviewVersion: opt(4, string(), 'The version of the reviews that are sent.'),
  matchConditionSubjectAccessReviewVersion: opt(5, string(), 'The version of the reviews that conditions see.'),
  failurePolicy: opt(6, string(), 'What becomes of a question when the webhook fails.'),
  connectionInfo: opt(
    7,
    struct('api.apiserver.v1.WebhookConnectionInfo', 'Where the webhook is.', {
      type: opt(1, string(), 'How it is found.'),
      kubeConfigFile: ptr(2, string(), 'Path of the connection file.'),
    }),
    'Where the webhook is.',
  ),
  matchConditions: opt(
    8,
    list(
      struct('api.apiserver.v1.WebhookMatchCondition', 'When the webhook is asked.', {
        expression: opt(1, string(), 'An expression over `request`.'),
      }),
    ),
    'When the webhook is asked.',
  ),
});

const authorizerConfiguration = struct('api.apiserver.v1.AuthorizerConfiguration', 'One authorizer.', {
  type: opt(1, string(), 'Which authorizer.'),
  name: opt(2, string(), 'Its name.'),
  webhook: ptr(3, webhookConfiguration, 'For webhooks.'),
});

const authorizationConfiguration = struct('api.apiserver.v1.AuthorizationConfiguration', 'The chain of authorizers.', {
  authorizers: opt(1, list(authorizerConfiguration), 'In the order in which they are asked.'),
});

type AuthorizerFields = Infer<typeof authorizerConfiguration>;
type WebhookFields = Infer<typeof webhookConfiguration>;

const authorizedTtlMs = 5 * 60_000;
const unauthorizedTtlMs = 30_000;

/** Validates the authorizers and collects the errors. If there are any, the returned specs are not usable. */
class SpecReader {
  readonly errors: FieldError[] = [];
  readonly #cel: Pick<Cel, 'compile'> | undefined;
  readonly #files: Files;
  readonly #types = new Set<string>();
  readonly #names = new Set<string>();

  constructor(cel: Pick<Cel, 'compile'> | undefined, files: Files) {
    this.#cel = cel;
    this.#files = files;
  }

  chain(authorizers: readonly AuthorizerFields[]): readonly AuthorizerSpec[] {
    if (authorizers.length === 0) {
      this.errors.push(required('authorizers', 'at least one authorization mode must be defined'));
    }
    return authorizers.flatMap((fields, index) => this.#authorizer(fields, `authorizers[${index}]`) ?? []);
  }

  #authorizer(fields: AuthorizerFields, path: string): AuthorizerSpec | undefined {
    const type = this.#type(fields.type, `${path}.type`);
    if (type === undefined) return undefined;
    const name = this.#name(fields.name, `${path}.name`);
    if (type === 'Webhook') return this.#webhook(name, fields.webhook, `${path}.webhook`);
    if (fields.webhook !== undefined) {
      this.errors.push(invalid(`${path}.webhook`, 'non-null', 'may only be specified when type=Webhook'));
    }
    return { type, name };
  }

  #type(value: string | undefined, field: string): AuthorizerType | undefined {
    const type = this.#oneOf(value, field, authorizerTypes);
    if (type === undefined) return undefined;
    if (type !== 'Webhook' && this.#types.has(type)) {
      this.errors.push(duplicate(field, type));
      return undefined;
    }
    this.#types.add(type);
    return type;
  }

  #name(name = '', field: string): string {
    const problems = isDnsSubdomain(name);
    if (name === '') this.errors.push(required(field));
    else if (this.#names.has(name)) this.errors.push(duplicate(field, name));
    else if (problems.length > 0) {
      this.errors.push(invalid(field, name, `authorizer name is invalid: ${problems.join(', ')}`));
    }
    this.#names.add(name);
    return name;
  }

  #webhook(name: string, fields: WebhookFields | undefined, path: string): AuthorizerSpec | undefined {
    if (fields === undefined) {
      this.errors.push(required(path, 'required when type=Webhook'));
      return undefined;
    }
    const { matchConditions = [] } = fields;
    const timeoutMs = this.#timeout(fields.timeout, `${path}.timeout`);
    const spec = {
      type: 'Webhook' as const,
      name,
      timeoutMs,
      authorizedTtlMs: this.#ttl(fields.authorizedTTL, `${path}.authorizedTTL`, authorizedTtlMs),
      unauthorizedTtlMs: this.#ttl(fields.unauthorizedTTL, `${path}.unauthorizedTTL`, unauthorizedTtlMs),
      version: this.#oneOf(fields.subjectAccessReviewVersion, `${path}.subjectAccessReviewVersion`, reviewVersions),
      failurePolicy: this.#oneOf(fields.failurePolicy, `${path}.failurePolicy`, ['NoOpinion', 'Deny']),
      connection: this.#connection(fields.connectionInfo ?? {}, `${path}.connectionInfo`),
    };
    const conditionVersion = 'matchConditionSubjectAccessReviewVersion';
    this.#oneOf(fields[conditionVersion], `${path}.${conditionVersion}`, ['v1']);
    const conditions = this.#conditions(matchConditions, `${path}.matchConditions`);
    const { version, failurePolicy, connection } = spec;
    if (version === undefined || failurePolicy === undefined || connection === undefined) return undefined;
    return { ...spec, version, failurePolicy, connection, ...(conditions && { conditions }) };
  }

  /** Requires a value from a closed list. */
  #oneOf<const T extends string>(value: string | undefined, field: string, accepted: readonly T[]): T | undefined {
    const found = accepted.find((each) => each === value);
    if (value === undefined || value === '') this.errors.push(required(field));
    else if (found === undefined) this.errors.push(notSupported(field, value, accepted));
    return found;
  }

  #timeout(text: string | undefined, field: string): number {
    const timeoutMs = this.#duration(text, field);
    const problem = 'must be > 0s and <= 30s';
    if (timeoutMs === 0) this.errors.push(required(field));
    else if (timeoutMs < 0 || timeoutMs > limits.authorizationWebhookMsMax) {
      this.errors.push(invalid(field, text, problem));
    }
    return timeoutMs;
  }

  /** Zero means the default, as in kube-apiserver. */
  #ttl(text: string | undefined, field: string, defaultMs: number): number {
    const ttlMs = this.#duration(text, field) || defaultMs;
    if (ttlMs < 0) this.errors.push(invalid(field, text, 'must be > 0s'));
    return ttlMs;
  }

  #duration(text: string | undefined, field: string): number {
    if (text === undefined) return 0;
    const duration = parseDuration(text);
    if (duration === undefined) this.errors.push(invalid(field, text, 'must be a duration such as 30s or 5m0s'));
    return duration ?? Number.NaN;
  }

  #connection(fields: NonNullable<WebhookFields['connectionInfo']>, path: string): WebhookConnection | undefined {
    const type = this.#oneOf(fields.type, `${path}.type`, ['InClusterConfig', 'KubeConfigFile']);
    const { kubeConfigFile: file } = fields;
    const field = `${path}.kubeConfigFile`;
    if (type === undefined) return undefined;
    if (type === 'InClusterConfig') {
      if (file !== undefined) this.errors.push(invalid(field, file, 'can only be set when type=KubeConfigFile'));
      return { type: 'inCluster' };
    }
    if (file === undefined || file === '') {
      this.errors.push(required(field));
      return undefined;
    }
    const problem = fileProblem(file, this.#files);
    if (problem !== undefined) this.errors.push(invalid(field, file, problem));
    return { type: 'file', file };
  }

  #conditions(conditions: readonly { readonly expression?: string }[], path: string): MatchConditions | undefined {
    if (!this.#cel || conditions.length === 0) return undefined;
    const expressions = conditions.map(({ expression = '' }) => expression);
    const compiled = compileMatchConditions(expressions, path, this.#cel);
    this.errors.push(...compiled.errors);
    return compiled.conditions;
  }
}

const reviewVersions = ['v1', 'v1beta1'] as const;

/** The error about a connection file's path, if any. */
function fileProblem(file: string, files: Files): string | undefined {
  if (!isAbsolute(file)) return 'must be an absolute path';
  try {
    return files.isRegular(file) ? undefined : 'must be a regular file';
  } catch (error) {
    return `error loading file: ${error instanceof Error ? error.message : error}`;
  }
}
