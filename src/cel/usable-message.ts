import { limits } from '../base/limits.ts';
import type { CelValue } from './value.ts';

/** The result of a messageExpression; undefined if it cannot be shown: it is no text, empty, too long or of several lines. */
export function usableMessage(value: CelValue): string | undefined {
  const text = typeof value === 'string' ? value.trim() : '';
  const isUsable = text !== '' && !text.includes('\n') && Buffer.byteLength(text) <= limits.ruleMessageMax;
  return isUsable ? text : undefined;
}
