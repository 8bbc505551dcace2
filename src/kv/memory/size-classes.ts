// Allocation sizes, in units of 16 bytes: exact up to 32 units, then 16 steps to each doubling,
// so that rounding up wastes at most a sixteenth.

export const unitBytes = 16;
export const pageUnits = 65536;
export const pageBytes = pageUnits * unitBytes;
/** Larger items get a buffer of their own. */
export const classUnitsMax = pageUnits / 2;
export const classCount = 193;

/** The class of a size from 1 to `classUnitsMax` units. */
export function classOf(units: number): number {
  if (units <= 32) return units;
  const doubling = 31 - Math.clz32(units - 1);
  return 32 + (doubling - 5) * 16 + ((units - 1) >>> (doubling - 4)) - 15;
}

export function unitsOf(sizeClass: number): number {
  if (sizeClass <= 32) return sizeClass;
  const step = sizeClass - 33;
  return (17 + (step & 15)) << (1 + (step >>> 4));
}
