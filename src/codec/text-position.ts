/** The position of an offset in a text: `line 3 column 7`, both from 1, columns in UTF-16 code units. */
export function positionIn(text: string, offset: number): string {
  let [line, lineStart] = [1, 0];
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) {
    line++;
    lineStart = at + 1;
  }
  return `line ${line} column ${offset - lineStart + 1}`;
}
