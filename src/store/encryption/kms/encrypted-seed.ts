import { limits } from '../../../base/limits.ts';
import { isDnsSubdomain } from '../../../meta/formats.ts';
import { type Annotations, type EncryptedValue, seedTypes } from './messages.ts';

type EncryptedSeed = Omit<EncryptedValue, 'data'>;

/** What is wrong with what a plugin made of a seed, or with what is stored of it; undefined if nothing is. */
export function seedProblem({ ciphertext, keyId, annotations, seedType }: EncryptedSeed): string | undefined {
  if (seedType !== seedTypes.key && seedType !== seedTypes.seed) return `unknown encryptedDEKSourceType: ${seedType}`;
  if (ciphertext.length === 0) return 'failed to validate encrypted DEK source: encrypted DEK source is empty';
  const { kmsSeedBytesMax: bytesMax } = limits;
  if (ciphertext.length > bytesMax) {
    return `failed to validate encrypted DEK source: encrypted DEK source is ${ciphertext.length} bytes, which exceeds the max size of ${bytesMax}`;
  }
  const key = keyIdProblem(keyId);
  if (key) return `failed to validate key id: ${key.text}`;
  const problem = annotationsProblem(annotations);
  return problem && `failed to validate annotations: ${problem}`;
}

/** What is wrong with the id of a key: as text, and as the label of a metric. */
export function keyIdProblem(keyId: string): { readonly text: string; readonly label: string } | undefined {
  if (keyId === '') return { text: 'keyID is empty', label: 'empty' };
  const [bytes, bytesMax] = [Buffer.byteLength(keyId), limits.kmsKeyIdBytesMax];
  if (bytes <= bytesMax) return undefined;
  return { text: `keyID is ${bytes} bytes, which exceeds the max size of ${bytesMax}`, label: 'too_long' };
}

function annotationsProblem(annotations: Annotations): string | undefined {
  if (annotations.size === 0) return undefined;
  let bytes = 0;
  for (const [name, value] of annotations) {
    const qualified = name.includes('.') && isDnsSubdomain(name).length === 0;
    if (!qualified) return `annotations: Invalid value: ${JSON.stringify(name)}: should be a fully qualified domain`;
    bytes += Buffer.byteLength(name) + value.length;
  }
  const { kmsAnnotationsBytesMax: bytesMax } = limits;
  return bytes <= bytesMax
    ? undefined
    : `total size of annotations is ${bytes}, which exceeds the max size of ${bytesMax}`;
}

/** The same text for the same seed, whatever the order of its annotations. */
export function seedIdOf({ ciphertext, keyId, annotations, seedType }: EncryptedSeed): string {
  const id = `${seedType} ${ciphertext.length} ${latin1(ciphertext)} ${keyId.length} ${keyId}`;
  if (annotations.size === 0) return id;
  const sorted = [...annotations].sort(([one], [other]) => (one < other ? -1 : 1));
  return id + sorted.map(([name, value]) => ` ${name.length} ${name} ${value.length} ${latin1(value)}`).join('');
}

const latin1 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
