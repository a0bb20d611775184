import type { Closable } from '../base/disposable.ts';
import { type ApiClient, hasReason } from '../client/api-client.ts';
import { Informer, type InformerOptions } from '../client/informer.ts';
import { readMetadata, readMetadataEvent } from '../client/read-metadata.ts';
import { resourcePath } from '../client/resource-path.ts';
import type { Dialect } from '../dialect/dialect.ts';

/** Of lists, and of objects and watches. */
const forms = ['PartialObjectMetadataList', 'PartialObjectMetadata'];

type GroupsListener = (groups: ReadonlySet<string>) => void;

interface DefinedGroupsOptions extends Pick<InformerOptions<unknown>, 'clock' | 'random' | 'logger'> {
  readonly client: ApiClient;
  readonly dialect: Dialect;
}

/**
 * Delay of the second notification about a group, in milliseconds. Of several servers behind one address, the one that is
 * asked for the group may hear of the definition later than the one that reported it.
 */
const againMs = 1_000;

/**
 * Groups whose CustomResourceDefinitions changed, of a server that is another process. A watch of their metadata is
 * opened for the first listener; while it is forbidden or fails, nothing is reported, and whoever listens has to poll.
 */
export class DefinedGroups implements Closable {
  readonly #options: DefinedGroupsOptions;
  readonly #listeners = new Set<GroupsListener>();
  #following: Closable | undefined;
  #refused = false;
  /** Groups to be reported again. */
  #again = new Set<string>();
  #timer: Closable | undefined;

  constructor(options: DefinedGroupsOptions) {
    this.#options = options;
  }

  onChange(listener: GroupsListener): Closable {
    this.#listeners.add(listener);
    this.#following ??= this.#follow();
    return { close: () => this.#listeners.delete(listener) };
  }

  #follow(): Closable {
    const { client, dialect, logger } = this.#options;
    const apiVersion = `${dialect.group('apiextensions')}/v1`;
    return new Informer<string>({
      ...this.#options,
      client: client.accepting(forms.map((form) => `application/json;as=${form};g=${dialect.group('meta')};v=v1`)),
      path: resourcePath({ apiVersion, resource: 'customresourcedefinitions' }),
      select: ({ metadata: { resourceVersion = '' } }) => resourceVersion,
      changed: (key, now, before) => {
        if (now !== before) this.#report(groupOf(key));
      },
      failed: (error) => {
        if (this.#refused || !hasReason(error, 'Forbidden', 'NotFound')) return;
        this.#refused = true;
        logger.info('definitions of custom resources cannot be watched; new kinds are found by polling', { error });
      },
      read: readMetadataEvent,
      readItem: readMetadata,
    });
  }

  #report(group: string): void {
    this.#tell(new Set([group]));
    if (this.#again.size === 0) {
      this.#timer = this.#options.clock.after(againMs, () => {
        const groups = this.#again;
        this.#again = new Set();
        this.#tell(groups);
      });
    }
    this.#again.add(group);
  }

  #tell(groups: ReadonlySet<string>): void {
    for (const listener of this.#listeners) listener(groups);
  }

  close(): void {
    this.#listeners.clear();
    this.#timer?.close();
    this.#following?.close();
  }
}

/** The name of a definition is that of its resource, a dot and its group. */
const groupOf = (key: string): string => key.slice(key.indexOf('.') + 1);
