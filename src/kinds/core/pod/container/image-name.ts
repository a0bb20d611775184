const pathPart = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const domainPart = '[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?';
const domain = `(?:${domainPart}(?:\\.${domainPart})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const digest = '[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}';

/** A reference as runtimes read it (the grammar of the distribution project). */
const reference = new RegExp(
  `^(?<name>(?:${domain}/)?${pathPart}(?:/${pathPart})*)(?::(?<tag>\\w[\\w.-]{0,127}))?(?<digest>@${digest})?$`,
);

/** Bytes of an image by its digest alone: no name. */
const identifier = /^[a-f0-9]{64}$/;

/** Longer texts are no references. */
const lengthMax = 4_096;

/** Of a name without its registry. */
const pathLengthMax = 255;

const withRegistry = /^(?:localhost|[^/]*[.:A-Z][^/]*)\//;

/** A name without a registry is one of the default registry, and of its library if it has one part. */
const pathOf = (name: string): string =>
  withRegistry.test(name) ? name.slice(name.indexOf('/') + 1) : name.includes('/') ? name : `library/${name}`;

/** The tag of an image reference: `latest` if it has neither tag nor digest, '' if it has only a digest, or is no reference. */
export function imageTag(image: string): string {
  if (image.length > lengthMax) return '';
  const { name = '', tag, digest } = reference.exec(image)?.groups ?? {};
  if (name === '' || pathOf(name).length > pathLengthMax || identifier.test(image)) return '';
  return tag ?? (digest === undefined ? 'latest' : '');
}

/** The default imagePullPolicy: `Always` for the tag `latest`, else `IfNotPresent`. */
export const defaultPullPolicy = (image: string): 'Always' | 'IfNotPresent' =>
  imageTag(image) === 'latest' ? 'Always' : 'IfNotPresent';
