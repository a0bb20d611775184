import { KmsCallError, type KmsConnection } from './kms-connection.ts';
import { type KmsEncrypted, type KmsMethod, type KmsStatus, kmsDecrypt, kmsEncrypt, kmsStatus } from './messages.ts';

/** A KMS plugin in the process, which inverts some bits of what it is given. */
export class KmsPluginFixture implements KmsConnection {
  keyId = 'key-1';
  healthz = 'ok';
  version = 'v2';
  /** The id that an answer to Encrypt names; default: `keyId`. */
  encryptsAs: string | undefined;
  annotations = new Map<string, Uint8Array>([['local-kek.kms.example', Buffer.from('kek')]]);
  /** Calls fail with this status. */
  down: string | undefined;
  /** Ids of keys that are lost. */
  readonly lost = new Set<string>();
  /** Of so many answers to Decrypt from now on, each holds other wrong bytes. */
  wrong = 0;
  /** All wrong answers hold the same bytes. */
  wrongAlike = false;
  /** Paths of the calls so far. */
  readonly calls: string[] = [];
  closed = 0;

  async call<Request, Response>({ path }: KmsMethod<Request, Response>, request: Request): Promise<Response> {
    this.calls.push(path.replace(/.*\//, ''));
    if (this.down !== undefined) throw new KmsCallError(this.down, 'the plugin is down');
    switch (path) {
      case kmsStatus.path:
        return { version: this.version, healthz: this.healthz, keyId: this.keyId } satisfies KmsStatus as Response;
      case kmsEncrypt.path: {
        const { plaintext } = request as { readonly plaintext: Uint8Array };
        const keyId = this.encryptsAs ?? this.keyId;
        const { annotations } = this;
        return { ciphertext: inverted(plaintext), keyId, annotations } satisfies KmsEncrypted as Response;
      }
      case kmsDecrypt.path: {
        const { ciphertext, keyId } = request as unknown as KmsEncrypted;
        if (this.lost.has(keyId)) throw new KmsCallError('Unknown', `there is no key ${keyId}`);
        if (this.wrong > 0) {
          const byte = this.wrongAlike ? 1 : this.wrong;
          this.wrong--;
          return new Uint8Array(32).fill(byte) as Response;
        }
        return inverted(ciphertext) as Response;
      }
      default:
        throw new KmsCallError('Unimplemented', path);
    }
  }

  /** How often a method was called. */
  count(method: 'Status' | 'Encrypt' | 'Decrypt'): number {
    return this.calls.filter((call) => call === method).length;
  }

  close(): void {
    this.closed++;
  }
}

const inverted = (bytes: Uint8Array): Uint8Array => bytes.map((byte) => byte ^ 0x5a);
