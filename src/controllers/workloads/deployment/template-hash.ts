import { isRecord } from '../../../schema/own-property.ts';

/** Letters and digits of names that controllers make, so that these form no words. */
const alphabet = 'bcdfghjklmnpqrstvwxz2456789';

/**
 * A short name for a template: the 32-bit FNV-1a hash of its JSON, in order of names, and of the number of collisions that were
 * found. It looks like that of kube-controller-manager, whose hash is of what one language prints; nobody may compute it.
 */
export function templateHash(template: unknown, collisionCount: number | undefined): string {
  let hash = 0x811c9dc5;
  const add = (byte: number): void => {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  };
  for (const byte of Buffer.from(orderedJson(template))) add(byte);
  if (collisionCount !== undefined) for (let shift = 0; shift < 32; shift += 8) add((collisionCount >>> shift) & 0xff);
  return safeName(String(hash));
}

const safeName = (text: string): string =>
  Array.from(text, (each) => alphabet[each.charCodeAt(0) % alphabet.length]).join('');

/** JSON with the names of each object in order. */
function orderedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(orderedJson).join(',')}]`;
  if (!isRecord(value)) return typeof value === 'bigint' ? String(value) : JSON.stringify(value);
  const names = Object.keys(value).filter((name) => value[name] !== undefined);
  return `{${names
    .sort()
    .map((name) => `${JSON.stringify(name)}:${orderedJson(value[name])}`)
    .join(',')}}`;
}
