// What the disk has of one document, at hand while a frame that waited for it runs again: memory may have had no room
// for it, or let it go before its turn came. It answers reads only; what memory itself knows comes first.
import { Status } from '#wire/status.ts';
import { CutBits, type CutItem } from '../data/cut.ts';
import { type FetchedDocument, type ItemView, notResident } from '../data/documents.ts';
import type { Lacking } from './background-fetches.ts';

export class LentDocument {
  fetched: FetchedDocument | null = null;

  /** Shows a document of which memory has nothing; `notResident` when this is not the one. */
  show(lacking: Lacking, nowSeconds: number, view: ItemView): Status {
    const fetched = this.of(lacking);
    if (fetched === null) return notResident;
    if (fetched.item === null || isExpired(fetched.item, nowSeconds)) return Status.keyNotFound;
    showItem(fetched.item, view);
    return Status.success;
  }

  /** The same version as memory knows, with its value; null when this is not it. */
  versionOf(lacking: Lacking): CutItem | null {
    const item = this.of(lacking)?.item ?? null;
    return item?.seqno === lacking.seqno ? item : null;
  }

  private of({ vb, key }: Lacking): FetchedDocument | null {
    const { fetched } = this;
    return fetched !== null && fetched.vb === vb && fetched.key.equals(key) ? fetched : null;
  }
}

export const isDeleted = ({ bits }: CutItem): boolean => (bits & CutBits.deleted) !== 0;

export const isExpired = (item: CutItem, nowSeconds: number): boolean =>
  !isDeleted(item) && item.expiry !== 0 && item.expiry <= nowSeconds;

/** Points the view's key and value at what was read. */
export function showValue(item: CutItem, view: ItemView): void {
  view.buffer = item.buffer;
  view.keyStart = item.keyStart;
  view.keyEnd = item.keyEnd;
  view.valueStart = item.valueStart;
  view.valueEnd = item.valueEnd;
}

function showItem(item: CutItem, view: ItemView): void {
  showValue(item, view);
  view.datatype = item.datatype;
  view.flags = item.flags;
  view.expiry = item.expiry;
  view.casHi = item.casHi;
  view.casLo = item.casLo;
  view.seqno = item.seqno;
  view.rev = item.rev;
  view.deleted = isDeleted(item);
  view.locked = false;
}
