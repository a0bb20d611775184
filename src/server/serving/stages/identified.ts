import type { Stage } from '../request-context.ts';
import type { PipelineParts } from './parts.ts';

/** Reports user and request to the observers, before authorization. Left out of the pipeline if no observer listens. */
export function identified({ observers }: Pick<PipelineParts, 'observers'>): readonly Stage[] {
  const notified = observers.flatMap((each) => each.identified ?? []);
  if (notified.length === 0) return [];
  return [
    {
      name: 'identified',
      run(context) {
        for (const notify of notified) notify(context);
      },
    },
  ];
}
