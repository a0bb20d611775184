import type { Overload } from '../overload.ts';
import { arithmetic } from './arithmetic.ts';
import { authorizers } from './authorizer.ts';
import { comparisons } from './comparisons.ts';
import { conversions } from './conversions.ts';
import { lists } from './lists.ts';
import { namedFormatFunctions } from './named-formats.ts';
import { networks } from './networks.ts';
import { optionals } from './optionals.ts';
import { patterns } from './patterns.ts';
import { quantities } from './quantities.ts';
import { sets } from './sets.ts';
import { strings } from './strings.ts';
import { timestamps } from './timestamps.ts';
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
  ...timestamps,
  ...urls,
  ...networks,
  ...quantities,
  ...namedFormatFunctions,
  ...authorizers,
];

const globals = Map.groupBy(
  all.filter((overload) => !overload.member),
  (overload) => overload.name,
);
const members = Map.groupBy(
  all.filter((overload) => overload.member),
  (overload) => overload.name,
);

/** All functions: those of the language, and the extensions that kube-apiserver 1.32 offers in these environments. */
export const functions = {
  global: (name: string): readonly Overload[] | undefined => globals.get(name),
  /** Functions with a receiver. */
  member: (name: string): readonly Overload[] | undefined => members.get(name),
};
