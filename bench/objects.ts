import { sizes } from './scale.ts';

export interface ConfigMapOptions {
  readonly name: string;
  readonly namespace: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Makes one version of the object differ from another. */
  readonly version?: string;
}

/** What a client sends to create an object of about `sizes.objectBytes` once it is stored. */
export function configMapBody({ name, namespace, labels, version = 'a' }: ConfigMapOptions): Buffer {
  const metadata = { name, namespace, ...(labels && { labels }) };
  return padded({ kind: 'ConfigMap', apiVersion: 'v1', metadata, data: { version } }, 120);
}

/** The same as the product stores it (src/codec/encoded.ts), with what a server adds. */
export function storedConfigMap({ name, namespace, labels, version = 'a' }: ConfigMapOptions, index: number): Buffer {
  const metadata = {
    name,
    namespace,
    uid: `00000000-0000-4000-8000-${index.toString(16).padStart(12, '0')}`,
    creationTimestamp: '2026-01-01T00:00:00Z',
    ...(labels && { labels }),
  };
  return padded({ kind: 'ConfigMap', apiVersion: 'v1', metadata, data: { version } }, 27);
}

interface ConfigMap {
  readonly kind: 'ConfigMap';
  readonly apiVersion: 'v1';
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly data: Readonly<Record<string, string>>;
}

/** `reserved` is what the server adds to the bytes. */
function padded(object: ConfigMap, reserved: number): Buffer {
  const bare = JSON.stringify({ ...object, data: { ...object.data, text: '' } }).length;
  const text = 'the quick brown fox jumps over the lazy dog; '.repeat(sizes.objectBytes / 40);
  return Buffer.from(
    JSON.stringify({ ...object, data: { ...object.data, text: text.slice(0, sizes.objectBytes - reserved - bare) } }),
  );
}
