import { type FieldError, invalid } from '../../../meta/field-error.ts';

/** The levels of the Pod Security Standards, the least strict first. */
const levels = ['privileged', 'baseline', 'restricted'] as const;

type Level = (typeof levels)[number];

/** A level as it was in a release: `v1.29`, or `latest`. Plain data: policies are sent to another thread. */
export interface LevelVersion {
  readonly level: Level;
  readonly version: string;
}

const modes = ['enforce', 'audit', 'warn'] as const;

export type PolicyMode = (typeof modes)[number];

/** What a namespace demands of its pods, by mode. */
export type PodSecurityPolicy = Readonly<Record<PolicyMode, LevelVersion>>;

export interface ReadPolicy {
  readonly policy: PodSecurityPolicy;
  /** Of labels that cannot be read. `enforce` is then `restricted`, a version `latest`; other modes are `privileged`. */
  readonly errors: readonly FieldError[];
}

/** Label keys of a namespace start with this; the keys of audit annotations as well. */
export const podSecurityPrefix = ({ domain }: { readonly domain: string }): string => `pod-security.${domain}/`;

interface PolicySource {
  /** What the keys start with: mode, or mode and `-version`. */
  readonly prefix: string;
  /** For what is not written. */
  readonly defaults: PodSecurityPolicy;
}

/** The policy that the labels of a namespace ask for. Who enforces a level is warned of it, unless they say otherwise. */
export function policyOfLabels(labels: Readonly<Record<string, string>>, source: PolicySource): ReadPolicy {
  const { policy, errors } = readPolicy(labels, source);
  const { enforce, warn } = policy;
  const written = (name: string): string | undefined => {
    const label = `${source.prefix}${name}`;
    return Object.hasOwn(labels, label) ? labels[label] : undefined;
  };
  const isInherited =
    written('warn') === undefined &&
    parseLevel(written('enforce') ?? '') !== undefined &&
    isStricter(enforce.level, warn.level);
  if (!isInherited) return { policy, errors };
  const version = written('warn-version') === undefined ? enforce.version : warn.version;
  return { policy: { ...policy, warn: { level: enforce.level, version } }, errors };
}

/** The policy that is written, each mode by itself. */
export function readPolicy(written: Readonly<Record<string, string>>, { prefix, defaults }: PolicySource): ReadPolicy {
  const errors: FieldError[] = [];
  const policy: Record<PolicyMode, LevelVersion> = { ...defaults };
  const read = <T extends string>(label: string, parse: (text: string) => T | undefined, problem: string) => {
    const text = Object.hasOwn(written, label) ? written[label] : undefined;
    if (text === undefined) return undefined;
    const value = parse(text);
    if (value === undefined) errors.push(invalid(`metadata.labels[${label}]`, text, problem));
    return { value };
  };
  for (const mode of modes) {
    const level = read(`${prefix}${mode}`, parseLevel, levelProblem);
    const version = read(`${prefix}${mode}-version`, parseVersion, versionProblem);
    const before = defaults[mode];
    policy[mode] = {
      level: level ? (level.value ?? (mode === 'enforce' ? 'restricted' : 'privileged')) : before.level,
      version: version ? (version.value ?? 'latest') : before.version,
    };
  }
  return { policy, errors };
}

const levelProblem = `must be one of ${levels.join(', ')}`;
const versionProblem = 'must be "latest" or "v1.x"';

const parseLevel = (text: string): Level | undefined => levels.find((level) => level === text);

/** The largest number of a release that Go reads. */
const minorMax = 2n ** 63n - 1n;

function parseVersion(text: string): string | undefined {
  if (text === 'latest') return text;
  const minor = /^v1\.(0|[1-9][0-9]*)$/.exec(text)?.[1];
  return minor !== undefined && BigInt(minor) <= minorMax ? text : undefined;
}

/** The `x` of `v1.x`. */
export const minorOf = (version: string): number =>
  version === 'latest' ? Number.POSITIVE_INFINITY : Number(version.slice('v1.'.length));

export const isStricter = (level: Level, than: Level): boolean => levels.indexOf(level) > levels.indexOf(than);

export const isSameLevel = (a: LevelVersion, b: LevelVersion): boolean =>
  a.level === b.level && a.version === b.version;

/** `restricted:v1.29` */
export const levelText = ({ level, version }: LevelVersion): string => `${level}:${version}`;

export const isPrivileged = (policy: PodSecurityPolicy, among: readonly PolicyMode[] = modes): boolean =>
  among.every((mode) => policy[mode].level === 'privileged');

/** Whether two policies demand the same; a version of `privileged` means nothing. */
export const isEquivalent = (a: PodSecurityPolicy, b: PodSecurityPolicy): boolean =>
  modes.every(
    (mode) => (a[mode].level === 'privileged' && b[mode].level === 'privileged') || isSameLevel(a[mode], b[mode]),
  );

/** The modes that labels set and that demand something: `enforce=baseline:latest, warn=restricted:v1.29`. */
export const writtenModes = (
  policy: PodSecurityPolicy,
  labels: Readonly<Record<string, string>>,
  prefix: string,
): string =>
  modes
    .filter((mode) => policy[mode].level !== 'privileged')
    .filter((mode) => [mode, `${mode}-version`].some((name) => Object.hasOwn(labels, `${prefix}${name}`)))
    .map((mode) => `${mode}=${levelText(policy[mode])}`)
    .join(', ');
