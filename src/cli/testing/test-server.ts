import { ClosableStack } from '../../base/disposable.ts';
import { type Logger, silentLogger } from '../../base/logger.ts';
import { keepAlive, systemClock } from '../../base/time/clock.ts';
import { ApiClient } from '../../client/api-client.ts';
import { dialects } from '../../dialect/dialects.ts';
import { Certificates } from '../../library/certificates.ts';
import { overlaidFiles } from '../../library/overlaid-files.ts';
import { adminKubeconfig } from '../../outbound/connection-files/admin-kubeconfig.ts';
import { generateKey, keyToPem } from '../../pki/keys.ts';
import { groupMasters, type UserInfo } from '../../request/user-info.ts';
import { httpsUrl, localAddress } from '../../server/wiring/addresses.ts';
import type { ServerConfig } from '../../server/wiring/config.ts';
import { type ApiServer, createApiServer } from '../../server/wiring/create-api-server.ts';
import { type Environment, systemEnvironment } from '../../server/wiring/environment.ts';
import { listenFor } from '../../server/wiring/start-server.ts';
import { servedHosts } from '../addresses.ts';
import { openCertificateSigning } from '../commands/certificate-signing.ts';
import { explainListenError } from '../commands/run-server.ts';
import { givenServing, servingConfig } from '../commands/serving-certificate.ts';
import { readBrowserOptions } from '../flags/browser-flags.ts';
import { chosenControllers } from '../flags/controllers-flag.ts';
import { readBytes } from '../flags/flag-files.ts';
import { serverLoggers } from '../flags/logging-flags.ts';
import { readOptionsWithoutStorage } from '../flags/server-options.ts';
import { readTls } from '../flags/tls-flags.ts';
import { UsageError } from '../usage-error.ts';
import { establish, readDefinitions } from './definitions.ts';
import type { TestServerOptions, TestUserOptions } from './options.ts';
import { readOptions, silent, type TestFlagValues } from './read-options.ts';

/** Options of `node:https`, `node:tls` and most clients, as PEM. */
export interface ClientTls {
  /** The authority that the server's certificate is verified by. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** How a user reaches the server. */
export interface Credentials {
  readonly url: string;
  /** A connection file (YAML) for kubectl and client libraries, with all in it. */
  readonly kubeconfig: string;
  readonly tls: ClientTls;
}

/** A user, known by a client certificate. */
export interface TestUser extends Credentials {
  readonly name: string;
  readonly groups: readonly string[];
}

/** A server in this process, with its data in memory. The credentials are those of an administrator, who may do everything. */
export interface TestServer extends Credentials, AsyncDisposable {
  /** A user of this server, who may do what roles allow. */
  addUser(name: string, options?: TestUserOptions): TestUser;
  /** Ends the server and all that belongs to it. Further calls return the same promise. */
  stop(): Promise<void>;
}

/**
 * Starts a server, which is ready when this resolves: its definitions are established. It does not keep the process alive. Rejects with
 * an error that names the option, flag or definition at fault; nothing is left then.
 */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const values = readOptions(options);
  const dialect = dialects[values.dialect];
  const definitions = readDefinitions(options.definitions ?? [], dialect);
  // Nothing that the server waits for does it.
  const alive = keepAlive();
  const held = new ClosableStack();
  let api: ApiServer | undefined;
  try {
    const certificates = new Certificates(undefined, systemEnvironment);
    const { config, environment } = await configure(values, { certificates, held });
    api = await createApiServer(config, environment);
    const listener = await listenFor(api, config, environment).catch((error: unknown) => {
      throw explainListenError(error, config);
    });
    listener.unref();
    await api.start();
    await establish(definitions, new ApiClient(api.transportAs(administrator), 'orch-testing'), dialect);
    const url = httpsUrl(localAddress(listener.address), listener.port);
    return new StartedServer({
      api,
      certificates,
      held,
      url,
      given: givenServing(values) ? config.serving.certificate : '',
    });
  } catch (error) {
    await api?.stop();
    held.close();
    throw error instanceof UsageError ? new TypeError(`flags: ${error.message}`, { cause: error }) : error;
  } finally {
    alive.close();
  }
}

const administrator: UserInfo = { username: 'orch-admin', groups: [groupMasters], uid: '', extra: {} };

/** What the key of tokens is called among files. */
const tokenKey = 'test server: key of tokens';

interface Parts {
  readonly certificates: Certificates;
  /** What the configuration opens. */
  readonly held: ClosableStack;
}

