import type { Caller } from '../base/caller.ts';
import type { Closable } from '../base/disposable.ts';
import type { Logger } from '../base/logger.ts';
import type { Metrics } from '../base/metrics.ts';
import { type ReloadReports, reloadReports } from '../base/reload-reports.ts';
import type { Clock } from '../base/time/clock.ts';
import type { UserInfo } from '../request/user-info.ts';
import type { Attributes, Authorizer, Decision } from './authorizer.ts';
import type { AuthorizerChain } from './authorizer-chain.ts';
import {
  type ReadAuthorizationOptions,
  readAuthorizationConfiguration,
} from './configuration/authorization-configuration.ts';
import { type AuthorizerSpec, sameSpecs } from './configuration/authorizer-spec.ts';
import type { RuleResolver, UserRules } from './rule-resolver.ts';

interface ReloadableAuthorizerOptions extends ReadAuthorizationOptions {
  /** Path of the file, for messages. */
  readonly file: string;
  /** Builds a chain; rejects if that is not possible. */
  readonly build: (specs: readonly AuthorizerSpec[]) => Promise<AuthorizerChain>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Identifies this server in metrics, as a hash; empty if unset. */
  readonly serverId: string;
}

/**
 * The authorizer chain of a configuration file (spec section 5.7), which may change at run time. A new document is read,
 * validated and built completely before it atomically replaces the old one. An invalid document is reported and changes
 * nothing. Requests in flight are answered by the chain they started with, which is closed after the last of them.
 *
 * As in kube-apiserver, the types present at startup, except webhooks, must remain in the file, and types that need preparation
 * at startup (RBAC, Node, ABAC) cannot be added.
 */
export class ReloadableAuthorizer implements Authorizer, RuleResolver, Closable {
  readonly #options: ReloadableAuthorizerOptions;
  readonly #report: ReloadReports;
  readonly #requiredTypes: readonly string[];
  #specs: readonly AuthorizerSpec[];
  #current: Lease;
  #closed = false;
  /** Reloads run one at a time. */
  #work: Promise<void> = Promise.resolve();

  private constructor(options: ReloadableAuthorizerOptions, specs: readonly AuthorizerSpec[], chain: AuthorizerChain) {
    this.#options = options;
    this.#report = reloadReports({ ...options, of: 'authorization' });
    this.#specs = specs;
    this.#requiredTypes = specs.map(({ type }) => type).filter((type) => type !== 'Webhook');
    this.#current = new Lease(chain);
    this.#report('success');
  }

  /** Loads the current content of the file. Rejects with an error that names the file if it is invalid. */
  static async open(options: ReloadableAuthorizerOptions, content: Uint8Array): Promise<ReloadableAuthorizer> {
    try {
      const specs = await readAuthorizationConfiguration(content, options);
      return new ReloadableAuthorizer(options, specs, await options.build(specs));
    } catch (error) {
      throw new Error(`${options.file}: ${error instanceof Error ? error.message : error}`, { cause: error });
    }
  }

  /** The specs of the current chain. */
  get specs(): readonly AuthorizerSpec[] {
    return this.#specs;
  }

  authorize(attributes: Attributes, user: UserInfo, caller?: Caller): Decision | Promise<Decision> {
    const lease = this.#current;
    return lease.until(lease.chain.authorize(attributes, user, caller));
  }

  rulesFor(user: UserInfo, namespace: string): UserRules | Promise<UserRules> {
    const lease = this.#current;
    return lease.until(lease.chain.rulesFor(user, namespace));
  }

  /** Applies the file's new content. Resolves when it is in use or rejected as invalid. Never rejects. */
  reload(content: Uint8Array): Promise<void> {
    this.#work = this.#work.then(() => this.#replace(content)).catch((error) => this.failed(error));
    return this.#work;
  }

  /** Reports content that cannot be read or used. The old content stays in use. */
  failed(error: unknown): void {
    const { logger, file } = this.#options;
    logger.error('the authorization configuration is not reloaded; the one before it stays in use', { file, error });
    this.#report('failure');
  }

  /** Fails the webhook requests in flight. */
  close(): void {
    this.#closed = true;
    this.#current.chain.close();
  }

  async #replace(content: Uint8Array): Promise<void> {
    const { build, logger, file } = this.#options;
    const specs = await readAuthorizationConfiguration(content, this.#options);
    const missing = this.#requiredTypes.filter((required) => !specs.some(({ type }) => type === required));
    if (missing.length > 0) {
      throw new Error(`authorizers: the types ${missing.join(', ')} must stay as long as the server runs`);
    }
    if (sameSpecs(specs, this.#specs)) return;
    const chain = await build(specs);
    if (this.#closed) return chain.close();
    const before = this.#current;
    this.#current = new Lease(chain);
    this.#specs = specs;
    before.retire();
    this.#report('success');
    logger.info('the authorization configuration was reloaded', { file });
  }
}

/** A chain that is closed once it is retired and has no requests in flight. */
class Lease {
  readonly chain: AuthorizerChain;
  #pending = 0;
  #retired = false;

  constructor(chain: AuthorizerChain) {
    this.chain = chain;
  }

  /** Keeps the chain open until the decision is available. */
  until<T>(answer: T | Promise<T>): T | Promise<T> {
    if (!(answer instanceof Promise)) return answer;
    this.#pending += 1;
    return answer.finally(() => {
      this.#pending -= 1;
      this.#closeWhenIdle();
    });
  }

  retire(): void {
    this.#retired = true;
    this.#closeWhenIdle();
  }

  #closeWhenIdle(): void {
    if (this.#retired && this.#pending === 0) this.chain.close();
  }
}
