import { orch } from '../dialect/orch.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { describeFieldError } from '../meta/field-error.ts';
import { StatusError } from '../meta/status-error.ts';
import type { UserInfo } from '../request/user-info.ts';
import { decode } from '../schema/decode.ts';
import { applyDefaults } from '../schema/defaults.ts';
import { validate } from '../schema/validate.ts';
import type { AnswerContext, Kind } from './kind.ts';
import type { KindServices } from './services.ts';
import { immediate } from './strategy-fixture.ts';

/** Runs the create path of kinds that are answered and never stored, for their tests. */

export const now = Date.UTC(2026, 0, 10);

export const jane: UserInfo = { username: 'jane', uid: 'u-1', groups: ['dev'], extra: { scopes: ['a', 'b'] } };

/** Only the given services; a call of any other throws. */
const servicesOf = (some: Partial<KindServices>): KindServices =>
  new Proxy(some as KindServices, {
    get(target, name) {
      if (name in target) return Reflect.get(target, name);
      throw new Error(`the test did not expect ${String(name)} to be asked`);
    },
  });

interface Answer {
  readonly object: ApiObject;
  readonly warnings: readonly string[];
}

/** Decodes and defaults a body. Throws on unknown fields, to catch typos in tests. */
export function readBody(schema: Kind['schema'], sent: Readonly<Record<string, unknown>>): ApiObject {
  const { value, errors, unknown } = decode(schema, sent);
  if (errors.length + unknown.length > 0) throw new Error(JSON.stringify({ errors, unknown }));
  applyDefaults(schema, value);
  return value as unknown as ApiObject;
}

export function answerContext(services: Partial<KindServices> = {}): AnswerContext & { readonly warnings: string[] } {
  const warnings: string[] = [];
  return {
    dialect: orch,
    user: jane,
    now,
    requested: { group: '', version: 'v1' },
    services: servicesOf(services),
    warnings,
    warn: (text) => warnings.push(text),
  };
}

/** Validation errors, as `field: text`. */
export function errorsOf(kind: Kind, sent: Readonly<Record<string, unknown>>): readonly string[] {
  const object = prepared(kind, sent);
  return [...validate(kind.schema, object), ...immediate(kind.strategy.validateCreate?.(object, answerContext()))].map(
    (error) => `${error.field}: ${describeFieldError(error)}`,
  );
}

/** The answer to a valid object. */
export async function answerTo(
  kind: Kind,
  sent: Readonly<Record<string, unknown>>,
  services: Partial<KindServices> = {},
): Promise<Answer> {
  const errors = errorsOf(kind, sent);
  if (errors.length > 0 || !kind.answer) throw new Error(errors.join(', '));
  const context = answerContext(services);
  return { object: await kind.answer(prepared(kind, sent), context), warnings: context.warnings };
}

/** The StatusError that an action or an answer rejects with. */
export async function refusalOf(answer: Promise<unknown>): Promise<StatusError> {
  const error = await answer.then(
    () => undefined,
    (refused: unknown) => refused,
  );
  if (error instanceof StatusError) return error;
  throw new Error('was not refused', { cause: error });
}

function prepared(kind: Kind, sent: Readonly<Record<string, unknown>>): ApiObject {
  const apiVersion = `${kind.group}/${kind.version}`;
  const object = readBody(kind.schema, { kind: kind.kind, apiVersion, ...sent });
  kind.strategy.default?.(object, answerContext());
  return object;
}
