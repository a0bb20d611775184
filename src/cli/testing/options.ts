import type { Dialect } from '../../dialect/dialect.ts';

/** A CustomResourceDefinition, or a list of them, as an object; YAML or JSON with any number of them; a file or folder of those. */
export type Definition = object | string | URL;

/** A value of a flag; several for a flag that is repeated. `true` and `false` are for switches. */
export type FlagValue = string | number | boolean | readonly string[];

/** Options of a server for tests; all have defaults. */
export interface TestServerOptions {
  /** Kinds to define before the server is there. A string of one line that is no JSON is a path. */
  readonly definitions?: Definition | readonly Definition[] | undefined;
  /**
   * Flags as for `orch up`: `['--feature-gates=WatchList=false']`, or by name: `{ 'feature-gates': 'WatchList=false' }`. Those that
   * say where data is kept are refused.
   */
  readonly flags?: readonly string[] | Readonly<Record<string, FlagValue | undefined>> | undefined;
  /** The names that the API carries. Default: `orch`; clients of Kubernetes want `kubernetes`. */
  readonly dialect?: Dialect['name'] | undefined;
}

/** Options of a user. */
export interface TestUserOptions {
  /** Members of `system:masters` may do everything. Default: none. */
  readonly groups?: readonly string[] | undefined;
}
