import type { Closable } from '../base/disposable.ts';
import { limits } from '../base/limits.ts';
import { isDueForRenewal, makeAuthority, makeIssued, type PkiContext } from '../pki/ca.ts';
import { type KeyPair, parseKeyPair } from '../pki/key-pair-files.ts';
import type { UserInfo } from '../request/user-info.ts';
import { listenerHosts } from '../server/wiring/addresses.ts';
import type { ServerConfig } from '../server/wiring/config.ts';
import type { KeyPairPem } from '../server/wiring/storage-config.ts';
import type { ListenOptions } from './options.ts';

/** The certificate authority of a server and the certificates that it issues, all in memory. */
export class Certificates {
  readonly authority: KeyPair;
  readonly #context: PkiContext;

  /** Throws if the given pair is invalid or its certificate is not a CA. */
  constructor(given: KeyPairPem | undefined, context: PkiContext) {
    this.#context = context;
    this.authority = given
      ? parseKeyPair(given, { certificate: 'authority.certificate', key: 'authority.key' })
      : makeAuthority('orch-ca', context);
    if (!this.authority.certificate.ca) throw new Error('authority.certificate is not a CA certificate');
  }

  /** A client certificate for a user: name and groups. */
  client({ username, groups }: Pick<UserInfo, 'username' | 'groups'>): KeyPair {
    const subject = { commonName: username, organizations: groups };
    return makeIssued(this.authority, { subject, use: 'clientAuth' }, this.#context);
  }

  /** The serving certificate: the given pair, or one issued by the authority and renewed before it expires. */
  serving({ address = '127.0.0.1', hosts = [], serving }: ListenOptions): Serving {
    if (serving) {
      parseKeyPair(serving, { certificate: 'serving.certificate', key: 'serving.key' });
      return { serving };
    }
    const names = [...new Set([...listenerHosts(address), ...hosts])];
    const issue = () =>
      makeIssued(
        this.authority,
        { subject: { commonName: 'orch-apiserver' }, use: 'serverAuth', hosts: names },
        this.#context,
      );
    const first = issue();
    return { serving: pemOf(first), followServing: (changed) => this.#follow(first, issue, changed) };
  }

  #follow(first: KeyPair, issue: () => KeyPair, changed: (pair: KeyPairPem) => void): Closable {
    let current = first;
    let timer: Closable;
    const schedule = (): void => {
      timer = this.#context.clock.after(limits.certificateCheckMs, () => {
        schedule();
        if (!isDueForRenewal(current.certificate, this.#context)) return;
        current = issue();
        changed(pemOf(current));
      });
    };
    schedule();
    return { close: () => timer.close() };
  }
}

type Serving = Pick<ServerConfig, 'serving' | 'followServing'>;

const pemOf = ({ certificatePem, keyPem }: KeyPair): KeyPairPem => ({ certificate: certificatePem, key: keyPem });
