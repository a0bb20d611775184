import { generatedDefinition, storedDefinition } from './definitions.ts';
import { newDataFile } from './filled-data.ts';

/** Definitions written at once. */
const parallel = 50;

/** Fills a data directory with the first definitions, established. Returns how large one is on average. */
export async function fillWithDefinitions(directory: string, definitions: number): Promise<number> {
  const store = await newDataFile(directory);
  let bytes = 0;
  const write = (index: number): Promise<unknown> => {
    const definition = generatedDefinition(index);
    const value = storedDefinition(definition, index);
    bytes += value.length;
    return store.create(`/apiextensions.orch.io/customresourcedefinitions/${definition.name}`, value);
  };
  try {
    for (let from = 0; from < definitions; from += parallel) {
      const count = Math.min(parallel, definitions - from);
      await Promise.all(Array.from({ length: count }, (_, offset) => write(from + offset)));
    }
  } finally {
    await store.close();
  }
  return bytes / definitions;
}
