import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { makePrivateDirectory, replaceFile } from '../base/atomic-file.ts';
import { systemClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import { chooseControllers } from '../controllers/controllers.ts';
import { dialects } from '../dialect/dialects.ts';
import { ensureAuthority, ensureIssued } from '../pki/ca.ts';
import { ensureKey, type KeyPair, type KeyPairFiles } from '../pki/key-pair-files.ts';
import { certificatesFromPem } from '../pki/pem.ts';
import { groupMasters } from '../request/user-info.ts';
import type { KeyPairPem, ListenAddress, ServerConfig } from '../server/config.ts';
import { httpsUrl, localAddress, servedHosts } from './addresses.ts';
import { apiserverPublishedFlags } from './apiserver-published-flags.ts';
import { readBrowserOptions } from './browser-flags.ts';
import { defineCommand } from './command.ts';
import { controllersFlag } from './controllers-flag.ts';
import { readBytes } from './flag-files.ts';
import { adminKubeconfig } from './kubeconfig.ts';
import { commandLogger } from './logging-flags.ts';
import { warnOfIgnored } from './published-flags.ts';
import { runServer } from './run-server.ts';
import { type ServerFlagValues, serverFlags } from './server-flags.ts';
import { certificateDirectory, readServerOptions, readServingPair } from './server-options.ts';
import { productVersion } from './version.ts';

const context = { clock: systemClock, random: systemRandom };

export const up = defineCommand({
  summary: 'Starts everything in one process; needs no configuration',
  description:
    'Makes a private authority, certificates and an administrator under --data-dir on the first start, serves the API\n' +
    'from there, and writes <data-dir>/admin.kubeconfig. Every flag of `orch apiserver` works here too; authorities of\n' +
    '--client-ca-file are trusted beside its own.',
  flags: { ...serverFlags, controllers: controllersFlag },
  published: apiserverPublishedFlags,
  async run(given, terminal, ignored) {
    const logger = commandLogger(given, 'text', { clock: systemClock, terminal });
    warnOfIgnored(logger, ignored);
    const values = { ...given, ...ownSettings(given) };
    const dataDirectory = values['data-dir'];
    const run = chooseControllers(values.controllers);
    const browsers = await readBrowserOptions(values);
    const options = readServerOptions(values, (path) => readTokenKey(values, path));
    const pki = ensurePki(values);
    const kubeconfig = join(dataDirectory, 'admin.kubeconfig');
    const config: ServerConfig = {
      ...browsers,
      ...options,
      serving: pki.serving,
      authentication: {
        ...options.authentication,
        clientAuthorities: { ...options.authentication.clientAuthorities, fixed: [pki.authority.certificatePem] },
      },
      controllers: { run, rootAuthority: authoritiesOf(values, pki) },
      logger,
      beforeReady: (listening) => replaceFile(kubeconfig, kubeconfigText(values, pki, listening)),
    };
    return runServer(config, (server) => {
      const url = localUrl(values, server);
      terminal.out(
        welcome({ dialect: options.dialect.name, url, kubeconfig, client: options.dialect.commandLineClient }),
      );
    });
  },
});

/** What `up` sets up by itself, where the flags do not say otherwise. */
function ownSettings(values: ServerFlagValues): Partial<ServerFlagValues> {
  const issuers = values['service-account-issuer'];
  return {
    'service-account-signing-key-file': values['service-account-signing-key-file'] ?? tokenKeyFile(values),
    'service-account-issuer': issuers.length > 0 ? issuers : [dialects[values.dialect].tokenIssuer],
  };
}

const tokenKeyFile = (values: ServerFlagValues): string => join(certificateDirectory(values), 'service-account.key');

/** Makes the key of its own before it is first read. */
function readTokenKey(values: ServerFlagValues, path: string): Buffer {
  if (path === tokenKeyFile(values)) {
    makeDirectories(values);
    ensureKey(path);
  }
  return readBytes(path);
}

function makeDirectories(values: ServerFlagValues): void {
  makePrivateDirectory(values['data-dir']);
  makePrivateDirectory(certificateDirectory(values));
}

interface UpPki {
  readonly authority: KeyPair;
  readonly admin: KeyPair;
  readonly serving: KeyPairPem;
}

/** Everything that `up` needs of keys and certificates; made on the first start, kept and renewed later. */
function ensurePki(values: ServerFlagValues): UpPki {
  const directory = certificateDirectory(values);
  makeDirectories(values);
  const files = (name: string): KeyPairFiles => ({
    certificate: join(directory, `${name}.crt`),
    key: join(directory, `${name}.key`),
  });
  const given = readServingPair(values);
  const authority = ensureAuthority(files('ca'), 'orch-ca', context);
  const admin = ensureIssued(
    files('admin'),
    authority,
    { subject: { commonName: 'orch-admin', organizations: [groupMasters] }, use: 'clientAuth' },
    context,
  );
  return { authority, admin, serving: given ?? ensureServing(files('apiserver'), authority, values) };
}

function ensureServing(files: KeyPairFiles, authority: KeyPair, values: ServerFlagValues): KeyPairPem {
  const purpose = { subject: { commonName: 'orch-apiserver' }, use: 'serverAuth' } as const;
  const hosts = servedHosts(values);
  const pair = ensureIssued(files, authority, { ...purpose, hosts }, context);
  return { certificate: pair.certificatePem, key: pair.keyPem };
}

const localUrl = (values: ServerFlagValues, { port }: ListenAddress): string =>
  httpsUrl(localAddress(values['bind-address']), port);

function kubeconfigText(values: ServerFlagValues, pki: UpPki, listening: ListenAddress): string {
  const serverName = certificateName(pki.serving, localAddress(values['bind-address']));
  return adminKubeconfig({
    server: localUrl(values, listening),
    authorities: authoritiesOf(values, pki),
    ...(serverName !== undefined && { serverName }),
    client: pki.admin,
  });
}

/** A certificate that was given is not of our authority: what came with it is all that we know of its own. */
const authoritiesOf = (values: ServerFlagValues, pki: UpPki): string =>
  [pki.authority.certificatePem, ...(isGiven(values) ? givenChain(pki.serving) : [])].join('');

const isGiven = (values: ServerFlagValues): boolean => values['tls-cert-file'] !== undefined;
const givenChain = ({ certificate }: KeyPairPem): readonly string[] =>
  certificatesFromPem(certificate).map((each) => each.toString());

/** The first DNS name of a serving certificate that does not have `address` among its names. */
function certificateName({ certificate }: KeyPairPem, address: string): string | undefined {
  const leaf = new X509Certificate(certificate);
  if (isIP(address) !== 0 && leaf.checkIP(address) !== undefined) return undefined;
  return /DNS:([-a-zA-Z0-9.]+)/.exec(leaf.subjectAltName ?? '')?.[1];
}

interface Welcome {
  readonly dialect: string;
  readonly url: string;
  readonly kubeconfig: string;
  readonly client: string;
}

function welcome({ dialect, url, kubeconfig, client }: Welcome): string {
  const command = `  ${client} --kubeconfig ${shellWord(kubeconfig)}`;
  return [
    `orch ${productVersion} listens on ${url} (dialect ${dialect})`,
    `${kubeconfig} may do everything: keep it to yourself`,
    '',
    'Try:',
    `${command} get namespaces`,
    `${command} create configmap greeting --from-literal=text=hello`,
    `${command} get configmaps --watch`,
    '',
    '',
  ].join('\n');
}

/** A word that a shell reads as it is. */
const shellWord = (word: string): string =>
  /^[-\w./:@%+=,]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
