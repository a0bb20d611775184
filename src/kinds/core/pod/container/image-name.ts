/**
 * The tag of an image reference: `latest` if it has neither tag nor digest, '' if it has only a digest. A colon before the
 * last slash belongs to the port of the registry.
 */
export function imageTag(reference: string): string {
  const [name = '', digest] = reference.split('@', 2);
  const colon = name.indexOf(':', name.lastIndexOf('/') + 1);
  if (colon >= 0) return name.slice(colon + 1);
  return digest === undefined ? 'latest' : '';
}

/** The default imagePullPolicy: `Always` for the tag `latest`, else `IfNotPresent`. */
export const defaultPullPolicy = (reference: string): 'Always' | 'IfNotPresent' =>
  imageTag(reference) === 'latest' ? 'Always' : 'IfNotPresent';
