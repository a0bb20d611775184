import type { Volume } from './volumes/volume.ts';

/** A file that a volume makes, and of which source. */
interface MadeFile {
  readonly path: string;
  readonly source: string;
}

/** Warnings of volumes in which a file stands where another one, or its directory, is. */
export const overlappingPaths = (volumes: readonly Volume[]): readonly string[] =>
  volumes.flatMap(({ name = '', secret, configMap, downwardAPI, projected }) => [
    ...warningsOf(name, `ConfigMap ${quoted(configMap?.name)}`, filesOf(configMap?.items)),
    ...warningsOf(name, `Secret ${quoted(secret?.secretName)}`, filesOf(secret?.items)),
    ...warningsOf(name, 'DownwardAPI', filesOf(downwardAPI?.items)),
    ...warningsOf(name, 'Projected', (projected?.sources ?? []).flatMap(projectedFiles)),
    ...(projected?.sources ?? []).flatMap((source) => (Object.keys(source).length === 0 ? [`volume ${quoted(name)} (Projected) has no sources provided`] : [])),
  ]);

type Projection = NonNullable<NonNullable<Volume['projected']>['sources']>[number];

function projectedFiles({ configMap, secret, downwardAPI, serviceAccountToken, clusterTrustBundle }: Projection): readonly MadeFile[] {
  return [
    ...filesOf(configMap?.items, `ConfigMap ${quoted(configMap?.name)}`),
    ...filesOf(secret?.items, `Secret ${quoted(secret?.name)}`),
    ...filesOf(downwardAPI?.items, 'DownwardAPI'),
    ...(serviceAccountToken ? filesOf([serviceAccountToken], 'ServiceAccountToken') : []),
    ...(clusterTrustBundle ? filesOf([clusterTrustBundle], `ClusterTrustBundle ${quoted(clusterTrustBundle.name ?? clusterTrustBundle.signerName)}`) : []),
  ];
}

const quoted = (name = ''): string => JSON.stringify(name);

const filesOf = (items: readonly { readonly path?: string }[] = [], source = ''): readonly MadeFile[] => items.map(({ path = '' }) => ({ path: path.replace(/\/+$/, ''), source }));

const shown = ({ path, source }: MadeFile): string => (source === '' ? quoted(path) : `${quoted(path)} (${source})`);

/** Each file with those before it that are above, below or at its place. */
function warningsOf(volume: string, kind: string, files: readonly MadeFile[]): readonly string[] {
  if (files.length < 2) return [];
  const warnings: string[] = [];
  const made = new Made();
  for (const file of files) {
    for (const other of made.add(file)) warnings.push(`volume ${quoted(volume)} (${kind}): overlapping paths: ${shown(file)} with ${shown(other)}`);
    if (warnings.length >= warningsMax) break;
  }
  return warnings;
}

/** More would not fit into the headers of an answer. */
const warningsMax = 100;

/** Files by their paths and by the directories above them, so that those in the way of another are found without a search. */
class Made {
  readonly #at = new Map<string, MadeFile[]>();
  readonly #below = new Map<string, MadeFile[]>();

  /** The files that are in the way, of which there are as many as one may want to be told. */
  add(file: MadeFile): readonly MadeFile[] {
    if (file.path === '') return [];
    const found = [...(this.#at.get(file.path) ?? []), ...(this.#below.get(file.path) ?? [])];
    for (let end = file.path.indexOf('/', 1); end > 0; end = file.path.indexOf('/', end + 1)) {
      const above = file.path.slice(0, end);
      found.push(...(this.#at.get(above) ?? []));
      put(this.#below, above, file);
    }
    put(this.#at, file.path, file);
    return found;
  }
}

/** Keeps few files of each place: more of them tell nothing new. */
function put(places: Map<string, MadeFile[]>, place: string, file: MadeFile): void {
  const files = places.get(place);
  if (!files) places.set(place, [file]);
  else if (files.length < 10) files.push(file);
}
