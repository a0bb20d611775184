import type { TimeSlice } from '../base/time/time-slice.ts';
import { Entries, jsonPieces } from '../registry/documents/json-pieces.ts';
import type { DocumentForm } from './document-forms.ts';
import { protobuf } from './formats/protobuf.ts';
import { yaml } from './formats/yaml.ts';

type Piece = Uint8Array | string | Promise<Uint8Array>;

interface PiecesOptions {
  /** Is waited for between entries, and within those that take long. */
  readonly slice: Pick<TimeSlice, 'over' | 'next'>;
  /** Encodes a document in the form that is asked for, elsewhere if that takes long. Not called for JSON. */
  readonly encode: (part: unknown) => Buffer | Promise<Buffer>;
}

/**
 * A document in a form, made of what its entries are in it: never more than one entry is in memory. The bytes are those of
 * the whole document, but in protobuf: there each entry is in a message of its own. Whoever reads them one after the other
 * merges them, as the encoding demands of parsers ("Last One Wins" in its specification).
 */
export function* documentPieces(
  document: Entries,
  form: DocumentForm,
  { slice, encode }: PiecesOptions,
): Generator<Piece, void> {
  for (const made of form === 'json' ? jsonPieces(document) : encodedPieces(document, layoutOf(form), encode)) {
    if (made) yield made;
    // A promise is waited for, even if there is nothing to be sent yet.
    if (slice.over) yield slice.next().then(() => nothing);
  }
}

const nothing = new Uint8Array();

/** What is around the parts of a document in a form. */
interface Layout {
  readonly open: string;
  readonly between: string;
  readonly close: string;
  /** Before and after the entries of a member. */
  readonly member: (name: string) => readonly [open: string, close: string];
}

const layouts: Readonly<Record<string, Layout>> = {
  pretty: {
    ...{ open: '{\n', between: ',\n', close: '\n}\n' },
    member: (name) => [`  ${JSON.stringify(name)}: {\n`, '\n  }'],
  },
  [yaml.name]: { open: '', between: '', close: '', member: (name) => [`${name}:\n`, ''] },
  [protobuf.name]: { open: '', between: '', close: '', member: () => ['', ''] },
};

function layoutOf(form: DocumentForm): Layout {
  const layout = layouts[form];
  if (!layout) throw new TypeError(`documents are not written in pieces as ${form}`);
  return layout;
}

/** Each part is encoded as a document that has nothing else, of which what is around it is cut off. '' is a pause. */
function* encodedPieces(
  document: Entries,
  { open, between, close, member }: Layout,
  encode: PiecesOptions['encode'],
): Generator<Piece, void> {
  yield open;
  for (const [name, value] of separated(document, between)) {
    if (name === undefined) yield value;
    else if (value instanceof Entries) {
      const [opening, closing] = member(name);
      const around = { before: open.length + opening.length, after: closing.length + close.length };
      yield opening;
      for (const [entryName, entry] of separated(value, between)) {
        if (entryName === undefined) yield entry;
        else yield cut(encode({ [name]: { [entryName]: entry } }), around);
      }
      yield closing;
    } else yield cut(encode({ [name]: value }), { before: open.length, after: close.length });
  }
  yield close;
}

/** The entries; those without a name are text between them. */
function* separated(
  entries: Entries,
  between: string,
): Generator<readonly [name: string, value: unknown] | readonly [name: undefined, text: string], void> {
  let isFirst = true;
  for (const entry of entries) {
    yield [undefined, entry && !isFirst ? between : ''];
    if (!entry) continue;
    isFirst = false;
    yield entry;
  }
}

interface Around {
  readonly before: number;
  readonly after: number;
}

function cut(encoded: Buffer | Promise<Buffer>, around: Around): Buffer | Promise<Buffer> {
  if (encoded instanceof Promise) return encoded.then((bytes) => cut(bytes, around));
  return encoded.subarray(around.before, encoded.length - around.after);
}
