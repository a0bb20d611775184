import type { Stage } from '../request-context.ts';
import type { PipelineParts } from './parts.ts';

/** Reports user and request to the observers, before authorization. Left out of the pipeline if no observer listens. */
export function audit({ observers }: Pick<PipelineParts, 'observers'>): readonly Stage[] {
  const identified = observers.flatMap((each) => each.identified ?? []);
  if (identified.length === 0) return [];
  return [
    {
      name: 'audit',
      run(context) {
        for (const notify of identified) notify(context);
      },
    },
  ];
}
