// The records of a zip file. Sizes follow the data of each entry, so that entries are written while they are read.

export interface ZipEntry {
  readonly name: string;
  readonly offset: number;
  readonly crc: number;
  readonly packedBytes: number;
  readonly bytes: number;
}

const versionNeeded = 20;
/** The entries have attributes of Unix. */
const madeByUnix = 3 << 8;
/** Sizes follow the data; names are UTF-8. */
const flags = 0x0808;
const deflated = 8;
/** The earliest date of the format, since entries have no times. */
const date = 0x21;
const ownerOnly = 0o100600;

export function localHeader(name: string): Buffer {
  const text = Buffer.from(name);
  const header = Buffer.alloc(30);
  header.writeUInt32LE(0x04034b50, 0);
  header.writeUInt16LE(versionNeeded, 4);
  header.writeUInt16LE(flags, 6);
  header.writeUInt16LE(deflated, 8);
  header.writeUInt16LE(date, 12);
  header.writeUInt16LE(text.length, 26);
  return Buffer.concat([header, text]);
}

export function dataDescriptor({ crc, packedBytes, bytes }: Omit<ZipEntry, 'name' | 'offset'>): Buffer {
  const record = Buffer.alloc(16);
  record.writeUInt32LE(0x08074b50, 0);
  record.writeUInt32LE(crc, 4);
  record.writeUInt32LE(packedBytes, 8);
  record.writeUInt32LE(bytes, 12);
  return record;
}

/** The central directory at the end of the file; it starts at `offset`. */
export function centralDirectory(entries: readonly ZipEntry[], offset: number): Buffer {
  const list = Buffer.concat(entries.map(directoryRecord));
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(list.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([list, end]);
}

function directoryRecord({ name, offset, crc, packedBytes, bytes }: ZipEntry): Buffer {
  const text = Buffer.from(name);
  const record = Buffer.alloc(46);
  record.writeUInt32LE(0x02014b50, 0);
  record.writeUInt16LE(madeByUnix | versionNeeded, 4);
  record.writeUInt16LE(versionNeeded, 6);
  record.writeUInt16LE(flags, 8);
  record.writeUInt16LE(deflated, 10);
  record.writeUInt16LE(date, 14);
  record.writeUInt32LE(crc, 16);
  record.writeUInt32LE(packedBytes, 20);
  record.writeUInt32LE(bytes, 24);
  record.writeUInt16LE(text.length, 28);
  record.writeUInt32LE(ownerOnly * 0x10000, 38);
  record.writeUInt32LE(offset, 42);
  return Buffer.concat([record, text]);
}
