import { errorsOfEach, type FieldError, forbidden, notSupported, required } from '../../meta/field-error.ts';

/** Ways in which a volume can be mounted, in the order in which they are shown, with their short names. */
const accessModes = { ReadWriteOnce: 'RWO', ReadOnlyMany: 'ROX', ReadWriteMany: 'RWX', ReadWriteOncePod: 'RWOP' } as const;

const isKnown = (mode: string): boolean => Object.hasOwn(accessModes, mode);

/** The mode of one pod goes with no other. */
export function validateAccessModes(modes: readonly string[], field: string, missing = ''): FieldError[] {
  const isMixed = modes.includes('ReadWriteOncePod') && modes.some((mode) => isKnown(mode) && mode !== 'ReadWriteOncePod');
  return [
    ...(modes.length === 0 ? [required(field, missing)] : []),
    ...errorsOfEach(modes, (mode) => (isKnown(mode) ? [] : [notSupported(field, mode, Object.keys(accessModes))])),
    ...(isMixed ? [forbidden(field, 'may not use ReadWriteOncePod with other access modes')] : []),
  ];
}

/** The short names of access modes, each once and in their own order. */
export const shownModes = (modes: readonly string[] = []): string =>
  Object.entries(accessModes)
    .filter(([mode]) => modes.includes(mode))
    .map(([, short]) => short)
    .join(',');
