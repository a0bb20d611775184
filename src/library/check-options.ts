import { dialects } from '../dialect/dialects.ts';
import { type FeatureName, featureGates } from '../server/wiring/features.ts';
import type { BuiltInAuthorizer, ServerOptions, User } from './options.ts';

/** Every option; the type makes a missing name an error. */
const names: Readonly<Record<keyof ServerOptions, true>> = {
  dialect: true,
  storage: true,
  authority: true,
  clientAuthorities: true,
  tokenKey: true,
  staticTokens: true,
  anonymous: true,
  authorizers: true,
  authorizationConfiguration: true,
  authenticationConfiguration: true,
  admissionPlugins: true,
  admissionConfiguration: true,
  controllers: true,
  features: true,
  runtimeConfig: true,
  eventTtlMs: true,
  requestTimeoutMs: true,
  logger: true,
};

const authorizers: readonly BuiltInAuthorizer[] = ['AlwaysAllow', 'AlwaysDeny', 'RBAC', 'Node'];
const backends = ['memory', 'sqlite', 'etcd3'] as const;

/** Throws a TypeError that names the first invalid option. JavaScript programs have no compiler to say so. */
export function checkOptions(options: ServerOptions): void {
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(names, name))
      throw new TypeError(`${name} is not an option; known: ${Object.keys(names).join(', ')}`);
  }
  if (options.dialect !== undefined) checkChoice('dialect', options.dialect, Object.keys(dialects));
  if (options.storage !== undefined) checkChoice('storage.backend', options.storage.backend, backends);
  for (const [index, each] of (options.authorizers ?? []).entries())
    checkChoice(`authorizers[${index}]`, each, authorizers);
  for (const [name, on] of Object.entries(options.features ?? {})) {
    const gate = Object.hasOwn(featureGates, name) ? featureGates[name as FeatureName] : undefined;
    if (!gate) throw new TypeError(`features: there is no ${JSON.stringify(name)}`);
    if ('locked' in gate && on !== gate.default) throw new TypeError(`features: ${name} is locked to ${gate.default}`);
  }
  for (const name of ['eventTtlMs', 'requestTimeoutMs'] as const) {
    const value: unknown = options[name];
    if (value === undefined || (typeof value === 'number' && value >= 0 && Number.isFinite(value))) continue;
    throw new TypeError(`${name} must be a number of milliseconds, got ${JSON.stringify(value)}`);
  }
}

/** Throws a TypeError if it is not a user. */
export function checkUser(user: Pick<User, 'username'>): void {
  const { username }: { readonly username?: unknown } = Object(user);
  if (typeof username !== 'string' || username === '') {
    throw new TypeError(`a user must be an object with a username, got ${JSON.stringify(user)}`);
  }
}

function checkChoice(name: string, value: string, choices: readonly string[]): void {
  if (choices.includes(value)) return;
  throw new TypeError(`${name} must be one of ${choices.join(', ')}, got ${JSON.stringify(value)}`);
}
