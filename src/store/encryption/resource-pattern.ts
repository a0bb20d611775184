/** A resource, or all of a group, or all: `secrets`, `deployments.apps`, `*.apps`, `*.`, `*.*`. */
export interface ResourcePattern {
  readonly resource: string;
  readonly group: string;
}

export function parseResource(text: string): ResourcePattern {
  const dot = text.indexOf('.');
  return dot < 0 ? { resource: text, group: '' } : { resource: text.slice(0, dot), group: text.slice(dot + 1) };
}

/** As configurations write it. */
export const resourceText = ({ resource, group }: ResourcePattern): string =>
  group === '' && resource !== '*' ? resource : `${resource}.${group}`;

export const everyResource: ResourcePattern = { resource: '*', group: '*' };
