import type { Dialect } from '../../dialect/dialect.ts';

/** Forms of initial objects by dialect (`initial-forms.ts`). None in the sources; the bundler puts in those that it has made. */
export const builtForms: Partial<Readonly<Record<Dialect['name'], string>>> = {};
