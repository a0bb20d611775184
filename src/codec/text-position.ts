/** Where an offset is in a text: `line 3 column 7`, both from 1, columns in UTF-16 code units. */
export function positionIn(text: string, offset: number): string {
  const before = text.slice(0, offset);
  return `line ${before.split('\n').length} column ${offset - before.lastIndexOf('\n')}`;
}
