import { expressionTypes } from '../../dialect/expression-types.ts';
import { compareSemanticVersions, readSemanticVersion, type SemanticVersion } from '../../meta/semantic-version.ts';
import type { CelExtension } from '../cel.ts';
import { CelFault } from '../fault.ts';
import { define, defineMethod, type Overload } from '../overload.ts';
import { boolType, intType, opaqueType, stringType } from '../type.ts';
import { CelOpaque } from '../value.ts';

/** A semantic version; those that differ in their build alone are equal. */
class CelSemanticVersion extends CelOpaque {
  readonly typeName = expressionTypes.semanticVersion;
  readonly version: SemanticVersion;

  constructor(version: SemanticVersion) {
    super();
    this.version = version;
  }

  get text(): string {
    return `${this.version.numbers.join('.')}-${this.version.prerelease.join('.')}`;
  }
}

function read(text: string): CelSemanticVersion {
  const version = readSemanticVersion(text);
  if (!version) throw new CelFault('invalid semantic version');
  return new CelSemanticVersion(version);
}

type Version = CelSemanticVersion;

const order = (a: Version, b: Version): number => Math.sign(compareSemanticVersions(a.version, b.version));
const part = (index: number) => (version: Version) => BigInt.asIntN(64, version.version.numbers[index] ?? 0n);

const V = opaqueType(expressionTypes.semanticVersion);

const all: readonly Overload[] = [
  define('semver', [stringType], V, read),
  define('isSemver', [stringType], boolType, (text: string) => readSemanticVersion(text) !== undefined),
  defineMethod('isGreaterThan', [V, V], boolType, (a: Version, b: Version) => order(a, b) > 0),
  defineMethod('isLessThan', [V, V], boolType, (a: Version, b: Version) => order(a, b) < 0),
  defineMethod('compareTo', [V, V], intType, (a: Version, b: Version) => BigInt(order(a, b))),
  defineMethod('major', [V], intType, part(0)),
  defineMethod('minor', [V], intType, part(1)),
  defineMethod('patch', [V], intType, part(2)),
];

const named = (name: string, member: boolean): readonly Overload[] | undefined => {
  const found = all.filter((overload) => overload.name === name && overload.member === member);
  return found.length > 0 ? found : undefined;
};

/** Only selectors of devices have it. */
export const semanticVersions: CelExtension = {
  constructorOf: () => undefined,
  functions: (name) => named(name, false),
  methods: (name) => named(name, true),
};
