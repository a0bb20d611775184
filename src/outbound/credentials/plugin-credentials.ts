import type { Clock } from '../../base/time/clock.ts';
import type { CredentialPlugin } from '../connection-config.ts';
import type { Credential, Credentials } from './credentials.ts';
import { type IssuedCredential, readExecCredential } from './exec-credential.ts';
import { sameKeyPair } from './key-pair.ts';
import { type PluginHost, runPlugin } from './plugin-process.ts';

/** A credential plugin failed. The message has its command and the problem, never its output. */
export class CredentialPluginError extends Error {
  constructor(command: string, problem: string) {
    super(`credential plugin ${command}: ${problem}`);
    this.name = 'CredentialPluginError';
  }
}

/**
 * Credentials from a plugin (spec section 5.6). A credential is cached until it expires, the server rejects it or the
 * process exits. Concurrent callers that need a new one share one run of the plugin.
 */
export function pluginCredentials(plugin: CredentialPlugin, host: PluginHost, clock: Clock): Credentials {
  return new PluginCredentials(plugin, host, clock);
}

class PluginCredentials implements Credentials {
  readonly #plugin: CredentialPlugin;
  readonly #host: PluginHost;
  readonly #clock: Clock;
  readonly #closed = new AbortController();
  #held: IssuedCredential | undefined;
  #running: Promise<Credential> | undefined;

  constructor(plugin: CredentialPlugin, host: PluginHost, clock: Clock) {
    this.#plugin = plugin;
    this.#host = host;
    this.#clock = clock;
  }

  async current(): Promise<Credential> {
    const held = this.#held;
    if (held && (held.expiresAt === undefined || this.#clock.now() <= held.expiresAt)) return held.credential;
    return this.#renew();
  }

  async refused(credential: Credential): Promise<Credential | undefined> {
    // Another request may have been rejected earlier, and the credential renewed since.
    const now = this.#held?.credential === credential ? await this.#renew() : await this.current();
    return now === credential ? undefined : now;
  }

  #renew(): Promise<Credential> {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #run(): Promise<Credential> {
    try {
      const output = await runPlugin(this.#plugin, {
        host: this.#host,
        clock: this.#clock,
        signal: this.#closed.signal,
      });
      const issued = readExecCredential(output, this.#plugin.apiVersion);
      const before = this.#held?.credential;
      const credential = before && same(before, issued.credential) ? before : issued.credential;
      this.#held = { ...issued, credential };
      return credential;
    } catch (error) {
      throw new CredentialPluginError(this.#plugin.command, error instanceof Error ? error.message : String(error));
    }
  }

  close(): void {
    this.#closed.abort();
  }
}

const same = (one: Credential, other: Credential): boolean =>
  one.authorization === other.authorization && sameKeyPair(one.certificate, other.certificate);
