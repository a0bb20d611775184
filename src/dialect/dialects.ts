import type { Dialect } from './dialect.ts';
import { kubernetes } from './kubernetes.ts';
import { orch } from './orch.ts';

/** All dialects by the value of `--dialect`; the first is the default. */
export const dialects: Readonly<Record<Dialect['name'], Dialect>> = { orch, kubernetes };
export const dialectNames = Object.keys(dialects) as Dialect['name'][];
