// Decodes those components of an index key that a scan returns.
import type { Value } from '#sqlpp/values/value.ts';
import { KeyReader } from '../keys/key-reader.ts';
import type { KeyDirections } from '../spans/intervals.ts';

const none: readonly Value[] = [];
const emptyBytes = new Uint8Array(0);

export class RowDecoder {
  /** The positions in the key of the components to return, in the order of the result. */
  private readonly positions: readonly number[];
  private readonly directions: KeyDirections;
  /** The highest of the positions; -1: the scan returns no values. */
  private readonly last: number;
  /** By position: the index of the value in the result; -1 if the scan does not return it. */
  private readonly resultIndexes: readonly number[];
  private readonly reader = new KeyReader();
  /** The leading component of the last row: in index order many rows have the same. */
  private readonly leading: { bytes: Uint8Array; end: number; value: Value } = {
    bytes: emptyBytes,
    end: 0,
    value: undefined,
  };

  constructor(positions: readonly number[], directions: KeyDirections) {
    this.positions = positions;
    this.directions = directions;
    let last = -1;
    for (const position of positions) if (position > last) last = position;
    this.last = last;
    const resultIndexes: number[] = [];
    for (let position = 0; position <= last; position++) resultIndexes.push(positions.indexOf(position));
    this.resultIndexes = resultIndexes;
  }

  decode(key: Uint8Array): readonly Value[] {
    if (this.last < 0) return none;
    // Not `new Array(n).fill(undefined)`: V8 would convert such an array when the first value is set, which takes as long as decoding a number.
    const values: Value[] = [];
    for (let index = this.positions.length; index > 0; index--) values.push(undefined);
    const reader = this.reader.reset(key, this.readLeading(key));
    const [index = -1] = this.resultIndexes;
    if (index >= 0) values[index] = this.leading.value;
    for (let position = 1; position <= this.last; position++) {
      const isDescending = this.directions[position]?.isDescending;
      const index = this.resultIndexes[position] as number;
      if (index < 0) reader.skip(isDescending);
      else values[index] = reader.read(isDescending);
    }
    return values;
  }

  /** Reads the leading component, if it is not that of the row before; returns where it ends. */
  private readLeading(key: Uint8Array): number {
    const { leading } = this;
    const { bytes, end } = leading;
    let at = 0;
    while (at < end && key[at] === bytes[at]) at++;
    if (at === end && end > 0) return end;
    const reader = this.reader.reset(key);
    const isDescending = this.directions[0]?.isDescending;
    if ((this.resultIndexes[0] as number) < 0) reader.skip(isDescending);
    else leading.value = reader.read(isDescending);
    leading.bytes = key;
    leading.end = reader.position;
    return leading.end;
  }
}
