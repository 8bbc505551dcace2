// Keys of imported documents, by a text such as `airline::%country%::#MONO_INCR#`: fields between percent signs (`%address.city%`; in
// backquotes a name with dots), `#MONO_INCR#` or `#MONO_INCR[100]#` for a number that grows, `#UUID#`; `%%` and `##` for the signs.
import { createHash } from 'node:crypto';
import { type OptionKind, UsageError } from '../options.ts';

type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'field'; readonly path: readonly string[]; readonly name: string }
  | { readonly kind: 'count'; readonly first: number }
  | { readonly kind: 'uuid' };

const token = /%%|##|%([^%]+)%|#MONO_INCR(?:\[(\d{1,15})\])?#|#UUID#|[^%#]+/y;

export interface KeyRules {
  readonly seed: string;
  /** The limit of keys in the collection. */
  readonly keyBytesMax: number;
}

export class KeyGenerator {
  readonly text: string;
  private readonly parts: readonly Part[];

  /** @throws UsageError that says what is wrong */
  constructor(text: string) {
    this.text = text;
    this.parts = parsed(text);
  }

  /**
   * The key of the record with this ordinal number, from 0: the same for the same seed, so that a repeated import writes the same documents.
   * @throws Error that says which field is missing, or that the key is too long for the collection
   */
  keyOf(value: unknown, ordinal: number, { seed, keyBytesMax }: KeyRules): string {
    const key = this.parts.map((part) => textOf(part, value, ordinal, seed)).join('');
    const bytes = Buffer.byteLength(key);
    if (bytes === 0) throw new Error('its key would be empty');
    if (bytes > keyBytesMax)
      throw new Error(`its key has ${bytes} bytes; a key of this collection has at most ${keyBytesMax}`);
    return key;
  }
}

export const keyPattern: OptionKind<KeyGenerator> = {
  placeholder: '%FIELD%|#MONO_INCR#|#UUID#',
  show: ({ text }) => text,
  parse: (text) => new KeyGenerator(text),
};

function parsed(text: string): Part[] {
  const parts: Part[] = [];
  token.lastIndex = 0;
  while (token.lastIndex < text.length) {
    const at = token.lastIndex;
    const match = token.exec(text);
    if (match === null)
      throw new UsageError(
        `"${text.slice(at)}" should be %FIELD%, #MONO_INCR#, #MONO_INCR[FIRST]# or #UUID#; write %% and ## for the signs themselves`,
      );
    parts.push(partOf(match));
  }
  if (parts.length === 0) throw new UsageError('"" is not a key such as %id%, #MONO_INCR# or #UUID#');
  return parts;
}

function partOf([whole, name, first]: RegExpExecArray): Part {
  if (whole === '%%' || whole === '##') return { kind: 'text', text: whole.slice(1) };
  if (name !== undefined) return { kind: 'field', name, path: pathIn(name) };
  if (whole.startsWith('#MONO_INCR')) return { kind: 'count', first: Number(first ?? 1) };
  if (whole === '#UUID#') return { kind: 'uuid' };
  return { kind: 'text', text: whole };
}

const pathIn = (name: string): string[] =>
  [...name.matchAll(/`([^`]+)`|[^.`]+/g)].map(([whole, quoted]) => quoted ?? whole);

function textOf(part: Part, value: unknown, ordinal: number, seed: string): string {
  switch (part.kind) {
    case 'text':
      return part.text;
    case 'count':
      return String(part.first + ordinal);
    case 'uuid':
      return uuidOf(seed, ordinal);
    case 'field':
      return fieldOf(value, part.path, part.name);
  }
}

function fieldOf(value: unknown, path: readonly string[], name: string): string {
  let found = value;
  for (const step of path)
    found =
      typeof found === 'object' && found !== null && Object.hasOwn(found, step)
        ? (found as Record<string, unknown>)[step]
        : undefined;
  if (['string', 'number', 'bigint', 'boolean'].includes(typeof found)) return String(found);
  throw new Error(`has no text or number in its field "${name}"`);
}

/** Version 8: made from other data than time or chance. */
function uuidOf(seed: string, ordinal: number): string {
  const bytes = createHash('sha256').update(`${seed}:${ordinal}`).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
