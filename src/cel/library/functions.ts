import type { Overload } from '../overload.ts';
import { arithmetic } from './arithmetic.ts';
import { comparisons } from './comparisons.ts';
import { conversions } from './conversions.ts';
import { lists } from './lists.ts';
import { moments } from './moment-functions.ts';
import { networks } from './networks.ts';
import { optionals } from './optionals.ts';
import { patterns } from './patterns.ts';
import { sets } from './sets.ts';
import { strings } from './strings.ts';
import { urls } from './urls.ts';

const all: readonly Overload[] = [
  ...arithmetic,
  ...comparisons,
  ...conversions,
  ...strings,
  ...patterns,
  ...lists,
  ...sets,
  ...optionals,
  ...moments,
  ...urls,
  ...networks,
];

const globals = Map.groupBy(
  all.filter((overload) => !overload.member),
  (overload) => overload.name,
);
const members = Map.groupBy(
  all.filter((overload) => overload.member),
  (overload) => overload.name,
);

/** All functions: those of the language, and the extensions that published 1.32 servers offer in these environments. */
export const functions = {
  global: (name: string): readonly Overload[] | undefined => globals.get(name),
  /** Those that are called on a value. */
  member: (name: string): readonly Overload[] | undefined => members.get(name),
};
