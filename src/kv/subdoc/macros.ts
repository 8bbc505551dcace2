// Macros: strings as xattr values that the server replaces by a property of the mutation (CAS, seqno) or of the document.
import { crc32cChanged } from '../value/crc32c.ts';
import type { SubdocContext, SubdocDocument } from './document.ts';
import { documentField, documentXattr, hex32, hex64, swapBytes } from './virtual.ts';

const macro = (name: string) => `"\${${name}}"`;
const casMacro = macro('Mutation.CAS');
const seqnoMacro = macro('Mutation.seqno');
const crcMacro = macro('Mutation.value_crc32c');
const documentMacro = /^"\$\{\$document(?:\.([^}]*))?\}"$/;

/** Whether a value is a macro; those of document fields only if `withDocument` is set. */
export function isKnownMacro(value: Buffer, withDocument: boolean): boolean {
  const text = value.toString('latin1');
  if (text === casMacro || text === seqnoMacro || text === crcMacro) return true;
  return withDocument && documentMacro.test(text);
}

export function isChecksumMacro(value: Buffer): boolean {
  return value.toString('latin1') === crcMacro;
}

type MutationStamp = Pick<SubdocContext, 'casHi' | 'casLo' | 'seqno'>;

/** The CAS macro is little-endian. */
const casText = ({ casHi, casLo }: MutationStamp): string => hex64(swapBytes(casLo), swapBytes(casHi));
const seqnoText = ({ seqno }: MutationStamp): string => hex64(Math.floor(seqno / 2 ** 32), seqno % 2 ** 32);

/** Where the body of a value begins, and its checksum if a macro has stored that in an xattr. */
interface StoredBody {
  readonly start: number;
  readonly checksum: number | undefined;
}

/**
 * Replaces the random placeholders of CAS and seqno by those of the mutation. Being random, they occur nowhere else in the value. They are in
 * the body where an xattr has become the body: its checksum in the xattrs is replaced then.
 */
export function replaceStamp(
  value: Buffer,
  { checksum, start }: StoredBody,
  placeholders: MutationStamp,
  now: MutationStamp,
): void {
  let newChecksum = checksum;
  for (const textOf of [casText, seqnoText]) {
    const [before, after] = [Buffer.from(textOf(placeholders)), Buffer.from(textOf(now))];
    const changed = before.map((byte, index) => byte ^ (after[index] as number));
    replaceAll(value, before, after, (at) => {
      if (at >= start && newChecksum !== undefined)
        newChecksum = crc32cChanged(newChecksum, changed, value.length - at - before.length);
    });
  }
  if (checksum !== undefined && newChecksum !== undefined && newChecksum !== checksum)
    replaceAll(value.subarray(0, start), Buffer.from(hex32(checksum)), Buffer.from(hex32(newChecksum)));
}

/** Replaces texts of equal length. */
function replaceAll(
  value: Buffer,
  before: Buffer,
  after: Buffer,
  replaced: (at: number) => void = () => {},
): void {
  for (let at = value.indexOf(before); at >= 0; at = value.indexOf(before, at + before.length)) {
    after.copy(value, at);
    replaced(at);
  }
}

/** The value of a macro, null if the document has no such field. `bodyChecksum` is that of the new body. */
export function expandMacro(
  value: Buffer,
  bodyChecksum: number,
  doc: SubdocDocument,
  body: Buffer,
  context: SubdocContext,
): Buffer | null {
  const text = value.toString('latin1');
  if (text === casMacro) return Buffer.from(casText(context));
  if (text === seqnoMacro) return Buffer.from(seqnoText(context));
  if (text === crcMacro) return Buffer.from(hex32(bodyChecksum));
  const field = documentMacro.exec(text)?.[1];
  const expanded = field === undefined ? documentXattr(doc, body) : documentField(field, doc, body);
  return expanded === null ? null : Buffer.from(expanded);
}
