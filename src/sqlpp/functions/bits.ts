// Functions of integers as 64 bits, the lowest in position 1.
import { integerOf, integerValue } from '../values/arithmetic.ts';
import { isArray, isNumber } from '../values/types.ts';
import type { Value } from '../values/value.ts';
import { Declarations, type Implementation } from './declaration.ts';

function integer(value: Value): bigint | undefined {
  return isNumber(value) ? integerOf(value) : undefined;
}

const signed = (bits: bigint): Value => integerValue(BigInt.asIntN(64, bits));

const folded =
  (compute: (a: bigint, b: bigint) => bigint): Implementation =>
  (values) => {
    const integers = values.map(integer);
    if (integers.includes(undefined)) return null;
    return signed((integers as bigint[]).reduce(compute));
  };

const shift: Implementation = ([value, places, rotates = false]) => {
  const [number, count] = [integer(value), integer(places)];
  if (number === undefined || count === undefined || typeof rotates !== 'boolean') return null;
  const bits = BigInt.asUintN(64, number);
  if (rotates) {
    const by = BigInt.asUintN(6, count);
    return signed((bits << by) | (bits >> (64n - by)));
  }
  if (count <= -64n || count >= 64n) return 0;
  return signed(count < 0n ? bits >> -count : bits << count);
};

/** The bits of one position or of an array of them. */
function positions(value: Value): bigint | undefined {
  const list = isArray(value) ? value : [value];
  let bits = 0n;
  for (const item of list) {
    const position = integer(item);
    if (position === undefined || position < 1n || position > 64n) return undefined;
    bits |= 1n << (position - 1n);
  }
  return bits;
}

const changed =
  (compute: (bits: bigint, positions: bigint) => bigint): Implementation =>
  ([value, places]) => {
    const [number, bits] = [integer(value), positions(places)];
    return number === undefined || bits === undefined ? null : signed(compute(number, bits));
  };

const bitTest: Implementation = ([value, places, needsAll = false]) => {
  const [number, bits] = [integer(value), positions(places)];
  if (number === undefined || bits === undefined || typeof needsAll !== 'boolean') return null;
  const found = BigInt.asUintN(64, number) & bits;
  return needsAll ? found === bits : found !== 0n;
};

export const bits = new Declarations('bit')
  .add(
    'bitand',
    'integer, integer [, integer …]',
    'The bits that are set in all integers.',
    folded((a, b) => a & b),
  )
  .add(
    'bitor',
    'integer, integer [, integer …]',
    'The bits that are set in any of the integers.',
    folded((a, b) => a | b),
  )
  .add(
    'bitxor',
    'integer, integer [, integer …]',
    'The bits that are set in an odd number of the integers.',
    folded((a, b) => a ^ b),
  )
  .add('bitnot', 'integer', 'All bits inverted.', ([value]) => {
    const number = integer(value);
    return number === undefined ? null : signed(~number);
  })
  .add(
    'bitshift',
    'integer, places [, rotates]',
    'The bits shifted to the left, or to the right by a negative number of places; with true they rotate.',
    shift,
  )
  .add(
    'bitset',
    'integer, positions',
    'The integer with the bits in a position, or in an array of positions, set.',
    changed((number, bits) => number | bits),
  )
  .add(
    'bitclear',
    'integer, positions',
    'The integer with the bits in a position, or in an array of positions, cleared.',
    changed((number, bits) => number & ~bits),
  )
  .add(
    'bittest',
    'integer, positions [, all]',
    'Whether any of the bits, or with true each, is set.',
    bitTest,
    { synonyms: ['isbitset'] },
  );
