import { isRecord } from '../../schema/own-property.ts';
import type { Format } from './format.ts';
import { protobuf } from './protobuf.ts';

/**
 * A decoded value without what formats may write differently: integers beyond int64 are floats in CBOR, and protobuf has no
 * empty lists.
 */
export function comparable(value: unknown, format: Format): unknown {
  if (typeof value === 'bigint' && BigInt.asIntN(64, value) !== value) return Number(value);
  if (Array.isArray(value)) return value.map((each) => comparable(each, format));
  if (!isRecord(value)) return value;
  const fields = Object.entries(value).filter(([, each]) => format !== protobuf || !isEmptyList(each));
  return Object.fromEntries(fields.map(([name, each]) => [name, comparable(each, format)]));
}

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;
