// Macros: an xattr's new value given as a string that the server replaces by what it knows of the mutation or of
// the document.
import type { SubdocContext, SubdocDocument } from './document.ts';
import { documentField, documentXattr, hex32, hex64, swapBytes } from './virtual.ts';

const macro = (name: string) => `"\${${name}}"`;
const casMacro = macro('Mutation.CAS');
const seqnoMacro = macro('Mutation.seqno');
const crcMacro = macro('Mutation.value_crc32c');
const documentMacro = /^"\$\{\$document(?:\.([^}]*))?\}"$/;

/** Whether a value is a macro, with the document's fields among them or not. */
export function isKnownMacro(value: Buffer, withDocument: boolean): boolean {
  const text = value.toString('latin1');
  if (text === casMacro || text === seqnoMacro || text === crcMacro) return true;
  return withDocument && documentMacro.test(text);
}

export function isChecksumMacro(value: Buffer): boolean {
  return value.toString('latin1') === crcMacro;
}

/** The value that a macro stands for; null when the document has no such field. `bodyChecksum` is the new body's. */
export function expandMacro(
  value: Buffer,
  bodyChecksum: number,
  doc: SubdocDocument,
  body: Buffer,
  context: SubdocContext,
): Buffer | null {
  const text = value.toString('latin1');
  // Clients read this one as the bytes of a little-endian machine.
  if (text === casMacro) return Buffer.from(hex64(swapBytes(context.casLo), swapBytes(context.casHi)));
  if (text === seqnoMacro) {
    return Buffer.from(hex64(Math.floor(context.seqno / 2 ** 32), context.seqno % 2 ** 32));
  }
  if (text === crcMacro) return Buffer.from(hex32(bodyChecksum));
  const field = documentMacro.exec(text)?.[1];
  const expanded = field === undefined ? documentXattr(doc, body) : documentField(field, doc, body);
  return expanded === null ? null : Buffer.from(expanded);
}
