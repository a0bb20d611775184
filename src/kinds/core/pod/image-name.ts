/**
 * The tag of an image reference, `latest` where it has neither tag nor digest. A colon before the last slash belongs to
 * the registry's port.
 */
export function imageTag(reference: string): string {
  const [name = '', digest] = reference.split('@', 2);
  const colon = name.indexOf(':', name.lastIndexOf('/') + 1);
  if (colon >= 0) return name.slice(colon + 1);
  return digest === undefined ? 'latest' : '';
}

/** When an image is fetched if nobody says: a moving tag each time, all others once. */
export const defaultPullPolicy = (reference: string): 'Always' | 'IfNotPresent' =>
  imageTag(reference) === 'latest' ? 'Always' : 'IfNotPresent';
