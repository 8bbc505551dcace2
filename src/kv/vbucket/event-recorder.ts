// Records the system events of vbuckets: when the manifest changes, and those missing in the history of one that begins to be served.
// Where there is a disk they leave memory as soon as they are persisted; streams then read them from disk.
import type { CutItem } from '../data/cut.ts';
import { decodeEvent, encodeEvent, eventKey, isDrop, type SystemEvent } from '../data/system-events.ts';
import { Bit } from '../memory/layout.ts';
import { emptyDraft } from './items.ts';
import { eventsBetween, firstState, type ManifestState } from './manifest-state.ts';
import { StoredManifests } from './stored-manifests.ts';
import { emptyPlace, type Vbuckets } from './vbuckets.ts';

export interface EventRecorderOptions {
  vbuckets: Vbuckets;
  /** Events are written to a disk. */
  persistent: boolean;
  onDirty: (row: number) => void;
}

export class EventRecorder {
  private readonly options: EventRecorderOptions;
  /** By row: the manifest's state that was recorded last; null before `record`. */
  private readonly recorded: (ManifestState | null)[];
  private stored: StoredManifests | null = null;
  /** By row: events that are in memory until they are persisted. */
  private readonly unwritten = new Map<number, { hash: number; seqno: number }[]>();
  private readonly place = emptyPlace();
  private readonly draft = emptyDraft();
  private readonly result = { casHi: 0, casLo: 0, seqno: 0, pending: 0 };

  constructor(options: EventRecorderOptions) {
    this.options = options;
    this.recorded = new Array<ManifestState | null>(options.vbuckets.rows.count).fill(null);
  }

  /** Adds an event that a file holds, read at warm-up. */
  noteStored(row: number, item: CutItem): void {
    this.stored ??= new StoredManifests(this.options.vbuckets.rows.count);
    this.stored.note(row, decodeEvent(item.buffer, item.valueStart, item.valueEnd));
  }

  /** Adds an event that a copy got from its active and that is in memory now. */
  noteApplied(row: number, hash: number, item: CutItem): void {
    const { persistent, vbuckets } = this.options;
    const before = this.recorded[row] ?? null;
    this.stored ??= new StoredManifests(vbuckets.rows.count);
    if (before !== null) this.stored.put(row, before);
    this.recorded[row] = null;
    this.stored.note(row, decodeEvent(item.buffer, item.valueStart, item.valueEnd));
    if (persistent) this.keepUntilWritten(row, hash, item.seqno);
  }

  /** Records the events that lead the history of these vbuckets to the manifest's state. */
  record(rows: readonly number[], state: ManifestState): void {
    const { recorded, stored } = this;
    /** Most rows have the same state: their events are encoded once. */
    const eventsFrom = new Map<ManifestState, EncodedEvent[]>();
    for (const row of rows) {
      const before = recorded[row] ?? stored?.stateOf(row) ?? firstState;
      const events = eventsFrom.get(before) ?? encoded(eventsBetween(before, state));
      eventsFrom.set(before, events);
      for (const event of events) this.write(row, event);
      recorded[row] = state;
    }
    if (!recorded.includes(null)) this.stored = null;
  }

  /** Called when the vbucket's changes up to `seqno` are persisted. */
  persisted(row: number, seqno: number): void {
    const unwritten = this.unwritten.get(row);
    if (unwritten === undefined) return;
    const left = unwritten.filter((event) => event.seqno > seqno);
    for (const event of unwritten) if (event.seqno <= seqno) this.removeWritten(row, event);
    if (left.length === 0) this.unwritten.delete(row);
    else this.unwritten.set(row, left);
  }

  /** Called when the vbuckets were emptied. */
  clear(): void {
    this.recorded.fill(null);
    this.stored = null;
    this.unwritten.clear();
  }

  private write(row: number, event: EncodedEvent): void {
    const { vbuckets, persistent, onDirty } = this.options;
    const { draft, place, result } = this;
    const hash = vbuckets.hash(event.key, 0, event.key.length);
    vbuckets.look(place, row, hash, event.key, 0, event.key.length);
    draft.key = event.key;
    draft.keyEnd = event.key.length;
    draft.value = event.value;
    draft.valueEnd = event.value.length;
    draft.bits = event.isDrop ? Bit.deleted : 0;
    draft.expiry = event.isDrop ? vbuckets.now.seconds : 0;
    if (!vbuckets.write(place, draft, result))
      throw new RangeError('no memory for the events of collections');
    if (!persistent) return;
    this.keepUntilWritten(row, hash, result.seqno);
    onDirty(row);
  }

  private keepUntilWritten(row: number, hash: number, seqno: number): void {
    const unwritten = this.unwritten.get(row);
    if (unwritten) unwritten.push({ hash, seqno });
    else this.unwritten.set(row, [{ hash, seqno }]);
  }

  private removeWritten(row: number, { hash, seqno }: { hash: number; seqno: number }): void {
    const { index, items } = this.options.vbuckets;
    const { place } = this;
    const slot = index.locateWhere(row, hash, (address) => items.seqno(address) === seqno);
    if (slot < 0) return;
    Object.assign(place, { row, hash, slot, address: index.address(row, slot) });
    this.options.vbuckets.forget(place);
  }
}

interface EncodedEvent {
  key: Buffer;
  value: Buffer;
  isDrop: boolean;
}

const encoded = (events: readonly SystemEvent[]): EncodedEvent[] =>
  events.map((event) => ({ key: eventKey(event), value: encodeEvent(event), isDrop: isDrop(event.kind) }));
