// The order of events of several lists, each of which is in the order in which its events happened. Their times do not give that order after
// a clock was set back: the events before would count as the newest until it reaches their times again.

/** An event happened before those behind it in its list, so that its time counts as at most theirs. */
export function inOrder<T extends { readonly atMs: number }>(lists: readonly (readonly T[])[]): T[] {
  const placed = lists.flatMap((list) => {
    let orderMs = Number.POSITIVE_INFINITY;
    const fromLast = list.toReversed().map((event) => {
      orderMs = Math.min(orderMs, event.atMs);
      return { event, orderMs };
    });
    return fromLast.reverse();
  });
  return placed.sort((a, b) => a.orderMs - b.orderMs).map(({ event }) => event);
}
