// The number of documents of a collection, as statistics of a bucket have it.

/** The group of statistics to request. */
export const itemsGroup = (collectionId: number): string => `collections-byid 0x${collectionId.toString(16)}`;

export function itemsIn(figures: ReadonlyMap<string, string>): number {
  for (const [name, value] of figures) if (name.endsWith(':items')) return Number(value);
  return 0;
}
