import type { Closable } from '../base/disposable.ts';
import { limits } from '../base/limits.ts';
import { Backoff, type BackoffPolicy } from '../base/time/backoff.ts';
import {
  type Discovered,
  type DiscoveredResource,
  type DiscoveryFailure,
  discoverGroups,
  discoverResources,
  pathOf,
} from '../client/discovery-client.ts';
import type { OwnerReference } from '../meta/api-object.ts';
import type { ControllerContext } from './controller.ts';

/** A resource whose objects are followed. */
export interface Monitor {
  readonly resource: DiscoveredResource;
  /** False once it is no longer served, in this version. */
  readonly isServed: boolean;
  /** Aborts some time after that: last events may be on their way. */
  readonly signal: AbortSignal;
  /** How often all of its objects have been listed. */
  readonly lists: number;
}

interface DiscoveredResourcesOptions
  extends Pick<ControllerContext, 'client' | 'clock' | 'random' | 'logger' | 'dialect' | 'onGroupsChanged'> {
  /** Whether a resource is followed. */
  readonly isFollowed: (resource: DiscoveredResource) => boolean;
  /** Called when resources have been looked for, whether or not all of them could be found. */
  readonly looked?: () => void;
  /** Called for each resource that is found. */
  readonly entered: (monitor: Monitor) => void;
  /** Called with resources that are no longer served, in this version; those found with them have entered before. */
  readonly left: (monitors: readonly Monitor[]) => Promise<void>;
}

interface OwnMonitor extends Monitor {
  readonly path: string;
  readonly stop: AbortController;
  isServed: boolean;
  lists: number;
}

/** Interval of discovery. */
const discoveryMs = 30_000;
/** Backoff of discovery after a partial or complete failure. */
const discoveryRetries: BackoffPolicy = { firstMs: 1_000, maxMs: discoveryMs };

/**
 * The resources that a controller follows whatever they are, each in one version: by periodic discovery, and by discovery of
 * the groups that are said to have changed.
 */
export class DiscoveredResources implements Closable {
  readonly #options: DiscoveredResourcesOptions;
  /** By path of the collection. */
  readonly #monitors = new Map<string, OwnMonitor>();
  readonly #byKind = new Map<string, OwnMonitor>();
  readonly #byGroup = new Map<string, Set<OwnMonitor>>();
  readonly #unlisted = new Set<Monitor>();
  /** Group versions that could never be discovered. */
  #undiscovered: readonly string[] = [];
  /** Groups that changed since their last discovery, and those of the discovery in progress. */
  #changed = new Set<string>();
  #looking: ReadonlySet<string> = new Set();
  /** A discovery of changed groups is due. */
  #isRequested = false;
  readonly #backoff: Backoff;
  readonly #stop = new AbortController();
  /** Timers of monitors of resources that are no longer served. */
  readonly #ending = new Set<Closable>();
  #timer: Closable | undefined;
  #following: Closable | undefined;
  /** Completion of the last discovery requested: discoveries run one after another. */
  #discovering: Promise<unknown> = Promise.resolve();

  constructor(options: DiscoveredResourcesOptions) {
    this.#options = options;
    this.#backoff = new Backoff(discoveryRetries, options.random);
  }

  /** Follows resources until closed. */
  start(): void {
    this.#following = this.#options.onGroupsChanged?.((groups) => this.#groupsChanged(groups));
    void this.#run();
  }

  /** The resource of an owner, by its kind. Any version of the group identifies the same objects. */
  ofOwner(reference: Pick<OwnerReference, 'apiVersion' | 'kind'>): Monitor | undefined {
    return this.#byKind.get(groupKindOf(reference));
  }

  /** To be called when all objects of a resource have been listed. */
  listed(monitor: Monitor): void {
    const own = this.#monitors.get(pathOf(monitor.resource, ''));
    if (own !== monitor) return;
    own.lists++;
    this.#unlisted.delete(monitor);
  }

