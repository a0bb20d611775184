/** How long and how often. Every run ends by time or by count, whichever comes first. */
export interface Scale {
  /** Rounds that count, each of the product and then of the ceiling. One more goes before them and is thrown away. */
  readonly rounds: number;
  readonly roundMs: number;
  /** Writes in one round at most. */
  readonly writesMax: number;
  readonly coldStarts: number;
  readonly filledStarts: number;
  /** Events of one round that are sent one after the other, and in a burst. */
  readonly singleEvents: number;
  readonly burstEvents: number;
  /** Objects, watchers and definitions of servers beside which costs are compared. */
  readonly grownObjects: readonly number[];
  readonly grownWatchers: readonly number[];
  readonly grownDefinitions: readonly number[];
}

export const fullScale: Scale = {
  rounds: 5,
  roundMs: 700,
  writesMax: 6_000,
  coldStarts: 10,
  filledStarts: 3,
  singleEvents: 40,
  burstEvents: 50,
  grownObjects: [1_000, 10_000, 100_000, 1_000_000],
  grownWatchers: [1, 10, 100, 1_000, 10_000],
  grownDefinitions: [1, 200, 2_000],
};

export const quickScale: Scale = {
  rounds: 3,
  roundMs: 250,
  writesMax: 2_000,
  coldStarts: 3,
  filledStarts: 1,
  singleEvents: 20,
  burstEvents: 20,
  grownObjects: [1_000, 10_000, 100_000],
  grownWatchers: [1, 100, 1_000],
  grownDefinitions: [1, 200],
};

/** The same in both scales, because the reach is stated for it. */
export const sizes = {
  filledObjects: 100_000,
  /** Of a stored Pod, about. */
  podBytes: 2_300,
  /** Nodes that pods are spread over, and watchers of one node each. */
  nodes: 5_000,
  /** Objects that are listed, or deleted, while others wait, and values of the object that is written. */
  heldObjects: 20_000,
  heldKeys: 50_000,
  /** Lists that are asked for at once, objects that each of them shows, and watchers of one object that changes. */
  listsAtOnce: 300,
  listedAtOnce: 500,
  heldWatchers: 5_000,
  /** Objects of `heldKeys` values in one list. */
  largeObjects: 10,
  /** Of the filled objects, those in the namespace that is listed. */
  listedObjects: 10_000,
  /** Of a stored object, about. */
  objectBytes: 1024,
  watchers: 1_000,
  writers: 64,
  /** Requests that are signed in one round, and while others wait. */
  certificates: 1_000,
  /** Namespaces, and in each of them roles and as many bindings. */
  roleNamespaces: 100,
  rolesPerNamespace: 100,
  /** Custom resource definitions, and the groups that they are in. */
  definitions: 2_000,
  definitionGroups: 200,
  /** Configurations that are not for the request. */
  webhooks: 500,
  policies: 500,
  /** Pods of the Deployment that is rolled out. */
  replicas: 2_000,
} as const;