interface Configured {
  readonly config: ServerConfig;
  readonly environment: Environment;
}

/** The configuration of `orch up`, with nothing in files. Throws a UsageError that names the flag at fault. */
async function configure(values: TestFlagValues, { certificates, held }: Parts): Promise<Configured> {
  const { authority } = certificates;
  const { logger, accessLog } = loggersOf(values);
  const context = { clock: systemClock, logger };
  const signing = held.add(openCertificateSigning(values, { ...context, own: authority }));
  const files = new Map([[tokenKey, Buffer.from(keyToPem(generateKey()))]]);
  const options = readOptionsWithoutStorage(
    { ...values, ...tokenSettings(values) },
    (path) => files.get(path) ?? readBytes(path),
  );
  const { fixed = [], ...clientAuthorities } = options.authentication.clientAuthorities ?? {};
  const serving = givenServing(values);
  const config: ServerConfig = {
    ...(await readBrowserOptions(values)),
    ...options,
    storage: { backend: 'memory' },
    ...(serving
      ? servingConfig(serving, context)
      : certificates.serving({ address: values['bind-address'], hosts: servedHosts(values) })),
    tls: readTls(values, context),
    authentication: {
      ...options.authentication,
      clientAuthorities: { ...clientAuthorities, fixed: [...fixed, authority.certificatePem] },
    },
    controllers: {
      run: chosenControllers(values),
      rootAuthority: authority.certificatePem,
      simulatedNodes: values['simulated-nodes'],
      ...signing.config,
    },
    joinPolicy: true,
    logger,
    accessLog,
  };
  return { config, environment: { ...systemEnvironment, files: overlaidFiles(files, systemEnvironment.files) } };
}

function loggersOf(values: TestFlagValues): { readonly logger: Logger; readonly accessLog?: Logger | undefined } {
  if (values.v === silent) return { logger: silentLogger };
  const err = (text: string) => process.stderr.write(text);
  return serverLoggers(values, 'text', { clock: systemClock, terminal: { out: err, err, interactive: false } });
}

function tokenSettings(values: TestFlagValues): Partial<TestFlagValues> {
  const issuers = values['service-account-issuer'];
  return {
    'service-account-signing-key-file': values['service-account-signing-key-file'] ?? tokenKey,
    'service-account-issuer': issuers.length > 0 ? issuers : [dialects[values.dialect].tokenIssuer],
  };
}

interface StartedParts extends Parts {
  readonly api: ApiServer;
  readonly url: string;
  /** PEM of a serving certificate that the flags name, or nothing. */
  readonly given: string;
}

class StartedServer implements TestServer {
  readonly url: string;
  readonly kubeconfig: string;
  readonly tls: ClientTls;
  readonly #parts: StartedParts;
  #stopped: Promise<void> | undefined;

  constructor(parts: StartedParts) {
    this.#parts = parts;
    const { url, kubeconfig, tls } = this.#credentials(administrator.username, administrator.groups);
    this.url = url;
    this.kubeconfig = kubeconfig;
    this.tls = tls;
    // A server that cannot go on refuses requests: that tells more than an error that nobody handles.
    parts.api.done.catch(() => {});
  }

  addUser(name: string, { groups = [] }: TestUserOptions = {}): TestUser {
    if (typeof name !== 'string' || name === '') {
      throw new TypeError(`the name of a user must be a text, got ${JSON.stringify(name)}`);
    }
    if (!Array.isArray(groups) || groups.some((each) => typeof each !== 'string' || each === '')) {
      throw new TypeError(`groups must be texts, got ${JSON.stringify(groups)}`);
    }
    if (this.#stopped) throw new Error('the server is stopped');
    return { name, groups: [...groups], ...this.#credentials(name, groups) };
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #stop(): Promise<void> {
    const { api, held } = this.#parts;
    const alive = keepAlive();
    try {
      await api.stop();
      await api.done;
    } finally {
      held.close();
      alive.close();
    }
  }

  #credentials(username: string, groups: readonly string[]): Credentials {
    const { certificates, url, given } = this.#parts;
    const client = certificates.client({ username, groups });
    const { certificatePem: own } = certificates.authority;
    // The issuer of a given certificate is unknown, so clients trust the certificate itself.
    const ca = own + given;
    return {
      url,
      kubeconfig: adminKubeconfig({ server: url, authorities: ca, client }),
      tls: { ca, cert: client.certificatePem, key: client.keyPem },
    };
  }
}