  /** Something that may have objects which were not seen yet; undefined if there is nothing. */
  get unseen(): string | undefined {
    for (const { resource } of this.#unlisted) return pathOf(resource, '');
    for (const groups of [this.#changed, this.#looking, this.#undiscovered]) for (const each of groups) return each;
    return undefined;
  }

  /** Runs discovery, and again after a time. */
  async #run(): Promise<void> {
    const failures = await this.#inTurn(() => this.#discoverAll()).catch((error: unknown) => [error]);
    if (this.#stop.signal.aborted) return;
    this.#options.looked?.();
    if (failures.length > 0) {
      const message = 'resources could not be discovered';
      if (this.#backoff.failures === 0) this.#options.logger.warn(message, { failures });
      else this.#options.logger.debug(message, { failures });
    }
    if (failures.length === 0) this.#backoff.reset();
    this.#runAfter(failures.length === 0 ? discoveryMs : this.#backoff.next());
  }

  #runAfter(delayMs: number): void {
    this.#timer?.close();
    this.#timer = this.#options.clock.after(delayMs, () => void this.#run());
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#discovering.then(work);
    this.#discovering = done.catch(() => undefined);
    return done;
  }

  /** Discovers these groups immediately; all of them soon again if that fails. */
  #groupsChanged(groups: ReadonlySet<string>): void {
    for (const group of groups) this.#changed.add(group);
    if (this.#isRequested) return;
    this.#isRequested = true;
    this.#inTurn(() => this.#discoverChanged()).then(
      (failures) => {
        if (!this.#stop.signal.aborted) this.#options.looked?.();
        if (failures.length > 0) this.#retry(failures);
      },
      (error: unknown) => this.#retry(error),
    );
  }

  #retry(error: unknown): void {
    if (this.#stop.signal.aborted) return;
    this.#options.logger.debug('resources could not be discovered', { error });
    this.#runAfter(discoveryRetries.firstMs);
  }

  async #discoverChanged(): Promise<readonly DiscoveryFailure[]> {
    this.#isRequested = false;
    return this.#look(async (groups) => {
      const discovered = await discoverGroups({ ...this.#options, signal: this.#stop.signal }, groups);
      return { discovered, before: [...groups].flatMap((group) => [...(this.#byGroup.get(group) ?? [])]) };
    });
  }

  /** Rejects if discovery fails entirely. */
  async #discoverAll(): Promise<readonly DiscoveryFailure[]> {
    const failures = await this.#look(async () => {
      const discovered = await discoverResources({ ...this.#options, signal: this.#stop.signal });
      return { discovered, before: [...this.#monitors.values()] };
    });
    const known = new Set([...this.#monitors.values()].map(({ resource }) => resource.apiVersion));
    // A malformed group version has no resources.
    const away = failures.filter(({ type, groupVersion }) => type === 'unavailable' && !known.has(groupVersion));
    this.#undiscovered = away.map(({ groupVersion }) => groupVersion);
    return failures;
  }

  /** Discovers and follows. Groups that changed before count as changed until this succeeds. */
  async #look(
    discover: (changed: ReadonlySet<string>) => Promise<{
      readonly discovered: Discovered;
      /** What was found before where it looked. */
      readonly before: readonly OwnMonitor[];
    }>,
  ): Promise<readonly DiscoveryFailure[]> {
    const changed = this.#changed;
    this.#looking = changed;
    this.#changed = new Set();
    let failed: (group: string) => boolean = () => true;
    try {
      this.#stop.signal.throwIfAborted();
      const { discovered, before } = await discover(changed);
      const versions = new Set(discovered.failures.map(({ groupVersion }) => groupVersion));
      // A group as a whole fails under its name.
      const groups = new Set([...versions].flatMap((version) => [version, groupOf(version)]));
      // Resources of a group version that failed may still exist.
      const looked = before.filter(({ resource: { apiVersion } }) => {
        return !versions.has(apiVersion) && !versions.has(groupOf(apiVersion));
      });
      await this.#follow(discovered.resources, looked);
      failed = (group) => groups.has(group);
      return discovered.failures;
    } finally {
      this.#looking = new Set();
      for (const group of changed) if (failed(group)) this.#changed.add(group);
    }
  }

  /** Enters resources that are new, and leaves those of `before` that are not among them. */
  async #follow(resources: readonly DiscoveredResource[], before: readonly OwnMonitor[]): Promise<void> {
    const found = new Map<string, DiscoveredResource>();
    for (const resource of resources) if (this.#options.isFollowed(resource)) found.set(pathOf(resource, ''), resource);
    const left = before.filter(({ path, resource }) => !isSameResource(resource, found.get(path)));
    for (const monitor of left) this.#leave(monitor);
    // First those that come: while some are not listed, no object is taken for one without dependents.
    for (const [path, resource] of found) if (!this.#monitors.has(path)) this.#enter(path, resource);
    if (left.length > 0) await this.#options.left(left);
  }

  #enter(path: string, resource: DiscoveredResource): void {
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, this.#stop.signal]);
    const monitor: OwnMonitor = { path, resource, stop, signal, isServed: true, lists: 0 };
    this.#monitors.set(path, monitor);
    this.#byKind.set(groupKindOf(resource), monitor);
    const group = groupOf(resource.apiVersion);
    this.#byGroup.set(group, (this.#byGroup.get(group) ?? new Set()).add(monitor));
    this.#unlisted.add(monitor);
    this.#options.entered(monitor);
  }

  #leave(monitor: OwnMonitor): void {
    const { path, resource } = monitor;
    monitor.isServed = false;
    this.#stopLater(monitor);
    this.#monitors.delete(path);
    this.#unlisted.delete(monitor);
    const kind = groupKindOf(resource);
    if (this.#byKind.get(kind) === monitor) this.#byKind.delete(kind);
    const group = groupOf(resource.apiVersion);
    const others = this.#byGroup.get(group);
    others?.delete(monitor);
    if (others?.size === 0) this.#byGroup.delete(group);
  }

  #stopLater({ stop }: OwnMonitor): void {
    const timer = this.#options.clock.after(limits.removedWatchMsMax, () => {
      this.#ending.delete(timer);
      stop.abort(new Error('the resource is no longer served'));
    });
    this.#ending.add(timer);
  }

  close(): void {
    this.#stop.abort(new Error('the controller was stopped'));
    this.#timer?.close();
    for (const timer of this.#ending) timer.close();
    this.#following?.close();
  }
}

/** The kind of a resource or of an owner, whatever its version. */
export const groupKindOf = ({ apiVersion, kind }: Pick<OwnerReference, 'apiVersion' | 'kind'>): string =>
  `${groupOf(apiVersion)}/${kind}`;

/** '' for the core group. */
export const groupOf = (apiVersion: string): string =>
  apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '';

/** At one path there may be another resource than before: of another kind, or of another scope. */
const isSameResource = (before: DiscoveredResource, now: DiscoveredResource | undefined): boolean =>
  now !== undefined && now.kind === before.kind && now.namespaced === before.namespaced;
