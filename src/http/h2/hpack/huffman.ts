/**
 * Huffman code of header strings (RFC 7541 section 5.2 and appendix B). The code is canonical: codes of equal length
 * are consecutive in the order of their symbols, and shorter codes precede longer ones. So the lengths define it.
 */

/** Code length in bits of each byte value, followed by EOS. */
const codeLengths: readonly number[] = [
  ...[13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28],
  ...[28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15],
  ...[6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6],
  ...[15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22],
  ...[20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23],
  ...[23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22],
  ...[22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26],
  ...[27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27],
  ...[26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30],
];

const eos = 256;
const lengthMax = 30;

const codes: readonly number[] = makeCodes();

function makeCodes(): number[] {
  const byLength: number[][] = Array.from({ length: lengthMax + 1 }, () => []);
  for (const [symbol, length] of codeLengths.entries()) byLength[length]?.push(symbol);
  const made: number[] = new Array<number>(codeLengths.length).fill(0);
  let code = 0;
  for (const symbols of byLength) {
    code *= 2;
    for (const symbol of symbols) {
      made[symbol] = code;
      code += 1;
    }
  }
  return made;
}

/** Encoded length of a text in bytes; each character is one byte. */
export function huffmanLength(text: string): number {
  let bits = 0;
  for (let at = 0; at < text.length; at += 1) bits += codeLengths[text.charCodeAt(at) & 0xff] as number;
  return (bits + 7) >>> 3;
}

/** Encodes a text, one byte per character, and returns the offset behind it. */
export function huffmanEncode(text: string, target: Uint8Array, from: number): number {
  let at = from;
  let held = 0;
  let heldBits = 0;
  for (let index = 0; index < text.length; index += 1) {
    const symbol = text.charCodeAt(index) & 0xff;
    let length = codeLengths[symbol] as number;
    const code = codes[symbol] as number;
    // Up to seven bits are held: together with a code of 30 bits they would not fit in 32.
    while (length > 0) {
      const taken = Math.min(length, 8 - heldBits);
      length -= taken;
      held = (held << taken) | ((code >>> length) & ((1 << taken) - 1));
      heldBits += taken;
      if (heldBits === 8) {
        target[at] = held;
        at += 1;
        held = 0;
        heldBits = 0;
      }
    }
  }
  if (heldBits === 0) return at;
  // The last byte is padded with the first bits of EOS, which are ones.
  target[at] = (held << (8 - heldBits)) | (0xff >>> heldBits);
  return at + 1;
}

/**
 * The decoder consumes four bits at a time. A state is an inner node of the code tree. Each transition is one number:
 * the next state, whether a symbol was completed and which, and whether the text may end there.
 */
const stateShift = 10;
const completesBit = 0x200;
const mayEndBit = 0x100;
/** The root is only reached again by completing a symbol, so no valid transition is 0. */
const failed = 0;
/** Made for the first text: not every server meets one, and none before it is ready. */
let transitions: Uint32Array | undefined;

interface Node {
  readonly children: [Node | number | undefined, Node | number | undefined];
  number: number;
  /** The path from the root is fewer than eight ones: valid padding of the last byte (section 5.2). */
  mayEnd: boolean;
}

function makeTransitions(): Uint32Array {
  const nodes: Node[] = [];
  const newNode = (mayEnd: boolean): Node => {
    const node: Node = { children: [undefined, undefined], number: nodes.length, mayEnd };
    nodes.push(node);
    return node;
  };
  const root = newNode(true);
  for (const [symbol, code] of codes.entries()) {
    let node = root;
    for (let bit = (codeLengths[symbol] as number) - 1; bit >= 0; bit -= 1) {
      const way = ((code >>> bit) & 1) as 0 | 1;
      if (bit === 0) node.children[way] = symbol;
      else {
        const depth = (codeLengths[symbol] as number) - bit;
        node.children[way] ??= newNode(node.mayEnd && way === 1 && depth < 8);
        node = node.children[way] as Node;
      }
    }
  }
  const made = new Uint32Array(nodes.length * 16);
  for (const node of nodes) {
    for (let bits = 0; bits < 16; bits += 1) made[node.number * 16 + bits] = transition(root, node, bits);
  }
  return made;
}

function transition(root: Node, from: Node, bits: number): number {
  let node = from;
  let completed = 0;
  for (let bit = 3; bit >= 0; bit -= 1) {
    const next = node.children[((bits >>> bit) & 1) as 0 | 1];
    // EOS within a text is an error.
    if (next === undefined || next === eos) return failed;
    if (typeof next === 'number') {
      completed = completesBit | next;
      node = root;
    } else node = next;
  }
  return (node.number << stateShift) | (node.mayEnd ? mayEndBit : 0) | (completed & ~mayEndBit);
}

/** The shortest code has five bits. */
export const huffmanGrowthMax = 8 / 5;

/**
 * Decodes the bytes between `from` and `to` into `target`, which must have room for `huffmanGrowthMax` times as many.
 * Returns the number of bytes written; -1 if the text contains EOS or has invalid padding.
 */
export function huffmanDecode(source: Uint8Array, from: number, to: number, target: Uint8Array): number {
  transitions ??= makeTransitions();
  const table = transitions;
  let state = mayEndBit;
  let written = 0;
  for (let at = from; at < to; at += 1) {
    const byte = source[at] as number;
    state = table[((state >>> stateShift) << 4) | (byte >>> 4)] as number;
    if (state === failed) return -1;
    if (state & completesBit) {
      target[written] = state;
      written += 1;
    }
    state = table[((state >>> stateShift) << 4) | (byte & 0xf)] as number;
    if (state === failed) return -1;
    if (state & completesBit) {
      target[written] = state;
      written += 1;
    }
  }
  return state & mayEndBit ? written : -1;
}
