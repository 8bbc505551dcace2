// Writes the parts of a certificate in DER (X.690), and finds parts in DER.

const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectIdentifier: 0x06,
  printableString: 0x13,
  utcTime: 0x17,
  sequence: 0x30,
  set: 0x31,
} as const;

function element(tag: number, content: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content]);
}

function lengthOf(bytes: number): Buffer {
  if (bytes < 0x80) return Buffer.from([bytes]);
  const digits = unsigned(bytes.toString(16));
  return Buffer.concat([Buffer.from([0x80 | digits.length]), digits]);
}

const unsigned = (hex: string): Buffer => Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');

const ofParts =
  (tag: number) =>
  (...parts: readonly Uint8Array[]): Buffer =>
    element(tag, Buffer.concat(parts));

const sequence = ofParts(tags.sequence);
const set = ofParts(tags.set);
/** The boolean true. */
const yes = element(tags.boolean, Buffer.from([0xff]));
const octets = (content: Uint8Array): Buffer => element(tags.octetString, content);
const printable = (text: string): Buffer => element(tags.printableString, Buffer.from(text, 'ascii'));

/** An element with a context-specific tag, around other elements. */
const tagged = (tag: number, ...parts: readonly Uint8Array[]): Buffer =>
  element(0xa0 | tag, Buffer.concat(parts));

/** An element of a simple type with a context-specific tag. */
const taggedBytes = (tag: number, content: Uint8Array): Buffer => element(0x80 | tag, content);

/** A positive integer of any length. */
function integer(hex: string): Buffer {
  const digits = unsigned(hex.replace(/^0+(?=.)/, ''));
  // The first bit is that of the sign.
  const isSigned = (digits[0] as number) >= 0x80;
  return element(tags.integer, isSigned ? Buffer.concat([Buffer.from([0]), digits]) : digits);
}

/** A bit string of whole bytes. */
const bits = (content: Uint8Array): Buffer =>
  element(tags.bitString, Buffer.concat([Buffer.from([0]), content]));

/** The bits with these numbers, from 0 to 7. */
function namedBits(...numbers: readonly number[]): Buffer {
  const unused = 7 - Math.max(...numbers);
  const byte = numbers.reduce((sum, number) => sum | (0x80 >> number), 0);
  return element(tags.bitString, Buffer.from([unused, byte]));
}

/** An object identifier, from a text such as `1.2.840.10045.4.3.2`. */
function identifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...others] = dotted.split('.').map(Number);
  const bytes = [first * 40 + second, ...others].flatMap((arc) => {
    const sevenBits = [arc & 0x7f];
    for (let left = arc >> 7; left > 0; left >>= 7) sevenBits.unshift(0x80 | (left & 0x7f));
    return sevenBits;
  });
  return element(tags.objectIdentifier, Buffer.from(bytes));
}

/** A time before 2050, to the second. */
function utcTime(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/\D/g, '');
  return element(tags.utcTime, Buffer.from(`${digits.slice(2, 14)}Z`, 'ascii'));
}

/** The elements within an element. */
function partsOf(outer: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  const end = endOf(outer, 0);
  for (let at = contentOf(outer, 0); at < end; at = endOf(outer, at))
    parts.push(outer.subarray(at, endOf(outer, at)));
  return parts;
}

/** The bytes of a bit string of whole bytes. */
const bytesOfBits = (element: Buffer): Buffer => element.subarray(contentOf(element, 0) + 1);

function contentOf(bytes: Buffer, at: number): number {
  const length = bytes.readUInt8(at + 1);
  return at + 2 + (length < 0x80 ? 0 : length & 0x7f);
}

function endOf(bytes: Buffer, at: number): number {
  const length = bytes.readUInt8(at + 1);
  const content = contentOf(bytes, at);
  return content + (length < 0x80 ? length : bytes.readUIntBE(at + 2, length & 0x7f));
}

export const der = {
  bits,
  bytesOfBits,
  identifier,
  integer,
  namedBits,
  octets,
  partsOf,
  printable,
  sequence,
  set,
  tagged,
  taggedBytes,
  utcTime,
  yes,
};
