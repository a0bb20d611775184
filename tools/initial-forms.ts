/** How the bundle comes by the forms of initial objects (`src/registry/write/initial-forms.ts`): the sources make them. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Plugin } from 'esbuild';

const maker = 'src/server/upkeep/make-initial-forms.ts';

/** Puts the forms in. A checkout for a test may have no objects to make forms of. */
export const initialForms = (root: string): Plugin => ({
  name: 'initial-forms',
  setup(build) {
    build.onLoad({ filter: /[/\\]registry[/\\]write[/\\]built-forms\.ts$/ }, async () => {
      const path = join(root, maker);
      if (!existsSync(path)) return undefined;
      const { makeInitialForms }: typeof import('../src/server/upkeep/make-initial-forms.ts') = await import(
        pathToFileURL(path).href
      );
      return { contents: `export const builtForms = ${JSON.stringify(makeInitialForms())};`, loader: 'js' };
    });
  },
});
