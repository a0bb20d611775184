import type { Ceiling } from './ceiling.ts';
import type { Product } from './product.ts';
import type { Row } from './report.ts';
import type { Scale } from './scale.ts';
import type { Workspace } from './workspace.ts';

/** What scenarios work with. */
export interface BenchContext {
  readonly scale: Scale;
  readonly workspace: Workspace;
  start(how?: HowToStart): Promise<Product>;
  /** The bare server, started by who asks first. */
  ceiling(): Promise<Ceiling>;
  /** A data directory with `sizes.filledObjects` ConfigMaps (filled-data.ts), made by who asks first. One product at a time. */
  filledDirectory(): Promise<string>;
  /** A copy of it, for one more product. */
  filledCopy(): Promise<string>;
  /** A data directory with as many Pods, on `sizes.nodes` nodes, made by who asks first. One product at a time. */
  podsDirectory(): Promise<string>;
  /** Tells whoever waits what is under way. */
  progress(text: string): void;
}

interface HowToStart {
  /** Absent: a new one. */
  readonly dataDirectory?: string | undefined;
  readonly flags?: readonly string[];
}

/** One thing that is measured. */
export interface Scenario {
  readonly name: string;
  /** Throws where an answer of the product was wrong: then nothing of it was fast. */
  run(context: BenchContext): Promise<readonly Row[]>;
}
