import type { Dialect } from '../../../dialect/dialect.ts';
import type { ApiObject } from '../../../meta/api-object.ts';

/** The annotation of pods that a node's agent makes to show what it runs without the server; any value counts. */
export const mirrorAnnotation = ({ domain }: Dialect): string => `${domain}/config.mirror`;

/** Made by a node's agent to show a pod that runs without the server: nobody schedules it, and it must stay as it is. */
export const isMirrorPod = ({ metadata }: ApiObject, dialect: Dialect): boolean =>
  metadata.annotations?.[mirrorAnnotation(dialect)] !== undefined;
