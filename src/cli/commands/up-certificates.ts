import { X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { makePrivateDirectory, replaceFile } from '../../base/atomic-file.ts';
import { type Closable, ClosableStack } from '../../base/disposable.ts';
import { ipVersion } from '../../base/ip-version.ts';
import type { Logger } from '../../base/logger.ts';
import { systemRandom } from '../../base/random.ts';
import type { Clock } from '../../base/time/clock.ts';
import { adminKubeconfig } from '../../outbound/connection-files/admin-kubeconfig.ts';
import { type ClusterAccess, clusterKubeconfig } from '../../outbound/connection-files/cluster-kubeconfig.ts';
import { endsSoon, ensureAuthority, ensureIssued } from '../../pki/ca.ts';
import { type KeyPair, type KeyPairFiles, readKeyPair } from '../../pki/key-pair-files.ts';
import { certificatesFromPem } from '../../pki/pem.ts';
import { WatchedKeyPair } from '../../pki/watched-key-pair.ts';
import { groupMasters } from '../../request/user-info.ts';
import { httpsUrl, localAddress } from '../../server/wiring/addresses.ts';
import type { ExternalAddress, KeyPairPem, ListenAddress, ServerConfig } from '../../server/wiring/config.ts';
import { externalAddress, servedHosts } from '../addresses.ts';
import type { ServerFlagValues } from '../flags/server-flags.ts';
import { certificateDirectory } from '../flags/server-options.ts';
import { givenServing, type ServingCertificate, servingConfig } from './serving-certificate.ts';

interface CertificateContext {
  readonly clock: Clock;
  readonly logger: Logger;
  /** False where another thread makes and renews the files. */
  readonly renews: boolean;
}

/** Interval of repeated warnings. */
const warningMs = 24 * 3600_000;

/**
 * Keys and certificates of `up`: created at the first start, reused and renewed later, also while it runs. The
 * administrator's kubeconfig follows them.
 */
export class UpCertificates implements Closable {
  readonly authority: KeyPair;
  /** For the server's configuration. */
  readonly server: Required<Pick<ServerConfig, 'serving' | 'followServing' | 'beforeReady' | 'clusterInfo'>>;
  readonly #values: ServerFlagValues;
  readonly #context: CertificateContext;
  readonly #held = new ClosableStack();
  #admin: KeyPair;
  #serving: KeyPairPem;
  #listening: ListenAddress | undefined;
  #warning: Closable | undefined;
  readonly #servingChanged = new Set<() => void>();

  /** Throws if an existing file is invalid; the message names the file. */
  constructor(values: ServerFlagValues, context: CertificateContext) {
    this.#values = values;
    this.#context = context;
    const given = givenServing(values);
    makeDirectories(values);
    this.authority = ensureAuthority(this.#files('ca'), 'orch-ca', { ...context, random: systemRandom });
    this.#admin = this.#readAdmin();
    const { serving, followServing } = servingConfig(given ?? this.#ownServing(), context);
    this.#serving = serving;
    this.server = {
      serving,
      followServing: (changed) =>
        followServing((pair) => {
          changed(pair);
          this.#serving = pair;
          this.#writeKubeconfig();
          for (const listener of this.#servingChanged) listener();
        }),
      beforeReady: (listening) => this.#keep(listening),
      clusterInfo: {
        kubeconfig: (listening) => clusterKubeconfig(this.#access(externalAddress(values), listening)),
        follow: (listener) => {
          this.#servingChanged.add(listener);
          return { close: () => this.#servingChanged.delete(listener) };
        },
      },
    };
  }

  /** The administrator's kubeconfig. */
  get kubeconfig(): string {
    return join(this.#values['data-dir'], 'admin.kubeconfig');
  }

  /**
   * PEM of the authorities with which clients verify the server. Of a given certificate, only the chain in its file is
   * known.
   */
  get authorities(): string {
    const isGiven = this.#values['tls-cert-file'] !== undefined;
    return [this.authority.certificatePem, ...(isGiven ? certificatesIn(this.#serving) : [])].join('');
  }

  #files(name: string): KeyPairFiles {
    const directory = certificateDirectory(this.#values);
    return { certificate: join(directory, `${name}.crt`), key: join(directory, `${name}.key`) };
  }

  #readAdmin(): KeyPair {
    if (!this.#context.renews) return readKeyPair(this.#files('admin'));
    const purpose = {
      subject: { commonName: 'orch-admin', organizations: [groupMasters] },
      use: 'clientAuth',
    } as const;
    return ensureIssued(this.#files('admin'), this.authority, purpose, { ...this.#context, random: systemRandom });
  }

  #ownServing(): ServingCertificate {
    const files = this.#files('apiserver');
    if (!this.#context.renews) return { files, read: () => readKeyPair(files) };
    const purpose = { subject: { commonName: 'orch-apiserver' }, use: 'serverAuth' } as const;
    const context = { ...this.#context, random: systemRandom };
    const read = (): KeyPair =>
      ensureIssued(files, this.authority, { ...purpose, hosts: servedHosts(this.#values) }, context);
    return { files, read };
  }

  /** Starts upkeep of these files once the server has its port. */
  #keep(listening: ListenAddress): void {
    this.#listening = listening;
    this.#writeKubeconfig();
    const changed = (pair: KeyPair): void => {
      this.#admin = pair;
      this.#writeKubeconfig();
    };
    const read = (): KeyPair => this.#readAdmin();
    this.#held.add(new WatchedKeyPair({ ...this.#context, files: this.#files('admin'), read, changed }, this.#admin));
    this.#warnOfAuthority();
  }

  #warnOfAuthority(): void {
    const { clock, logger } = this.#context;
    if (endsSoon(this.authority, this.#context)) {
      const file = this.#files('ca').certificate;
      logger.warn('the authority ends within a year', { file, until: this.authority.certificate.validTo });
    }
    this.#warning = clock.after(warningMs, () => this.#warnOfAuthority());
  }

  #writeKubeconfig(): void {
    if (!this.#listening) return;
    const host = localAddress(this.#values['bind-address']);
    const text = adminKubeconfig({ ...this.#access({ host }, this.#listening), client: this.#admin });
    replaceFile(this.kubeconfig, text, { isTransient: true });
  }

  /** How clients reach the listener by that address and verify it. */
  #access({ host, port }: ExternalAddress, listening: ListenAddress): ClusterAccess {
    const serverName = certificateName(this.#serving, host);
    return {
      server: httpsUrl(host, port ?? listening.port),
      authorities: this.authorities,
      ...(serverName !== undefined && { serverName }),
    };
  }

  close(): void {
    this.#warning?.close();
    this.#held.close();
  }
}

/** Creates the directories of `up`. */
export function makeDirectories(values: ServerFlagValues): void {
  makePrivateDirectory(values['data-dir']);
  makePrivateDirectory(certificateDirectory(values));
}

const certificatesIn = ({ certificate }: KeyPairPem): readonly string[] =>
  certificatesFromPem(certificate).map((each) => each.toString());

/** The first DNS name of a serving certificate that does not cover `host`. */
function certificateName({ certificate }: KeyPairPem, host: string): string | undefined {
  const leaf = new X509Certificate(certificate);
  const covered = ipVersion(host) === 0 ? leaf.checkHost(host, { subject: 'never' }) : leaf.checkIP(host);
  if (covered !== undefined) return undefined;
  return /DNS:([-a-zA-Z0-9.]+)/.exec(leaf.subjectAltName ?? '')?.[1];
}
