// Decodes the values of a key that a scan returns.
import type { Value } from '#sqlpp/values/value.ts';
import { KeyReader } from '../keys/key-reader.ts';
import type { KeyDirections } from '../spans/intervals.ts';

const none: readonly Value[] = [];

export class RowDecoder {
  private readonly positions: readonly number[];
  private readonly directions: KeyDirections;
  private readonly last: number;
  /** By position: the index of the value in the result. */
  private readonly places: readonly number[];
  private readonly reader = new KeyReader();

  constructor(positions: readonly number[], directions: KeyDirections) {
    this.positions = positions;
    this.directions = directions;
    this.last = Math.max(-1, ...positions);
    this.places = Array.from({ length: this.last + 1 }, (_, position) => positions.indexOf(position));
  }

  keysOf(key: Uint8Array): readonly Value[] {
    if (this.last < 0) return none;
    const values: Value[] = new Array(this.positions.length).fill(undefined);
    const reader = this.reader.reset(key);
    for (let position = 0; position <= this.last; position++) {
      const isDescending = this.directions[position]?.isDescending;
      const place = this.places[position] as number;
      if (place < 0) reader.skip(isDescending);
      else values[place] = reader.read(isDescending);
    }
    return values;
  }
}
