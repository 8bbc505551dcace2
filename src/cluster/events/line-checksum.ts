// The checksum of a journal line: the last member of its JSON object, computed over the text before that member. Lines of older versions
// have no checksum.
import { crc32 } from 'node:zlib';

const tail = /,"crc":"([0-9a-f]{8})"}$/;
const tailLength = ',"crc":"01234567"}'.length;
/** The characters that are the same in every tail. */
const fixed = [...',"crc":"'].map((letter, index) => [index, letter] as const);

export type CheckedLine = { kind: 'whole' | 'without checksum'; line: string } | { kind: 'damaged' };

/** Lines other than JSON objects are left unchanged. */
export function withChecksum(line: string): string {
  if (!line.startsWith('{') || !line.endsWith('}') || line === '{}') return line;
  return `${line.slice(0, -1)},"crc":"${checksumOf(line)}"}`;
}

/** The line without its checksum. */
export function checkLine(text: string): CheckedLine {
  const found = tail.exec(text);
  if (found === null)
    return looksLikeTail(text) ? { kind: 'damaged' } : { kind: 'without checksum', line: text };
  const line = `${text.slice(0, -tailLength)}}`;
  return found[1] === checksumOf(line) ? { kind: 'whole', line } : { kind: 'damaged' };
}

const checksumOf = (line: string): string => crc32(line).toString(16).padStart(8, '0');

/** True for a checksum in which up to two characters changed. */
function looksLikeTail(text: string): boolean {
  const end = text.slice(-tailLength);
  return fixed.filter(([index, letter]) => end[index] === letter).length >= fixed.length - 2;
}
