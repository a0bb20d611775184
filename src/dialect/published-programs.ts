import { kubernetes } from './kubernetes.ts';

/** Programs that environment libraries start. The same in both dialects. */
export const publishedPrograms = {
  server: 'kube-apiserver',
  commandLineClient: 'kubectl',
  /** What they speak. */
  dialect: kubernetes,
} as const;
