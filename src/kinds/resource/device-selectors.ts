import { limits } from '../../base/limits.ts';
import type { Steps } from '../../base/time/in-slices.ts';
import type { CelEnvironment } from '../../cel/cel.ts';
import { compileInSteps } from '../../cel/compile.ts';
import { CelCompileError, CelInstantiationError } from '../../cel/error.ts';
import { estimateCost, type SizeOf, type ValuePath } from '../../cel/estimate.ts';
import { semanticVersions } from '../../cel/library/semantic-versions.ts';
import { publishedError } from '../../cel/published-error.ts';
import type { Size } from '../../cel/size.ts';
import { type CelType, dynType, mapType, opaqueType, stringType, structType, typeName } from '../../cel/type.ts';
import { expressionTypes } from '../../dialect/expression-types.ts';
import { type FieldError, forbidden, invalid } from '../../meta/field-error.ts';

const byDomain = (value: CelType): CelType => mapType(stringType, mapType(stringType, value));

/** What selectors of devices see. The type of an attribute is known only of a device. */
const environment: CelEnvironment = {
  device: structType(expressionTypes.device, { driver: stringType, attributes: byDomain(dynType), capacity: byDomain(opaqueType(expressionTypes.quantity)) }),
};

const upTo = (max: number): Size => ({ min: 0, max });

/** Sizes of a device at most: of the maps by domain, of those by name, and of what they hold. */
const sizeOf: SizeOf = ([variable, part, ...rest]: ValuePath) => {
  if (variable !== 'device') return undefined;
  if (part === 'driver') return rest.length === 0 ? upTo(limits.deviceDomainMax) : undefined;
  if (part !== 'attributes' && part !== 'capacity') return undefined;
  const [domain, name, ...more] = rest;
  if (more.length > 0) return undefined;
  if (domain === undefined) return upTo(limits.devicePropertiesMax);
  if (domain === '@keys') return name === undefined ? upTo(limits.deviceDomainMax) : undefined;
  if (domain !== '@values' && domain !== '@items') return undefined;
  if (name === undefined) return upTo(limits.devicePropertiesMax);
  if (name === '@keys') return upTo(limits.devicePropertyNameMax);
  return part === 'attributes' ? upTo(limits.deviceValueBytesMax) : undefined;
};

/** What is wrong with the expression of a selector, in the words of kube-apiserver. */
export function* selectorErrors(source: string, path: string): Steps<readonly FieldError[]> {
  try {
    const { type } = yield* compileInSteps(source, environment, { extension: semanticVersions });
    if (type.kind !== 'bool' && type.kind !== 'dyn') return [invalid(path, source, `must evaluate to bool or the unknown type, not ${typeName(type)}`)];
    const cost = yield* estimateCost(source, environment, sizeOf, semanticVersions);
    return cost > limits.deviceSelectorCostMax ? [forbidden(path, 'too complex, exceeds cost limit')] : [];
  } catch (error) {
    if (error instanceof CelInstantiationError) return [invalid(path, source, `program instantiation failed: ${error.reason}`)];
    if (error instanceof CelCompileError) return [invalid(path, source, `compilation failed: ${publishedError(error, source)}`)];
    throw error;
  }
}
