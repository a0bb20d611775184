import { silentLogger } from '../../base/logger.ts';
import { Metrics } from '../../base/metrics.ts';
import { systemRandom } from '../../base/random.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { Encryption, type EncryptionOptions } from './encryption.ts';
import { encryptionMetrics } from './encryption-metrics.ts';
import { KmsPluginFixture } from './kms/kms-plugin-fixture.ts';

/** 32 bytes in base64, other ones for each number. */
export const secretOf = (number: number, bytes = 32): string => Buffer.alloc(bytes, number).toString('base64');

/** Providers as a configuration writes them. */
export const keyed = (type: 'aescbc' | 'aesgcm' | 'secretbox', ...names: readonly string[]) => ({
  [type]: { keys: names.map((name) => ({ name, secret: secretOf(name.charCodeAt(name.length - 1)) })) },
});
export const identity = { identity: {} };
export const plugin = (name: string) => ({
  kms: { apiVersion: 'v2', name, endpoint: `unix:///run/${name}.sock` },
});

type Rule = readonly [resources: readonly string[], ...providers: readonly object[]];

/** An EncryptionConfiguration of the published names. */
export const configuration = (...rules: readonly Rule[]): Buffer =>
  Buffer.from(
    JSON.stringify({
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'EncryptionConfiguration',
      resources: rules.map(([resources, ...providers]) => ({ resources, providers })),
    }),
  );

/** Encryption with plugins in the process, on a clock that stands still. */
export class EncryptionFixture {
  readonly clock = new ManualClock();
  readonly metrics = new Metrics();
  /** By socket. */
  readonly plugins = new Map<string, KmsPluginFixture>();
  readonly reloads: string[] = [];
  readable = 0;

  plugin(name = 'plugin'): KmsPluginFixture {
    const socket = `/run/${name}.sock`;
    const known = this.plugins.get(socket) ?? new KmsPluginFixture();
    this.plugins.set(socket, known);
    return known;
  }

  open(content: Uint8Array, changed: Partial<EncryptionOptions> = {}): Promise<Encryption> {
    return Encryption.open(content, {
      dialect: kubernetes,
      clock: this.clock,
      random: systemRandom,
      logger: silentLogger,
      file: '/etc/encryption.yaml',
      metrics: encryptionMetrics(this.metrics),
      serverId: 'here',
      reload: false,
      connectKms: async ({ socket }) => this.plugin(/(\w+)\.sock$/.exec(socket)?.[1]),
      onReadable: () => void this.readable++,
      reloaded: (status) => void this.reloads.push(status),
      ...changed,
    });
  }
}
